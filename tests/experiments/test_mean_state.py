"""The mean state on copying: its plan, and verdicts on shares whose answer is known."""

from math import log

import pytest
from tests.lab.drawn import at, marks
from tests.lab.ended import after, verdicts

from attnlab.experiments.mean_state.experiment import PERMUTATIONS, SELECTIONS, MeanState
from attnlab.lab.claims import load_claims
from attnlab.lab.experiment import Order
from attnlab.lab.outcomes import Outcome
from attnlab.runs.loop import Trained

CLAIM = "mean-state-is-a-bag-copying"


def outcome(setting, seed=0, *, early=0.95, late=0.5, leaves=20):
    """What the words explain before, and from, the step at which attention leaves uniform."""
    rows = []
    for step in (0, 10, 20, 40):
        share = early if step < leaves else late
        row = {"step": step, "accuracy": step / 40, "mean_state_mixed": share - 0.1, "mean_state_order": 1 - share}
        row["attention_entropy"] = (0.99 if step < leaves else 0.9) * log(41)
        rows.append(row | ({"mean_state": share, "mean_state_order": 0.7} if setting is SELECTIONS else {}))
    return Outcome(setting.name, seed, Trained(f"{seed:016x}", rows, 40), setting.spec(seed))


def decide(count=6, **changes):
    runs = [outcome(setting, seed, **changes) for setting in (SELECTIONS, PERMUTATIONS) for seed in range(count)]
    return verdicts(after(MeanState(), runs))


@pytest.mark.parametrize(
    ("changes", "verdict", "effect"),
    [
        ({}, "holds", 0.95),
        ({"early": 0.8}, "fails", 0.8),
        ({"leaves": 40, "early": 0.92}, "holds", 0.92),
        ({"leaves": 1000, "late": 0.1}, "holds", 0.95),  # it never leaves: all evaluations count
        ({"leaves": 0}, "undecided", None),  # it never was uniform
        ({"count": 4}, "undecided", 0.95),
    ],
)
def test_what_counts_is_while_attention_is_near_uniform(changes, verdict, effect):
    whole, parts = decide(**changes)
    assert whole[CLAIM] == verdict
    for setting in (SELECTIONS, PERMUTATIONS):
        assert parts[CLAIM, setting.name].effect == (effect if effect is None else pytest.approx(effect))


def test_each_task_has_its_own_measure_and_one_that_fails_refutes():
    runs = [outcome(SELECTIONS, seed) for seed in range(6)] + [outcome(PERMUTATIONS, s, early=0.7) for s in range(6)]
    whole, parts = verdicts(after(MeanState(), runs))
    assert whole[CLAIM] == "fails"
    assert [parts[CLAIM, one.name].verdict for one in (SELECTIONS, PERMUTATIONS)] == ["holds", "fails"]
    assert "0.500 at the last evaluation" in parts[CLAIM, PERMUTATIONS.name].detail


def test_runs_are_the_paper_s_network_on_enough_sequences_to_fit_a_map():
    jobs = MeanState().plan(Order("paper"), {})
    assert len({job.spec.id for job in jobs}) == len(jobs) == 20
    for job in jobs:
        assert (job.spec.model.kind, job.spec.model.hidden, job.spec.batch) == ("seq2seq", 256, 128)
        symbols = job.spec.task.distribution.words + 1
        assert job.spec.evaluation_batch * 2 // 3 >= 10 * symbols
        assert job.schedule.evaluations[0] == 0 and job.schedule.steps == job.schedule.evaluations[-1] == 100


def test_a_whole_result_says_and_draws_what_was_measured():
    experiment, order = MeanState(), Order("quick")
    done = {s.spec(0).id: outcome(s).run for s in experiment.settings}
    result = experiment.analyse(order, done)
    named = {claim.id for claim in load_claims() if "mean-state" in claim.experiments}
    assert {finding.claim: finding.verdict for finding in result.findings} == dict.fromkeys(named, "undecided")
    assert [row["uniform_until"] for row in result.tables["runs"]] == [10, 10]
    assert [row["mixed_uniform"] for row in result.tables["shares"]] == pytest.approx([0.85, 0.85])
    drawn = marks(result.figures["bag"])
    for setting in (SELECTIONS, PERMUTATIONS):
        explained = at(drawn, facet=setting.name, color="mean state explained")
        assert [(mark["x"], mark["y"]) for mark in explained] == [
            (step, pytest.approx(share)) for step, share in ((0, 0.95), (10, 0.95), (20, 0.5), (40, 0.5))
        ]

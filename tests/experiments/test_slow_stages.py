"""The keyword task at a tenth of the rate: overlaps that are known, and how they join the claim of knowledge-first."""

import pytest
from tests.lab.ended import after

from attnlab.experiments.knowledge_first.experiment import GATED, KEYWORD
from attnlab.experiments.slow_stages.experiment import CLOSE, SLOW, SlowStages
from attnlab.lab.claims import claim
from attnlab.lab.experiment import Order
from attnlab.lab.outcomes import Outcome
from attnlab.runs.loop import Trained

ENTROPY = {"attention_entropy": 1.0, "probe_entropy": 1.0, "attention_mean": 0.1, "probe_mean": 0.1}


def outcome(setting, seed, *, probe_ends, attention_begins):
    """The probe rises from 0 to 1 until one step, attention from the other on, both in steps of a hundredth."""
    rows = [
        {
            "step": step,
            "accuracy": 0.5,
            "probe_accuracy": min(1.0, step / probe_ends),
            "attention_accuracy": 0.0 if step < attention_begins else min(1.0, 0.06 + (step - attention_begins) / 50),
            **ENTROPY,
        }
        for step in CLOSE
    ]
    return Outcome(setting.name, seed, Trained(f"{seed:016x}", rows, CLOSE[-1]), setting.spec(seed))


def found(ends, begins, seeds=5):
    group = [
        outcome(setting, seed, probe_ends=ends + seed % 2, attention_begins=begins)
        for setting in SLOW.values()
        for seed in range(seeds)
    ]
    story = after(SlowStages(), group)
    (finding,) = story.findings()
    return finding, story


@pytest.mark.parametrize(("ends", "begins", "verdict"), [(40, 20, "holds"), (20, 40, "fails")])
def test_the_probe_s_end_against_attention_s_beginning(ends, begins, verdict):
    finding, story = found(ends, begins)
    assert finding.claim == "stages-overlap"
    assert [part.name for part in finding.parts] == [f"{one.name}, rate 1e-4" for one in (KEYWORD, GATED)]
    assert [part.verdict for part in finding.parts] == [verdict] * 2
    # The probe is at nine tenths of its highest after nine tenths of its rise.
    assert finding.parts[0].effect == pytest.approx(0.9 * ends - begins, abs=1)
    assert [row["attention_begins"] for row in story.run_tables()["runs"]] == [begins] * 10
    assert set(story.figures()) == {"knowledge"} and story.summary() and story.notes()


def test_four_seeds_decide_nothing():
    assert found(40, 20, seeds=4)[0].verdict == "undecided"


def test_runs_are_those_of_knowledge_first_but_for_the_rate():
    jobs = SlowStages().plan(Order("paper"), {})
    assert len({job.spec.id for job in jobs}) == len(jobs) == 10
    for fast, slow in ((KEYWORD, SLOW[KEYWORD.name]), (GATED, SLOW[GATED.name])):
        ours, theirs = slow.spec(3), fast.spec(3)
        assert ours.optimiser.learning_rate == theirs.optimiser.learning_rate / 10
        assert ours.model_copy(update={"optimiser": theirs.optimiser}) == theirs
    assert set(range(81)) <= set(jobs[0].schedule.evaluations)


def test_they_take_the_place_of_knowledge_first_s_parts():
    known = claim("stages-overlap")
    slow = {one.name for one in SLOW.values()}
    assert "slow-stages" in known.experiments
    assert not any(known.counts(name, {*SLOW, *slow}) for name in SLOW)
    assert all(known.counts(name, set(SLOW)) for name in SLOW), "until they are run, the others count"
    assert all(known.counts(name, slow) for name in slow)

"""The copying experiment: its plan, and verdicts on outcomes whose answer is known."""

import pytest
from tests.lab.drawn import drawn

from attnlab.errors import UsageError
from attnlab.experiments.copying.experiment import INDEPENDENT, PERMUTATIONS, SELECTIONS, SUBSTITUTED, Copying
from attnlab.families.copying.success import first_learned
from attnlab.lab.claims import load_claims
from attnlab.lab.experiment import Order, check_order
from attnlab.lab.outcomes import Outcome
from attnlab.runs.loop import Trained


def outcome(setting, seed, learned_at, last=200):
    """A run whose accuracy passes 0.95 at ``learned_at`` (never if None)."""
    rows = [
        {
            "step": step,
            "accuracy": 1.0 if learned_at is not None and step >= learned_at else 0.5,
            "probe_accuracy": 0.5,
            "attention_accuracy": 0.5,
        }
        for step in range(0, last + 1, 10)
    ]
    return Outcome(setting.name, seed, Trained(f"{seed:016x}", rows, last))


def group(setting, steps):
    return [outcome(setting, seed, step) for seed, step in enumerate(steps)]


def story(*groups):
    return Copying().story(Order("paper"), [o for g in groups for o in g])


def verdicts(*groups):
    findings = story(*groups).findings()
    return {f.claim: f.verdict for f in findings}, {(f.claim, p.name): p for f in findings for p in f.parts}


EASY = group(SELECTIONS, [40] * 20) + group(SUBSTITUTED, [60] * 20) + group(INDEPENDENT, [60] * 20)


def test_the_papers_outcome_makes_every_claim_hold():
    hard = group(PERMUTATIONS, [100] * 20 + [None] * 20)
    whole, parts = verdicts(hard, EASY)
    assert set(whole.values()) == {"holds"}
    failing = parts["copy-permutations-fail", "often fail"]
    assert failing.effect == 0.5
    assert failing.interval == pytest.approx((0.352, 0.648), abs=0.001)
    later = parts["copy-permutations-fail", "later when learned"]
    assert (later.effect, later.interval) == (60, (60, 60))


def test_the_opposite_outcome_makes_every_claim_fail():
    hard = group(PERMUTATIONS, [30] * 40)
    easy = group(SELECTIONS, [None] * 14 + [40] * 6) + group(SUBSTITUTED, [None] * 20) + group(INDEPENDENT, [60] * 20)
    whole, _ = verdicts(hard, easy)
    assert set(whole.values()) == {"fails"}


def test_few_seeds_decide_nothing_that_needs_many():
    whole, _ = verdicts(group(PERMUTATIONS, [100, None, None]), group(SELECTIONS, [40] * 3))
    assert set(whole.values()) == {"undecided"}


def test_one_failing_seed_refutes_always():
    whole, parts = verdicts(group(PERMUTATIONS, [100] * 40), group(SELECTIONS, [40] * 19 + [None]))
    assert whole["copy-k-of-n-learns"] == "fails"
    assert parts["copy-k-of-n-learns", SELECTIONS.name].detail == "19 of 20 seeds learned."


def test_rare_failures_are_not_often():
    whole, parts = verdicts(group(PERMUTATIONS, [100] * 99 + [None]), EASY)
    assert parts["copy-permutations-fail", "often fail"].verdict == "fails"
    assert whole["copy-permutations-fail"] == "fails"


def test_learning_after_step_200_is_failure_but_told_with_what_attention_does_at_step_1000():
    late = [outcome(PERMUTATIONS, seed, 300, last=1000) for seed in range(4)]
    never = [outcome(PERMUTATIONS, 4, None, last=1000)]
    late[0].run.rows[-1]["attention_accuracy"] = 0.9
    followed = story(late, never)
    row = followed.tables()["success"][0]
    assert row["learned"] == 0
    assert (row["continued"], row["learned_by_1000"], row["median_late_step"]) == (5, 4, 300)
    assert row["attending_at_1000"] == 1
    said = "Of the 5 others, 4 had learned by step 1000 (median step 300); at step 1000 1 of them attended"
    assert said in followed.summary()
    seed = followed.run_row(late[0])
    assert (seed["accuracy_200"], seed["accuracy_1000"], seed["attention_1000"]) == (0.5, 1.0, 0.9)


def test_exactly_the_threshold_is_not_above_it():
    rows = [{"step": 10, "accuracy": 0.95}, {"step": 20, "accuracy": 0.951}, {"step": 300, "accuracy": 1.0}]
    assert first_learned(rows) == 20
    assert first_learned([rows[0], rows[2]]) is None
    assert first_learned([rows[0], rows[2]], within=1000) == 300


def test_paper_plan_is_the_papers_and_goes_on_where_runs_failed():
    experiment, order = Copying(), Order("paper")
    jobs = experiment.plan(order, {})
    assert len(jobs) == len({job.spec.id for job in jobs}) == 100
    spec = jobs[0].spec
    assert (spec.batch, spec.model.hidden, spec.optimiser.learning_rate) == (128, 256, 1e-3)
    assert spec.model.model_dump() | {"kind": "seq2seq"} == type(spec.model)().model_dump()
    assert {job.schedule.steps for job in jobs} == {200}
    assert all(job.spec.init_seed == job.spec.data_seed for job in jobs)
    done = {job.spec.id: outcome(PERMUTATIONS, 0, None).run for job in jobs[:2]}
    done[jobs[2].spec.id] = outcome(PERMUTATIONS, 0, 90).run
    again = experiment.plan(order, done)
    assert [job.schedule.steps for job in again[:3]] == [1000, 1000, 200]
    assert [job.schedule.stop_at for job in again[:3]] == [None, None, None]
    assert [job.spec.id for job in again] == [job.spec.id for job in jobs]


@pytest.mark.parametrize(("preset", "count"), [("quick", 9), ("reduced", 105), ("paper", 100)])
def test_presets_have_their_seeds_and_fewer_when_asked(preset, count):
    assert len(Copying().plan(Order(preset), {})) == count
    first = Copying().plan(Order(preset, seeds=2), {})
    assert {job.spec.init_seed for job in first} == {0, 1}
    assert {job.spec.id for job in first} <= {job.spec.id for job in Copying().plan(Order(preset), {})}


def test_it_decides_every_claim_of_the_registry_that_names_it():
    named = {claim.id for claim in load_claims() if "copying" in claim.experiments}
    assert set(Copying.rules()) == named


@pytest.mark.parametrize(
    ("preset", "seeds", "named"), [("papr", None, "quick, reduced, paper"), ("quick", 0, "--seeds 0")]
)
def test_bad_orders_are_refused(preset, seeds, named):
    with pytest.raises(UsageError, match=named):
        check_order(preset, seeds)


def test_every_figure_draws_the_column_it_names():
    runs = [outcome(PERMUTATIONS, 0, None, last=1000), outcome(SELECTIONS, 1, 40)]
    for one in runs:
        for row in one.run.rows:
            row |= {"probe_accuracy": row["step"] / 2000, "attention_accuracy": row["step"] / 4000}
    figures = story(runs).figures()
    assert list(figures) == ["curves", "knowledge", "continued"]  # runs of before attention's profile was measured
    curves = drawn(figures["curves"])
    assert {(row["setting"], row["step"]): row["accuracy"] for row in curves}[SELECTIONS.name, 40] == 1.0
    assert max(row["step"] for row in curves) == 200
    assert figures["curves"].to_dict()["spec"]["encoding"]["y"]["field"] == "accuracy"
    for row in drawn(figures["knowledge"]):
        assert row["share"] == row["step"] / {"lexical probe": 2000, "attention": 4000}[row["what"]]
    later = drawn(figures["continued"])
    assert {row["setting"] for row in later} == {PERMUTATIONS.name}
    for row in later:
        right = 0.5 if row["what"] == "token accuracy" else row["step"] / 4000
        assert row["share"] == right


def test_the_profile_is_drawn_where_runs_have_it():
    runs = [outcome(PERMUTATIONS, 0, None), outcome(SELECTIONS, 1, 40, last=40), outcome(SELECTIONS, 2, 40)]
    for one in runs[:2]:
        for row in one.run.rows:
            row |= {f"attention_{k:+d}": row["step"] / 1000 + k / 100 for k in range(-4, 5) if k} | {
                "attention_mean": 0.3
            }
    rows = drawn(story(runs).figures()["profile"])
    assert {(row["setting"], row["seed"]) for row in rows} == {(PERMUTATIONS.name, 0), (SELECTIONS.name, 1)}
    for row in rows:
        end = 0.2 if row["setting"] == PERMUTATIONS.name else 0.04
        assert row["share"] == pytest.approx(end + row["distance"] / 100 if row["distance"] else 0.3)
    assert [row["distance"] for row in rows[:9]] == list(range(-4, 5))

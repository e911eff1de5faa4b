"""The rescue experiment: its plan, paired tests, tiers, costs, and verdicts on outcomes whose answer is known."""

from functools import cache

import pytest
from tests.lab.drawn import at
from tests.lab.drawn import marks as drawn

from attnlab.experiments.copying.experiment import PERMUTATIONS
from attnlab.experiments.rescue import experiment as rescue
from attnlab.experiments.rescue.experiment import Rescue, Tried, cost_of, start_row
from attnlab.experiments.rescue.tiers import FRESH_LATER, against_fresh_start, against_no_change, tier
from attnlab.families.copying.starts import (
    BATCH,
    FRESH_ATTENTION,
    FRESH_START,
    HEADS,
    IBM_FEWER,
    IBM_OWN,
    MIRRORED,
    NO_CHANGE,
    REMEDIES,
    WARM_START,
    WARM_UP,
    Scale,
    start,
)
from attnlab.families.registry import build_problem
from attnlab.lab.claims import load_claims
from attnlab.lab.experiment import Order, Record
from attnlab.measures.profile import PROFILE
from attnlab.runs.loop import Trained
from attnlab.runs.spec import RunSpec


def make_spec(scale, seed, remedy=NO_CHANGE):
    return RunSpec(**start(scale, seed, remedy))


def failing(seed):
    """Seeds that fail in this world: four of ten."""
    return seed % 10 in (1, 4, 7, 8)


def steps_of(spec):
    """When a run of this world learns: no change late, a fresh start often, informative data always."""
    seed, remedy = spec.data_seed, None if spec.remedy is None else spec.remedy.kind
    if remedy == "warm-start" or (remedy == "alignment-loss" and spec.remedy.distribution is not None):
        return 60
    if remedy == "alignment-loss":
        return None
    if spec.model.heads == 8:
        return 70
    if spec.init_seed != seed:
        return 80 if seed % 3 else 400
    return 400 if failing(seed) else 50


def trained(job, learned_at):
    rows = []
    for step in job.schedule.evaluations:
        right = learned_at is not None and step >= learned_at
        # Who learns late learns without attention.
        attention = 0.9 if right and learned_at < 200 else 0.0
        rows.append({"step": step, "accuracy": 1.0 if right else 0.5, "attention_accuracy": attention})
        if right:
            break
    return Trained(job.spec.id, rows, rows[-1]["step"])


@cache
def settle(order, world=steps_of):
    """Plan and "train" until nothing new is asked for, as `conduct` does; the plan never forgets a run."""
    experiment, done, known = Rescue(), {}, set()
    for _ in range(30):
        jobs = experiment.plan(order, done)
        assert known <= {job.spec.id for job in jobs}
        known = {job.spec.id for job in jobs}
        assert len(known) == len(jobs)
        done = {job.spec.id: trained(job, world(job.spec)) for job in jobs}
        if experiment.plan(order, done) == jobs:
            return jobs, done
    raise AssertionError("the plan never settles")


@cache
def result_of(order, world=steps_of):
    _, done = settle(order, world)
    return Rescue().analyse(order, done)


def test_starts_without_a_change_are_the_runs_of_copying():
    for seed in (0, 3):
        assert make_spec(Scale(), seed).id == PERMUTATIONS.spec(seed).id


def test_seeds_are_tried_until_24_fail_and_every_remedy_gets_the_same_starts():
    jobs, _ = settle(Order("paper"))
    plain = {make_spec(Scale(), seed).id: seed for seed in range(80)}
    assert sorted(plain[job.spec.id] for job in jobs if job.spec.id in plain) == list(range(60))
    starts = [seed for seed in range(60) if failing(seed)]
    assert len(starts) == 24
    for remedy in REMEDIES:
        specs = {make_spec(Scale(), seed, remedy).id for seed in starts}
        of_remedy = [job for job in jobs if job.spec.id in specs]
        assert len(of_remedy) == 24
        assert {job.schedule.steps for job in of_remedy} == {600}
        assert {job.schedule.stop_at for job in of_remedy} == {0.95}


def test_reduced_takes_few_of_them_past_step_200():
    jobs, _ = settle(Order("reduced"))
    late = [job.spec.data_seed for job in jobs if job.schedule.steps == 600]
    assert sorted(set(late)) == [1, 4, 7, 8]
    assert len(late) == 4 * len(REMEDIES)
    story = Rescue()
    story.order = Order("reduced")
    assert any("first 4 failing starts" in note for note in story.notes())


def test_remedies_change_what_they_name_and_nothing_else():
    scale, plain = Scale(), make_spec(Scale(), 5).model_dump()

    def changed(remedy):
        spec = make_spec(scale, 5, remedy).model_dump()
        return {name: spec[name] for name in spec if spec[name] != plain[name]}

    assert changed(NO_CHANGE) == {}
    assert changed(FRESH_START) == {"init_seed": 10_005}
    assert changed(HEADS) == {"model": {**plain["model"], "heads": 8}}
    assert changed(BATCH) == {"batch": 256}
    assert set(changed(WARM_UP)) == set(changed(WARM_START)) == set(changed(IBM_OWN)) == {"remedy"}
    assert changed(WARM_START)["remedy"]["distribution"] == {"kind": "selections", "length": 30, "words": 40}
    assert changed(FRESH_ATTENTION)["remedy"]["step"] == 100
    assert changed(MIRRORED) == {"remedy": {"kind": "mirrored-readout"}}


def test_one_of_the_eight_heads_starts_as_the_failing_one():
    scale = Scale(words=4, hidden=8, batch=4)
    one, eight = (build_problem(make_spec(scale, 5, remedy)).model.attention.weight for remedy in (NO_CHANGE, HEADS))
    assert one[0].equal(eight[0])
    assert not one[0].equal(eight[1])


def test_a_cost_is_counted_and_does_not_depend_on_anything_but_the_work():
    scale = Scale(words=6, hidden=16, batch=8)

    def cost(seed, remedy):
        return cost_of(Tried(remedy, seed, Trained("", [], 0), make_spec(scale, seed, remedy)))

    costs = {remedy: cost(1, remedy) for remedy in REMEDIES}
    same = (NO_CHANGE, FRESH_START, WARM_UP, WARM_START, FRESH_ATTENTION, MIRRORED)
    assert len({costs[remedy] for remedy in same}) == 1
    assert costs[BATCH] / costs[NO_CHANGE] == pytest.approx(2, rel=0.05)
    assert costs[HEADS] > costs[NO_CHANGE]
    assert cost(2, NO_CHANGE) == costs[NO_CHANGE]


# --- paired tests


def world_of(n=24, **wins):
    """Learned or not, for each remedy, given how many of the first of ``n`` starts learn."""
    names = {
        "no": NO_CHANGE,
        "fresh": FRESH_START,
        "later": FRESH_LATER,
        "heads": HEADS,
        "batch": BATCH,
        "warm_up": WARM_UP,
        "warm_start": WARM_START,
        "own": IBM_OWN,
        "fewer": IBM_FEWER,
        "attention": FRESH_ATTENTION,
        "mirrored": MIRRORED,
    }
    return {name: [start < wins.get(key, 0) for start in range(n)] for key, name in names.items()}


def tiers(world):
    unchanged, fresh = against_no_change(world), against_fresh_start(world)
    return {name: tier(unchanged.get(name), fresh.get(name)) for name in world}


def test_tiers_come_from_both_comparisons():
    compared = tiers(world_of(fresh=13, later=12, warm_start=24, fewer=24, heads=14, batch=2, warm_up=24, attention=12))
    assert compared[WARM_START] == compared[IBM_FEWER] == compared[WARM_UP] == 1
    assert compared[HEADS] == compared[FRESH_START] == compared[FRESH_ATTENTION] == 2
    assert compared[BATCH] == compared[IBM_OWN] == 4
    assert compared[NO_CHANGE] is None
    worse = tiers(world_of(fresh=24, later=24, heads=12))
    assert worse[HEADS] == 3


def test_fresh_attention_is_compared_with_a_fresh_start_at_the_same_step():
    compared = against_fresh_start(world_of(fresh=20, later=4, attention=4))
    assert (compared[FRESH_ATTENTION].against, compared[FRESH_ATTENTION].difference) == (FRESH_LATER, 0)
    assert compared[HEADS].against == FRESH_START
    assert compared[HEADS].difference == pytest.approx(-20 / 24)


def verdicts(world):
    story = Rescue()
    rows = [{"remedy": name, "step": 60 if done else None} for name, group in world.items() for done in group]
    story.order, story.record = Order("paper"), Record({"starts": rows}, {})
    return {finding.claim: finding.verdict for finding in story.findings()}


def test_verdicts_where_the_claims_are_true_false_or_open():
    assert set(verdicts(world_of(fresh=12, later=12, warm_start=24, fewer=24, heads=23)).values()) == {"holds"}
    opposite = world_of(fresh=12, later=2, own=1, batch=24, warm_up=24, attention=20)
    assert set(verdicts(opposite).values()) == {"fails"}
    alike = world_of(fresh=12, later=12, warm_start=13, fewer=12, heads=11, batch=12, warm_up=12, attention=12)
    assert set(verdicts(alike).values()) - {"holds"} == {"undecided"}
    few = verdicts(world_of(n=19, fresh=9, later=9, warm_start=19, fewer=19, heads=19))
    assert set(few.values()) == {"undecided"}


def test_starts_that_learn_after_200_updates_do_not_count():
    story = Rescue()
    steps = {IBM_OWN: 210, FRESH_START: 200}
    rows = [{"remedy": name, "step": step} for name, step in steps.items()]
    story.order, story.record = Order("paper"), Record({"starts": rows}, {})
    assert story.rescued() == {IBM_OWN: [False], FRESH_START: [True]}


def test_it_decides_every_claim_of_the_registry_that_names_it():
    named = {claim.id for claim in load_claims() if "rescue" in claim.experiments}
    assert set(verdicts(world_of())) == named


# --- results


def test_the_table_shows_success_cost_and_attention():
    result = result_of(Order("quick"))
    table = {row["remedy"]: row for row in result.tables["remedies"]}
    assert set(table) == {*REMEDIES, FRESH_LATER}
    assert (table[NO_CHANGE]["learned_200"], table[WARM_START]["learned_200"]) == (0, 2)
    assert table[WARM_START]["attending_200"] == 2
    assert table[WARM_START]["mean_cost_200"] == 60
    assert table[BATCH]["mean_cost_200"] == pytest.approx(400, rel=0.02)
    # Both starts, 1 and 4, learn 80 updates after they start anew, and at step 180 if they do so at step 100.
    assert table[FRESH_START]["mean_cost_200"] == 80
    assert table[FRESH_LATER]["mean_cost_200"] == 180
    assert table[NO_CHANGE]["starts_600"] == 0 and table[NO_CHANGE]["rate_600"] is None
    assert {part.verdict for finding in result.findings for part in finding.parts} == {"undecided"}
    assert result.seeds == {"seeds tried": list(range(5)), "failing starts": [1, 4]}


@pytest.fixture
def paper_result(monkeypatch):
    """The result at paper, where every update costs the same."""
    monkeypatch.setattr(rescue, "cost_of", lambda one: 1)
    return Rescue().analyse(Order("paper"), settle(Order("paper"))[1])


def test_what_learns_late_is_shown_to_learn_without_attention(paper_result):
    table = {row["remedy"]: row for row in paper_result.tables["remedies"]}
    unchanged = table[NO_CHANGE]
    assert (unchanged["learned_200"], unchanged["learned_600"], unchanged["attending_600"]) == (0, 24, 0)
    assert (table[IBM_OWN]["learned_600"], table[IBM_OWN]["tier"]) == (0, 4)
    assert (table[WARM_START]["tier"], unchanged["tier"]) == (1, None)
    p_values = {name: table[name]["p_no_change_600"] for name in (WARM_START, IBM_OWN, NO_CHANGE)}
    # Within 600 updates all 24 learn without a change, all with a warm start, none with the loss on the same data.
    assert p_values == {WARM_START: 1.0, IBM_OWN: pytest.approx(2 * 0.5**24 * 10), NO_CHANGE: None}
    summary = paper_result.summary
    assert "What all are compared with – no change: 0 (0% to 14%), 0 attending, cost 200." in summary
    assert "warm start on k of n: 24 (86% to 100%), 24 attending, cost 60" in summary
    assert summary.endswith("no change: 24, 0.")


def test_the_figure_of_success_shows_rate_interval_and_who_attends(paper_result):
    figure = paper_result.figures["success"]
    bars, points, rings = ({mark["y"]: mark for mark in drawn(figure, layer)} for layer in range(3))
    for row in paper_result.tables["remedies"]:
        name = row["remedy"]
        assert (bars[name]["x"], bars[name]["x2"], points[name]["x"]) == (
            row["low_200"],
            row["high_200"],
            row["rate_200"],
        )
        assert rings[name]["x"] == row["attending_200"] / 24
        assert bars[name]["color"].startswith(f"tier {row['tier']}: " if row["tier"] else "what all")
    table = [{**row, "attending_200": 6} for row in paper_result.tables["remedies"]]
    attending = {mark["y"]: mark["x"] for mark in drawn(rescue.rates(table), 2)}
    assert (attending[WARM_START], points[WARM_START]["x"]) == (0.25, 1.0)


def test_the_figure_of_costs_counts_starts_by_what_they_spent(monkeypatch):
    monkeypatch.setattr(rescue, "cost_of", lambda one: 3 if one.setting == HEADS else 2)
    order = Order("paper")
    result = Rescue().analyse(order, settle(order)[1])
    marks = drawn(result.figures["cost"])
    assert {(mark["x"], mark["y"]) for mark in at(marks, facet=WARM_START, y=1.0)} == {(60, 1.0), (600, 1.0)}
    # Heads cost 1.5 plain updates each; the loss on the same data never learns.
    assert max(mark["x"] for mark in at(marks, facet=HEADS)) == 900
    assert [(mark["x"], mark["y"]) for mark in at(marks, facet=HEADS)][:3] == [(0, 0), (105, 1 / 24), (105, 2 / 24)]
    assert [(mark["x"], mark["y"]) for mark in at(marks, facet=IBM_OWN)] == [(0, 0), (600, 0)]


def test_the_figure_of_curves_draws_accuracy_of_every_start_with_its_remedy(paper_result):
    marks = drawn(paper_result.figures["curves"])
    assert {mark["facet"] for mark in marks} == set(REMEDIES)
    assert [(mark["x"], mark["y"]) for mark in at(marks, facet=WARM_START, detail=1)] == [
        (step, 1.0 if step == 60 else 0.5) for step in range(0, 61, 10)
    ]


def test_the_profile_is_drawn_for_each_remedy_where_runs_have_it(monkeypatch):
    monkeypatch.setattr(rescue, "cost_of", lambda one: 1)
    done = settle(Order("paper"))[1]
    for run in done.values():
        for row in run.rows:
            row |= {name: distance / 10 for distance, name in PROFILE.items()}
    marks = drawn(Rescue().analyse(Order("paper"), done).figures["profile"])
    assert {mark["facet"] for mark in marks} == set(REMEDIES)
    assert all(mark["y"] == mark["x"] / 10 for mark in marks)


def test_a_start_is_shown_as_it_was_when_given_up():
    rows = [{"step": step, "accuracy": step / 1000, "attention_accuracy": step / 250} for step in range(0, 201, 10)]
    fresh = Tried(FRESH_START, 1, Trained("a", rows, 200), late=False)
    later = Tried(FRESH_LATER, 1, Trained("a", rows, 200), late=False, before=100)
    assert (fresh.last["step"], later.last["step"]) == (200, 100)
    assert (fresh.attends, later.attends) == (True, False)
    assert start_row(later, 1.0)["last_accuracy"] == 0.1


def test_where_no_start_fails_there_is_nothing_to_rescue():
    def always(spec):
        return 50

    result = result_of(Order("quick"), always)
    assert result.summary == "None of 10 starts failed, so there was nothing to rescue."
    assert result.findings == () and result.figures == {}


@pytest.mark.parametrize("preset", ["quick", "reduced", "paper"])
def test_the_estimate_has_at_least_as_many_updates_as_the_plan(preset):
    (planned, done), most = settle(Order(preset)), Rescue().at_most(Order(preset), {})
    assert len(most) >= len(planned)
    assert sum(job.schedule.steps for job in most) >= sum(job.schedule.steps for job in planned)
    assert Rescue().at_most(Order(preset), done) == planned, "once the failing starts are known"

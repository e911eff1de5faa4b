"""Permuting: its orders and plan, positions measured, and verdicts on outcomes whose answer is known."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from tests.lab.drawn import views
from tests.lab.ended import after, group, trained

from attnlab.errors import UsageError
from attnlab.experiments.copying import experiment as copying
from attnlab.experiments.permuting.experiment import (
    BLOCKS,
    COPYING,
    FURTHER,
    ORDERS,
    RANDOM,
    REVERSAL,
    SHIFT,
    UNIFORM,
    Permuting,
    distance_of,
)
from attnlab.families.copying.orders import distance, random_order, shifted, shuffled_blocks
from attnlab.families.copying.position_scores import SEQUENCES, from_attention
from attnlab.families.copying.spec import CopyingSpec, SelectionsSpec, Seq2SeqSpec
from attnlab.families.registry import build_problem
from attnlab.lab.claims import load_claims
from attnlab.lab.experiment import Order
from attnlab.lab.outcomes import Outcome
from attnlab.lab.registry import find_experiment
from attnlab.records import validated
from attnlab.runs.checkpoint import Checkpoint
from attnlab.runs.loop import Trained, train
from attnlab.runs.schedule import Schedule
from attnlab.runs.spec import RunSpec
from attnlab.runs.store import RunStore
from attnlab.seeds import numpy_generator


def uniform(order, probes):
    setting = UNIFORM[order.name]
    return [Outcome(setting.name, seed, trained(None, seed, last=60, probe=p)) for seed, p in enumerate(probes)]


def positions(seed, slope):
    """A run on a random order whose attention at the right position falls (or rises) with the distance."""
    right = np.array(random_order(seed))
    distance = np.abs(right - np.arange(40))
    alpha = np.full((40, 41), 1.0)
    alpha[np.arange(40), right] += np.exp(slope * distance / 40)
    return from_attention(alpha / alpha.sum(1, keepdims=True), right, np.linspace(0, 1, 40), step=300)


class Scored(Permuting):
    """With positions as they are given, by seed, instead of read from weights."""

    def __init__(self, places):
        self.places = places

    def scores(self, outcome):
        return self.places.get(outcome.seed) or positions(outcome.seed, slope=0)


def verdicts(outcomes, probes=(), slopes=None):
    places = {seed: positions(seed, slope) for seed, slope in enumerate(slopes or [])}
    findings = after(Scored(places), [*outcomes, *probes]).findings()
    return {f.claim: f.verdict for f in findings}, {p.name: p for f in findings for p in f.parts}


OTHERS = group(BLOCKS, [60] * 8) + group(SHIFT, [70] * 8) + group(FURTHER, [200] * 8) + group(REVERSAL, [None] * 8)


# --- orders and the plan


@given(seed=st.integers(0, 1000), by=st.integers(0, 39))
def test_every_order_names_each_position_once(seed, by):
    for order in (shifted(by), shuffled_blocks(5, seed), random_order(seed)):
        assert sorted(order) == list(range(40))
    assert shifted(by)[0] == by
    assert all(abs(position - t) < 5 and position // 5 == t // 5 for t, position in enumerate(shuffled_blocks(5, seed)))
    assert random_order(2 * seed) == random_order(2 * seed + 1) != random_order(2 * seed + 2)


def test_distances_from_the_identity():
    def of(setting, seed=0):
        return distance(setting.spec(seed).task.order)

    assert of(COPYING, 3) == 0
    assert of(SHIFT) == pytest.approx(2 * 39 / 40)  # 39 steps of one, and one of 39
    assert of(FURTHER) == pytest.approx(2 * 35 * 5 / 40)
    assert of(REVERSAL) == pytest.approx(np.mean([abs(39 - 2 * t) for t in range(40)]))
    assert np.mean([of(RANDOM, seed) for seed in range(20)]) == pytest.approx(13.3, abs=1.5)


def test_paper_has_ten_random_orders_and_plain_copying_is_that_of_copying():
    jobs = find_experiment("permuting").plan(Order("paper"), {})
    assert len(jobs) == len({job.spec.id for job in jobs}) == 20 + 4 * 8 + 20 + 2 * 20
    learned = [job for job in jobs if job.spec.model.attention == "learned"]
    assert {job.schedule.steps for job in learned} == {300}
    assert all((job.schedule.stop_at is None) == ("random" in job.label) for job in learned)
    random = [job.spec for job in learned if "random" in job.label]
    assert len({spec.task.order for spec in random}) == 10
    assert {spec.init_seed for spec in random} == set(range(20))
    assert {(spec.task.distribution.length, spec.task.distribution.words) for spec in random} == {(40, 60)}
    shared = {job.spec.id for job in copying.Copying().plan(Order("paper"), {})}
    assert len(shared & {job.spec.id for job in jobs}) == 20
    flat = [job for job in jobs if job.spec.model.attention == "uniform"]
    assert {(job.spec.task.order is None, job.schedule.steps) for job in flat} == {(True, 60), (False, 60)}


@pytest.mark.parametrize(("preset", "count"), [("quick", 5), ("reduced", 62), ("paper", 112)])
def test_presets_have_their_seeds_and_say_what_they_leave_out(preset, count):
    assert len(Permuting().at_most(Order(preset), {})) == count
    assert {job.spec.init_seed for job in Permuting().plan(Order(preset, seeds=1), {})} == {0}
    notes = after(Permuting(), [], preset).notes()
    assert any(note.startswith(preset) for note in notes) == (preset != "paper")


@pytest.mark.parametrize(
    ("order", "named"),
    [
        ((), r"names each of 0 \.\. 3 once; it has 0 entries"),
        ((0, 1, 1, 3), "names each of 0 .. 3 once"),
        ((0, 1, 2), "it has 3 entries"),
        ((1, 2, 3, 4), "names each of 0 .. 3 once"),
    ],
)
def test_what_is_no_order_is_refused(order, named):
    task = {"kind": "copying", "distribution": {"kind": "selections", "length": 4, "words": 6}, "order": order}
    with pytest.raises(UsageError, match=named) as caught:
        validated(RunSpec, {"task": task, "init_seed": 0, "data_seed": 0})
    assert "\n" not in str(caught.value)


# --- positions


def small_spec(order=(2, 0, 3, 1)):
    return RunSpec(
        task=CopyingSpec(distribution=SelectionsSpec(length=4, words=6), order=order),
        model=Seq2SeqSpec(hidden=16),
        batch=16,
        evaluation_batch=20,
        init_seed=0,
        data_seed=0,
    )


def test_positions_are_read_from_the_last_weights(tmp_path):
    spec = small_spec()
    run = train(spec, Schedule.every(20, steps=20), RunStore(tmp_path))
    measured = Permuting().scores(Outcome("", 0, run, spec))
    problem = build_problem(spec)
    tensors = run.run.load(20).tensors
    problem.model.load_state_dict({n.removeprefix("model."): v for n, v in tensors.items() if n.startswith("model.")})
    batch = spec.task.build().batch(SEQUENCES, numpy_generator(0, "positions"))
    with torch.no_grad():
        seen = problem.model.eval()(batch.source, batch.previous)
    hits, weights = np.zeros(4), np.zeros((4, 5))
    for number in range(SEQUENCES):
        for t in range(4):
            hits[t] += int(seen.log_probabilities[number, t].argmax()) == int(batch.target[number, t])
            weights[t] += seen.attention[number, 0, t].double().numpy()
    assert measured.right.tolist() == [2, 0, 3, 1]
    assert measured.distance.tolist() == [2, 1, 1, 2]
    assert measured.accuracy == pytest.approx(hits / SEQUENCES)
    expected = [weights[t, right] / SEQUENCES for t, right in enumerate((2, 0, 3, 1))]
    assert measured.attention == pytest.approx(expected, rel=1e-5)
    columns = weights.mean(0) / SEQUENCES
    assert measured.lift == pytest.approx([value / columns[r] for value, r in zip(expected, (2, 0, 3, 1), strict=True)])
    assert measured.step == 20


def test_positions_of_a_run_that_went_on_come_from_the_next_weights_kept(tmp_path):
    spec, store = small_spec(), RunStore(tmp_path)
    first = train(spec, Schedule.every(10, steps=10), store)
    assert Permuting().scores(Outcome("", 0, first, spec)).step == 10
    for steps in (20, 30):
        train(spec, Schedule.every(10, steps=steps), store)
    assert store.run(spec.id).steps() == [20, 30]
    assert Permuting().scores(Outcome("", 0, first, spec)).step == 20


# --- the rules


def test_the_papers_outcome_makes_both_claims_hold():
    outcomes = group(COPYING, [40] * 20) + OTHERS + group(RANDOM, [None] * 20)
    probes = uniform(COPYING, [0.95] * 20) + uniform(RANDOM, [0.96] * 20)
    whole, parts = verdicts(outcomes, probes, [-3] * 20)
    assert whole == {"permuting-fails": "holds", "lstm-monotonic-bias": "holds"}
    assert parts["the same beta_uf"].effect == pytest.approx(0.01)
    distances = [distance_of(one) for one in outcomes]
    steps = [310 if (step := one.learned_within(300)) is None else step for one in outcomes]
    assert parts["across orders"].effect == pytest.approx(stats.spearmanr(distances, steps).statistic)
    assert "Median steps: copying 40" in parts["across orders"].detail
    assert "random order never" in parts["across orders"].detail
    assert parts["position by position"].effect < -0.9
    assert parts["position by position"].over == "orders"


def test_the_opposite_outcome_makes_them_fail():
    outcomes = group(COPYING, [280] * 19 + [None]) + group(RANDOM, [40] * 20)
    outcomes += [one for kind in (BLOCKS, SHIFT, FURTHER, REVERSAL) for one in group(kind, [90] * 8)]
    probes = uniform(COPYING, [0.95] * 20) + uniform(RANDOM, [0.5] * 20)
    whole, parts = verdicts(outcomes, probes, [3] * 20)
    assert set(whole.values()) == {"fails"}
    assert {part.verdict for part in parts.values()} == {"fails"}


def test_one_random_order_that_is_learned_refutes_never():
    _, parts = verdicts(group(RANDOM, [None] * 19 + [290]))
    assert parts[RANDOM.name].verdict == "fails"
    _, parts = verdicts(group(RANDOM, [None] * 19))
    assert parts[RANDOM.name].verdict == "undecided"


def test_few_runs_decide_nothing():
    outcomes = group(COPYING, [40] * 4) + OTHERS + group(RANDOM, [None] * 18)
    probes = uniform(COPYING, [0.95] * 19) + uniform(RANDOM, [0.95] * 19)
    whole, parts = verdicts(outcomes, probes, [-3] * 18)
    assert set(whole.values()) == {"undecided"}
    assert "At least 5 runs of each order are needed." in parts["across orders"].detail
    assert "At least 10 orders are needed, not 9." in parts["position by position"].detail
    nothing, _ = verdicts([])
    assert set(nothing.values()) == {"undecided"}


def test_runs_that_share_an_order_count_as_one():
    _, parts = verdicts(group(RANDOM, [None] * 2), slopes=[-3, 3])
    assert parts["position by position"].effect == pytest.approx(0, abs=0.05)
    assert "over 1 random orders" in parts["position by position"].detail


def test_it_decides_every_claim_of_the_registry_that_names_it():
    named = {claim.id for claim in load_claims() if "permuting" in claim.experiments}
    assert {finding.claim for finding in after(Permuting(), []).findings()} == named


# --- the whole result


def test_analyse_makes_a_whole_result(tmp_path):
    experiment, order, store = Permuting(), Order("quick"), RunStore(tmp_path)
    done = {}
    for job in experiment.plan(order, {}):
        rows = trained(40 if job.label.startswith("copying, seed") else None, last=job.schedule.steps).rows
        run = store.run(job.spec.id)
        if job.label.startswith("random order, seed"):  # its weights are read; those of its start will do
            weights = build_problem(job.spec).model.state_dict()
            run.save(Checkpoint(50, {f"model.{name}": value for name, value in weights.items()}, {}))
        done[job.spec.id] = Trained(job.spec.id, rows, int(rows[-1]["step"]), run)
    result = experiment.analyse(order, done)
    rows = {row["setting"]: row for row in result.tables["success"]}
    assert set(rows) == {setting.name for setting in ORDERS if setting.seeds["quick"]}
    assert rows[COPYING.name]["learned"] == 1
    assert rows[SHIFT.name]["distance"] == pytest.approx(1.95)
    assert rows[SHIFT.name]["one_after_at_end"] == 0.125
    assert len(result.tables["positions"]) == 40
    assert {row["output"] for row in result.tables["positions"]} == set(range(1, 41))
    assert all(0.5 < row["lift"] < 2 for row in result.tables["positions"])  # attention begins near uniform
    assert -1 <= result.tables["position_correlations"][0]["lift"] <= 1
    assert "1 of 1 runs learned within 50 updates" in result.summary
    assert set(result.figures) == {"curves", "knowledge", "uniform", "distance", "positions"}
    assert {finding.verdict for finding in result.findings} == {"undecided"}, "50 updates say nothing about 300"


# --- figures


def drawn(name):
    """The views of one figure of two runs, told apart by all that is measured."""
    experiment = Scored({0: positions(0, slope=-3)})
    outcomes = group(SHIFT, [70]) + group(RANDOM, [None]) + uniform(COPYING, [0.25]) + uniform(RANDOM, [0.5])
    return views(after(experiment, outcomes).figures()[name])


def test_the_curves_are_each_runs_accuracy_and_where_probe_and_attention_point():
    ((rows, fields),) = drawn("curves")
    assert (fields["facet"], fields["x"], fields["y"], fields["detail"]) == ("setting", "step", "accuracy", "seed")
    ends = {row["setting"]: (row["step"], row["accuracy"]) for row in rows}
    assert ends == {SHIFT.name: (70, 1.0), RANDOM.name: (300, 0.5)}, "and none under uniform attention"
    ((rows, fields),) = drawn("knowledge")
    assert (fields["facet"], fields["x"], fields["y"], fields["color"]) == ("setting", "step", "share", "what")
    assert {row["what"]: row["share"] for row in rows if row["step"]} == {
        "lexical probe": 0.9,
        "attention": 0.75,
        "attention, one after the right position": 0.125,
    }


def test_the_probe_under_uniform_attention_is_drawn_by_order():
    ((rows, fields),) = drawn("uniform")
    assert (fields["x"], fields["y"], fields["color"]) == ("step", "probe_accuracy", "setting")
    assert {row["setting"]: row["probe_accuracy"] for row in rows if row["step"] == 60} == {
        COPYING.name: 0.25,
        RANDOM.name: 0.5,
    }


def test_a_dot_is_a_runs_distance_and_step_and_a_failure_is_in_the_band_that_says_so():
    *bands, (rows, fields) = drawn("distance")
    assert (fields["x"], fields["y"], fields["color"]) == ("distance", "step", "order")
    failed = {"order": RANDOM.name, "seed": 0, "distance": pytest.approx(distance(random_order(0))), "learned": False}
    assert [{name: value for name, value in row.items() if name != "step"} for row in rows] == [
        {"order": SHIFT.name, "seed": 0, "distance": pytest.approx(1.95), "learned": True},
        failed,
    ]
    ((band,), _), *_ = bands
    assert band["words"] == "not learned within 300 updates"
    assert rows[0]["step"] == 70 < 300 < band["first"] < rows[1]["step"] < band["last"]


def test_positions_show_lift_left_and_accuracy_right():
    shown = drawn("positions")
    assert [fields["y"] for _, fields in shown] == ["lift", "median(lift)", "accuracy", "median(accuracy)"]
    scores = positions(0, slope=-3)
    for rows, fields in shown:
        assert fields["x"] == "distance"
        assert [row["distance"] for row in rows] == scores.distance.tolist()
        assert [row["lift"] for row in rows] == pytest.approx(scores.lift)
        assert [row["accuracy"] for row in rows] == pytest.approx(scores.accuracy)

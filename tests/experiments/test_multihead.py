"""The multihead experiment: heads screened and combined, verdicts on outcomes whose answer is known, heads pruned."""

from dataclasses import replace
from functools import cache

import pytest
from tests.families.copying.test_pruning import accuracy
from tests.lab.drawn import at
from tests.lab.drawn import marks as drawn

from attnlab.experiments.multihead import experiment as multihead
from attnlab.experiments.multihead import heads
from attnlab.experiments.multihead.experiment import Multihead, falls_geometrically, heads_alone
from attnlab.experiments.multihead.heads import RELEASED, SAMPLES, TEXT, Group, Scale, Start, prune_run, pruning_rows
from attnlab.families.copying.task import CopyingTask, Permutations
from attnlab.lab.claims import load_claims
from attnlab.lab.experiment import Order
from attnlab.lab.outcomes import Outcome
from attnlab.measures.profile import PROFILE
from attnlab.runs.loop import Trained, train
from attnlab.runs.schedule import Schedule
from attnlab.runs.store import RunStore
from attnlab.seeds import numpy_generator
from attnlab.stats.geometric import fit_geometric


def trained(job, learned_at, accuracy=0.55):
    """A run of the job's schedule whose accuracy passes 0.95 at ``learned_at`` (never if None)."""
    rows = []
    for step in job.schedule.evaluations:
        right = learned_at is not None and step >= learned_at
        rows.append({"step": step, "accuracy": 1.0 if right else accuracy, "attention_accuracy": 0.5})
        if right and job.schedule.stop_at is not None:
            break
    return Trained(job.spec.id, rows, rows[-1]["step"])


def good_by_seed(head, data_seed):
    """A world in which every third head is good, whatever the data; heads of random combinations half and half."""
    return head % 3 == 0 if head < 1000 else head % 2 == 0


@cache
def settle(order, is_good=good_by_seed):
    """Plan and "train" until nothing new is asked for, as `conduct` does; the plan never forgets a run."""
    experiment, done, known = Multihead(), {}, set()
    for _ in range(30):
        jobs = experiment.plan(order, done)
        assert known <= {job.spec.id for job in jobs}
        known = {job.spec.id for job in jobs}
        assert len(known) == len(jobs)
        done = {}
        for job in jobs:
            good = any(is_good(head, job.spec.data_seed) for head in job.spec.model.head_seeds)
            done[job.spec.id] = trained(job, 60 if good else None)
        if experiment.plan(order, done) == jobs:
            return jobs, done
    raise AssertionError("the plan never settles")


def by_heads(jobs, variant, count):
    return [job for job in jobs if job.spec.model.cell == variant.model.cell and job.spec.model.heads == count]


def test_heads_are_screened_in_order_until_enough_are_confirmed():
    jobs, _ = settle(Order("paper"))
    alone = {(job.spec.model.head_seeds[0], job.spec.data_seed) for job in by_heads(jobs, RELEASED, 1)}
    assert {head for head, _ in alone} == set(range(60))
    confirmed = {head for head, seed in alone if seed == 2}
    assert confirmed == {head for head, seed in alone if seed == 1}
    assert {head for head in confirmed if head % 3 == 0} == {0, 3, 6, 9, 12, 15, 18, 21}  # 8 good ones
    assert len([head for head in confirmed if head % 3]) == 14


def test_combinations_are_made_of_the_heads_that_they_say():
    jobs, _ = settle(Order("paper"))
    for variant, count in ((RELEASED, 20), (TEXT, 10)):
        eights = by_heads(jobs, variant, 8)
        assert len(eights) == 3 * count
        goods = [sum(head % 3 == 0 for head in job.spec.model.head_seeds) for job in eights[: 2 * count]]
        assert goods == [0] * count + [1] * count
        for job in eights:
            assert len(set(job.spec.model.head_seeds)) == 8
        assert all(head >= 1000 for job in eights[2 * count :] for head in job.spec.model.head_seeds)
    assert [len(by_heads(jobs, RELEASED, k)) for k in (2, 4)] == [60, 60]
    fresh = [
        head for job in jobs for head in job.spec.model.head_seeds if head >= 1000 and job.spec.model.cell == "gru"
    ]
    assert len(fresh) == len(set(fresh)) == 60 * 2 + 60 * 4 + 20 * 8


def test_all_networks_share_the_body_and_combinations_have_data_of_their_own():
    jobs, _ = settle(Order("paper"))
    assert {job.spec.init_seed for job in jobs} == {heads.BODY}
    assert {job.spec.data_seed for job in jobs if job.spec.model.heads > 1}.isdisjoint(heads.DATA_SEEDS)


def test_the_networks_are_the_released_one_and_the_texts():
    jobs, _ = settle(Order("paper"))
    released, text = (by_heads(jobs, variant, 8)[0].spec for variant in (RELEASED, TEXT))
    for spec in (released, text):
        assert (spec.task.distribution.words, spec.model.hidden, spec.batch) == (40, 256, 128)
        assert spec.optimiser.learning_rate == 1e-3
        assert spec.model.readout == "tanh"
    model = released.model
    assert (model.cell, model.shared_embedding, model.projected_context, model.combine) == ("gru", False, True, "mean")
    model = text.model
    assert (model.cell, model.shared_embedding, model.projected_context, model.combine) == ("lstm", True, False, "sum")


def test_good_heads_go_on_to_step_200_so_that_accuracies_can_be_compared():
    jobs, _ = settle(Order("reduced"))
    whole = [job for job in by_heads(jobs, RELEASED, 1) if job.schedule.stop_at is None]
    assert [job.spec.model.head_seeds[0] for job in whole] == [0, 3, 6, 9, 12, 15]
    assert {job.spec.data_seed for job in whole} == {0}


def test_combinations_end_once_they_have_learned_but_those_whose_accuracy_is_compared():
    def going_on(preset):
        eights = by_heads(settle(Order(preset))[0], RELEASED, 8)
        return [sum(job.schedule.stop_at is None for job in eights[first : first + 20]) for first in (0, 20, 40)]

    assert going_on("reduced") == [0, 0, 10]  # all bad, one good, all random
    assert going_on("paper") == [20, 20, 20]


def test_starts_on_which_data_seeds_disagree_are_replaced_by_later_ones():
    jobs, done = settle(Order("reduced"), lambda head, seed: good_by_seed(head, seed) != (head in (1, 3) and seed == 2))
    result = Multihead().analyse(Order("reduced"), done)
    labels = {row["head"]: row["label"] for row in result.tables["heads"] if row["confirmed"]}
    assert labels[1] == labels[3] == "mixed"
    combined = {head for job in by_heads(jobs, RELEASED, 8) for head in job.spec.model.head_seeds}
    assert combined.isdisjoint({1, 3})
    assert sum(label == "good" for label in labels.values()) == 6
    assert sum(label == "bad" for label in labels.values()) == 10


def test_where_bad_heads_are_rare_more_are_screened_and_at_last_it_goes_on_without():
    jobs, done = settle(Order("reduced"), lambda head, seed: head >= 1000 or head % 8 > 0)
    assert len({job.spec.model.head_seeds for job in by_heads(jobs, RELEASED, 1)}) == 60
    result = Multihead().analyse(Order("reduced"), done)
    assert {row["setting"] for row in result.tables["success"]} >= {"all bad", "one good"}  # heads 0, 8, ... 56 are bad
    jobs, done = settle(Order("reduced"), lambda head, seed: head != 4)
    result = Multihead().analyse(Order("reduced"), done)
    assert "all bad" not in {row["setting"] for row in result.tables["success"]}
    verdicts = {finding.claim: finding.parts[0] for finding in result.findings}
    assert verdicts["heads-all-bad"].verdict == "undecided"
    assert verdicts["heads-all-bad"].detail == "No run at this preset."


def test_the_papers_outcome_makes_its_claims_hold():
    def nearly_always_good(head, seed):
        return head % 2 == 0 if head < 1000 else numpy_generator(head, "luck").random() < 0.5

    _, done = settle(Order("paper"), nearly_always_good)
    result = Multihead().analyse(Order("paper"), done)
    verdicts = {finding.claim: finding.verdict for finding in result.findings}
    assert verdicts.pop("heads-prunable") == "undecided"  # no weights in this world
    assert set(verdicts.values()) == {"holds"}
    assert {part.name for finding in result.findings for part in finding.parts} >= {"released", "text"}
    assert "20 of 20 networks learned" in result.summary


def test_the_opposite_outcome_makes_them_fail():
    """Bad heads learn together, good ones are spoilt by bad ones, random ones never learn."""
    jobs, done = settle(Order("reduced"))
    done = dict(done)
    for job in jobs:
        if job.spec.model.heads > 1:
            bad = not any(map(good_by_seed, job.spec.model.head_seeds, job.spec.model.head_seeds))
            random = job.spec.model.head_seeds[0] >= 1000
            done[job.spec.id] = trained(job, 60 if bad and not random else None)
    verdicts = {f.claim: f.verdict for f in Multihead().analyse(Order("reduced"), done).findings}
    assert [verdicts[f"heads-{name}"] for name in ("all-bad", "one-good", "random")] == ["fails"] * 3


def test_quick_decides_nothing():
    _, done = settle(Order("quick"))
    result = Multihead().analyse(Order("quick"), done)
    assert {part.verdict for finding in result.findings for part in finding.parts} == {"undecided"}
    assert any(note.startswith("quick:") for note in result.notes)


def test_it_decides_every_claim_of_the_registry_that_names_it():
    _, done = settle(Order("quick"))
    named = {claim.id for claim in load_claims() if "multihead" in claim.experiments}
    assert {finding.claim for finding in Multihead().analyse(Order("quick"), done).findings} == named


def test_fewer_seeds_are_fewer_combinations_of_the_same():
    few, all_of_them = ({job.spec.id for job in settle(order)[0]} for order in (Order("reduced", 2), Order("reduced")))
    assert few < all_of_them
    assert len(all_of_them) - len(few) == 3 * 18 + 2 * 18


@pytest.mark.parametrize("preset", ["quick", "reduced", "paper"])
def test_the_estimate_has_at_least_as_many_runs_as_the_plan(preset):
    (planned, done), most = settle(Order(preset)), Multihead().at_most(Order(preset), {})
    assert len(most) >= len(planned)
    assert sum(job.schedule.steps for job in most) >= sum(job.schedule.steps for job in planned)
    assert Multihead().at_most(Order(preset), done) == planned, "once the heads are known"


def start(learned, ends):
    """A start that learned, or not, on each data seed and ended with these accuracies."""
    rows = [
        [{"step": 0, "accuracy": 0.1}, {"step": 190, "accuracy": end}, {"step": 200, "accuracy": 0.99 if won else 0.9}]
        for won, end in zip(learned, ends, strict=True)
    ]
    return Start(7, {seed: Trained("a", run, 200) for seed, run in enumerate(rows)})


def test_labels_by_our_rule_and_by_the_released_one():
    assert start([True] * 3, [0.9] * 3).label == start([True] * 3, [0.9] * 3).released_label == "good"
    low, high = start([False] * 3, [0.59] * 3), start([False] * 3, [0.59, 0.61, 0.59])
    assert (low.label, low.released_label) == ("bad", "bad")
    assert (high.label, high.released_label) == ("bad", "mixed")
    assert start([True, False, True], [0.5] * 3).label == "mixed"


# --- the geometric law


def test_failures_that_do_not_fall_off_are_rejected():
    def verdict(failures):
        return falls_geometrically("law", failures, fit_geometric(failures)).verdict

    assert verdict({1: (30, 60), 2: (30, 60), 4: (30, 60), 8: (10, 20)}) == "fails"
    assert verdict({1: (30, 60), 2: (15, 60), 4: (4, 60), 8: (0, 20)}) == "holds"
    assert verdict({1: (30, 60), 2: (15, 60), 4: (4, 60), 8: (0, 19)}) == "undecided"
    assert verdict({1: (0, 60), 2: (0, 60), 4: (0, 60)}) == "undecided"


# --- pruning

TINY = Scale(words=5, hidden=8, batch=8, heads=2)


def test_pruning_reads_the_weights_that_the_store_has(tmp_path):
    spec = heads.make_spec(TINY, RELEASED, [4, 5], 3)
    run = train(spec, Schedule.every(10, steps=20), RunStore(tmp_path))
    pruned = prune_run(Outcome("one good", 0, run, spec))
    network = spec.model.build(7, 7, 0)
    tensors = run.run.load(20).tensors
    network.load_state_dict({name[6:]: value for name, value in tensors.items() if name.startswith("model.")})
    sequences = CopyingTask(Permutations(5)).batch(100, numpy_generator(3, "pruning", "measuring"))
    assert pruned.whole == pytest.approx(accuracy(network, sequences))
    assert len(pruned.alone) == len(pruned.for_all) == 2
    assert prune_run(Outcome("one good", 0, Trained(run.id, run.rows, 20), spec)) is None


def test_combinations_that_learned_are_pruned_and_drawn(tmp_path):
    spec = heads.make_spec(TINY, RELEASED, [4, 5], 3)
    run = train(spec, Schedule.every(10, steps=10), RunStore(tmp_path)).run
    job = heads.make_job("one", spec, whole=True)
    learner = Outcome("one good", 0, replace(trained(job, 60), run=run), spec)
    failed = Outcome("one good", 1, replace(trained(job, None), run=run), spec)
    group = Group(RELEASED, [], [], [], {"one good": [learner, failed], "all random": []}, {}, None)
    rows = pruning_rows(group)
    assert [(row["combination"], row["good"]) for row in rows] == [(0, False), (0, True)]
    assert sum(row["best"] for row in rows) == 1
    (best,), (other,) = ([row for row in rows if row["best"] is kind] for kind in (True, False))
    marks = {mark["x"]: (mark["facet"], mark["y"], mark["color"]) for mark in drawn(heads_alone(rows))}
    assert marks == {
        what: ("released, one good", value, what)
        for what, value in (
            ("all heads", best["whole"]),
            ("best head alone", best["best_accuracy"]),
            ("any other head alone", max(other["alone"], other["for_all"])),
        )
    }


def test_the_profile_is_drawn_for_each_scenario_where_runs_have_it():
    profile = {name: distance / 10 for distance, name in PROFILE.items()}
    done = {
        key: replace(run, rows=[row | profile for row in run.rows])  # the settled runs are shared with other tests
        for key, run in settle(Order("paper"))[1].items()
    }
    marks = drawn(Multihead().analyse(Order("paper"), done).figures["profile"])
    panels = {mark["facet"] for mark in marks}
    assert {
        f"{group.title}: {scenario}" for group in (RELEASED, TEXT) for scenario in ("all bad", "one good")
    } <= panels
    assert all(mark["y"] == mark["x"] / 10 for mark in marks)


def test_curves_draw_each_scenario_in_the_panel_of_its_variant():
    result = Multihead().analyse(Order("paper"), settle(Order("paper"))[1])
    assert set(result.figures) == {"curves", "failures"}
    marks = drawn(result.figures["curves"])
    for group in (RELEASED, TEXT):
        for scenario, end in (("all bad", 0.55), ("one good", 1.0)):
            ends = at(marks, facet=group.title, color=scenario, x=200)
            assert len(ends) == SAMPLES["paper"][group].combinations
            assert {mark["y"] for mark in ends} == {end}
    rows = [row for row in result.tables["curves"] if row["setting"] == "all random" and row["seed"] == 3]
    text = [(row["step"], row["accuracy"]) for row in rows if row["variant"] == "text"]
    shown = at(marks, facet=TEXT.title, color="all random", detail=3)
    assert [(mark["x"], mark["y"]) for mark in shown] == text


def test_failures_are_drawn_beside_the_fitted_law():
    result = Multihead().analyse(Order("reduced"), settle(Order("reduced"))[1])
    table = {row["heads"]: row for row in result.tables["failures"]}
    band, line, bars, points = (drawn(result.figures["failures"], layer) for layer in range(4))
    assert {mark["facet"] for mark in line} == {RELEASED.title}
    assert {mark["x"]: mark["y"] for mark in points} == {heads: row["rate"] for heads, row in table.items()}
    assert {mark["x"]: (mark["y"], mark["y2"]) for mark in bars} == {
        k: (row["low"], row["high"]) for k, row in table.items()
    }
    q = fit_geometric({k: (row["failed"], row["runs"]) for k, row in table.items()})
    for marks, law in ((line, q.q), (band, q.interval[0])):
        assert len(marks) > 20
        assert all(mark["y"] == pytest.approx(law ** mark["x"]) for mark in marks)
    assert all(mark["y2"] == pytest.approx(q.interval[1] ** mark["x"]) for mark in band)


def test_the_texts_variant_is_decided_on_as_many_combinations_as_it_has():
    assert SAMPLES["paper"][TEXT].combinations == multihead.COMBINATIONS[TEXT] == 10

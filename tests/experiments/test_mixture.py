"""Mixture: its plan, the proxy's tables measured, and verdicts on outcomes whose answer is known."""

import numpy as np
import pyarrow as pa
import pytest
from tests.lab.drawn import views
from tests.lab.ended import after, group, trained

from attnlab.errors import UsageError
from attnlab.experiments.copying import experiment as copying
from attnlab.experiments.forecast_copying import experiment as forecast_copying
from attnlab.experiments.mixture.experiment import (
    MANY,
    PERMUTATIONS,
    PROXIES,
    SELECTIONS,
    SETS,
    Fitted,
    Mixture,
    compared,
    proxy_table,
    read_fitted,
)
from attnlab.families.copying.spec import (
    CopyingSpec,
    PairProxySpec,
    PermutationSetsSpec,
    PermutationsSpec,
    SelectionsSpec,
)
from attnlab.families.copying.word_sets import SetMeasures, measure_sets
from attnlab.lab.claims import load_claims
from attnlab.lab.experiment import Order
from attnlab.lab.outcomes import Outcome
from attnlab.lab.registry import find_experiment
from attnlab.lab.rules import above, below, within
from attnlab.runs.loop import Trained, train
from attnlab.runs.optimisers import AdamSpec
from attnlab.runs.schedule import Schedule
from attnlab.runs.spec import RunSpec
from attnlab.runs.store import RunStore


def measures(**changes):
    """A proxy that knows sets and no words."""
    values = {
        "own": 0.0250,
        "same_set": 0.0250,
        "set_mean": 0.0250,
        "other_set": 0.0001,
        "spread_start": 0.06,
        "spread": 0.06,
        "added": 0.004,
        "reshaped": 0.004,
        "top": 1 / 40,
    }
    return SetMeasures(**{**values, **changes})


class Knowing(Mixture):
    """With proxies that know what they are given, by the name of their distribution, instead of read from runs."""

    def __init__(self, known):
        self.known = known

    def fitted(self, outcome):
        return Fitted(outcome, 2 if outcome.setting == SETS.name else 1, self.known[outcome.setting])


def story(outcomes, of_sets=None, of_permutations=None, seeds=20):
    """The experiment after these runs of networks, and so many of the proxies that are given."""
    known = {SETS.name: of_sets, PERMUTATIONS.name: of_permutations}
    rows = [{"step": 0, "loss": 4.0, "probe_accuracy": 0.02}, {"step": 1000, "loss": 3.7, "probe_accuracy": 0.02}]
    fits = [
        Outcome(PROXIES[name].name, seed, Trained(f"{seed:016x}", rows, 1000), PROXIES[name].spec(seed))
        for name, measured in known.items()
        if measured is not None
        for seed in range(seeds)
    ]
    return after(Knowing(known), [*outcomes, *fits])


def verdicts(*known, **more):
    findings = story(*known, **more).findings()
    return {f.claim: f.verdict for f in findings}, {p.name: p for f in findings for p in f.parts}


EASY = group(SELECTIONS, [40] * 20) + group(MANY, [40] * 20)


# --- the plan


def test_paper_shares_the_runs_of_copying_and_of_the_forecast():
    jobs = find_experiment("mixture").plan(Order("paper"), {})
    ids = {job.spec.id for job in jobs}
    assert len(jobs) == len(ids) == 40 + 40 + 20 + 20 + 3 * 20
    of_copying = copying.Copying().plan(Order("paper"), {})
    assert len(ids & {job.spec.id for job in of_copying}) == 60
    of_forecast = forecast_copying.ForecastCopying().plan(Order("paper"), {})
    assert len(ids & {job.spec.id for job in of_forecast}) == 20  # five of each of its four distributions
    networks = [job for job in jobs if job.spec.model.kind == "seq2seq"]
    of_sets = [job for job in networks if SETS.name in job.label]
    assert {(job.schedule.steps, job.schedule.stop_at) for job in networks if job not in of_sets} == {(200, 0.95)}
    ends = {job.spec.init_seed: (job.schedule.steps, job.schedule.stop_at) for job in of_sets}
    assert ends == {seed: (1000, 0.95) if seed < 10 else (200, None) for seed in range(40)}
    proxies = [job for job in jobs if job.spec.model.kind == "pair-proxy"]
    assert {(job.spec.model.size, job.spec.batch, job.schedule.steps) for job in proxies} == {(256, 128, 1000)}
    assert {job.schedule.evaluations[0] for job in proxies} == {0}  # what training added needs the start


@pytest.mark.parametrize(("preset", "count"), [("quick", 8), ("reduced", 140), ("paper", 180)])
def test_presets_have_their_seeds_and_say_what_they_leave_out(preset, count):
    experiment = Mixture()
    assert len(experiment.at_most(Order(preset), {})) == count
    assert {job.spec.init_seed for job in experiment.plan(Order(preset, seeds=1), {})} == {0}
    notes = after(experiment, [], preset).notes()
    assert any(note.startswith(preset) for note in notes) == (preset != "paper")


@pytest.mark.parametrize(
    ("right", "told"),
    [(-0.002, "0.2% below the mean"), (0.004, "0.4% above the mean"), (59.0, "60 times the mean")],
)
def test_the_right_word_is_compared_in_words(right, told):
    assert compared(right).startswith(told)


def test_raising_all_words_of_a_set_alike_changes_no_difference_between_them():
    start = np.random.default_rng(0).dirichlet(np.ones(6), size=6)
    measured = measure_sets(start, 2 * start, 2)
    assert measured.reshaped == pytest.approx(0, abs=1e-12)
    assert measured.added == pytest.approx(measured.spread_start / 2)


# --- the proxy's tables


def by_loops(start, end, sets):
    """The measures, output word by output word."""
    n = len(end)
    size = n // sets
    own, same, other, added, reshaped, spread, hits = [], [], [], [], [], [], []
    for o in range(n):
        inside = [i for i in range(n) if i // size == o // size]
        column = end[inside, o]
        own.append(end[o, o])
        same += [end[i, o] for i in inside if i != o]
        other += [end[i, o] for i in range(n) if i not in inside]
        added.append((column - start[inside, o]).std() / column.mean())
        reshaped.append((column / column.mean() - start[inside, o] / start[inside, o].mean()).std())
        spread.append(column.std() / column.mean())
        hits.append(inside[int(column.argmax())] == o)
    return {
        "own": np.mean(own),
        "same_set": np.mean(same),
        "other_set": np.mean(other) if other else None,
        "added": np.mean(added),
        "reshaped": np.mean(reshaped),
        "spread": np.mean(spread),
        "top": np.mean(hits),
    }


@pytest.mark.parametrize("sets", [1, 2, 3])
def test_measures_are_their_definitions(sets):
    rng = np.random.default_rng(sets)
    start, end = rng.dirichlet(np.ones(12), size=(2, 12))
    measured = measure_sets(start, end, sets)
    for name, expected in by_loops(start, end, sets).items():
        assert getattr(measured, name) == (expected if expected is None else pytest.approx(expected)), name
    blocks = [end[i, o] for i in range(12) for o in range(12) if i * sets // 12 == o * sets // 12]
    assert measured.set_mean == pytest.approx(np.mean(blocks))
    assert measured.right == pytest.approx(measured.own / np.mean(blocks) - 1)


def test_a_flat_table_has_no_spread_and_is_right_by_chance():
    flat = np.full((6, 6), 1 / 6)
    measured = measure_sets(flat, flat, 1)
    assert (measured.spread, measured.added, measured.separation) == (0, 0, None)
    assert measured.right == pytest.approx(0)
    assert measured.top == pytest.approx(1 / 6)
    sets = np.kron(np.eye(2), np.full((3, 3), 1 / 3))
    measured = measure_sets(np.full((6, 6), 1 / 6), sets, 2)
    assert (measured.separation, measured.added) == (pytest.approx(1 / 3), pytest.approx(0))
    assert measured.top == pytest.approx(1 / 3)


@pytest.mark.parametrize("shapes", [((4, 4), (6, 6)), ((5, 5), (5, 5)), ((4, 6), (4, 6)), ((2, 2), (2, 2))])
def test_tables_that_do_not_fit_are_refused(shapes):
    with pytest.raises(UsageError, match="square, of one shape"):
        measure_sets(np.ones(shapes[0]), np.ones(shapes[1]), 2)


def test_a_small_proxy_really_trained_separates_sets_and_no_words(tmp_path):
    store, schedule = RunStore(tmp_path), Schedule(steps=150, evaluations=(0, 150))

    def fit(distribution, sets):
        spec = RunSpec(
            task=CopyingSpec(distribution=distribution),
            model=PairProxySpec(size=64),
            optimiser=AdamSpec(learning_rate=2e-2),
            batch=32,
            init_seed=0,
            data_seed=0,
        )
        return read_fitted(Outcome("small", 0, train(spec, schedule, store), spec), sets)

    of_sets = fit(PermutationSetsSpec(size=8), 2)
    assert of_sets.chance == 1 / 8
    assert of_sets.measured.separation > 0.1
    assert abs(of_sets.measured.right) < 0.1
    of_permutations = fit(PermutationsSpec(words=8), 1)
    assert of_permutations.measured.added < 0.1
    of_selections = fit(SelectionsSpec(length=8, words=12), 1)
    assert of_selections.measured.top == 1
    assert of_selections.measured.right > 3
    assert of_selections.measured.added > 1
    rows = proxy_table([of_sets])
    assert rows[0]["separation"] == pytest.approx(of_sets.measured.separation)
    assert rows[0]["least_loss"] == pytest.approx(np.log(8))


# --- the rules


def test_the_papers_outcome_makes_both_claims_hold():
    whole, parts = verdicts(group(SETS, [None] * 30 + [120] * 10) + EASY, measures(), measures(other_set=None))
    assert whole == {"mixture-fails": "holds", "proxy-blind-to-permutations": "holds"}
    assert parts["often fail, against 40 of 80"].effect == 0.75
    assert parts["the proxy separates the sets"].effect == pytest.approx(0.0249)
    assert parts["what training adds"].interval == pytest.approx((0.004, 0.004))


def test_the_opposite_outcome_makes_them_fail():
    knowing = measures(own=0.9, set_mean=0.05, top=0.9, other_set=0.06, added=2.0)
    whole, parts = verdicts(group(SETS, [40] * 40) + EASY, knowing, knowing)
    assert set(whole.values()) == {"fails"}
    assert {part.verdict for part in parts.values()} == {"fails"}


def test_fewer_than_twenty_seeds_decide_nothing():
    few = group(SETS, [None] * 19) + EASY
    whole, parts = verdicts(few, measures(), measures(), seeds=19)
    assert set(whole.values()) == {"undecided"}
    assert "At least 20 seeds" in parts["often fail, against 40 of 60"].detail
    assert "At least 20 seeds are needed, not 19." in parts["what training adds"].detail
    nothing, parts = verdicts([])
    assert set(nothing.values()) == {"undecided"}
    assert {part.detail for part in parts.values()} == {"No run at this preset."}


@pytest.mark.parametrize(("value", "verdict"), [(0.0099, "holds"), (0.0101, "fails")])
def test_a_hundredth_of_the_mean_is_the_border(value, verdict):
    _, parts = verdicts([], measures(), measures(added=value, own=0.025 * (1 + value)))
    assert parts["what training adds"].verdict == verdict
    assert parts["the right position"].verdict == verdict


def test_intervals_that_reach_over_a_border_are_undecided():
    mixed = [-1.0, 1.0] * 10
    assert above("a", mixed, 0.0, "so").verdict == "undecided"
    assert below("a", mixed, 0.0, "so").verdict == "undecided"
    assert within("a", mixed, 0.0, 0.1, "so").verdict == "undecided"
    assert within("a", [-1.0] * 20, 0.0, 0.1, "so").verdict == "fails"
    assert above("a", [1.0] * 20, 0.0, "so").verdict == "holds"
    assert above("a", [-1.0] * 20, 0.0, "so").verdict == "fails"


def test_it_decides_every_claim_of_the_registry_that_names_it():
    named = {claim.id for claim in load_claims() if "mixture" in claim.experiments}
    assert {finding.claim for finding in story([]).findings()} == named


# --- the whole result


def test_analyse_makes_a_whole_result(tmp_path):
    experiment, order, store = Mixture(), Order("quick"), RunStore(tmp_path)
    done = {}
    for job in experiment.plan(order, {}):
        if job.spec.model.kind == "seq2seq":
            done[job.spec.id] = trained(None if "sets" in job.label else 40, last=50)
            continue
        run, words = store.run(job.spec.id), job.spec.task.build().distribution.words
        for step in (0, 500):
            theta = np.random.default_rng(step).dirichlet(np.ones(words), size=words)
            run.write_fields(step, pa.table({f"theta_{o}": column for o, column in enumerate(theta.T)}))
        rows = [{"step": step, "loss": 3.7, "probe_accuracy": 0.02} for step in (0, 500)]
        done[job.spec.id] = Trained(job.spec.id, rows, 500, run)
    result = experiment.analyse(order, done)
    assert {row["setting"]: row["learned"] for row in result.tables["success"]} == {SETS.name: 0, SELECTIONS.name: 1}
    assert len(result.tables["proxy_seeds"]) == 6
    assert [row["setting"] for row in result.tables["proxies"]] == [SETS.name, PERMUTATIONS.name, SELECTIONS.name]
    assert "0 of 1 runs learned within 50 updates" in result.summary
    assert "At words of the other" not in result.summary
    assert set(result.figures) == {"curves", "knowledge", "proxies", "proxy_curves"}
    assert all(finding.verdict != "holds" for finding in result.findings)


def test_seeds_that_went_on_are_told_apart_and_decide_nothing(tmp_path):
    experiment, order, store = Mixture(), Order("paper", seeds=2), RunStore(tmp_path)
    done = {}
    for job in experiment.plan(order, {}):
        if job.spec.model.kind == "seq2seq":
            learned_at = 40 if SETS.name not in job.label else 600 if job.spec.init_seed == 0 else None
            done[job.spec.id] = trained(learned_at, last=1000)
            continue
        run, words = store.run(job.spec.id), job.spec.task.build().distribution.words
        theta = np.full((words, words), 1 / words)
        for step in (0, 1000):
            run.write_fields(step, pa.table({f"theta_{o}": column for o, column in enumerate(theta.T)}))
        rows = [{"step": step, "loss": 3.7, "probe_accuracy": 0.02} for step in (0, 1000)]
        done[job.spec.id] = Trained(job.spec.id, rows, 1000, run)
    result = experiment.analyse(order, done)
    assert f"{SETS.name}: 0 of 2 runs learned within 200 updates" in result.summary
    assert "Of 2 seeds of the mixture that went on, 1 had learned by step 1000 (median step 600)" in result.summary
    assert max(row["step"] for row in result.tables["curves"]) == 200
    assert [row["step"] for row in result.tables["late_runs"]] == [600, None]
    assert max(row["step"] for row in result.tables["late_curves"]) == 1000
    ((rows, fields),) = views(result.figures["continued"])
    assert (fields["facet"], fields["x"], fields["y"], fields["color"]) == ("setting", "step", "share", "what")
    assert {(row["seed"], row["what"]): row["share"] for row in rows if row["step"] in (600, 1000)} == {
        (0, "token accuracy"): 1.0,
        (1, "token accuracy"): 0.5,
        (0, "attention at the right position"): 0.75,
        (1, "attention at the right position"): 0.75,
    }
    often = next(part for finding in result.findings for part in finding.parts if "40 of 80" in part.name)
    assert often.effect == 1, "a run that learns after step 200 counts as failed"


# --- figures


def test_networks_are_drawn_with_their_accuracy_and_where_they_point_up_to_the_step_that_decides():
    figures = story(group(SETS, [None]) + group(SELECTIONS, [40])).figures()
    ((rows, fields),) = views(figures["curves"])
    assert (fields["facet"], fields["x"], fields["y"], fields["detail"]) == ("setting", "step", "accuracy", "seed")
    assert {row["setting"]: (row["step"], row["accuracy"]) for row in rows} == {
        SETS.name: (200, 0.5),
        SELECTIONS.name: (40, 1.0),
    }
    ((rows, fields),) = views(figures["knowledge"])
    assert (fields["facet"], fields["y"], fields["color"]) == ("setting", "share", "what")
    shares = {row["what"]: row["share"] for row in rows if row["step"]}
    assert shares == {"lexical probe": 0.9, "attention": 0.75}


def test_proxies_are_drawn_with_their_probe_by_word_and_how_often_it_is_right():
    figures = story([], measures(own=0.5, same_set=0.25), measures(other_set=None), seeds=1).figures()
    ((rows, fields),) = views(figures["proxies"])
    assert (fields["facet"], fields["x"], fields["y"]) == ("setting", "input word", "probe")
    assert {(row["setting"], row["input word"]): row["probe"] for row in rows} == {
        (SETS.name, "its own word"): 0.5,
        (SETS.name, "another word of its set"): 0.25,
        (SETS.name, "a word of the other set"): 0.0001,
        (PERMUTATIONS.name, "its own word"): 0.025,
        (PERMUTATIONS.name, "another word of its set"): 0.025,
    }
    ((rows, fields),) = views(figures["proxy_curves"])
    assert (fields["facet"], fields["x"], fields["y"], fields["detail"]) == (
        "setting",
        "step",
        "probe_accuracy",
        "seed",
    )
    assert [(row["setting"], row["step"], row["probe_accuracy"]) for row in rows] == [
        (name, step, 0.02) for name in (SETS.name, PERMUTATIONS.name) for step in (0, 1000)
    ]

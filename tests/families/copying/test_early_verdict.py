"""The early verdict while training: by hand, in the progress line, and where it ends runs."""

import hashlib
import io
import json
from importlib import resources
from math import exp, log

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError
from rich.console import Console

from attnlab.errors import UsageError
from attnlab.families.copying.early_verdict import (
    MEASURES,
    STEPS,
    Chance,
    EarlyVerdict,
    Feature,
    FittedVerdict,
    Regression,
    chance_of,
    features,
    given_up,
    giving_up,
    may_give_up,
    shipped,
)
from attnlab.families.copying.spec import CopyingSpec, IndependentSpec, PermutationsSpec, Seq2SeqSpec, WarmUpSpec
from attnlab.families.topics.spec import TopicsSpec
from attnlab.runs.engine import Event, Job
from attnlab.runs.loop import Interrupted, finished, train
from attnlab.runs.optimisers import AdamSpec
from attnlab.runs.progress import SweepDisplay, run_progress
from attnlab.runs.schedule import Schedule
from attnlab.runs.spec import RunSpec
from attnlab.runs.store import RunStore

GUESSING = Chance(positions=41, words=41)
PERMUTATIONS = RunSpec(task=CopyingSpec(distribution=PermutationsSpec(words=40)), init_seed=0, data_seed=0)


def row(step, *, good=0.0):
    """What is measured where nothing is learned (``good`` 0) to where all is but a little (1)."""
    return {
        "step": step,
        "loss": log(41) * (1 - 0.9 * good),
        "accuracy": 1 / 41 + 0.9 * good,
        "attention_entropy": log(41) * (0.9 - 0.7 * good),
        "attention_accuracy": 1 / 41 + 0.9 * good,
        "probe_accuracy": 1 / 41 + 0.9 * good,
        "probe_mean": 1 / 41 + 0.5 * good,
    }


def rows(last=200, *, good=0.0):
    return {step: row(step, good=good * min(step, 60) / 60) for step in range(0, last + 1, 10)}


def make_verdict(weight=1.0, below=0.1, steps=STEPS, intercept=0.0):
    """One that looks at attention alone."""
    regression = Regression(
        intercept=intercept,
        time=(0.5, -1.0),
        features=(Feature(name="attention", mean=1.0, scale=2.0, weight=weight),),
    )
    return FittedVerdict(
        experiment="early-verdict",
        preset="paper",
        by=200,
        steps=steps,
        runs=10,
        distributions=2,
        penalty=1.0,
        give_up_below=below,
        regression=regression,
    )


# --- the numbers


def test_what_guesses_has_features_of_nothing():
    guesses = {10: row(10), 20: row(20) | {"attention_entropy": log(41) / 2}}
    values = features(guesses, 20, GUESSING, ["loss", "entropy", "attention", "probe", "probe_mean", "accuracy"])
    assert values == pytest.approx([0] * 6, abs=1e-12)
    change = features(guesses, 20, GUESSING, ["entropy_change", "loss_change"])
    assert change == pytest.approx([-log(9), 0])  # from nine tenths of the largest entropy to one half


def test_features_worked_out_by_hand():
    measured = {
        20: {"loss": 2.0, "attention_entropy": 1.0, "attention_accuracy": 0.5, "probe_accuracy": 0.0, "probe_mean": 0.1}
    }
    found = features(measured, 20, Chance(positions=11, words=16), ["loss", "attention", "probe", "probe_mean"])
    assert found == pytest.approx([log(2 / log(16)), log(10), log(0.001 / 0.999) + log(10), log(1.6)])


@pytest.mark.parametrize("step", [20, 60, 150])
def test_the_chance_is_the_formula(step):
    s = log(step / 20) / log(150 / 20)
    measured = rows(good=0.3)
    share = measured[step]["attention_accuracy"]
    x = log(share / (1 - share)) - log((1 / 41) / (40 / 41))
    odds = 0.25 + 0.5 * s - s**2 + 1.5 * (x - 1) / 2
    expected = 1 / (1 + exp(-odds))
    assert make_verdict(1.5, intercept=0.25).chance(measured, step, GUESSING) == pytest.approx(expected)


def test_there_is_a_verdict_only_at_its_steps_on_what_was_measured_and_is_open():
    verdict, measured = make_verdict(), rows()
    assert all(verdict.chance(measured, step, GUESSING) is not None for step in STEPS)
    assert verdict.chance(measured, 10, GUESSING) is None
    assert verdict.chance(measured, 160, GUESSING) is None
    assert verdict.chance({20: measured[20]}, 20, GUESSING) is None, "the change since step 10 is unknown"
    learned = measured | {30: measured[30] | {"accuracy": 0.96}}
    assert verdict.chance(learned, 20, GUESSING) is not None
    assert verdict.chance(learned, 30, GUESSING) is None
    assert verdict.chance(learned, 40, GUESSING) is None, "a run that has learned once has learned"


def test_what_is_not_measured_is_told():
    measured = {10: {"step": 10, "accuracy": 0.1}, 20: {"step": 20, "accuracy": 0.1}}
    with pytest.raises(UsageError, match="needs 'attention_accuracy', which is not measured"):
        make_verdict().chance(measured, 20, GUESSING)


@given(st.lists(st.none() | st.floats(0, 1), min_size=1, max_size=14), st.floats(0, 1))
def test_given_up_is_the_first_of_two_low_ones_in_a_row(chances, below):
    steps = STEPS[: len(chances)]
    low = [chance is not None and chance < below for chance in chances]
    pairs = [steps[place] for place in range(1, len(steps)) if low[place] and low[place - 1]]
    assert given_up(steps, chances, below) == (pairs[0] if pairs else None)


@given(st.floats(-1e6, 1e6), st.floats(-1e6, 1e6))
def test_chances_are_chances_whatever_comes(value, other):
    regression = make_verdict(3.0).regression
    low, high = sorted([value, other])
    chances = regression.chances([[low], [high]], [20, 20])
    assert ((chances > 0) & (chances < 1)).all()
    assert chances[0] <= chances[1]


# --- what is shipped


def test_the_shipped_verdict_says_where_it_is_from_and_tells_good_from_bad():
    document = json.loads(
        resources.files("attnlab.families.copying").joinpath("early_verdict.json").read_text(encoding="utf-8")
    )
    assert (document["experiment"], document["by"]) == ("early-verdict", 200)
    assert document["steps"] == list(STEPS)
    assert document["runs"] > 0
    verdict = shipped()
    assert verdict.model_dump(mode="json") == document
    assert verdict.chance(rows(good=0.9), 30, GUESSING) > 0.9
    assert verdict.chance(rows(), 100, GUESSING) < 0.5


def test_a_verdict_on_something_unknown_is_refused():
    document = shipped().model_dump(mode="json")
    document["regression"]["features"][0]["name"] = "luck"
    with pytest.raises(ValidationError, match=f"measures are {', '.join(MEASURES)}"):
        FittedVerdict.model_validate(document)


# --- which runs it is about


def test_it_knows_p3s_network_on_any_distribution_of_copying():
    assert chance_of(PERMUTATIONS) == Chance(positions=41, words=41)
    iid = CopyingSpec(distribution=IndependentSpec(length=5, words=7), substitution=(1, 2, 3, 4, 5, 6, 0))
    assert chance_of(RunSpec(task=iid, init_seed=1, data_seed=2)) == Chance(positions=6, words=8)


@pytest.mark.parametrize(
    "changes",
    [
        {"task": CopyingSpec(distribution=PermutationsSpec(words=3), order=(2, 1, 0))},
        {"model": Seq2SeqSpec(hidden=16)},
        {"model": Seq2SeqSpec(heads=2)},
        {"model": Seq2SeqSpec(attention="uniform")},
        {"train": "attention-only"},
        {"batch": 64},
        {"optimiser": AdamSpec(learning_rate=1e-4)},
        {"remedy": WarmUpSpec()},
    ],
    ids=["order", "width", "heads", "uniform", "frozen", "batch", "rate", "remedy"],
)
def test_it_knows_nothing_else(changes):
    values = {name: getattr(PERMUTATIONS, name) for name in RunSpec.model_fields}
    spec = RunSpec(**values | changes)
    assert chance_of(spec) is None
    with pytest.raises(UsageError, match="cannot be ended by the early verdict"):
        giving_up(spec, Schedule.every(10, steps=200))


@pytest.mark.parametrize(
    "schedule",
    [Schedule.every(10, steps=600), Schedule.every(10, steps=60), Schedule.every(50, steps=200)],
    ids=["asks for step 600", "ends before", "measures seldom"],
)
def test_runs_that_are_asked_something_else_are_not_ended(schedule):
    assert may_give_up(PERMUTATIONS, Schedule.every(10, steps=200, stop_at=0.95))
    assert not may_give_up(PERMUTATIONS, schedule)


# --- ending runs


def fingerprint(run):
    digest = hashlib.sha256((run.path / "metrics.parquet").read_bytes())
    last = run.path / "checkpoints" / str(max(run.steps()))
    for name in ("tensors.safetensors", "record.json"):
        digest.update((last / name).read_bytes())
    return digest.hexdigest()


@pytest.fixture
def stuck(make_spec):
    """A run that hardly moves."""
    return make_spec(optimiser=AdamSpec(learning_rate=1e-5))


@pytest.fixture
def ending():
    return Schedule.every(10, steps=200, give_up=EarlyVerdict(positions=5, words=7))


@pytest.fixture
def give_up(monkeypatch):
    """A verdict without hope, so that what is shipped does not matter here."""
    monkeypatch.setattr("attnlab.families.copying.early_verdict.shipped", lambda: make_verdict(intercept=-20.0))


def test_a_hopeless_run_ends_is_marked_and_goes_on_to_the_same_bits(stuck, ending, give_up, tmp_path):
    parts, whole = RunStore(tmp_path / "parts"), RunStore(tmp_path / "whole")
    ended = train(stuck, ending, parts)
    assert [entry["step"] for entry in ended.rows] == [0, 10, 20, 30]
    assert ended.step == 30
    run = parts.run(stuck.id)
    assert run.status() == {
        "status": "finished",
        "step": 30,
        "message": "ended early: the early verdict found it hopeless",
    }
    assert finished(stuck, ending, parts) == ended
    wanted = Schedule.every(10, steps=60)
    assert finished(stuck, wanted, parts) is None, "a schedule that wants more does not take it for finished"
    train(stuck, wanted, parts)
    train(stuck, wanted, whole)
    assert fingerprint(run) == fingerprint(whole.run(stuck.id))
    assert run.status() == {"status": "finished", "step": 60, "message": ""}


def test_a_run_that_is_known_to_the_end_is_read_as_if_it_had_been_ended(stuck, ending, give_up, store):
    train(stuck, Schedule.every(10, steps=60), store)
    before = fingerprint(store.run(stuck.id))
    ended = train(stuck, ending, store)
    assert (ended.step, len(ended.rows)) == (30, 4)
    assert fingerprint(store.run(stuck.id)) == before
    assert store.run(stuck.id).status()["message"] == ""


def test_interrupted_in_between_it_ends_at_the_same_step(stuck, ending, give_up, tmp_path):
    broken, smooth = RunStore(tmp_path / "broken"), RunStore(tmp_path / "smooth")
    asked = iter([False] * 25 + [True])
    with pytest.raises(Interrupted):
        train(stuck, ending, broken, interrupted=lambda: next(asked))
    assert train(stuck, ending, broken) == train(stuck, ending, smooth)
    assert fingerprint(broken.run(stuck.id)) == fingerprint(smooth.run(stuck.id))


def test_a_run_with_hope_is_not_ended(stuck, ending, store, monkeypatch):
    monkeypatch.setattr("attnlab.families.copying.early_verdict.shipped", lambda: make_verdict(below=0.0))
    shorter = ending.model_copy(update={"steps": 40, "evaluations": (0, 10, 20, 30, 40)})
    assert train(stuck, shorter, store).step == 40
    assert store.run(stuck.id).status()["message"] == ""


def test_schedules_cross_to_workers_as_json(ending):
    assert Schedule.model_validate_json(ending.model_dump_json()) == ending


# --- the progress line


def printed(display):
    out = io.StringIO()
    Console(file=out, width=140, force_terminal=False).print(display)
    return out.getvalue()


def test_the_sweep_shows_the_chance_of_runs_it_knows(make_spec):
    schedule = Schedule.every(10, steps=200)
    jobs = [Job("known", PERMUTATIONS, schedule), Job("unknown", make_spec(1), schedule)]
    display = SweepDisplay(jobs)
    for job in jobs:
        display.report(job, Event(0, "began"))
        display.report(job, Event(0, "moved", 0, row(0)))
        display.report(job, Event(0, "moved", 10, row(10)))
    assert "will learn" in printed(display)
    assert "%" not in printed(display), "there is no verdict at step 10"
    measured = rows(good=0.9)
    for job in jobs:
        display.report(job, Event(0, "moved", 10, measured[10]))
        display.report(job, Event(0, "moved", 20, measured[20]))
        display.report(job, Event(0, "moved", 25))
    chance = shipped().chance({10: measured[10], 20: measured[20]}, 20, GUESSING)
    known, unknown = (
        next(line for line in printed(display).splitlines() if f"{name} " in line) for name in ("known", "unknown")
    )
    assert ("> 99 %" if chance > 0.99 else f"{chance:.0%}"[:-1] + " %") in known
    assert "%" not in unknown
    display.report(jobs[0], Event(0, "moved", 30, measured[30] | {"accuracy": 0.97}))
    assert "%" not in printed(display), "it has learned: there is nothing to foretell"


def test_a_sweep_of_other_runs_has_no_such_column(make_spec):
    topics = RunSpec(task=TopicsSpec(), model={"kind": "topic"}, batch=None, init_seed=0, data_seed=0)
    jobs = [Job("a", make_spec(0), Schedule.every(10, steps=20)), Job("b", topics, Schedule.every(10, steps=20))]
    assert "will learn" not in printed(SweepDisplay(jobs))


def test_a_single_run_shows_it_too():
    out = io.StringIO()
    screen = Console(file=out, width=120, force_terminal=True, color_system=None)
    measured = rows()
    with run_progress(Schedule.every(10, steps=200), screen, PERMUTATIONS) as observe:
        observe(90, measured[90])
        assert "will learn" not in out.getvalue()
        observe(100, measured[100])
    assert "will learn" in out.getvalue()

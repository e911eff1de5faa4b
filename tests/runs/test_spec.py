"""Run specs: what is in an id, and how mistakes are told."""

import json

import pytest

from attnlab.errors import UsageError
from attnlab.families.copying.spec import (
    CopyingSpec,
    IndependentSpec,
    MixtureSpec,
    PermutationSetsSpec,
    PermutationsSpec,
    SelectionsSpec,
    Seq2SeqSpec,
    ZipfSpec,
)
from attnlab.families.topics import NUMERICS
from attnlab.families.topics.spec import TopicModelSpec, TopicsSpec
from attnlab.records import validated
from attnlab.runs.optimisers import AdamSpec
from attnlab.runs.schedule import Schedule
from attnlab.runs.spec import RunSpec

PERMUTATIONS = CopyingSpec(distribution=PermutationsSpec(words=40))


def test_ids_tell_every_setting_apart():
    distributions = [
        PermutationsSpec(words=40),
        SelectionsSpec(length=40, words=60),
        IndependentSpec(length=40, words=60),
        ZipfSpec(length=40, words=60),
        ZipfSpec(length=40, words=60, repeat=False),
        ZipfSpec(length=40, words=60, exponent=0.5),
        PermutationSetsSpec(size=40),
        PermutationSetsSpec(size=40, sets=3),
        MixtureSpec(parts=(PermutationsSpec(words=4), IndependentSpec(length=4, words=4)), shares=(0.5, 0.5)),
        MixtureSpec(parts=(PermutationsSpec(words=4), IndependentSpec(length=4, words=4)), shares=(0.4, 0.6)),
    ]
    specs = [RunSpec(task=CopyingSpec(distribution=d), init_seed=0, data_seed=0) for d in distributions]
    changes = [
        {"init_seed": 1},
        {"data_seed": 1},
        {"batch": 64},
        {"train": "all-but-attention"},
        {"optimiser": AdamSpec(learning_rate=2e-3)},
        {"model": Seq2SeqSpec(hidden=128)},
        {"model": Seq2SeqSpec(attention="uniform")},
        {"task": CopyingSpec(distribution=PermutationsSpec(words=40), order=tuple(reversed(range(40))))},
    ]
    specs += [specs[0].model_copy(update=change) for change in changes]
    assert len({spec.id for spec in specs}) == len(specs)


def topics_spec():
    return RunSpec(task=TopicsSpec(), model=TopicModelSpec(), init_seed=3, data_seed=3)


def test_id_survives_a_round_trip_and_is_what_it_was():
    spec = RunSpec(task=PERMUTATIONS, init_seed=3, data_seed=3)
    assert validated(RunSpec, json.loads(spec.model_dump_json())).id == spec.id
    # An id that changes without numerics being raised would make every user's store look empty.
    assert spec.ids == ("0267340a0551e909", "a2bee2207254fca1")
    assert topics_spec().ids[:2] == ("e6495361b4b47992", "29286be4e5114808")


def test_only_the_kind_of_model_whose_numerics_are_raised_gets_new_ids(monkeypatch):
    specs = RunSpec(task=PERMUTATIONS, init_seed=0, data_seed=0), topics_spec()
    before = [spec.id for spec in specs]
    monkeypatch.setitem(NUMERICS, "topic", NUMERICS["topic"] + 1)
    assert [spec.id == old for spec, old in zip(specs, before, strict=True)] == [True, False]


def test_an_explicit_default_is_the_same_run():
    plain = RunSpec(task=PERMUTATIONS, init_seed=0, data_seed=0)
    explicit = RunSpec(task=PERMUTATIONS, model=Seq2SeqSpec(hidden=256), batch=128, init_seed=0, data_seed=0)
    assert plain.id == explicit.id


@pytest.mark.parametrize(
    ("values", "named"),
    [
        ({"bach": 3}, "bach.*known keys are .*batch"),
        ({"batch": 0}, "batch.*greater than or equal to 1"),
        ({"init_seed": -1}, "init_seed"),
        ({"train": "some"}, "train.*'all', 'attention-only' or 'all-but-attention'"),
        ({"model": {"hidden": 0}}, "model.hidden"),
        ({"model": {"cell": "rnn"}}, "model.cell.*'lstm' or 'gru'"),
        ({"model": {"heads": "many"}}, "model.heads"),
        ({"optimiser": {"learning_rate": float("nan")}}, "optimiser.learning_rate"),
        ({"task": {"kind": "copying", "distribution": {"kind": "shuffled", "words": 3}}}, "permutations"),
        (
            {"task": {"kind": "copying", "distribution": {"kind": "selections", "length": 5, "words": 4}}},
            "5 different words",
        ),
        ({"train": "attention-only", "model": {"attention": "uniform"}}, "nothing else to train"),
        ({"train": "attention-only", "model": {"score": "dot"}}, "nothing else to train"),
        ({"model": {"attention": "given"}}, "learned and uniform"),
    ],
)
def test_a_mistake_is_one_sentence(values, named):
    whole = {"task": PERMUTATIONS.model_dump(), "init_seed": 0, "data_seed": 0, **values}
    with pytest.raises(UsageError, match=named) as caught:
        validated(RunSpec, whole)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("values", "named"),
    [
        ({"steps": -1, "evaluations": ()}, "steps"),
        ({"steps": 10, "evaluations": (20,)}, "after the last step 10"),
        ({"steps": 10, "evaluations": (4, 2)}, "rising order"),
        ({"steps": 10, "evaluations": (), "stop_at": 1.5}, "stop_at"),
        ({"steps": 10, "evaluations": (), "checkpoint_every": 0}, "checkpoint_every"),
    ],
)
def test_a_schedule_out_of_range_is_refused(values, named):
    with pytest.raises(UsageError, match=named):
        validated(Schedule, values)


@pytest.mark.parametrize("interval", [0, -5, 2.5, "10"])
def test_an_interval_that_is_no_number_of_steps_is_refused(interval):
    with pytest.raises(UsageError, match=f"interval: .* 1 or more, not {interval!r}"):
        Schedule.every(interval, steps=10)


def test_a_schedule_beyond_reason_is_refused_at_once():
    with pytest.raises(UsageError, match="updates are too many to plan"):
        Schedule.every(25, steps=10**30)

"""The registry agrees with the families, and a family from outside the package is as good as ours."""

import hashlib
import os
import signal
import subprocess
import sys
import textwrap
import warnings

import pytest

from attnlab.errors import UsageError
from attnlab.families import registry
from attnlab.records import validated
from attnlab.runs.engine import Job, LocalEngine
from attnlab.runs.loop import finished, train
from attnlab.runs.schedule import Schedule
from attnlab.runs.spec import RunSpec
from attnlab.runs.store import RunStore
from attnlab.runs.sweep import sweep

# --- ours


@pytest.mark.parametrize("name", registry.FAMILIES)
def test_a_family_exports_what_its_entry_says(name):
    family = registry.FAMILIES[name]
    for part, exported in (
        ("task", "TASKS"),
        ("model", "MODELS"),
        ("remedy", "REMEDIES"),
        ("stop rule", "STOP_RULES"),
        ("deception", "DECEPTIONS"),
    ):
        records = getattr(registry.import_module(family.module), exported, ())
        assert tuple(record.model_fields["kind"].default for record in records) == family.kinds(part)
        assert [registry.spec_class(part, kind) for kind in family.kinds(part)] == [*records]
    module = registry.family_of("task", family.tasks[0])
    assert module.FITS.keys() == set(family.tasks)
    assert module.NUMERICS.keys() == set(family.models)
    known = {kind for other in registry.FAMILIES.values() for kind in other.models}
    assert {kind for kinds in module.FITS.values() for kind in kinds} <= known
    assert callable(module.build) and callable(module.check)
    assert hasattr(module, "check_remedy") == bool(family.remedies)
    assert hasattr(module, "stop_rule") == bool(family.stop_rules)
    assert hasattr(module, "check_deception") == bool(family.deceptions)


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        (
            {"task": {"kind": "copyng"}},
            "task: no task has the kind 'copyng'; known kinds are 'copying', 'own', 'keyword', 'topics', 'sst', ",
        ),
        ({"task": {}}, "task: a task needs its kind, one of 'copying', 'own', "),
        ({"task": 3}, "task: a task is given by its kind and settings, not by 3."),
        ({"model": {"kind": "copying"}}, "model: no model has the kind 'copying'; known kinds are 'seq2seq', "),
        ({"remedy": {"kind": 1}}, "remedy: no remedy has the kind 1; known kinds are 'warm-up', "),
        (
            {"task": {"kind": "copying", "distribution": {"kind": "selections", "length": 0, "words": 3}}},
            "task.distribution.length: Input should be greater than or equal to 1.",
        ),
        ({"task": {"kind": "copying"}}, "task.distribution: Field required."),
        (
            {"task": {"kind": "keyword", "lenght": 3}},
            "task.lenght: Extra inputs are not permitted; known keys are kind, length, words, negative.",
        ),
        ({"optimiser": {"rate": 1}}, "optimiser.rate: Extra inputs are not permitted."),
        ({"model": {"kind": "classifier"}}, "RunSpec: the task copying needs a model of kind seq2seq or pair-proxy, "),
    ],
)
def test_a_mistake_names_its_place_and_the_known_kinds(values, sentence):
    task = {"kind": "copying", "distribution": {"kind": "permutations", "words": 4}}
    with pytest.raises(UsageError) as caught:
        validated(RunSpec, {"task": task, "init_seed": 0, "data_seed": 0, **values})
    assert str(caught.value).startswith(sentence)


# --- one from outside

FAMILY = '''
"""Regression on points of a noisy line, by a linear map."""

from typing import Literal

import torch
from torch import nn

from attnlab.families.base import BaseProblem, check_batch
from attnlab.records import Count, Spec
from attnlab.seeds import torch_generator


class LineSpec(Spec):
    kind: Literal["line"] = "line"
    slope: float = 2.0


class LinearSpec(Spec):
    kind: Literal["linear"] = "linear"
    width: Count = 3


TASKS, MODELS, FITS, NUMERICS = (LineSpec,), (LinearSpec,), {"line": ("linear",)}, {"linear": 1}


class LineProblem(BaseProblem):
    def __init__(self, spec):
        self.spec = spec
        self.model = nn.Sequential(nn.Linear(1, spec.model.width), nn.Linear(spec.model.width, 1))
        generator = torch_generator(spec.init_seed, "line")
        for parameter in self.model.parameters():
            nn.init.normal_(parameter, generator=generator)

    def loss(self, step):
        generator = torch_generator(self.spec.data_seed, "line", step)
        x = torch.randn(self.spec.batch, 1, generator=generator)
        noise = torch.randn(self.spec.batch, 1, generator=generator)
        return (self.model(x) - self.spec.task.slope * x - 0.1 * noise).square().mean()

    def evaluate(self, step):
        with torch.no_grad():
            return {"loss": float(self.loss(-1 % 2**32))}


def build(spec, device):
    return LineProblem(spec)


def check(spec):
    check_batch(spec)
    if spec.task.slope == 0:
        raise ValueError("a flat line is nothing to learn")


class Enough:
    """Ends a run whose loss is small."""

    def __init__(self, below=0.5):
        self.below = below

    @property
    def reason(self):
        return f"its loss is below {self.below}"

    def stops_at(self, rows):
        return next((step for step, row in sorted(rows.items()) if row["loss"] < self.below), None)

    def chance(self, rows, step):
        return None


class Nothing:
    pass
'''
REGISTER = 'registry.register("lines", "outside_lines", tasks=["line"], models=["linear"])'
LINE = {"task": {"kind": "line"}, "model": {"kind": "linear"}, "batch": 8, "init_seed": 1, "data_seed": 1}
SCHEDULE = Schedule.every(50, steps=4000, checkpoint_every=20)


@pytest.fixture
def lines(tmp_path, monkeypatch):
    """The family above, written where Python finds it and registered with one line."""
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / "outside_lines.py").write_text(FAMILY, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path / "code")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path / "code"), os.environ.get("PYTHONPATH", "")]))
    monkeypatch.setattr(registry, "FAMILIES", dict(registry.FAMILIES))
    monkeypatch.delitem(sys.modules, "outside_lines", raising=False)
    registry.register("lines", "outside_lines", tasks=["line"], models=["linear"])


def line_spec(**changes):
    return validated(RunSpec, {**LINE, **changes})


def fingerprint(store, spec):
    run = store.run(spec.id)
    digest = hashlib.sha256((run.path / "metrics.parquet").read_bytes())
    last = run.path / "checkpoints" / str(max(run.steps()))
    for name in ("tensors.safetensors", "record.json"):
        digest.update((last / name).read_bytes())
    return digest.hexdigest()


def test_it_is_validated_like_ours(lines):
    spec = line_spec()
    assert validated(RunSpec, spec.model_dump(mode="json")) == spec
    assert spec.id != line_spec(task={"kind": "line", "slope": 3.0}).id
    for values, sentence in (
        ({"task": {"kind": "line", "slope": "steep"}}, "task.slope: Input should be a valid number"),
        ({"task": {"kind": "line", "slope": 0}}, "a flat line is nothing to learn"),
        ({"model": {}}, "the task line needs a model of kind linear, not seq2seq"),
        ({"batch": None}, "line has none"),
        ({"remedy": {"kind": "warm-up"}}, "a remedy needs the task copying"),
    ):
        with pytest.raises(UsageError, match=sentence):
            line_spec(**values)


def test_it_learns_through_the_loop_and_a_stop_rule_of_the_users_own_ends_it(lines, tmp_path):
    store, spec = RunStore(tmp_path / "runs"), line_spec()
    ending = Schedule.every(50, steps=2000, give_up="outside_lines:Enough")
    ended = train(spec, ending, store)
    assert ended.rows[0]["loss"] > 0.5 > ended.rows[-1]["loss"]
    assert ended.step == ended.rows[-1]["step"] < 2000
    assert store.run(spec.id).status()["message"] == "ended early: its loss is below 0.5"
    assert finished(spec, ending, store) == ended
    again = Schedule.model_validate_json(ending.model_dump_json())
    assert again == ending, "it crosses to workers as JSON"
    stricter = ending.model_copy(
        update={
            "give_up": validated(
                Schedule,
                again.model_dump()
                | {"give_up": {"kind": "own", "rule": "outside_lines:Enough", "settings": {"below": 0.05}}},
            ).give_up
        }
    )
    assert train(spec, stricter, store).step > ended.step


@pytest.mark.parametrize(
    ("rule", "sentence"),
    [
        ("outside_lines:Nothing", "give_up.* is no stop rule: it has no reason and no stops_at and no chance"),
        ("outside_lines:Enouf", "has no 'Enouf'"),
        ("nowhere:Enough", "There is no module 'nowhere'"),
        ("enough", "write module:name"),
        (
            {"kind": "late-verdict"},
            "give_up: no stop rule has the kind 'late-verdict'; .* 'early-verdict'",
        ),
        ({"kind": "early-verdict", "positions": 1, "words": 4}, "give_up.positions: .* greater than or equal to 2"),
    ],
)
def test_a_stop_rule_that_is_none_is_refused(lines, rule, sentence):
    with pytest.raises(UsageError, match=sentence):
        validated(Schedule, {"steps": 10, "evaluations": (), "give_up": rule})


def test_workers_know_it_and_a_kill_costs_nothing(lines, tmp_path):
    """Trained by worker processes of which one is killed with SIGKILL, resumed, and equal to a run never killed."""
    killed, whole, spec = RunStore(tmp_path / "killed"), RunStore(tmp_path / "whole"), line_spec()
    job, news = Job("a line", spec, SCHEDULE), []

    def kill(job, event):
        if event.kind == "moved" and event.step >= 100 and not news:
            news.append(worker())
            os.kill(news[0], signal.SIGKILL)

    swept = sweep([job], killed, LocalEngine(1), kill)
    assert "ended with code -9" in swept.failed["a line"]
    assert 0 < max(killed.run(spec.id).steps()) < SCHEDULE.steps
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert sweep([job], killed, LocalEngine(1)).failed == {}
    train(spec, SCHEDULE, whole)
    assert fingerprint(killed, spec) == fingerprint(whole, spec)


def worker():
    """The process number of our only worker."""
    listed = subprocess.run(
        ["ps", "--ppid", str(os.getpid()), "-o", "pid=,args="], capture_output=True, text=True, check=True
    )
    return next(int(line.split()[0]) for line in listed.stdout.splitlines() if "attnlab.runs.worker" in line)


CHILD = f"""
import sys
from attnlab.families import registry
from attnlab.runs.loop import train
from attnlab.runs.schedule import Schedule
from attnlab.runs.spec import RunSpec
from attnlab.runs.store import RunStore
{REGISTER}
spec, schedule = RunSpec.model_validate_json(sys.argv[2]), Schedule.model_validate_json(sys.argv[3])
train(spec, schedule, RunStore(sys.argv[1]), observe=lambda step, row: print(step, flush=True))
"""


def test_the_loop_killed_in_the_middle_ends_with_the_same_bits(lines, tmp_path):
    killed, whole, spec = RunStore(tmp_path / "killed"), RunStore(tmp_path / "whole"), line_spec()
    documents = [str(killed.root), spec.model_dump_json(), SCHEDULE.model_dump_json()]
    for reached in (130, 777):
        command = [sys.executable, "-c", textwrap.dedent(CHILD), *documents]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
            while int(child.stdout.readline()) < reached:
                pass
            child.send_signal(signal.SIGKILL)
        assert child.returncode == -signal.SIGKILL
    train(spec, SCHEDULE, killed)
    train(spec, SCHEDULE, whole)
    assert fingerprint(killed, spec) == fingerprint(whole, spec)


def test_names_and_kinds_are_taken_once(lines):
    registry.register("lines", "outside_lines", tasks=["line"], models=["linear"])  # again, as a worker may
    with pytest.raises(UsageError, match="a family 'lines' already, in the module outside_lines"):
        registry.register("lines", "elsewhere", tasks=["other"])
    with pytest.raises(UsageError, match="The family copying has the model 'seq2seq' already; mine needs another kind"):
        registry.register("mine", "elsewhere", tasks=["other"], models=["seq2seq"])


def test_a_module_that_is_not_there_or_says_otherwise_is_named(lines):
    registry.register("gone", "not_there", tasks=["gone"])
    with pytest.raises(UsageError, match="The module 'not_there' of the family gone cannot be imported"):
        line_spec(task={"kind": "gone"})
    registry.register("half", "outside_lines", tasks=["half"])
    with pytest.raises(UsageError, match="TASKS of outside_lines has no record whose kind is 'half'"):
        line_spec(task={"kind": "half"})

"""Which families of tasks there are. A family is one folder and one entry here; its module is imported on use.

The module of a family has

- ``TASKS`` and ``MODELS``: its kinds of task and of model, subclasses of `attnlab.records.Spec`;
- ``FITS``: by kind of task, the kinds of model that can learn it (those of another family among them);
- ``NUMERICS``: by kind of model, a number that is raised whenever its arithmetic changes, so that old runs are not
  mistaken for new ones;
- ``build(spec, device)``: the `attnlab.protocols.Problem` of a run on one of its tasks;
- ``check(spec)``: a ValueError where the settings of a run on one of its tasks make no sense together.

It may have ``REMEDIES`` (kinds of remedy) with ``check_remedy(spec)``, and ``STOP_RULES`` (kinds of record that fulfil
`attnlab.protocols.StopRule`) with ``stop_rule(spec)``, the one that knows a run on one of its tasks, or None. It may
have ``DECEPTIONS`` (kinds of deceptive training on its own tasks) with ``check_deception(spec)``; one that compares the
network with another run's has an ``original``, that run's id and step, and its problem takes the weights
(`attnlab.protocols.Twin`).
"""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, Literal

from pydantic import ValidationError

from attnlab.data.sent_files import keep_files
from attnlab.errors import UsageError
from attnlab.protocols import Problem, RunSettings, StopRule, Twin, Weights
from attnlab.records import Spec

Part = Literal["task", "model", "remedy", "stop rule", "deception"]


@dataclass(frozen=True)
class Family:
    """The module of a family and the kinds of what it exports."""

    module: str
    tasks: tuple[str, ...]
    models: tuple[str, ...] = ()
    remedies: tuple[str, ...] = ()
    stop_rules: tuple[str, ...] = ()
    deceptions: tuple[str, ...] = ()

    def kinds(self, part: Part) -> tuple[str, ...]:
        kinds: dict[Part, tuple[str, ...]] = {
            "task": self.tasks,
            "model": self.models,
            "remedy": self.remedies,
            "stop rule": self.stop_rules,
            "deception": self.deceptions,
        }
        return kinds[part]


REMEDIES = ("warm-up", "warm-start", "alignment-loss", "fresh-attention", "mirrored-readout")
FAMILIES: dict[str, Family] = {
    "copying": Family(
        "attnlab.families.copying",
        ("copying", "own"),
        ("seq2seq", "pair-proxy"),
        REMEDIES,
        ("early-verdict",),
        ("off-position",),
    ),
    "keyword": Family("attnlab.families.keyword", ("keyword",)),
    "topics": Family("attnlab.families.topics", ("topics", "sst"), ("topic",)),
    "texts": Family(
        "attnlab.families.texts",
        ("text",),
        ("classifier", "proxy"),
        stop_rules=("no-improvement",),
        deceptions=("twin", "off-words"),
    ),
    "translation": Family(
        "attnlab.families.translation",
        ("translation",),
        ("translator", "translation-proxy"),
        deceptions=("pair-twin",),
    ),
    "teacher": Family("attnlab.families.teacher", ("teacher", "digits", "word-vectors"), ("student",)),
}
"""The families by name."""
_OURS = tuple(FAMILIES)
_EXPORTS: dict[Part, str] = {
    "task": "TASKS",
    "model": "MODELS",
    "remedy": "REMEDIES",
    "stop rule": "STOP_RULES",
    "deception": "DECEPTIONS",
}


def register(name: str, module: str, tasks: Sequence[str], **kinds: Sequence[str]) -> None:
    """Add a family of your own, whose ``module`` is anywhere that Python finds it; worker processes learn of it too.

    ``kinds``: its ``models``, ``remedies``, ``stop_rules`` and ``deceptions``.

    >>> register("sums", "my_sums", tasks=["adding"], models=["adder"])
    >>> FAMILIES.pop("sums").tasks
    ('adding',)
    """
    family = Family(module, tuple(tasks), **{part: tuple(names) for part, names in kinds.items()})
    if FAMILIES.get(name, family) != family:
        raise UsageError(f"There is a family {name!r} already, in the module {FAMILIES[name].module}.")
    for other, known in FAMILIES.items():
        for part in _EXPORTS:
            taken = set(known.kinds(part)) & set(family.kinds(part))
            if taken and other != name:
                raise UsageError(
                    f"The family {other} has the {part} {min(taken)!r} already; {name} needs another kind."
                )
    FAMILIES[name] = family


def from_outside() -> dict[str, dict[str, Any]]:
    """What `register` added, by name, as plain values: the arguments with which a worker process repeats it."""
    return {name: asdict(family) for name, family in FAMILIES.items() if name not in _OURS}


def family_of(part: Part, kind: str) -> ModuleType:
    """The module of the family that has this kind; a ValueError that lists the known kinds where none has."""
    for name, family in FAMILIES.items():
        if kind in family.kinds(part):
            try:
                return import_module(family.module)
            except ImportError as error:
                raise UsageError(
                    f"The module {family.module!r} of the family {name} cannot be imported: {error}."
                ) from None
    raise ValueError(f"no {part} has the kind {kind!r}; known kinds are {_known(part)}")


def spec_class(part: Part, kind: str) -> type[Spec]:
    """The class of the records of one kind."""
    module = family_of(part, kind)
    exported: tuple[type[Spec], ...] = getattr(module, _EXPORTS[part], ())
    for record in exported:
        if record.model_fields["kind"].default == kind:
            return record
    raise UsageError(f"{_EXPORTS[part]} of {module.__name__} has no record whose kind is {kind!r} by default.")


def read_spec(part: Part, value: Any, default: str | None = None) -> Spec:
    """``value``, a record or its plain values, as a record; values without a kind are of the ``default`` kind."""
    if isinstance(value, Spec) and isinstance(value, spec_class(part, value.kind)):
        return value
    if not isinstance(value, dict):
        raise ValueError(f"a {part} is given by its kind and settings, not by {value!r}")
    kind = value.get("kind", default)
    if kind is None:
        raise ValueError(f"a {part} needs its kind, one of {_known(part)}")
    record = spec_class(part, kind)
    for key in value:
        if key not in record.model_fields:
            known = ", ".join(record.model_fields)
            mistake = {"error": ValueError(f"Extra inputs are not permitted; known keys are {known}")}
            raise ValidationError.from_exception_data(
                kind, [{"type": "value_error", "loc": (key,), "input": value[key], "ctx": mistake}]
            )
    return record.model_validate(value)


def _known(part: Part) -> str:
    return ", ".join(repr(kind) for family in FAMILIES.values() for kind in family.kinds(part))


def check(spec: RunSettings) -> None:
    """A ValueError where task, model, remedy and the other settings of a run do not fit together."""
    family = family_of("task", spec.task.kind)
    fitting = family.FITS[spec.task.kind]
    if spec.model.kind not in fitting:
        wanted = " or ".join(fitting)
        raise ValueError(f"the task {spec.task.kind} needs a model of kind {wanted}, not {spec.model.kind}")
    family.check(spec)
    if spec.remedy is not None:
        family_of("remedy", spec.remedy.kind).check_remedy(spec)
    if spec.deception is not None:
        deceiving = family_of("deception", spec.deception.kind)
        if deceiving is not family:
            tasks = " or ".join(task.model_fields["kind"].default for task in deceiving.TASKS)
            raise ValueError(f"the deception {spec.deception.kind} needs the task {tasks}, not {spec.task.kind}")
        deceiving.check_deception(spec)


def numerics(model: Spec) -> int:
    """The number of a model's arithmetic."""
    number: int = family_of("model", model.kind).NUMERICS[model.kind]
    return number


def build_problem(spec: RunSettings, device: str = "cpu", weights: Weights | None = None) -> Problem:
    """The problem that ``spec`` describes.

    ``weights`` finds those of another run, for a twin; without it a twin's original is untrained, which is enough to
    see what an update costs and which tensors there are.
    """
    problem: Problem = family_of("task", spec.task.kind).build(spec, device)
    original: tuple[str, int] | None = getattr(spec.deception, "original", None)
    if weights is not None and original is not None:
        assert isinstance(problem, Twin)
        problem.take_original(weights(*original))
    return problem


def kept_data(spec: RunSettings) -> list[str]:
    """Keep the data that a run needs in the cache (`attnlab.data.cache`), and say under which names: a machine that has
    no data is sent it. A task or model may have ``keep()``, which keeps data preprocessed, and ``reads()``: files of
    the data folder, or None.
    """
    names: list[str] = []
    files: list[Path] | None = None
    for part in (spec.task, spec.model):
        keep: Callable[[], str] | None = getattr(part, "keep", None)
        names += [] if keep is None else [keep()]
        reads: Callable[[], list[Path] | None] | None = getattr(part, "reads", None)
        read = None if reads is None else reads()
        files = files if read is None else [*(files or ()), *read]
    return names if files is None else [*names, keep_files(files)]


def stop_rule(spec: RunSettings) -> StopRule | None:
    """The rule of its family's that knows a run like this one, if there is any."""
    family = family_of("task", spec.task.kind)
    rule: StopRule | None = family.stop_rule(spec) if hasattr(family, "stop_rule") else None
    return rule

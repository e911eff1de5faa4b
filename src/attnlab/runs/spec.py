"""Run specs: everything that decides a training run, validated where it enters.

A spec is a frozen record; its ``id`` hashes what decides the trajectory. Total steps and evaluations are not part of
it (they are in `attnlab.runs.schedule`), so a run can be continued and shared.
"""

import json
from hashlib import sha256
from typing import Annotated, Any, Self

from pydantic import Field, PlainValidator, SerializeAsAny, ValidationError, model_validator

from attnlab.errors import AttnlabError
from attnlab.families import registry
from attnlab.protocols import Train
from attnlab.records import Count, Record, Seed, Spec
from attnlab.runs.optimisers import AdamSpec, OptimiserSpec

MODEL = "seq2seq"
"""The kind of a model that names none."""

TaskSpec = Annotated[SerializeAsAny[Spec], PlainValidator(lambda value: registry.read_spec("task", value))]
ModelSpec = Annotated[SerializeAsAny[Spec], PlainValidator(lambda value: registry.read_spec("model", value, MODEL))]
DeceptionSpec = Annotated[SerializeAsAny[Spec], PlainValidator(lambda value: registry.read_spec("deception", value))]
RemedySpec = Annotated[SerializeAsAny[Spec], PlainValidator(lambda value: registry.read_spec("remedy", value))]


class RunSpec(Record):
    """One training of one model on one task. ``batch`` None: every update sees the whole training set.

    ``remedy``: what is done against a start that would fail, if anything. ``deception``: what draws attention away from
    where training would lead it, if anything. Which tasks, models, remedies and deceptions there are is the families'
    affair (`attnlab.families.registry`).

    >>> from attnlab.specs import CopyingSpec, PermutationsSpec
    >>> spec = RunSpec(task=CopyingSpec(distribution=PermutationsSpec(words=40)), init_seed=3, data_seed=3)
    >>> spec.id == RunSpec.model_validate_json(spec.model_dump_json()).id
    True
    """

    task: TaskSpec
    model: ModelSpec = Field(default_factory=lambda: registry.spec_class("model", MODEL)())
    train: Train = "all"
    optimiser: OptimiserSpec = AdamSpec()
    batch: Count | None = 128
    evaluation_batch: Count = 50
    init_seed: Seed
    data_seed: Seed
    remedy: RemedySpec | None = None
    deception: DeceptionSpec | None = None

    @model_validator(mode="after")
    def _fitting(self) -> Self:
        registry.check(self)
        return self

    def unseeded(self) -> Self:
        """The same run with other seeds, which are the same for all: runs that differ in nothing else cost the same."""
        changes: dict[str, Any] = {"init_seed": 0, "data_seed": 0}
        changes |= {"task": self.task.unseeded(), "model": self.model.unseeded()}
        changes["remedy"] = self.remedy and self.remedy.unseeded()
        changes["deception"] = self.deception and self.deception.unseeded()
        return self.model_copy(update=changes)

    @property
    def id(self) -> str:
        """Sixteen hexadecimal digits that name this trajectory."""
        return self.ids[0]

    @property
    def ids(self) -> tuple[str, ...]:
        """`id`, then those that the run had under each earlier arithmetic of its model, the latest first."""
        return tuple(map(self._id, range(registry.numerics(self.model), 0, -1)))

    def _id(self, numerics: int) -> str:
        settings = {"numerics": numerics, **self.identity()}
        return sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()[:16]


def read_stored(document: Any, run_id: str) -> RunSpec | None:
    """The spec in a run's folder if it is the one that ``run_id`` stands for, also under an earlier arithmetic."""
    try:
        spec = RunSpec.model_validate(document)
    except (ValidationError, AttnlabError, TypeError):
        return None
    return spec if run_id in spec.ids else None


def is_known(document: dict[str, Any]) -> bool:
    """Whether all kinds that a stored spec names are of families known here."""
    parts: tuple[registry.Part, ...] = ("task", "model", "remedy", "deception")
    named = [
        (part, document[part]["kind"])
        for part in parts
        if isinstance(document.get(part), dict) and "kind" in document[part]
    ]
    return all(any(kind in family.kinds(part) for family in registry.FAMILIES.values()) for part, kind in named)

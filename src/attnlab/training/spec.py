"""Run specs: everything that decides a training run, validated where it enters.

A spec is a frozen record; its ``id`` hashes what decides the trajectory. Total steps and evaluations are not part of
it (they are in `attnlab.training.schedule`), so a run can be continued and shared.
"""

import json
from hashlib import sha256
from typing import Annotated, Any, Literal, Self, TypeVar

import torch
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from attnlab.errors import UsageError
from attnlab.models.attention import AttentionMode, Combine, Score
from attnlab.models.readout import ReadoutKind
from attnlab.models.recurrent import Cell
from attnlab.models.seq2seq import Seq2Seq
from attnlab.tasks import copying

NUMERICS = 1
"""Raised whenever training's arithmetic changes, so that old runs are not mistaken for new ones."""

Train = Literal["all", "attention-only", "all-but-attention"]
Count = Annotated[int, Field(ge=1)]
Seed = Annotated[int, Field(ge=0, lt=2**63)]
Share = Annotated[float, Field(ge=0, le=1)]


class Record(BaseModel):
    """A frozen record that refuses unknown keys."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    def identity(self) -> dict[str, Any]:
        """What tells this record from others: its kind and every field that differs from the default.

        Fields added later with a default that keeps the old behaviour leave old ids as they are.
        """
        told: dict[str, Any] = {}
        for name, field in type(self).model_fields.items():
            value = getattr(self, name)
            if name == "kind" or value != field.default:
                told[name] = _plain(value)
        return told


def _plain(value: Any) -> Any:
    if isinstance(value, Record):
        return value.identity()
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    return value


class PermutationsSpec(Record):
    """All ``words`` words in random order."""

    kind: Literal["permutations"] = "permutations"
    words: Count

    def build(self) -> copying.Distribution:
        return copying.Permutations(self.words)


class SelectionsSpec(Record):
    """``length`` of ``words`` words, none twice."""

    kind: Literal["selections"] = "selections"
    length: Count
    words: Count

    def build(self) -> copying.Distribution:
        return copying.Selections(self.length, self.words)


class IndependentSpec(Record):
    """``length`` words, each on its own from ``words``."""

    kind: Literal["independent"] = "independent"
    length: Count
    words: Count

    def build(self) -> copying.Distribution:
        return copying.Independent(self.length, self.words)


class PermutationSetsSpec(Record):
    """A permutation of one of several disjoint sets."""

    kind: Literal["permutation-sets"] = "permutation-sets"
    size: Count
    sets: Count = 2

    def build(self) -> copying.Distribution:
        return copying.PermutationSets(self.size, self.sets)


class MixtureSpec(Record):
    """Sequences from several distributions in given shares."""

    kind: Literal["mixture"] = "mixture"
    parts: tuple["DistributionSpec", ...]
    shares: tuple[Share, ...]

    def build(self) -> copying.Distribution:
        return copying.Mixture(tuple(part.build() for part in self.parts), self.shares)


DistributionSpec = Annotated[
    PermutationsSpec | SelectionsSpec | IndependentSpec | PermutationSetsSpec | MixtureSpec,
    Field(discriminator="kind"),
]


class CopyingSpec(Record):
    """A copying task: see `attnlab.tasks.copying.CopyingTask`."""

    kind: Literal["copying"] = "copying"
    distribution: DistributionSpec
    substitution: tuple[int, ...] | None = None
    order: tuple[int, ...] | None = None

    @model_validator(mode="after")
    def _buildable(self) -> Self:
        self.build()
        return self

    def build(self) -> copying.CopyingTask:
        return copying.CopyingTask(self.distribution.build(), self.substitution, self.order)


class Seq2SeqSpec(Record):
    """The network of P3 2.1: see `attnlab.models.seq2seq.Seq2Seq`."""

    kind: Literal["seq2seq"] = "seq2seq"
    hidden: Count = 256
    embedding_size: Count | None = None
    cell: Cell = "lstm"
    layers: Count = 1
    bidirectional: bool = False
    dropout: Annotated[float, Field(ge=0, lt=1)] = 0.0
    shared_embedding: bool = True
    heads: Count = 1
    score: Score = "bilinear"
    projected_context: bool = False
    combine: Combine = "sum"
    readout: ReadoutKind = "tanh"
    attention: AttentionMode = "learned"
    head_seeds: tuple[Seed, ...] | None = None

    def build(self, source_words: int, target_words: int, seed: int) -> Seq2Seq:
        settings = self.model_dump(exclude={"kind"})
        return Seq2Seq(source_words, target_words, seed=seed, **settings)


class AdamSpec(Record):
    """Adam; the defaults are PyTorch's."""

    kind: Literal["adam"] = "adam"
    learning_rate: Annotated[float, Field(gt=0)] = 1e-3
    betas: tuple[Share, Share] = (0.9, 0.999)
    epsilon: Annotated[float, Field(gt=0)] = 1e-8

    def build(self, parameters: list[torch.nn.Parameter]) -> torch.optim.Optimizer:
        # The fused kernel does the whole update in one pass over memory; it is exact and needs no GPU.
        return torch.optim.Adam(parameters, lr=self.learning_rate, betas=self.betas, eps=self.epsilon, fused=True)


class RunSpec(Record):
    """One training of one model on one task.

    >>> spec = RunSpec(task=CopyingSpec(distribution=PermutationsSpec(words=40)), init_seed=3, data_seed=3)
    >>> spec.id == RunSpec.model_validate_json(spec.model_dump_json()).id
    True
    """

    task: CopyingSpec
    model: Seq2SeqSpec = Seq2SeqSpec()
    train: Train = "all"
    optimiser: AdamSpec = AdamSpec()
    batch: Count = 128
    evaluation_batch: Count = 50
    init_seed: Seed
    data_seed: Seed

    @model_validator(mode="after")
    def _trainable(self) -> Self:
        if self.train == "attention-only" and (self.model.attention != "learned" or self.model.score == "dot"):
            raise ValueError(
                "train = attention-only needs learned attention with a bilinear score: there is nothing else to train"
            )
        if self.model.attention == "given":
            raise ValueError("attention = given needs weights from a caller; a run knows learned and uniform")
        return self

    @property
    def id(self) -> str:
        """Sixteen hexadecimal digits that stand for this trajectory."""
        told = {"numerics": NUMERICS, **self.identity()}
        return sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()[:16]


RecordType = TypeVar("RecordType", bound=BaseModel)


def validated(record: type[RecordType], values: Any) -> RecordType:
    """``record`` from plain ``values``; what is wrong with them is said in one sentence."""
    try:
        return record.model_validate(values)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"]) or record.__name__
        known = ""
        if first["type"] == "extra_forbidden":
            known = f"; known keys are {', '.join(record.model_fields)}"
        raise UsageError(f"{place}: {first['msg'].removeprefix('Value error, ')}{known}.") from None

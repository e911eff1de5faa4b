"""Run specs: everything that decides a training run, validated where it enters.

A spec is a frozen record; its ``id`` hashes what decides the trajectory. Total steps and evaluations are not part of
it (they are in `attnlab.training.schedule`), so a run can be continued and shared.
"""

import json
from hashlib import sha256
from typing import Annotated, Any, Literal, Self, TypeVar

import torch
from pydantic import BaseModel, ConfigDict, Discriminator, Field, Tag, ValidationError, model_validator

from attnlab.errors import UsageError
from attnlab.models.attention import AttentionMode, Combine, Score
from attnlab.models.readout import ReadoutKind
from attnlab.models.recurrent import Cell
from attnlab.models.seq2seq import Seq2Seq
from attnlab.models.topic import Below, ClassifierKind, TopicModel, make_classifier
from attnlab.seeds import numpy_generator
from attnlab.tasks import copying
from attnlab.tasks import topics as topic_tasks
from attnlab.tasks.sst import Classes, Corpus, read_sst, sst_folder
from attnlab.training.descent import Descent

NUMERICS = {"seq2seq": 1, "topic": 2}
"""By kind of model: raised whenever its arithmetic changes, so that old runs are not mistaken for new ones."""

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


class ZipfSpec(Record):
    """``length`` of ``words`` words with Zipf's frequencies, with or without repetition."""

    kind: Literal["zipf"] = "zipf"
    length: Count
    words: Count
    exponent: Annotated[float, Field(ge=0, le=10)] = 1.0
    repeat: bool = True

    def build(self) -> copying.Distribution:
        return copying.Zipf(self.length, self.words, self.exponent, self.repeat)


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
    PermutationsSpec | SelectionsSpec | IndependentSpec | ZipfSpec | PermutationSetsSpec | MixtureSpec,
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


class TopicsSpec(Record):
    """The task of P1 3, with P1's numbers: see `attnlab.tasks.topics.TopicTask`.

    ``topics``: how many there are, or their words by name; then ``words`` says how many words each has (a range: drawn
    for each topic from the data seed). ``others`` is m, ``dictionary`` |Theta|, ``sentences`` N before the split.
    """

    kind: Literal["topics"] = "topics"
    topics: Count | tuple[tuple[str, ...], ...] = 4
    words: Count | tuple[Count, Count] = 2
    dictionary: Annotated[int, Field(ge=0)] = 5000
    others: Annotated[int, Field(ge=0)] | tuple[int, int] = 20
    per_sentence: Count = 1
    replace: bool = True
    sentences: Count = 5000

    @model_validator(mode="after")
    def _buildable(self) -> Self:
        self.build(0)
        return self

    def build(self, seed: int) -> topic_tasks.TopicTask:
        sets = self.topics
        if isinstance(sets, int):
            sets = topic_tasks.topic_sets(sets, self.words, numpy_generator(seed, "topics"))
        return topic_tasks.TopicTask(sets, self.dictionary, self.others, self.per_sentence, self.replace)


class SstSpec(Record):
    """The Stanford Sentiment Treebank, SST2 or SST5: see `attnlab.tasks.sst.read_sst`.

    The files are those of the folder that ATTNLAB_DATA names, and no part of the run's id.
    """

    kind: Literal["sst"] = "sst"
    classes: Classes = 2
    padded: bool = False

    def build(self) -> Corpus:
        return read_sst(sst_folder(), self.classes, padded=self.padded)


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


class TopicModelSpec(Record):
    """The attention classifier of P1 3: see `attnlab.models.topic.TopicModel`.

    ``hidden``: the widths of classifier = layers. ``train_query`` and ``train_embedding``: whether those are trained;
    keys are, unless the run's ``train`` is all-but-attention.
    """

    kind: Literal["topic"] = "topic"
    classifier: ClassifierKind = "fixed"
    hidden: tuple[Count, ...] = (10,)
    size: Count = 10
    key_size: Count | None = None
    query_std: Annotated[float, Field(gt=0)] = 0.3
    embedding_std: Annotated[float, Field(ge=0)] = 1e-6
    below: Below = "nothing"
    train_query: bool = False
    train_embedding: bool = True

    def build(self, vocabulary: int, classes: int, seed: int) -> TopicModel:
        return TopicModel(
            vocabulary,
            make_classifier(self.classifier, self.size, classes, hidden=self.hidden, seed=seed),
            size=self.size,
            key_size=self.key_size,
            query_std=self.query_std,
            embedding_std=self.embedding_std,
            below=self.below,
            seed=seed,
        )


class AdamSpec(Record):
    """Adam; the defaults are PyTorch's."""

    kind: Literal["adam"] = "adam"
    learning_rate: Annotated[float, Field(gt=0)] = 1e-3
    betas: tuple[Share, Share] = (0.9, 0.999)
    epsilon: Annotated[float, Field(gt=0)] = 1e-8

    def build(self, parameters: list[torch.nn.Parameter]) -> torch.optim.Optimizer:
        # The fused kernel does the whole update in one pass over memory; it is exact and needs no GPU.
        return torch.optim.Adam(parameters, lr=self.learning_rate, betas=self.betas, eps=self.epsilon, fused=True)


class SgdSpec(Record):
    """Plain gradient descent: no momentum, no decay."""

    kind: Literal["sgd"] = "sgd"
    learning_rate: Annotated[float, Field(gt=0)] = 0.1

    def build(self, parameters: list[torch.nn.Parameter]) -> Descent:
        return Descent(parameters, self.learning_rate)


def _kind(default: str) -> Discriminator:
    """Tells records of a union by their kind; values without one are of the ``default`` kind."""

    def told(value: Any) -> Any:
        return value.get("kind", default) if isinstance(value, dict) else getattr(value, "kind", None)

    return Discriminator(told)


TaskSpec = Annotated[CopyingSpec | TopicsSpec | SstSpec, Field(discriminator="kind")]
ModelSpec = Annotated[
    Annotated[Seq2SeqSpec, Tag("seq2seq")] | Annotated[TopicModelSpec, Tag("topic")], _kind("seq2seq")
]
OptimiserSpec = Annotated[Annotated[AdamSpec, Tag("adam")] | Annotated[SgdSpec, Tag("sgd")], _kind("adam")]

MODEL_OF = {"copying": "seq2seq", "topics": "topic", "sst": "topic"}
"""The kind of model that each kind of task is for."""


class RunSpec(Record):
    """One training of one model on one task. ``batch`` None: every update sees the whole training set.

    >>> spec = RunSpec(task=CopyingSpec(distribution=PermutationsSpec(words=40)), init_seed=3, data_seed=3)
    >>> spec.id == RunSpec.model_validate_json(spec.model_dump_json()).id
    True
    """

    task: TaskSpec
    model: ModelSpec = Seq2SeqSpec()
    train: Train = "all"
    optimiser: OptimiserSpec = AdamSpec()
    batch: Count | None = 128
    evaluation_batch: Count = 50
    init_seed: Seed
    data_seed: Seed

    @model_validator(mode="after")
    def _matching(self) -> Self:
        if self.model.kind != MODEL_OF[self.task.kind]:
            wanted = MODEL_OF[self.task.kind]
            raise ValueError(f"the task {self.task.kind} needs a model of kind {wanted}, not {self.model.kind}")
        if self.batch is None and isinstance(self.task, CopyingSpec):
            raise ValueError("batch = null, all examples at once, needs a task with a training set; copying has none")
        return self

    @model_validator(mode="after")
    def _trainable(self) -> Self:
        if isinstance(self.model, TopicModelSpec):
            return self
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
        told = {"numerics": NUMERICS[self.model.kind], **self.identity()}
        return sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()[:16]


UNTOLD = {"adam", "sgd", "seq2seq", "topic"}
"""Kinds that may be left out where they are the default, and so are no part of a setting's place."""

RecordType = TypeVar("RecordType", bound=BaseModel)


def validated(record: type[RecordType], values: Any) -> RecordType:
    """``record`` from plain ``values``; what is wrong with them is said in one sentence."""
    try:
        return record.model_validate(values)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"] if part not in UNTOLD) or record.__name__
        known = ""
        if first["type"] == "extra_forbidden":
            known = f"; known keys are {', '.join(record.model_fields)}"
        raise UsageError(f"{place}: {first['msg'].removeprefix('Value error, ')}{known}.") from None

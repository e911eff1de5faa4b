"""Run specs: everything that decides a training run, validated where it enters.

A spec is a frozen record; its ``id`` hashes what decides the trajectory. Total steps and evaluations are not part of
it (they are in `attnlab.training.schedule`), so a run can be continued and shared.
"""

import json
from hashlib import file_digest, sha256
from pathlib import Path
from typing import Annotated, Any, Literal, Self, TypeVar

import torch
from pydantic import BaseModel, ConfigDict, Discriminator, Field, Tag, ValidationError, model_validator

from attnlab.errors import UsageError
from attnlab.models.attention import AttentionMode, Combine, Score
from attnlab.models.classifier import Classifier, TextAttention, TextScore
from attnlab.models.proxy import TextProxy
from attnlab.models.readout import ReadoutKind
from attnlab.models.recurrent import Cell
from attnlab.models.seq2seq import Seq2Seq
from attnlab.models.topic import Below, ClassifierKind, TopicModel, make_classifier
from attnlab.own import find_own, own_content
from attnlab.seeds import numpy_generator
from attnlab.tasks import copying
from attnlab.tasks import topics as topic_tasks
from attnlab.tasks.altered import remove_keywords, shuffle_labels
from attnlab.tasks.batch import PairTask
from attnlab.tasks.corpora import data_folder
from attnlab.tasks.labelled_text import Corpus as TextCorpus
from attnlab.tasks.labelled_text import load_corpus
from attnlab.tasks.sst import Classes, Corpus, read_sst, sst_folder
from attnlab.tasks.vectors import read_vectors
from attnlab.tasks.vocabulary import VocabularyRule
from attnlab.training.descent import Descent

NUMERICS = {"seq2seq": 1, "topic": 2, "classifier": 1, "proxy": 1}
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


class LabelledTextSpec(Record):
    """A corpus of labelled texts by name: see `attnlab.tasks.labelled_text.load_corpus`.

    ``content``: what its texts are, in 16 digits; they alone are the task's part of a run's id, and a corpus that is
    found with another content is refused.

    The rest alters that corpus (see `attnlab.tasks.altered`) and is part of the id where it does: ``without_keywords``
    that many words are removed, then a share ``shuffled`` of the training labels is, as ``shuffle_seed`` draws them.
    """

    kind: Literal["text"] = "text"
    corpus: str
    vocabulary: VocabularyRule = "text"
    content: str
    shuffled: Share = 0.0
    shuffle_seed: Seed = 0
    without_keywords: Annotated[int, Field(ge=0)] = 0

    def identity(self) -> dict[str, Any]:
        told: dict[str, Any] = {"kind": self.kind, "content": self.content}
        if self.shuffled:
            told |= {"shuffled": self.shuffled, "shuffle_seed": self.shuffle_seed}
        if self.without_keywords:
            told["without_keywords"] = self.without_keywords
        return told

    def build(self) -> TextCorpus:
        found = load_corpus(self.corpus, vocabulary=self.vocabulary)
        if found.content != self.content:
            raise UsageError(
                f"The corpus {self.corpus} has changed: its content is {found.content}, and the run was planned for "
                f"{self.content}; plan it again, or bring the old files back."
            )
        return shuffle_labels(remove_keywords(found, self.without_keywords), self.shuffled, self.shuffle_seed)


class OwnTaskSpec(Record):
    """A task of the user's own: ``task`` names a class or function as ``module:name``, ``settings`` its arguments.

    What it makes has a number of words, ``vocabulary``, and ``batch(count, generator) -> PairBatch``, as
    `attnlab.tasks.copying.CopyingTask` has. The module is imported by name, so it lies where Python finds it, and
    ``content``, 16 digits of its text's hash, is part of a run's id: a changed task makes another run.
    """

    kind: Literal["own"] = "own"
    task: str
    settings: dict[str, bool | int | float | str] = {}
    content: str

    @classmethod
    def of(cls, task: str, **settings: bool | int | float | str) -> Self:
        """The record of a task whose module is there."""
        return cls(task=task, settings=settings, content=own_content(task))

    def build(self) -> PairTask:
        if (found := own_content(self.task)) != self.content:
            raise UsageError(
                f"{self.task} has changed: its module's content is {found}, and the run was planned for {self.content}."
            )
        task: PairTask = find_own(self.task)(**self.settings)
        return task


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


class VectorsSpec(Record):
    """A file of word vectors in GloVe's form, below the folder that ATTNLAB_DATA names unless its path is absolute.

    ``content``, 16 digits of its hash, is its part of a run's id; a file with another content is refused.
    """

    path: str
    content: str

    @classmethod
    def of_file(cls, path: str) -> Self:
        """The record of a file that is there."""
        return cls(path=path, content=_content(data_folder(None) / path))

    def identity(self) -> dict[str, Any]:
        return {"content": self.content}

    def read(self, words: tuple[str, ...]) -> tuple[torch.Tensor, torch.Tensor]:
        """The ids of those ``words`` that have a vector, and their vectors: (n,), (n, size)."""
        path = data_folder(None) / self.path
        if (found := _content(path)) != self.content:
            raise UsageError(f"{path} has changed: its content is {found}, and the run was planned for {self.content}.")
        vectors = read_vectors(path, words)
        return torch.from_numpy(vectors.ids), torch.from_numpy(vectors.matrix)


def _content(path: Path) -> str:
    if not path.is_file():
        raise UsageError(f"There is no file of word vectors {path}.")
    with path.open("rb") as data:
        return file_digest(data, "sha256").hexdigest()[:16]


class ClassifierSpec(Record):
    """The network of P3 2.4: see `attnlab.models.classifier.Classifier`."""

    kind: Literal["classifier"] = "classifier"
    embedding_size: Count = 300
    hidden: Count = 256
    cell: Cell = "lstm"
    score: TextScore = "mlp"
    bidirectional: bool = True
    attention: TextAttention = "learned"
    vectors: VectorsSpec | None = None

    def build(self, words: tuple[str, ...], classes: int, seed: int) -> Classifier:
        settings = self.model_dump(exclude={"kind", "vectors"})
        vectors = None if self.vectors is None else self.vectors.read(words)
        return Classifier(len(words), classes, seed=seed, vectors=vectors, **settings)


class ProxySpec(Record):
    """The bag-of-words proxy of P3 2.3 on labelled texts: see `attnlab.models.proxy.TextProxy`."""

    kind: Literal["proxy"] = "proxy"
    size: Count = 256

    def build(self, words: int, classes: int, seed: int) -> TextProxy:
        return TextProxy(words, classes, self.size, seed=seed)


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


TaskSpec = Annotated[CopyingSpec | TopicsSpec | SstSpec | LabelledTextSpec | OwnTaskSpec, Field(discriminator="kind")]
ModelSpec = Annotated[
    Annotated[Seq2SeqSpec, Tag("seq2seq")]
    | Annotated[TopicModelSpec, Tag("topic")]
    | Annotated[ClassifierSpec, Tag("classifier")]
    | Annotated[ProxySpec, Tag("proxy")],
    _kind("seq2seq"),
]
OptimiserSpec = Annotated[Annotated[AdamSpec, Tag("adam")] | Annotated[SgdSpec, Tag("sgd")], _kind("adam")]

MODELS_OF = {
    "copying": ("seq2seq",),
    "own": ("seq2seq",),
    "topics": ("topic",),
    "sst": ("topic",),
    "text": ("classifier", "proxy"),
}
"""The kinds of model that each kind of task is for."""


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
        if self.model.kind not in MODELS_OF[self.task.kind]:
            wanted = " or ".join(MODELS_OF[self.task.kind])
            raise ValueError(f"the task {self.task.kind} needs a model of kind {wanted}, not {self.model.kind}")
        if self.batch is None and isinstance(self.task, CopyingSpec | OwnTaskSpec):
            raise ValueError(
                f"batch = null, all examples at once, needs a task with a training set; {self.task.kind} has none"
            )
        return self

    @model_validator(mode="after")
    def _trainable(self) -> Self:
        if isinstance(self.model, TopicModelSpec):
            return self
        if isinstance(self.model, ProxySpec):
            if self.train != "all":
                raise ValueError(f"train = {self.train} needs a model with attention; the proxy has none")
            return self
        if self.train == "attention-only" and (self.model.attention != "learned" or self.model.score == "dot"):
            raise ValueError(
                "train = attention-only needs learned attention with a score of its own: there is nothing else to train"
            )
        if self.model.attention == "given":
            raise ValueError("attention = given needs weights from a caller; a run knows learned and uniform")
        return self

    @property
    def id(self) -> str:
        """Sixteen hexadecimal digits that stand for this trajectory."""
        told = {"numerics": NUMERICS[self.model.kind], **self.identity()}
        return sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()[:16]


TAGGED = ("model", "optimiser")
"""Settings that are of several kinds: in a mistake's place their kind follows, which the reader need not be told."""

RecordType = TypeVar("RecordType", bound=BaseModel)


def validated(record: type[RecordType], values: Any) -> RecordType:
    """``record`` from plain ``values``; what is wrong with them is said in one sentence."""
    try:
        return record.model_validate(values)
    except ValidationError as error:
        first = error.errors()[0]
        where = first["loc"]
        told = [str(part) for before, part in zip(("", *where), where, strict=False) if before not in TAGGED]
        place = ".".join(told) or record.__name__
        known = ""
        if first["type"] == "extra_forbidden":
            known = f"; known keys are {', '.join(record.model_fields)}"
        raise UsageError(f"{place}: {first['msg'].removeprefix('Value error, ')}{known}.") from None

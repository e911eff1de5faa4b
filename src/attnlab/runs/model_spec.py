"""Specs of models and optimisers: what learns, and how it goes down the loss."""

from hashlib import file_digest
from pathlib import Path
from typing import Annotated, Any, Literal, Self

import torch
from pydantic import Discriminator, Field, Tag

from attnlab.data.corpora import data_folder
from attnlab.data.vectors import read_vectors
from attnlab.errors import UsageError
from attnlab.models.attention import AttentionMode, Combine, Score
from attnlab.models.classifier import Classifier, TextAttention, TextScore
from attnlab.models.proxy import Proxy, TextProxy
from attnlab.models.readout import ReadoutKind
from attnlab.models.recurrent import Cell
from attnlab.models.seq2seq import Seq2Seq
from attnlab.models.topic import Below, ClassifierKind, TopicModel, make_classifier
from attnlab.records import Count, Record, Seed, Share
from attnlab.runs.descent import Descent


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


class PairProxySpec(Record):
    """The bag-of-words proxy of P3 2.3 on pairs of sequences: see `attnlab.models.proxy.Proxy`."""

    kind: Literal["pair-proxy"] = "pair-proxy"
    size: Count = 256

    def build(self, inputs: int, outputs: int, seed: int) -> Proxy:
        return Proxy(inputs, outputs, self.size, seed=seed)


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


ModelSpec = Annotated[
    Annotated[Seq2SeqSpec, Tag("seq2seq")]
    | Annotated[TopicModelSpec, Tag("topic")]
    | Annotated[ClassifierSpec, Tag("classifier")]
    | Annotated[ProxySpec, Tag("proxy")]
    | Annotated[PairProxySpec, Tag("pair-proxy")],
    _kind("seq2seq"),
]

OptimiserSpec = Annotated[Annotated[AdamSpec, Tag("adam")] | Annotated[SgdSpec, Tag("sgd")], _kind("adam")]

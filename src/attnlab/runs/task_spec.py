"""Specs of tasks: what is learned from, as a record that is part of a run's id."""

from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from attnlab.data.altered import remove_keywords, shuffle_labels
from attnlab.data.batch import PairTask
from attnlab.data.labelled_text import Corpus as TextCorpus
from attnlab.data.labelled_text import load_corpus
from attnlab.data.vocabulary import VocabularyRule
from attnlab.errors import UsageError
from attnlab.families.copying import task as copying
from attnlab.families.keyword import task as keyword
from attnlab.families.topics import task as topic_tasks
from attnlab.families.topics.sst import Classes, Corpus, read_sst, sst_folder
from attnlab.own import find_own, own_content
from attnlab.records import Count, Record, Seed, Share
from attnlab.seeds import numpy_generator


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
    """A copying task: see `attnlab.families.copying.task.CopyingTask`."""

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


class KeywordSpec(Record):
    """Does a keyword occur? See `attnlab.families.keyword.task.KeywordTask`."""

    kind: Literal["keyword"] = "keyword"
    length: Count = 40
    words: Count = 40

    @model_validator(mode="after")
    def _buildable(self) -> Self:
        self.build()
        return self

    def build(self) -> keyword.KeywordTask:
        return keyword.KeywordTask(self.length, self.words)


class TopicsSpec(Record):
    """The task of P1 3, with P1's numbers: see `attnlab.families.topics.task.TopicTask`.

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
    """The Stanford Sentiment Treebank, SST2 or SST5: see `attnlab.families.topics.sst.read_sst`.

    The files are those of the folder that ATTNLAB_DATA names, and no part of the run's id.
    """

    kind: Literal["sst"] = "sst"
    classes: Classes = 2
    padded: bool = False

    def build(self) -> Corpus:
        return read_sst(sst_folder(), self.classes, padded=self.padded)


class LabelledTextSpec(Record):
    """A corpus of labelled texts by name: see `attnlab.data.labelled_text.load_corpus`.

    ``content``: what its texts are, in 16 digits; they alone are the task's part of a run's id, and a corpus that is
    found with another content is refused.

    The rest alters that corpus (see `attnlab.data.altered`) and is part of the id where it does: ``without_keywords``
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
    `attnlab.families.copying.task.CopyingTask` has. The module is imported by name, so it lies where Python finds it,
    and ``content``, 16 digits of its text's hash, is part of a run's id: a changed task makes another run.
    """

    kind: Literal["own"] = "own"
    task: str
    settings: dict[str, bool | int | float | str] = {}  # noqa: RUF012 (a copy for each record)
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


TaskSpec = Annotated[
    CopyingSpec | KeywordSpec | TopicsSpec | SstSpec | LabelledTextSpec | OwnTaskSpec, Field(discriminator="kind")
]

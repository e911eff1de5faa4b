"""Specs of the topics family: P1's synthetic task, the Stanford Sentiment Treebank, and P1's classifier."""

from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from attnlab.families.topics.sst import Classes, Treebank, read_sst, sst_files, sst_folder
from attnlab.families.topics.task import TopicTask, topic_sets
from attnlab.models.topic import Below, ClassifierKind, Start, TopicModel, make_classifier, released_generator
from attnlab.records import Count, Spec
from attnlab.seeds import numpy_generator


class TopicsSpec(Spec):
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

    def build(self, seed: int) -> TopicTask:
        sets = self.topics
        if isinstance(sets, int):
            sets = topic_sets(sets, self.words, numpy_generator(seed, "topics"))
        return TopicTask(sets, self.dictionary, self.others, self.per_sentence, self.replace)


class SstSpec(Spec):
    """The Stanford Sentiment Treebank, SST2 or SST5: see `attnlab.families.topics.sst.read_sst`.

    The files are those of the folder that ATTNLAB_DATA names, and no part of the run's id.
    """

    kind: Literal["sst"] = "sst"
    classes: Classes = 2
    padded: bool = False

    def reads(self) -> list[Path]:
        """Those that it reads."""
        return sst_files(sst_folder())

    def build(self) -> Treebank:
        return read_sst(sst_folder(), self.classes, padded=self.padded)


class TopicModelSpec(Spec):
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
    start: Start = "drawn"
    train_query: bool = False
    train_embedding: bool = True

    def build(self, vocabulary: int, classes: int, seed: int) -> TopicModel:
        released = released_generator(vocabulary, self.key_size or self.size) if self.start == "released" else None
        classifier = make_classifier(
            self.classifier, self.size, classes, hidden=self.hidden, seed=seed, generator=released
        )
        settings = self.model_dump(include={"size", "key_size", "query_std", "embedding_std", "below", "start"})
        return TopicModel(vocabulary, classifier, seed=seed, **settings)

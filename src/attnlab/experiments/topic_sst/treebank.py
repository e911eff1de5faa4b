"""Runs on the treebank, and what is read out of them: words' scores and norms, purity, and who is attended to."""

from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnlab.errors import UsageError
from attnlab.experiments.topics.topics import SEEN, Floats
from attnlab.families.topics.spec import SstSpec, TopicModelSpec
from attnlab.families.topics.sst import Classes, Corpus, read_sst, sst_folder
from attnlab.runs.engine import Job
from attnlab.runs.loop import Trained
from attnlab.runs.optimisers import SgdSpec
from attnlab.runs.schedule import Schedule
from attnlab.runs.spec import RunSpec
from attnlab.theory.norms import deviation, norm_of_score

EVERY = 500
"""Epochs between evaluations."""

Ids = NDArray[np.int64]


@dataclass(frozen=True)
class Setting:
    """One run: its name, the corpus' classes, whether padding is attended to as released, the classifier."""

    name: str
    classes: Classes
    padded: bool
    model: TopicModelSpec

    def spec(self) -> RunSpec:
        task = SstSpec(classes=self.classes, padded=self.padded)
        return RunSpec(task=task, model=self.model, optimiser=SgdSpec(), batch=None, init_seed=0, data_seed=0)

    def job(self, steps: int) -> Job:
        return Job(self.name, self.spec(), Schedule.every(EVERY, steps=steps, checkpoint_every=1000))


FC = TopicModelSpec(classifier="fixed", size=200, key_size=10)
TC = TopicModelSpec(classifier="linear", size=100, key_size=10)
SETTINGS = tuple(
    Setting(f"SST{classes} {name}, {'padding attended' if padded else 'padding masked'}", classes, padded, model)
    for classes in (2, 5)
    for padded in (False, True)
    for name, model in (("FC", FC), ("TC", TC))
)


@cache
def corpus_of(classes: Classes, padded: bool) -> Corpus:
    """The corpus, read once."""
    return read_sst(sst_folder(), classes, padded=padded)


class Outcome:
    """One run up to its lowest validation loss, and what P1 reads out of it."""

    def __init__(self, setting: Setting, run: Trained, corpus: Corpus) -> None:
        self.setting, self.run, self.corpus = setting, run, corpus
        best = min(range(1, len(run.rows)), key=lambda at: run.rows[at]["valid_loss"])
        self.rows = run.rows[: best + 1]

    @property
    def steps(self) -> list[int]:
        return [int(row["step"]) for row in self.rows]

    def _fields(self, name: str) -> Floats:
        if self.run.run is None:
            raise UsageError(f"Run {self.run.id} has no folder to read its words from.")
        return np.stack([np.asarray(self.run.run.fields(step)[name], dtype=float) for step in self.steps])

    @cached_property
    def scores(self) -> Floats:
        """Of every word at every evaluation: (evaluations, words)."""
        return self._fields("score")

    @cached_property
    def norms(self) -> Floats:
        """||q|| times the embedding's norm: (evaluations, words)."""
        return self._fields("norm") * self.rows[0]["query_norm"]

    @cached_property
    def counts(self) -> Ids:
        """Training sentences of each class that contain a word: (words, classes)."""
        bags = self.corpus.split.train
        pairs = np.unique(np.stack([bags.sentence.numpy(), bags.words.numpy()]), axis=1)
        counts = np.zeros((len(self.corpus.words), self.corpus.classes), dtype=np.int64)
        np.add.at(counts, (pairs[1], bags.labels.numpy()[pairs[0]]), 1)
        return counts

    @cached_property
    def others(self) -> Floats:
        """m of each word: the mean length of the training sentences that contain it, less 1, as released: (words,)."""
        bags = self.corpus.split.train
        pairs = np.unique(np.stack([bags.sentence.numpy(), bags.words.numpy()]), axis=1)
        lengths = np.bincount(pairs[1], bags.lengths.numpy()[pairs[0]], len(self.corpus.words))
        return np.asarray(np.maximum(lengths / np.maximum(self.counts.sum(1), 1) - 1, 1e-9))

    @cached_property
    def purity(self) -> Floats:
        """delta of each word, for two classes; 0 where no training sentence has it: (words,)."""
        negative, positive = self.counts.T
        return np.asarray(np.abs(positive - negative) / np.maximum(positive + negative, 1))

    @cached_property
    def top_words(self) -> Ids:
        """The word of largest score in each training sentence, the first of several: (evaluations, sentences)."""
        bags = self.corpus.split.train
        words, offsets = bags.words.numpy(), bags.offsets.numpy()
        sentence, tops = bags.sentence.numpy(), []
        for scores in self.scores:
            values = scores[words]
            largest = np.maximum.reduceat(values, offsets[:-1])[sentence] == values
            first = np.unique(sentence[largest], return_index=True)[1]
            tops.append(words[np.flatnonzero(largest)[first]])
        return np.stack(tops)

    def largest(self, count: int) -> Ids:
        """The ``count`` words of largest final score that occur in training sentences."""
        final = np.where(self.counts.sum(1) > 0, self.scores[-1], -np.inf)
        return np.argsort(-final, kind="stable")[:count]

    def deviations(self, words: Ids) -> Floats:
        """Each word's largest relative deviation from the identity where its score exceeds 0.05, else NaN: (words,)."""
        told = np.full(len(words), np.nan)
        for at, word in enumerate(words):
            seen = self.scores[:, word] > SEEN
            if seen.any():
                start = {"start_score": self.scores[0, word], "start_norm": self.norms[0, word]}
                expected = norm_of_score(self.scores[seen, word], self.others[word], **start)
                told[at] = deviation(self.norms[seen, word], expected).max()
        return told

    def row(self) -> dict[str, Any]:
        last = self.rows[-1]
        return {
            "setting": self.setting.name,
            "query_norm": last["query_norm"],
            "best_epoch": int(last["step"]),
            "last_epoch": self.run.step,
            "loss": last["loss"],
            "valid_loss": last["valid_loss"],
            "test_accuracy": last["test_accuracy"],
            "largest_score": float(self.scores[-1].max()),
            "run": self.run.id,
        }

"""What P1 reads out of a run on real sentences: every word's score and norm, its purity, and who is attended to."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from attnlab.families.topics.course import SEEN, Floats
from attnlab.families.topics.sst import Treebank
from attnlab.fields import first_largest
from attnlab.theory.norms import deviation, norm_of_score

Ids = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class WordCourse:
    """All words of a corpus from a run's start to its end.

    ``steps``: its evaluations. ``scores`` of every word and ``norms``, ||q|| times its embedding's norm:
    (evaluations, words).
    """

    corpus: Treebank
    steps: list[int]
    scores: Floats
    norms: Floats

    @cached_property
    def pairs(self) -> Ids:
        """Every training sentence with every word it contains, once: (2, pairs)."""
        bags = self.corpus.split.train
        return np.unique(np.stack([bags.sentence.numpy(), bags.words.numpy()]), axis=1)

    @cached_property
    def counts(self) -> Ids:
        """Training sentences of each class that contain a word: (words, classes)."""
        counts = np.zeros((len(self.corpus.words), self.corpus.classes), dtype=np.int64)
        sentence, word = self.pairs
        np.add.at(counts, (word, self.corpus.split.train.labels.numpy()[sentence]), 1)
        return counts

    @cached_property
    def frequency(self) -> Ids:
        """Training sentences that contain a word: (words,)."""
        return np.asarray(self.counts.sum(1))

    @cached_property
    def others(self) -> Floats:
        """m of each word: the mean length of the training sentences that contain it, less 1, as released: (words,)."""
        sentence, word = self.pairs
        lengths = np.bincount(word, self.corpus.split.train.lengths.numpy()[sentence], len(self.corpus.words))
        return np.asarray(np.maximum(lengths / np.maximum(self.frequency, 1) - 1, 1e-9))

    @cached_property
    def purity(self) -> Floats:
        """delta of each word, for two classes; 0 where no training sentence has it: (words,)."""
        negative, positive = self.counts.T
        return np.asarray(np.abs(positive - negative) / np.maximum(positive + negative, 1))

    @cached_property
    def top_words(self) -> Ids:
        """The word of largest score in each training sentence, the first of several: (evaluations, sentences)."""
        bags = self.corpus.split.train
        words, starts = bags.words.numpy(), bags.offsets.numpy()[:-1]
        return np.stack([words[first_largest(scores[words], starts)] for scores in self.scores])

    def largest(self, count: int) -> Ids:
        """The ``count`` words of largest final score that occur in training sentences."""
        final = np.where(self.frequency > 0, self.scores[-1], -np.inf)
        return np.argsort(-final, kind="stable")[:count]

    def deviations(self, words: Ids) -> Floats:
        """Each word's largest relative deviation from the identity where its score exceeds 0.05, else NaN: (words,)."""
        largest = np.full(len(words), np.nan)
        for at, word in enumerate(words):
            seen = self.scores[:, word] > SEEN
            if seen.any():
                start = {"start_score": self.scores[0, word], "start_norm": self.norms[0, word]}
                expected = norm_of_score(self.scores[seen, word], self.others[word], **start)
                largest[at] = deviation(self.norms[seen, word], expected).max()
        return largest

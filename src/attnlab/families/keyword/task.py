"""Finding a keyword (P3 6.1): a sequence is positive if and only if one word occurs in it.

Words are 0 .. words-1, and word 0 is the keyword, the paper's "1". It occurs once in a positive sequence; all other
positions hold other words, each as likely. So a bag of words says the class, and the right position is known.

The paper draws all positions uniformly from all words, keeps sequences in which the keyword occurs at most once, and
balances the classes by rejection. Among sequences with no keyword that leaves all sequences of the other words equally
likely, and among those with one all pairs of a place and of other words for the rest: a coin for the class, a uniform
place and uniform other words are the same distribution, and nothing has to be thrown away.

With a keyword for the negative class too (the blog's aside, the slides' "great" and "bad"), word 1 occurs once in a
negative sequence, and all words from 2 on are shared by both classes.
"""

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from attnlab.errors import UsageError

KEYWORD = 0
"""The word that makes a sequence positive."""
NEGATIVE = 1
"""The word that makes a sequence negative, where the negative class has one."""
NOWHERE = -1
"""The position of the keyword in a sequence that has none."""


@dataclass(frozen=True)
class KeywordBatch:
    """``tokens`` (batch, length). ``labels`` (batch,): 1 for positive. ``position`` (batch,): where the keyword of the
    sequence's class is, -1 in negative sequences whose class has none.
    """

    tokens: Tensor
    labels: Tensor
    position: Tensor

    def __len__(self) -> int:
        return len(self.labels)

    def to(self, device: torch.device | str) -> "KeywordBatch":
        """The same batch on another device."""
        return KeywordBatch(self.tokens.to(device), self.labels.to(device), self.position.to(device))


@dataclass(frozen=True)
class KeywordTask:
    """Sequences of ``length`` out of ``words`` words. ``negative``: the negative class has a keyword too.

    >>> from attnlab.seeds import numpy_generator
    >>> batch = KeywordTask(length=5, words=3).draw(np.array([1, 0]), numpy_generator(0))
    >>> batch.tokens.shape, (batch.tokens == KEYWORD).sum(1).tolist(), batch.position.tolist()[1]
    (torch.Size([2, 5]), [1, 0], -1)
    """

    length: int = 40
    words: int = 40
    negative: bool = False

    @property
    def shared(self) -> range:
        """The words that occur in both classes."""
        return range(NEGATIVE + 1 if self.negative else KEYWORD + 1, self.words)

    def __post_init__(self) -> None:
        if self.length < 2:
            raise UsageError(
                f"A keyword task needs a length of at least 2, a word beside the keyword, not {self.length}."
            )
        if self.words < 2:
            raise UsageError(f"A keyword task needs at least 2 words, the keyword and another, not {self.words}.")
        if not self.shared:
            raise UsageError(f"A keyword for each class needs at least 3 words, a shared one too, not {self.words}.")

    def batch(self, count: int, rng: np.random.Generator) -> KeywordBatch:
        """``count`` fresh sequences, each positive with probability one half."""
        return self.draw(rng.integers(2, size=count, dtype=np.int64), rng)

    def draw(self, labels: NDArray[np.int64], rng: np.random.Generator) -> KeywordBatch:
        """A fresh sequence for each of ``labels`` (batch,), 1 for positive."""
        count = len(labels)
        tokens = rng.integers(self.shared.start, self.words, size=(count, self.length), dtype=np.int64)
        place = rng.integers(self.length, size=count, dtype=np.int64)
        positive = np.flatnonzero(labels)
        tokens[positive, place[positive]] = KEYWORD
        if self.negative:
            negative = np.flatnonzero(labels == 0)
            tokens[negative, place[negative]] = NEGATIVE
        position = place if self.negative else np.where(labels == 1, place, NOWHERE)
        return KeywordBatch(torch.from_numpy(tokens), torch.from_numpy(labels), torch.from_numpy(position))

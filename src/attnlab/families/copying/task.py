"""Copying: the output is the input (P3 3.3), seen through a substitution (slides) or in another order (P3 6.2).

What makes the task easy or hard is only which sequences occur. In a permutation of all n words every input holds the
same bag of words, so co-occurrence says nothing about which input word an output word comes from; leave some words out
at random (k of n) and it says a lot.

Words are 0 .. n-1; the start symbol is n, the end symbol n+1. Input and output both close with the end symbol.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray

from attnlab.data.batch import PairBatch
from attnlab.errors import UsageError
from attnlab.seeds import numpy_generator

Words = NDArray[np.int64]


class Distribution(Protocol):
    """Where input sequences come from: all of one length, words 0 .. words-1."""

    @property
    def length(self) -> int: ...

    @property
    def words(self) -> int: ...

    def draw(self, count: int, rng: np.random.Generator) -> Words:
        """``count`` independent sequences, (count, length)."""
        ...


def _shuffled(count: int, words: int, length: int, rng: np.random.Generator) -> Words:
    """The first ``length`` words of ``count`` random orders of all words, (count, length)."""
    rows = np.broadcast_to(np.arange(words, dtype=np.int64), (count, words))
    return rng.permuted(rows, axis=1)[:, :length]


class _Sized:
    """A distribution whose numbers of words and sets are all at least 1."""

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if name in ("length", "words", "size", "sets") and value < 1:
                raise UsageError(f"{type(self).__name__} needs {name} of at least 1, not {value}.")


@dataclass(frozen=True)
class Selections(_Sized):
    """``length`` of ``words`` words in random order, none twice (40 of 60)."""

    length: int
    words: int

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.length > self.words:
            raise UsageError(f"{self.length} different words cannot be drawn from {self.words}: use length <= words.")

    def draw(self, count: int, rng: np.random.Generator) -> Words:
        return _shuffled(count, self.words, self.length, rng)


@dataclass(frozen=True)
class Permutations(_Sized):
    """All ``words`` words in random order: the hard distribution of P3 3.3."""

    words: int

    @property
    def length(self) -> int:
        return self.words

    def draw(self, count: int, rng: np.random.Generator) -> Words:
        return _shuffled(count, self.words, self.words, rng)


@dataclass(frozen=True)
class Independent(_Sized):
    """``length`` words, each drawn on its own from ``words`` (slides, setting 2)."""

    length: int
    words: int

    def draw(self, count: int, rng: np.random.Generator) -> Words:
        return rng.integers(self.words, size=(count, self.length), dtype=np.int64)


@dataclass(frozen=True)
class Zipf(_Sized):
    """``length`` words with Zipf's frequencies: word r is drawn with weight 1 / (r + 1) ** exponent.

    ``repeat``: each word on its own, as in running text. Otherwise no word occurs twice: words are drawn one after the
    other with these weights from those that are left, and then put in random order. So frequent words are in nearly
    every sequence, as in a permutation, and rare ones come and go.
    """

    length: int
    words: int
    exponent: float = 1.0
    repeat: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 <= self.exponent <= 10:
            raise UsageError(f"Zipf needs an exponent from 0 to 10, not {self.exponent}.")
        if not self.repeat and self.length > self.words:
            raise UsageError(f"{self.length} different words cannot be drawn from {self.words}: use length <= words.")

    def draw(self, count: int, rng: np.random.Generator) -> Words:
        weights = np.arange(1, self.words + 1, dtype=np.float64) ** -self.exponent
        if self.repeat:
            return rng.choice(self.words, size=(count, self.length), p=weights / weights.sum())
        # The first arrivals of exponential clocks that tick at these rates are such a draw.
        arrivals = rng.exponential(size=(count, self.words)) / weights
        first = np.argsort(arrivals, axis=1, kind="stable")[:, : self.length]
        return rng.permuted(first, axis=1)


@dataclass(frozen=True)
class PermutationSets(_Sized):
    """A permutation of one of ``sets`` disjoint sets of ``size`` words, each set as likely (P3 A.3)."""

    size: int
    sets: int = 2

    @property
    def length(self) -> int:
        return self.size

    @property
    def words(self) -> int:
        return self.size * self.sets

    def draw(self, count: int, rng: np.random.Generator) -> Words:
        chosen = rng.integers(self.sets, size=(count, 1), dtype=np.int64)
        return _shuffled(count, self.size, self.size, rng) + self.size * chosen


@dataclass(frozen=True)
class Mixture:
    """Each sequence from one of ``parts``, chosen with probability ``shares``."""

    parts: tuple[Distribution, ...]
    shares: tuple[float, ...]

    def __post_init__(self) -> None:
        if not self.parts or len(self.parts) != len(self.shares):
            raise UsageError(
                f"A mixture needs one share for each part: {len(self.parts)} parts, {len(self.shares)} shares."
            )
        if min(self.shares) < 0 or abs(sum(self.shares) - 1) > 1e-9:
            raise UsageError(f"The shares of a mixture are at least 0 and add up to 1: {self.shares}.")
        lengths = sorted({part.length for part in self.parts})
        if len(lengths) > 1:
            raise UsageError(f"The parts of a mixture have one length: {lengths}.")

    @property
    def length(self) -> int:
        return self.parts[0].length

    @property
    def words(self) -> int:
        return max(part.words for part in self.parts)

    def draw(self, count: int, rng: np.random.Generator) -> Words:
        chosen = rng.choice(len(self.parts), size=count, p=self.shares)
        sequences = np.empty((count, self.length), dtype=np.int64)
        for index, part in enumerate(self.parts):
            rows = chosen == index
            sequences[rows] = part.draw(int(rows.sum()), rng)
        return sequences


@dataclass(frozen=True)
class CopyingTask:
    """Pairs of an input sequence and its copy.

    ``substitution``: output word y = substitution[x] instead of x. ``order``: output t is made from input order[t],
    y_t = x_pi(t). None means the identity.

    >>> task = CopyingTask(Permutations(3), order=(2, 1, 0))
    >>> batch = task.batch(2, numpy_generator(0))
    >>> batch.source.shape, batch.position.tolist()
    (torch.Size([2, 4]), [2, 1, 0, 3])
    >>> bool((batch.target[:, 0] == batch.source[:, 2]).all())
    True
    """

    distribution: Distribution
    substitution: tuple[int, ...] | None = None
    order: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        _permutation("substitution of words", self.substitution, self.distribution.words)
        _permutation("order of positions", self.order, self.distribution.length)

    @property
    def vocabulary(self) -> int:
        """Number of symbols: the words, the start symbol, the end symbol."""
        return self.distribution.words + 2

    @property
    def start(self) -> int:
        return self.distribution.words

    @property
    def end(self) -> int:
        return self.distribution.words + 1

    def batch(self, count: int, rng: np.random.Generator) -> PairBatch:
        """``count`` fresh pairs."""
        words = self.distribution.draw(count, rng)  # (count, length)
        order = np.arange(self.distribution.length) if self.order is None else np.asarray(self.order)
        copy = words[:, order]
        if self.substitution is not None:
            copy = np.asarray(self.substitution, dtype=np.int64)[copy]
        end = np.full((count, 1), self.end, dtype=np.int64)
        return PairBatch(
            source=torch.from_numpy(np.concatenate([words, end], axis=1)),
            previous=torch.from_numpy(np.concatenate([np.full_like(end, self.start), copy], axis=1)),
            target=torch.from_numpy(np.concatenate([copy, end], axis=1)),
            position=torch.from_numpy(np.append(order, self.distribution.length)),
        )


def random_permutation(size: int, seed: int) -> tuple[int, ...]:
    """A fixed random permutation of 0 .. size-1, for a substitution or an order."""
    return tuple(int(i) for i in numpy_generator(seed, "permutation", size).permutation(size))


def _permutation(name: str, values: Sequence[int] | None, size: int) -> None:
    expected: Any = list(range(size))
    if values is not None and sorted(values) != expected:
        raise UsageError(f"The {name} names each of 0 .. {size - 1} once; it has {len(values)} entries: {values}.")

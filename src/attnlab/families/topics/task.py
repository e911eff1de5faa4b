"""Topics: one word of a sentence gives its class, the others are noise (P1 3).

Each sentence is a bag of words: a topic word drawn from the set T_y of its topic y, and m non-topic words drawn from a
dictionary Theta that has none of them. With a dictionary much larger than the sets, a topic word is far more frequent
than any other word, and nothing else distinguishes them beforehand.

Topic words have the ids 0 .. |T|-1 in the order of their sets; the dictionary follows.
"""

from dataclasses import dataclass
from math import floor

import numpy as np
import torch
from numpy.typing import NDArray

from attnlab.data.batch import Bags
from attnlab.errors import UsageError

Words = NDArray[np.int64]
Number = int | tuple[int, int]
"""One number, or a range from which it is drawn anew each time, both ends included."""


@dataclass(frozen=True)
class TopicTask:
    """Sentences of ``others`` non-topic words and ``per_sentence`` words of the sentence's topic.

    ``topics``: the topic words' names, one set for each topic; no word is in two. ``dictionary``: |Theta|. ``others``:
    m, or a range it is drawn from for each sentence. ``replace``: whether a sentence may have a non-topic word twice.

    >>> from attnlab.seeds import numpy_generator
    >>> task = TopicTask((("goal", "match"), ("vote",)), dictionary=100, others=5)
    >>> bags = task.draw(3, numpy_generator(0))
    >>> bags.lengths.tolist(), int((bags.words < task.topic_words).sum())
    ([6, 6, 6], 3)
    """

    topics: tuple[tuple[str, ...], ...]
    dictionary: int
    others: Number
    per_sentence: int = 1
    replace: bool = True

    def __post_init__(self) -> None:
        if not self.topics:
            raise UsageError("A topic task needs at least one topic.")
        home: dict[str, int] = {}
        for number, words in enumerate(self.topics):
            if not words:
                raise UsageError(f"Topic {number} has no words; every topic needs at least one.")
            for word in words:
                if word in home:
                    where = f"topics {home[word]} and {number}" if home[word] != number else f"topic {number} twice"
                    raise UsageError(f"The topic word {word!r} is in {where}; each word belongs to one topic, once.")
                home[word] = number
        fewest, most = _range("others", self.others)
        smallest = min(len(words) for words in self.topics)
        if not 1 <= self.per_sentence <= smallest:
            raise UsageError(
                f"per_sentence = {self.per_sentence} topic words cannot be drawn for each sentence: the smallest topic "
                f"has {smallest}; use 1 to {smallest}."
            )
        if fewest < 1:
            raise UsageError(f"A sentence needs at least 1 non-topic word, not m = {fewest}.")
        if self.dictionary < 1:
            raise UsageError(f"The dictionary needs at least 1 word, not {self.dictionary}.")
        if not self.replace and most > self.dictionary:
            raise UsageError(
                f"{most} different non-topic words cannot be drawn from a dictionary of {self.dictionary} without "
                "replacement: use a larger dictionary, a smaller m or replace = true."
            )

    @property
    def topic_words(self) -> int:
        """|T|, the number of all topic words."""
        return sum(len(words) for words in self.topics)

    @property
    def vocabulary(self) -> int:
        return self.topic_words + self.dictionary

    @property
    def names(self) -> list[str]:
        """The topic words' names in the order of their ids."""
        return [word for words in self.topics for word in words]

    def draw(self, count: int, rng: np.random.Generator) -> Bags:
        """``count`` independent sentences, their words in random order."""
        labels = rng.integers(len(self.topics), size=count)
        topic_words = self._topic_words(labels, rng)  # (count, per_sentence)
        fewest, most = _range("others", self.others)
        numbers = rng.integers(fewest, most, size=count, endpoint=True)
        others = self.topic_words + self._others(numbers, rng)  # (sum of numbers,)
        rows = np.arange(count)
        sentence = np.concatenate([np.repeat(rows, self.per_sentence), np.repeat(rows, numbers)])
        words = np.concatenate([topic_words.ravel(), others])
        order = np.lexsort((rng.random(len(words)), sentence))  # by sentence, at random within one
        offsets = np.concatenate([[0], np.cumsum(numbers + self.per_sentence)])
        return Bags(torch.from_numpy(words[order]), torch.from_numpy(offsets), torch.from_numpy(labels))

    def _topic_words(self, labels: Words, rng: np.random.Generator) -> Words:
        sizes = np.array([len(words) for words in self.topics])
        first = np.cumsum(sizes) - sizes
        # Random keys, largest where a topic has no further word: the smallest keys are a draw without replacement.
        keys = rng.random((len(labels), sizes.max()))
        keys[np.arange(sizes.max()) >= sizes[labels, None]] = 2.0
        return np.asarray(first[labels, None] + np.argsort(keys, axis=1)[:, : self.per_sentence])

    def _others(self, numbers: Words, rng: np.random.Generator) -> Words:
        if self.replace:
            return rng.integers(self.dictionary, size=int(numbers.sum()))
        drawn = [rng.choice(self.dictionary, size=number, replace=False) for number in numbers]
        return np.concatenate([np.empty(0, dtype=np.int64), *drawn])


@dataclass(frozen=True)
class Split:
    """Training, validation and test sentences."""

    train: Bags
    valid: Bags
    test: Bags


def split(bags: Bags, train: float = 0.8, valid: float = 0.01) -> Split:
    """The sentences in order, cut where the released code cuts: at floor((N - 1) * share).

    5000 sentences become 3999, 50 and 950; as there, the last sentence is left over.
    """
    if not (train > 0 and valid >= 0 and train + valid <= 1):
        raise UsageError(f"Shares of {train} and {valid} are no split: train is above 0 and both are at most 1 in all.")
    ends = [floor((len(bags) - 1) * share + 1e-9) for share in (train, train + valid, 1)]
    if ends[0] < 1:
        raise UsageError(f"{len(bags)} sentences leave none to train on; use more.")
    rows = torch.arange(ends[2]).tensor_split(ends[:2])
    return Split(*(bags.select(part) for part in rows))


def topic_sets(topics: int, words: Number, rng: np.random.Generator) -> tuple[tuple[str, ...], ...]:
    """Names for ``topics`` sets of topic words, each of ``words`` words."""
    if topics < 1:
        raise UsageError(f"A topic task needs at least one topic, not {topics}.")
    fewest, most = _range("words", words)
    sizes = rng.integers(fewest, most, size=topics, endpoint=True)
    return tuple(tuple(f"t{topic}.{word}" for word in range(size)) for topic, size in enumerate(sizes))


def _range(name: str, number: Number) -> tuple[int, int]:
    low, high = (number, number) if isinstance(number, int) else number
    if low > high:
        raise UsageError(f"{name} = {low} to {high} is no range: it ends before it begins.")
    return low, high

"""A target-only language model from counts: interpolated Kneser-Ney (Kneser and Ney 1995), of any order.

With the words u before w, and D taken off every count,

    p(w | u) = max(c(u w) - D, 0) / c(u)  +  D n(u) / c(u) p(w | u without its first word)

where n(u) is how many different words follow u. c counts occurrences at the highest order, below it in how many
different ways a string of words is continued to the left. Below one word comes the uniform distribution.
"""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from attnlab.errors import UsageError
from attnlab.stats.bootstrap import Floats

DISCOUNT = 0.75
Context = tuple[int, ...]


class NGrams:
    """Trained on ``sentences`` of word ids below ``words``; each begins after ``order`` - 1 marks ``begin``.

    >>> model = NGrams([[3, 4], [3, 5]], words=6, begin=2, order=2)
    >>> model.distribution((3,)).argmax() in (4, 5), round(float(model.distribution((3,)).sum()), 12)
    (True, 1.0)
    """

    def __init__(
        self, sentences: Sequence[Sequence[int] | NDArray[np.integer]], words: int, begin: int, order: int = 3
    ) -> None:
        if order < 1 or words < 1:
            raise UsageError(f"A language model has an order and words, at least 1 of each, not {order} and {words}.")
        self.words, self.begin, self.order = words, begin, order
        counts: list[dict[Context, dict[int, int]]] = [{} for _ in range(order)]
        for sentence in sentences:
            for context, word in self._read(sentence):
                after = counts[-1].setdefault(context, {})
                after[word] = after.get(word, 0) + 1
        for size in range(order - 1, 0, -1):  # how many different words are before each shorter string
            for context, after in counts[size].items():
                shorter = counts[size - 1].setdefault(context[1:], {})
                for word in after:
                    shorter[word] = shorter.get(word, 0) + 1
        if not counts[-1]:
            raise UsageError("A language model needs at least one sentence to learn from.")
        self._counts = [
            {
                context: (np.fromiter(after, np.int64), np.fromiter(after.values(), np.float64))
                for context, after in level.items()
            }
            for level in counts
        ]

    def _read(self, sentence: Sequence[int] | NDArray[np.integer]) -> Iterator[tuple[Context, int]]:
        """Every word of a sentence with the words before it."""
        ids = [self.begin] * (self.order - 1) + [int(word) for word in sentence]
        for at in range(self.order - 1, len(ids)):
            yield tuple(ids[at - self.order + 1 : at]), ids[at]

    def distribution(self, context: Context) -> Floats:
        """(words,): p(. | context), of which at most ``order`` - 1 words count."""
        context = context[len(context) - min(len(context), self.order - 1) :]
        p: Floats = np.full(self.words, 1 / self.words)
        for size in range(len(context) + 1):
            entry = self._counts[size].get(context[len(context) - size :])
            if entry is not None:
                after, counts = entry
                total = counts.sum()
                p = p * (DISCOUNT * len(after) / total)
                p[after] += (counts - DISCOUNT) / total
        return p

    def read(self, sentences: Sequence[Sequence[int] | NDArray[np.integer]]) -> tuple[Floats, NDArray[np.int64]]:
        """(all words,) twice: the log-probability of every word, and the likeliest word in its place."""
        log_p, likeliest = [], []
        for sentence in sentences:
            for context, word in self._read(sentence):
                p = self.distribution(context)
                log_p.append(np.log(p[word]))
                likeliest.append(int(p.argmax()))
        return np.array(log_p), np.array(likeliest, dtype=np.int64)

"""Word alignment from beginning to end: pairs in, links out, with IBM Model 1 in one direction or both."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from attnlab.data.sentence_pairs import SentencePairs
from attnlab.errors import UsageError
from attnlab.theory.ibm1 import Ibm1, best_positions, train_ibm1
from attnlab.theory.lexicon import Lexicon
from attnlab.theory.links import Ints
from attnlab.theory.symmetrise import Alignment, check_direction, from_positions, from_reverse_positions, symmetrised

SENTENCES = 2**14
"""Sentences whose links are written in one go."""
Watch = Callable[[str, int, float], None]
"""Told after each iteration: forward or reverse, its number, the log-likelihood."""


@dataclass(frozen=True, eq=False)
class Aligned:
    """Aligned pairs: their links, and the tables that say why.

    ``forward`` and ``reverse`` are the trained models, as far as the direction needed them.
    """

    alignment: Alignment
    forward: Ibm1 | None
    reverse: Ibm1 | None

    @property
    def lexicon(self) -> Lexicon:
        """The tables of both directions, as they are saved."""
        return Lexicon(*(None if model is None else model.table for model in (self.forward, self.reverse)))

    @property
    def lines(self) -> list[str]:
        """One line a pair with links ``i-j``: source position i and target position j, from 0."""
        return pharaoh(self.alignment).decode("ascii").split("\n")[:-1]


def align(
    pairs: SentencePairs | Iterable[tuple[str, str]],
    *,
    direction: str = "grow-diag-final-and",
    iterations: int = 5,
    null: bool = True,
    tolerance: float | None = None,
    watch: Watch | None = None,
) -> Aligned:
    """Align the words of ``pairs`` by what occurs with what, and nothing else.

    ``pairs``: a corpus, or (source, target) sentences with blanks between words. ``direction``: forward gives every
    target word a source word, reverse every source word a target word; intersection, union and grow-diag-final-and join
    both. ``null``: a word may be left without a link because nothing in the other sentence explains it.

    >>> import attnlab
    >>> pairs = [("das Haus", "the house"), ("das Buch", "the book"), ("ein Buch", "a book")]
    >>> attnlab.align(pairs).lines
    ['0-0 1-1', '0-0 1-1', '0-0 1-1']
    """
    chosen = check_direction(direction)
    if not isinstance(pairs, SentencePairs):
        sentences = _sentences(pairs)
        source, target = ([sentence[side].split() for sentence in sentences] for side in (0, 1))
        pairs = SentencePairs.from_tokens(source, target)

    def train(name: str, corpus: SentencePairs) -> tuple[Ibm1, NDArray[np.int32]]:
        watched = None if watch is None else lambda iteration, value: watch(name, iteration, value)
        model = train_ibm1(corpus, iterations=iterations, null=null, tolerance=tolerance, positions=True, watch=watched)
        assert model.positions is not None  # they were asked for
        return model, model.positions

    forward = None if chosen == "reverse" else train("forward", pairs)
    reverse = None if chosen == "forward" else train("reverse", pairs.swapped())
    alignment = symmetrised(
        chosen, forward and from_positions(pairs, forward[1]), reverse and from_reverse_positions(pairs, reverse[1])
    )
    return Aligned(alignment, forward and forward[0], reverse and reverse[0])


def _sentences(pairs: object) -> list[tuple[str, str]]:
    """(source, target) sentences; anything else is refused."""
    sentences = list(pairs) if isinstance(pairs, Iterable) and not isinstance(pairs, str) else None
    if sentences is None or not all(
        isinstance(pair, tuple | list) and len(pair) == 2 and all(isinstance(side, str) for side in pair)
        for pair in sentences
    ):
        raise UsageError(
            "Sentence pairs to align are (source, target) texts, or what attnlab.read_pairs returns, not "
            f"{type(pairs).__name__} {pairs!r:.60}."
        )
    return [(source, target) for source, target in sentences]


def apply(lexicon: Lexicon, pairs: SentencePairs, *, direction: str = "grow-diag-final-and") -> Alignment:
    """Align ``pairs`` by tables made before, from other text or the same."""
    chosen = check_direction(direction)
    if chosen != "reverse" and lexicon.forward is None:
        raise UsageError(f"The table has only the reverse direction; {direction} needs the forward one.")
    if chosen != "forward" and lexicon.reverse is None:
        raise UsageError(f"The table has only the forward direction; {direction} needs the reverse one, too.")
    forward = None if chosen == "reverse" else lexicon.forward
    reverse = None if chosen == "forward" else lexicon.reverse
    return symmetrised(
        chosen,
        None if forward is None else from_positions(pairs, best_positions(forward, pairs)),
        None if reverse is None else from_reverse_positions(pairs, best_positions(reverse, pairs.swapped())),
    )


def pharaoh(alignment: Alignment) -> bytes:
    """The alignment as a file: a line for each pair, its links ``i-j`` by target position, empty if it has none."""
    sentences, source, target = alignment.positions()
    most = 1 + int(max(source.max(initial=0), target.max(initial=0)))
    # A file is a row of pieces: "i-" and "j " for each link, "j" and a newline for the last of a line, or a newline.
    ends = ("-", " ", "\n")
    pieces = pa.array([f"{position}{end}" for end in ends for position in range(most)] + ["\n"], pa.large_string())
    # Some sentences at a time: what is written then stays near the processor.
    bounds = [*range(0, len(alignment.pairs), SENTENCES), len(alignment.pairs)]
    parts = zip(pairwise(bounds), pairwise(np.searchsorted(sentences, bounds).tolist()), strict=True)
    chosen = (_pieces(sentences[a:b] - m, source[a:b], target[a:b], n - m, most) for (m, n), (a, b) in parts)
    return b"".join(pieces.take(pa.array(part)).buffers()[2] for part in chosen)


def _pieces(sentences: Ints, source: Ints, target: Ints, count: int, most: int) -> Ints:
    """The pieces that make the lines of ``count`` sentences, from the sentence and the positions of each link."""
    last = np.ones(len(sentences), dtype=bool)
    np.not_equal(sentences[1:], sentences[:-1], out=last[:-1])
    chosen = np.stack([source, target + np.where(last, 2 * most, most)], axis=1).reshape(-1)
    empty = np.ones(count, dtype=bool)
    empty[sentences] = False
    lines = np.flatnonzero(empty)
    return np.insert(chosen, 2 * np.searchsorted(sentences, lines), 3 * most) if len(lines) else chosen

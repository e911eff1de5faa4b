"""Word alignments, and how the two directions of IBM Model 1 become one: intersection, union, grow-diag-final-and.

A direction gives every word of one side at most one word of the other. Forward, each target word has a source word;
reverse, each source word has a target word. Both together allow many-to-many links.
"""

from dataclasses import dataclass, replace
from difflib import get_close_matches
from itertools import pairwise
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from attnlab.data.sentence_pairs import SentencePairs
from attnlab.errors import UsageError
from attnlab.theory.links import Ints, distinct

Bools = NDArray[np.bool_]
Direction = Literal["forward", "reverse", "intersection", "union", "grow-diag-final-and"]
DIRECTIONS: tuple[Direction, ...] = get_args(Direction)

_NEIGHBOURS = ((-1, 0), (0, -1), (1, 0), (0, 1), (-1, -1), (-1, 1), (1, -1), (1, 1))
"""(target, source) steps to the points around a point, in the order in which they are tried."""


@dataclass(frozen=True, eq=False)
class Alignment:
    """Links between source and target tokens of the same pair, sorted by (target, source).

    ``source (links,)`` and ``target (links,)`` number tokens through the whole corpus; `positions` counts them within
    their sentences.
    """

    pairs: SentencePairs
    source: Ints
    target: Ints

    def __len__(self) -> int:
        return len(self.source)

    @property
    def keys(self) -> Ints:
        """One number a link, rising."""
        return self.target * (len(self.pairs.source) + 1) + self.source

    def with_keys(self, keys: Ints) -> "Alignment":
        """The alignment with these links instead."""
        target, source = np.divmod(keys, len(self.pairs.source) + 1)
        return replace(self, source=source, target=target)

    def sentences(self) -> Ints:
        """``(links,)``: the pair of each link, by number from 0."""
        owners = np.repeat(np.arange(len(self.pairs)), np.diff(self.pairs.target_offsets))
        return owners[self.target]

    def positions(self) -> tuple[Ints, Ints, Ints]:
        """Of each link the pair, the source position and the target position, all from 0."""
        sentences = self.sentences()
        source = self.source - self.pairs.source_offsets[sentences]
        return sentences, source, self.target - self.pairs.target_offsets[sentences]


def from_positions(pairs: SentencePairs, best: NDArray[np.integer]) -> Alignment:
    """The forward alignment: target token t is linked to position ``best[t]`` of its source sentence, -1 to none."""
    target = np.flatnonzero(best >= 0)
    starts = np.repeat(pairs.source_offsets[:-1], np.diff(pairs.target_offsets))
    return Alignment(pairs, starts[target] + best[target], target)


def from_reverse_positions(pairs: SentencePairs, best: NDArray[np.integer]) -> Alignment:
    """The reverse alignment: source token s is linked to position ``best[s]`` of its target sentence, -1 to none."""
    other = from_positions(pairs.swapped(), best)
    alignment = Alignment(pairs, other.target, other.source)
    return alignment.with_keys(np.sort(alignment.keys))


def symmetrised(direction: Direction, forward: Alignment | None, reverse: Alignment | None) -> Alignment:
    """One alignment from both directions, by name; where it is one of the two, the other may be None."""
    if direction == "forward" and forward is not None:
        return forward
    if direction == "reverse" and reverse is not None:
        return reverse
    assert forward is not None
    assert reverse is not None
    if direction == "intersection":
        return forward.with_keys(np.intersect1d(forward.keys, reverse.keys, assume_unique=True))
    if direction == "union":
        return forward.with_keys(distinct([forward.keys, reverse.keys]))
    return grow_diag_final_and(forward, reverse)


def check_direction(name: str) -> Direction:
    """``name`` if it is one of the directions, else a UsageError."""
    if name in DIRECTIONS:
        return name
    close = get_close_matches(name, DIRECTIONS, n=1)
    hint = f" Did you mean {close[0]}?" if close else ""
    raise UsageError(f"There is no direction {name!r}; directions are {', '.join(DIRECTIONS)}.{hint}")


def grow_diag_final_and(forward: Alignment, reverse: Alignment) -> Alignment:
    """Koehn, Och and Marcu's heuristic (2003), as in Moses.

    Start from the intersection. *Grow-diag*: go through the links by (target, source) position and add each of the
    eight neighbours that is in the union and has a word on either side without a link; again, until nothing is added.
    *Final-and*: add links of the forward, then of the reverse direction of which both words have none.
    """
    union = distinct([forward.keys, reverse.keys])
    points = forward.with_keys(union)
    active = np.isin(union, forward.keys, assume_unique=True) & np.isin(union, reverse.keys, assume_unique=True)
    source_used = np.zeros(len(forward.pairs.source), dtype=bool)
    target_used = np.zeros(len(forward.pairs.target), dtype=bool)
    source_used[points.source[active]] = True
    target_used[points.target[active]] = True
    _grow(points, active, source_used, target_used)
    for direction in (forward, reverse):
        free = np.flatnonzero(~source_used[direction.source] & ~target_used[direction.target])
        # One side's words are each there once; where links share a word of the other, the first takes it.
        for side in (direction.source, direction.target):
            free = free[np.sort(np.unique(side[free], return_index=True)[1])]
        source_used[direction.source[free]] = True
        target_used[direction.target[free]] = True
        active[np.searchsorted(union, direction.keys[free])] = True
    return forward.with_keys(union[active])


def _grow(points: Alignment, active: Bools, source_used: Bools, target_used: Bools) -> None:
    """Grow-diag on all pairs at once, in place.

    Within a pair the order of additions matters, so it is kept: every (link, neighbour) is an event with a rank in its
    pair, and all pairs' events of one rank happen together.
    """
    origin, neighbour, sentence, rank = _events(points, active)
    while len(origin):
        ends = np.searchsorted(rank, np.arange(rank[-1] + 2))
        changed = np.zeros(len(points.pairs), dtype=bool)
        for begin, end in pairwise(ends.tolist()):
            now = slice(begin, end)
            to = neighbour[now]
            free = ~source_used[points.source[to]] | ~target_used[points.target[to]]
            grown = active[origin[now]] & ~active[to] & free
            to = to[grown]
            active[to] = True
            source_used[points.source[to]] = True
            target_used[points.target[to]] = True
            changed[sentence[now][grown]] = True
        free = ~source_used[points.source[neighbour]] | ~target_used[points.target[neighbour]]
        left = changed[sentence] & ~active[neighbour] & free
        origin, neighbour, sentence, rank = (column[left] for column in (origin, neighbour, sentence, rank))


def _events(points: Alignment, active: Bools) -> tuple[Ints, Ints, Ints, Ints]:
    """Every (link, neighbour in the union that is not in the intersection), its pair and its rank, sorted by rank."""
    sentences, keys = points.sentences(), points.keys
    width = len(points.pairs.source) + 1
    parts = []
    for number, (target_step, source_step) in enumerate(_NEIGHBOURS):
        wanted = keys + target_step * width + source_step
        at = np.minimum(np.searchsorted(keys, wanted), max(len(keys) - 1, 0))
        there = np.flatnonzero((keys[at] == wanted) & (sentences[at] == sentences) & ~active[at])
        parts.append(np.stack((there * len(_NEIGHBOURS) + number, at[there])))
    order, neighbour = np.concatenate(parts, axis=1)
    sort = np.argsort(order)
    origin, neighbour = order[sort] // len(_NEIGHBOURS), neighbour[sort]
    sentence = sentences[origin]
    rank = np.arange(len(sentence)) - np.searchsorted(sentence, sentence)
    by_rank = np.argsort(rank, kind="stable")
    return origin[by_rank], neighbour[by_rank], sentence[by_rank], rank[by_rank]

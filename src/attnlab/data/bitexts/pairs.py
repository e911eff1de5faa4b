"""What every parallel corpus says of itself, what reading it gives, and how one without a split is split."""

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from attnlab.data.conventions import Conventions
from attnlab.data.reading import read_lines
from attnlab.errors import UsageError
from attnlab.seeds import numpy_generator

Pair = tuple[str, str]


@dataclass(frozen=True, eq=False)
class RawPairs:
    """Sentences of one split as they are in the files: ``source[k]`` is translated by ``target[k]``.

    ``rows (pairs,)``: the line of its file that each pair comes from, from 1. ``files``: how a message names it.
    """

    source: Sequence[str]
    target: Sequence[str]
    rows: NDArray[np.int64]
    files: str

    def __len__(self) -> int:
        return len(self.source)

    def select(self, places: NDArray[np.int64]) -> "RawPairs":
        """The pairs at ``places``, in their order."""
        source, target = ([side[place] for place in places.tolist()] for side in (self.source, self.target))
        return RawPairs(source, target, self.rows[places], self.files)

    def swapped(self) -> "RawPairs":
        """The same pairs the other way round."""
        return RawPairs(self.target, self.source, self.rows, self.files)


@dataclass(frozen=True, eq=False)
class RawBitext:
    """A corpus' splits. ``test`` is None where there is none. ``notes``: what was left out, a sentence each."""

    train: RawPairs
    validation: RawPairs
    test: RawPairs | None = None
    notes: tuple[str, ...] = ()

    def swapped(self) -> "RawBitext":
        """The same corpus the other way round."""
        test = None if self.test is None else self.test.swapped()
        return RawBitext(self.train.swapped(), self.validation.swapped(), test, self.notes)


@dataclass(frozen=True)
class KnownBitext:
    """A parallel corpus that is known by name.

    ``pairs``: its languages, source first; every pair can be read the other way round, too. ``find`` looks in a data
    folder for the files of a pair, ``read`` reads those found. ``get``: what a user has to bring. ``scored``: by
    languages, how many validation target pieces with ``</s>`` the paper scored, where that is known. ``gold``: hand
    alignments of the words of the validation pairs, in the usual direction.
    """

    name: str
    title: str
    pairs: tuple[Pair, ...]
    find: Callable[[Path, str, str], tuple[Path, ...] | None]
    read: Callable[[tuple[Path, ...], str, str], RawBitext]
    get: str
    scored: Mapping[Pair, int] = field(default_factory=dict)
    gold: str | None = None

    def locate(self, root: Path, source: str, target: str) -> tuple[Path, ...] | None:
        """The files of a direction, which are the same as those of the other."""
        return self.find(root, *self._usual(source, target))

    def load(self, files: tuple[Path, ...], source: str, target: str) -> RawBitext:
        """The sentences of a direction."""
        raw = self.read(files, *self._usual(source, target))
        return raw if (source, target) in self.pairs else raw.swapped()

    def _usual(self, source: str, target: str) -> Pair:
        return (source, target) if (source, target) in self.pairs else (target, source)


def read_two(source: Path, target: Path, conventions: tuple[Conventions, Conventions] | None = None) -> RawPairs:
    """The sentences of two files, line by line, brought to ``conventions`` if there are any."""
    sides = [read_lines(source), read_lines(target)]
    check_sides(source, sides[0], target, sides[1])
    if conventions is not None:
        sides = [rule.apply("\n".join(side)).split("\n") for side, rule in zip(sides, conventions, strict=True)]
    return RawPairs(sides[0], sides[1], np.arange(1, len(sides[0]) + 1), f"{source.name} and {target.name}")


def read_tabbed(path: Path, columns: int | None = 2, start: int = 0) -> RawPairs:
    """The sentences of a file with lines ``source TAB target``, without a header.

    ``columns``: how many a line has; None for two or more. ``start``: lines to skip.
    """
    lines = read_lines(path)[start:]
    rows = [line.split("\t") if line.strip() else ["", ""] for line in lines]
    for number, row in enumerate(rows, start + 1):
        if len(row) < 2 or (columns is not None and len(row) != columns):
            tabs = f"{len(row) - 1} tab{'s' * (len(row) != 2)}"
            raise UsageError(f"{path}, line {number} has {tabs}; one is needed, between source and target sentence.")
    return RawPairs(
        [row[0] for row in rows], [row[1] for row in rows], np.arange(start + 1, len(lines) + start + 1), path.name
    )


def check_sides(source: Path, source_lines: Sequence[str], target: Path, target_lines: Sequence[str]) -> None:
    """Refuse two files of different lengths, and two that are the same: nothing is translated there."""
    if len(source_lines) != len(target_lines):
        raise UsageError(
            f"{source} has {len(source_lines)} lines and {target} has {len(target_lines)}; line n of one must be the "
            "translation of line n of the other."
        )
    if source_lines == target_lines and any(source_lines):
        raise UsageError(f"{source} and {target} are identical; one must be the translation of the other.")


def hold_out_tenth(pairs: RawPairs, name: str, groups: Sequence[Hashable] | None = None) -> tuple[RawPairs, RawPairs]:
    """Nine tenths to train on and one to validate on, drawn by a seed that is the corpus' name.

    ``groups``: one for each pair; pairs of the same group are on the same side of the split.
    """
    numbers: dict[Hashable, int] = {}
    group = np.array([numbers.setdefault(one, len(numbers)) for one in groups or range(len(pairs))], np.int64)
    if len(numbers) < 2:
        what = "pair" if groups is None else "different source sentence"
        raise UsageError(f"{pairs.files}: {len(numbers)} {what}{'s' * (len(numbers) != 1)} cannot be split into a "
                         "training part and one to validate on; two or more are needed.")  # fmt: skip
    held_out = np.zeros(len(numbers), bool)
    held_out[numpy_generator(0, "split", name).permutation(len(numbers))[: max(1, len(numbers) // 10)]] = True
    return pairs.select(np.flatnonzero(~held_out[group])), pairs.select(np.flatnonzero(held_out[group]))

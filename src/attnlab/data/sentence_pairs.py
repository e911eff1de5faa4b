"""Sentence pairs: a parallel corpus as two ragged arrays of word ids.

Words are what is between spaces, tabs and the other white space of ASCII. Lines are joined by number; a pair of
which one side is empty stays in its place but holds no words, so that nothing after it shifts.
"""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from attnlab.data.conventions import Conventions
from attnlab.data.labelled_file import is_table, read_columns
from attnlab.data.reading import read_lines, read_utf8
from attnlab.errors import UsageError
from attnlab.fields import ragged_rows
from attnlab.files import as_path

SEPARATOR = "|||"
"""What is between the sides of a pair where both are in one file."""
MOST_LINKS = 2**26
"""Source words times target words of one pair, beyond which a line is no sentence."""
NAMED = 5
"""Most empty lines that a warning names."""


@dataclass(frozen=True, eq=False)
class SentencePairs:
    """A corpus of pairs.

    ``source (tokens,)`` and ``target (tokens,)``: word ids, pair after pair; pair k has
    ``source[source_offsets[k] : source_offsets[k + 1]]``. ``source_words`` and ``target_words``: the words by id.
    A pair has words on both sides or on none.

    >>> pairs = SentencePairs.from_tokens([["das", "Haus"], ["Haus"]], [["the", "house"], ["house"]])
    >>> len(pairs), pairs.source.tolist(), pairs.target_words
    (2, [0, 1, 1], ['the', 'house'])
    """

    source: NDArray[np.int32]
    source_offsets: NDArray[np.int64]
    target: NDArray[np.int32]
    target_offsets: NDArray[np.int64]
    source_words: list[str]
    target_words: list[str]

    def __post_init__(self) -> None:
        if len(self.source_offsets) != len(self.target_offsets):
            sides = f"{len(self.source_offsets) - 1} source and {len(self.target_offsets) - 1} target sentences"
            raise UsageError(f"Sentence pairs need as many sentences on one side as on the other, not {sides}.")
        for name, ids, offsets, words in (
            ("source", self.source, self.source_offsets, self.source_words),
            ("target", self.target, self.target_offsets, self.target_words),
        ):
            if len(offsets) == 0 or offsets[0] != 0 or offsets[-1] != len(ids) or (np.diff(offsets) < 0).any():
                raise UsageError(f"The {name} offsets must rise from 0 to the number of {name} tokens, {len(ids)}.")
            if len(ids) and (ids.min() < 0 or ids.max() >= len(words)):
                raise UsageError(f"The {name} ids must lie in 0..{len(words) - 1}, as there are {len(words)} words.")
        if ((np.diff(self.source_offsets) == 0) != (np.diff(self.target_offsets) == 0)).any():
            raise UsageError("A pair must have words on both sides or on none.")

    @classmethod
    def from_tokens(cls, source: Sequence[Sequence[str]], target: Sequence[Sequence[str]] = ()) -> Self:
        """Pairs from sentences that are already cut into words."""
        for name, side in (("source", source), ("target", target)):
            wrong = side if isinstance(side, str) else next((one for one in side if isinstance(one, str)), None)
            if wrong is not None:
                raise UsageError(
                    f"The {name} sentence {wrong[:40]!r} is one text; from_tokens takes lists of words, such as "
                    f"{[wrong[:40].split()]}."
                )
        if len(source) != len(target):
            raise UsageError(f"Every source sentence needs its target: there are {len(source)} and {len(target)}.")
        return cls._joined(*(Side.of_lists(side) for side in (source, target)))

    @classmethod
    def from_ids(cls, source: NDArray[Any], target: NDArray[Any], words: int | Sequence[str] | None = None) -> Self:
        """Pairs of a synthetic task: ids ``(pairs, source length)`` and ``(pairs, target length)``.

        ``words``: names by id, the same on both sides, or how many ids there are; else up to the largest id. Ids
        without names are called by their number.
        """
        source, target = np.asarray(source), np.asarray(target)
        if source.ndim != 2 or target.ndim != 2 or len(source) != len(target):
            raise UsageError(f"Ids come as (pairs, length) on both sides, not {source.shape} and {target.shape}.")
        if words is None:
            words = 1 + int(max((side.max() for side in (source, target) if side.size), default=-1))
        names = [str(k) for k in range(words)] if isinstance(words, int) else list(words)
        offsets = (np.arange(len(side) + 1, dtype=np.int64) * side.shape[1] for side in (source, target))
        flat = (side.reshape(-1).astype(np.int32) for side in (source, target))
        return cls(next(flat), next(offsets), next(flat), next(offsets), names, list(names))

    @classmethod
    def _joined(cls, source: "Side", target: "Side") -> Self:
        """Both sides, with the words of half-empty pairs taken away."""
        half = (source.lengths == 0) != (target.lengths == 0)
        if half.any():
            source, target = source.without(half), target.without(half)
        return cls(source.ids, source.offsets, target.ids, target.offsets, source.words, target.words)

    def __len__(self) -> int:
        return len(self.source_offsets) - 1

    @property
    def empty(self) -> NDArray[np.int64]:
        """The pairs, by number from 0, that hold no words."""
        return np.flatnonzero(np.diff(self.source_offsets) == 0)

    def swapped(self) -> "SentencePairs":
        """The same pairs the other way round."""
        return SentencePairs(
            self.target, self.target_offsets, self.source, self.source_offsets, self.target_words, self.source_words
        )

    def first(self, count: int) -> "SentencePairs":
        """The first ``count`` pairs, with all the words of the corpus."""
        return self.select(np.arange(min(count, len(self))))

    def select(self, order: NDArray[np.int64]) -> "SentencePairs":
        """The pairs that ``order`` names, in its order, with all the words of the corpus."""
        (source, starts), (target, target_starts) = (
            ragged_rows(offsets, order) for offsets in (self.source_offsets, self.target_offsets)
        )
        sides = self.source[source], starts, self.target[target], target_starts
        return SentencePairs(*sides, self.source_words, self.target_words)


class Side(NamedTuple):
    """One side of a corpus: ids, offsets, words by id."""

    ids: NDArray[np.int32]
    offsets: NDArray[np.int64]
    words: list[str]

    @property
    def lengths(self) -> NDArray[np.int64]:
        return np.diff(self.offsets)

    @classmethod
    def of_lists(cls, sentences: Sequence[Sequence[str]]) -> "Side":
        numbers: dict[str, int] = {}
        ids = [numbers.setdefault(word, len(numbers)) for sentence in sentences for word in sentence]
        offsets = np.zeros(len(sentences) + 1, dtype=np.int64)
        np.cumsum([len(sentence) for sentence in sentences], out=offsets[1:])
        return cls(np.array(ids, dtype=np.int32), offsets, list(numbers))

    @classmethod
    def of_lines(cls, lines: pa.Array) -> "Side":
        """Cut lines into words at white space, and number the words in the order in which they come."""
        split = pc.ascii_split_whitespace(lines)
        offsets = split.offsets.to_numpy().astype(np.int64)
        encoded = split.flatten().dictionary_encode()
        ids, words = encoded.indices.to_numpy(), encoded.dictionary.to_pylist()
        if "" not in words:
            return cls(ids, offsets, words)
        # White space at either end of a line, its newline too, makes an empty word: take it out again.
        nothing = words.index("")
        there = ids != nothing
        offsets -= np.searchsorted(np.flatnonzero(~there), offsets)  # those before each line
        ids = ids[there]
        return cls(ids - (ids > nothing), offsets, words[:nothing] + words[nothing + 1 :])

    def without(self, dropped: NDArray[np.bool_]) -> "Side":
        """The sentences ``dropped`` emptied, and only the words that are left."""
        kept = self.ids[~np.repeat(dropped, self.lengths)]
        offsets = np.concatenate(([0], np.cumsum(np.where(dropped, 0, self.lengths))))
        used = np.zeros(len(self.words), dtype=bool)
        used[kept] = True
        renumbered = np.cumsum(used, dtype=np.int32) - 1
        words = [word for word, there in zip(self.words, used.tolist(), strict=True) if there]
        return Side(renumbered[kept].astype(np.int32), offsets, words)


def read_pairs(
    source: str | Path,
    target: str | Path | None = None,
    *,
    columns: tuple[str, str] = ("source", "target"),
    source_conventions: Conventions | None = None,
    target_conventions: Conventions | None = None,
    warn_empty: bool = True,
) -> SentencePairs:
    """The pairs of two files, line by line, or of one file that has both sides; plain, .gz or .xz.

    One file is a table (.csv, .tsv, .json(l) or .parquet) with the two ``columns``, or has lines ``source ||| target``.
    ``warn_empty``: empty lines are named in a warning.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "pairs.tsv"
    ...     _ = path.write_text("de\\ten\\ndas Haus\\tthe house\\n")
    ...     read_pairs(path, columns=("de", "en")).target_words
    ['the', 'house']
    """
    source = as_path(source, "A file of sentences")
    rules = source_conventions, target_conventions
    if target is None and not is_table(source):
        return read_joined_pairs(source, source_conventions=rules[0], target_conventions=rules[1])
    if target is None:
        read = read_columns(source, columns, ("source", "target"))
        sides = [column if rule is None else _each(column, rule) for column, rule in zip(read, rules, strict=True)]
        return pairs_of_lines(sides[0], sides[1], str(source), str(source), warn_empty)
    files = source, Path(target)
    sides = [as_lines(_converted(read_utf8(file), rule)) for file, rule in zip(files, rules, strict=True)]
    if len(sides[0]) != len(sides[1]):
        raise UsageError(
            f"{source} has {len(sides[0])} lines and {target} has {len(sides[1])}; line n of one must be the "
            "translation of line n of the other."
        )
    return pairs_of_lines(sides[0], sides[1], str(source), str(target), warn_empty)


def read_joined_pairs(
    path: Path, *, source_conventions: Conventions | None = None, target_conventions: Conventions | None = None
) -> SentencePairs:
    """The pairs of one file with lines ``source ||| target``; empty lines are named in a warning."""
    texts = split_joined(path)
    conventions = source_conventions, target_conventions
    sides = [as_lines(_converted(text, rules)) for text, rules in zip(texts, conventions, strict=True)]
    return pairs_of_lines(sides[0], sides[1], str(path), str(path), True)


def split_joined(path: Path) -> tuple[bytes, bytes]:
    """The two sides of a file with lines ``source ||| target``."""
    parts = [line.split(SEPARATOR) if line.strip() else ["", ""] for line in read_lines(path)]
    for number, part in enumerate(parts, 1):
        if len(part) != 2:
            raise UsageError(
                f"{path}, line {number} has {SEPARATOR} {len(part) - 1} times; it must stand once, between the source "
                "sentence and the target sentence."
            )
    source, target = ("".join(part[side] + "\n" for part in parts).encode("utf-8") for side in (0, 1))
    return source, target


def _converted(data: bytes, conventions: Conventions | None) -> bytes:
    return data if conventions is None else conventions.apply(data.decode("utf-8")).encode("utf-8")


def _each(column: pa.Array, conventions: Conventions) -> pa.Array:
    return pa.array([conventions.apply(text) for text in column.to_pylist()], pa.large_string())


def as_lines(data: bytes) -> pa.Array:
    """The lines of a text as an Arrow array, without a Python object for each. A line still has its newline."""
    if data and not data.endswith(b"\n"):
        data += b"\n"
    ends = np.flatnonzero(np.frombuffer(data, dtype=np.uint8) == ord("\n")) + 1
    offsets = np.concatenate(([0], ends)).astype(np.int64)
    return pa.LargeStringArray.from_buffers(len(ends), pa.py_buffer(offsets), pa.py_buffer(data))


def pairs_of_lines(
    source_lines: pa.Array, target_lines: pa.Array, source: str, target: str, warn_empty: bool
) -> SentencePairs:
    """Both sides as pairs, once it is clear that there are any and none is absurdly long."""
    sides = Side.of_lines(source_lines), Side.of_lines(target_lines)
    where = source if source == target else f"{source} and {target}"
    if not ((sides[0].lengths > 0) & (sides[1].lengths > 0)).any():
        raise UsageError(f"There is no sentence pair with words on both sides in {where}.")
    long = np.flatnonzero(sides[0].lengths * sides[1].lengths > MOST_LINKS)
    if len(long):
        lengths = " and ".join(str(side.lengths[long[0]]) for side in sides)
        raise UsageError(f"Line {long[0] + 1} of {where} has {lengths} words; is a line break missing?")
    if warn_empty:
        _warn_of_empty_lines(sides, (source, target))
    return SentencePairs._joined(*sides)


def _warn_of_empty_lines(sides: tuple[Side, Side], names: tuple[str, str]) -> None:
    empty = [(int(line) + 1, k) for k, side in enumerate(sides) for line in np.flatnonzero(side.lengths == 0)]
    places = list(dict.fromkeys(f"{names[k]}:{line}" for line, k in sorted(empty)))
    if places:
        more = f" and {len(places) - NAMED} more" if len(places) > NAMED else ""
        warnings.warn(
            f"{len(places)} empty {'line' if len(places) == 1 else 'lines'}: {', '.join(places[:NAMED])}{more}. "
            "Such pairs are left out of the counts and keep their place.",
            stacklevel=4,
        )

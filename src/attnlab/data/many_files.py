"""A parallel corpus in many files: named one by one or by a pattern, read one after the other."""

import glob
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from attnlab.data.conventions import Conventions
from attnlab.data.reading import read_utf8
from attnlab.data.sentence_pairs import SentencePairs, as_lines, pairs_of_lines, split_joined
from attnlab.errors import UsageError

BLOCK = 20_000
"""Lines that are handed on at a time."""


@dataclass(frozen=True)
class Block:
    """Consecutive lines of both sides, where they are, at which line they begin there, and which share of all files'
    bytes comes before their middle.
    """

    source: bytes
    target: bytes
    where: str
    first: int
    place: float


def expand(names: Sequence[str | Path], what: str) -> list[Path]:
    """The files that are named; a pattern such as ``part-*.en`` stands for all files that fit it, by name.

    >>> expand(["a.txt", "b.txt"], "source")
    [PosixPath('a.txt'), PosixPath('b.txt')]
    """
    files: list[Path] = []
    for name in map(str, names):
        if glob.has_magic(name) and not Path(name).exists():
            fitting = sorted(glob.glob(name, recursive=True))  # noqa: PTH207 (an absolute pattern is allowed)
            if not fitting:
                raise UsageError(f"No file fits the pattern {name!r} of the {what} sentences.")
            files += map(Path, fitting)
        else:
            files.append(Path(name))
    return files


def paired(sources: Sequence[Path], targets: Sequence[Path]) -> list[tuple[Path, Path]]:
    """Each source file with its target file."""
    if len(sources) != len(targets):
        raise UsageError(
            f"There are {len(sources)} files of source sentences and {len(targets)} of target sentences; each needs "
            "its other side, in the same order."
        )
    return list(zip(sources, targets, strict=True))


def blocks(
    files: Sequence[tuple[Path, Path]] | Sequence[Path], rules: Sequence[Conventions | None] = (None, None)
) -> Iterator[Block]:
    """The lines of all files, some at a time. A file is read whole, one pair of files at a time."""
    both = [one if isinstance(one, tuple) else (one,) for one in files]
    sizes = [sum(path.stat().st_size if path.is_file() else 0 for path in one) or 1 for one in both]
    total, before = sum(sizes), 0
    for one, size in zip(both, sizes, strict=True):
        sides = _sides(one, rules)
        where = " and ".join(map(str, one))
        ends = [np.flatnonzero(np.frombuffer(side, np.uint8) == ord("\n")) + 1 for side in sides]
        count = len(ends[0])
        for first in range(0, count, BLOCK):
            last = min(first + BLOCK, count)
            parts = [
                side[(0 if first == 0 else end[first - 1]) : end[last - 1]]
                for side, end in zip(sides, ends, strict=True)
            ]
            place = (before + size * (first + last) / 2 / count) / total
            yield Block(parts[0], parts[1], where, first + 1, place)
        before += size


def _sides(files: tuple[Path, ...], rules: Sequence[Conventions | None]) -> list[bytes]:
    """Both sides of one or two files, every line with its newline."""
    texts = split_joined(files[0]) if len(files) == 1 else tuple(read_utf8(path) for path in files)
    sides = []
    for text, rule in zip(texts, rules, strict=True):
        changed = text if rule is None else rule.apply(text.decode("utf-8")).encode("utf-8")
        sides.append(changed if not changed or changed.endswith(b"\n") else changed + b"\n")
    lines = [side.count(b"\n") for side in sides]
    if lines[0] != lines[1]:
        raise UsageError(
            f"{files[0]} has {lines[0]} lines and {files[-1]} has {lines[1]}; line n of one must be the translation of "
            "line n of the other."
        )
    return sides


def read_many(
    files: Sequence[tuple[Path, Path]] | Sequence[Path], rules: Sequence[Conventions | None] = (None, None)
) -> SentencePairs:
    """All files as one corpus in memory."""
    sides: tuple[list[bytes], list[bytes]] = ([], [])
    for block in blocks(files, rules):
        sides[0].append(block.source)
        sides[1].append(block.target)
    names = [str(one if isinstance(one, Path) else one[0]) for one in files]
    where = names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1} more files"
    source, target = (as_lines(b"".join(side)) for side in sides)
    return pairs_of_lines(source, target, where, where, True)

"""A user's own parallel corpus: two files, or one that has both sides."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from attnlab.data.bitexts.pairs import RawBitext, RawPairs, hold_out_tenth, read_tabbed, read_two
from attnlab.data.labelled_file import has_header, is_table, read_columns
from attnlab.data.reading import read_lines
from attnlab.data.sentence_pairs import SEPARATOR
from attnlab.errors import UsageError

COLUMNS = ("source", "target")


def read_own_pairs(files: Sequence[Path], validation: Sequence[Path], columns: tuple[str, str] | None) -> RawBitext:
    """The pairs of the files; a tenth of them is held out unless there are files to ``validate`` on."""
    train = _read(files, columns)
    if validation:
        return RawBitext(train, _read(validation, columns))
    return RawBitext(*hold_out_tenth(train, "own bitext", train.source))


def _read(files: Sequence[Path], columns: tuple[str, str] | None) -> RawPairs:
    if len(files) == 2:
        if columns is not None:
            raise UsageError("Columns are of one file that has both sides; two files have one sentence on each line.")
        return read_two(files[0], files[1])
    if len(files) != 1:
        raise UsageError(f"A parallel corpus is one file or two, not {len(files)}.")
    pairs = _read_one(files[0], columns)
    if pairs.source == pairs.target and len(pairs):
        raise UsageError(f"Both sides of {files[0]} are identical; one must be the translation of the other.")
    return pairs


def _read_one(path: Path, columns: tuple[str, str] | None) -> RawPairs:
    """A table with named columns, or lines with a tab or ``|||`` between the sides."""
    tabbed = ".tsv" in [suffix.lower() for suffix in path.suffixes]
    if columns is not None or (is_table(path) and not tabbed):
        source, target = (column.to_pylist() for column in read_columns(path, columns or COLUMNS, COLUMNS))
        header = int(has_header(path))
        return RawPairs(source, target, np.arange(1 + header, len(source) + 1 + header), path.name)
    lines = read_lines(path)
    first = next((line for line in lines if line.strip()), "")
    if SEPARATOR in first and "\t" not in first:
        return _read_joined(path, lines)
    named = tuple(first.strip().split("\t")) == COLUMNS
    return read_tabbed(path, start=1 if named else 0)


def _read_joined(path: Path, lines: Sequence[str]) -> RawPairs:
    parts = [line.split(SEPARATOR) if line.strip() else ["", ""] for line in lines]
    for number, part in enumerate(parts, 1):
        if len(part) != 2:
            times = f"{len(part) - 1} time{'s' * (len(part) != 2)}"
            raise UsageError(f"{path}, line {number} has {SEPARATOR} {times}; it stands once, between the two sides.")
    return RawPairs([part[0] for part in parts], [part[1] for part in parts], np.arange(1, len(parts) + 1), path.name)

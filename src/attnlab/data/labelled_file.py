"""Columns of a table in a file: CSV, TSV, JSON lines or Parquet.

Every value is text: "NA" and "null" are words. An empty line is a row of empty values. Rows are counted from 1 without
the header, lines with it.
"""

import csv
import difflib
import io
import json
import re
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv as arrow_csv
from pyarrow import parquet

from attnlab.data.reading import read_lines, read_utf8
from attnlab.errors import UsageError

ENDINGS = {".csv": "csv", ".tsv": "tsv", ".jsonl": "jsonl", ".ndjson": "jsonl", ".parquet": "parquet", ".pq": "parquet"}
_HALF = re.compile("[\ud800-\udfff]")
_QUOTED = re.compile(rb'"(?:(?<=\A")|(?<=[,\r\n]"))(?:[^"]++|"")*+(?P<end>"(?=[,\r\n]|\Z))?')
_ROW = re.compile(rb"[^\r\n]+")
_MASKED = bytes.maketrans(b",\r\n", b"   ")
_BLOCK = 1 << 20
"""Bytes that are parsed at a time."""
_LARGEST_BLOCK = (1 << 31) - 1
"""The reader counts a block's bytes in 32 bits."""


def read_columns(path: Path, wanted: Sequence[str], parts: Sequence[str] = ("text", "label")) -> list[pa.Array]:
    """The columns named, in that order, as texts: an empty one where a row has no value. ``parts``: what they are."""
    path = Path(path)
    form = _form(path)
    if len(set(wanted)) < len(wanted):
        raise UsageError(f"{' and '.join(parts).capitalize()} cannot both be the column {wanted[0]!r}.")
    readers = {"csv": _read_csv, "tsv": _read_tsv, "jsonl": _read_jsonl, "parquet": _read_parquet}
    return readers[form](path, wanted)


def is_table(path: Path) -> bool:
    """Whether the name ends as those of the files that can be read."""
    try:
        return bool(_form(path))
    except UsageError:
        return False


def has_header(path: Path) -> bool:
    """Whether the first line of such a file names the columns and is no row."""
    return _form(path) in ("csv", "tsv")


def _form(path: Path) -> str:
    endings = [suffix.lower() for suffix in path.suffixes]
    packed = bool(endings) and endings[-1] in (".gz", ".xz")
    ending = endings[-2 if packed else -1] if len(endings) > packed else ""
    form = ENDINGS.get(ending)
    if form is None or (packed and form == "parquet"):
        known = ", ".join(ENDINGS)
        raise UsageError(f"{path} must end with one of {known} (all but Parquet also with .gz or .xz after it).")
    return form


def _read_csv(path: Path, wanted: Sequence[str]) -> list[pa.Array]:
    data = read_utf8(path)
    header = next(csv.reader(io.StringIO(data[:65536].decode("utf-8", errors="ignore"), newline="")), [])
    _check_columns(path, header, wanted)
    check_quotes(path, data)
    try:
        table = _parsed(data, wanted)
    except pa.ArrowInvalid as error:
        if uneven := _uneven_row(data, len(header)):
            hint = " A value with a comma in it stands in quotation marks." if uneven[1] > len(header) else ""
            raise UsageError(_uneven(path, *uneven, len(header)) + hint) from None
        raise UsageError(f"{path} is no whole CSV file ({_first_line(error)}).") from None
    return [table[name].combine_chunks() for name in wanted]


def _parsed(data: bytes, wanted: Sequence[str]) -> pa.Table:
    """The wanted columns as texts; an ArrowInvalid says what is wrong with the file."""

    def parsed(block: int) -> pa.Table:
        return arrow_csv.read_csv(
            pa.BufferReader(data),
            read_options=arrow_csv.ReadOptions(block_size=block),
            # An empty line becomes a row of empty values: it is counted, and the rows after it keep their numbers.
            parse_options=arrow_csv.ParseOptions(newlines_in_values=True, ignore_empty_lines=False),
            convert_options=arrow_csv.ConvertOptions(
                include_columns=list(wanted),
                column_types=dict.fromkeys(wanted, pa.large_string()),
                strings_can_be_null=False,
            ),
        )

    try:
        return parsed(_BLOCK)
    except pa.ArrowInvalid as error:
        if "straddling" not in str(error) or len(data) > _LARGEST_BLOCK:
            raise
        return parsed(len(data))  # a row is longer than two blocks


def _uneven_row(data: bytes, columns: int) -> tuple[int, int] | None:
    """The first row of another number of columns: the line it begins in, and that number. None if all are even."""
    # Commas and line ends inside quotation marks become blanks, one for one, so that every row stays in its place.
    plain = _QUOTED.sub(lambda value: value[0].translate(_MASKED), data)
    for row in _ROW.finditer(plain):
        if (found := row[0].count(b",") + 1) != columns:
            return data.count(b"\n", 0, row.start()) + 1, found
    return None


def _uneven(path: Path, line: int, found: int, columns: int) -> str:
    return f"{path}, line {line} has {found} column{'s' * (found > 1)}; the first line names {columns}."


def check_quotes(path: Path, data: bytes) -> None:
    """Refuse a value whose quotation mark never closes: it would swallow the rows after it without a word."""
    for value in _QUOTED.finditer(data):
        if value["end"] is None:
            line = data.count(b"\n", 0, value.start()) + 1
            if value.end() == len(data):
                raise UsageError(f"{path}, line {line}: the quotation mark that opens a value there is never closed.")
            close = data.count(b"\n", 0, value.end()) + 1
            raise UsageError(
                f"{path}, line {close}: the value in quotation marks that begins in line {line} ends there and is not "
                "followed by a comma or a new line; quotation marks inside a value are doubled."
            )


def _read_tsv(path: Path, wanted: Sequence[str]) -> list[pa.Array]:
    """Columns between tabs; a quotation mark is a character like any other."""
    lines = read_lines(path)
    header = lines[0].split("\t") if lines else []
    _check_columns(path, header, wanted)
    rows = [line.split("\t") for line in lines[1:]]
    for number, row in enumerate(rows, 2):
        if len(row) != len(header) and any(row):
            raise UsageError(_uneven(path, number, len(row), len(header)))
    places = [header.index(name) for name in wanted]
    return [pa.array([row[place] if any(row) else "" for row in rows], pa.large_string()) for place in places]


def _read_jsonl(path: Path, wanted: Sequence[str]) -> list[pa.Array]:
    columns: list[list[str]] = [[] for _ in wanted]
    for number, line in enumerate(read_lines(path), 1):
        try:
            row = json.loads(line) if line.strip() else dict.fromkeys(wanted)
        except ValueError as error:
            raise UsageError(f"{path}, line {number} is not JSON ({error}).") from None
        if not isinstance(row, dict):
            raise UsageError(f'{path}, line {number} is no JSON object such as {{"{wanted[0]}": ...}}.')
        _check_columns(path, list(row), wanted, f"{path}, line {number}")
        for name, column in zip(wanted, columns, strict=True):
            if isinstance(row[name], dict | list):
                raise UsageError(f"{path}, line {number}: {name!r} is a list or an object; a text or number is needed.")
            value = "" if row[name] is None else str(row[name])
            if not value.isprintable() and _HALF.search(value):
                raise UsageError(f"{path}, line {number}: {name!r} holds half a character, such as \\ud83d alone.")
            column.append(value)
    if not columns[0]:
        raise UsageError(f"{path} is empty.")
    return [pa.array(column, pa.large_string()) for column in columns]


def _read_parquet(path: Path, wanted: Sequence[str]) -> list[pa.Array]:
    if not path.is_file():
        raise UsageError(f"There is no file {path}.")
    try:
        header = parquet.read_schema(path).names
        _check_columns(path, header, wanted)
        table = parquet.read_table(path, columns=list(wanted))
        columns = [pc.cast(table[name], pa.large_string()).combine_chunks() for name in wanted]
    except pa.ArrowNotImplementedError:
        raise UsageError(f"{path}: the columns {' and '.join(wanted)} must hold texts or numbers.") from None
    except (pa.ArrowInvalid, OSError) as error:
        raise UsageError(f"{path} is no whole Parquet file ({_first_line(error)}).") from None
    return [pc.fill_null(column, "") for column in columns]


def _check_columns(path: Path, header: Sequence[str], wanted: Sequence[str], where: str = "") -> None:
    if not any(name.strip() for name in header):
        raise UsageError(f"{path} is empty; its first line names the columns.")
    for name in wanted:
        if list(header).count(name) > 1:
            raise UsageError(f"{where or path} has two columns {name!r}.")
        if name not in header:
            close = difflib.get_close_matches(name, header, n=1)
            hint = f" Did you mean {close[0]!r}?" if close else ""
            there = ", ".join(repr(column[:40]) for column in header[:20])
            raise UsageError(f"{where or path} has no column {name!r}; its columns are {there}.{hint}")


def _first_line(error: Exception) -> str:
    """What the reader says, without characters of the file that a terminal would obey."""
    line = str(error).splitlines()[0].rstrip(".")
    return "".join(char if char.isprintable() else "?" for char in line)

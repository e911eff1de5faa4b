"""Columns of a table in a file: CSV, TSV, JSON, JSON lines or Parquet.

A CSV may have semicolons, vertical bars or tabs between its columns: the sign that gives the columns wanted is meant.
Every value is text: "NA" and "null" are words. An empty line is a row of empty values. Rows are counted from 1 without
the header, lines with it.
"""

import csv
import difflib
import io
import json
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv as arrow_csv
from pyarrow import parquet

from attnlab.data.reading import read_lines, read_utf8, readable
from attnlab.errors import UsageError

ENDINGS = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".json": "json",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".parquet": "parquet",
    ".pq": "parquet",
}
_SEPARATORS = {",": "comma", ";": "semicolon", "|": "vertical bar", "\t": "tab"}
_HALF = re.compile("[\ud800-\udfff]")
_QUOTED = {
    sign: re.compile(
        rb'"(?:(?<=\A")|(?<=[,\r\n]"))(?:[^"]++|"")*+(?P<end>"(?=[,\r\n]|\Z))?'.replace(b",", sign.encode())
    )
    for sign in _SEPARATORS
}
_ROW = re.compile(rb"[^\r\n]+")
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
    readers = {"csv": _read_csv, "tsv": _read_tsv, "json": _read_json, "jsonl": _read_jsonl, "parquet": _read_parquet}
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
    sign, header = _header(data, wanted)
    _check_columns(path, header, wanted)
    check_quotes(path, data, sign)
    try:
        table = _parsed(data, wanted, sign)
    except pa.ArrowInvalid as error:
        if uneven := _uneven_row(data, len(header), sign):
            hint = f" A value with a {_SEPARATORS[sign]} in it stands in quotation marks."
            hint = hint if uneven[1] > len(header) else ""
            raise UsageError(_uneven(path, *uneven, len(header)) + hint) from None
        raise UsageError(f"{path} is no whole CSV file ({_first_line(error)}).") from None
    return [table[name].combine_chunks() for name in wanted]


def _header(data: bytes, wanted: Sequence[str]) -> tuple[str, list[str]]:
    """What separates the columns, and their names: by the sign that gives those wanted, else most."""
    first = data[:65536].decode("utf-8", errors="ignore")
    headers = {sign: next(csv.reader(io.StringIO(first, newline=""), delimiter=sign), []) for sign in _SEPARATORS}
    return max(headers.items(), key=lambda item: (set(wanted) <= set(item[1]), len(item[1])))


def _parsed(data: bytes, wanted: Sequence[str], sign: str) -> pa.Table:
    """The wanted columns as texts; an ArrowInvalid says what is wrong with the file."""

    def parsed(block: int) -> pa.Table:
        return arrow_csv.read_csv(
            pa.BufferReader(data),
            read_options=arrow_csv.ReadOptions(block_size=block),
            # An empty line becomes a row of empty values: it is counted, and the rows after it keep their numbers.
            parse_options=arrow_csv.ParseOptions(delimiter=sign, newlines_in_values=True, ignore_empty_lines=False),
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


def _uneven_row(data: bytes, columns: int, sign: str) -> tuple[int, int] | None:
    """The first row of another number of columns: the line it begins in, and that number. None if all are even."""
    # Separators and line ends inside quotation marks become blanks, one for one: every row stays in its place.
    blanks = bytes.maketrans(sign.encode() + b"\r\n", b"   ")
    plain = _QUOTED[sign].sub(lambda value: value[0].translate(blanks), data)
    for row in _ROW.finditer(plain):
        if (there := row[0].count(sign.encode()) + 1) != columns:
            return data.count(b"\n", 0, row.start()) + 1, there
    return None


def _uneven(path: Path, line: int, there: int, columns: int) -> str:
    return f"{path}, line {line} has {there} column{'s' * (there > 1)}; the first line names {columns}."


def check_quotes(path: Path, data: bytes, sign: str = ",") -> None:
    """Refuse a value whose quotation mark never closes: it would swallow the rows after it without a word."""
    for value in _QUOTED[sign].finditer(data):
        if value["end"] is None:
            line = data.count(b"\n", 0, value.start()) + 1
            if value.end() == len(data):
                raise UsageError(f"{path}, line {line}: the quotation mark that opens a value there is never closed.")
            close = data.count(b"\n", 0, value.end()) + 1
            raise UsageError(
                f"{path}, line {close}: the value in quotation marks that begins in line {line} ends there and is not "
                f"followed by a {_SEPARATORS[sign]} or a new line; quotation marks inside a value are doubled."
            )


def _read_tsv(path: Path, wanted: Sequence[str]) -> list[pa.Array]:
    """Columns between tabs; a quotation mark is a character like any other."""
    lines = read_lines(path)
    header = lines[0].split("\t") if lines else []
    if not set(wanted) <= set(header) and lines and set(wanted) <= set(_header(lines[0].encode(), wanted)[1]):
        return _read_csv(path, wanted)  # it is called .tsv but has no tabs
    _check_columns(path, header, wanted)
    rows = [line.split("\t") for line in lines[1:]]
    for number, row in enumerate(rows, 2):
        if len(row) != len(header) and any(row):
            raise UsageError(_uneven(path, number, len(row), len(header)))
    places = [header.index(name) for name in wanted]
    return [pa.array([row[place] if any(row) else "" for row in rows], pa.large_string()) for place in places]


def _read_json(path: Path, wanted: Sequence[str]) -> list[pa.Array]:
    """An array of objects; or JSON lines, which are often called .json."""
    data = read_utf8(path)
    if not data.lstrip().startswith(b"["):
        hint = " A .json file is an array of objects, or has an object on each line."
        return _read_jsonl(path, wanted, hint)
    records = enumerate(_from_json(data.decode("utf-8"), str(path)), 1)
    return _of_records(path, wanted, ((f"{path}, record {number}", record) for number, record in records))


def _read_jsonl(path: Path, wanted: Sequence[str], hint: str = "") -> list[pa.Array]:
    lines = ((f"{path}, line {number}", line) for number, line in enumerate(read_lines(path), 1))
    empty = dict.fromkeys(wanted)
    records = ((where, _from_json(line, where, hint) if line.strip() else empty) for where, line in lines)
    return _of_records(path, wanted, records)


def _from_json(text: str, where: str, hint: str = "") -> Any:
    try:
        return json.loads(text)
    except RecursionError:
        raise UsageError(f"{where} is nested too deeply.{hint}") from None
    except ValueError as error:
        raise UsageError(f"{where} is not JSON ({error}).{hint}") from None


def _of_records(path: Path, wanted: Sequence[str], records: Iterable[tuple[str, Any]]) -> list[pa.Array]:
    """The columns of objects, each with the place where it is."""
    columns: list[list[str]] = [[] for _ in wanted]
    for where, row in records:
        if not isinstance(row, dict):
            raise UsageError(f'{where} is no JSON object such as {{"{wanted[0]}": ...}}.')
        _check_columns(path, list(row), wanted, where)
        for name, column in zip(wanted, columns, strict=True):
            if isinstance(row[name], dict | list):
                kind = "a list" if isinstance(row[name], list) else "an object"
                raise UsageError(f"{where}: {name!r} is {kind}; a text or number is needed.")
            value = "" if row[name] is None else str(row[name])
            if not value.isprintable() and _HALF.search(value):
                raise UsageError(f"{where}: {name!r} holds half a character, such as \\ud83d alone.")
            column.append(value)
    if not columns[0]:
        raise UsageError(f"{path} is empty.")
    return [pa.array(column, pa.large_string()) for column in columns]


def _read_parquet(path: Path, wanted: Sequence[str]) -> list[pa.Array]:
    with readable(path):
        if not path.is_file():
            raise FileNotFoundError
    try:
        header = parquet.read_schema(path).names
        _check_columns(path, header, wanted)
        table = parquet.read_table(path, columns=list(wanted))
    except (pa.ArrowException, OSError) as error:
        raise UsageError(f"{path} is no whole Parquet file ({_first_line(error)}).") from None
    return [_as_text(path, name, table[name]) for name in wanted]


def _as_text(path: Path, name: str, column: pa.ChunkedArray) -> pa.Array:
    try:
        return pc.fill_null(pc.cast(column, pa.large_string()).combine_chunks(), "")
    except pa.ArrowException:
        kind = str(column.type)[:60]
        raise UsageError(f"{path}: the column {name!r} has the type {kind}; it must hold texts or numbers.") from None


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

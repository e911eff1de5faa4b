"""Tables as sealed Parquet bytes, and metric rows as tables. The same table always gives the same bytes."""

import io
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

import pyarrow as pa
import pyarrow.parquet as pq

from attnlab.errors import ForeignFile, StoreError
from attnlab.files import BLANK_SEAL, names_in, read_sealed, seal, write_atomically
from attnlab.runs.documents import check_owner, is_number, is_step

MetricRow: TypeAlias = dict[str, float | int]
"""What was measured at one step: ``step`` and any other numbers. A metric that was not measured has no key."""


CELLS, METRIC_CELLS, UNPACKED = 2**28, 10**7, 2**33
"""The most values that are read of a table, and of one of metrics, and the most bytes they unpack to."""

_MARK = b"attnlab-"


def to_parquet(table: pa.Table, marks: Mapping[str, str] | None = None) -> bytes:
    """Sealed in the file's metadata, with a checksum on every page for other readers too; ``marks``, such as whose
    table it is, are in the metadata too.
    """
    ours = {_MARK + key.encode(): value.encode() for key, value in (marks or {}).items()}
    marked = table.replace_schema_metadata({**(table.schema.metadata or {}), **ours, b"seal": BLANK_SEAL.encode()})
    buffer = io.BytesIO()
    # Not "compliant", which would rename the elements of lists: the very same table comes back.
    pq.write_table(marked, buffer, compression="zstd", write_page_checksum=True, use_compliant_nested_type=False)
    return seal(buffer.getvalue())


def from_parquet(data: bytes) -> pa.Table:
    """The table ``to_parquet`` was given."""
    return _unpack(data, CELLS)[0]


def read_table(path: Path, run: str, step: int | None = None) -> tuple[pa.Table, dict[str, str]]:
    """A run's table, the fields of ``step`` or (None) its metrics, and its marks.

    A ForeignFile if it is another's; a StoreError if there is no file, or no such table in it.
    """
    data = read_sealed(path)
    if data is None:
        raise StoreError(f"{path} is missing.")
    try:
        table, marks = _unpack(data, METRIC_CELLS if step is None else CELLS)
    except (pa.ArrowException, OSError, ValueError, TypeError, KeyError, AttributeError, MemoryError) as fault:
        raise StoreError(f"{path} is no table that can be read ({str(fault).splitlines()[0][:80]}).") from None
    check_owner(path, marks.get("run"), run)
    if marks.get("step", str(step)) != str(step):
        raise ForeignFile(f"{path} belongs to step {marks['step'][:20]!r}: it was renamed or copied; delete it here.")
    return table, marks


def read_rows(path: Path, run: str) -> tuple[list[MetricRow], dict[str, str]]:
    """A run's metric rows by step, and their table's marks; faults as those of ``read_table``."""
    table, marks = read_table(path, run)
    rows = table_to_rows(table)
    if not are_rows(rows):
        raise StoreError(f"{path} holds no metrics: a step and numbers in each row.")
    return rows, marks


def _unpack(data: bytes, most: int) -> tuple[pa.Table, dict[str, str]]:
    """All is read in this thread. Else Arrow reads ahead in one of its own, which may be left holding memory of
    Python's when the interpreter ends, and the whole process aborts.
    """
    with pq.ParquetFile(pa.BufferReader(data), pre_buffer=False, page_checksum_verification=True) as file:
        about = file.metadata
        groups = [about.row_group(number) for number in range(about.num_row_groups)]
        parts = [group.column(number) for group in groups for number in range(group.num_columns)]
        cells = max(about.num_rows * about.num_columns, sum(part.num_values for part in parts))
        unpacked = sum(part.total_uncompressed_size for part in parts)
        if cells > most or unpacked > UNPACKED:
            raise ValueError(f"it claims {cells} values in {unpacked} bytes")
        table = file.read(use_threads=False)
    metadata = {key: value for key, value in table.schema.metadata.items() if key != b"seal"}
    marks = {key: metadata.pop(key).decode() for key in list(metadata) if key.startswith(_MARK)}
    own = table.replace_schema_metadata(metadata or None)
    return own, {key.removeprefix(_MARK).decode(): value for key, value in marks.items()}


def rows_to_table(rows: Iterable[Mapping[str, float | int]]) -> pa.Table:
    """Sorted by step; the column ``step`` first, the others by name; null where a row lacks the key."""
    ordered = sorted(rows, key=lambda row: row["step"])
    names = sorted({name for row in ordered for name in row}, key=lambda name: (name != "step", name))
    return pa.table({name: [row.get(name) for row in ordered] for name in names})


def table_to_rows(table: pa.Table) -> list[MetricRow]:
    """The rows ``rows_to_table`` was given, by step."""
    return [{name: value for name, value in row.items() if value is not None} for row in table.to_pylist()]


def joined(watched: Mapping[int, pa.Table]) -> pa.Table:
    """Tables of several steps as one, with the column ``step``, in order of steps."""
    parts = [
        table.add_column(0, "step", pa.array([step] * len(table), pa.int64()))
        for step, table in sorted(watched.items())
    ]
    return pa.concat_tables(parts)


def by_step(table: pa.Table) -> dict[int, pa.Table]:
    """The tables that `joined` was given."""
    if "step" not in table.column_names or not pa.types.is_int64(table.schema.field("step").type):
        raise StoreError("a table of what was watched has a column of steps")
    steps = table["step"].to_pylist()
    rest = table.drop_columns(["step"])
    rows: dict[int, list[int]] = {}
    for row, step in enumerate(steps):
        rows.setdefault(step, []).append(row)
    return {step: rest.take(places).combine_chunks() for step, places in rows.items()}


def are_rows(rows: object) -> bool:
    """Whether these are metric rows: a step in each, every one once, and numbers beside it."""
    if not isinstance(rows, list) or not all(isinstance(row, dict) and is_step(row.get("step")) for row in rows):
        return False
    numbers = all(is_number(value) for row in rows for value in row.values())
    return numbers and len({row["step"] for row in rows}) == len(rows)


def rows_lacking(recorded: Sequence[MetricRow], written: Sequence[MetricRow]) -> bool:
    """Whether ``written`` lacks recorded rows: no kill leaves it so, since metrics are written before a checkpoint."""
    return not {row["step"] for row in recorded} <= {row["step"] for row in written}


def rows_agree(recorded: Sequence[MetricRow], written: Sequence[MetricRow]) -> bool:
    """Whether the rows of the same steps are the same."""
    # Numbers are compared as texts, since NaN differs from itself.
    one, other = (
        {row["step"]: {k: repr(float(v)) for k, v in row.items()} for row in rows} for rows in (recorded, written)
    )
    return all(one[step] == other[step] for step in one.keys() & other.keys())


def fielded(marks: Mapping[str, str], rows: Iterable[MetricRow], kept: Collection[int]) -> set[int]:
    """The steps that must have fields, as the marks of the metrics' table say, or if they say nothing (in stores of
    earlier versions): all that were measured if any has fields, which ``kept`` are there.
    """
    if "run" not in marks:
        return {int(row["step"]) for row in rows} if kept else set()
    return {int(step) for step in marks.get("fields", "").split(",") if step.isdecimal() and len(step) < 20}


def steps_in(folder: Path) -> list[int]:
    """The steps whose fields are in a folder."""
    stems = [name.removesuffix(".parquet") for name in names_in(folder) if name.endswith(".parquet")]
    return sorted(int(stem) for stem in stems if stem.isdecimal() and stem == str(int(stem)))


def odd_ones(tables: Mapping[int, list[str]]) -> list[int]:
    """The steps whose fields have other columns than most; all, where no columns are those of most.

    >>> odd_ones({0: ["a"], 5: ["a"], 10: ["b"]}), odd_ones({0: ["a"], 5: ["b"]})
    ([10], [0, 5])
    """
    most = [columns for columns in tables.values() if 2 * [*tables.values()].count(columns) > len(tables)]
    return [step for step, columns in tables.items() if columns not in most]


def columns_of(table: pa.Table) -> list[str]:
    """Names and types."""
    return [f"{field.name}: {field.type}" for field in table.schema]


def bind_table(path: Path, run: str, step: int | None = None) -> None:
    """Write into a table of an earlier version which run and step it is of."""
    table, marks = read_table(path, run, step)
    write_atomically(path, to_parquet(table, {**marks, **owner(run, step)}))


def owner(run: str, step: int | None = None) -> dict[str, str]:
    """The marks that bind a table to its run, and to its step if it is one of fields."""
    return {"run": run} if step is None else {"run": run, "step": str(step)}

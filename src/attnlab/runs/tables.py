"""Tables as sealed Parquet bytes, and metric rows as tables. The same table always gives the same bytes."""

import io
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

import pyarrow as pa
import pyarrow.parquet as pq

from attnlab.files import BLANK_SEAL, seal

MetricRow: TypeAlias = dict[str, float | int]
"""What was measured at one step: ``step`` and any other numbers. A metric that was not measured has no key."""


def to_parquet(table: pa.Table) -> bytes:
    """Sealed in the file's metadata, with a checksum on every page for other readers too."""
    marked = table.replace_schema_metadata({**(table.schema.metadata or {}), b"seal": BLANK_SEAL.encode()})
    buffer = io.BytesIO()
    # Not "compliant", which would rename the elements of lists: the very same table comes back.
    pq.write_table(marked, buffer, compression="zstd", write_page_checksum=True, use_compliant_nested_type=False)
    return seal(buffer.getvalue())


def from_parquet(data: bytes) -> pa.Table:
    """The table ``to_parquet`` was given.

    All is read in this thread. Else Arrow reads ahead in one of its own, which may be left holding memory of Python's
    when the interpreter ends, and the whole process aborts.
    """
    with pq.ParquetFile(pa.BufferReader(data), pre_buffer=False, page_checksum_verification=True) as file:
        table = file.read(use_threads=False)
    metadata = {key: value for key, value in table.schema.metadata.items() if key != b"seal"}
    return table.replace_schema_metadata(metadata or None)


def rows_to_table(rows: Iterable[Mapping[str, float | int]]) -> pa.Table:
    """Sorted by step; the column ``step`` first, the others by name; null where a row lacks the key."""
    ordered = sorted(rows, key=lambda row: row["step"])
    names = sorted({name for row in ordered for name in row}, key=lambda name: (name != "step", name))
    return pa.table({name: [row.get(name) for row in ordered] for name in names})


def table_to_rows(table: pa.Table) -> list[MetricRow]:
    """The rows ``rows_to_table`` was given, by step."""
    return [{name: value for name, value in row.items() if value is not None} for row in table.to_pylist()]


def rows_agree(recorded: Sequence[MetricRow], written: Sequence[MetricRow]) -> bool:
    """Whether ``written`` has all recorded rows, as far as it goes: a run killed between two writes has it older."""
    # Numbers are compared as texts, since NaN differs from itself.
    one, other = (
        {row["step"]: {k: repr(float(v)) for k, v in row.items()} for row in rows} for rows in (recorded, written)
    )
    return all(other.get(step) == row for step, row in one.items() if step <= max(other, default=-1))

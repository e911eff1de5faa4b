"""The lexical table on disk: what each word translates to, in one direction or both, as Parquet and as TSV.

Columns: ``source``, ``target``, ``forward`` = Trans(target | source), ``reverse`` = Trans(source | target), of those
directions that were trained. Rows are the pairs of words that occur together, a source word's likeliest target first.
The empty word is NULL: as a source it explains target words that have none, as a target the other way round.
"""

import io
from collections.abc import Iterable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from attnlab.data.reading import readable
from attnlab.errors import UsageError
from attnlab.files import NEW, explained, move
from attnlab.theory.counts import NULL, CountTable, check_table
from attnlab.theory.links import Floats, distinct

FORMS = (".parquet", ".tsv")
_WORDS = pa.large_string()


@dataclass(frozen=True, eq=False)
class Lexicon:
    """Trans of one direction or both: ``forward`` has source words as inputs, ``reverse`` target words."""

    forward: CountTable | None
    reverse: CountTable | None

    def __post_init__(self) -> None:
        if self.forward is None and self.reverse is None:
            raise UsageError("A lexical table needs at least one direction.")

    @property
    def words(self) -> tuple[list[str], list[str]]:
        """Source words and target words by id, without NULL."""
        if self.forward is not None:
            return _without_null(self.forward.input_words), self.forward.output_words
        assert self.reverse is not None  # one of them is there
        return self.reverse.output_words, _without_null(self.reverse.input_words)

    def known_words(self) -> tuple[set[str], set[str]]:
        """Source words and target words that have an entry; a table may list more, such as those of a longer text."""
        source, target = self.words
        return _with_entries(self.forward, self.reverse, source), _with_entries(self.reverse, self.forward, target)

    def rows(self) -> pa.Table:
        """The rows of the file; a direction's value is missing where it has no entry."""
        source_words, target_words = self.words
        width = len(target_words) + 1  # NULL is after the words of its side
        entries: dict[str, tuple[NDArray[np.int64], Floats]] = {}
        if self.forward is not None:
            keys = self.forward.inputs.astype(np.int64) * width + self.forward.outputs
            entries["forward"] = keys, self.forward.values
        if self.reverse is not None:
            keys = self.reverse.outputs.astype(np.int64) * width + self.reverse.inputs
            entries["reverse"] = keys, self.reverse.values
        every = distinct([keys for keys, _ in entries.values()])
        columns = {}
        for name, (keys, values) in entries.items():
            columns[name] = np.full(len(every), np.nan)
            columns[name][np.searchsorted(every, keys)] = values
        sources, targets = np.divmod(every, width)
        likeliest = next(iter(columns.values()))
        order = np.lexsort((-np.nan_to_num(likeliest), sources))
        table = {
            "source": pa.array([*source_words, NULL], _WORDS).take(pa.array(sources[order])),
            "target": pa.array([*target_words, NULL], _WORDS).take(pa.array(targets[order])),
        }
        return pa.table(table | {name: pa.array(column[order], from_pandas=True) for name, column in columns.items()})

    def to_bytes(self, form: str) -> bytes:
        """The file's bytes, ``.parquet`` or ``.tsv``."""
        rows = self.rows()
        if form == ".parquet":
            buffer = io.BytesIO()
            pq.write_table(rows, buffer, compression="zstd")
            return buffer.getvalue()
        return _heading(rows) + _tsv_lines(rows)


def _heading(rows: pa.Table) -> bytes:
    return ("\t".join(rows.column_names) + "\n").encode("utf-8")


def _tsv_lines(rows: pa.Table) -> bytes:
    columns = [pc.fill_null(column.cast(_WORDS), pa.scalar("", _WORDS)).combine_chunks() for column in rows.columns]
    lines = pc.binary_join_element_wise(*columns, pa.scalar("\t", _WORDS)).to_pylist()
    return "".join(f"{line}\n" for line in lines).encode("utf-8")


def write_parts(path: Path, form: str, parts: Iterable[pa.Table]) -> None:
    """Write a table that comes in parts, of which one at a time is held; there whole or not at all."""
    new = path.with_name(NEW + path.name)
    with explained(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            with new.open("wb") as file, ExitStack() as open_writer:
                writer = None
                for part in parts:
                    if form == ".parquet":
                        if writer is None:
                            writer = open_writer.enter_context(pq.ParquetWriter(file, part.schema, compression="zstd"))
                        writer.write_table(part)
                    else:
                        if file.tell() == 0:
                            file.write(_heading(part))
                        file.write(_tsv_lines(part))
            move(new, path)
        finally:
            new.unlink(missing_ok=True)


def check_form(path: Path) -> str:
    """The ending of a table's path, if it is one we write; else a UsageError."""
    form = Path(path).suffix.lower()
    if form not in FORMS:
        raise UsageError(f"A lexical table is written as {' or '.join(FORMS)}, not as {path}.")
    return form


def read_lexicon(path: Path) -> Lexicon:
    """A table that was saved as Parquet."""
    with readable(Path(path)):
        data = Path(path).read_bytes()
    try:
        # In this thread, as `attnlab.runs.tables.from_parquet` says why.
        with pq.ParquetFile(pa.BufferReader(data), pre_buffer=False) as file:
            rows = file.read(use_threads=False)
    except (OSError, pa.ArrowException):
        raise UsageError(f"{path} is no lexical table: a Parquet file that --table-out wrote is needed.") from None
    try:
        return _lexicon(rows)
    except UsageError as fault:
        raise UsageError(f"{path} is no lexical table: {fault}") from None


def _lexicon(rows: pa.Table) -> Lexicon:
    names = rows.column_names
    values = [name for name in ("forward", "reverse") if name in names]
    strings = [
        name in names and rows[name].type == _WORDS and rows[name].null_count == 0 for name in ("source", "target")
    ]
    if not all(strings) or not values or any(rows[name].type != pa.float64() for name in values):
        there = ", ".join(f"{field.name} ({field.type})" for field in rows.schema)
        raise UsageError(
            f"It has the columns {there or 'none'}, but needs source and target (large_string, none missing) and "
            "forward, reverse or both (double)."
        )
    source, target = (_Words.of(rows[name]) for name in ("source", "target"))
    return Lexicon(
        _direction(source, target, rows["forward"].to_numpy()) if "forward" in values else None,
        _direction(target, source, rows["reverse"].to_numpy()) if "reverse" in values else None,
    )


@dataclass(frozen=True)
class _Words:
    """A column of words: ids in order of appearance, NULL's the last; ``words`` without NULL."""

    ids: NDArray[np.int64]
    words: list[str]

    @classmethod
    def of(cls, column: pa.ChunkedArray) -> "_Words":
        encoded = column.combine_chunks().dictionary_encode()
        ids, words = encoded.indices.to_numpy().astype(np.int64), encoded.dictionary.to_pylist()
        if NULL in words:
            null = words.index(NULL)
            ids = np.where(ids == null, len(words) - 1, ids - (ids > null))
            words = words[:null] + words[null + 1 :]
        return cls(ids, words)


def _direction(inputs: _Words, outputs: _Words, values: Floats) -> CountTable:
    """One direction's entries, sorted; NULL is an input word if it has any of them."""
    there = np.flatnonzero(~np.isnan(values))
    if len(there) == 0:
        raise UsageError("One of its directions has no values.")
    order = there[np.lexsort((outputs.ids[there], inputs.ids[there]))]
    null = int(inputs.ids[order[-1]]) == len(inputs.words)
    words = [*inputs.words, NULL] if null else inputs.words
    ids = [side.ids[order].astype(np.int32) for side in (inputs, outputs)]
    return check_table(CountTable(ids[0], ids[1], values[order], words, outputs.words))


def _with_entries(as_inputs: CountTable | None, as_outputs: CountTable | None, words: list[str]) -> set[str]:
    ids = as_inputs.inputs if as_inputs is not None else as_outputs.outputs if as_outputs is not None else ()
    there = np.zeros(len(words) + 1, dtype=bool)  # NULL comes after the words
    there[ids] = True
    return {word for word, known in zip(words, there[:-1].tolist(), strict=True) if known}


def _without_null(words: list[str]) -> list[str]:
    return words[:-1] if words and words[-1] == NULL else words

"""One run's folder in the store, which survives being killed, damaged or copied. How it looks: store.py."""

import json
import os
import warnings
from collections.abc import Collection, Container, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import pyarrow as pa
from torch.nn import Module

from attnlab import files
from attnlab.errors import Contradiction, DamagedCheckpoint, ForeignFile, StoreError, UsageError
from attnlab.runs import checkpoint as checkpoints
from attnlab.runs import documents, lock, tables
from attnlab.runs.documents import ENVIRONMENT, SPEC, STATUS, TIMING
from attnlab.runs.tables import MetricRow
from attnlab.runs.verify import CHECKPOINTS, FIELDS, METRICS, ODD, WATCHED, Inspection, Layouts

Status = Literal["running", "finished", "failed"]


class StoreWarning(UserWarning):
    """Something in the store is damaged, and work goes on without it."""


@dataclass(frozen=True)
class Measured:
    """What a run's metrics say: the rows by step, the steps that have fields, those of them that are not there, and
    whether a part was measured in another environment than the run began in.
    """

    rows: list[MetricRow]
    fields: set[int]
    lacking: set[int]
    inexact: bool = False


@dataclass(frozen=True)
class Fault:
    """One thing wrong with a run: which file, and a sentence that says what."""

    run_id: str
    path: Path
    sentence: str


class Run:
    """One run's folder. A handle costs nothing; the folder appears with the first write."""

    def __init__(self, root: Path, run_id: str) -> None:
        self.id = files.check_run_id(run_id)
        self.path = root / self.id
        self._lock = root / ".locks" / f"{self.id}.lock"
        self._checkpoints, self._fields = self.path / CHECKPOINTS, self.path / FIELDS
        home = Path(os.path.realpath(root))
        for folder in (self.path, self._checkpoints, self._fields, self._lock.parent):
            if Path(os.path.realpath(folder)) != home / folder.relative_to(root):
                raise UsageError(
                    f"{folder} is a link to another place; a run must lie in its store's folder itself: move it there, "
                    "or delete the link."
                )

    def __repr__(self) -> str:
        return f"Run({str(self.path)!r})"

    def locked(self, wait: float | None = None) -> AbstractContextManager[None]:
        """Hold the run for writing; reentrant. Another holder is waited for ``wait`` seconds, None being for ever;
        then RunBusy says who holds it."""
        return lock.locked(self._lock, self.id, wait)

    def is_locked(self) -> bool:
        """Whether anybody is writing the run now."""
        return lock.is_locked(self._lock)

    @contextmanager
    def _writing(self) -> Iterator[None]:
        with self.locked(), files.explained(self.path):
            yield

    def _recover(self) -> None:
        """Clear what a killed process left; the lock says that nobody else is writing."""
        checkpoints.recover_checkpoints(self._checkpoints, self.id)
        for leftover in _leftovers(self.path, self._fields):
            files.delete(leftover)

    # --- documents

    def exists(self) -> bool:
        return lock.is_plain(self.path / SPEC)

    def begin(self, spec: Mapping[str, files.Json], environment: Mapping[str, files.Json]) -> None:
        """Write both documents unless they are there, and clear what a killed process left.

        Another spec under this id is a StoreError; a damaged document is written anew, with a StoreWarning. Settings
        that the stored spec does not name are newer than it: the id says that they have their defaults.
        """
        with self._writing():
            self._recover()
            if self._document(ENVIRONMENT, "it is written anew") is None:
                began = any(files.is_there(self.path / name) for name in (SPEC, STATUS, METRICS, CHECKPOINTS))
                self._write_document(ENVIRONMENT, {**environment, **({documents.LOST: True} if began else {})})
            known = self._document(SPEC, "it is written anew")
            if known is None:  # written last: a run that exists has both
                self._write_document(SPEC, spec)
            elif not documents.names_alike(known, dict(spec)):
                raise StoreError(f"{self.path / SPEC} describes another run than the one asked for.")

    def spec(self) -> dict[str, files.Json]:
        return self._need_document(SPEC)

    def environment(self) -> dict[str, files.Json]:
        return documents.own_part(self._need_document(ENVIRONMENT))

    def began_in(self) -> dict[str, files.Json] | None:
        """The environment the run began in; None if that is lost: its document was damaged or deleted meanwhile."""
        document = self._need_document(ENVIRONMENT)
        return None if document.get(documents.LOST) else documents.own_part(document)

    def set_status(self, status: Status, step: int, message: str = "") -> None:
        self._write_document(STATUS, {"status": status, "step": step, "message": message})

    def status(self) -> dict[str, files.Json] | None:
        """``status``, ``step`` and ``message``; None if they are not there, or damaged (with a StoreWarning)."""
        return self._document(STATUS, "the run's status is unknown")

    def write_timing(self, document: Mapping[str, files.Json]) -> None:
        self._write_document(TIMING, document)

    def timing(self) -> dict[str, files.Json]:
        """Empty if it is not there, or damaged (with a StoreWarning)."""
        return self._document(TIMING, "the times are unknown") or {}

    def _write_document(self, name: str, document: Mapping[str, files.Json]) -> None:
        with self._writing():
            files.write_atomically(self.path / name, documents.to_bytes(name, document, self.id))

    def _need_document(self, name: str) -> dict[str, files.Json]:
        document = documents.read(self.path / name, self.id)
        if document is None:
            raise StoreError(f"{self.path / name} is missing.")
        return document

    def _document(self, name: str, consequence: str) -> dict[str, files.Json] | None:
        """None if it is not there, or damaged; then a StoreWarning says so and what follows."""
        try:
            document = documents.read(self.path / name, self.id)
        except StoreError as fault:
            _warn(fault, consequence)
            return None
        return None if document is None else documents.own_part(document)

    # --- tables

    def write_metrics(
        self, rows: Sequence[Mapping[str, float | int]], fields: Collection[int] = (), *, inexact: bool = False
    ) -> None:
        """All rows so far, each with its ``step``; the same rows give the same bytes.

        ``fields``: the steps whose fields were written. ``inexact``: see `Measured`.
        """
        marks = tables.owner(self.id) | ({"inexact": "yes"} if inexact else {})
        if fields:
            marks["fields"] = ",".join(map(str, sorted(fields)))
        with self._writing():
            files.write_atomically(self.path / METRICS, tables.to_parquet(tables.rows_to_table(rows), marks))

    def metrics(self) -> list[MetricRow]:
        """The rows by step; empty if there are none, or they are damaged (with a StoreWarning)."""
        return self.measured().rows

    def whole_metrics(self) -> list[MetricRow]:
        """The same where something depends on them: damaged or missing ones are a StoreError that names the file."""
        return self._read_metrics(checkpoints.newest_record(self._checkpoints, self.id))[0]

    def measured(self) -> Measured:
        """As `metrics`; another run's are a ForeignFile; denied by the newest checkpoint, a Contradiction."""
        rows: list[MetricRow] = []
        marks: dict[str, str] = {}
        newest = checkpoints.newest_record(self._checkpoints, self.id)
        if files.is_there(self.path / METRICS) or newest[1].get("metrics"):
            try:
                rows, marks = self._read_metrics(newest)
            except (ForeignFile, Contradiction):
                raise
            except StoreError as fault:
                _warn(fault, "when the run goes on, the checkpoint gives its metrics back")
        kept = set(self.field_steps())
        expected = tables.fielded(marks, rows, kept) if rows else kept
        return Measured(rows, expected, expected - kept, "inexact" in marks)

    def _read_metrics(self, newest: tuple[Path, Mapping[str, files.Json]]) -> tuple[list[MetricRow], dict[str, str]]:
        """Rows and marks; a Contradiction where the newest checkpoint, read before, has recorded other rows."""
        metrics, (path, record) = self.path / METRICS, newest
        rows, marks = tables.read_rows(metrics, self.id)
        recorded = record.get("metrics", [])
        if not tables.rows_agree(recorded, rows):
            altered = "one of them was altered; delete that one"
            raise Contradiction(f"{metrics} disagrees with the rows in {path}: {altered}.")
        if tables.rows_lacking(recorded, rows):
            raise StoreError(f"{metrics} lacks rows that {path} has.")
        return rows, marks

    def write_fields(self, step: int, table: pa.Table) -> None:
        with self._writing():
            data = tables.to_parquet(table, tables.owner(self.id, step))
            files.write_atomically(self._fields / f"{step}.parquet", data)

    def take_fields(self, step: int, data: bytes) -> None:
        """The fields of a step as another store's file has them, which `fields` there has read."""
        with self._writing():
            files.write_atomically(self._fields / f"{step}.parquet", data)

    def fields(self, step: int) -> pa.Table:
        """The fields written at a step."""
        return tables.read_table(self._fields / f"{step}.parquet", self.id, step)[0]

    def field_steps(self) -> list[int]:
        """The steps whose fields are there."""
        return tables.steps_in(self._fields)

    def write_watched(self, watched: Mapping[int, pa.Table], example: Sequence[str]) -> None:
        """What was seen of one example, by step; the same gives the same bytes."""
        data = tables.to_parquet(tables.joined(watched), tables.owner(self.id) | {"example": json.dumps(example)})
        with self._writing():
            files.write_atomically(self.path / WATCHED, data)

    def watched(self, example: Sequence[str]) -> dict[int, pa.Table]:
        """The same; empty if nothing is there, or of another example, or damaged (with a StoreWarning)."""
        if not files.is_there(self.path / WATCHED):
            return {}
        try:
            table, marks = tables.read_table(self.path / WATCHED, self.id)
            if marks.get("example") == json.dumps(example):
                return tables.by_step(table)
        except ForeignFile:
            raise
        except StoreError as fault:
            _warn(fault, "what was watched is read again when the run is trained again")
        return {}

    # --- checkpoints

    def save(self, checkpoint: checkpoints.Checkpoint, *, keep: int = 2, pinned: Container[int] = ()) -> None:
        """Write a checkpoint, atomically; then drop those older than the last ``keep``, except the pinned steps."""
        if keep < 1:
            raise UsageError(f"keep is {keep}, but at least 1 checkpoint has to be kept.")
        with self._writing():
            self._recover()
            checkpoints.save_checkpoint(self._checkpoints, checkpoint, self.id)
            kept = [step for step in self.steps() if step <= checkpoint.step][-keep:]
            for place in self._places():
                if kept and int(place.name) < kept[0] and int(place.name) not in pinned:
                    with suppress(OSError):  # open in a reader on Windows, or not ours: the next save tries again
                        checkpoints.discard_checkpoint(place)

    def steps(self) -> list[int]:
        """The steps with a checkpoint that looks whole, by its manifest and its files' sizes."""
        return [int(place.name) for place in self._places() if checkpoints.looks_whole(place, self.id)]

    def kept(self) -> list[int]:
        """The same where someone is to choose among them: one that is damaged is refused, not passed over."""
        for place in self._places():
            if not checkpoints.looks_whole(place, self.id) and files.is_there(place):
                checkpoints.load_checkpoint(place, self.id)
        return self.steps()

    def load(self, step: int) -> checkpoints.Checkpoint:
        """One checkpoint, verified; a DamagedCheckpoint names the file and what is wrong with it."""
        place = self._checkpoints / str(step)
        if place not in self._places():
            raise StoreError(f"Run {self.id} has no checkpoint of step {step}; it has {self.steps() or 'none'}.")
        return checkpoints.load_checkpoint(place, self.id)

    def load_into(self, network: Module, step: int) -> None:
        """Give ``network`` the weights of a checkpoint; a StoreError names the first tensor that does not fit it."""
        weights = self.load(step).weights
        if wrong := checkpoints.fault_in_tensors(weights, network.state_dict(), {}, {}, owner=""):
            path = self._checkpoints / str(step) / checkpoints.TENSORS
            raise StoreError(checkpoints.unfitting(path, self.id, wrong))
        network.load_state_dict(weights)

    def latest(self, at_most: int | None = None) -> checkpoints.Checkpoint | None:
        """The newest whole checkpoint, up to a step if asked; damaged ones are passed over with a StoreWarning."""
        newest, damage = self._newest(at_most)
        for fault in damage:
            _warn(fault, f"the checkpoint of step {newest.step} is used" if newest else "no whole checkpoint is left")
        return newest

    def _newest(self, at_most: int | None = None) -> tuple[checkpoints.Checkpoint | None, list[DamagedCheckpoint]]:
        damage: dict[Path, DamagedCheckpoint] = {}
        while places := [
            place for place in self._places() if place not in damage and (at_most is None or int(place.name) <= at_most)
        ]:
            try:
                return checkpoints.load_checkpoint(places[-1], self.id), list(damage.values())
            except DamagedCheckpoint as fault:
                if files.is_there(places[-1]):  # else a writer dropped it meanwhile: look again
                    damage[places[-1]] = fault
        return None, list(damage.values())

    def _places(self) -> list[Path]:
        return checkpoints.places_in(self._checkpoints)

    def mend(self) -> bool:
        """Take damaged checkpoints and fields away, each with a StoreWarning, so that training makes them again.

        Whether there were any. Another run's are a ForeignFile: they are somebody's to look at.
        """
        if not files.is_there(self.path):
            return False
        damage = 0
        with self._writing():
            for place in self._places():
                try:
                    checkpoints.load_checkpoint(place, self.id)
                except DamagedCheckpoint as fault:
                    _warn(fault, "the run is trained again from the checkpoint before")
                    with files.explained(place):
                        checkpoints.discard_checkpoint(place)
                    damage += 1
            columns = {}
            for step in self.field_steps():
                try:
                    columns[step] = tables.columns_of(self.fields(step))
                except ForeignFile:
                    raise
                except StoreError as fault:
                    damage += self._drop_fields(step, fault)
            for step in tables.odd_ones(columns):
                damage += self._drop_fields(step, StoreError(f"{self._fields / f'{step}.parquet'} {ODD}."))
        return damage > 0

    def _drop_fields(self, step: int, fault: StoreError) -> int:
        files.delete(self._fields / f"{step}.parquet")
        if files.is_there(self._fields / f"{step}.parquet"):
            raise fault
        _warn(fault, "they are measured again")
        return 1

    # --- housekeeping

    def verify(self, layouts: Layouts | None = None) -> list[Fault]:
        """Everything wrong with the run's files, which are all read; nothing is changed.

        ``layouts``: what is known of networks, and comes to be known, for the next run's verification.
        """
        seen = self._inspect(layouts)
        if seen.unbound:
            some = "one file does" if len(seen.unbound) == 1 else f"{len(seen.unbound)} files do"
            sentence = f"{self.path} is unbound: {some} not say which run they are of, as in earlier versions; "
            seen.faults.append((self.path, sentence + "`attnlab store verify --bind` writes it into them."))
        return [Fault(self.id, path, sentence) for path, sentence in seen.faults]

    def bind(self) -> int:
        """Write into every file of an earlier version which run it is of, if nothing else is wrong with the run; how
        many files there were.
        """
        with self._writing():
            seen = self._inspect()
            writers = [] if seen.faults else [*seen.unbound.values()]
            for write in writers:
                write()
        return len(writers)

    def _inspect(self, layouts: Layouts | None = None) -> Inspection:
        seen = Inspection(self.path, self._lock, {} if layouts is None else layouts)
        if not self.is_locked():
            with suppress(StoreError):
                seen.faults += [
                    (path, f"{path} was left by a process that was killed; the next save removes it.")
                    for path in _leftovers(self.path, self._checkpoints, self._fields)
                ]
        return seen

    def size(self) -> int:
        """Bytes of all files."""
        total = 0
        for folder, _, names in os.walk(self.path):
            for name in names:
                with suppress(OSError):  # dropped by a writer meanwhile, or not to be looked at
                    total += Path(folder, name).lstat().st_size
        return total


def _leftovers(*folders: Path) -> list[Path]:
    return [
        folder / name
        for folder in folders
        for name in files.names_in(folder)
        if name.startswith((files.NEW, files.OLD))
    ]


def _warn(fault: StoreError, consequence: str) -> None:
    warnings.warn(f"{str(fault).removesuffix('.')}; {consequence}.", StoreWarning, stacklevel=3)

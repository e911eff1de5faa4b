"""The run store: a folder of runs, each a folder that survives being killed, damaged or copied.

    <root>/<run id>/spec.json            what was asked for
                    environment.json     versions, processor and threads it began with
                    status.json          running, finished or failed, and at which step
                    timing.json          clock times, which are nowhere else
                    metrics.parquet      one row an evaluation
                    checkpoints/<step>/  see checkpoint.py
                    fields/<step>.parquet
    <root>/.locks/                       see lock.py

Every file is sealed (see files.py) or listed with its sha256 in a sealed manifest. Writers hold the run's lock;
readers need none, since every change is one rename.
"""

import difflib
import os
import shutil
import warnings
from collections.abc import Container, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import pyarrow as pa

from attnlab import files
from attnlab.errors import DamagedCheckpoint, StoreError, UsageError
from attnlab.runs import checkpoint as checkpoints
from attnlab.runs import lock
from attnlab.runs.tables import MetricRow, from_parquet, rows_agree, rows_to_table, table_to_rows, to_parquet

Status = Literal["running", "finished", "failed"]


class StoreWarning(UserWarning):
    """Something in the store is damaged, and work goes on without it."""


@dataclass(frozen=True)
class Problem:
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
        self._checkpoints = self.path / "checkpoints"
        self._fields = self.path / "fields"
        home = Path(os.path.realpath(root))
        for folder in (self.path, self._checkpoints, self._fields, self._lock.parent):
            if Path(os.path.realpath(folder)) != home / folder.relative_to(root):
                raise UsageError(f"{folder} is a link to another place; a run must lie in its store's folder itself.")

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
        checkpoints.recover_checkpoints(self._checkpoints)
        for leftover in _leftovers(self.path, self._fields):
            leftover.unlink()

    # --- documents

    def exists(self) -> bool:
        return (self.path / "spec.json").is_file()

    def begin(self, spec: Mapping[str, files.Json], environment: Mapping[str, files.Json]) -> None:
        """Write both documents unless they are there, and clear what a killed process left.

        Another spec under this id is a StoreError; a damaged document is written anew, with a StoreWarning. Settings
        that the stored spec does not name are newer than it: the id says that they have their defaults.
        """
        with self._writing():
            self._recover()
            if self._document("environment.json", "it is written anew") is None:
                self._write_document("environment.json", environment)
            known = self._document("spec.json", "it is written anew")
            if known is None:  # written last: a run that exists has both
                self._write_document("spec.json", spec)
            elif not _names_alike(known, dict(spec)):
                raise StoreError(f"{self.path / 'spec.json'} describes another run than the one asked for.")

    def spec(self) -> dict[str, files.Json]:
        return files.from_sealed_json(files.need_sealed(self.path / "spec.json"))

    def environment(self) -> dict[str, files.Json]:
        return files.from_sealed_json(files.need_sealed(self.path / "environment.json"))

    def set_status(self, status: Status, step: int, message: str = "") -> None:
        self._write_document("status.json", {"status": status, "step": step, "message": message})

    def status(self) -> dict[str, files.Json] | None:
        """``status``, ``step`` and ``message``; None if they are not there, or damaged (with a StoreWarning)."""
        return self._document("status.json", "the run's status is unknown")

    def write_timing(self, document: Mapping[str, files.Json]) -> None:
        self._write_document("timing.json", document)

    def timing(self) -> dict[str, files.Json]:
        """Empty if it is not there, or damaged (with a StoreWarning)."""
        return self._document("timing.json", "the times are unknown") or {}

    def _write_document(self, name: str, document: Mapping[str, files.Json]) -> None:
        with self._writing():
            files.write_atomically(self.path / name, files.to_sealed_json(dict(document)))

    def _document(self, name: str, consequence: str) -> dict[str, files.Json] | None:
        data = self._read(name, consequence)
        return None if data is None else files.from_sealed_json(data)

    def _read(self, name: str, consequence: str) -> bytes | None:
        """None if it is not there, or damaged; then a StoreWarning says so and what follows."""
        try:
            return files.read_sealed(self.path / name)
        except StoreError as fault:
            _warn(fault, consequence)
            return None

    # --- tables

    def write_metrics(self, rows: Sequence[Mapping[str, float | int]]) -> None:
        """All rows so far, each with its ``step``; the same rows give the same bytes."""
        with self._writing():
            files.write_atomically(self.path / "metrics.parquet", to_parquet(rows_to_table(rows)))

    def metrics(self) -> list[MetricRow]:
        """The rows by step; empty if there are none, or they are damaged (with a StoreWarning)."""
        data = self._read("metrics.parquet", "when the run goes on, the checkpoint gives its metrics back")
        return [] if data is None else table_to_rows(from_parquet(data))

    def write_fields(self, step: int, table: pa.Table) -> None:
        with self._writing():
            files.write_atomically(self._fields / f"{step}.parquet", to_parquet(table))

    def fields(self, step: int) -> pa.Table:
        """The fields written at a step."""
        return from_parquet(files.need_sealed(self._fields / f"{step}.parquet"))

    def field_steps(self) -> list[int]:
        """The steps whose fields are there."""
        return sorted(int(path.stem) for path in self._fields.glob("*.parquet") if path.stem.isdecimal())

    # --- checkpoints

    def save(self, checkpoint: checkpoints.Checkpoint, *, keep: int = 2, pinned: Container[int] = ()) -> None:
        """Write a checkpoint, atomically; then drop those older than the last ``keep``, except the pinned steps."""
        if keep < 1:
            raise UsageError(f"keep is {keep}, but at least 1 checkpoint has to be kept.")
        with self._writing():
            self._recover()
            checkpoints.save_checkpoint(self._checkpoints, checkpoint)
            oldest_kept = [step for step in self.steps() if step <= checkpoint.step][-keep:][0]
            for place in self._places():
                if int(place.name) < oldest_kept and int(place.name) not in pinned:
                    with suppress(PermissionError):  # open in a reader on Windows: the next save tries again
                        checkpoints.discard_checkpoint(place)

    def steps(self) -> list[int]:
        """The steps with a checkpoint that looks whole, by its manifest and its files' sizes."""
        return [int(place.name) for place in self._places() if checkpoints.looks_whole(place)]

    def load(self, step: int) -> checkpoints.Checkpoint:
        """One checkpoint, verified; a DamagedCheckpoint names the file and what is wrong with it."""
        place = self._checkpoints / str(step)
        if place not in self._places():
            raise StoreError(f"Run {self.id} has no checkpoint of step {step}; it has {self.steps() or 'none'}.")
        return checkpoints.load_checkpoint(place)

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
                return checkpoints.load_checkpoint(places[-1]), list(damage.values())
            except DamagedCheckpoint as fault:
                if places[-1].exists():  # else a writer dropped it meanwhile: look again
                    damage[places[-1]] = fault
        return None, list(damage.values())

    def _places(self) -> list[Path]:
        """The checkpoints' folders by step, whole or not."""
        names = (path.name for path in self._checkpoints.glob("[0-9]*"))
        steps = sorted(int(name) for name in names if name.isdecimal() and name == str(int(name)))
        return [self._checkpoints / str(step) for step in steps]

    # --- housekeeping

    def verify(self) -> list[Problem]:
        """Everything wrong with the run's files, which are all read; nothing is changed."""
        faults: list[tuple[Path, str]] = []
        needed = [self.path / "spec.json", self.path / "environment.json"]
        optional = [self.path / "status.json", self.path / "timing.json"]
        optional += [self._fields / f"{step}.parquet" for step in self.field_steps()]
        for path in needed + optional:
            try:
                files.need_sealed(path) if path in needed else files.read_sealed(path)
            except StoreError as fault:
                faults.append((path, str(fault)))
        for place in self._places():
            damaged = checkpoints.faults_in_checkpoint(place)
            if place.exists():  # else a writer dropped it meanwhile
                faults += damaged
        newest, _ = self._newest()
        faults += self._faults_in_metrics(newest.record.get("metrics", []) if newest else [])
        if not self.is_locked():
            faults += [
                (path, f"{path} was left by a process that was killed; the next save removes it.")
                for path in _leftovers(self.path, self._checkpoints, self._fields)
            ]
        return [Problem(self.id, path, sentence) for path, sentence in faults]

    def _faults_in_metrics(self, rows: list[MetricRow]) -> list[tuple[Path, str]]:
        """Against the rows in the newest checkpoint's record."""
        path = self.path / "metrics.parquet"
        try:
            data = files.need_sealed(path) if rows else files.read_sealed(path)
        except StoreError as fault:
            return [(path, str(fault))]
        if data is None or rows_agree(rows, table_to_rows(from_parquet(data))):
            return []
        return [(path, f"{path} disagrees with the rows in the newest checkpoint.")]

    def size(self) -> int:
        """Bytes of all files."""
        total = 0
        for folder, _, names in os.walk(self.path):
            for name in names:
                with suppress(FileNotFoundError):  # dropped by a writer meanwhile
                    total += Path(folder, name).lstat().st_size
        return total


class RunStore:
    """A folder of runs. Nothing is created until the first write."""

    def __init__(self, root: Path | str) -> None:
        self.root = files.as_path(root, "The folder of a run store")

    def run(self, run_id: str) -> Run:
        """A handle on a run that is there or may come to be; a bad id is a UsageError."""
        return Run(self.root, run_id)

    def existing(self, run_id: str) -> Run:
        """A run that is there, by its id or by the first characters of it, at least 4 and fitting one run only."""
        ids = self.ids()
        fitting = [known for known in ids if known.startswith(run_id)] if len(run_id) >= 4 else []
        if run_id in ids or len(fitting) == 1:
            return self.run(run_id if run_id in ids else fitting[0])
        if fitting:
            raise UsageError(f"{run_id!r} begins the ids of {len(fitting)} runs: {_some(fitting)}.")
        if not ids:
            raise UsageError(f"There is no run {run_id!r}: the store {self.root} has no runs.")
        named = difflib.get_close_matches(run_id, ids, n=5, cutoff=0.5) or ids
        raise UsageError(f"There is no run {run_id!r} in the store {self.root}; it has {_some(named)}.")

    def runs(self) -> list[Run]:
        """The runs whose spec can be read, by id."""
        readable = []
        for run in map(self.run, self.ids()):
            with suppress(StoreError):
                run.spec()
                readable.append(run)
        return readable

    def remove(self, run_id: str) -> None:
        """Take a run away, in one rename, and then delete its files. A run in use is a RunBusy."""
        run = self.existing(run_id)
        with run.locked(wait=0), files.explained(run.path):
            files.move(run.path, self.root / (files.OLD + run.id))
        for stale in self._removed():  # an interrupted removal's too
            shutil.rmtree(stale, ignore_errors=True)
            if stale.exists():
                raise StoreError(f"Run {run.id} is removed, but {stale} could not be deleted; delete it by hand.")

    def verify(self) -> list[Problem]:
        """Everything wrong with any run, those with an unreadable spec included."""
        problems = [problem for run_id in self.ids() for problem in self.run(run_id).verify()]
        for stale in self._removed():
            sentence = f"{stale} was left by a removal that was interrupted; the next removal deletes it."
            problems.append(Problem(stale.name.removeprefix(files.OLD), stale, sentence))
        return problems

    def ids(self) -> list[str]:
        """Of all runs' folders, those without a readable spec included."""
        return sorted(path.name for path in self.root.glob("*") if files.is_run_id(path.name) and path.is_dir())

    def _removed(self) -> list[Path]:
        return sorted(self.root.glob(files.OLD + "*"))


def _names_alike(known: files.Json, asked: files.Json) -> bool:
    """Whether all that ``known`` names has the same value in ``asked``."""
    if isinstance(known, dict) and isinstance(asked, dict):
        return all(name in asked and _names_alike(value, asked[name]) for name, value in known.items())
    return files.to_json(known) == files.to_json(asked)


def _leftovers(*folders: Path) -> list[Path]:
    return sorted(path for folder in folders for prefix in (files.NEW, files.OLD) for path in folder.glob(prefix + "*"))


def _some(names: list[str], most: int = 8) -> str:
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


def _warn(fault: StoreError, consequence: str) -> None:
    warnings.warn(f"{str(fault).removesuffix('.')}; {consequence}.", StoreWarning, stacklevel=3)

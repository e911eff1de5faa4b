"""Everything that can be wrong with a run's folder: damaged, missing, left over, strange, or another run's."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from torch import Tensor

from attnlab import files
from attnlab.errors import StoreError
from attnlab.families.registry import build_problem
from attnlab.runs import checkpoint as checkpoints
from attnlab.runs import documents, lock, tables
from attnlab.runs.documents import ENVIRONMENT, SPEC, STATUS, TIMING
from attnlab.runs.spec import RunSpec, is_known, read_stored

Fault = tuple[Path, str]
Layouts = dict[str, tuple[dict[str, Tensor], dict[str, Tensor]] | None]
"""By kind of run, or one run's id: the network's tensors and the trained ones, by name; None where there is none."""

METRICS, CHECKPOINTS, FIELDS, WATCHED = "metrics.parquet", "checkpoints", "fields", "watched.parquet"
CONTENTS = "|".join(map(re.escape, (SPEC, ENVIRONMENT, STATUS, TIMING, METRICS, CHECKPOINTS, FIELDS, WATCHED)))
CHECKPOINT = "|".join(map(re.escape, (checkpoints.TENSORS, checkpoints.RECORD, checkpoints.MANIFEST)))
STEP = "(0|[1-9][0-9]*)"
"""Names in a run's folder, in a checkpoint's, and in those of all checkpoints and fields."""
IGNORED = (".DS_Store", "Thumbs.db", "desktop.ini")
"""What systems put into any folder."""
ODD = "does not have the columns that the fields of other steps have"
LARGE = 10**8
"""The most elements of a network that is built in order to look at its tensors' names."""

_OF_A_SPEC = re.compile(r"[0-9a-f]{16}")


class Inspection:
    """One reading of all of a run's files. ``faults``: what is wrong. ``unbound``: files that do not say which run they
    are of, each with what writes it again so that it does.
    """

    def __init__(self, folder: Path, lock_file: Path, layouts: Layouts) -> None:
        self.folder, self.run, self.layouts = folder, folder.name, layouts
        self.faults: list[Fault] = []
        self.unbound: dict[Path, Callable[[], None]] = {}
        self.records: dict[str, dict[str, Any]] = {}  # by step
        self.documents = {name: self._document(folder / name) for name in (SPEC, ENVIRONMENT, STATUS, TIMING)}
        self.spec = self._spec()
        self.fielded: set[int] = set()
        self._guarded(folder / CHECKPOINTS, self._checkpoints)
        self._guarded(folder / METRICS, self._metrics)
        self._guarded(folder / FIELDS, self._fields)
        self._guarded(folder / WATCHED, self._watched)
        self._guarded(folder, partial(self._strange, folder, CONTENTS))
        with suppress(StoreError):  # named already
            self._status()
        with suppress(StoreError):
            self._strange(folder / CHECKPOINTS, STEP)
            self._strange(folder / FIELDS, STEP + "[.]parquet")
        for path in (lock_file, lock_file.with_suffix(".holder")):
            if lock.is_odd(path):
                self._fault(path, f"{path} is no plain file; delete it.")

    def _fault(self, path: Path, sentence: str) -> None:
        self.faults.append((path, sentence))

    def _guarded(self, path: Path, part: Callable[[], None]) -> None:
        try:
            part()
        except StoreError as fault:
            self._fault(path, str(fault))

    def _document(self, path: Path) -> dict[str, Any] | None:
        try:
            document = documents.read(path, self.run)
        except StoreError as fault:
            self._fault(path, str(fault))
            return None
        if document is None:
            if path.name in (SPEC, ENVIRONMENT):
                self._fault(path, f"{path} is missing.")
        elif path.name != SPEC and documents.RUN not in document:
            data = documents.to_bytes(path.name, document, self.run)
            self.unbound[path] = partial(files.write_atomically, path, data)
        return document

    def _spec(self) -> RunSpec | None:
        document, path = self.documents[SPEC], self.folder / SPEC
        spec = None if document is None else read_stored(document, self.run)
        if document is not None and spec is None and _OF_A_SPEC.fullmatch(self.run) and is_known(document):
            self._fault(path, f"{path} describes another run than {self.run}: it was copied or altered.")
        return spec

    def _checkpoints(self) -> None:
        folder = self.folder / CHECKPOINTS
        for place in checkpoints.places_in(folder):
            try:
                loaded = checkpoints.load_checkpoint(place, self.run)
            except StoreError:
                if files.is_there(place):  # else a writer dropped it meanwhile
                    self.faults += checkpoints.faults_in_checkpoint(place, self.run)
                continue
            self.records[place.name] = loaded.record
            layout = self._layout(sum(value.numel() for value in loaded.tensors.values()))
            if self.spec and layout and (name := self._wrong(loaded.tensors, layout)):
                path = place / checkpoints.TENSORS
                self._fault(path, checkpoints.unfitting(path, self.run, name))
            if not checkpoints.is_bound(place):
                self.unbound[place] = partial(checkpoints.bind_checkpoint, place, self.run)
            self._guarded(place, partial(self._strange, place, CHECKPOINT, leftovers=True))

    def _wrong(self, tensors: dict[str, Tensor], layout: tuple[dict[str, Tensor], dict[str, Tensor]]) -> str | None:
        assert self.spec is not None
        return checkpoints.fault_in_tensors(tensors, *layout, self.spec.optimiser.STATE)

    def _layout(self, elements: int) -> tuple[dict[str, Tensor], dict[str, Tensor]] | None:
        """None where the network cannot be built here: its corpus is elsewhere, it is code of a stranger's, or a
        stranger's spec asks for one that is far larger than what the checkpoint holds.
        """
        if self.spec is None:
            return None
        kind = self.spec.unseeded().id
        model, task = (max(_numbers(part.model_dump()), default=0) for part in (self.spec.model, self.spec.task))
        if self.spec.task.kind == "own" or elements > LARGE or max(model**2, task) > 100 * elements + 10**6:
            self.layouts[self.run] = None  # of this run alone: others of its kind are checked
            return None
        if kind not in self.layouts:
            self.layouts[kind] = None
            with suppress(Exception):  # whatever a stranger's spec leads to: the other checks remain
                problem = build_problem(self.spec)
                named = dict(problem.model.state_dict()), dict(problem.trained_parameters())
                self.layouts[kind] = _outlines(named[0]), _outlines(named[1])
        return self.layouts[kind]

    def _metrics(self) -> None:
        """Against the rows in the checkpoints' records; those that it marks as having fields must have them."""
        path = self.folder / METRICS
        recorded = {step: record["metrics"] for step, record in self.records.items() if record.get("metrics")}
        if not recorded and not files.is_there(path):
            return
        rows, marks = tables.read_rows(path, self.run)
        self.fielded = tables.fielded(marks, rows, tables.steps_in(self.folder / FIELDS))
        for what, is_wrong in (("lacks", tables.rows_lacking), ("disagrees with the", _disagree)):
            if wrong := [step for step, those in recorded.items() if is_wrong(those, rows)]:
                which = "newest checkpoint" if wrong[-1] == [*self.records][-1] else f"checkpoint of step {wrong[-1]}"
                self._fault(path, f"{path} {what} rows in the {which}.")
        if "run" not in marks:
            self.unbound[path] = partial(tables.bind_table, path, self.run)

    def _fields(self) -> None:
        folder = self.folder / FIELDS
        steps, columns = tables.steps_in(folder), {}
        for step in steps:
            path = folder / f"{step}.parquet"
            try:
                table, marks = tables.read_table(path, self.run, step)
            except StoreError as fault:
                self._fault(path, str(fault))
                continue
            columns[step] = tables.columns_of(table)
            if "run" not in marks:
                self.unbound[path] = partial(tables.bind_table, path, self.run, step)
        for step in tables.odd_ones(columns):
            path = folder / f"{step}.parquet"
            self._fault(path, f"{path} {ODD}.")
        for step in sorted(self.fielded - set(steps)):
            path = folder / f"{step}.parquet"
            self._fault(path, f"{path} is missing; training the run again measures it again.")

    def _watched(self) -> None:
        if files.is_there(self.folder / WATCHED):
            tables.by_step(tables.read_table(self.folder / WATCHED, self.run)[0])

    def _status(self) -> None:
        """Read again, after all else: a run that goes on meanwhile says so before it drops anything."""
        path = self.folder / STATUS
        status = documents.read(path, self.run)
        if status is None:
            if any("inexact" in record for record in self.records.values()):  # saved by training, which says so first
                self._fault(path, f"{path} is missing; training the run again writes it.")
        elif status["status"] == "finished":
            place = self.folder / CHECKPOINTS / str(status["step"])
            if place not in checkpoints.places_in(place.parent):
                self._fault(place, f"{place} is missing, though the run is finished there; training it again makes it.")

    def _strange(self, folder: Path, expected: str, leftovers: bool = False) -> None:
        """``leftovers``: those of a killed process too; elsewhere they are named as such, unless it is still alive."""
        for name in files.names_in(folder):
            left = name.startswith((files.NEW, files.OLD)) and not leftovers
            if not re.fullmatch(expected, name) and name not in IGNORED and not left:
                self._fault(folder / name, f"{folder / name} does not belong to a run; move it away.")


def _disagree(recorded: Sequence[tables.MetricRow], written: Sequence[tables.MetricRow]) -> bool:
    return not tables.rows_agree(recorded, written)


def _outlines(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Shapes and types without values."""
    return {name: value.detach().to("meta") for name, value in tensors.items()}


def _numbers(value: Any) -> Iterator[int]:
    if isinstance(value, int):
        yield value
    for name, item in value.items() if isinstance(value, dict) else ():
        if "seed" not in name:
            yield from _numbers(item)

"""The run store: a folder of runs, each a folder that survives being killed, damaged or copied.

    <root>/<run id>/spec.json            what was asked for
                    environment.json     versions, processor and threads it began with
                    status.json          running, finished or failed, and at which step
                    timing.json          CPU seconds, which are nowhere else
                    metrics.parquet      one row an evaluation
                    checkpoints/<step>/  see checkpoint.py
                    fields/<step>.parquet
    <root>/.locks/                       see lock.py

Every file is sealed (see files.py) or listed with its sha256 in a sealed manifest, and says which run and step it is
of; ``spec.json`` is what the run's id is a hash of. Nothing is read or written through a link. Writers hold the run's
lock; readers need none, since every change is one rename.
"""

import difflib
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from attnlab import files
from attnlab.errors import StoreError, UsageError
from attnlab.runs.run import Fault, Measured, Run, StoreWarning
from attnlab.runs.verify import Layouts

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["Fault", "Measured", "Run", "RunStore", "StoreWarning"]


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

    def weights(self, run_id: str, step: int) -> dict[str, "Tensor"]:
        """A run's network at a step, by the names of its tensors: for a run that is compared with it."""
        run = self.run(run_id)
        if step not in run.steps():
            raise StoreError(
                f"The store {self.root} has no weights of run {run_id} at step {step}, which another run is compared "
                "with; train it first, and keep them."
            )
        return run.load(step).weights

    def runs(self) -> list[Run]:
        """The runs whose spec can be read, by id."""
        readable = []
        for run_id in self.ids():
            with suppress(StoreError, UsageError):
                run = self.run(run_id)
                run.spec()
                readable.append(run)
        return readable

    def remove(self, run_id: str) -> None:
        """Take a run away, in one rename, and then delete its files. A run in use is a RunBusy.

        What an interrupted removal left is deleted too, and asking again for the one that was interrupted does no more.
        """
        if not self.half_removed(run_id):
            run = self.existing(run_id)
            run_id = run.id
            with run.locked(wait=0), files.explained(run.path):
                files.delete(self.root / (files.OLD + run.id))
                files.move(run.path, self.root / (files.OLD + run.id))
        for removed in self._removed():
            files.delete(removed)
        if files.is_there(stale := self.root / (files.OLD + run_id)):
            raise StoreError(f"Run {run_id} is removed, but {stale} could not be deleted; delete it by hand.")

    def half_removed(self, run_id: str) -> bool:
        """Whether a removal of this run was interrupted after the rename."""
        return run_id not in self.ids() and self.root / (files.OLD + run_id) in self._removed()

    def verify(self, layouts: Layouts | None = None) -> list[Fault]:
        """Everything wrong with any run, those with an unreadable spec included. ``layouts``: see `Run.verify`."""
        layouts = {} if layouts is None else layouts
        faults = []
        for run_id in self.ids():
            try:
                faults += self.run(run_id).verify(layouts)
            except (StoreError, UsageError) as error:
                faults.append(Fault(run_id, self.root / run_id, str(error)))
        for stale in self._removed():
            sentence = f"{stale} was left by a removal that was interrupted; the next removal deletes it."
            faults.append(Fault(stale.name.removeprefix(files.OLD), stale, sentence))
        return faults

    def ids(self) -> list[str]:
        """Of all runs' folders, those without a readable spec included."""
        return [name for name in files.names_in(self.root) if files.is_run_id(name) and _is_folder(self.root / name)]

    def _removed(self) -> list[Path]:
        return [self.root / name for name in files.names_in(self.root) if name.startswith(files.OLD)]


def _is_folder(path: Path) -> bool:
    """Also what may not be looked at: whoever reads it says so."""
    try:
        return path.is_dir()
    except OSError:
        return True


def _some(names: list[str], most: int = 8) -> str:
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")

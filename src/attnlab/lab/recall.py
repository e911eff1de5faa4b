"""``--recall``: runs that a result has measured, taken as they stand in its tables instead of being trained again.

A result keeps every measurement of its runs, to the last digit (``curves``), beside their ids (a table with the column
``run``). An id names all that decides a run's course, so a run asked for under the same id is that run. One that was
measured before its model's arithmetic last changed is taken as well, and the result says so. What results do not keep
is weights: an experiment that reads these has to train.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from attnlab.errors import UsageError
from attnlab.lab.claims import PRESETS, holds_result
from attnlab.lab.experiment import Experiment
from attnlab.lab.registry import EXPERIMENTS
from attnlab.lab.result import read_result, read_table
from attnlab.protocols import Row
from attnlab.runs.engine import Job
from attnlab.runs.loop import Trained, measured

CURVES = "curves"
NAMED_BY = (("setting", "seed"), ("remedy", "seed"), ("encoder", "seed"))
"""The columns by which a table of ids and the curves name a run; `rescue` has remedies, `locality` encoders."""


@dataclass(frozen=True)
class Recalled:
    """Rows by run id and step, and of each run the first result, as ``experiment/preset``, that has measured it."""

    rows: Mapping[str, Mapping[int, Row]] = field(default_factory=dict)
    sources: Mapping[str, str] = field(default_factory=dict)

    def find(self, job: Job) -> Trained | None:
        """The run if all that ``job`` wants of it was measured, else None."""
        return measured(job.spec, job.schedule, self.rows)

    def used(self, runs: Mapping[str, Trained]) -> dict[str, list[str]]:
        """By result, which of ``runs`` were taken from it."""
        by_source: dict[str, list[str]] = {}
        for run in runs.values():
            if run.run is None and run.id in self.sources:
                by_source.setdefault(self.sources[run.id], []).append(run.id)
        return by_source


def note_of_earlier(runs: Mapping[str, Trained]) -> tuple[str, ...]:
    """What a result has to say where some of its ``runs``, by today's id, are of an earlier arithmetic."""
    earlier = sum(run.id != id for id, run in runs.items())
    if not earlier:
        return ()
    return (
        f"{earlier} of {len(runs)} runs are recalled from before their model's arithmetic last changed: settings and "
        "seeds are the same, and the numbers differ by rounding and by what it grows to in training.",
    )


def check_recalling(experiment: Experiment) -> None:
    """A UsageError where ``--recall`` has nothing to give."""
    if not experiment.recalls:
        others = ", ".join(name for name, other in EXPERIMENTS.items() if other.recalls)
        raise UsageError(
            f"--recall reuses measurements of runs, and results keep no weights, which {experiment.name} needs; it is "
            f"for {others}."
        )


def recall(results: Path) -> Recalled:
    """What all results below the folder ``results`` have measured.

    Runs that went on in another environment than they began in are left out, and so are results of runs that were
    ended early.
    """
    if not results.is_dir():
        raise UsageError(f"There is no folder {results} to recall runs from; --recall names one of results.")
    rows: dict[str, dict[int, Row]] = {}
    sources: dict[str, str] = {}
    for folder in sorted(results.glob("*/*")):
        if folder.name not in PRESETS or not holds_result(folder):
            continue
        source, inexact = f"{folder.parent.name}/{folder.name}", set(read_result(folder).get("inexact_runs", ()))
        for id, of_run in runs_of(folder).items():
            if id not in inexact:
                known = rows.setdefault(id, {})
                for step, row in of_run.items():
                    if len(row) > len(known.get(step, ())):  # an older result may lack a measure
                        known[step] = row
                sources.setdefault(id, source)
    if not rows:
        raise UsageError(f"No result below {results} has measurements of runs: tables/{CURVES}.csv and a table of ids.")
    return Recalled(rows, sources)


def runs_of(folder: Path) -> dict[str, dict[int, Row]]:
    """The rows of a result's runs, by id and step; none where it has no curves or names no runs."""
    path = folder / "tables" / f"{CURVES}.csv"
    if not path.exists():
        return {}
    ids: dict[tuple[str, ...], str] | None = None
    rows_of: dict[str, dict[int, Row]] = {}
    for line, cells in read_table(folder, CURVES):
        names = next((names for names in NAMED_BY if set(names) <= set(cells)), None)
        if names is None:
            return {}
        ids = _ids(folder, names) if ids is None else ids
        id = ids.get(tuple(cells.pop(name) for name in names))
        if id is None:
            continue
        try:
            row: Row = {name: float(value) for name, value in cells.items() if value not in ("", None)}
            step = int(cells["step"])
        except (KeyError, TypeError, ValueError) as error:
            raise UsageError(f"{path}, line {line}: {error}; a step and numbers are right there.") from None
        rows_of.setdefault(id, {})[step] = {**row, "step": step}
    return rows_of


def _ids(folder: Path, names: tuple[str, ...]) -> dict[tuple[str, ...], str]:
    """Run ids by what names them, from the table that has both for the most runs; others are of some of them."""
    ids: dict[tuple[str, ...], str] = {}
    for path in sorted((folder / "tables").glob("*.csv")):
        named = [cells for _, cells in read_table(folder, path.stem) if {*names, "run"} <= set(cells)]
        if len(named) > len(ids):
            ids = {tuple(cells[name] for name in names): cells["run"] for cells in named}
    return ids

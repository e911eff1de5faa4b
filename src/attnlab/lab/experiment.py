"""What an experiment is: runs in, a result out."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import altair as alt

from attnlab.errors import UsageError
from attnlab.lab.claims import PRESETS, Finding, Preset
from attnlab.runs.engine import Job
from attnlab.runs.loop import Trained

Table = Sequence[Mapping[str, Any]]
"""Rows of a table, all with the same columns."""


@dataclass(frozen=True)
class Order:
    """Which runs of an experiment are asked for: a preset and, optionally, only the first ``seeds`` of its seeds.

    ``row``: which one, of an experiment that has rows. ``stop_hopeless``: end runs that the early verdict gives up.
    """

    preset: Preset = "quick"
    seeds: int | None = None
    row: str = ""
    stop_hopeless: bool = False

    @property
    def folder(self) -> str:
        """Where its result stands below that of the experiment: results of ended runs stand apart."""
        return f"{self.preset}-stop-hopeless" if self.stop_hopeless else self.preset

    def first(self, seeds: Sequence[int]) -> list[int]:
        """The first of the experiment's ``seeds``, as many as were asked for."""
        return list(seeds if self.seeds is None else seeds[: self.seeds])


@dataclass(frozen=True)
class Result:
    """What an experiment found.

    ``summary``: a few sentences in plain words. ``tables`` and ``figures`` by file name. ``findings``: what it says
    about claims. ``notes``: departures from the papers, and what a preset left out.
    """

    summary: str
    tables: dict[str, Table]
    figures: dict[str, alt.TopLevelMixin]
    findings: tuple[Finding, ...]
    notes: tuple[str, ...] = ()
    seeds: dict[str, list[int]] = field(default_factory=dict)


class Experiment(Protocol):
    """One experiment of the papers or beyond them."""

    name: str
    title: str
    source: str

    def plan(self, order: Order, done: Mapping[str, Trained]) -> list[Job]:
        """All runs the experiment needs, as far as ``done`` (finished runs by id) lets it know them."""
        ...

    def at_most(self, order: Order, done: Mapping[str, Trained]) -> list[Job]:
        """The longest the plan can become after ``done``, for an estimate before anything more is trained."""
        ...

    def analyse(self, order: Order, done: Mapping[str, Trained]) -> Result:
        """The result, from runs that are all there."""
        ...


class KnownRuns:
    """The plan of an experiment whose runs are known before the first is trained: those in `jobs`, else none."""

    def jobs(self, order: Order) -> list[Job]:  # noqa: ARG002 (an experiment that trains has its own)
        """All its runs."""
        return []

    def plan(self, order: Order, done: Mapping[str, Trained]) -> list[Job]:  # noqa: ARG002 (known beforehand)
        return self.jobs(order)

    def at_most(self, order: Order, done: Mapping[str, Trained]) -> list[Job]:  # noqa: ARG002 (as above)
        return self.jobs(order)


@runtime_checkable
class RowedExperiment(Experiment, Protocol):
    """An experiment with a row for each of several corpora; rows are run, and written, one by one.

    Orders handed to it name their row. A result of such an experiment is of one row.
    """

    rows: tuple[str, ...]

    def default_rows(self, preset: Preset) -> list[str]:
        """The rows that are run where none are named."""
        ...

    def report(self, folder: Path) -> Path:
        """Write the page over all rows in the experiment's results ``folder``, and say where it is."""
        ...


def chosen_rows(experiment: Experiment, preset: Preset, only: Sequence[str]) -> list[str]:
    """The rows to run: those named, else the experiment's own choice; [""] for an experiment without rows."""
    if not isinstance(experiment, RowedExperiment):
        if only:
            raise UsageError(f"The experiment {experiment.name} has no rows, so --only has nothing to choose from.")
        return [""]
    names = list(dict.fromkeys(name for part in only for name in part.split(",") if name))
    for name in names:
        if name not in experiment.rows:
            close = get_close_matches(name, experiment.rows, n=1)
            hint = f" Did you mean {close[0]}?" if close else ""
            raise UsageError(
                f"The experiment {experiment.name} has no row {name!r}; rows are {', '.join(experiment.rows)}.{hint}"
            )
    return names or experiment.default_rows(preset)


def check_order(preset: str, seeds: int | None) -> Order:
    """An order from what a user typed."""
    if preset not in PRESETS:
        raise UsageError(f"There is no preset {preset!r}; presets are {', '.join(PRESETS)}.")
    if seeds is not None and seeds < 1:
        raise UsageError(f"--seeds {seeds} leaves nothing to run; give at least 1.")
    return Order(preset, seeds)

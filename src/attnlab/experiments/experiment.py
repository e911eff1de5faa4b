"""What an experiment is: runs in, a result out."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import altair as alt

from attnlab.errors import UsageError
from attnlab.experiments.claims import PRESETS, Finding, Preset
from attnlab.training.engine import Job
from attnlab.training.loop import Trained

Table = Sequence[Mapping[str, Any]]
"""Rows of a table, all with the same columns."""


@dataclass(frozen=True)
class Order:
    """Which runs of an experiment are asked for: a preset and, optionally, only the first ``seeds`` of its seeds."""

    preset: Preset = "quick"
    seeds: int | None = None

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

    def at_most(self, order: Order) -> list[Job]:
        """The longest the plan can become, for an estimate before anything is trained."""
        ...

    def analyse(self, order: Order, done: Mapping[str, Trained]) -> Result:
        """The result, from runs that are all there."""
        ...


def check_order(preset: str, seeds: int | None) -> Order:
    """An order from what a user typed."""
    if preset not in PRESETS:
        raise UsageError(f"There is no preset {preset!r}; presets are {', '.join(PRESETS)}.")
    if seeds is not None and seeds < 1:
        raise UsageError(f"--seeds {seeds} leaves nothing to run; give at least 1.")
    return Order(preset, seeds)

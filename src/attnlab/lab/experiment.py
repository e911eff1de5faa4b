"""What an experiment is: settings in, a result out, written as one story in one file.

A subclass of `Experiment` says in this order: its question (docstring), its settings, what it measures (`measure`), the
rules that decide its claims (methods marked with `claim`), its tables and figures, and what a reader should know.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar

import altair as alt

from attnlab.errors import UsageError
from attnlab.families.copying.success import WITHIN
from attnlab.lab.claims import PRESETS, Finding, Part, Preset
from attnlab.lab.outcomes import Outcome, Runs
from attnlab.pages.replay import Replay
from attnlab.runs.engine import Job
from attnlab.runs.loop import Trained
from attnlab.runs.schedule import Schedule
from attnlab.runs.spec import RunSpec

if TYPE_CHECKING:
    from attnlab.lab.written import WrittenResult
    from attnlab.pages.page import Page, Section

Table = Sequence[Mapping[str, Any]]
"""Rows of a table, all with the same columns."""
Figures = Mapping[str, alt.TopLevelMixin]
"""Charts by file name, in the order in which they are to be read."""
Decided = Part | Iterable[Part]
"""What a rule gives: one part of a claim, or several."""
Rule = TypeVar("Rule", bound=Callable[[Any], Decided])
Value = TypeVar("Value")


def by_preset(quick: Value, reduced: Value, paper: Value) -> dict[Preset, Value]:
    """What each preset has."""
    return {"quick": quick, "reduced": reduced, "paper": paper}


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
        """The result's folder below the experiment's; results of runs that were ended early have one of their own."""
        return f"{self.preset}-stop-hopeless" if self.stop_hopeless else self.preset

    def first(self, seeds: Sequence[int]) -> list[int]:
        """The first of the experiment's ``seeds``, as many as were asked for."""
        return list(seeds if self.seeds is None else seeds[: self.seeds])


@dataclass(frozen=True)
class Setting:
    """One kind of run: its name, the run of each seed, how many seeds each preset trains, and for how long.

    ``seeds``: how many, from 0 on, or which. ``schedule``: one for all presets, or one for each.
    """

    name: str
    spec: Callable[[int], RunSpec]
    seeds: Mapping[Preset, int | Sequence[int]]
    schedule: Schedule | Mapping[Preset, Schedule]

    def seeds_at(self, order: Order) -> list[int]:
        """The seeds that are asked for."""
        seeds = self.seeds.get(order.preset, 0)
        return order.first(range(seeds) if isinstance(seeds, int) else seeds)

    def schedule_at(self, preset: Preset) -> Schedule:
        """How long its runs go on at a preset, and when they are measured."""
        return self.schedule if isinstance(self.schedule, Schedule) else self.schedule[preset]

    def job(self, seed: int, preset: Preset) -> Job:
        """One of its runs."""
        return Job(self.label(seed), self.spec(seed), self.schedule_at(preset))

    def label(self, seed: int) -> str:
        """The name of one of its runs."""
        return f"{self.name}, seed {seed}"


@dataclass(frozen=True)
class Watched:
    """A run whose attention the page shows through training: one seed of a setting, and the ``name`` it has there.

    ``example``: what is watched, as a schedule's ``watch`` has it; a sentence must be one that we wrote. ``row``: which
    one, of an experiment that has rows. ``steps``: the evaluations that are shown where the run is trained for this
    alone; about twenty of its schedule's if none are named.
    """

    setting: Setting
    seed: int
    name: str
    caption: str = ""
    example: tuple[str, ...] = ()
    row: str = ""
    steps: tuple[int, ...] = ()
    presets: tuple[Preset, ...] = ("reduced", "paper")

    @property
    def label(self) -> str:
        """Of its job."""
        return self.setting.label(self.seed)


@dataclass(frozen=True)
class Record:
    """What a result keeps of its measurements: ``tables`` by name, ``seeds`` by role. Rules that read nothing else can
    be applied to a result that is written, long after its runs are gone.
    """

    tables: Mapping[str, Table]
    seeds: Mapping[str, list[int]]

    def rows(self, table: str, **where: Any) -> list[Mapping[str, Any]]:
        """The rows of a table that have these values in these columns, in their order."""
        rows = self.tables.get(table, ())
        return [row for row in rows if all(row[column] == value for column, value in where.items())]

    def row(self, table: str, **where: Any) -> Mapping[str, Any]:
        """The only such row."""
        (row,) = self.rows(table, **where)
        return row

    def runs(self, role: str) -> int:
        """How many runs have this role."""
        return len(self.seeds.get(role, ()))

    def learned(self, setting: str) -> list[bool]:
        """Which runs of a setting have learned, by the table of runs."""
        return [row["learned"] for row in self.rows("runs", setting=setting)]

    def learned_steps(self, setting: str) -> list[int]:
        """The steps at which those that have learned did."""
        return [row["step"] for row in self.rows("runs", setting=setting, learned=True)]


@dataclass(frozen=True)
class Result:
    """What an experiment found.

    ``summary``: a few sentences in plain words. ``tables`` and ``figures`` by file name. ``findings``: what it says
    about claims. ``notes``: departures from the papers, and what a preset left out. ``replays``: attention of watched
    runs through training, by file name.
    """

    summary: str
    tables: dict[str, Table]
    figures: dict[str, alt.TopLevelMixin]
    findings: tuple[Finding, ...]
    notes: tuple[str, ...] = ()
    seeds: dict[str, list[int]] = field(default_factory=dict)
    replays: dict[str, Replay] = field(default_factory=dict)


def claim(id: str, reads: Sequence[str] = ()) -> Callable[[Rule], Rule]:
    """Marks the method of an experiment that decides the claim ``id``: it returns the claim's part, or its parts.

    ``reads``: the tables of `Experiment.record` that it decides from, and from nothing else. Such a claim can be
    decided again from a written result.
    """

    def mark(rule: Rule) -> Rule:
        rule.claim, rule.reads = id, tuple(reads)  # type: ignore[attr-defined]
        return rule

    return mark


class Experiment:
    """One experiment of the papers or beyond them.

    ``decides_at``: presets whose results decide claims; at others the numbers are shown and every part is undecided.
    ``recalls``: it reads measurements alone, no weights, so runs that other results have measured need no training.
    ``may_stop``: it asks of a run no more than whether it learns in time, so hopeless runs may be ended early.
    ``trains``: it has runs; one that has none is worked out again where its claims are checked.
    ``not_kept``: why claims cannot be decided again from its tables, where a rule reads more than these.
    ``rows``: names of the corpora it is run on one by one; none for an experiment that is run as a whole.
    ``watched``: runs whose attention its page shows through training, under ``replay_title`` and ``replay_caption``.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    source: ClassVar[str]
    settings: Sequence[Setting] = ()
    decides_at: ClassVar[tuple[Preset, ...]] = PRESETS
    recalls: ClassVar[bool] = False
    may_stop: ClassVar[bool] = False
    rows: ClassVar[tuple[str, ...]] = ()
    trains: ClassVar[bool] = True
    not_kept: ClassVar[str] = ""
    watched: Sequence[Watched] = ()
    replay_title: ClassVar[str] = "Attention through training"
    replay_caption: ClassVar[str] = ""

    order: Order
    runs: Runs
    within: int = WITHIN
    """Updates within which a run on copying must have learned, by the table of runs."""

    # --- runs

    def settings_at(self, preset: Preset) -> Sequence[Setting]:  # noqa: ARG002 (most have the same at all presets)
        """Its settings, for an experiment whose task is smaller at some preset."""
        return self.settings

    def asked(self, order: Order) -> list[tuple[Setting, int]]:
        """The settings and seeds that are asked for, as far as they are known before the first run is trained."""
        return [(setting, seed) for setting in self.settings_at(order.preset) for seed in setting.seeds_at(order)]

    def jobs(self, order: Order) -> list[Job]:
        """Their runs."""
        return [setting.job(seed, order.preset) for setting, seed in self.asked(order)]

    def plan(self, order: Order, done: Mapping[str, Trained]) -> list[Job]:  # noqa: ARG002 (most know all beforehand)
        """All runs the experiment needs, as far as ``done`` (finished runs by id) lets it know them."""
        return self.jobs(order)

    def at_most(self, order: Order, done: Mapping[str, Trained]) -> list[Job]:
        """The longest the plan can become after ``done``, for an estimate before anything more is trained."""
        return self.plan(order, done)

    def outcomes(self, order: Order, done: Mapping[str, Trained]) -> Iterator[Outcome]:
        """Its finished runs, setting by setting."""
        for setting, seed in self.asked(order):
            spec = setting.spec(seed)
            yield Outcome(setting.name, seed, done[spec.id], spec)

    def default_rows(self, preset: Preset) -> list[str]:  # noqa: ARG002 (texts choose by preset)
        """The rows that are run where none are named."""
        return list(self.rows)

    # --- the story

    def measure(self, runs: Runs) -> None:
        """Take from the runs what rules, tables and figures need, as attributes."""

    def summary(self) -> str:
        """The result in a few plain sentences: by default what each part of each claim says."""
        return " ".join(part.detail for finding in self.findings() for part in finding.parts)

    def tables(self) -> Mapping[str, Table]:
        """Its own tables, beside those of all runs and of all their measurements."""
        return {}

    def figures(self) -> Figures:
        """Its figures, the one that answers the question first."""
        return {}

    def notes(self) -> Sequence[str]:
        """What a reader should know about how it was run."""
        return ()

    def at_preset(self, **notes: str) -> list[str]:
        """The note about this preset, given by its name, if there is one."""
        return [note for preset, note in notes.items() if preset == self.order.preset]

    def seeds(self) -> dict[str, list[int]]:
        """The seeds that were run, by role."""
        return {name: [outcome.seed for outcome in group] for name, group in self.runs.items()}

    def run_row(self, outcome: Outcome) -> Mapping[str, Any]:
        """A run's line in the table ``runs``."""
        return outcome.row(self.within)

    def extras(self, result: "WrittenResult") -> Sequence["Section"]:
        """What its page has beside figures and tables, after the first figure: here its watched runs, and in a subclass
        any section with a `Component`.
        """
        from attnlab.lab.replays import replay_sections

        return replay_sections(result)

    def page(self, folder: Path) -> "Page":
        """What the page of its results in ``folder`` says."""
        from attnlab.lab.page import result_page

        return result_page(self, folder)

    def report(self, folder: Path) -> Path:
        """Write the page of its results into ``folder``, and say where it is."""
        from attnlab.lab.page import PAGE

        self.page(folder).write(path := folder / PAGE)
        return path

    # --- what all experiments have in common

    @cached_property
    def record(self) -> Record:
        """What its result keeps, made once."""
        return Record({**self.tables(), **self.run_tables()}, self.seeds())

    def retold(self, order: Order, record: Record) -> Self:
        """The experiment with a written result's record: what those rules can be asked of that read nothing else."""
        story = copy(self)
        story.order, story.record = order, record
        return story

    @classmethod
    def rules(cls) -> dict[str, Callable[[Any], Decided]]:
        """The methods that decide claims, by claim, in the order in which they are written."""
        methods = [method for kind in reversed(cls.__mro__) for method in vars(kind).values()]
        return {method.claim: method for method in methods if hasattr(method, "claim")}

    def findings(self, only: str | None = None) -> tuple[Finding, ...]:
        """What the rules say, or that of one claim; undecided throughout at a preset that decides nothing."""
        decided = {id: rule(self) for id, rule in self.rules().items() if only in (None, id)}
        findings = [Finding(id, (it,) if isinstance(it, Part) else tuple(it)) for id, it in decided.items()]
        if self.order.preset not in self.decides_at:
            findings = [finding.undecided() for finding in findings]
        return tuple(finding for finding in findings if finding.parts)

    def story(self, order: Order, outcomes: Iterable[Outcome]) -> Self:
        """The experiment with these runs measured: what its rules, tables and figures are asked of."""
        story = copy(self)
        story.order, story.runs = order, Runs(outcomes)
        story.measure(story.runs)
        return story

    def analyse(self, order: Order, done: Mapping[str, Trained]) -> Result:
        """The result, from runs that are all there."""
        story = self.story(order, self.outcomes(order, done))
        return Result(
            summary=story.summary(),
            tables=dict(story.record.tables),
            figures=dict(story.figures()),
            findings=story.findings(),
            notes=tuple(story.notes()),
            seeds=dict(story.record.seeds),
        )

    def run_tables(self) -> dict[str, Table]:
        """``runs``: a line for each run; ``curves``: every measurement of every run."""
        if not self.runs:
            return {}
        return {"runs": [self.run_row(outcome) for outcome in self.runs.all()], "curves": self.runs.curves()}


def chosen_rows(experiment: Experiment, preset: Preset, only: Sequence[str]) -> list[str]:
    """The rows to run: those named, else the experiment's own choice; [""] for an experiment without rows."""
    if not experiment.rows:
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

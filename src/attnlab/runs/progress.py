"""Training on the screen, with rates and time left: a sweep as a live table, a single run as a bar.

Where nobody looks on, in a file or a pipe, a sweep is a line now and then.
"""

import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from heapq import heapify, heappop, heappush

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from attnlab.families.registry import stop_rule
from attnlab.protocols import Row
from attnlab.runs.engine import Event, Job
from attnlab.runs.loop import Observer
from attnlab.runs.schedule import Schedule
from attnlab.runs.spec import RunSpec

SECONDS_BETWEEN_LINES = 30
RECENT = 60
"""Seconds of the past that say how fast a run is."""


class Prospect:
    """The chance that a run will succeed, by its family's stop rule, as its evaluations come in one by one.

    ``chance`` is empty where no rule knows such a run, or the rule says nothing.
    """

    def __init__(self, spec: RunSpec | None) -> None:
        self.rule = None if spec is None else stop_rule(spec)
        self.rows: dict[int, Row] = {}
        self.chance = ""

    def take(self, step: int, row: Row) -> None:
        if self.rule is not None:
            self.rows[step] = row
            chance = self.rule.chance(self.rows, step)
            self.chance = "" if chance is None else percent(chance)


def percent(chance: float) -> str:
    """A chance in whole per cent, with no certainty that it does not have.

    >>> percent(0.849), percent(0.001), percent(0.9999)
    ('85 %', '< 1 %', '> 99 %')
    """
    if chance < 0.01:
        return "< 1 %"
    return "> 99 %" if chance > 0.99 else f"{chance:.0%}".replace("%", " %")


class Line:
    """A run at work."""

    def __init__(self, job: Job, began: float) -> None:
        self.job, self.began, self.prospect = job, began, Prospect(job.spec)
        self.first_step: int | None = None
        self.step, self.accuracy, self.waits = 0, "", ""
        self.marks: deque[tuple[float, int]] = deque()

    def moved(self, step: int, now: float) -> None:
        if self.first_step is None:
            self.first_step, self.began = step, now
        self.step = step
        self.marks.append((now, step))
        while len(self.marks) > 2 and self.marks[1][0] < now - RECENT:
            self.marks.popleft()

    def rate(self, now: float) -> float:
        """Updates a second over the last minute; a run that is slowed down, or stands still, is seen to be."""
        if not self.marks:
            return 0.0
        began, first = self.marks[0]
        return (self.step - first) / max(now - began, 1e-9)


class SweepDisplay:
    """Turns a sweep's events into a live table."""

    def __init__(self, jobs: Sequence[Job], workers: int = 1) -> None:
        self.workers = workers
        self.waiting = {job.label: job.schedule.steps for job in jobs}
        self.total, self.runs = sum(job.schedule.steps for job in jobs), len(jobs)
        self.ended, self.failed, self.made = 0, 0, 0
        self.lines: dict[str, Line] = {}
        self.judged = any(stop_rule(job.spec) is not None for job in jobs)
        self.began = time.monotonic()
        self.past_updates, self.past_seconds = 0, 0.0

    def report(self, job: Job, event: Event) -> None:
        now = time.monotonic()
        self.waiting.pop(job.label, None)
        if event.kind in ("finished", "failed"):
            self._end(self.lines.pop(job.label, None), event.step, now)
            self.ended += 1
            self.failed += event.kind == "failed"
            self.made += job.schedule.steps
            return
        line = self.lines.setdefault(job.label, Line(job, now))
        line.waits = event.error if event.kind == "waits" else ""
        if event.kind == "moved":
            line.moved(event.step, now)
            if event.row is not None:
                if "accuracy" in event.row:
                    line.accuracy = f"{event.row['accuracy']:.3f}"
                line.prospect.take(event.step, event.row)

    def __rich__(self) -> RenderableType:
        now = time.monotonic()
        table = Table("run", "", "step", "updates/s", "time left", "accuracy", box=None, pad_edge=False)
        if self.judged:
            table.add_column("will learn")
        for line in self.lines.values():
            steps, rate = line.job.schedule.steps, line.rate(now)
            table.add_row(
                line.job.label,
                ProgressBar(total=steps or 1, completed=line.step, width=24),
                f"{line.step}/{steps}",
                f"{rate:.1f}" if rate else "",
                clock((steps - line.step) / rate if rate else None),
                line.accuracy,
                *([line.prospect.chance] if self.judged else []),
            )
        whole = Table.grid(padding=(0, 2))
        bar = ProgressBar(total=self.total or 1, completed=self.reached, width=32)
        whole.add_row(self.ended_runs(), bar, self.times(now))
        waiting = [line.waits for line in self.lines.values() if line.waits]
        return Group(table, *map(Text, waiting), whole)

    @property
    def reached(self) -> int:
        """Updates made, of all runs; those of a run that ended early count as made."""
        return self.made + sum(line.step for line in self.lines.values())

    def ended_runs(self) -> str:
        return f"{self.ended} of {self.runs} runs" + (f", {self.failed} failed" if self.failed else "")

    def _end(self, line: Line | None, step: int, now: float) -> None:
        if line is not None and line.marks:
            self.past_updates += max(step, line.step) - (line.first_step or 0)
            self.past_seconds += now - line.began

    def left(self, now: float) -> float | None:
        """Seconds until the last run ends if all go on as in the last minute: each run under way at its own pace, those
        that wait at the mean one, on the first worker that is free. None as long as no pace is known.
        """
        paces = [line.rate(now) for line in self.lines.values() if line.rate(now) > 0]
        if self.past_seconds > 0 and self.past_updates > 0 and not paces:
            paces = [self.past_updates / self.past_seconds]
        if not paces:
            return None
        mean = sum(paces) / len(paces)
        free = [(line.job.schedule.steps - line.step) / (line.rate(now) or mean) for line in self.lines.values()]
        free += [0.0] * (self.workers - len(free))
        heapify(free)
        for steps in sorted(self.waiting.values(), reverse=True):
            heappush(free, heappop(free) + steps / mean)
        return max(free, default=0.0)

    def times(self, now: float) -> str:
        return f"{clock(now - self.began)} gone, at most {clock(self.left(now))} left"


class SweepLog:
    """Turns a sweep's events into lines of plain text: one every half minute at most, and whom it waits for."""

    def __init__(self, jobs: Sequence[Job], screen: Console, workers: int = 1) -> None:
        self.display, self.screen = SweepDisplay(jobs, workers), screen
        self.last, self.waits = self.display.began, ""

    def report(self, job: Job, event: Event) -> None:
        self.display.report(job, event)
        if event.kind == "waits" and event.error != self.waits:
            self.waits = event.error
            self.print(self.waits)
        now = time.monotonic()
        if now - self.last >= SECONDS_BETWEEN_LINES:
            self.last = now
            share = self.display.reached / (self.display.total or 1)
            self.print(f"{self.display.ended_runs()}, {share:.0%} of the updates; {self.display.times(now)}")

    def print(self, line: str) -> None:
        self.screen.print(line, markup=False, highlight=False, soft_wrap=True)


def clock(seconds: float | None) -> str:
    """Seconds as 1:02:03 or 2:03."""
    if seconds is None:
        return "-"
    minutes, second = divmod(round(seconds), 60)
    hours, minute = divmod(minutes, 60)
    return f"{hours}:{minute:02}:{second:02}" if hours else f"{minute}:{second:02}"


@contextmanager
def run_progress(schedule: Schedule, screen: Console | None = None, spec: RunSpec | None = None) -> Iterator[Observer]:
    """A bar for one run; what it yields goes to `attnlab.runs.loop.train` as ``observe``.

    With its ``spec`` it also shows the chance that the run will learn, where its family has a rule for that.

    >>> from attnlab.runs.schedule import Schedule
    >>> with run_progress(Schedule.every(10, steps=20), Console(quiet=True)) as observe:
    ...     observe(10, {"accuracy": 0.5})
    """
    columns = (
        TextColumn("step {task.completed:.0f}/{task.total:.0f}"),
        BarColumn(),
        TextColumn("{task.fields[rate]}"),
        TimeRemainingColumn(),
        TextColumn("{task.fields[accuracy]}"),
        TextColumn("{task.fields[prospect]}"),
    )
    prospect = Prospect(spec)
    with Progress(*columns, console=screen or Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=schedule.steps, rate="", accuracy="", prospect="")

        def observe(step: int, row: Row | None) -> None:
            speed = bar.tasks[0].speed
            bar.update(task, completed=step, rate=f"{speed:.1f} updates/s" if speed else "")
            if row is not None and "accuracy" in row:
                prospect.take(step, row)
                chance = f"will learn {prospect.chance}" if prospect.chance else ""
                bar.update(task, accuracy=f"accuracy {row['accuracy']:.3f}", prospect=chance)

        yield observe


@contextmanager
def watching(screen: Console, workers: int = 1) -> Iterator[Callable[[Sequence[Job]], Callable[[Job, Event], None]]]:
    """A display for the sweeps inside the block: live where somebody looks on, else lines."""
    if not (screen.is_terminal or screen.is_jupyter):
        yield lambda jobs: SweepLog(jobs, screen, workers).report
        return
    shown: list[SweepDisplay] = []  # one after another, the last of them on the screen

    def watch(jobs: Sequence[Job]) -> Callable[[Job, Event], None]:
        shown.append(SweepDisplay(jobs, workers))
        return shown[-1].report

    def drawn() -> RenderableType:
        return shown[-1].__rich__() if shown else ""

    with Live(console=screen, get_renderable=drawn, refresh_per_second=4, transient=True):
        yield watch

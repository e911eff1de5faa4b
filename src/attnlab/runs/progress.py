"""A sweep on the screen, with rates and time left: a live table, or a line now and then in a file or a pipe."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from attnlab.families.registry import stop_rule
from attnlab.protocols import Row
from attnlab.runs.engine import Event, Job

SECONDS_BETWEEN_LINES = 30


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
        self.job, self.began, self.rule = job, began, stop_rule(job.spec)
        self.first_step: int | None = None
        self.step, self.accuracy, self.waits, self.chance = 0, "", "", ""
        self.rows: dict[int, Row] = {}

    def take(self, step: int, row: Row) -> None:
        """News of an evaluation. The chance that the run will succeed is its family's stop rule's, if it has one."""
        if "accuracy" in row:
            self.accuracy = f"{row['accuracy']:.3f}"
        self.rows[step] = row
        chance = None if self.rule is None else self.rule.chance(self.rows, step)
        self.chance = "" if chance is None else percent(chance)

    def rate(self, now: float) -> float:
        """Updates a second since the first news."""
        return (self.step - (self.first_step or 0)) / max(now - self.began, 1e-9)


class SweepDisplay:
    """Turns a sweep's events into a live table."""

    def __init__(self, jobs: Sequence[Job]) -> None:
        self.total, self.runs = sum(job.schedule.steps for job in jobs), len(jobs)
        self.ended, self.failed, self.made = 0, 0, 0
        self.lines: dict[str, Line] = {}
        self.judged = any(stop_rule(job.spec) is not None for job in jobs)
        self.began = time.monotonic()

    def report(self, job: Job, event: Event) -> None:
        now = time.monotonic()
        if event.kind in ("finished", "failed"):
            self.lines.pop(job.label, None)
            self.ended += 1
            self.failed += event.kind == "failed"
            self.made += job.schedule.steps
            return
        line = self.lines.setdefault(job.label, Line(job, now))
        line.waits = event.error if event.kind == "waits" else ""
        if event.kind == "moved":
            if line.first_step is None:
                line.first_step, line.began = event.step, now
            line.step = event.step
            if event.row is not None:
                line.take(event.step, event.row)

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
                *([line.chance] if self.judged else []),
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

    def times(self, now: float) -> str:
        spent = now - self.began
        left = spent * (self.total - self.reached) / self.reached if self.reached else None
        return f"{clock(spent)} gone, at most {clock(left)} left"


class SweepLog:
    """Turns a sweep's events into lines of plain text: one every half minute at most, and whom it waits for."""

    def __init__(self, jobs: Sequence[Job], screen: Console) -> None:
        self.display, self.screen = SweepDisplay(jobs), screen
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
def watching(screen: Console) -> Iterator[Callable[[Sequence[Job]], Callable[[Job, Event], None]]]:
    """A display for the sweeps inside the block: live where somebody looks on, else lines."""
    if not (screen.is_terminal or screen.is_jupyter):
        yield lambda jobs: SweepLog(jobs, screen).report
        return
    shown: list[SweepDisplay] = []  # one after another, the last of them on the screen

    def watch(jobs: Sequence[Job]) -> Callable[[Job, Event], None]:
        shown.append(SweepDisplay(jobs))
        return shown[-1].report

    def drawn() -> RenderableType:
        return shown[-1].__rich__() if shown else ""

    with Live(console=screen, get_renderable=drawn, refresh_per_second=4, transient=True):
        yield watch

"""Finished runs as experiments look at them: by setting and seed, with what was measured and when it was learned."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from torch.nn import Module

from attnlab.families.copying.success import EVERY, WITHIN, first_learned
from attnlab.runs.loop import Trained
from attnlab.runs.spec import RunSpec
from attnlab.stats.bootstrap import value_and_interval
from attnlab.stats.proportions import wilson

SHOWN_AT_END = {"accuracy": "accuracy", "attention": "attention_accuracy", "probe": "probe_accuracy"}
"""What the table of runs says about a run's end, and the metrics that it is read from."""
POINTING = ("attention", "probe")


@dataclass(frozen=True)
class Outcome:
    """One seed of one setting, and its finished run."""

    setting: str
    seed: int
    run: Trained
    spec: RunSpec | None = None

    @property
    def step(self) -> int | None:
        """First evaluation within 200 updates at which the run has learned."""
        return self.learned_within(WITHIN)

    def learned_within(self, updates: int) -> int | None:
        """First evaluation within so many ``updates`` at which the run has learned, or None."""
        return first_learned(self.run.rows, updates)

    def step_or_after(self, updates: int = WITHIN) -> int:
        """The step at which the run learned; one evaluation after the last that counts where it did not."""
        step = self.learned_within(updates)
        return updates + EVERY if step is None else step

    def dot(self, place: float, updates: int = WITHIN) -> dict[str, Any]:
        """The run as `charts.learned_at` draws it: one that did not learn is in the band, at a ``place`` of it."""
        step = self.learned_within(updates)
        above = updates + EVERY * (1.2 + 3 * place)
        return {"seed": self.seed, "step": above if step is None else step, "learned": step is not None}

    def kept_step(self) -> int:
        """The step of the weights at the end of the run; where it has since gone on and dropped those, the first after
        its end that are kept.
        """
        assert self.run.run is not None  # runs that are recalled have no weights
        return min(step for step in self.run.run.steps() if step >= self.run.step)

    def load_into(self, network: Module) -> int:
        """Give ``network`` the weights at the end of the run; returns the step they are of."""
        assert self.run.run is not None
        step = self.kept_step()
        self.run.run.load_into(network, step)
        return step

    def up_to(self, step: int) -> Self:
        """The same without what was measured after ``step``."""
        rows = [row for row in self.run.rows if row["step"] <= step]
        return replace(self, run=replace(self.run, rows=rows, step=min(self.run.step, step)))

    def at(self, step: int, metric: str) -> float | None:
        """What was measured at a step, or None if the run was not measured there."""
        return next((row[metric] for row in self.run.rows if row["step"] == step), None)

    def column(self, metric: str) -> NDArray[np.float64]:
        """A metric at all evaluations: (evaluations,)."""
        return np.array([row[metric] for row in self.run.rows], dtype=np.float64)

    def reached(self, metric: str, level: float = 0.5) -> int | None:
        """The first evaluation at which a metric is at least ``level``, or None."""
        return next((int(row["step"]) for row in self.run.rows if row[metric] >= level), None)

    def lead(self, first: str, second: str, *, level: float = 0.5) -> int | None:
        """By how many updates the metric ``first`` reaches ``level`` before ``second``; one that never does counts at
        the last evaluation, and where neither does there is no lead.
        """
        steps = [self.reached(metric, level) for metric in (first, second)]
        last = int(self.run.rows[-1]["step"])
        ahead, after = (last if step is None else step for step in steps)
        return None if steps == [None, None] else after - ahead

    def row(self, within: int = WITHIN) -> dict[str, Any]:
        """How the run ended: its line in the table of runs."""
        last = self.run.rows[-1]
        row: dict[str, Any] = {"setting": self.setting, "seed": self.seed}
        if "accuracy" in last:
            row |= {"learned": self.learned_within(within) is not None, "step": self.learned_within(within)}
        row["last_step"] = int(last["step"])
        row |= {f"last_{name}": last[metric] for name, metric in SHOWN_AT_END.items() if metric in last}
        return row | {"run": self.run.id}

    def late_row(self, late: int) -> dict[str, Any]:
        """The same, and what became of the run by step ``late`` if it went on."""
        return {
            **self.row(),
            "late_step": self.learned_within(late),
            f"accuracy_{WITHIN}": self.at(WITHIN, "accuracy"),
            **{f"{name}_{late}": self.at(late, metric) for name, metric in SHOWN_AT_END.items()},
        }


class Runs(dict[str, list[Outcome]]):
    """All outcomes, by the name of their setting, in the order in which settings first occur.

    A setting that was not run has no outcomes: looking it up, by itself or by its name, gives an empty list.
    """

    def __init__(self, outcomes: Iterable[Outcome]) -> None:
        super().__init__()
        for outcome in outcomes:
            self.setdefault(outcome.setting, []).append(outcome)

    def __getitem__(self, setting: Any) -> list[Outcome]:
        return self.get(getattr(setting, "name", setting), [])

    def __contains__(self, setting: object) -> bool:
        return super().__contains__(getattr(setting, "name", setting))

    def all(self) -> list[Outcome]:
        """Every outcome, setting by setting."""
        return [outcome for group in self.values() for outcome in group]

    def up_to(self, step: int) -> "Runs":
        """The same without what was measured after ``step``."""
        return Runs(outcome.up_to(step) for outcome in self.all())

    def curves(self) -> list[dict[str, Any]]:
        """Every measurement of every run, a row each."""
        return curve_table(self.all())


def curve_table(outcomes: Iterable[Outcome]) -> list[dict[str, Any]]:
    """Every measurement of these runs, a row each."""
    return [{"setting": one.setting, "seed": one.seed, **row} for one in outcomes for row in one.run.rows]


def learned(group: Sequence[Outcome], within: int = WITHIN) -> list[bool]:
    """Which runs of a group have learned within so many updates."""
    return [outcome.learned_within(within) is not None for outcome in group]


def learned_steps(group: Iterable[Outcome], within: int = WITHIN) -> list[int]:
    """The steps at which those that learned did."""
    return [step for outcome in group if (step := outcome.learned_within(within)) is not None]


def mean(values: Iterable[float | None]) -> float | None:
    """Of those that are there; None of none."""
    there = [value for value in values if value is not None]
    return float(np.mean(there)) if there else None


def median(values: Iterable[float | None]) -> float | None:
    """Of those that are there; None of none."""
    there = [value for value in values if value is not None]
    return float(np.median(there)) if there else None


def rate_of(count: int, n: int) -> dict[str, float | None]:
    """A rate with its Wilson interval, as columns of a table; empty where there is nothing to count."""
    low, high = wilson(count, n) if n else (None, None)
    return {"rate": count / n if n else None, "low": low, "high": high}


def estimate_of(values: NDArray[np.float64]) -> dict[str, float | None]:
    """The first of resampled values with the interval of the others, as columns of a table; empty if undefined."""
    value, (low, high) = value_and_interval(values) or (None, (None, None))
    return {"value": value, "low": low, "high": high}


def rate_row(group: Sequence[Outcome], within: int = WITHIN) -> dict[str, Any]:
    """How often a group learned, with its Wilson interval over seeds."""
    count, n = sum(learned(group, within)), len(group)
    return {"seeds": n, "learned": count, **rate_of(count, n)}


def steps_row(steps: Sequence[int]) -> dict[str, Any]:
    """The first, the middle and the last step at which runs learned."""
    return {"first_step": min(steps, default=None), "median_step": median(steps), "last_step": max(steps, default=None)}


def rate_table(runs: Runs, within: int = WITHIN) -> list[dict[str, Any]]:
    """A row for each setting: how many runs learned within so many updates, with a Wilson interval, and how soon."""
    return [
        {
            "setting": name,
            **rate_row(group, within),
            **steps_row(learned_steps(group, within)),
            **{f"{what}_at_end": mean(one.run.rows[-1][f"{what}_accuracy"] for one in group) for what in POINTING},
        }
        for name, group in runs.items()
    ]


def rates_in_words(table: Iterable[Mapping[str, Any]], within: int = WITHIN, what: str = "runs learned") -> str:
    """The table of rates as sentences; ``what``: what so many of the seeds, or runs, did."""
    sentences = []
    for row in table:
        when = f"; median step {row['median_step']:.0f}" if row["learned"] else ""
        sentences.append(
            f"{row['setting']}: {row['learned']} of {row.get('seeds', row.get('runs'))} {what} within {within} updates "
            f"({row['rate']:.0%}, 95 % interval {row['low']:.0%} to {row['high']:.0%}{when})."
        )
    return " ".join(sentences)

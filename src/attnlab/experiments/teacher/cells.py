"""Cells of a grid, where one run trains a student on many problems side by side, and curves of error against n."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from attnlab.lab.claims import Part, Preset
from attnlab.lab.experiment import Experiment, Order, Setting, Table
from attnlab.lab.outcomes import Outcome, Runs
from attnlab.lab.rules import above, missing
from attnlab.records import Spec
from attnlab.runs.optimisers import AdamSpec
from attnlab.runs.schedule import Schedule
from attnlab.runs.spec import RunSpec
from attnlab.stats.bootstrap import bootstrap_interval
from attnlab.stats.samples_needed import Needed, growth, log_ratio, samples_needed

EVERY = 25
"""Updates between evaluations, at the best of which a student is tested."""
VARIED = ("p", "s0", "d", "option")
"""What may be varied from the centre of a grid; empty in the tables where it is not."""
LEAST = 20
"""Fewest problems that decide."""


@dataclass(frozen=True)
class Cell:
    """A ``student`` by name on a ``task`` by name, at the sample size ``samples``; ``spec`` takes how many problems.

    ``at``: what else tells it from others of the same names, such as p.
    """

    task: str
    student: str
    samples: int
    make_task: Any
    model: Spec
    rate: float = 0.01
    batch: int | None = None
    at: tuple[tuple[str, int | str], ...] = ()

    @property
    def name(self) -> str:
        """As runs are shown."""
        where = "".join(f", {what} = {value}" for what, value in self.at)
        return f"{self.task}{where}: {self.student}, n = {self.samples}"

    @property
    def curve(self) -> tuple[Any, ...]:
        """What all sample sizes of one curve have in common."""
        return (self.task, self.student, self.at)

    def setting(self, problems: int, steps: int, every: int = EVERY) -> Setting:
        """One run with so many problems."""

        def spec(seed: int) -> RunSpec:
            return RunSpec(
                task=self.make_task(self.samples, problems),
                model=self.model,
                optimiser=AdamSpec(learning_rate=self.rate),
                batch=self.batch,
                init_seed=seed,
                data_seed=seed,
            )

        schedule = Schedule.every(every, steps=steps, checkpoint_every=max(steps // 2, 1))
        return Setting(self.name, spec, {"quick": 1, "reduced": 1, "paper": 1}, schedule)


def best_errors(rows: Sequence[Mapping[str, float]], problems: int) -> list[float]:
    """Each problem's test error at the evaluation with its least validation loss (the first of equals)."""
    errors = []
    for problem in range(problems):
        best = min(rows, key=lambda row: row[f"valid_{problem}"])
        errors.append(float(best[f"test_{problem}"]))
    return errors


@dataclass(frozen=True)
class Curve:
    """The error of a student on a task against n: ``errors[n][problem]``."""

    task: str
    student: str
    at: tuple[tuple[str, int | str], ...]
    errors: Mapping[int, Sequence[float]]

    @property
    def problems(self) -> int:
        return min(len(values) for values in self.errors.values())

    def columns(self) -> dict[str, Any]:
        """What it is of, as columns of a table that are the same for all curves."""
        return {"task": self.task, "student": self.student, **{what: dict(self.at).get(what) for what in VARIED}}

    def needed(self, level: float) -> list[Needed]:
        """For each problem the samples that an error of ``level`` takes."""
        sizes = sorted(self.errors)
        return [samples_needed(sizes, [self.errors[n][k] for n in sizes], level) for k in range(self.problems)]

    def mean_rows(self) -> list[dict[str, Any]]:
        """The mean over problems at each n, with its interval."""
        rows = []
        for n, values in sorted(self.errors.items()):
            low, high = bootstrap_interval(values) or (None, None)
            named = self.columns()
            rows.append(
                {**named, "n": n, "problems": len(values), "error": float(np.mean(values)), "low": low, "high": high}
            )
        return rows

    def needed_row(self, level: float) -> dict[str, Any]:
        """The samples needed: geometric mean over the problems inside the sizes measured, and how many are outside."""
        needed = self.needed(level)
        inside = [one.samples for one in needed if one.where == "inside"]
        logs = np.log(inside) if inside else None
        interval = bootstrap_interval(logs) if logs is not None else None
        return {
            **self.columns(),
            "needed": float(np.exp(np.mean(logs))) if logs is not None else None,
            "low": float(np.exp(interval[0])) if interval else None,
            "high": float(np.exp(interval[1])) if interval else None,
            "inside": len(inside),
            "below": sum(one.where == "below" for one in needed),
            "above": sum(one.where == "above" for one in needed),
        }


class CellExperiment(Experiment):
    """An experiment on a grid of cells; ``curves`` by (task, student, at) once it is measured.

    ``problems`` and ``steps``: how many at each preset. ``cells_at``: the grid.
    """

    problems: ClassVar[dict[Preset, int]]
    steps: ClassVar[dict[Preset, int]]
    decides_at = ("reduced", "paper")
    curves: dict[Any, Curve]

    def cells_at(self, preset: Preset) -> list[Cell]:
        """The grid of a preset."""
        raise NotImplementedError

    def steps_of(self, cell: Cell, preset: Preset) -> int:  # noqa: ARG002 (most train all alike)
        """Updates of a cell's run."""
        return self.steps[preset]

    def asked(self, order: Order) -> list[tuple[Setting, int]]:
        """One run for each cell; ``--seeds`` says how many problems it has."""
        problems = self.problems[order.preset]
        problems = problems if order.seeds is None else min(problems, order.seeds)
        return [(cell.setting(problems, self.steps_of(cell, order.preset)), 0) for cell in self.cells_at(order.preset)]

    def measure(self, runs: Runs) -> None:
        errors: dict[Any, dict[int, list[float]]] = {}
        for cell in self.cells_at(self.order.preset):
            for outcome in runs[cell.name]:
                problems = outcome.spec.task.problems  # type: ignore[union-attr]
                errors.setdefault(cell.curve, {})[cell.samples] = best_errors(outcome.run.rows, problems)
        self.curves = {key: Curve(key[0], key[1], key[2], by_size) for key, by_size in errors.items()}

    def seeds(self) -> dict[str, list[int]]:
        most = max((curve.problems for curve in self.curves.values()), default=0)
        return {"problems": list(range(most))}

    def recorded(self) -> dict[Any, Curve]:
        """The curves as the table of errors has them: what rules read, also of a result written long ago."""
        if "curves" not in vars(self):
            self.curves = curves_of(self.record.rows("errors"))
        return self.curves

    def run_tables(self) -> dict[str, Table]:
        """Every problem's error, a row each; all measurements of all networks would be millions of numbers."""
        return {
            "errors": [
                {**curve.columns(), "n": n, "problem": k, "error": error}
                for curve in self.curves.values()
                for n, values in sorted(curve.errors.items())
                for k, error in enumerate(values)
            ],
            "runs": [self.run_row(outcome) for outcome in self.runs.all()],
        }

    def run_row(self, outcome: Outcome) -> dict[str, Any]:
        return {"setting": outcome.setting, "run": outcome.run.id, "last_step": outcome.run.step}


def curves_of(rows: Iterable[Mapping[str, Any]]) -> dict[Any, Curve]:
    """The curves that a table of errors keeps."""
    errors: dict[Any, dict[int, list[float]]] = {}
    for row in rows:
        at = tuple((what, row[what]) for what in VARIED if row[what] is not None)
        errors.setdefault((row["task"], row["student"], at), {}).setdefault(row["n"], []).append(row["error"])
    return {key: Curve(key[0], key[1], key[2], by_size) for key, by_size in errors.items()}


def compare(name: str, without: Curve | None, attention: Curve | None, level: float, *, least: int = LEAST) -> Part:
    """Does the first need more samples for an error of ``level``? log2 of the ratio, within each problem."""
    if without is None or attention is None:
        return missing(name, "problems")
    pairs = list(zip(without.needed(level), attention.needed(level), strict=True))
    ratios = [ratio for pair in pairs if (ratio := log_ratio(*pair)) is not None]
    beyond = sum(one.where == "above" for one, _ in pairs)
    if not ratios:
        return missing(name, "problems", f"Neither reaches an error of {level} in any problem at the sizes measured.")
    detail = (
        f"{2 ** np.mean(ratios):.1f} times as many samples without attention, geometric mean over {len(ratios)} "
        f"problems"
    )
    if beyond:
        detail += f"; in {beyond} the model without never gets there and counts with the largest n"
    if len(ratios) < len(pairs):
        detail += f"; {len(pairs) - len(ratios)} say nothing"
    return above(name, ratios, 0.0, detail + ".", least=least, over="problems")


def growth_row(curves: Iterable[tuple[float, Curve]], level: float) -> dict[str, Any] | None:
    """The exponent of samples needed against a size, with its interval, over sizes at which most problems get there."""
    sizes, needed = [], []
    for size, curve in sorted(curves, key=lambda pair: pair[0]):
        inside = [one.samples for one in curve.needed(level) if one.where == "inside"]
        if 2 * len(inside) > curve.problems:
            sizes.append(size)
            needed.append(inside)
    if len(sizes) < 2:
        return None
    exponent, low, high = growth(sizes, needed)
    return {"exponent": exponent, "low": low, "high": high, "sizes": " ".join(f"{size:g}" for size in sizes)}

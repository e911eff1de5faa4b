"""The early verdict: from what is measured up to step t, the chance that a run will have learned to copy by step 200.

    log-odds = b + c1 s + c2 s^2 + sum_k w_k (x_k - m_k) / sd_k          s = log(t / 20) / log(150 / 20)

x_k: the measures below at step t, and what they changed since t - 10. The numbers are in ``early_verdict.json``, as the
experiment early-verdict fitted them; its README.md says to what, and how well they do.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib import resources
from math import log
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from pydantic import Field, model_validator

from attnlab.errors import UsageError
from attnlab.families.copying.spec import CopyingSpec
from attnlab.protocols import Row, RunSettings
from attnlab.records import Count, Record, Share, Spec

Floats = NDArray[np.float64]

BY = 200
"""The step by which a run is to have learned."""
LEARNED = 0.95
"""... which is to have an accuracy above this."""
STEPS = tuple(range(20, 160, 10))
"""The steps at which there is a verdict."""
BACK = 10
"""Updates over which changes are taken."""
IN_A_ROW = 2
"""So many of these steps in a row must find a run hopeless before it is ended."""
EDGE = 1e-3
"""Shares are kept this far from 0 and 1 before their log-odds are taken: 50 sequences show no smaller ones."""


class Chance(Record):
    """What guessing is on a copying task: at one of so many ``positions``, one of so many ``words``."""

    positions: Annotated[int, Field(ge=2)]
    words: Annotated[int, Field(ge=2)]


def _log_odds(share: float) -> float:
    inside = min(max(share, EDGE), 1 - EDGE)
    return log(inside / (1 - inside))


MEASURES: dict[str, Callable[[Row, Chance], float]] = {
    "loss": lambda row, chance: log(row["loss"] / log(chance.words)),
    "entropy": lambda row, chance: _log_odds(row["attention_entropy"] / log(chance.positions)),
    "attention": lambda row, chance: _log_odds(row["attention_accuracy"]) - _log_odds(1 / chance.positions),
    "probe": lambda row, chance: _log_odds(row["probe_accuracy"]) - _log_odds(1 / chance.positions),
    "probe_mean": lambda row, chance: log(row["probe_mean"] * chance.words),
    "accuracy": lambda row, chance: _log_odds(row["accuracy"]) - _log_odds(1 / chance.words),
}
"""What is looked at, each relative to chance or to its largest value, so that lengths and vocabularies compare."""
CHANGE = "_change"
"""The name of a measure's change ends so."""


class Feature(Record):
    """One x_k: a measure's name, or that of its change, with m_k, sd_k and w_k."""

    name: str
    mean: float
    scale: Annotated[float, Field(gt=0)]
    weight: float

    @model_validator(mode="after")
    def _known(self) -> "Feature":
        if self.name.removesuffix(CHANGE) not in MEASURES:
            raise ValueError(f"no measure is called {self.name}; measures are {', '.join(MEASURES)}")
        return self


class Regression(Record):
    """b, c and all that belongs to the x_k."""

    intercept: float
    time: tuple[float, float]
    features: tuple[Feature, ...]

    def chances(self, values: ArrayLike, steps: ArrayLike) -> Floats:
        """The chance of each case: (cases,); ``values``: its features (cases, features), ``steps``: t, (cases,)."""
        mean, scale, weight = (
            np.array([getattr(feature, part) for feature in self.features]) for part in ("mean", "scale", "weight")
        )
        odds = (np.asarray(values, dtype=np.float64) - mean) / scale @ weight
        odds = odds + time_terms(steps) @ np.array(self.time) + self.intercept
        chances: Floats = 1 / (1 + np.exp(-np.clip(odds, -30, 30)))
        return chances


class FittedVerdict(Record):
    """A fitted verdict: where it is from, its regression, and below which chance a run is given up.

    ``experiment`` and ``preset`` name what it was fitted by, ``runs`` to how many runs of ``distributions``.
    """

    experiment: str
    preset: str
    by: Count
    steps: tuple[Count, ...]
    runs: Count
    distributions: Count
    penalty: float
    give_up_below: Share
    regression: Regression

    def chance(self, rows: Mapping[int, Row], step: int, chance: Chance) -> float | None:
        """The chance at ``step`` that a run will have learned, by its ``rows`` so far.

        None where there is no verdict: at other steps than its own, where the run was not measured there or 10 updates
        before, and once it has learned.
        """
        if step not in self.steps or step not in rows or step - BACK not in rows:
            return None
        if any(row["accuracy"] > LEARNED for at, row in rows.items() if at <= step):
            return None
        values = features(rows, step, chance, [feature.name for feature in self.regression.features])
        return float(self.regression.chances([values], [step])[0])


def given_up(steps: Sequence[int], chances: Sequence[float | None], below: float) -> int | None:
    """The first step whose chance, and that of the step before it, lie below ``below``.

    >>> given_up([20, 30, 40, 50], [0.01, 0.5, 0.01, 0.01], below=0.02)
    50
    """
    low = 0
    for step, chance in zip(steps, chances, strict=True):
        low = low + 1 if chance is not None and chance < below else 0
        if low == IN_A_ROW:
            return step
    return None


def features(rows: Mapping[int, Row], step: int, chance: Chance, names: Sequence[str]) -> list[float]:
    """The features called so, at a step."""
    values = []
    for name in names:
        measure = MEASURES[name.removesuffix(CHANGE)]
        try:
            value = measure(rows[step], chance)
            values.append(value - measure(rows[step - BACK], chance) if name.endswith(CHANGE) else value)
        except KeyError as missing:
            raise UsageError(f"The early verdict needs {missing}, which is not measured in this run.") from None
    return values


def time_terms(steps: ArrayLike) -> Floats:
    """s and s^2: (cases, 2)."""
    s = np.log(np.asarray(steps, dtype=np.float64) / STEPS[0]) / log(STEPS[-1] / STEPS[0])
    return np.stack([s, s**2], -1)


@cache
def shipped() -> FittedVerdict:
    """The verdict that comes with attnlab."""
    document = resources.files("attnlab.families.copying").joinpath("early_verdict.json").read_text(encoding="utf-8")
    return FittedVerdict.model_validate_json(document)


class EarlyVerdict(Chance, Spec):
    """Ends a run once the shipped verdict gives it up: a stop rule (`attnlab.protocols.StopRule`).

    >>> EarlyVerdict(positions=41, words=41).reason
    'the early verdict found it hopeless'
    """

    kind: Literal["early-verdict"] = "early-verdict"

    @property
    def reason(self) -> str:
        return "the early verdict found it hopeless"

    def stops_at(self, rows: Mapping[int, Row]) -> int | None:
        verdict = shipped()
        return given_up(verdict.steps, [verdict.chance(rows, at, self) for at in verdict.steps], verdict.give_up_below)

    def chance(self, rows: Mapping[int, Row], step: int) -> float | None:
        """The newest verdict up to ``step``; None once the run has learned or the last verdict is past."""
        verdict = shipped()
        if step > verdict.steps[-1] or any(row["accuracy"] > LEARNED for at, row in rows.items() if at <= step):
            return None
        chances = [verdict.chance(rows, at, self) for at in verdict.steps if at <= step]
        return next((chance for chance in reversed(chances) if chance is not None), None)


def chance_of(spec: RunSettings) -> Chance | None:
    """What chance is in a run, or None where the verdict was fitted to nothing like it.

    It was fitted to P3's network, trained as P3 did, on copying word by word in order.
    """
    task = spec.task
    if not isinstance(task, CopyingSpec) or task.order is not None:
        return None
    if not spec.identity().keys() <= {"task", "init_seed", "data_seed"}:  # all else is as P3 has it
        return None
    distribution = task.distribution.build()
    return Chance(positions=distribution.length + 1, words=distribution.words + 1)  # with the end symbol


def stop_rule(spec: RunSettings) -> EarlyVerdict | None:
    """The stop rule for a run, or None where the verdict was fitted to nothing like it."""
    chance = chance_of(spec)
    return None if chance is None else EarlyVerdict(positions=chance.positions, words=chance.words)


def may_give_up(spec: RunSettings, schedule: Any) -> bool:
    """Whether a run can be ended by the verdict: one that it knows, and of which step 200 is the end that counts."""
    return schedule.steps == BY and {*STEPS} <= {*schedule.evaluations} and chance_of(spec) is not None


def giving_up(spec: RunSettings, schedule: Any) -> Any:
    """The same schedule (`attnlab.runs.schedule.Schedule`), ended once the verdict gives the run up."""
    if not may_give_up(spec, schedule):
        raise UsageError(
            f"Run {spec.id} cannot be ended by the early verdict, which is about P3's network on copying, measured "
            f"every {BACK} updates up to step {BY}."
        )
    return schedule.model_copy(update={"give_up": stop_rule(spec)})

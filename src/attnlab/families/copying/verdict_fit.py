"""How the early verdict is fitted: runs as cases, one for each step at which they had not learned yet.

A case's features are rounded to six digits, so that a result's table ``cases`` gives the same fit to the last bit.
"""

import csv
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnlab.families.copying import early_verdict as early
from attnlab.protocols import Row
from attnlab.seeds import numpy_generator

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]

PENALTY = 1.0
"""scikit-learn's C: the sum of losses counts so many times half the squared weights of standardised features."""
DIGITS = 6
THRESHOLDS = (0.005, 0.01, 0.02, 0.05, 0.1)
FALSE_STOPS = 0.02
"""At most this share of the runs that learn may be given up, on the fitting half."""
FOLDS = 5
_COINS = numpy_generator(0, "early verdict").integers(2, size=100)  # one for every two seeds

COLUMNS = tuple(f"{name}{ending}" for name in early.MEASURES for ending in ("", early.CHANGE))
FEATURE_SETS: dict[str, tuple[str, ...]] = {
    "all": ("loss", "entropy", "attention", "probe", "probe_mean"),
    "loss and entropy": ("loss", "entropy"),
    "with attention": ("loss", "entropy", "attention"),
    "with the probe": ("loss", "entropy", "probe", "probe_mean"),
    "the probe alone": ("probe", "probe_mean"),
    "accuracy alone": ("accuracy",),
}
"""Which measures a fit looks at; the verdict is the first."""


@dataclass(frozen=True)
class Followed:
    """One run: its distribution and that one's family, its seed, its evaluations, and the step at which it learned."""

    distribution: str
    family: str
    seed: int
    chance: early.Chance
    rows: Mapping[int, Row]
    learned_at: int | None

    @property
    def accuracy_at(self) -> int | None:
        """The first evaluation whose accuracy exceeds one half."""
        return next((step for step, row in sorted(self.rows.items()) if row["accuracy"] > 0.5), None)


def in_fitting_half(seed: int) -> bool:
    """Of seeds 0 and 1, 2 and 3, and so on one each; the same in all distributions, which share their starts.

    >>> [sum(in_fitting_half(seed) for seed in pair) for pair in ((0, 1), (2, 3), (38, 39))]
    [1, 1, 1]
    """
    return bool(_COINS[seed // 2] == seed % 2)


@dataclass(frozen=True, eq=False)
class Cases:
    """Runs at steps: ``values`` (cases, COLUMNS), and of each case its ``run`` and ``step``; of each run whether it
    ``learned``, its ``distribution``, ``family``, ``seed`` and whether it is ``fitting``.
    """

    values: Floats
    run: NDArray[np.int64]
    step: NDArray[np.int64]
    learned: Mask
    distribution: Sequence[str]
    family: Sequence[str]
    seed: NDArray[np.int64]

    @property
    def fitting(self) -> Mask:
        """Of each run, whether it is in the fitting half."""
        return np.array([in_fitting_half(int(seed)) for seed in self.seed], dtype=bool)

    def outcome(self) -> Mask:
        """Of each case, whether its run learned."""
        return self.learned[self.run]

    def of(self, runs: Mask) -> Mask:
        """The cases of these runs."""
        return runs[self.run]


def make_cases(runs: Sequence[Followed], by: int) -> Cases:
    """All steps before ``by`` at which the runs have not learned yet."""
    places = [
        (place, step)
        for place, run in enumerate(runs)
        for step in early.STEPS
        if step < by
        and (run.learned_at is None or step < run.learned_at)
        and {step, step - early.BACK} <= run.rows.keys()
    ]
    values = [early.features(runs[place].rows, step, runs[place].chance, COLUMNS) for place, step in places]
    described = [(run.learned_at is not None, run.distribution, run.family, run.seed) for run in runs]
    return _cases(np.array(values).reshape(-1, len(COLUMNS)).round(DIGITS), places, described)


def _cases(values: Floats, places: Sequence[tuple[int, int]], runs: Sequence[tuple[bool, str, str, int]]) -> Cases:
    """``places``: of each case its run and step. ``runs``: learned, distribution, family and seed of each."""
    run, step = np.array(places, dtype=np.int64).reshape(-1, 2).T
    learned, distribution, family, seed = zip(*runs, strict=True) if runs else ((), (), (), ())
    return Cases(values, run, step, np.array(learned, bool), distribution, family, np.array(seed, np.int64))


def case_table(cases: Cases) -> list[dict[str, Any]]:
    """The cases as a table, from which `read_cases` makes them again."""
    return [
        {
            "run": int(run),
            "distribution": cases.distribution[run],
            "family": cases.family[run],
            "seed": int(cases.seed[run]),
            "learned": int(cases.learned[run]),
            "step": int(step),
            **dict(zip(COLUMNS, map(float, values), strict=True)),
        }
        for run, step, values in zip(cases.run, cases.step, cases.values, strict=True)
    ]


def read_cases(path: Path) -> Cases:
    """The cases of a result's table; runs that have none are not in it."""
    with path.open(newline="", encoding="utf-8") as lines:
        rows = list(csv.DictReader(lines))
    runs = {row["run"]: (row["learned"] == "1", row["distribution"], row["family"], int(row["seed"])) for row in rows}
    number = {run: place for place, run in enumerate(runs)}
    places = [(number[row["run"]], int(row["step"])) for row in rows]
    return _cases(np.array([[float(row[name]) for name in COLUMNS] for row in rows]), places, list(runs.values()))


# --- fits


def columns_of(measures: Iterable[str]) -> list[int]:
    """The places of the measures and their changes in a case's values."""
    return [COLUMNS.index(f"{name}{ending}") for name in measures for ending in ("", early.CHANGE)]


def fit(cases: Cases, chosen: Mask, measures: Sequence[str] = FEATURE_SETS["all"]) -> early.Regression:
    """The regression of ``chosen`` cases (cases,) on these measures; a constant where they all ended alike."""
    from sklearn.linear_model import LogisticRegression  # half a second that other experiments need not wait for

    columns = columns_of(measures)
    values, learned = cases.values[chosen][:, columns], cases.outcome()[chosen]
    names = [COLUMNS[column] for column in columns]
    if learned.all() or not learned.any():
        share = (learned.sum() + 0.5) / (len(learned) + 1)
        constant = tuple(early.Feature(name=name, mean=0.0, scale=1.0, weight=0.0) for name in names)
        return early.Regression(intercept=_rounded(np.log(share / (1 - share))), time=(0.0, 0.0), features=constant)
    mean, spread = values.mean(0), values.std(0)
    mean = np.array([_rounded(number) for number in mean])
    spread = np.array([_rounded(number) if number > 10.0**-DIGITS else 1.0 for number in spread])
    model = LogisticRegression(C=PENALTY, max_iter=10_000, tol=1e-9)
    model.fit(np.column_stack([(values - mean) / spread, early.time_terms(cases.step[chosen])]), learned)
    *weights, first, second = (_rounded(weight) for weight in model.coef_[0])
    return early.Regression(
        intercept=_rounded(model.intercept_[0]),
        time=(first, second),
        features=tuple(
            early.Feature(name=name, mean=float(m), scale=float(s), weight=weight)
            for name, m, s, weight in zip(names, mean, spread, weights, strict=True)
        ),
    )


def judge(regression: early.Regression, cases: Cases) -> Floats:
    """The chance that the regression gives to every case: (cases,)."""
    columns = [COLUMNS.index(feature.name) for feature in regression.features]
    return regression.chances(cases.values[:, columns], cases.step)


def judge_halves(cases: Cases, measures: Sequence[str] = FEATURE_SETS["all"]) -> Floats:
    """Chances by the fit to the fitting half: (cases,), nan where a case was fitted to."""
    fitting = cases.of(cases.fitting)
    return np.where(fitting, np.nan, judge(fit(cases, fitting, measures), cases))


def judge_left_out(
    cases: Cases, group: Sequence[object], within: Mask, measures: Sequence[str] = FEATURE_SETS["all"]
) -> Floats:
    """Chances by a fit to the cases ``within`` (cases,) of all groups of runs but a case's own: (cases,).

    nan where nothing is left to be fitted to. ``group``: of each run.
    """
    chances = np.full(len(cases.run), np.nan)
    for name in dict.fromkeys(group):
        own = cases.of(np.array([one == name for one in group], dtype=bool))
        if (within & ~own).any():
            chances[own] = judge(fit(cases, within & ~own, measures), cases)[own]
    return chances


def stops(cases: Cases, chances: Floats, below: float) -> dict[int, int | None]:
    """For each run that was judged, the step at which it is given up, or None."""
    by_run: dict[int, list[tuple[int, float]]] = {}
    for run, step, chance in zip(cases.run, cases.step, chances, strict=True):
        if not np.isnan(chance):
            by_run.setdefault(int(run), []).append((int(step), float(chance)))
    return {
        run: early.given_up([step for step, _ in judged], [chance for _, chance in judged], below)
        for run, judged in by_run.items()
    }


def choose_threshold(cases: Cases, chances: Floats) -> float:
    """The largest threshold with which at most 2 % of the runs that learn are given up; else the smallest of all."""
    for below in sorted(THRESHOLDS, reverse=True):
        ended = [step is not None for run, step in stops(cases, chances, below).items() if cases.learned[run]]
        if sum(ended) <= FALSE_STOPS * len(ended):
            return below
    return THRESHOLDS[0]


def judge_folds(cases: Cases) -> Floats:
    """Chances of the fitting half's cases, by fits to the other four fifths of its seeds: (cases,), else nan."""
    fitting = cases.of(cases.fitting)
    folds = [int(seed) // 2 % FOLDS for seed in cases.seed]
    return np.where(fitting, judge_left_out(cases, folds, fitting), np.nan)


def make_verdict(cases: Cases, *, preset: str, by: int) -> early.FittedVerdict:
    """The verdict as it is shipped: fitted to the fitting half, its threshold chosen there."""
    judged = sorted({int(run) for run in cases.run[cases.of(cases.fitting)]})
    return early.FittedVerdict(
        experiment="early-verdict",
        preset=preset,
        by=by,
        steps=tuple(step for step in early.STEPS if step < by),
        runs=len(judged),
        distributions=len({cases.distribution[run] for run in judged}),
        penalty=PENALTY,
        give_up_below=choose_threshold(cases, judge_folds(cases)),
        regression=fit(cases, cases.of(cases.fitting)),
    )


def _rounded(number: float) -> float:
    return round(float(number), DIGITS)

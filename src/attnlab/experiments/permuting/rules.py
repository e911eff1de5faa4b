"""The rules of the experiment permuting: the same probe, and learning against distance from the identity."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from attnlab.experiments.permuting.positions import Positions
from attnlab.lab.claims import Part, Verdict
from attnlab.lab.experiment import Table
from attnlab.lab.rules import below, within
from attnlab.lab.success import EVERY, Outcome
from attnlab.stats.bootstrap import resampled_rows, value_and_interval
from attnlab.stats.ranks import spearman

Floats = NDArray[np.float64]

POINTS = 0.02
"""Two points of accuracy: what counts as the same."""
FEWEST_RUNS = 5
"""Fewest runs of a kind of order for the comparison across orders."""
FEWEST_ORDERS = 10
"""Fewest random orders for the comparison of positions."""
MEASURES = ("lift", "attention", "accuracy")
"""What says how well a position was learned; the first decides."""


def mean_probe(outcome: Outcome) -> float:
    """The probe's top-1 accuracy, mean over the evaluations after the start."""
    return float(np.mean([row["probe_accuracy"] for row in outcome.run.rows if row["step"] > 0]))


def same_probe(plain: Sequence[Outcome], moved: Sequence[Outcome]) -> Part:
    """Holds if beta_uf finds the right position as often whatever the order: paired difference within 2 points of 0."""
    before = {one.seed: mean_probe(one) for one in plain}
    pairs = [(before[one.seed], mean_probe(one)) for one in moved if one.seed in before]
    means = [float(np.mean([pair[side] for pair in pairs])) if pairs else 0.0 for side in (0, 1)]
    told = (
        f"Under uniform attention the probe is largest at the right position in {means[0]:.1%} of the cases on copying "
        f"and in {means[1]:.1%} on random orders."
    )
    return within("the same beta_uf", [random - copy for copy, random in pairs], 0.0, POINTS, told)


def across_orders(runs: Sequence[tuple[Outcome, float]], kinds: Sequence[str], updates: int) -> Part:
    """Holds if runs whose order is further from the identity learn later: Spearman's correlation above 0.

    ``runs``: each with its order's mean |pi(t) - t|. ``kinds``: the names of all kinds of order that are compared.
    """
    name = "across orders"
    groups = [one.setting for one, _ in runs]
    steps = np.array([step_or_behind(one, updates) for one, _ in runs], dtype=np.float64)
    distances = np.array([distance for _, distance in runs])
    rows = resampled_rows(groups, name)
    found = value_and_interval(spearman(distances[rows], steps[rows])) if runs else None
    fewest = min(groups.count(kind) for kind in kinds)
    few = f" At least {FEWEST_RUNS} runs of each order are needed." if fewest < FEWEST_RUNS else ""
    if found is None:
        detail = "All runs learned at the same step, or their orders are equally far from the identity."
        return Part(name, "undecided", None, None, "runs", detail + few)
    value, interval = found
    verdict: Verdict = "undecided"
    if not few:
        verdict = "holds" if interval[0] > 0 else "fails" if interval[1] < 0 else "undecided"
    medians = {kind: np.median(steps[np.array(groups) == kind]) for kind in kinds if kind in groups}
    told = ", ".join(f"{kind} {'never' if step > updates else f'{step:g}'}" for kind, step in medians.items())
    detail = (
        f"Spearman's correlation of mean distance and step of success is {value:.2f} over {len(runs)} runs. Median "
        f"steps: {told}."
    )
    return Part(name, verdict, value, interval, "runs", detail + few)


def step_or_behind(outcome: Outcome, updates: int) -> int:
    """The step at which a run learned; one evaluation behind the last where it did not."""
    step = outcome.learned_within(updates)
    return updates + EVERY if step is None else step


def by_position(orders: Sequence[Sequence[Positions]]) -> Part:
    """Holds if in random orders attention's lift falls with |pi(t) - t|: mean correlation over orders below 0."""
    values = []
    for runs in orders:
        found = [correlation(one, MEASURES[0]) for one in runs]
        known = [value for value in found if value is not None]
        values += [float(np.mean(known))] if known else []
    told = (
        f"Spearman's correlation of |pi(t) - t| and attention's lift at the right position is "
        f"{np.mean(values or 0):.2f} over {len(values)} random orders."
    )
    return below("position by position", values, 0.0, told, least=FEWEST_ORDERS, over="orders")


def correlation(positions: Positions, measure: str) -> float | None:
    """Spearman's correlation of distance and how well a position was learned; None where one of them is constant."""
    value = spearman(positions.distance[None].astype(np.float64), getattr(positions, measure)[None])[0]
    return None if np.isnan(value) else float(value)


def correlations(positions: Mapping[int, Positions]) -> Table:
    """A row for each run on a random order: how each measure goes with distance."""
    return [
        {"seed": seed, "step": one.step, **{measure: correlation(one, measure) for measure in MEASURES}}
        for seed, one in positions.items()
    ]

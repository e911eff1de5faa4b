"""Parts of claims decided from one value a seed: the bootstrap interval of its mean against a bound or a margin."""

from collections.abc import Sequence

import numpy as np

from attnlab.lab.claims import Part, Verdict
from attnlab.stats.bootstrap import bootstrap_interval

LEAST = 20
"""Fewest seeds on which such a part is decided, unless a rule says otherwise."""


def above(
    name: str, values: Sequence[float], bound: float, told: str, *, least: int = LEAST, over: str = "seeds"
) -> Part:
    """Holds if the whole 95 % interval of the mean lies above ``bound``; fails if it lies below."""
    interval = bootstrap_interval(values) if values else None
    verdict: Verdict = "undecided"
    if interval is not None and len(values) >= least:
        verdict = "holds" if interval[0] > bound else "fails" if interval[1] < bound else "undecided"
    return _part(name, verdict, values, interval, told, least, over)


def below(
    name: str, values: Sequence[float], bound: float, told: str, *, least: int = LEAST, over: str = "seeds"
) -> Part:
    """Holds if the whole 95 % interval of the mean lies below ``bound``; fails if it lies above."""
    interval = bootstrap_interval(values) if values else None
    verdict: Verdict = "undecided"
    if interval is not None and len(values) >= least:
        verdict = "holds" if interval[1] < bound else "fails" if interval[0] > bound else "undecided"
    return _part(name, verdict, values, interval, told, least, over)


def within(name: str, values: Sequence[float], centre: float, margin: float, told: str, *, least: int = LEAST) -> Part:
    """Holds if the whole 95 % interval of the mean lies within ``margin`` of ``centre``; fails if it lies outside.

    >>> within("a", [0.01] * 20, 0.0, 0.02, "It is 0.01.").verdict
    'holds'
    """
    interval = bootstrap_interval(values) if values else None
    verdict: Verdict = "undecided"
    if interval is not None and len(values) >= least:
        low, high = centre - margin, centre + margin
        if low <= interval[0] and interval[1] <= high:
            verdict = "holds"
        elif interval[1] < low or interval[0] > high:
            verdict = "fails"
    return _part(name, verdict, values, interval, told, least, "seeds")


def _part(
    name: str,
    verdict: Verdict,
    values: Sequence[float],
    interval: tuple[float, float] | None,
    told: str,
    least: int,
    over: str,
) -> Part:
    if not values:
        return Part(name, "undecided", None, None, over, "No run at this preset.")
    few = f" At least {least} {over} are needed, not {len(values)}." if len(values) < least else ""
    return Part(name, verdict, float(np.mean(values)), interval, over, told + few)

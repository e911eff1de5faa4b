"""The rules that experiments share: from numbers to a part of a claim, with its verdict, effect and interval.

Each says when the part holds and when it fails; in between it is undecided. Rules on means take one value a seed and
decide by the 95 % bootstrap interval of the mean; rules on rates take one True or False a seed.
"""

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from attnlab.lab.claims import Part, Verdict
from attnlab.stats.bootstrap import bootstrap_interval, interval_over_examples
from attnlab.stats.rates import fisher_exact, newcombe, wilson

LEAST = 20
"""Fewest seeds on which a rule decides, unless it says otherwise."""
NO_RUN = "No run at this preset."

Interval = tuple[float, float]
Values = Sequence[float]


# --- verdicts of an interval


def higher(interval: Interval | None, bound: float) -> Verdict:
    """Holds if the whole interval lies above ``bound``, fails if it lies below.

    >>> higher((0.2, 0.4), 0.1), higher((0.2, 0.4), 0.3), higher((0.2, 0.4), 0.5)
    ('holds', 'undecided', 'fails')
    """
    if interval is None:
        return "undecided"
    return "holds" if interval[0] > bound else "fails" if interval[1] < bound else "undecided"


def lower(interval: Interval | None, bound: float) -> Verdict:
    """Holds if the whole interval lies below ``bound``, fails if it lies above."""
    return "undecided" if interval is None else higher((-interval[1], -interval[0]), -bound)


def between(interval: Interval | None, low: float, high: float) -> Verdict:
    """Holds if the whole interval lies between ``low`` and ``high``, fails if it lies outside."""
    if interval is None:
        return "undecided"
    if low <= interval[0] and interval[1] <= high:
        return "holds"
    return "fails" if interval[1] < low or interval[0] > high else "undecided"


def as_good_as(interval: Interval | None, margin: float) -> Verdict:
    """Of a difference: holds if the whole interval lies within ``margin`` of 0, fails if it lies below that.

    >>> as_good_as((-0.01, 0.01), 0.02), as_good_as((-0.2, -0.1), 0.02), as_good_as((0.1, 0.2), 0.02)
    ('holds', 'fails', 'undecided')
    """
    inside = between(interval, -margin, margin)
    return inside if inside == "holds" else "fails" if lower(interval, -margin) == "holds" else "undecided"


def missing(name: str, over: str = "seeds", detail: str = NO_RUN) -> Part:
    """A part for which nothing was run, or nothing can be said."""
    return Part(name, "undecided", None, None, over, detail)


def in_words(interval: Interval | None) -> str:
    """An interval in words.

    >>> in_words((0.25, 0.5)), in_words(None)
    ('0.250 to 0.500', 'no interval')
    """
    return "no interval" if interval is None else f"{interval[0]:.3f} to {interval[1]:.3f}"


def low_high(interval: Interval | None, before: str = "") -> dict[str, float | None]:
    """An interval as two columns of a table, empty where there is none.

    >>> low_high((0.25, 0.5), "rise_")
    {'rise_low': 0.25, 'rise_high': 0.5}
    """
    low, high = (None, None) if interval is None else interval
    return {f"{before}low": low, f"{before}high": high}


# --- agreements: one value a text


def over_examples(values: NDArray[np.float64], groups: NDArray[np.int64] | None = None) -> Interval | None:
    """The 95 % interval over examples of the mean of ``values`` (texts,); None where there is a single example.

    ``groups`` (texts,): which are drawn together, such as the output words of one sentence.
    """
    interval = interval_over_examples(values, groups=groups)
    return None if interval is None else (interval.low, interval.high)


def far_exceeds(name: str, values: NDArray[np.float64], chance: NDArray[np.float64]) -> Part:
    """Holds if the lower bound over examples is above chance and the value at least twice it; fails if the whole
    interval lies below twice chance. ``values`` and ``chance`` (texts,).
    """
    value, level, interval = float(np.mean(values)), float(np.mean(chance)), over_examples(values)
    verdict: Verdict = "undecided"
    if interval is not None and interval[0] > level and value >= 2 * level:
        verdict = "holds"
    elif interval is not None and interval[1] < 2 * level:
        verdict = "fails"
    detail = f"{value:.3f} over {len(values)} texts, {value / level:.1f} times chance, {level:.3f}."
    return Part(name, verdict, value, interval, "examples", detail)


# --- means: one value a seed


def above(name: str, values: Values, bound: float, detail: str, *, least: int = LEAST, over: str = "seeds") -> Part:
    """Holds if the whole 95 % interval of the mean lies above ``bound``; fails if it lies below."""
    return _of_mean(name, values, partial(higher, bound=bound), detail, least, over)


def below(name: str, values: Values, bound: float, detail: str, *, least: int = LEAST, over: str = "seeds") -> Part:
    """Holds if the whole 95 % interval of the mean lies below ``bound``; fails if it lies above."""
    return _of_mean(name, values, partial(lower, bound=bound), detail, least, over)


def within(
    name: str, values: Values, centre: float, margin: float, detail: str, *, least: int = LEAST, over: str = "seeds"
) -> Part:
    """Holds if the whole 95 % interval of the mean lies within ``margin`` of ``centre``; fails if it lies outside.

    >>> within("a", [0.01] * 20, 0.0, 0.02, "It is 0.01.").verdict
    'holds'
    """
    rule = partial(between, low=centre - margin, high=centre + margin)
    return _of_mean(name, values, rule, detail, least, over)


def _of_mean(
    name: str, values: Values, rule: Callable[[Interval | None], Verdict], detail: str, least: int, over: str
) -> Part:
    if not values:
        return missing(name, over)
    few, interval = len(values) < least, bootstrap_interval(values)
    needed = f" At least {least} {over} are needed, not {len(values)}." if few else ""
    return Part(name, "undecided" if few else rule(interval), float(np.mean(values)), interval, over, detail + needed)


# --- rates: whether each seed did


def all_of(name: str, learned: Sequence[bool], *, least: int = LEAST, over: str = "seeds") -> Part:
    """Holds if all of at least 20 seeds learn; one that does not refutes it.

    >>> all_of("40 of 60", [True] * 20).verdict, all_of("40 of 60", [True] * 5).verdict
    ('holds', 'undecided')
    """
    return _of_rate(name, learned, "fails" if not all(learned) else "holds", least, over)


def none_of(name: str, learned: Sequence[bool], *, least: int = LEAST, over: str = "seeds") -> Part:
    """Holds if none of at least 20 seeds learns; one that does refutes it."""
    return _of_rate(name, learned, "fails" if any(learned) else "holds", least, over)


def _of_rate(name: str, learned: Sequence[bool], verdict: Verdict, least: int, over: str) -> Part:
    count, n = sum(learned), len(learned)
    if not n:
        return missing(name, over)
    decided: Verdict = "undecided" if verdict == "holds" and n < least else verdict
    return Part(name, decided, count / n, wilson(count, n), over, f"{count} of {n} {over} learned.")


def of_rate(
    name: str,
    happened: Sequence[bool],
    rule: Callable[[Interval], Verdict],
    detail: str,
    *,
    over: str,
    least: int = 1,
    none: str = NO_RUN,
) -> Part:
    """Decided by Wilson's interval of how often something happened; ``detail``: what, after "so many of so many"."""
    count, n = sum(happened), len(happened)
    if not n:
        return missing(name, over, none)
    interval = wilson(count, n)
    verdict = rule(interval) if n >= least else "undecided"
    return Part(name, verdict, count / n, interval, over, f"{count} of {n} {over}{detail}.")


def more_often(name: str, learned: Sequence[bool], others: Sequence[bool]) -> Part:
    """Holds if the first group learns more often than the second, significantly (exact test); fails if less often."""
    if not learned or not others:
        return missing(name)
    (a, n), (b, m) = ((sum(group), len(group)) for group in (learned, others))
    p, difference = fisher_exact((a, n), (b, m)), a / n - b / m
    verdict: Verdict = "undecided" if p >= 0.05 else "holds" if difference > 0 else "fails"
    detail = f"{a} of {n} seeds learned against {b} of {m} (p = {p:.2g})."
    return Part(name, verdict, difference, newcombe((a, n), (b, m)), "seeds", detail)


def often_fails(learned: Sequence[bool], control: Sequence[bool], detail: str) -> Part:
    """Holds if the failure rate's lower bound is above 0.1 and it differs from the control's (exact test).

    ``detail``: says how often both failed; the p-value is added.
    """
    if not learned or not control:
        return missing("often fail")
    (failed, n), (other, m) = ((len(group) - sum(group), len(group)) for group in (learned, control))
    low, high = wilson(failed, n)
    p = fisher_exact((failed, n), (other, m))
    verdict: Verdict = "holds" if low > 0.1 and p < 0.05 else "fails" if high < 0.1 else "undecided"
    return Part("often fail", verdict, failed / n, (low, high), "seeds", f"{detail} (p = {p:.2g}).")

"""The rules that experiments share: from numbers to a part of a claim, with its verdict, effect and interval.

Each says when the part holds and when it fails; in between it is undecided. Rules on means take one value a seed and
decide by the 95 % bootstrap interval of the mean; rules on rates take one True or False a seed; rules on an `Estimate`
take a value with its interval as a table keeps it.

Where a rule has a margin of ours, the part says apart from it what the text's own words get: its direction.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnlab.lab.claims import Part, Verdict
from attnlab.stats.bootstrap import bootstrap_interval, interval_over_examples
from attnlab.stats.proportions import fisher_exact, newcombe, wilson

LEAST = 20
"""Fewest seeds on which a rule decides, unless it says otherwise."""
TAU_LEAST = 0.1
"""The least Kendall's tau that counts as agreement: its chance level is 0, which twice is no margin."""
NO_RUN = "No run at this preset."
FEW = 0.05
"""A few points. An interval over the texts of one run knows nothing of other starts: by less nothing is decided."""

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


# --- a value with its interval


@dataclass(frozen=True)
class Estimate:
    """A measured value with its 95 % interval. ``over``: what the interval is over. ``runs``: of how many trained runs
    the texts are that an interval over examples is over.
    """

    value: float
    interval: Interval | None
    over: str = "seeds"
    runs: int | None = None

    @classmethod
    def of(
        cls, row: Mapping[str, Any], value: str = "value", before: str = "", *, over: str = "examples", runs: int = 0
    ) -> "Estimate":
        """The one in columns ``value``, ``low`` and ``high`` of a table's row, the last two with ``before`` in front.

        >>> Estimate.of({"tau": 0.2, "tau_low": 0.1, "tau_high": 0.3}, "tau", "tau_").interval
        (0.1, 0.3)
        """
        low, high = row[f"{before}low"], row[f"{before}high"]
        return cls(row[value], None if low is None else (low, high), over, runs or None)


def estimate_row(what: str, found: Estimate | None, over: str, detail: str, **more: Any) -> dict[str, Any]:
    """A line of a table of estimates, for values that no other table has: what it is, its numbers, and a sentence."""
    value, interval = (None, None) if found is None else (found.value, found.interval)
    return {"what": what, "value": value, **low_high(interval), "over": over, **more, "detail": detail}


def exceeds(name: str, found: Estimate, bound: float, detail: str, *, least: float | None = None) -> Part:
    """Holds in direction if the whole interval lies above ``bound``, and fails if it lies below.

    With ``least``, our margin: holds if the value is at least that as well, fails if the whole interval lies below it.
    On one run neither direction is decided by less than a few points.

    >>> part = exceeds("SST", Estimate(0.17, (0.16, 0.18)), 0.09, "", least=0.2)
    >>> part.direction, part.verdict
    ('holds', 'fails')
    """
    direction, runs = higher(found.interval, bound), found.runs if found.over == "examples" else None
    if runs == 1 and direction != "undecided" and abs(found.value - bound) < FEW:
        direction, detail = "undecided", f"{detail} One run decides nothing by less than {100 * FEW:g} points."
    if least is None:
        return Part(name, direction, found.value, found.interval, found.over, detail, runs=runs)
    verdict: Verdict = "holds" if direction == "holds" and found.value >= least else "undecided"
    if found.interval is not None and found.interval[1] < least:
        verdict = "fails"
    return Part(name, verdict, found.value, found.interval, found.over, detail, direction, runs)


def falls_short(name: str, found: Estimate, bound: float, detail: str) -> Part:
    """Holds if the whole interval lies below ``bound``, fails if it lies above; one run as in `exceeds`.

    >>> falls_short("SST", Estimate(-0.2, (-0.3, -0.1)), 0, "It is less.").verdict
    'holds'
    """
    turned = None if found.interval is None else (-found.interval[1], -found.interval[0])
    part = exceeds(name, replace(found, value=-found.value, interval=turned), -bound, detail)
    return replace(part, effect=found.value, interval=found.interval)


def directed(part: Part, direction: Verdict) -> Part:
    """The part with what its direction alone gets beside the verdict that our margin has.

    >>> directed(all_of("eight bad heads", [True, False] * 10), "holds").direction
    'holds'
    """
    return replace(part, direction=direction)


# --- agreements: one value a text


def over_examples(values: NDArray[np.float64], groups: NDArray[np.int64] | None = None) -> Interval | None:
    """The 95 % interval over examples of the mean of ``values`` (texts,); None where there is a single example.

    ``groups`` (texts,): which are drawn together, such as the output words of one sentence.
    """
    interval = interval_over_examples(values, groups=groups)
    return None if interval is None else (interval.low, interval.high)


def far_exceeds(name: str, found: Estimate, chance: float, texts: int | None = None) -> Part:
    """Holds in direction if the whole interval over examples lies above ``chance``, fails if it lies below; with our
    margin if the value is at least twice chance, and fails if the whole interval lies below that.
    """
    many = f" over {texts} texts" if texts else ""
    detail = f"{found.value:.3f}{many}, {found.value / chance:.1f} times chance, {chance:.3f}."
    return exceeds(name, found, chance, detail, least=2 * chance)


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
    """Holds in direction if it fails more often than the control (exact test); with our margin if the failure rate's
    lower bound is above 0.1 as well, and fails if its upper bound is below.

    ``detail``: says how often both failed; the p-value is added.
    """
    if not learned or not control:
        return missing("often fail")
    (failed, n), (other, m) = ((len(group) - sum(group), len(group)) for group in (learned, control))
    low, high = wilson(failed, n)
    p = fisher_exact((failed, n), (other, m))
    verdict: Verdict = "holds" if low > 0.1 and p < 0.05 else "fails" if high < 0.1 else "undecided"
    more: Verdict = "undecided" if p >= 0.05 else "holds" if failed / n > other / m else "fails"
    verdict = verdict if verdict != "holds" or more == "holds" else "undecided"
    return Part("often fail", verdict, failed / n, (low, high), "seeds", f"{detail} (p = {p:.2g}).", more)

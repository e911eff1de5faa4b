"""Parts of claims about agreements on one corpus, decided from one value a text (`claims.toml` says the rules)."""

import numpy as np

from attnlab.experiments.texts.text_runs import Floats
from attnlab.lab.claims import Part, Verdict
from attnlab.stats.bootstrap import interval_over_examples


def bounds(values: Floats) -> tuple[float, float] | None:
    """The 95 % interval over examples of the mean; None where there is a single example."""
    interval = interval_over_examples(values)
    return None if interval is None else (interval.low, interval.high)


def told(interval: tuple[float, float] | None) -> str:
    """An interval in words.

    >>> told((0.25, 0.5)), told(None)
    ('0.250 to 0.500', 'no interval')
    """
    return "no interval" if interval is None else f"{interval[0]:.3f} to {interval[1]:.3f}"


def sign_of(interval: tuple[float, float] | None) -> int:
    """1 where the whole interval lies above 0, -1 where it lies below, else 0."""
    if interval is None:
        return 0
    return int(interval[0] > 0) - int(interval[1] < 0)


def far_exceeds(name: str, values: Floats, chance: Floats) -> Part:
    """Holds if the lower bound over examples is above chance and the value at least twice it; fails if the whole
    interval lies below twice chance. ``values`` and ``chance`` (texts,).
    """
    value, level, interval = float(np.mean(values)), float(np.mean(chance)), bounds(values)
    verdict: Verdict = "undecided"
    if interval is not None and interval[0] > level and value >= 2 * level:
        verdict = "holds"
    elif interval is not None and interval[1] < 2 * level:
        verdict = "fails"
    detail = f"{value:.3f} over {len(values)} texts, {value / level:.1f} times chance, {level:.3f}."
    return Part(name, verdict, value, interval, "examples", detail)

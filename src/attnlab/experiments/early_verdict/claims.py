"""The verdicts on the early verdict's claims; `claims.toml` says the rules in words."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from attnlab.experiments.early_verdict.fit import Cases, Followed, stops
from attnlab.experiments.early_verdict.measures import (
    SURE,
    Estimate,
    Judged,
    area,
    calibration_error,
    lead,
    mean_area,
    spared,
    sure_at,
)
from attnlab.families.copying.early_verdict import Verdict as EarlyVerdict
from attnlab.lab.claims import Finding, Part, Verdict
from attnlab.lab.rules import above
from attnlab.stats.bootstrap import value_and_interval
from attnlab.stats.rates import wilson

EARLY = 30
"""The step that the claims are about."""
EARLIEST = (20, 30, 40)
"""Those over which feature sets are compared."""
LEAST = 10
"""Fewest runs of either outcome with which a part is decided."""
AREA = 0.8
ERROR = 0.1
GAIN = 0.01
RIGHT = 0.8
WRONGLY_ENDED = 0.05
SPARED = 0.5
Rule = Callable[[float, float], Verdict]
"""What an interval decides."""
OTHER_HALF, LEFT_OUT = "the other half", "families left out"
"""The two ways in which runs are judged by a fit that did not see them."""


@dataclass(frozen=True, eq=False)
class Evidence:
    """All runs and their cases; by way of judging and feature set the chances; the verdict that is shipped."""

    runs: Sequence[Followed]
    cases: Cases
    judged: Mapping[tuple[str, str], Judged]
    verdict: EarlyVerdict


def decide(evidence: Evidence) -> tuple[Finding, ...]:
    """Every claim."""
    half, left_out = (evidence.judged[way, "all"] for way in (OTHER_HALF, LEFT_OUT))
    return (
        Finding("verdict-tells-early", areas(half)),
        Finding("verdict-carries-over", areas(left_out)),
        Finding("verdict-calibrated", (calibrated(half, EARLY), calibrated(half))),
        Finding("probe-adds-to-loss", tuple(adds(way, evidence) for way in (OTHER_HALF, LEFT_OUT))),
        Finding("verdict-before-accuracy", before_accuracy(half, evidence.runs)),
        Finding("hopeless-runs-known", giving_up(half, evidence.verdict.give_up_below, evidence.verdict.by)),
    )


def areas(judged: Judged) -> tuple[Part, Part]:
    """The area under the curve at step 30, over all pairs and over those of one distribution."""
    parts = []
    for name, paired in (("all pairs of runs", False), ("pairs of one distribution", True)):
        chosen = judged.at(EARLY)
        counts = judged.outcomes(chosen, paired=paired)
        found = value_and_interval(area(judged, EARLY, paired=paired))
        told = f"At step {EARLY}, {counts[0]} runs that learned against {counts[1]} that did not."
        parts.append(_part(name, found, counts, told, _above(AREA)))
    return parts[0], parts[1]


def calibrated(judged: Judged, *steps: int) -> Part:
    """Whether the calibration error is small."""
    chosen = judged.at(*steps)
    counts = judged.outcomes(chosen)
    name = f"step {steps[0]}" if steps else "all steps"
    told = f"{int(chosen.sum())} chances of {sum(counts)} runs, {counts[0]} of which learned."
    return _part(name, value_and_interval(calibration_error(judged, chosen)), counts, told, _below(ERROR))


def adds(way: str, evidence: Evidence) -> Part:
    """Whether the probe adds to loss and entropy."""
    more, less = (evidence.judged[way, features] for features in ("with the probe", "loss and entropy"))
    with_it, without = (mean_area(judged, EARLIEST) for judged in (more, less))
    found = value_and_interval(with_it - without)
    at_steps = [more.outcomes(more.at(step)) for step in EARLIEST]
    counts = min(learned for learned, _ in at_steps), min(failed for _, failed in at_steps)
    if found is None:
        return _part(way, None, counts, "", _above(0.0))
    value, (low, high) = found
    verdict: Verdict = "holds" if low > 0 and value >= GAIN else "fails" if high < GAIN else "undecided"
    inside = value_and_interval(np.subtract(*(mean_area(judged, EARLIEST, paired=True) for judged in (more, less))))
    told = f"Area {with_it[0]:.3f} with the probe, {without[0]:.3f} with loss and entropy alone."
    if inside is not None:
        told += f" Over pairs of one distribution it adds {inside[0]:.3f} ({inside[1][0]:.3f} to {inside[1][1]:.3f})."
    return _part(way, found, counts, told, lambda *_: verdict)


def before_accuracy(judged: Judged, runs: Sequence[Followed]) -> tuple[Part, ...]:
    """How long before accuracy the verdict is sure, and how often it is right."""
    sure = sure_at(judged)
    leads = {run: by for run, step in sure.items() if (by := lead(runs[run], step)) is not None}
    doubtful = {run.distribution for run in runs if run.learned_at is None}
    groups = {
        "all that learn": list(leads.values()),
        "distributions of which some fail": [by for run, by in leads.items() if runs[run].distribution in doubtful],
    }
    parts = []
    for name, values in groups.items():
        told = f"Median {np.median(values):.0f} updates, {len(values)} runs." if values else ""
        parts.append(above(name, values, 0.0, told, least=LEAST, over="runs"))
    trusted = [runs[run].learned_at is not None for run, step in sure.items() if step is not None]
    return (*parts, _rate("sure is right", trusted, f"from a chance of {SURE:.0%} on", _above(RIGHT)))


def giving_up(judged: Judged, below: float, by: int) -> tuple[Part, Part]:
    """Whether runs that learn are kept, and how much is spared on those that do not."""
    ended = stops(judged.cases, judged.chance, below)
    wrong = [step is not None for run, step in ended.items() if judged.cases.learned[run]]
    saved = [spared(step, by) for run, step in ended.items() if not judged.cases.learned[run]]
    told = f"Ended below {below:.1%}; {sum(part > 0 for part in saved)} of {len(saved)} runs that fail were."
    return (
        _rate("runs that learn and are ended", wrong, f"below {below:.1%}", _below(WRONGLY_ENDED), LEAST),
        above("share spared of runs that fail", saved, SPARED, told, least=LEAST, over="runs"),
    )


# --- parts


def _above(bound: float) -> Rule:
    return lambda low, high: "holds" if low > bound else "fails" if high < bound else "undecided"


def _below(bound: float) -> Rule:
    return lambda low, high: "holds" if high < bound else "fails" if low > bound else "undecided"


def _part(name: str, found: Estimate, counts: tuple[int, int], told: str, rule: Rule) -> Part:
    """A part decided by an interval over runs, if enough of them learned and enough did not."""
    if found is None:
        return Part(name, "undecided", None, None, "runs", "All runs ended alike.")
    value, interval = found
    if min(counts) < LEAST:
        told += f" At least {LEAST} runs of either outcome are needed, not {counts[0]} and {counts[1]}."
    return Part(name, rule(*interval) if min(counts) >= LEAST else "undecided", value, interval, "runs", told)


def _rate(name: str, happened: Sequence[bool], told: str, rule: Rule, least: int = 1) -> Part:
    """A part decided by Wilson's interval of how often something happened."""
    if not happened:
        return Part(name, "undecided", None, None, "runs", "No such run.")
    count, n = sum(happened), len(happened)
    interval = wilson(count, n)
    verdict = rule(*interval) if n >= least else "undecided"
    return Part(name, verdict, count / n, interval, "runs", f"{count} of {n} runs, {told}.")

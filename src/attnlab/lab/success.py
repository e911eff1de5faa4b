"""Did runs learn, how often and how soon: what the experiments on copying ask of every seed, and the rules on rates."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import altair as alt

from attnlab.families.copying.spec import CopyingSpec
from attnlab.lab.claims import Part, Preset, Verdict
from attnlab.lab.experiment import Order, Table
from attnlab.pages.charts import CONTRAST, curves, panels
from attnlab.protocols import Row
from attnlab.runs.loop import Trained
from attnlab.stats.rates import fisher_exact, newcombe, wilson

LEARNED = 0.95
"""A run has learned when its token accuracy exceeds this."""
WITHIN = 200
"""... at an evaluation within so many updates."""
EVERY = 10
"""Updates between evaluations."""
ALWAYS = 20
"""Fewest seeds on which "always" can be said to hold."""


@dataclass(frozen=True)
class Setting:
    """One distribution: its name, its task, how many seeds each preset runs, whether a run ends once it has learned."""

    name: str
    task: CopyingSpec
    seeds: dict[Preset, int]
    ends_when_learned: bool = False


def seeds_of(setting: Setting, order: Order) -> list[int]:
    """The seeds of a setting that are asked for."""
    return order.first(range(setting.seeds[order.preset]))


@dataclass(frozen=True)
class Outcome:
    """How one seed of one setting ended."""

    setting: str
    seed: int
    run: Trained

    @property
    def step(self) -> int | None:
        """First evaluation within 200 updates at which the run has learned."""
        return self.learned_within(WITHIN)

    def learned_within(self, updates: int) -> int | None:
        """First evaluation within so many ``updates`` at which the run has learned, or None."""
        return first_learned(self.run.rows, updates)

    def up_to(self, step: int) -> "Outcome":
        """The same without what was measured behind a step."""
        rows = [row for row in self.run.rows if row["step"] <= step]
        return replace(self, run=replace(self.run, rows=rows, step=min(self.run.step, step)))

    def at(self, step: int, metric: str) -> float | None:
        """What was measured at a step, or None if the run was not measured there."""
        return next((row[metric] for row in self.run.rows if row["step"] == step), None)


def first_learned(rows: Iterable[Row], within: int = WITHIN) -> int | None:
    """The first evaluated step up to ``within`` whose accuracy exceeds 0.95, or None."""
    return next((int(row["step"]) for row in rows if row["step"] <= within and row["accuracy"] > LEARNED), None)


def by_setting(outcomes: Iterable[Outcome]) -> dict[str, list[Outcome]]:
    """The outcomes of each setting, by its name, in the order in which they first occur."""
    groups: dict[str, list[Outcome]] = {}
    for outcome in outcomes:
        groups.setdefault(outcome.setting, []).append(outcome)
    return groups


def learned(group: Sequence[Outcome], within: int = WITHIN) -> int:
    """How many of a group have learned within so many updates."""
    return sum(outcome.learned_within(within) is not None for outcome in group)


def rate_row(group: Sequence[Outcome], within: int = WITHIN) -> dict[str, object]:
    """How often a group learned, with its Wilson interval over seeds."""
    count = learned(group, within)
    low, high = wilson(count, len(group))
    return {"seeds": len(group), "learned": count, "rate": count / len(group), "low": low, "high": high}


def curve_table(outcomes: Iterable[Outcome]) -> Table:
    """Every measurement of every run."""
    return [
        {"setting": outcome.setting, "seed": outcome.seed, **row} for outcome in outcomes for row in outcome.run.rows
    ]


# --- rules


def always(name: str, group: Sequence[Outcome], within: int = WITHIN) -> Part:
    """Holds if all of at least 20 seeds learn; one that does not refutes it."""
    count, n = learned(group, within), len(group)
    if not n:
        return Part(name, "undecided", None, None, "seeds", "No run at this preset.")
    verdict: Verdict = "fails" if count < n else "holds" if n >= ALWAYS else "undecided"
    return Part(name, verdict, count / n, wilson(count, n), "seeds", f"{count} of {n} seeds learned.")


def never(name: str, group: Sequence[Outcome], within: int = WITHIN) -> Part:
    """Holds if none of at least 20 seeds learns; one that does refutes it."""
    count, n = learned(group, within), len(group)
    if not n:
        return Part(name, "undecided", None, None, "seeds", "No run at this preset.")
    verdict: Verdict = "fails" if count else "holds" if n >= ALWAYS else "undecided"
    return Part(name, verdict, count / n, wilson(count, n), "seeds", f"{count} of {n} seeds learned.")


def often_fails(group: Sequence[Outcome], control: Sequence[Outcome], within: int = WITHIN) -> Part:
    """Holds if the failure rate's lower bound is above 0.1 and it differs from the control's (exact test)."""
    if not group or not control:
        return Part("often fail", "undecided", None, None, "seeds", "No run at this preset.")
    failed, n = len(group) - learned(group, within), len(group)
    control_failed = len(control) - learned(control, within)
    low, high = wilson(failed, n)
    p = fisher_exact((failed, n), (control_failed, len(control)))
    verdict: Verdict = "undecided"
    if low > 0.1 and p < 0.05:
        verdict = "holds"
    elif high < 0.1:
        verdict = "fails"
    detail = (
        f"{failed} of {n} seeds failed within {within} updates, {control_failed} of {len(control)} on "
        f"{control[0].setting} (p = {p:.2g})."
    )
    return Part("often fail", verdict, failed / n, (low, high), "seeds", detail)


def learns_more_often(label: str, group: Sequence[Outcome], other: Sequence[Outcome], within: int = WITHIN) -> Part:
    """Holds if ``group`` learns more often than ``other``, significantly (exact test); fails if less often."""
    if not group or not other:
        return Part(label, "undecided", None, None, "seeds", "No run at this preset.")
    a, n, b, m = learned(group, within), len(group), learned(other, within), len(other)
    p = fisher_exact((a, n), (b, m))
    difference = a / n - b / m
    verdict: Verdict = "undecided" if p >= 0.05 else "holds" if difference > 0 else "fails"
    detail = f"{a} of {n} seeds learned against {b} of {m} (p = {p:.2g})."
    return Part(label, verdict, difference, newcombe((a, n), (b, m)), "seeds", detail)


# --- figures


def two_curves(
    table: Table, metrics: Mapping[str, str], *, y_title: str, title: str, colours: Sequence[str] = CONTRAST
) -> alt.TopLevelMixin:
    """Two metrics of every seed, or as many as ``colours``, by the names they are shown under, a panel for a setting.

    Colours are given away in the alphabetical order of names.
    """
    rows = [
        {"setting": row["setting"], "seed": row["seed"], "step": row["step"], "what": what, "share": row[metric]}
        for row in table
        for what, metric in metrics.items()
    ]
    layer = curves(
        x="step", y="share", group="seed", colour="what", colours=colours, x_title="updates", y_title=y_title
    )
    return panels(rows, column="setting", layer=layer, title=title)

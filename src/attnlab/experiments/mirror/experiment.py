"""Mirror (ours, after P3 3.3): on permutations some starts learn and others do not. What is it that they have?

By symmetry the data say nothing about which word goes with which, so whatever the untrained network happens to make of
a word is all there is to go by. If that is what decides, a start with the opposite sign has to end the opposite way.
Mirrored, the weights that take the context to the read-out are those of the start, times -1; nothing else is changed.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import altair as alt
import numpy as np

from attnlab.experiments.rescue.remedies import MIRRORED, NO_CHANGE, SCALES, make_job, make_spec
from attnlab.lab.claims import Finding, Part, Preset, Verdict
from attnlab.lab.experiment import Experiment, Order, Result, Table
from attnlab.lab.rates import rate_table, run_row, tell_rates
from attnlab.lab.smaller import undecided
from attnlab.lab.success import WITHIN, Outcome, curve_table
from attnlab.pages.charts import CONTRAST, INK, curves, panels
from attnlab.runs.engine import Job
from attnlab.runs.loop import Trained
from attnlab.stats.bootstrap import resampled_rows, value_and_interval
from attnlab.stats.ranks import area_under_curve
from attnlab.stats.rates import newcombe, wilson

SEEDS: dict[Preset, int] = {"quick": 6, "reduced": 20, "paper": 40}
STARTS = {"as drawn": NO_CHANGE, "mirrored": MIRRORED}
"""What a start is called here, and as a remedy of the experiment `rescue`, whose runs these are."""
ENOUGH = 10
"""Fewest starts that learn, and that fail, on which anything is decided."""
SWAPS, KNOWN = 0.3, 0.7
"""The difference of success rates, and the area under the curve, from which the claims hold."""


@dataclass(frozen=True)
class Start:
    """One seed's start, as drawn and mirrored."""

    drawn: Outcome
    mirrored: Outcome

    @property
    def fails(self) -> bool:
        """Whether it does not learn as drawn."""
        return self.drawn.step is None


class Mirror(Experiment):
    """The same starts with the sign of their read-out turned."""

    name = "mirror"
    title = "What is luck? Starts with their sign turned"
    source = "ours, after P3 3.3"
    recalls = True

    def jobs(self, order: Order) -> list[Job]:
        scale = SCALES[order.preset]
        return [make_job(scale, seed, remedy, WITHIN) for seed in seeds_of(order) for remedy in STARTS.values()]

    def analyse(self, order: Order, done: Mapping[str, Trained]) -> Result:
        starts = [_start(seed, order, done) for seed in seeds_of(order)]
        outcomes = [one.drawn for one in starts] + [one.mirrored for one in starts]
        findings = decide(starts)
        success = rate_table(outcomes, WITHIN)
        told = [part.detail for finding in findings for part in finding.parts]
        return Result(
            summary=" ".join([tell_rates(success, WITHIN), *told]),
            tables={
                "success": success,
                "swaps": swap_table(starts),
                "runs": [run_row(one, WITHIN) | {"probe_before": one.at(0, "probe_mean")} for one in outcomes],
                "curves": curve_table(outcomes),
            },
            figures=figures(starts),
            findings=undecided(findings) if order.preset == "quick" else findings,
            notes=notes(order),
            seeds={"starts": seeds_of(order)},
        )


def seeds_of(order: Order) -> list[int]:
    """The starts that are asked for."""
    return order.first(range(SEEDS[order.preset]))


def _start(seed: int, order: Order, done: Mapping[str, Trained]) -> Start:
    """Both runs up to step 200; those of the experiment `copying` may have gone further."""
    drawn, mirrored = (
        Outcome(name, seed, done[make_spec(SCALES[order.preset], seed, remedy).id]).up_to(WITHIN)
        for name, remedy in STARTS.items()
    )
    return Start(drawn, mirrored)


def swap_table(starts: Sequence[Start]) -> Table:
    """Of the starts that fail and of those that learn as drawn: how many learn mirrored, with a Wilson interval."""
    table = []
    for name, fails in (("fails", True), ("learns", False)):
        group = [start for start in starts if start.fails is fails]
        count = sum(start.mirrored.step is not None for start in group)
        low, high = wilson(count, len(group)) if group else (None, None)
        rate = count / len(group) if group else None
        table.append(
            {
                "as_drawn": name,
                "starts": len(group),
                "learned_mirrored": count,
                "rate": rate,
                "low": low,
                "high": high,
            }
        )
    return table


def notes(order: Order) -> tuple[str, ...]:
    """What a reader should know about how it was run."""
    told = [
        "Starts as drawn are the runs on permutations of the experiment copying, whose outcomes, and how the probe "
        "stood before their first update, were known when this experiment was thought of.",
        "A pilot of six other starts (seeds 200 to 205), 21 updates each, had suggested that mirrored starts change "
        "sides; five of the six did. No mirrored start of this experiment had been trained then.",
        "Mirrored runs end once they have learned.",
    ]
    if order.preset == "quick":
        told.append(
            "quick: six starts on permutations of 12 words with 32 hidden units; it shows how the experiment goes and "
            "decides nothing."
        )
    if order.preset == "reduced":
        told.append("reduced: 20 starts instead of 40.")
    return tuple(told)


# --- claims


def decide(starts: Sequence[Start]) -> tuple[Finding, ...]:
    """The verdicts; `claims.toml` says the rules in words."""
    return Finding("luck-is-a-sign", (swaps(starts),)), Finding("luck-known-before-training", (known(starts),))


def swaps(starts: Sequence[Start]) -> Part:
    """Mirrored, failing starts learn more often than learning ones: the difference, and whether it is above 0.3."""
    groups = [[start.mirrored.step is not None for start in starts if start.fails is fails] for fails in (True, False)]
    if not all(groups):
        return Part("who learns", "undecided", None, None, "starts", "All starts end alike.")
    (a, n), (b, m) = ((sum(group), len(group)) for group in groups)
    interval = newcombe((a, n), (b, m))
    verdict = _above(interval, SWAPS) if min(n, m) >= ENOUGH else "undecided"
    detail = f"Mirrored, {a} of {n} failing starts learn, and {b} of {m} learning ones."
    return Part("who learns", verdict, a / n - b / m, interval, "starts", detail)


def known(starts: Sequence[Start]) -> Part:
    """How well the probe before training tells which mirrored starts learn: the area, and whether it is above 0.7."""
    before = np.array([start.mirrored.at(0, "probe_mean") for start in starts], dtype=np.float64)
    learned = np.array([start.mirrored.step is not None for start in starts])
    n, m = int(learned.sum()), int((~learned).sum())
    rows = resampled_rows(learned.tolist(), "luck known before training")
    areas = area_under_curve(before[rows], learned[rows].astype(np.float64), (~learned[rows]).astype(np.float64))
    found = value_and_interval(areas)
    if found is None:
        return Part("mirrored starts", "undecided", None, None, "starts", "All mirrored starts end alike.")
    area, interval = found
    verdict = _above(interval, KNOWN) if min(n, m) >= ENOUGH else "undecided"
    detail = (
        f"Of a mirrored start that learns and one that does not, the former's probe is higher before training in "
        f"{area:.0%} of the pairs ({n} and {m} starts)."
    )
    return Part("mirrored starts", verdict, area, interval, "starts", detail)


def _above(interval: tuple[float, float], least: float) -> Verdict:
    return "holds" if interval[0] > least else "fails" if interval[1] < least else "undecided"


# --- figures


def figures(starts: Sequence[Start]) -> dict[str, alt.TopLevelMixin]:
    """Accuracy and probe of every start as drawn and mirrored, and the probe before training beside who learned."""
    rows = [
        {
            "start": f"starts that {'fail' if start.fails else 'learn'} as drawn",
            "which": outcome.setting,
            "seed": outcome.seed,
            "step": row["step"],
            "accuracy": row["accuracy"],
            "probe": row["probe_accuracy"],
        }
        for start in sorted(starts, key=lambda start: not start.fails)
        for outcome in (start.drawn, start.mirrored)
        for row in outcome.run.rows
    ]

    def drawn(metric: str, y_title: str, title: str) -> alt.TopLevelMixin:
        layer = curves(x="step", y=metric, group="seed", colour="which", x_title="updates", y_title=y_title)
        return panels(rows, column="start", layer=layer, title=title)

    return {
        "curves": drawn("accuracy", "token accuracy", "Accuracy of every start, as drawn and mirrored"),
        "before": before_training(starts),
        "probe": drawn("probe", "right position is the largest", "The lexical probe of every start"),
    }


def before_training(starts: Sequence[Start]) -> alt.TopLevelMixin:
    """The probe's mean at the right position at step 0, a point for each start, coloured by how it ended."""
    rows = [
        {
            "start": outcome.setting,
            "seed": outcome.seed,
            "probe": outcome.at(0, "probe_mean"),
            "end": "did not learn" if outcome.step is None else "learned",
            "place": outcome.seed % 7,  # spread out, so that points do not hide each other
        }
        for start in starts
        for outcome in (start.drawn, start.mirrored)
    ]
    chart: alt.FacetChart = (
        alt.Chart(alt.InlineData(values=rows))
        .mark_point(filled=True, size=55, opacity=0.8)
        .encode(
            x=alt.X(
                "probe:Q", title="probe's mean at the right position, before training", scale=alt.Scale(zero=False)
            ),
            y=alt.Y("place:O", axis=None),
            color=alt.Color(
                "end:N", title=None, scale=alt.Scale(range=list(CONTRAST)), legend=alt.Legend(orient="top")
            ),
            tooltip=["seed:N", "probe:Q", "end:N"],
        )
        .properties(width=420, height=90)
        .facet(
            facet=alt.Facet("start:N", title=None, sort=list(STARTS), header=alt.Header(labelFontSize=12)), columns=1
        )
        .properties(
            title=alt.TitleParams("What the probe says before the first update", anchor="start", fontSize=14, color=INK)
        )
    )
    return chart

"""Mirror (ours, after P3 3.3): on permutations some starts learn and others do not. What is it that they have?

By symmetry the data say nothing about which word goes with which, so whatever the untrained network happens to make of
a word is all there is to go by. If that is what decides, a start with the opposite sign has to end the opposite way.
Mirrored, the weights that take the context to the read-out are those of the start, times -1; nothing else is changed.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import altair as alt
import numpy as np

from attnlab.families.copying.starts import MIRRORED, NO_CHANGE, SCALES, start
from attnlab.families.copying.success import EVERY, LEARNED, WITHIN
from attnlab.lab.claims import Part, Preset
from attnlab.lab.experiment import Experiment, Figures, Order, Setting, Table, by_preset, claim
from attnlab.lab.outcomes import Outcome, Runs, learned, rate_of, rate_table, rates_in_words
from attnlab.lab.rules import higher, missing
from attnlab.pages.charts import CONTRAST, headed, hue, inline, seed_curves
from attnlab.runs.engine import Job
from attnlab.runs.loop import Trained
from attnlab.runs.schedule import Schedule
from attnlab.runs.spec import RunSpec
from attnlab.stats.bootstrap import resampled_rows, value_and_interval
from attnlab.stats.proportions import newcombe
from attnlab.stats.ranks import area_under_curve

# --- settings

DRAWN, TURNED = "as drawn", "mirrored"
STARTS = {NO_CHANGE: DRAWN, MIRRORED: TURNED}
"""The remedies of the experiment `rescue` whose runs these are, and what they are called here."""
SEEDS = by_preset(6, 20, 40)
UNTIL_LEARNED = Schedule.every(EVERY, steps=WITHIN, stop_at=LEARNED, checkpoint_every=WITHIN)
ENOUGH = 10
"""Fewest starts that learn, and that fail, on which anything is decided."""
SWAPS, KNOWN = 0.3, 0.7
"""The difference of success rates, and the area under the curve, from which the claims hold."""


class Mirror(Experiment):
    """The same starts with the sign of their read-out turned."""

    name = "mirror"
    title = "What is luck? Starts with their sign turned"
    source = "ours, after P3 3.3"
    decides_at = ("reduced", "paper")
    recalls = True

    def settings_at(self, preset: Preset) -> list[Setting]:
        def setting(remedy: str) -> Setting:
            return Setting(remedy, lambda seed: RunSpec(**start(SCALES[preset], seed, remedy)), SEEDS, UNTIL_LEARNED)

        return [setting(remedy) for remedy in STARTS]

    def jobs(self, order: Order) -> list[Job]:
        """Start by start, so that a sweep that is cut short has pairs."""
        pair = self.settings_at(order.preset)
        return [one.job(seed, order.preset) for seed in pair[0].seeds_at(order) for one in pair]

    def outcomes(self, order: Order, done: Mapping[str, Trained]) -> Iterator[Outcome]:
        """Runs up to step 200; those of the experiment `copying` may have gone further."""
        for outcome in super().outcomes(order, done):
            yield replace(outcome, setting=STARTS[outcome.setting]).up_to(WITHIN)

    # --- measures

    def measure(self, runs: Runs) -> None:
        self.pairs = list(zip(runs[DRAWN], runs[TURNED], strict=True))
        self.success = rate_table(runs)
        self.swaps = {
            kind: [mirrored.step is not None for drawn, mirrored in self.pairs if (drawn.step is None) is fails]
            for kind, fails in (("fails", True), ("learns", False))
        }

    # --- rules

    @claim("luck-is-a-sign")
    def sides_are_swapped(self) -> Part:
        """Mirrored, failing starts learn more often than learning ones: the difference is above 0.3."""
        name, over = "who learns", "starts"
        if not all(self.swaps.values()):
            return missing(name, over, "All starts end alike.")
        (a, n), (b, m) = ((sum(group), len(group)) for group in self.swaps.values())
        interval = newcombe((a, n), (b, m))
        verdict = higher(interval, SWAPS) if min(n, m) >= ENOUGH else "undecided"
        detail = f"Mirrored, {a} of {n} failing starts learn, and {b} of {m} learning ones."
        return Part(name, verdict, a / n - b / m, interval, over, detail)

    @claim("luck-known-before-training")
    def known_before_training(self) -> Part:
        """How well the probe before training says which mirrored starts learn: the area is above 0.7."""
        name, over = "mirrored starts", "starts"
        before = np.array([outcome.at(0, "probe_mean") for outcome in self.runs[TURNED]], dtype=np.float64)
        ends = np.array(learned(self.runs[TURNED]))
        n, m = int(ends.sum()), int((~ends).sum())
        rows = resampled_rows(ends.tolist(), "luck known before training")
        areas = area_under_curve(before[rows], ends[rows].astype(np.float64), (~ends[rows]).astype(np.float64))
        measured = value_and_interval(areas)
        if measured is None:
            return missing(name, over, "All mirrored starts end alike.")
        area, interval = measured
        verdict = higher(interval, KNOWN) if min(n, m) >= ENOUGH else "undecided"
        detail = (
            f"Of a mirrored start that learns and one that does not, the former's probe is higher before training in "
            f"{area:.0%} of the pairs ({n} and {m} starts)."
        )
        return Part(name, verdict, area, interval, over, detail)

    # --- tables, figures, words

    def tables(self) -> Mapping[str, Table]:
        swaps = [
            {"as_drawn": kind, "starts": len(group), "learned_mirrored": sum(group), **rate_of(sum(group), len(group))}
            for kind, group in self.swaps.items()
        ]
        return {"success": self.success, "swaps": swaps}

    def run_row(self, outcome: Outcome) -> dict[str, Any]:
        return outcome.row() | {"probe_before": outcome.at(0, "probe_mean")}

    def figures(self) -> Figures:
        """Accuracy and probe of every start as drawn and mirrored, and the probe before training beside who learned."""
        rows = [
            {"start": f"starts that {'fail' if pair[0].step is None else 'learn'} as drawn", "which": outcome.setting}
            | {"seed": outcome.seed, "step": row["step"], "accuracy": row["accuracy"], "probe": row["probe_accuracy"]}
            for pair in sorted(self.pairs, key=lambda pair: pair[0].step is not None)
            for outcome in pair
            for row in outcome.run.rows
        ]

        drawn = partial(seed_curves, rows, column="start", colour="which")
        return {
            "curves": drawn("accuracy", "token accuracy", "Accuracy of every start, as drawn and mirrored"),
            "before": before_training([outcome for pair in self.pairs for outcome in pair]),
            "probe": drawn("probe", "right position is the largest", "The lexical probe of every start"),
        }

    def summary(self) -> str:
        return f"{rates_in_words(self.success)} {super().summary()}"

    def notes(self) -> list[str]:
        return [
            "Starts as drawn are the runs on permutations of the experiment copying, whose outcomes, and how the probe "
            "stood before their first update, were known when this experiment was thought of.",
            "A pilot of six other starts (seeds 200 to 205), 21 updates each, had suggested that mirrored starts "
            "change sides; five of the six did. No mirrored start of this experiment had been trained then.",
            "Mirrored runs end once they have learned.",
            *self.at_preset(
                quick="quick: six starts on permutations of 12 words with 32 hidden units; it shows how the experiment "
                "goes and decides nothing.",
                reduced="reduced: 20 starts instead of 40.",
            ),
        ]

    def seeds(self) -> dict[str, list[int]]:
        return {"starts": [outcome.seed for outcome in self.runs[DRAWN]]}


def before_training(outcomes: Sequence[Outcome]) -> alt.TopLevelMixin:
    """The probe's mean at the right position at step 0, a point for each start, coloured by how it ended."""
    rows = [
        {"start": outcome.setting, "seed": outcome.seed, "probe": outcome.at(0, "probe_mean")}
        | {"end": "did not learn" if outcome.step is None else "learned"}
        | {"place": outcome.seed % 7}  # spread out, so that points do not hide each other
        for outcome in outcomes
    ]
    probe = alt.X("probe:Q", title="probe's mean at the right position, before training", scale=alt.Scale(zero=False))
    points = alt.Chart(inline(rows)).mark_point(filled=True, size=55, opacity=0.8).properties(width=420, height=90)
    beside = ["seed:N", "probe:Q", "end:N"]
    points = points.encode(x=probe, y=alt.Y("place:O", axis=None), color=hue("end", CONTRAST), tooltip=beside)
    facet = alt.Facet("start:N", title=None, sort=[DRAWN, TURNED], header=alt.Header(labelFontSize=12))
    return headed(points.facet(facet=facet, columns=1), "What the probe says before the first update")

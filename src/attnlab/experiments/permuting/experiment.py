"""Permuting (P3 6.2): lexical knowledge is the same, but attention that must jump is not learned.

Copying 40 of 60 words, and the same with the output in another order: output t is input pi(t). Under uniform attention
the bag of words is all there is, so the probe beta_uf cannot mind the order. Attention does.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import altair as alt
import numpy as np

from attnlab.families.copying import orders
from attnlab.families.copying.orders import RUNS_PER_ORDER, random_order, shifted, shuffled_blocks, task_in_order
from attnlab.families.copying.position_scores import SEQUENCES, PositionScores, score_positions
from attnlab.families.copying.spec import Seq2SeqSpec
from attnlab.families.copying.success import EVERY
from attnlab.lab.claims import PRESETS, Part
from attnlab.lab.copying import network_on, task_of
from attnlab.lab.experiment import Experiment, Figures, Setting, Table, by_preset, claim
from attnlab.lab.outcomes import Outcome, Runs, mean, rate_table, rates_in_words
from attnlab.lab.rules import all_of, below, higher, missing, none_of, within
from attnlab.pages.charts import (
    COLOURS,
    CONTRAST,
    accuracy_curves,
    curves,
    headed,
    hue,
    inline,
    not_learned,
    pointing_curves,
    rounded,
)
from attnlab.runs.environment import threads
from attnlab.runs.schedule import Schedule
from attnlab.stats.bootstrap import resampled_rows, value_and_interval
from attnlab.stats.ranks import spearman

# --- settings

STEPS = by_preset(50, 300, 300)
"""Updates within which a run must have learned."""
UNIFORM_STEPS = by_preset(10, 60, 60)
POINTS = 0.02
"""Two points of accuracy: what counts as the same."""
FEWEST_RUNS = 5
"""Fewest runs of a kind of order for the comparison across orders."""
FEWEST_ORDERS = 10
"""Fewest random orders for the comparison of positions."""
MEASURES = ("lift", "attention", "accuracy")
"""What says how well a position was learned; the first decides."""
LEAST_LIFT = 0.01
"""Smaller lifts are drawn here."""


def with_uniform_attention(setting: Setting) -> Setting:
    """The same with uniform attention, for fewer updates."""
    return Setting(
        f"{setting.name}, uniform",
        lambda seed: setting.spec(seed).model_copy(update={"model": Seq2SeqSpec(attention="uniform")}),
        by_preset(1, 10, 20),
        {preset: Schedule.every(EVERY, steps=steps) for preset, steps in UNIFORM_STEPS.items()},
    )


COPYING = network_on("copying", task_in_order(None), (1, 20, 20), STEPS)
BLOCKS = network_on("blocks of 5 shuffled", lambda seed: task_in_order(shuffled_blocks(5, seed)), (0, 3, 8), STEPS)
SHIFT = network_on("shifted by 1", task_in_order(shifted(1)), (1, 3, 8), STEPS)
FURTHER = network_on("shifted by 5", task_in_order(shifted(5)), (0, 3, 8), STEPS)
RANDOM = network_on("random order", lambda seed: task_in_order(random_order(seed)), (1, 10, 20), STEPS, PRESETS)
REVERSAL = network_on("reversed", task_in_order(tuple(reversed(range(orders.LENGTH)))), (0, 3, 8), STEPS)
ORDERS = (COPYING, BLOCKS, SHIFT, FURTHER, RANDOM, REVERSAL)
UNIFORM = {setting.name: with_uniform_attention(setting) for setting in (COPYING, RANDOM)}


class Permuting(Experiment):
    """Fixed orders of positions, from the identity to random ones."""

    name = "permuting"
    title = "The same knowledge, another order: attention that must jump"
    source = "P3 6.2"
    settings = (*ORDERS, *UNIFORM.values())
    decides_at = ("reduced", "paper")

    # --- measures

    def measure(self, runs: Runs) -> None:
        self.within = STEPS[self.order.preset]
        self.learning = Runs(outcome for setting in ORDERS for outcome in runs[setting])
        self.uniform = Runs(replace(one, setting=name) for name, other in UNIFORM.items() for one in runs[other])
        self.positions = {one.seed: self.scores(one) for one in runs[RANDOM]}

    def scores(self, outcome: Outcome) -> PositionScores:
        """How well each position was learned, by the weights at the run's end."""
        spec, task = outcome.spec, task_of(outcome.spec).build()
        assert spec is not None
        assert isinstance(spec.model, Seq2SeqSpec)
        network = spec.model.build(task.vocabulary, task.vocabulary, spec.init_seed)
        step = outcome.load_into(network)
        with threads(1):
            return score_positions(network, task, spec.data_seed, step)

    # --- rules

    @claim("permuting-fails", reads=("runs", "uniform"))
    def random_orders_fail(self) -> Iterator[Part]:
        yield all_of(COPYING.name, self.record.learned(COPYING.name))
        yield none_of(RANDOM.name, self.record.learned(RANDOM.name))
        yield self.same_probe()

    @claim("lstm-monotonic-bias", reads=("runs", "position_correlations"))
    def distance_hurts(self) -> Iterator[Part]:
        yield self.across_orders()
        yield self.by_position()

    def same_probe(self) -> Part:
        """Holds if beta_uf is largest at the right position as often whatever the order: within 2 points by seed."""
        probes: list[dict[int, float]] = []
        for order in (COPYING, RANDOM):
            followed: dict[int, list[float]] = {}
            for row in self.record.rows("uniform", setting=order.name):
                followed.setdefault(row["seed"], []).extend([row["probe_accuracy"]] * (row["step"] > 0))
            probes.append({seed: mean(values) or 0.0 for seed, values in followed.items()})
        pairs = [(probes[0][seed], probe) for seed, probe in probes[1].items() if seed in probes[0]]
        plain, moved = (mean(pair[side] for pair in pairs) or 0.0 for side in (0, 1))
        detail = (
            f"Under uniform attention the probe is largest at the right position in {plain:.1%} of the cases on "
            f"copying and in {moved:.1%} on random orders."
        )
        return within("the same beta_uf", [random - copy for copy, random in pairs], 0.0, POINTS, detail)

    def across_orders(self) -> Part:
        """Holds if runs whose order is further from the identity learn later: Spearman's correlation above 0."""
        name, within = "across orders", STEPS[self.order.preset]
        outcomes = [row for order in ORDERS for row in self.record.rows("runs", setting=order.name)]
        groups = [row["setting"] for row in outcomes]
        steps = np.array([row["step"] if row["learned"] else within + EVERY for row in outcomes], dtype=np.float64)
        distances, rows = np.array([row["distance"] for row in outcomes]), resampled_rows(groups, name)
        estimate = value_and_interval(spearman(distances[rows], steps[rows])) if outcomes else None
        too_few = min(groups.count(order.name) for order in ORDERS) < FEWEST_RUNS
        few = f" At least {FEWEST_RUNS} runs of each order are needed." if too_few else ""
        if estimate is None:
            alike = "All runs learned at the same step, or their orders are equally far from the identity."
            return missing(name, "runs", alike + few)
        value, interval = estimate
        medians = {order: np.median(steps[np.array(groups) == order]) for order in dict.fromkeys(groups)}
        each = ", ".join(f"{order} {'never' if step > within else f'{step:g}'}" for order, step in medians.items())
        detail = (
            f"Spearman's correlation of mean distance and step of success is {value:.2f} over {len(outcomes)} runs. "
            f"Median steps: {each}."
        )
        return Part(name, "undecided" if few else higher(interval, 0), value, interval, "runs", detail + few)

    def by_position(self) -> Part:
        """Holds if in random orders attention's lift falls with |pi(t) - t|: mean correlation over orders below 0."""
        of_order: dict[int, list[float]] = {}
        for row in self.record.rows("position_correlations"):
            if row[MEASURES[0]] is not None:
                of_order.setdefault(row["seed"] // RUNS_PER_ORDER, []).append(row[MEASURES[0]])
        values = [float(np.mean(correlations)) for correlations in of_order.values()]
        detail = (
            f"Spearman's correlation of |pi(t) - t| and attention's lift at the right position is "
            f"{np.mean(values or 0):.2f} over {len(values)} random orders."
        )
        return below("position by position", values, 0.0, detail, least=FEWEST_ORDERS, over="orders")

    # --- tables, figures, words

    def tables(self) -> Mapping[str, Table]:
        success = []
        for row in rate_table(self.learning, self.within):
            group = self.learning[row["setting"]]
            after = mean(one.run.rows[-1]["attention_one_after"] for one in group)
            success.append({**row, "one_after_at_end": after, "distance": mean(map(distance_of, group))})
        return {
            "success": success,
            "uniform": self.uniform.curves(),
            "positions": position_table(self.positions),
            "position_correlations": [
                {"seed": seed, "step": one.step, **{measure: correlation(one, measure) for measure in MEASURES}}
                for seed, one in self.positions.items()
            ],
        }

    def run_tables(self) -> dict[str, Table]:
        """Without the runs under uniform attention, which have a table of their own."""
        return {"runs": [self.run_row(one) for one in self.learning.all()], "curves": self.learning.curves()}

    def run_row(self, outcome: Outcome) -> dict[str, Any]:
        return {**super().run_row(outcome), "distance": distance_of(outcome)}

    def seeds(self) -> dict[str, list[int]]:
        seeds = {name: [one.seed for one in group] for name, group in self.learning.items()}
        return {**seeds, "uniform attention": [one.seed for one in self.uniform[COPYING]]}

    def figures(self) -> Figures:
        table, y_title = self.learning.curves(), "right position is the largest"
        uniform = curves(y="probe_accuracy", y_title=y_title, colour="setting")
        uniform = uniform.properties(data=inline(self.uniform.curves()))
        return {
            "curves": accuracy_curves(table, "Accuracy of every run: copying, and copying in another order"),
            "knowledge": pointing_curves(table, one_after=True),
            "uniform": headed(uniform, "The lexical probe under uniform attention, two orders", width=320, height=240),
            "distance": distance_figure(self.record.rows("runs"), self.within),
            "positions": position_figure(position_table(self.positions)),
        }

    def summary(self) -> str:
        parts = [part for finding in self.findings() for part in finding.parts]
        details = [part.detail for part in parts if part.name not in (COPYING.name, RANDOM.name)]
        return " ".join([rates_in_words(rate_table(self.learning, self.within), self.within), *details])

    def notes(self) -> list[str]:
        return [
            "Plain copying is 40 of 60 of the experiment copying, and shares its runs.",
            f"Every random order is run with {RUNS_PER_ORDER} seeds. A shift goes round: the last outputs are the "
            "first inputs. Blocks are shuffled anew for every seed.",
            "Runs on random orders go on to the end; all others end once they have learned.",
            f"Positions are measured on {SEQUENCES} fresh sequences with the weights of the end, without the end "
            "symbol.",
            *self.at_preset(
                quick="quick: one run of copying, of a shift by 1 and of a random order, 50 updates instead of 300; "
                "uniform attention for 10 updates.",
                reduced="reduced: 10 runs on 5 random orders instead of 20 on 10, three seeds of the other orders "
                "instead of eight, ten seeds with uniform attention instead of 20.",
            ),
        ]


def distance_of(outcome: Outcome) -> float:
    """Mean |pi(t) - t| of the order that a run had."""
    return orders.distance(task_of(outcome.spec).order)


def correlation(positions: PositionScores, measure: str) -> float | None:
    """Spearman's correlation of distance and how well a position was learned; None where one of them is constant."""
    value = spearman(positions.distance[None].astype(np.float64), getattr(positions, measure)[None])[0]
    return None if np.isnan(value) else float(value)


def position_table(positions: Mapping[int, PositionScores]) -> Table:
    """A row for each output position of each run on a random order, both counted from 1."""
    return [
        {"order": seed // RUNS_PER_ORDER + 1, "seed": seed, "step": one.step}
        | {"output": t + 1, "input": int(one.right[t]) + 1, "distance": int(one.distance[t])}
        | {name: float(getattr(one, name)[t]) for name in ("accuracy", "attention", "lift")}
        for seed, one in positions.items()
        for t in range(len(one.right))
    ]


def distance_figure(runs: Table, updates: int) -> alt.TopLevelMixin:
    """A dot for each run: how far its order is from the identity and when it learned; a band for those that do not."""
    rows = [
        {"order": row["setting"], "seed": row["seed"], "distance": row["distance"]}
        | {"step": row["step"] if row["learned"] else updates + 2 * EVERY, "learned": bool(row["learned"])}
        for row in runs
        if row.get("distance") is not None
    ]
    names = list(dict.fromkeys(row["order"] for row in rows))
    dots = alt.Chart(inline(rows)).mark_point(filled=True, size=60, opacity=0.5)
    dots = dots.encode(
        x=alt.X("distance:Q", title="how far the order is from the identity: mean of |π(t) − t|"),
        y=alt.Y(
            "step:Q",
            title="update at which it had learned",
            scale=alt.Scale(domain=[0, updates + 5 * EVERY], nice=False),
            axis=alt.Axis(values=list(range(0, updates + 1, 50))),
        ),
        color=hue("order", domain=names, colours=COLOURS[: len(names)]),
        tooltip=["order:N", "seed:N", "learned:N", rounded("distance", ".1f")],
    )
    band = not_learned(updates + EVERY / 2, updates + 5 * EVERY, f"not learned within {updates} updates")
    return headed(band + dots, "Distance from the identity and learning", width=420, height=260)


def position_figure(table: Table) -> alt.TopLevelMixin:
    """Every position of every run on a random order, and the median for each distance: attention's lift, accuracy."""
    rows = [{**row, "lift": max(row["lift"], LEAST_LIFT)} for row in table]
    x = alt.X("distance:Q", title="distance |π(t) − t| of an output from its input position")
    base = alt.Chart(inline(rows)).encode(x=x)

    def panel(measure: str, title: str, scale: alt.Scale, *ticks: float) -> alt.LayerChart | alt.FacetChart:
        y = alt.Y(f"{measure}:Q", title=title, scale=scale, axis=alt.Axis(values=ticks, format="~g"))
        beside = ["order:N", "seed:N", "output:Q", "input:Q", "distance:Q", f"{measure}:Q"]
        dots = base.mark_point(filled=True, size=18, opacity=0.25, color=CONTRAST[1]).encode(y=y, tooltip=beside)
        line = base.mark_line(color=CONTRAST[0]).encode(y=alt.Y(f"median({measure}):Q", scale=scale))
        return alt.layer(dots, line).properties(width=360, height=260)

    log = alt.Scale(type="log", domain=[LEAST_LIFT, 40])
    lift = panel("lift", "attention's lift at the right position", log, LEAST_LIFT, 0.1, 1, 10, 40)
    accuracy = panel("accuracy", "token accuracy", alt.Scale(domain=[0, 1]), 0, 0.2, 0.4, 0.6, 0.8, 1)
    title = "Random orders, position by position, at the end; line: median for each distance"
    return headed(alt.hconcat(lift, accuracy), title)

"""The toy gated classifier (blog): weights learn first, then the gate; from a wrong start the gate turns away.

Nothing is trained in the run store: the flow has a closed form, is integrated numerically, and is followed by plain
gradient descent, and the three must agree.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import product
from math import isfinite
from typing import Any

import altair as alt
import numpy as np

from attnlab.lab.claims import Part, Preset, Verdict
from attnlab.lab.experiment import Experiment, Figures, Table, claim
from attnlab.lab.outcomes import Runs
from attnlab.pages.charts import COLOURS, SIZE, headed, hue, inline, seed_curves
from attnlab.theory.gated import (
    GATES,
    Gate,
    Start,
    Trajectory,
    closed_form,
    descend,
    flow,
    lowest,
    measured_threshold,
    return_time,
    scores,
    threshold,
    threshold_within,
    time_to_one,
)

# --- settings

BOUNDED: tuple[Gate, ...] = ("sigmoid", "softmax")
"""Gates that keep p between 0 and 1."""
UNIFORM = Start(0.0, 0.0, 0.5)
REVERSED = Start(10.0, -10.0, 0.5)
RATES = (0.1, 0.05, 0.025)
"""Rates of gradient descent, each half of the one before: the error must halve too."""
INSTANT = 1e-6
"""A time so short that a p that stands still cannot have moved by more than rounding."""
STILL = 1e-4
"""Largest rate of a p that stands still."""
CLOSE = 1e-3
"""Largest distance between the threshold that bisection gives and its formula."""
GRID: dict[Preset, tuple[tuple[float, ...], tuple[float, ...]]] = {
    "quick": ((-10.0, 0.0, 10.0), (0.05, 0.5, 0.95)),
    "reduced": ((-10.0, -3.0, -1.0, 0.0, 1.0, 3.0, 10.0), (0.05, 0.25, 0.5, 0.75, 0.95)),
    "paper": ((-10.0, -3.0, -1.0, -0.3, 0.0, 0.3, 1.0, 3.0, 10.0), (0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99)),
}
"""Weights and gates whose combinations are the starts of the grid."""
GATE_STARTS = (0.1, 0.25, 0.5, 0.75, 0.9)
"""Starts p(0) at which the threshold is looked for."""
HORIZONS = (1e1, 1e2, 1e3, 1e4)
"""Times within which p may come back, where it always does in the end."""
MARGINS = tuple(np.linspace(-8.0, -0.25, 32).tolist())
SIZES = tuple(10.0**k for k in range(9))
"""K of the weights -K and 3K."""


class GatedToy(Experiment):
    """The blog's two starts, a grid of others, and three kinds of gate."""

    name = "gated-toy"
    title = "A classifier of two words and one gate"
    source = "blog"
    trains = False

    # --- measures

    def measure(self, runs: Runs) -> None:  # noqa: ARG002 (nothing is trained)
        """Flows by gate from the blog's two starts and from all of the grid; where p turns; losses at p = 0.5."""
        weights, gates = GRID[self.order.preset]
        starts = [Start(*start) for start in product(weights, weights, gates)]
        self.uniform = {gate: flow(UNIFORM, times(2.0 if gate == "unbounded" else 30.0), gate) for gate in GATES}
        self.reversed = {gate: flow(REVERSED, times(20.0), gate) for gate in GATES}
        self.grid = {gate: [flow(start, times(3.0), gate) for start in starts] for gate in GATES}
        self.thresholds = {p: measured_threshold(p) for p in GATE_STARTS}
        self.low = {size: float(np.subtract(*scores(-size, 3 * size, 0.5))) for size in SIZES}

    # --- rules

    @claim("toy-uniform-start")
    def uniform_start(self) -> Part:
        """The effect is the time at which p reaches 1."""
        way = self.uniform["unbounded"]
        reached = np.flatnonzero(way.p >= 1)
        rises = still_then_rising(way)
        verdict: Verdict = "fails" if not rises else "holds" if len(reached) else "undecided"
        detail = (
            f"dp/dtau at the start {first_rate(way):.1e}, then p {'only rises' if rises else 'does not only rise'}; it "
            + (f"is 1 or more from time {way.time[reached[0]]:.2f}" if len(reached) else "does not reach 1")
            + f" (exactly {time_to_one(UNIFORM):.4f})."
        )
        effect = float(way.time[reached[0]]) if len(reached) else None
        return Part("beta0 = beta1, p = 0.5", verdict, effect, None, "one deterministic flow", detail)

    @claim("toy-weights-monotone")
    def weights_monotone(self) -> Part:
        """The effect is the share of counterexamples."""
        ways = self.grid["unbounded"]
        wrong, steps = wrong_moves(ways)
        detail = f"{wrong} counterexamples in {steps} steps in time with p > 0, from {len(ways)} starts."
        return Part("grid of starts", "fails" if wrong else "holds", wrong / steps, None, "a grid of starts", detail)

    @claim("toy-reversed-start")
    def reversed_start(self) -> Iterator[Part]:
        """The effects are the threshold at p(0) = 0.5, and the last p from the reversed start."""
        off = max(abs(value - threshold(p)) for p, value in self.thresholds.items())
        detail = f"At most {off:.1e} from -sqrt(2) p(0) for p(0) = {', '.join(map(str, self.thresholds))}."
        near: Verdict = "holds" if off <= CLOSE else "fails"
        yield Part("threshold", near, self.thresholds[0.5], None, "a grid of starts", detail)
        way = self.reversed["unbounded"]
        falls, back = bool((np.diff(way.p) < 0).all()), bool((way.p[1:] > way.p[0]).any())
        verdict: Verdict = "fails" if back or way.p[1] >= way.p[0] else "holds" if falls else "undecided"
        detail = (
            f"p = {way.p[0]:g} falls to {way.p[-1]:.2g} by time {way.time[-1]:g}; largest later p {way.p[1:].max():g}."
        )
        yield Part("beta0 = 10, beta1 = -10", verdict, float(way.p[-1]), None, "one deterministic flow", detail)

    @claim("toy-softmax-same")
    def same_in_kind(self) -> Iterator[Part]:
        """The effect is the share of three signs that are those of the unbounded flow."""
        for gate in BOUNDED:
            signs = {
                "still, then rising": still_then_rising(self.uniform[gate]),
                "weights monotone": wrong_moves(self.grid[gate])[0] == 0,
                "falling from the reversed start": bool((np.diff(self.reversed[gate].p) < 0).all()),
            }
            last, later = self.uniform[gate], return_time(REVERSED, gate)
            detail = (
                "; ".join(f"{name}: {'yes' if good else 'no'}" for name, good in signs.items())
                + f". From the uniform start p is {last.p[-1]:.3f} at time {last.time[-1]:g}. Unlike the unbounded p "
                + f"it comes back from every start, from the reversed one after a time of {later:.0e}."
            )
            effect = sum(signs.values()) / len(signs)
            yield Part(gate, "holds" if effect == 1 else "fails", effect, None, "deterministic flows", detail)

    @claim("toy-low-loss-uniform")
    def low_loss(self) -> Part:
        """The effect is the lowest loss."""
        off = max(abs(value + 2 * size) for size, value in self.low.items())
        detail = f"Loss -2K to {off:.0e} for K from {min(self.low):g} to {max(self.low):g}, with p = 0.5."
        verdict: Verdict = "holds" if off <= 1e-9 else "fails"
        return Part("beta0 = -K, beta1 = 3K", verdict, min(self.low.values()), None, "a grid of K", detail)

    # --- tables, figures, words

    def tables(self) -> Mapping[str, Table]:
        return {
            "curves": self.flows(),
            "agreement": agreement_table(),
            "thresholds": [*self.turning_points(), *returning_points()],
            "returns": return_table(),
            "low_loss": [{"K": size, "loss": value} for size, value in self.low.items()],
        }

    def flows(self) -> list[dict[str, Any]]:
        """The flows from the blog's two starts, for each gate, as (start, gate, time, quantity, value)."""
        return [
            {"start": name, "gate": gate, "time": float(time), "what": what, "value": float(value)}
            for name, ways in (("uniform", self.uniform), ("reversed", self.reversed))
            for gate, way in ways.items()
            for what, values in (("beta0", way.beta0), ("beta1", way.beta1), ("p", way.p), ("loss", way.loss))
            for time, value in zip(way.time, values, strict=True)
        ]

    def turning_points(self) -> list[dict[str, Any]]:
        """Thresholds in D(0) by p(0) below which the unbounded p never comes back."""
        return [
            {"gate": "unbounded", "p": p, "horizon": None, "measured": value, "formula": threshold(p)}
            for p, value in self.thresholds.items()
        ]

    def figures(self) -> Figures:
        return figures(self.flows(), self.turning_points(), return_table())

    def summary(self) -> str:
        sigmoid, softmax = (return_time(REVERSED, gate) for gate in BOUNDED)
        return (
            f"From the uniform start p stands still at first, then rises and passes 1 at time "
            f"{time_to_one(UNIFORM):.3f}. From p = 0.5 it comes back only if beta1 - beta0 is above "
            f"{self.thresholds[0.5]:.4f} (exactly -sqrt(2) p); from the blog's reversed start, at -20, it never does. "
            f"Behind a sigmoid or softmax p always comes back, but from there only after a time of {sigmoid:.0e} "
            f"(sigmoid) or {softmax:.0e} (softmax). At p = 0.5 the weights alone bring the loss to "
            f"{min(self.low.values()):.0e} and as low as one likes."
        )

    def notes(self) -> list[str]:
        weights, gates = GRID[self.order.preset]
        return [
            "The loss is L = s_0 - s_1 = p (beta0 - beta1); the blog's label of it, s_1 - s_0, has the sign the other "
            "way.",
            "The unbounded p reaches 1 where p >= 1, as the blog says; nothing holds it there.",
            "Everything is deterministic: effects have no interval.",
            f"{self.order.preset}: {len(weights) ** 2 * len(gates)} starts in the grid.",
        ]


def times(until: float) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """0, an instant later, and 200 times up to ``until``."""
    return np.concatenate([[0.0, INSTANT], np.linspace(0, until, 201)[1:]])


def first_rate(way: Trajectory) -> float:
    """How fast p moves within the first instant."""
    return float((way.p[1] - way.p[0]) / (way.time[1] - way.time[0]))


def still_then_rising(way: Trajectory) -> bool:
    """Whether p has no rate at the start and rises at every later time while the weights separate."""
    return abs(first_rate(way)) < STILL and bool((np.diff(way.p[1:]) > 0).all() and (np.diff(way.margin) > 0).all())


def wrong_moves(ways: Sequence[Trajectory]) -> tuple[int, int]:
    """Of all steps in time during which p > 0: at how many beta0 does not fall or beta1 does not rise, and how many."""
    wrong = steps = 0
    for way in ways:
        positive = (way.p[1:] > 0) & (way.p[:-1] > 0)  # p changes its sign at most once, so it is positive between
        moved = (np.diff(way.beta0) < 0) & (np.diff(way.beta1) > 0)
        wrong += int((positive & ~moved).sum())
        steps += int(positive.sum())
    return wrong, steps


# --- tables


def agreement_table() -> Table:
    """Largest distance in p up to time 1: flow to closed form, and gradient descent to flow at halving rates."""
    table = []
    for name, start in (("uniform", UNIFORM), ("reversed", REVERSED)):
        for gate in GATES:
            row: dict[str, object] = {"start": name, "gate": gate, "flow_to_closed_form": None}
            if gate == "unbounded":
                ways = flow(start, times(1.0), gate), closed_form(start, times(1.0))
                row["flow_to_closed_form"] = float(np.abs(ways[0].p - ways[1].p).max())
            for rate in RATES:
                way = descend(start, rate=rate, steps=round(1 / rate), gate=gate)
                row[f"descent_at_{rate}"] = float(np.abs(way.p[1:] - flow(start, way.time[1:], gate).p).max())
            table.append(row)
    return table


def returning_points() -> Table:
    """Thresholds in D(0) by p(0) below which a p behind a gate does not come back within a horizon."""
    return [
        {
            "gate": gate,
            "p": p,
            "horizon": horizon,
            "measured": measured_threshold(p, gate, horizon=horizon, precision=1e-4),
            "formula": threshold_within(p, horizon, gate),
        }
        for gate, p, horizon in product(BOUNDED, GATE_STARTS, HORIZONS)
    ]


def return_table() -> Table:
    """How low p = 0.5 falls from a margin, and when it is back; empty where it never is."""
    table = []
    for gate, margin in product(GATES, (*MARGINS, REVERSED.margin)):
        start = Start(-margin / 2, margin / 2, 0.5)
        low, later = lowest(start, gate), return_time(start, gate)
        table.append(
            {
                "gate": gate,
                "margin": margin,
                "lowest_p": low if isfinite(low) else None,
                "back_at": later if isfinite(later) else None,
            }
        )
    return table


# --- figures


def figures(flows: Table, thresholds: Table, returns: Table) -> Figures:
    """Parameters through time from both starts, p around the threshold, and when p is back."""
    drawn: dict[str, alt.TopLevelMixin] = {}
    lines = partial(seed_curves, column="gate", x="time", x_title="training time τ")
    parameters: dict[str, Any] = {"group": "what", "colour": "what", "colours": COLOURS, "scale": alt.Scale(zero=False)}
    for name, until in (("uniform", 2.0), ("reversed", 1.0)):
        rows = [row for row in flows if row["start"] == name and row["time"] <= until and row["what"] != "loss"]
        drawn[name] = lines(rows, "value", "parameter", f"Parameters from the {name} start", **parameters)
    title, fate = "p from 0.5, for beta1 - beta0 between -1.4 and 0", alt.Scale(domain=[-1, 1], clamp=True)
    drawn["around"] = lines(around_threshold(), "p", "p", title, group="margin", colour="fate", scale=fate)
    x, y = alt.X("p:Q", title="p at the start"), alt.Y("measured:Q", title="threshold in beta1 - beta0")
    drawn["threshold"] = dots(thresholds, x, y, "Below it the unbounded p never comes back")
    back = [row for row in returns if row["back_at"] is not None and row["margin"] in MARGINS]
    x = alt.X("margin:Q", title="beta1 - beta0 at the start")
    y = alt.Y("back_at:Q", title="time until p is back at 0.5", scale=alt.Scale(type="log"))
    drawn["returns"] = dots(back, x, y, "When p comes back")
    return drawn


def around_threshold() -> Table:
    """p through time from margins on both sides of the threshold at p = 0.5."""
    table = []
    for gate, margin in product(GATES, np.linspace(-1.4, 0.0, 8).round(1).tolist()):
        way = flow(Start(-margin / 2, margin / 2, 0.5), np.linspace(0, 4, 81), gate)
        back = isfinite(return_time(Start(-margin / 2, margin / 2, 0.5), gate))
        fate = "comes back" if back else "never comes back"
        table += [
            {"gate": gate, "margin": margin, "time": float(t), "p": float(p), "fate": fate}
            for t, p in zip(way.time, way.p, strict=True)
            if -1 <= p <= 1
        ]
    return table


def dots(rows: Table, x: alt.X, y: alt.Y, title: str) -> alt.TopLevelMixin:
    """Points joined by lines, a colour for each gate."""
    lines = alt.Chart(inline(rows)).mark_line(point=True, strokeWidth=1)
    return headed(lines.encode(x=x, y=y, color=hue("gate", domain=GATES)), title, **SIZE)

"""The toy gated classifier (blog): weights learn first, then the gate; from a wrong start the gate turns away.

Nothing is trained in the run store: the flow has a closed form, is integrated numerically, and is followed by plain
gradient descent, and the three must agree.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import isfinite

import altair as alt
import numpy as np

from attnlab.lab.claims import Finding, Part, Preset, Verdict
from attnlab.lab.experiment import Experiment, Order, Result, Table
from attnlab.pages.charts import COLOURS, CONTRAST, INK, SIZE, curves, panels
from attnlab.runs.loop import Trained
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

UNIFORM = Start(0.0, 0.0, 0.5)
REVERSED = Start(10.0, -10.0, 0.5)
RATES = (0.1, 0.05, 0.025)
"""Rates of gradient descent, each half of the one before: the error must halve too."""
INSTANT = 1e-6
"""A time so short that a p that stands still cannot have moved by more than rounding."""
STILL = 1e-4
"""Largest rate of a p that stands still."""
CLOSE = 1e-3
"""Largest distance between the threshold found by bisection and its formula."""
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


@dataclass(frozen=True)
class Toy:
    """All that the claims are decided on.

    ``uniform`` and ``reversed`` by gate; ``grid``: flows by gate from every start of the grid; ``thresholds``:
    measured ones of the unbounded flow by p(0); ``low``: losses by K under uniform attention.
    """

    uniform: Mapping[Gate, Trajectory]
    reversed: Mapping[Gate, Trajectory]
    grid: Mapping[Gate, Sequence[Trajectory]]
    thresholds: Mapping[float, float]
    low: Mapping[float, float]


class GatedToy(Experiment):
    """The blog's two starts, a grid of others, and three kinds of gate."""

    name = "gated-toy"
    title = "A classifier of two words and one gate"
    source = "blog"

    def analyse(self, order: Order, done: Mapping[str, Trained]) -> Result:  # noqa: ARG002
        toy = compute(order.preset)
        thresholds, returns = threshold_table(toy), return_table()
        return Result(
            summary=tell(toy, returns),
            tables={
                "curves": curve_table(toy),
                "agreement": agreement_table(),
                "thresholds": thresholds,
                "returns": returns,
                "low_loss": [{"K": size, "loss": value} for size, value in toy.low.items()],
            },
            figures=figures(toy, thresholds, returns),
            findings=decide(toy),
            notes=notes(order),
        )


def compute(preset: Preset) -> Toy:
    """Everything the claims are decided on, at a preset."""
    weights, gates = GRID[preset]
    starts = [Start(*start) for start in product(weights, weights, gates)]
    return Toy(
        uniform={gate: flow(UNIFORM, times(2.0 if gate == "unbounded" else 30.0), gate) for gate in GATES},
        reversed={gate: flow(REVERSED, times(20.0), gate) for gate in GATES},
        grid={gate: [flow(start, times(3.0), gate) for start in starts] for gate in GATES},
        thresholds={p: measured_threshold(p) for p in GATE_STARTS},
        low={size: float(np.subtract(*scores(-size, 3 * size, 0.5))) for size in SIZES},
    )


def times(until: float) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """0, an instant later, and 200 times up to ``until``."""
    return np.concatenate([[0.0, INSTANT], np.linspace(0, until, 201)[1:]])


# --- claims


def decide(toy: Toy) -> tuple[Finding, ...]:
    """The verdicts; `claims.toml` says the rules in words."""
    return (
        Finding("toy-uniform-start", (uniform_start(toy.uniform["unbounded"]),)),
        Finding("toy-weights-monotone", (weights_monotone(toy.grid["unbounded"]),)),
        Finding("toy-reversed-start", (turning_point(toy.thresholds), falls_for_good(toy.reversed["unbounded"]))),
        Finding("toy-softmax-same", tuple(same_in_kind(toy, gate) for gate in ("sigmoid", "softmax"))),
        Finding("toy-low-loss-uniform", (low_loss(toy.low),)),
    )


def first_rate(way: Trajectory) -> float:
    """How fast p moves within the first instant."""
    return float((way.p[1] - way.p[0]) / (way.time[1] - way.time[0]))


def stands_still_then_rises(way: Trajectory) -> bool:
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


def uniform_start(way: Trajectory) -> Part:
    """Holds if p stands still at first, then only rises, and reaches 1; the effect is when it does."""
    reached = np.flatnonzero(way.p >= 1)
    rises = stands_still_then_rises(way)
    verdict: Verdict = "fails" if not rises else "holds" if len(reached) else "undecided"
    detail = (
        f"dp/dtau at the start {first_rate(way):.1e}, then p {'only rises' if rises else 'does not only rise'}; it "
        + (f"is 1 or more from time {way.time[reached[0]]:.2f}" if len(reached) else "does not reach 1")
        + f" (exactly {time_to_one(UNIFORM):.4f})."
    )
    effect = float(way.time[reached[0]]) if len(reached) else None
    return Part("beta0 = beta1, p = 0.5", verdict, effect, None, "one deterministic flow", detail)


def weights_monotone(ways: Sequence[Trajectory]) -> Part:
    """Holds without a counterexample; the effect is their share."""
    wrong, steps = wrong_moves(ways)
    detail = f"{wrong} counterexamples in {steps} steps in time with p > 0, from {len(ways)} starts."
    return Part("grid of starts", "fails" if wrong else "holds", wrong / steps, None, "a grid of starts", detail)


def turning_point(measured: Mapping[float, float]) -> Part:
    """Holds if the threshold found by bisection is the formula's at every p(0); the effect is that at p(0) = 0.5."""
    off = max(abs(value - threshold(p)) for p, value in measured.items())
    detail = f"At most {off:.1e} from -sqrt(2) p(0) for p(0) = {', '.join(map(str, measured))}."
    return Part("threshold", "holds" if off <= CLOSE else "fails", measured[0.5], None, "a grid of starts", detail)


def falls_for_good(way: Trajectory) -> Part:
    """Holds if p falls at every time from the reversed start; fails if it ever comes back above its start."""
    falls = bool((np.diff(way.p) < 0).all())
    back = bool((way.p[1:] > way.p[0]).any())
    verdict: Verdict = "fails" if back or way.p[1] >= way.p[0] else "holds" if falls else "undecided"
    detail = f"p = {way.p[0]:g} falls to {way.p[-1]:.2g} by time {way.time[-1]:g}; largest later p {way.p[1:].max():g}."
    return Part("beta0 = 10, beta1 = -10", verdict, float(way.p[-1]), None, "one deterministic flow", detail)


def same_in_kind(toy: Toy, gate: Gate) -> Part:
    """Holds if three signs are those of the unbounded flow; the effect is their share."""
    wrong, _ = wrong_moves(toy.grid[gate])
    turned = toy.reversed[gate]
    signs = {
        "still, then rising": stands_still_then_rises(toy.uniform[gate]),
        "weights monotone": wrong == 0,
        "falling from the reversed start": bool((np.diff(turned.p) < 0).all()),
    }
    later = return_time(REVERSED, gate)
    detail = (
        "; ".join(f"{name}: {'yes' if good else 'no'}" for name, good in signs.items())
        + f". From the uniform start p is {toy.uniform[gate].p[-1]:.3f} at time {toy.uniform[gate].time[-1]:g}. Unlike "
        + f"the unbounded p it comes back from every start, from the reversed one after a time of {later:.0e}."
    )
    effect = sum(signs.values()) / len(signs)
    return Part(gate, "holds" if effect == 1 else "fails", effect, None, "deterministic flows", detail)


def low_loss(losses: Mapping[float, float]) -> Part:
    """Holds if the loss is -2K for every K; the effect is the lowest."""
    off = max(abs(value + 2 * size) for size, value in losses.items())
    detail = f"Loss -2K to {off:.0e} for K from {min(losses):g} to {max(losses):g}, with p = 0.5."
    verdict: Verdict = "holds" if off <= 1e-9 else "fails"
    return Part("beta0 = -K, beta1 = 3K", verdict, min(losses.values()), None, "a grid of K", detail)


# --- tables and words


def curve_table(toy: Toy) -> Table:
    """The flows from the blog's two starts, for each gate, as (start, gate, time, quantity, value)."""
    return [
        {"start": name, "gate": gate, "time": float(time), "what": what, "value": float(value)}
        for name, ways in (("uniform", toy.uniform), ("reversed", toy.reversed))
        for gate, way in ways.items()
        for what, values in (("beta0", way.beta0), ("beta1", way.beta1), ("p", way.p), ("loss", way.loss))
        for time, value in zip(way.time, values, strict=True)
    ]


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


def threshold_table(toy: Toy) -> Table:
    """Thresholds in D(0) by p(0): the unbounded one for good; behind a gate, those of coming back within a horizon."""
    table: list[dict[str, object]] = [
        {"gate": "unbounded", "p": p, "horizon": None, "measured": value, "formula": threshold(p)}
        for p, value in toy.thresholds.items()
    ]
    for gate in ("sigmoid", "softmax"):
        for p, horizon in product(GATE_STARTS, HORIZONS):
            found = measured_threshold(p, gate, horizon=horizon, precision=1e-4)
            exact = threshold_within(p, horizon, gate)
            table.append({"gate": gate, "p": p, "horizon": horizon, "measured": found, "formula": exact})
    return table


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


def tell(toy: Toy, returns: Table) -> str:
    """The result in plain words."""
    late = {row["gate"]: row["back_at"] for row in returns if row["margin"] == REVERSED.margin}
    return (
        f"From the uniform start p stands still at first, then rises and passes 1 at time {time_to_one(UNIFORM):.3f}. "
        f"From p = 0.5 it comes back only if beta1 - beta0 is above {toy.thresholds[0.5]:.4f} (exactly -sqrt(2) p); "
        f"from the blog's reversed start, at -20, it never does. Behind a sigmoid or softmax p always comes back, but "
        f"from there only after a time of {late['sigmoid']:.0e} (sigmoid) or {late['softmax']:.0e} (softmax). At p = "
        f"0.5 the weights alone bring the loss to {min(toy.low.values()):.0e} and as low as one likes."
    )


def notes(order: Order) -> tuple[str, ...]:
    """What a reader should know about how it was run."""
    weights, gates = GRID[order.preset]
    return (
        "The loss is L = s_0 - s_1 = p (beta0 - beta1); the blog's label of it, s_1 - s_0, has the sign the other way.",
        "The unbounded p reaches 1 where p >= 1, as the blog says; nothing holds it there.",
        "Everything is deterministic: effects have no interval.",
        f"{order.preset}: {len(weights) ** 2 * len(gates)} starts in the grid.",
    )


# --- figures


def figures(toy: Toy, thresholds: Table, returns: Table) -> dict[str, alt.TopLevelMixin]:
    """Parameters through time from both starts, p around the threshold, and when p is back."""
    table = [row for row in curve_table(toy) if row["what"] != "loss"]
    drawn: dict[str, alt.TopLevelMixin] = {}
    for name, until in (("uniform", 2.0), ("reversed", 1.0)):
        drawn[name] = panels(
            [row for row in table if row["start"] == name and row["time"] <= until],
            column="gate",
            layer=curves(
                x="time",
                y="value",
                group="what",
                colour="what",
                colours=COLOURS,
                x_title="training time τ",
                y_title="parameter",
                scale=alt.Scale(zero=False),
            ),
            title=f"Parameters from the {name} start",
        )
    drawn["around"] = panels(
        around_threshold(),
        column="gate",
        layer=curves(
            x="time",
            y="p",
            group="margin",
            colour="fate",
            colours=CONTRAST,
            x_title="training time τ",
            y_title="p",
            scale=alt.Scale(domain=[-1, 1], clamp=True),
        ),
        title="p from 0.5, for beta1 - beta0 between -1.4 and 0",
    )
    drawn["threshold"] = dots(
        [row for row in thresholds if row["horizon"] is None],
        x=alt.X("p:Q", title="p at the start"),
        y=alt.Y("measured:Q", title="threshold in beta1 - beta0"),
        title="Below it the unbounded p never comes back",
    )
    drawn["returns"] = dots(
        [row for row in returns if row["back_at"] is not None and row["margin"] in MARGINS],
        x=alt.X("margin:Q", title="beta1 - beta0 at the start"),
        y=alt.Y("back_at:Q", title="time until p is back at 0.5", scale=alt.Scale(type="log")),
        title="When p comes back",
    )
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


def dots(rows: Table, *, x: alt.X, y: alt.Y, title: str) -> alt.Chart:
    """Points joined by lines, a colour for each gate."""
    chart: alt.Chart = (
        alt.Chart(alt.InlineData(values=[dict(row) for row in rows]))
        .mark_line(point=True, strokeWidth=1)
        .encode(
            x=x,
            y=y,
            color=alt.Color(
                "gate:N",
                title=None,
                scale=alt.Scale(domain=list(GATES), range=list(COLOURS)),
                legend=alt.Legend(orient="top"),
            ),
        )
        .properties(**SIZE, title=alt.TitleParams(title, anchor="start", fontSize=14, color=INK))
    )
    return chart

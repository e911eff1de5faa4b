"""The proxy's derivative at initialisation (P3 4.1, A.2), and how long the count table C predicts what it learns.

Measured by automatic differentiation at random starts of growing size d, on corpora small enough for d to become larger
than their vocabularies. Nothing is trained in the run store.
"""

from collections.abc import Mapping, Sequence

import altair as alt
import numpy as np

from attnlab.data.sentence_pairs import SentencePairs
from attnlab.experiments.init_derivative.proxy_starts import (
    ADAM_RATE,
    FLOW_RATE,
    MULTI30K,
    TRAINED_SIZE,
    Measured,
    compare_tables,
    follow,
    informative,
    make_corpora,
    measure,
    random_corpora,
)
from attnlab.lab.claims import Finding, Part, Preset, Verdict
from attnlab.lab.experiment import Experiment, Order, Result, Table
from attnlab.models.proxy import Optimiser
from attnlab.pages.charts import COLOURS, CONTRAST, INK, SIZE, curves, panels
from attnlab.runs.loop import Trained
from attnlab.stats.bootstrap import bootstrap_interval
from attnlab.theory.initial_derivative import proxy_table

OPTIMISERS: tuple[Optimiser, ...] = ("sgd", "adam")
SEEDS: dict[Preset, int] = {"quick": 5, "reduced": 10, "paper": 20}
SIZES: dict[Preset, tuple[int, ...]] = {
    "quick": (64, 256, 1024, 4096),
    "reduced": (64, 256, 1024, 4096, 16_384),
    "paper": (64, 256, 1024, 4096, 16_384),
}
SMALL = 16
"""A size measured too but left out of the slope, which is about growing d."""
STEPS: dict[Preset, int] = {"quick": 300, "reduced": 1000, "paper": 3000}
TRAINED_SEEDS: dict[Preset, int] = {"quick": 3, "reduced": 5, "paper": 5}
SLOPE = (-0.6, -0.4)
"""Where the slope of log error against log d must lie to be called -1/2."""
FACTOR = 0.05
"""Largest relative distance of the fitted factor from 1/|O|."""
EQUAL = 1e-12
PREDICTS = 0.5
"""C predicts theta's ranking where their rank correlation is at least this."""
KEPT = 0.9
"""Share of its best by which theta's first words still count as C's."""


class InitDerivative(Experiment):
    """The derivative at random starts, the two tables, and rankings through training."""

    name = "init-derivative"
    title = "What the bag-of-words proxy learns first"
    source = "P3 4.1, 4.2, A.2"

    def analyse(self, order: Order, done: Mapping[str, Trained]) -> Result:  # noqa: ARG002
        corpora = make_corpora(order.preset)
        seeds = order.first(range(SEEDS[order.preset]))
        sizes = (SMALL, *SIZES[order.preset])
        starts = [measure(name, c, size, seed) for name, c in corpora.items() for size in sizes for seed in seeds]
        trained = order.first(range(TRAINED_SEEDS[order.preset]))
        ranks = [
            row
            for name, pairs in corpora.items()
            if informative(proxy_table(pairs))
            for optimiser in OPTIMISERS
            for seed in trained
            for row in follow(name, pairs, optimiser, seed, STEPS[order.preset])
        ]
        equal = [compare_tables(name, pairs) for name, pairs in (corpora | random_corpora()).items()]
        spans = span_table(ranks)
        return Result(
            summary=tell(starts, spans),
            tables={
                "starts": [start.row() for start in starts],
                "errors": error_table(starts),
                "tables": equal,
                "rankings": ranks,
                "spans": spans,
            },
            figures=figures(starts, ranks),
            findings=decide(starts, equal),
            notes=notes(order, corpora),
            seeds={"starts": seeds, "training": trained},
        )


# --- claims


def decide(starts: Sequence[Measured], equal: Table) -> tuple[Finding, ...]:
    """The verdicts; `claims.toml` says the rules in words."""
    groups = group(starts)
    return (
        Finding("counts-equal", tuple(same_table(equal, way) for way in ("equation_13", "gradient"))),
        Finding("derivative-logits", tuple(shrinks(name, runs) for name, runs in groups.items())),
        Finding(
            "derivative-probabilities",
            tuple(has_factor(name, runs) for name, runs in groups.items() if runs[0].factor is not None),
        ),
    )


def group(starts: Sequence[Measured]) -> dict[str, list[Measured]]:
    """Starts by corpus, without those too small for the slope."""
    groups: dict[str, list[Measured]] = {}
    for start in starts:
        if start.size > SMALL:
            groups.setdefault(start.corpus, []).append(start)
    return groups


def slopes(runs: Sequence[Measured], what: str) -> list[float]:
    """For each seed, the slope of log distance against log d."""
    found = []
    for seed in dict.fromkeys(run.seed for run in runs):
        own = [run for run in runs if run.seed == seed]
        sizes, distances = np.log([run.size for run in own]), np.log([getattr(run, what) for run in own])
        found.append(float(np.polyfit(sizes, distances, 1)[0]))
    return found


def within(interval: tuple[float, float] | None, bounds: tuple[float, float]) -> Verdict:
    """Holds if the interval lies inside the bounds, fails if it lies outside."""
    if interval is None:
        return "undecided"
    if bounds[0] <= interval[0] and interval[1] <= bounds[1]:
        return "holds"
    return "fails" if interval[1] < bounds[0] or bounds[1] < interval[0] else "undecided"


def same_table(equal: Table, way: str) -> Part:
    """Holds if the tables are equal on every corpus; the effect is the largest relative distance."""
    worst = max(equal, key=lambda row: row[way])
    name = "equation 13" if way == "equation_13" else "gradient of the loss"
    detail = f"Largest distance {worst[way]:.0e} of the largest entry ({worst['corpus']}), over {len(equal)} corpora."
    return Part(name, "holds" if worst[way] <= EQUAL else "fails", worst[way], None, "corpora", detail)


def shrinks(name: str, runs: Sequence[Measured]) -> Part:
    """Holds if the logits' error falls like d^-1/2: the slope's interval over seeds within -0.5 +- 0.1."""
    found = slopes(runs, "logits")
    interval = bootstrap_interval(found)
    largest = [run for run in runs if run.size == max(run.size for run in runs)]
    relative = np.mean([run.logits / run.limit if run.limit else run.logits for run in largest])
    detail = (
        f"Slope {np.mean(found):.3f} over {len(found)} seeds; at d = {largest[0].size} the error is {relative:.3g} "
        + ("of the limit" if largest[0].limit else "(the limit is 0)")
        + f", {np.mean([run.logits / run.expected for run in largest]):.2f} of what is expected."
    )
    return Part(name, within(interval, SLOPE), float(np.mean(found)), interval, "seeds", detail)


def has_factor(name: str, runs: Sequence[Measured]) -> Part:
    """Holds if the factor is 1/|O| within 5 % at the largest d and the error falls like d^-1/2.

    The effect is the factor times |O|.
    """
    top = max(run.size for run in runs)
    factors = [run.factor for run in runs if run.size == top and run.factor is not None]
    interval = bootstrap_interval(factors)
    found = slopes(runs, "probabilities")
    slope_interval = bootstrap_interval(found)
    verdicts = {within(interval, (1 - FACTOR, 1 + FACTOR)), within(slope_interval, SLOPE)}
    verdict: Verdict = "fails" if "fails" in verdicts else "holds" if verdicts == {"holds"} else "undecided"
    detail = f"{np.mean(factors):.4f} / |O| at d = {top}; slope of the error {np.mean(found):.3f}" + (
        f" ({slope_interval[0]:.3f} to {slope_interval[1]:.3f})." if slope_interval else "."
    )
    return Part(name, verdict, float(np.mean(factors)), interval, "seeds", detail)


# --- tables and words


def error_table(starts: Sequence[Measured]) -> Table:
    """Means over seeds by corpus and d."""
    table = []
    for corpus, size in dict.fromkeys((start.corpus, start.size) for start in starts):
        runs = [start for start in starts if (start.corpus, start.size) == (corpus, size)]
        limit = runs[0].limit
        table.append(
            {
                "corpus": corpus,
                "size": size,
                "seeds": len(runs),
                "distance": float(np.mean([run.logits for run in runs])),
                "expected": runs[0].expected,
                "relative": float(np.mean([run.logits / limit for run in runs])) if limit else None,
                "factor": float(np.mean([run.factor for run in runs if run.factor is not None])) if limit else None,
            }
        )
    return table


def span_table(ranks: Table) -> Table:
    """For each corpus and optimiser: when C begins and ceases to predict theta's ranking, and how well at best."""
    table = []
    for corpus, optimiser in dict.fromkeys((row["corpus"], row["optimiser"]) for row in ranks):
        own = [row for row in ranks if (row["corpus"], row["optimiser"]) == (corpus, optimiser)]
        steps = sorted({row["step"] for row in own})
        mean = {
            key: np.array([np.mean([row[key] for row in own if row["step"] == step]) for step in steps])
            for key in ("correlation", "top", "loss")
        }
        good = np.flatnonzero(mean["correlation"] >= PREDICTS)
        peak = int(mean["correlation"].argmax())
        kept = np.flatnonzero(mean["top"] >= KEPT * mean["top"].max())
        table.append(
            {
                "corpus": corpus,
                "optimiser": optimiser,
                "seeds": len({row["seed"] for row in own}),
                "steps": steps[-1],
                "predicts_from": steps[good[0]] if len(good) else None,
                "predicts_until": steps[good[-1]] if len(good) else None,
                "peak_step": steps[peak],
                "peak_correlation": float(mean["correlation"][peak]),
                "last_correlation": float(mean["correlation"][-1]),
                "top_from": steps[kept[0]],
                "top_until": steps[kept[-1]],
                "peak_top": float(mean["top"].max()),
                "last_top": float(mean["top"][-1]),
                "chance_top": own[0]["chance"],
                "first_loss": float(mean["loss"][0]),
                "last_loss": float(mean["loss"][-1]),
            }
        )
    return table


def tell(starts: Sequence[Measured], spans: Table) -> str:
    """The result in plain words."""
    sentences = []
    for name, runs in group(starts).items():
        sentences.append(f"{name}: error of the logits' derivative falls like d^{np.mean(slopes(runs, 'logits')):.2f}.")
    for row in spans:
        span = (
            f"from step {row['predicts_from']} to {row['predicts_until']} of {row['steps']}"
            if row["predicts_from"] is not None
            else "at no step"
        )
        sentences.append(
            f"{row['corpus']}, {row['optimiser']}: "
            f"C predicts theta's ranking (rank correlation {PREDICTS} or more) {span}"
            f"; theta's first word is C's in {row['peak_top']:.0%} at best, about as often to step {row['top_until']}, "
            f"and in {row['last_top']:.0%} at the end."
        )
    return " ".join(sentences)


def notes(order: Order, corpora: Mapping[str, SentencePairs]) -> tuple[str, ...]:
    """What a reader should know about how it was run."""
    told = [
        "The paper's equation 12 leaves out 1/|O| of the softmax's derivative at a uniform start.",
        "Permutations have a limit of 0: their error is an absolute one, and no factor can be fitted.",
        f"d = {SMALL} is measured but not part of the slopes.",
        f"Rankings: d = {TRAINED_SIZE}, full batches; sgd at {FLOW_RATE} / (largest singular value of C - row mean): "
        f"the gradient flow in small steps; Adam at {ADAM_RATE}.",
        f"{order.preset}: {SEEDS[order.preset]} starts for each d; {TRAINED_SEEDS[order.preset]} trainings of "
        f"{STEPS[order.preset]} steps.",
    ]
    if MULTI30K not in corpora:
        told.append("Multi30k was left out: ATTNLAB_DATA names no folder that holds it.")
    return tuple(told)


# --- figures


def figures(starts: Sequence[Measured], ranks: Table) -> dict[str, alt.TopLevelMixin]:
    """Error against d, and rankings through training."""
    base = alt.Chart(alt.InlineData(values=[dict(row) for row in error_table(starts)])).encode(
        x=alt.X("size:Q", title="d", scale=alt.Scale(type="log")),
        color=alt.Color("corpus:N", title=None, scale=alt.Scale(range=list(COLOURS))),
    )
    axis = alt.Y("distance:Q", title="distance to 2(C - row mean)", scale=alt.Scale(type="log"))
    error = alt.layer(base.mark_point(filled=True).encode(y=axis), base.mark_line(strokeWidth=1).encode(y="expected:Q"))
    error = error.properties(
        **SIZE,
        title=alt.TitleParams("Logits' derivative (points) and what is expected (lines)", anchor="start", color=INK),
    )
    rankings = panels(
        [{**row, "step": row["step"] + 1, "run": f"{row['optimiser']} {row['seed']}"} for row in ranks],
        column="corpus",
        layer=curves(
            x="step",
            y="correlation",
            group="run",
            colour="optimiser",
            colours=CONTRAST,
            x_title="updates + 1",
            y_title="rank correlation of θ with C",
            scale=alt.Scale(domain=[-0.2, 1]),
        ).encode(x=alt.X("step:Q", title="updates + 1", scale=alt.Scale(type="log"))),
        title="How well C predicts θ's ranking",
    )
    return {"error": error, "rankings": rankings}

"""The proxy's derivative at initialisation (P3 4.1, A.2), and how long the count table C predicts what it learns.

Measured by automatic differentiation at random starts of growing size d, on corpora small enough for d to become larger
than their vocabularies. Nothing is trained in the run store.
"""

from collections.abc import Iterator, Mapping, Sequence

import altair as alt
import numpy as np

from attnlab.experiments.init_derivative.proxy_starts import (
    ADAM_RATE,
    FLOW_RATE,
    MULTI30K,
    TRAINED_SIZE,
    RandomStart,
    compare_tables,
    follow,
    informative,
    make_corpora,
    random_corpora,
    start,
)
from attnlab.lab.claims import Part, Verdict
from attnlab.lab.experiment import Experiment, Figures, Table, by_preset, claim
from attnlab.lab.outcomes import Runs, mean
from attnlab.lab.rules import between
from attnlab.models.proxy import Optimiser
from attnlab.pages.charts import COLOURS, INK, SIZE, curves, inline, panels
from attnlab.stats.bootstrap import bootstrap_interval
from attnlab.theory.initial_derivative import proxy_table

# --- settings

OPTIMISERS: tuple[Optimiser, ...] = ("sgd", "adam")
SEEDS = by_preset(5, 10, 20)
SIZES = by_preset((64, 256, 1024, 4096), (64, 256, 1024, 4096, 16_384), (64, 256, 1024, 4096, 16_384))
SMALL = 16
"""A size measured too but left out of the slope, which is about growing d."""
STEPS = by_preset(300, 1000, 3000)
TRAINED_SEEDS = by_preset(3, 5, 5)
SLOPE = (-0.6, -0.4)
"""The slopes of log error against log d that count as -1/2."""
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
    trains = False

    # --- measures

    def measure(self, runs: Runs) -> None:  # noqa: ARG002 (nothing is trained in the store)
        """The derivative at random starts, C against theta through training, and two ways to the table C."""
        preset, seeds = self.order.preset, self.seeds()
        self.corpora = make_corpora(preset)
        sizes = (SMALL, *SIZES[preset])
        self.starts = [
            start(name, pairs, size, seed)
            for name, pairs in self.corpora.items()
            for size in sizes
            for seed in seeds["starts"]
        ]
        self.rankings = [
            row
            for name, pairs in self.corpora.items()
            if informative(proxy_table(pairs))
            for optimiser in OPTIMISERS
            for seed in seeds["training"]
            for row in follow(name, pairs, optimiser, seed, STEPS[preset])
        ]
        self.equal = [compare_tables(name, pairs) for name, pairs in (self.corpora | random_corpora()).items()]

    def seeds(self) -> dict[str, list[int]]:
        counts = {"starts": SEEDS[self.order.preset], "training": TRAINED_SEEDS[self.order.preset]}
        return {role: self.order.first(range(count)) for role, count in counts.items()}

    # --- rules

    @claim("counts-equal")
    def tables_are_equal(self) -> Iterator[Part]:
        """The effect is the largest relative distance on any corpus."""
        for way, name in (("equation_13", "equation 13"), ("gradient", "gradient of the loss")):
            worst = max(self.equal, key=lambda row: row[way])
            detail = (
                f"Largest distance {worst[way]:.0e} of the largest entry ({worst['corpus']}), over {len(self.equal)} "
                "corpora."
            )
            yield Part(name, "holds" if worst[way] <= EQUAL else "fails", worst[way], None, "corpora", detail)

    @claim("derivative-logits")
    def logits_fall_in_line(self) -> Iterator[Part]:
        """The effect is the slope of the logits' error."""
        for name, group in by_corpus(self.starts).items():
            fitted = slopes(group, "logits")
            interval = bootstrap_interval(fitted)
            largest = [one for one in group if one.size == max(one.size for one in group)]
            relative = np.mean([one.logits / one.limit if one.limit else one.logits for one in largest])
            detail = (
                f"Slope {np.mean(fitted):.3f} over {len(fitted)} seeds; at d = {largest[0].size} the error is "
                f"{relative:.3g} "
                + ("of the limit" if largest[0].limit else "(the limit is 0)")
                + f", {np.mean([one.logits / one.expected for one in largest]):.2f} of what is expected."
            )
            yield Part(name, between(interval, *SLOPE), float(np.mean(fitted)), interval, "seeds", detail)

    @claim("derivative-probabilities")
    def probabilities_have_the_factor(self) -> Iterator[Part]:
        """The effect is the factor times |O| at the largest d; corpora whose limit is 0 have none."""
        for name, group in by_corpus(self.starts).items():
            top = max(one.size for one in group)
            factors = [one.factor for one in group if one.size == top and one.factor is not None]
            if not factors:
                continue
            interval, fitted = bootstrap_interval(factors), slopes(group, "probabilities")
            slope_interval = bootstrap_interval(fitted)
            verdicts = {between(interval, 1 - FACTOR, 1 + FACTOR), between(slope_interval, *SLOPE)}
            verdict: Verdict = "fails" if "fails" in verdicts else "holds" if verdicts == {"holds"} else "undecided"
            detail = f"{np.mean(factors):.4f} / |O| at d = {top}; slope of the error {np.mean(fitted):.3f}" + (
                f" ({slope_interval[0]:.3f} to {slope_interval[1]:.3f})." if slope_interval else "."
            )
            yield Part(name, verdict, float(np.mean(factors)), interval, "seeds", detail)

    # --- tables, figures, words

    def tables(self) -> Mapping[str, Table]:
        return {
            "starts": [dict(vars(one)) for one in self.starts],
            "errors": error_table(self.starts),
            "tables": self.equal,
            "rankings": self.rankings,
            "spans": span_table(self.rankings),
        }

    def figures(self) -> Figures:
        return figures(error_table(self.starts), self.rankings)

    def summary(self) -> str:
        sentences = [
            f"{name}: error of the logits' derivative falls like d^{np.mean(slopes(group, 'logits')):.2f}."
            for name, group in by_corpus(self.starts).items()
        ]
        for row in span_table(self.rankings):
            span = (
                f"from step {row['predicts_from']} to {row['predicts_until']} of {row['steps']}"
                if row["predicts_from"] is not None
                else "at no step"
            )
            sentences.append(
                f"{row['corpus']}, {row['optimiser']}: C predicts theta's ranking (rank correlation {PREDICTS} or "
                f"more) {span}; theta's first word is C's in {row['peak_top']:.0%} at best, about as often to step "
                f"{row['top_until']}, and in {row['last_top']:.0%} at the end."
            )
        return " ".join(sentences)

    def notes(self) -> list[str]:
        preset = self.order.preset
        missing = (
            [] if MULTI30K in self.corpora else ["Multi30k was left out: ATTNLAB_DATA names no folder that holds it."]
        )
        return [
            "The paper's equation 12 leaves out 1/|O| of the softmax's derivative at a uniform start.",
            "Permutations have a limit of 0: their error is an absolute one, and no factor can be fitted.",
            f"d = {SMALL} is measured but not part of the slopes.",
            f"Rankings: d = {TRAINED_SIZE}, full batches; sgd at {FLOW_RATE} / (largest singular value of C - row "
            f"mean): the gradient flow in small steps; Adam at {ADAM_RATE}.",
            f"{preset}: {SEEDS[preset]} starts for each d; {TRAINED_SEEDS[preset]} trainings of {STEPS[preset]} steps.",
            *missing,
        ]


def by_corpus(starts: Sequence[RandomStart]) -> dict[str, list[RandomStart]]:
    """Starts by corpus, without those too small for the slope."""
    groups: dict[str, list[RandomStart]] = {}
    for one in starts:
        if one.size > SMALL:
            groups.setdefault(one.corpus, []).append(one)
    return groups


def slopes(group: Sequence[RandomStart], what: str) -> list[float]:
    """For each seed, the slope of log distance against log d."""
    fitted = []
    for seed in dict.fromkeys(one.seed for one in group):
        own = [one for one in group if one.seed == seed]
        sizes, distances = np.log([one.size for one in own]), np.log([getattr(one, what) for one in own])
        fitted.append(float(np.polyfit(sizes, distances, 1)[0]))
    return fitted


# --- tables


def error_table(starts: Sequence[RandomStart]) -> Table:
    """Means over seeds by corpus and d."""
    table = []
    for corpus, size in dict.fromkeys((one.corpus, one.size) for one in starts):
        group = [one for one in starts if (one.corpus, one.size) == (corpus, size)]
        limit = group[0].limit
        table.append(
            {
                "corpus": corpus,
                "size": size,
                "seeds": len(group),
                "distance": mean(one.logits for one in group),
                "expected": group[0].expected,
                "relative": mean(one.logits / limit for one in group) if limit else None,
                "factor": mean(one.factor for one in group) if limit else None,
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


# --- figures


def figures(errors: Table, rankings: Table) -> Figures:
    """Error against d, and rankings through training."""
    log = alt.Scale(type="log")
    colour = alt.Color("corpus:N", title=None, scale=alt.Scale(range=list(COLOURS)))
    base = alt.Chart(inline(errors)).encode(x=alt.X("size:Q", title="d", scale=log), color=colour)
    axis = alt.Y("distance:Q", title="distance to 2(C - row mean)", scale=log)
    error = alt.layer(base.mark_point(filled=True).encode(y=axis), base.mark_line(strokeWidth=1).encode(y="expected:Q"))
    title = "Logits' derivative (points) and what is expected (lines)"
    rows = [{**row, "step": row["step"] + 1, "run": f"{row['optimiser']} {row['seed']}"} for row in rankings]
    scale = alt.Scale(domain=[-0.2, 1])
    lines = curves(
        y="correlation", y_title="rank correlation of θ with C", group="run", colour="optimiser", scale=scale
    )
    lines = lines.encode(x=alt.X("step:Q", title="updates + 1", scale=log))
    return {
        "error": error.properties(title=alt.TitleParams(title, anchor="start", color=INK), **SIZE),
        "rankings": panels(rows, column="corpus", layer=lines, title="How well C predicts θ's ranking"),
    }

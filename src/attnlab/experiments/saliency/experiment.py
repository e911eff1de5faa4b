"""Is attention an explanation, and is the relevance of uniform training one? (slides; P3 5.1)

Under standard training attention alpha is compared with the influence of words on the same network's prediction: by
leaving them out (loo) and by the gradient (delta). Relevance r' is the lexicon beta_uf of a run under uniform
attention; it is compared with the standard run's attention and influence.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import altair as alt
import numpy as np
import torch
from numpy.typing import NDArray

from attnlab.experiments.texts.classification import Role, TextExperiment
from attnlab.experiments.texts.text_notes import text_notes
from attnlab.experiments.texts.text_parts import bounds, far_exceeds
from attnlab.experiments.texts.text_pictures import heading
from attnlab.experiments.texts.text_report import write_text_report
from attnlab.experiments.texts.text_runs import Floats, TextRuns
from attnlab.fields import ScoreField
from attnlab.lab.claims import Finding, Part
from attnlab.lab.experiment import Order, Result, Table
from attnlab.measures.agreement import random_baseline, top_agreement
from attnlab.measures.tau import kendall_tau
from attnlab.pages.charts import COLOURS, INK, SIZE
from attnlab.probes.influence import influence
from attnlab.probes.integrated_gradients import integrated_gradients
from attnlab.probes.leave_one_out import leave_one_out, sample_for_leave_one_out
from attnlab.runs.loop import Trained

ROLES: tuple[Role, ...] = ("reference", "uniform")
SAMPLE, LONGEST = 400, 400
"""Texts that words are left out of, and the most words of one."""
DECIDES = {
    "alpha, loo": "attention-is-saliency",
    "alpha, delta": "attention-is-saliency",
    "alpha, beta_uf": "relevance-under-uniform",
    "delta, beta_uf": "relevance-under-uniform",
    "loo, beta_uf": "relevance-under-uniform",
}
"""The agreements that claims speak of, and the claim that each decides; all others are reported."""


class Saliency(TextExperiment):
    """Attention, influence and relevance, one corpus at a time."""

    name = "saliency"
    title = "Attention, influence and the relevance of uniform training"
    source = "slides, P3 5.1"
    roles = ROLES

    def analyse(self, order: Order, done: Mapping[str, Trained]) -> Result:
        runs = TextRuns(order, done)
        attributed = find_spec("captum") is not None
        standard = measure_standard(runs, attributed)
        found = compare(standard, relevances(runs))
        table = [pair.line() for pair in found.values()]
        return Result(
            summary=tell(order.row, found),
            tables={"saliency": table, "best_steps": best_step_table(runs, standard)},
            figures={"agreement": picture(order.row, table)},
            findings=decide(found),
            notes=notes(runs, standard, attributed),
            seeds={role: runs.seeds(role) for role in ROLES},
        )

    def report(self, folder: Path) -> Path:
        return write_text_report(
            folder,
            self.title,
            "How often the position that one quantity values most is among the top 5 % of another: standard attention, "
            "influence by leaving a word out and by the gradient, and the relevance learned under uniform attention.",
            main="saliency",
            columns={
                "agreement": "agreement",
                "texts": "texts",
                "value": "A",
                "low": "from",
                "high": "to",
                "chance": "chance",
                "tau": "tau",
                "decides": "decides",
            },
            tables=("best_steps",),
        )


# --- what is compared


@dataclass(frozen=True, eq=False)
class Standard:
    """Fields of the reference runs at their best evaluations, a list of one for each run.

    ``alpha`` and ``delta`` are over all validation texts, ``loo`` and ``ig`` (empty without captum) over the texts
    ``rows``. ``gaps``: how far each run's integrated gradients are from adding up, as a share of what they add up to.
    """

    alpha: list[ScoreField]
    delta: list[ScoreField]
    loo: list[ScoreField]
    ig: list[ScoreField]
    rows: NDArray[np.int64]
    gaps: list[float]


@dataclass(frozen=True, eq=False)
class Compared:
    """A(u, v) and tau(u, v) of each text, mean over pairs of runs, and A's chance: (texts,) each."""

    name: str
    values: Floats
    tau: Floats
    chance: Floats

    def line(self) -> dict[str, object]:
        """The figures in a table."""
        interval, defined = bounds(self.values), self.tau[~np.isnan(self.tau)]
        tau_interval = bounds(defined) if len(defined) else None
        return {
            "agreement": f"A({self.name})",
            "texts": len(self.values),
            "value": float(self.values.mean()),
            "low": interval[0] if interval else None,
            "high": interval[1] if interval else None,
            "chance": float(self.chance.mean()),
            "times_chance": float(self.values.mean() / self.chance.mean()),
            "tau": float(defined.mean()) if len(defined) else None,
            "tau_low": tau_interval[0] if tau_interval else None,
            "tau_high": tau_interval[1] if tau_interval else None,
            "decides": DECIDES.get(self.name, ""),
        }


def measure_standard(runs: TextRuns, attributed: bool) -> Standard:
    """Read attention and work out influence, run by run; one network at a time is in memory."""
    texts = runs.texts["valid"]
    rows = sample_for_leave_one_out(texts, SAMPLE, LONGEST)
    sample = texts.select(rows)
    found = Standard([], [], [], [], rows.numpy(), [])
    for run in runs.of("reference"):
        network = runs.model(run)
        found.alpha.append(runs.field(run, runs.best_step(run), "valid", "alpha"))
        found.delta.append(influence(network, texts))
        found.loo.append(leave_one_out(network, sample))
        if attributed:
            field, gaps = integrated_gradients(network, sample)
            sums = torch.from_numpy(np.add.reduceat(field.values, field.offsets[:-1]))
            found.ig.append(field)
            found.gaps.append(float(gaps.abs().mean() / (sums - gaps).abs().mean()))
    return found


def relevances(runs: TextRuns) -> list[ScoreField]:
    """r' of every uniform run: its lexicon at the evaluation of highest validation accuracy."""
    return [runs.field(run, runs.best_step(run), "valid", "gamma") for run in runs.of("uniform")]


def compare(standard: Standard, relevance: Sequence[ScoreField]) -> dict[str, Compared]:
    """All agreements by name. Fields of one reference run are compared with each other, and with every r'."""
    own = list(range(len(standard.alpha)))
    sampled = [select(field, standard.rows) for field in standard.alpha]
    delta = [select(field, standard.rows) for field in standard.delta]
    beta = [select(field, standard.rows) for field in relevance]
    pairs = {
        "alpha, loo": [(sampled[k], standard.loo[k]) for k in own],
        "alpha, delta": [(standard.alpha[k], standard.delta[k]) for k in own],
        "loo, delta": [(standard.loo[k], delta[k]) for k in own],
        "alpha, beta_uf": [(u, v) for u in standard.alpha for v in relevance],
        "delta, beta_uf": [(u, v) for u in standard.delta for v in relevance],
        "loo, beta_uf": [(u, v) for u in standard.loo for v in beta],
    }
    if standard.ig:
        pairs["alpha, ig"] = [(sampled[k], standard.ig[k]) for k in own]
        pairs["loo, ig"] = [(standard.loo[k], standard.ig[k]) for k in own]
        pairs["ig, beta_uf"] = [(u, v) for u in standard.ig for v in beta]
    return {name: compared(name, fields) for name, fields in pairs.items()}


def compared(name: str, pairs: Sequence[tuple[ScoreField, ScoreField]]) -> Compared:
    """Both measures of every text, mean over the pairs; a tau that is undefined for a pair is left out of its mean."""
    values = np.mean([top_agreement(u, v).expected for u, v in pairs], axis=0)
    taus = np.stack([kendall_tau(u, v) for u, v in pairs])
    defined = ~np.isnan(taus)
    tau = np.full(taus.shape[1], np.nan)
    np.divide(np.where(defined, taus, 0).sum(axis=0), defined.sum(axis=0), out=tau, where=defined.any(axis=0))
    return Compared(name, values, tau, random_baseline(pairs[0][0].lengths))


def select(field: ScoreField, rows: NDArray[np.int64]) -> ScoreField:
    """Some rows of a field, in the order named.

    >>> select(ScoreField.from_rows([[1, 2], [3], [4, 5]]), np.array([2, 0])).values.tolist()
    [4.0, 5.0, 1.0, 2.0]
    """
    lengths = field.lengths[rows]
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    places = np.arange(offsets[-1]) + np.repeat(field.offsets[rows] - offsets[:-1], lengths)
    return ScoreField(field.values[places], offsets)


# --- verdicts, tables, words, pictures


def decide(found: Mapping[str, Compared]) -> tuple[Finding, ...]:
    """A part for each agreement that a claim speaks of."""
    parts: dict[str, list[Part]] = {}
    for name, claim in DECIDES.items():
        parts.setdefault(claim, []).append(far_exceeds(f"A({name})", found[name].values, found[name].chance))
    return tuple(Finding(claim, tuple(told)) for claim, told in parts.items())


def best_step_table(runs: TextRuns, standard: Standard) -> Table:
    """r' at other steps than that of its highest accuracy: the agreements at every evaluation, mean over pairs."""
    uniforms = runs.of("uniform")
    chosen = {runs.best_step(run) for run in uniforms}
    table = []
    for step in runs.steps(uniforms[0]):
        relevance = [runs.field(run, step, "valid", "gamma") for run in uniforms]
        beta = [select(field, standard.rows) for field in relevance]
        of_step = {
            f"A({name}, beta_uf)": float(np.mean([top_agreement(u, v).expected.mean() for u in us for v in vs]))
            for name, us, vs in (
                ("alpha", standard.alpha, relevance),
                ("delta", standard.delta, relevance),
                ("loo", standard.loo, beta),
            )
        }
        accuracy = float(np.mean([row["accuracy"] for run in uniforms for row in run.rows if row["step"] == step]))
        table.append({"step": step, "accuracy": accuracy, **of_step, "most_accurate": "yes" if step in chosen else ""})
    return table


def tell(row: str, found: Mapping[str, Compared]) -> str:
    """The result in plain words."""

    def share(name: str) -> str:
        one = found[name]
        return f"{one.values.mean():.1%} (chance {one.chance.mean():.1%}, tau {np.nanmean(one.tau):.2f})"

    return (
        f"On {row} the position that standard attention values most is among the top 5 % of leave-one-out influence in "
        f"{share('alpha, loo')} of {len(found['alpha, loo'].values)} texts and of gradient influence in "
        f"{share('alpha, delta')} of {len(found['alpha, delta'].values)}. The relevance learned under uniform "
        f"attention has among its top 5 % the top position of standard attention in {share('alpha, beta_uf')}, of "
        f"gradient influence in {share('delta, beta_uf')} and of leave-one-out in {share('loo, beta_uf')}."
    )


def notes(runs: TextRuns, standard: Standard, attributed: bool) -> tuple[str, ...]:
    """Departures, and how influence was worked out."""
    told = [
        *text_notes(runs, ROLES),
        "Attention and influence are of the same run at its evaluation of highest validation accuracy. Influence is on "
        "the right class: of the log-probability by the gradient, of the log-odds by leaving out.",
        f"Words are left out of {len(standard.rows)} drawn texts of at most {LONGEST} words; the gradient is of all "
        "validation texts.",
        "r' is read at the uniform run's evaluation of highest validation accuracy, which no agreement chose; "
        "best_steps has all others.",
    ]
    if attributed:
        told.append(
            "Integrated gradients (50 steps, from zero embeddings) are reported and decide nothing; they miss what "
            f"they should add up to by {max(standard.gaps):.1%} of it."
        )
    else:
        told.append("Integrated gradients are left out: captum is not installed (the extra attribution).")
    return tuple(told)


def picture(row: str, table: Table) -> alt.TopLevelMixin:
    """Agreements with their intervals, and chance."""
    order = [line["agreement"] for line in table]
    shown = [{**line, "claim": line["decides"] or "reported"} for line in table]
    base = alt.Chart(alt.InlineData(values=shown)).encode(y=alt.Y("agreement:N", title=None, sort=order))
    colour = alt.Color("claim:N", title=None, scale=alt.Scale(range=list(COLOURS)), legend=alt.Legend(orient="top"))
    bars = base.mark_rule(strokeWidth=3).encode(
        x=alt.X("low:Q", title="agreement, 95 % interval over examples", scale=alt.Scale(domain=[0, 1])),
        x2="high:Q",
        color=colour,
    )
    points = base.mark_point(filled=True, size=50).encode(
        x="value:Q", color=colour, tooltip=["agreement:N", alt.Tooltip("value:Q", format=".3f"), "texts:Q"]
    )
    chances = base.mark_tick(color=INK, thickness=1.5).encode(x="chance:Q")
    return alt.layer(bars, points, chances).properties(
        width=2 * SIZE["width"], height=26 * len(order), title=heading(f"{row}: agreement; ticks are chance")
    )

"""Is attention an explanation, and is the relevance of uniform training one? (slides; P3 5.1)

Under standard training attention alpha is compared with the influence of words on the same network's prediction: by
leaving them out (loo) and by the gradient (delta). Relevance r' is the lexicon beta_uf of a run under uniform
attention; it is compared with the standard run's attention and influence.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, ClassVar

import altair as alt
import numpy as np
import torch
from numpy.typing import NDArray

from attnlab.experiments.texts.corpora import TextExperiment, TextRuns
from attnlab.fields import ScoreField
from attnlab.lab.claims import Part
from attnlab.lab.corpus_runs import best_step, steps_of
from attnlab.lab.experiment import Figures, Table, claim
from attnlab.lab.outcomes import Runs
from attnlab.lab.rules import TAU_LEAST, Estimate, exceeds, far_exceeds, low_high, missing, over_examples
from attnlab.measures.agreement import random_baseline, top_agreement
from attnlab.measures.series import mean_over_pairs
from attnlab.measures.tau import kendall_tau
from attnlab.pages.charts import INK, SIZE, headed, hue, inline, rounded
from attnlab.probes.influence import influence
from attnlab.probes.integrated_gradients import integrated_gradients
from attnlab.probes.leave_one_out import leave_one_out, sample_for_leave_one_out
from attnlab.stats.bootstrap import Floats

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
    roles = ("reference", "uniform")
    left_out = ()  # its claims are not about the paper's tables, so SMS counts as well
    lead = (
        "How often the position that one quantity values most is among the top 5 % of another: standard attention, "
        "influence by leaving a word out and by the gradient, and the relevance learned under uniform attention."
    )
    main = "saliency"
    dots_title = "How often attention's top word is among the words that matter"
    dots: ClassVar[Mapping[str, Mapping[str, str]]] = {
        f"A(alpha, {other})": {"agreement": f"A(alpha, {other})"} for other in ("loo", "delta")
    }
    columns: ClassVar[Mapping[str, str]] = {
        "agreement": "agreement",
        "texts": "texts",
        "value": "A",
        "low": "from",
        "high": "to",
        "chance": "chance",
        "tau": "tau",
        "decides": "decides",
    }
    shown = ("best_steps",)

    def measure(self, runs: Runs) -> None:
        super().measure(runs)
        self.standard = measure_standard(self.texts, find_spec("captum") is not None)
        uniforms = self.texts.of("uniform")
        relevance = [self.texts.field(run, best_step(run), "valid", "gamma") for run in uniforms]
        self.compared = compare(self.standard, relevance)

    # --- rules

    def parts(self, claim: str) -> Iterator[Part]:
        """A part for each agreement that a claim speaks of."""
        for row in self.record.rows("saliency", decides=claim):
            found = Estimate.of(row, runs=self.record.runs("reference"))
            yield far_exceeds(row["agreement"], found, row["chance"], row["texts"])

    @claim("attention-is-saliency", reads=("saliency",))
    def attention_is_saliency(self) -> Iterator[Part]:
        """The slides say that they correlate strongly, so Kendall's tau over all positions is a part, too."""
        yield from self.parts("attention-is-saliency")
        for row in self.record.rows("saliency", decides="attention-is-saliency"):
            name = row["agreement"].replace("A(", "tau(", 1)
            if row["tau"] is None:
                yield missing(name, "examples", "Tau is undefined on every text.")
                continue
            found = Estimate.of(row, "tau", "tau_", runs=self.record.runs("reference"))
            yield exceeds(name, found, 0, f"tau {found.value:.3f} over {row['texts']} texts.", least=TAU_LEAST)

    @claim("relevance-under-uniform", reads=("saliency",))
    def relevance_under_uniform(self) -> Iterator[Part]:
        yield from self.parts("relevance-under-uniform")

    # --- tables, figures, words

    def tables(self) -> Mapping[str, Table]:
        return {"saliency": [pair.line() for pair in self.compared.values()], "best_steps": self.best_step_table()}

    def best_step_table(self) -> Table:
        """r' at other steps than that of its highest accuracy: the agreements at every evaluation, mean over pairs."""
        uniforms, standard = self.texts.of("uniform"), self.standard
        chosen = {best_step(run) for run in uniforms}
        table = []
        for step in steps_of(uniforms[0]):
            relevance = [self.texts.field(run, step, "valid", "gamma") for run in uniforms]
            beta = [field.select(standard.rows) for field in relevance]
            of_step = {
                f"A({name}, beta_uf)": float(np.mean([top_agreement(u, v).expected.mean() for u in us for v in vs]))
                for name, us, vs in (
                    ("alpha", standard.alpha, relevance),
                    ("delta", standard.delta, relevance),
                    ("loo", standard.loo, beta),
                )
            }
            accuracy = float(np.mean([row["accuracy"] for run in uniforms for row in run.rows if row["step"] == step]))
            most = "yes" if step in chosen else ""
            table.append({"step": step, "accuracy": accuracy, **of_step, "most_accurate": most})
        return table

    def figures(self) -> Figures:
        return {"agreement": picture(self.order.row, [pair.line() for pair in self.compared.values()])}

    def summary(self) -> str:
        def share(name: str) -> str:
            one = self.compared[name]
            return f"{one.values.mean():.1%} (chance {one.chance.mean():.1%}, tau {np.nanmean(one.tau):.2f})"

        texts = {name: len(one.values) for name, one in self.compared.items()}
        return (
            f"On {self.order.row} the position that standard attention values most is among the top 5 % of "
            f"leave-one-out influence in {share('alpha, loo')} of {texts['alpha, loo']} texts and of gradient "
            f"influence in {share('alpha, delta')} of {texts['alpha, delta']}. The relevance learned under uniform "
            f"attention has among its top 5 % the top position of standard attention in {share('alpha, beta_uf')}, of "
            f"gradient influence in {share('delta, beta_uf')} and of leave-one-out in {share('loo, beta_uf')}."
        )

    def notes(self) -> list[str]:
        return [
            *super().notes(),
            "Attention and influence are of the same run at its evaluation of highest validation accuracy. Influence "
            "is on the right class: of the log-probability by the gradient, of the log-odds by leaving out.",
            f"Words are left out of {len(self.standard.rows)} drawn texts of at most {LONGEST} words; the gradient is "
            "of all validation texts.",
            "r' is read at the uniform run's evaluation of highest validation accuracy, which no agreement chose; "
            "best_steps has all others.",
            "Integrated gradients (50 steps, from zero embeddings) are reported and decide nothing; they miss what "
            f"they should add up to by {max(self.standard.gaps):.1%} of it."
            if self.standard.ig
            else "Integrated gradients are left out: captum is not installed (the extra attribution).",
        ]


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


def measure_standard(runs: TextRuns, attributed: bool) -> Standard:
    """Read attention and work out influence, run by run; one network at a time is in memory.

    ``attributed``: work out integrated gradients, too.
    """
    texts = runs.texts["valid"]
    rows = sample_for_leave_one_out(texts, SAMPLE, LONGEST)
    sample = texts.select(rows)
    standard = Standard(runs.alphas(), [], [], [], rows.numpy(), [])
    for run in runs.of("reference"):
        network = runs.model(run)
        standard.delta.append(influence(network, texts))
        standard.loo.append(leave_one_out(network, sample))
        if attributed:
            field, gaps = integrated_gradients(network, sample)
            sums = torch.from_numpy(np.add.reduceat(field.values, field.offsets[:-1]))
            standard.ig.append(field)
            standard.gaps.append(float(gaps.abs().mean() / (sums - gaps).abs().mean()))
    return standard


@dataclass(frozen=True, eq=False)
class Compared:
    """A(u, v) and tau(u, v) of each text, mean over pairs of runs, and A's chance: (texts,) each."""

    name: str
    values: Floats
    tau: Floats
    chance: Floats

    @classmethod
    def of(cls, name: str, pairs: Sequence[tuple[ScoreField, ScoreField]]) -> "Compared":
        """From the fields of all pairs; a tau that is undefined for a pair is left out of its text's mean."""
        values = np.mean([top_agreement(u, v).expected for u, v in pairs], axis=0)
        tau = mean_over_pairs(np.stack([kendall_tau(u, v) for u, v in pairs]))
        return cls(name, values, tau, random_baseline(pairs[0][0].lengths))

    def line(self) -> dict[str, Any]:
        """The figures in a table."""
        value, chance, defined = float(self.values.mean()), float(self.chance.mean()), self.tau[~np.isnan(self.tau)]
        return {
            "agreement": f"A({self.name})",
            "texts": len(self.values),
            "value": value,
            **low_high(over_examples(self.values)),
            "chance": chance,
            "times_chance": value / chance,
            "tau": float(defined.mean()) if len(defined) else None,
            **low_high(over_examples(defined) if len(defined) else None, "tau_"),
            "decides": DECIDES.get(self.name, ""),
        }


def compare(standard: Standard, relevance: Sequence[ScoreField]) -> dict[str, Compared]:
    """All agreements by name. Fields of one reference run are compared with each other, and with every r'."""
    alpha, delta, beta = (
        [field.select(standard.rows) for field in fields] for fields in (standard.alpha, standard.delta, relevance)
    )
    pairs = {
        "alpha, loo": list(zip(alpha, standard.loo, strict=True)),
        "alpha, delta": list(zip(standard.alpha, standard.delta, strict=True)),
        "loo, delta": list(zip(standard.loo, delta, strict=True)),
        "alpha, beta_uf": [(u, v) for u in standard.alpha for v in relevance],
        "delta, beta_uf": [(u, v) for u in standard.delta for v in relevance],
        "loo, beta_uf": [(u, v) for u in standard.loo for v in beta],
    }
    if standard.ig:
        pairs["alpha, ig"] = list(zip(alpha, standard.ig, strict=True))
        pairs["loo, ig"] = list(zip(standard.loo, standard.ig, strict=True))
        pairs["ig, beta_uf"] = [(u, v) for u in standard.ig for v in beta]
    return {name: Compared.of(name, fields) for name, fields in pairs.items()}


def picture(row: str, table: Table) -> alt.TopLevelMixin:
    """Agreements with their intervals, and chance."""
    order = [line["agreement"] for line in table]
    shown = [{**line, "claim": line["decides"] or "reported"} for line in table]
    base, colour = alt.Chart(inline(shown)).encode(y=alt.Y("agreement:N", title=None, sort=order)), hue("claim")
    x = alt.X("low:Q", title="agreement, 95 % interval over examples", scale=alt.Scale(domain=[0, 1]))
    bars = base.mark_rule(strokeWidth=3).encode(x=x, x2="high:Q", color=colour)
    points = base.mark_point(filled=True, size=50)
    points = points.encode(x="value:Q", color=colour, tooltip=["agreement:N", rounded("value"), "texts:Q"])
    chances = base.mark_tick(color=INK, thickness=1.5).encode(x="chance:Q")
    title, height = f"{row}: agreement; ticks are chance", 26 * len(order)
    return headed(alt.layer(bars, points, chances), title, width=2 * SIZE["width"], height=height)

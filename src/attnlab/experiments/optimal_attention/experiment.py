"""Optimal attention (P3 A.1): the attention of least loss, and where it does not follow the largest beta.

The paper's three-word example, two outputs, and random logits of several sizes. What is measured of a set of logits
(`predictions`) does not know where they come from. And a trained translator's, on Multi30k (`real`).
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import altair as alt
import numpy as np
import torch
from torch import Tensor

from attnlab.errors import UsageError
from attnlab.experiments.bitexts.corpora import PairRuns, Role, bitexts_at_hand, pair_run_row, pair_setting
from attnlab.experiments.optimal_attention.real import agreement_rows, bleu_row, nothing_row, optimum_of
from attnlab.lab.claims import Part, Preset, Verdict
from attnlab.lab.experiment import Experiment, Figures, Setting, Table, by_preset, claim
from attnlab.lab.outcomes import Runs
from attnlab.lab.rules import Estimate, as_good_as, far_exceeds, low_high, lower
from attnlab.pages.charts import COLOURS, SIZE, headed, inline
from attnlab.probes.optimal_attention import attention_loss, lexical_beta, lexical_log_odds, optimal_attention
from attnlab.seeds import torch_generator
from attnlab.stats.proportions import wilson

# --- settings

GAMMA = ((0.0, 0.0, 0.0), (0.0, -10.0, 5.0), (0.0, 5.0, -10.0))
"""The paper's example: logits of three positions over three outputs, of which the first is right."""
TOLERANCE = 1e-6
NOTHING = 1e-3
"""Attention that counts as none in the example."""
LITTLE = 0.01
"""Attention that counts as next to none on random logits."""
DRAWS = by_preset(200, 2000, 5000)
OUTPUTS = by_preset((2, 3, 10, 50), (2, 3, 5, 10, 20, 50), (2, 3, 5, 10, 20, 50))
SCALES = (0.3, 1.0, 3.0, 10.0)
"""Standard deviation of random logits."""
LENGTHS = (3, 10, 30)
CHUNK = 500
ROW = "multi30k"
ROLES: tuple[Role, ...] = ("reference", "linear")
SENTENCES: dict[Preset, int] = {"quick": 0, "reduced": 100, "paper": 500}
"""Validation sentences whose words' optimal attention is found."""
MARGIN = 1.0
"""BLEU by which a read-out may differ and still be as good."""
RARELY, SELDOM = 0.05, 0.5
"""Rarely, by our margin; and what nobody would call rarely any more."""


@dataclass(frozen=True)
class Logits:
    """Logits of a set of predictions.

    ``gamma (batch, length, outputs)``, ``gold (batch,)``, ``gamma_s (batch, outputs)``, and ``mask (batch, length)``,
    True where there is a position.
    """

    gamma: Tensor
    gold: Tensor
    gamma_s: Tensor | None = None
    mask: Tensor | None = None


class OptimalAttentionExperiment(Experiment):
    """The example, two outputs, and random logits."""

    name = "optimal-attention"
    title = "Does the best attention follow the largest beta?"
    source = "P3 A.1"
    trains = False

    def settings_at(self, preset: Preset) -> list[Setting]:
        """The translators of both read-outs, where Multi30k is there. They are compared at equal updates, so the main
        one goes on no longer here than the linear one.
        """
        if not SENTENCES[preset] or not translates():
            return []
        main, linear = (pair_setting(ROW, role, preset) for role in ROLES)
        return [replace(main, schedule=linear.schedule), linear]

    def measure(self, runs: Runs) -> None:
        """The optimum of the paper's example, rates over random logits of every size, and a translator's."""
        preset = self.order.preset
        self.real = None
        if runs:
            self.real = measure_translator(PairRuns(ROW, preset, runs), SENTENCES[preset])
        self.example = example_logits()
        self.optimum = optimal_attention(self.example.gamma, self.example.gold, tolerance=TOLERANCE)
        self.beta = lexical_beta(self.example.gamma, self.example.gold)[0]
        self.random = [
            {"outputs": outputs, "scale": scale, "length": length}
            | summarise(row for part in draw(DRAWS[preset], outputs, scale, length) for row in predictions(part))
            for outputs in OUTPUTS[preset]
            for scale in SCALES
            for length in LENGTHS
        ]

    def seeds(self) -> dict[str, list[int]]:
        return {"random logits": [0]}

    @claim("attention-optimum-example", reads=("example",))
    def nothing_to_the_largest(self) -> Part:
        """The effect is the attention of the position of largest beta."""
        rows = self.record.rows("example")
        weight, gap = max(rows, key=lambda row: row["beta"])["alpha_opt"], rows[0]["gap"]
        verdict: Verdict = "undecided" if gap > TOLERANCE else "holds" if weight < NOTHING else "fails"
        alpha, beta = (", ".join(f"{row[name]:.4f}" for row in rows) for name in ("alpha_opt", "beta"))
        detail = f"Optimal attention ({alpha}) where beta is ({beta}); gap {gap:.0e}."
        return Part("three words", verdict, weight, None, "one example", detail)

    @claim("attention-optimum-real", reads=("multi30k",))
    def follows_beta_on_multi30k(self) -> Iterator[Part]:
        """A(alpha_opt, beta), beta with the decoder's term as in the text."""
        for row in self.record.rows("multi30k")[:1]:
            yield far_exceeds("Multi30k", Estimate.of(row, runs=1), row["chance"])

    @claim("linear-readout-as-good", reads=("bleu",))
    def linear_readout_translates(self) -> Iterator[Part]:
        """The difference in BLEU at equal updates, its interval over sentences."""
        for row in self.record.rows("bleu"):
            interval = None if row["low"] is None else (row["low"], row["high"])
            detail = f"{row['linear']:.1f} BLEU against {row['main']:.1f}, within {row['up_to']} updates."
            verdict = as_good_as(interval, MARGIN)
            yield Part("Multi30k", verdict, row["difference"], interval, "examples", detail, runs=1)

    @claim("optimum-rarely-empty", reads=("nothing",))
    def rarely_nothing(self) -> Iterator[Part]:
        """How often the position of largest beta gets next to nothing of the optimal attention."""
        for row in self.record.rows("nothing"):
            interval = None if row["low"] is None else (row["low"], row["high"])
            detail = f"{row['value']:.1%} of {row['words']} output words."
            name, value, verdict = "Multi30k", row["value"], lower(interval, RARELY)
            yield Part(name, verdict, value, interval, "examples", detail, lower(interval, SELDOM), runs=1)

    # --- tables, figures, words

    def tables(self) -> Mapping[str, Table]:
        example = [
            {
                "position": k + 1,
                "beta": b,
                "alpha_opt": a,
                "loss_alone": float(-torch.tensor(b).log()),
                "loss": self.optimum.loss.item(),
                "gap": self.optimum.gap.item(),
            }
            for k, (b, a) in enumerate(zip(self.beta.tolist(), self.optimum.alpha[0].tolist(), strict=True))
        ]
        return {"example": example, "random": self.random, **(self.real or {})}

    def run_tables(self) -> dict[str, Table]:
        """A line for each translator, where there are any."""
        return {"runs": [pair_run_row(outcome) for outcome in self.runs.all()]} if self.runs else {}

    def figures(self) -> Figures:
        return {"random": rate_chart(self.random)}

    def summary(self) -> str:
        alpha = ", ".join(f"{value:.3f}" for value in self.optimum.alpha[0].tolist())
        two = [row for row in self.random if row["outputs"] == 2]
        more = [row for row in self.random if row["outputs"] > 2]
        worst = max(more, key=lambda row: row["nothing"])
        agreeing = sum(row["first"] * row["draws"] for row in two) / sum(row["draws"] for row in two)
        return (
            f"In the paper's example the optimal attention is ({alpha}). With two outputs it is largest at the largest "
            f"beta in {agreeing:.2%} of random draws. With more, the position of largest beta gets less than "
            f"{LITTLE:.0%} in {min(row['nothing'] for row in more):.1%} to {worst['nothing']:.1%} of random draws, "
            f"most often with {worst['outputs']} outputs, {worst['length']} positions and logits of scale "
            f"{worst['scale']:g}.{self.on_multi30k()}"
        )

    def on_multi30k(self) -> str:
        """What a trained translator's optimal attention is like, in words; empty without one."""
        if self.real is None:
            return ""
        (main, context), (nothing,), (bleu,) = (self.real[name] for name in ("multi30k", "nothing", "bleu"))
        return (
            f" On Multi30k A(alpha_opt, beta) is {main['value']:.2f} ({context['value']:.2f} without the decoder's "
            f"term; chance {main['chance']:.2f}, the paper's 0.53), and the position of largest beta gets less than "
            f"{LITTLE:.0%} of it for {nothing['value']:.1%} of the output words. The linear read-out has "
            f"{bleu['linear']:.1f} BLEU, the main network {bleu['main']:.1f}."
        )

    def notes(self) -> list[str]:
        preset = self.order.preset
        return [
            f"Every optimum is found to a gap of {TOLERANCE:g}: its loss is at most that far above the least, and at "
            "most by that share of it.",
            "Random logits are independent normal numbers, unlike those of a trained model; they say what is possible.",
            "On Multi30k one linear and one main run of the same seed are compared at their best evaluations within "
            f"the same number of updates; optima are those of {SENTENCES[preset]} validation sentences. Intervals are "
            "over sentences."
            if self.real is not None
            else "Claims about Multi30k need its files and the preset reduced or paper; they stay open here.",
            f"{preset}: {DRAWS[preset]} draws for each number of outputs, scale and length.",
        ]


# --- a trained translator


def translates() -> bool:
    """Whether Multi30k is in the data folder."""
    try:
        return bool(bitexts_at_hand([ROW]))
    except UsageError:
        return False


def measure_translator(runs: PairRuns, sentences: int) -> dict[str, Table]:
    """Tables of the linear network's optimal attention at its best evaluation, and of both networks' BLEU."""
    (linear,) = runs.of("linear")
    few = runs.texts["valid"].select(np.arange(min(sentences, len(runs.texts["valid"]))))
    optimum = optimum_of(runs.model(linear), few, TOLERANCE)
    nothing = [nothing_row(optimum, LITTLE)]
    return {"multi30k": agreement_rows(optimum), "nothing": nothing, "bleu": [bleu_row(runs)]}


# --- logits, and what is measured of them


def example_logits() -> Logits:
    """The paper's three positions and three outputs."""
    return Logits(torch.tensor([GAMMA], dtype=torch.float64), torch.tensor([0]))


def draw(count: int, outputs: int, scale: float, length: int) -> Iterator[Logits]:
    """``count`` predictions with independent normal logits, the decoder's included, in parts that fit into memory."""
    generator = torch_generator(0, "optimal-attention", outputs, str(scale), length)
    for start in range(0, count, CHUNK):
        batch = min(CHUNK, count - start)
        gamma = torch.empty(batch, length, outputs, dtype=torch.float64).normal_(0, scale, generator=generator)
        gamma_s = torch.empty(batch, outputs, dtype=torch.float64).normal_(0, scale, generator=generator)
        yield Logits(gamma, torch.randint(outputs, (batch,), generator=generator), gamma_s)


def predictions(logits: Logits) -> Iterator[dict[str, Any]]:
    """What is measured of each prediction.

    ``weight`` that the optimum gives to the position of largest beta, whether that is the ``first``, how many
    ``positions`` it uses, what it ``gain``s over attending to the position of largest beta alone, and its ``gap``.
    """
    optimum = optimal_attention(logits.gamma, logits.gold, logits.gamma_s, mask=logits.mask, tolerance=TOLERANCE)
    odds = lexical_log_odds(logits.gamma, logits.gold, logits.gamma_s)
    if logits.mask is not None:
        odds = odds.where(logits.mask, -torch.inf)
    best = odds.argmax(1, keepdim=True)
    alone = torch.zeros_like(optimum.alpha).scatter(1, best, 1.0)
    gains = attention_loss(alone, logits.gamma.double(), logits.gold, logits.gamma_s) - optimum.loss
    columns = {"weight": optimum.alpha.gather(1, best)[:, 0], "first": optimum.alpha.argmax(1) == best[:, 0]}
    columns |= {"positions": (optimum.alpha > LITTLE).sum(1), "gain": gains}
    columns |= {"gap": optimum.gap, "reached": optimum.reached}
    for values in zip(*(column.tolist() for column in columns.values()), strict=True):
        yield dict(zip(columns, values, strict=True))


def summarise(rows: Iterator[dict[str, Any]]) -> dict[str, Any]:
    """Rates with their Wilson intervals, and means, over predictions."""
    measured = list(rows)
    n = len(measured)
    little = sum(row["weight"] < LITTLE for row in measured)
    first = sum(row["first"] for row in measured)
    return {
        "draws": n,
        "nothing": little / n,
        **low_high(wilson(little, n), "nothing_"),
        "first": first / n,
        **low_high(wilson(first, n), "first_"),
        "one_position": sum(row["positions"] == 1 for row in measured) / n,
        "mean_positions": sum(row["positions"] for row in measured) / n,
        "mean_gain": sum(row["gain"] for row in measured) / n,
        "largest_gap": max(row["gap"] for row in measured),
        "not_reached": sum(not row["reached"] for row in measured),
    }


def rate_chart(random: Table) -> alt.TopLevelMixin:
    """How often the position of largest beta gets next to nothing, with intervals."""
    base = alt.Chart().encode(
        x=alt.X("outputs:Q", title="outputs", scale=alt.Scale(type="log")),
        color=alt.Color("scale:N", title="scale of logits", scale=alt.Scale(range=list(COLOURS))),
    )
    rate = base.mark_line(point=True, strokeWidth=1).encode(
        y=alt.Y("nothing:Q", title="largest β gets less than 1 %", axis=alt.Axis(format="%"))
    )
    bars = base.mark_rule(strokeWidth=1).encode(y=alt.Y("nothing_low:Q", title=""), y2="nothing_high:Q")
    layers = alt.layer(bars, rate, data=inline(random)).properties(**SIZE)
    return headed(layers.facet(column=alt.Column("length:N", title="positions")), "Random logits")

"""Can attention be learned over a lexicon that cannot? (P3 3.3, A.6: Table 9)

In a *frozen* run attention alone is trained, and all else stays as random as it began; its attention is alpha_fr. The
paper compares A(alpha, alpha_fr) with A(alpha, beta_uf), each at its best step: a lexicon can be learned without
attention, but not attention without a lexicon.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import ClassVar

from attnlab.data.corpora.newsgroups import BODIES
from attnlab.experiments.texts.corpora import (
    ROWS,
    SIZES,
    Role,
    Size,
    TextExperiment,
    TextSetting,
    over_texts,
    text_setting,
)
from attnlab.lab.claims import Part
from attnlab.lab.experiment import Figures, Order, Table, claim
from attnlab.lab.outcomes import Runs
from attnlab.lab.rules import falls_short, low_high, over_examples
from attnlab.measures.checkpoints import first_half, read_on_second_half
from attnlab.measures.series import Series

FROZEN, UNIFORM = "A(alpha, alpha_fr)", "A(alpha, beta_uf)"
BODIES_RUNS, BODIES_STEPS = 3, 1000
"""Runs of each role and updates on 20 Newsgroups without mail headers: both agreements peak in the first hundreds."""


class FrozenLexicon(TextExperiment):
    """Attention over a frozen random lexicon against a lexicon under uniform attention, one corpus at a time."""

    name = "frozen-lexicon"
    title = "Attention trained over a frozen lexicon"
    source = "P3 3.3, A.6"
    rows = (*ROWS, BODIES.name)
    answers_with = ROWS
    roles = ("reference", "uniform", "frozen")
    lead = (
        "How often the position that attention values most is among the top 5 % of an attention that was trained over "
        "a frozen random lexicon, and of a lexicon that was trained under uniform attention."
    )
    main = "table9"
    dots_title = "Does attention find the same words over a frozen random lexicon?"
    dots: ClassVar[Mapping[str, str]] = {FROZEN: f"{FROZEN}, held out", UNIFORM: f"{UNIFORM}, held out"}
    columns: ClassVar[Mapping[str, str]] = {
        f"{FROZEN}, held out": FROZEN,
        f"{UNIFORM}, held out": UNIFORM,
        "difference": "difference",
        "low": "from",
        "high": "to",
        "chance": "chance",
        f"{FROZEN}, largest": f"{FROZEN}, as in the paper",
        f"{UNIFORM}, largest": f"{UNIFORM}, as in the paper",
    }
    shown = ("pairs",)

    def size(self, order: Order) -> Size:
        """That of the preset, but on 20 Newsgroups without headers, which is run for its own question."""
        if order.row != BODIES.name or order.preset == "quick":
            return SIZES[order.preset]
        return replace(SIZES[order.preset], runs=dict.fromkeys(self.roles, BODIES_RUNS), steps=BODIES_STEPS)

    def settings_for(self, order: Order) -> list[TextSetting]:
        return [text_setting(order.row, role, order.preset, size=self.size(order)) for role in self.roles]

    def measure(self, runs: Runs) -> None:
        super().measure(runs)
        alphas = self.texts.alphas()
        frozen = self.texts.follow(FROZEN, alphas, "frozen", "alpha")
        self.compare(frozen, self.texts.follow(UNIFORM, alphas, "uniform", "gamma"))

    def compare(self, frozen: Series, uniform: Series) -> None:
        """Both agreements over training, and each text's at steps chosen on the half that it does not belong to."""
        self.series: dict[Role, Series] = {"frozen": frozen, "uniform": uniform}
        self.frozen, self.uniform = (read_on_second_half(series.values["expected"]) for series in (frozen, uniform))

    @claim("frozen-lexicon-fails", reads=("table9",))
    def agrees_less(self) -> Part:
        """Holds if the difference, read on the texts that did not choose the steps, lies below 0; fails if above."""
        row = self.record.row("table9")
        detail = (
            f"{FROZEN} is {row[f'{FROZEN}, held out']:.3f} and {UNIFORM} {row[f'{UNIFORM}, held out']:.3f} on the "
            f"{row['held_out_texts']} texts that did not choose the steps."
        )
        return falls_short(self.order.row, self.found(row, "difference"), 0, detail)

    # --- tables, figures, words

    def tables(self) -> Mapping[str, Table]:
        return {"table9": [self.line()], "pairs": self.pair_table(), "curves": self.curve_table()}

    def line(self) -> dict[str, float | None]:
        """The corpus' line of the paper's table: the largest agreements, and those at steps chosen on other texts."""
        return {
            f"{FROZEN}, largest": self.series["frozen"].value(),
            f"{UNIFORM}, largest": self.series["uniform"].value(),
            **self.held_out(),
            "chance": self.texts.chance,
            "frozen_accuracy": self.texts.accuracy("frozen"),
            "uniform_accuracy": self.texts.accuracy("uniform"),
            "reference_accuracy": self.texts.accuracy("reference"),
            "commonest_class": self.texts.majority,
        }

    def held_out(self) -> dict[str, float | None]:
        """What the rule decides from: both agreements on texts that did not choose the steps, and their difference."""
        difference = self.frozen - self.uniform
        return {
            f"{FROZEN}, held out": float(self.frozen.mean()),
            f"{UNIFORM}, held out": float(self.uniform.mean()),
            "difference": float(difference.mean()),
            **low_high(over_examples(difference)),
            "held_out_texts": len(difference),
        }

    def pair_table(self) -> Table:
        """Every pair of runs: its best step and agreement by all texts, and those by the halves."""
        table = []
        for role, series in self.series.items():
            values, half = series.values["expected"], first_half(series.values["expected"].shape[2])
            for (one, other), of_pair, best in zip(self.texts.pairs(role), values, series.best(), strict=True):
                chosen = int(of_pair[:, half].mean(axis=1).argmax())
                table.append(
                    {
                        "agreement": series.name,
                        "reference_seed": one,
                        "other_seed": other,
                        "best_step": series.steps[best],
                        "largest": float(of_pair[best].mean()),
                        "chosen_step": series.steps[chosen],
                        "held_out": float(of_pair[chosen, ~half].mean()),
                    }
                )
        return table

    def curve_table(self) -> Table:
        """The agreement of every pair of runs at every evaluation."""
        return [row for role, series in self.series.items() for row in self.texts.rows(series, role)]

    def figures(self) -> Figures:
        title = "agreement with the reference attention over training"
        return {"curves": self.over_training(self.curve_table(), title)}

    def summary(self) -> str:
        line = self.line()
        return (
            f"On {self.order.row} the position that attention values most is among the top 5 % of the attention "
            f"trained over a frozen random lexicon in {line[f'{FROZEN}, held out']:.1%} of the texts at its best "
            f"step, and of the lexicon trained under uniform attention in {line[f'{UNIFORM}, held out']:.1%}: a "
            f"difference of {line['difference']:.3f}{over_texts(line)}. Chance is {line['chance']:.1%}. The best "
            f"accuracy with a frozen lexicon is {line['frozen_accuracy']:.3f}; the commonest class alone gives "
            f"{line['commonest_class']:.3f}, and the whole network reaches {line['reference_accuracy']:.3f}."
        )

    def corpus_notes(self, steps: int | None = None, texts: int | None = None) -> list[str]:
        return super().corpus_notes(steps or self.size(self.order).steps, texts)

    def notes(self) -> list[str]:
        known = "The paper's own Table 9 could not be had; only the direction of its difference is known."
        return [*super().notes(), known]

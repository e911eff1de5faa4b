"""Does attention follow lexical knowledge? (P3 3.1, 3.2, 4.2, 5.1, A.4: Tables 1 to 7)

A row for each corpus, labelled texts and sentence pairs. The paper compares a reference run's attention alpha with what
other runs know about single words: beta of a run from another seed, beta_uf of a run under uniform attention, beta_px
of a bag-of-words proxy; and reads each agreement A as xi, how good a model is when its attention is as far along.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from attnlab.experiments.agreement.shown import (
    AUTHORS,
    AUTHORS_XI,
    COLUMNS,
    LOGISTIC,
    accuracies,
    at_best_evaluation,
    attention_figure,
    bleu_table,
    choices,
    far_from_authors,
    picture,
    shortfall,
)
from attnlab.experiments.bitexts.corpora import CorpusExperiment, PairRuns, pair_run_row
from attnlab.experiments.texts.corpora import TextRuns
from attnlab.fields import ScoreField
from attnlab.lab.claims import Part, Preset
from attnlab.lab.corpus_runs import CorpusRuns, best_step, curve_of, steps_of
from attnlab.lab.experiment import Figures, Table, claim
from attnlab.lab.outcomes import Runs
from attnlab.lab.rules import (
    TAU_LEAST,
    Estimate,
    estimate_row,
    exceeds,
    far_exceeds,
    low_high,
    missing,
    over_examples,
)
from attnlab.measures.agreements import SEEDS_AGREE, Agreements
from attnlab.measures.series import Series, compared
from attnlab.measures.xi import XiInterval
from attnlab.stats.bootstrap import Floats

SHAPED = "A(alpha, beta) - A(alpha, beta_uf)"
RISES = "A(alpha, alpha(step)) and accuracy"
"""What learned attention adds to the agreement of uniform training; and what rises together, if the paper is right."""
CONTEXT_LEAST = 0.2
"""The least share of the way from untrained to best performance that counts as well above."""
TEST: Mapping[Preset, int] = {"quick": 100, "reduced": 1000, "paper": 1000}
"""Test pairs that are translated."""
RISES_LEAST = 0.5
"""The least rank correlation that counts as rising together."""


class AgreementExperiment(CorpusExperiment):
    """The paper's main table, one corpus at a time."""

    name = "agreement"
    title = "Attention follows lexical knowledge: the main table"
    source = "P3 3.1, 3.2, 4.2, 5.1, A.4"
    roles = ("reference", "uniform", "comparison", "proxy")
    pair_roles = ("reference", "uniform", "comparison", "proxy")
    more: ClassVar[Mapping[tuple[str, str], int]] = {("amazon", "comparison"): 3}
    lead = (
        "How often the position that one quantity values most is among the top 5 % of another, and how good a model is "
        "when its attention agrees as much. Known figures are the authors' own where they could be had. The first "
        "table is in per cent, its rows numbered as the paper's tables: 1 and 4 are A, 2 is Kendall's tau, 6 is A on "
        "training texts; 3, 5 and 7 are the same with BLEU as performance."
    )
    main = "paper"
    dots_table = "agreement"
    dots_title = "How often attention's top word is among the top 5 % of the lexical probe's"
    dots: ClassVar[Mapping[str, Mapping[str, str]]] = {
        name: {"agreement": name, "split": "valid"} for name in ("A(alpha, beta)", "A(alpha, beta_uf)")
    }
    shown = ("agreement", "bleu", "choices", "runs")

    # --- measures

    def measure(self, runs: Runs) -> None:
        super().measure(runs)
        self.valid, self.train = compare_runs(self.texts, "valid"), compare_runs(self.texts, "train")
        self.best = self.texts.accuracy("reference")
        self.untrained = max(float(self.valid.accuracy[:, 0].mean()), self.texts.majority)
        # By split and by what counts as performance: all agreements, and the best performance.
        self.compared = {
            "valid": (self.valid, self.best),
            "train": (self.train, self.texts.accuracy("reference", "train_accuracy")),
        }
        if isinstance(self.texts, PairRuns):
            best = (self.texts.accuracy("reference", name) / 100 for name in ("bleu", "train_bleu"))
            self.compared["valid, by BLEU"] = by_bleu(self.texts, self.valid), next(best)
            self.compared["train, by BLEU"] = by_bleu(self.texts, self.train), next(best)
        self.xi = {
            (split, "expected"): {name: of.xi(name, "expected", best) for name in COLUMNS}
            for split, (of, best) in self.compared.items()
        }
        self.xi["valid", "tau"] = {name: self.valid.xi(name, "tau", self.best) for name in COLUMNS}
        self.agreements = self.agreement_table()
        self.picture = picture(self.texts) if isinstance(self.texts, PairRuns) else []
        self.bleu = bleu_table(self.texts, TEST[self.order.preset]) if isinstance(self.texts, PairRuns) else []
        self.accuracies: Table = (
            accuracies(self.texts) if isinstance(self.texts, TextRuns) else list(map(pair_run_row, self.runs.all()))
        )

    # --- rules

    def exceeds_chance(self, name: str, split: str = "valid") -> Part:
        """The rule of several claims: the largest agreement over evaluations exceeds chance, and is twice it."""
        row = self.record.row("agreement", split=split, agreement=f"A({name})")
        return far_exceeds(f"A({name})", Estimate.of(row, runs=self.record.runs("reference")), row["chance"])

    @claim("attention-follows-lexicon", reads=("agreement",))
    def follows_lexicon(self) -> list[Part]:
        return [self.exceeds_chance(name) for name in ("alpha, beta_uf", "alpha, beta")]

    @claim("lexicon-under-uniform", reads=("agreement",))
    def uniform_training_is_the_proxys(self) -> Part:
        return self.exceeds_chance("beta_uf, beta_px")

    @claim("saliency-explained", reads=("agreement",))
    def influence_follows_lexicon(self) -> Part:
        return self.exceeds_chance("delta, beta_uf")

    @claim("attention-like-ibm1", reads=("agreement",))
    def like_ibm1(self) -> list[Part]:
        return [self.exceeds_chance(name) for name in ("alpha, alpha_ibm", "beta_uf, beta_ibm", "beta_px, beta_ibm")]

    @claim("attention-shapes-lexicon", reads=("estimates",))
    def shapes_lexicon(self) -> Part:
        """Holds if A(alpha, beta) - A(alpha, beta_uf) has an interval over examples above 0, fails if below."""
        row = self.record.row("estimates", what=SHAPED)
        found = Estimate.of(row, over=row["over"], runs=self.record.runs("reference"))
        return exceeds(SHAPED, found, 0, row["detail"])

    @claim("agreement-in-context", reads=("estimates",))
    def in_context(self) -> Iterator[Part]:
        """Holds if xi lies above the untrained performance, with an interval, by a fifth of the way to the best."""
        return self.well_above("estimates")

    def well_above(self, table: str) -> Iterator[Part]:
        """Every xi of a table of estimates."""
        for row in self.record.rows(table):
            if row["what"].startswith("xi("):
                found = Estimate.of(row, over=row["over"], runs=self.record.runs("comparison"))
                yield exceeds(row["what"], found, 0, row["detail"], least=CONTEXT_LEAST * row["whole_way"])

    @claim("agreement-grows-with-performance", reads=("estimates",))
    def rises_with_performance(self) -> Part:
        """Rank correlation of A(alpha, alpha(step)) and accuracy up to each comparison run's best evaluation.

        The interval is over comparison runs, or over examples where there is one run.
        """
        row = self.record.row("estimates", what=RISES)
        if row["value"] is None:
            return missing(RISES, row["over"], row["detail"])
        found = Estimate.of(row, over=row["over"], runs=self.record.runs("comparison"))
        return exceeds(RISES, found, 0, row["detail"], least=RISES_LEAST)

    @claim("agreement-kendall", reads=("agreement",))
    def with_tau(self) -> Iterator[Part]:
        """Kendall's tau, whose chance level is 0: its interval lies above 0 and it is at least 0.1."""
        for name in COLUMNS:
            row = self.record.row("agreement", split="valid", agreement=f"A({name})")
            found = Estimate.of(row, "tau", "tau_", runs=self.record.runs("reference"))
            detail = f"tau {found.value:.3f}." if found.interval else "One text has no interval."
            yield exceeds(f"tau({name})", found, 0, detail, least=TAU_LEAST)

    @claim("agreement-training-split", reads=("agreement",))
    def on_training_texts(self) -> list[Part]:
        return [self.exceeds_chance(name, "train") for name in COLUMNS]

    @claim("agreement-bleu", reads=("estimates_bleu",))
    def with_bleu(self) -> Iterator[Part]:
        """The rule of agreement-in-context with BLEU, from 0 to 1, as performance."""
        return self.well_above("estimates_bleu")

    # --- tables, figures, words

    def tables(self) -> Mapping[str, Table]:
        tables: dict[str, Table] = {
            "agreement": self.agreements,
            "estimates": estimates(self.valid, self.xi["valid", "expected"], self.untrained, self.best),
            "paper": self.paper_table(),
            "choices": choices(self.valid),
            "curves": self.curve_table(),
        }
        if self.translates:
            by_bleu, best = self.compared["valid, by BLEU"]
            untrained = float(by_bleu.accuracy[:, 0].mean())
            tables["bleu"] = self.bleu
            tables["estimates_bleu"] = estimates(by_bleu, self.xi["valid, by BLEU", "expected"], untrained, best)
        return tables | ({"attention": self.picture} if self.picture else {})

    def run_tables(self) -> dict[str, Table]:
        return {"runs": self.accuracies}

    def agreement_table(self) -> Table:
        """Every agreement on both splits, with intervals, chance, the choice of the evaluation, and the authors'."""
        row, table = self.order.row, []
        for split, (agreements, _) in self.compared.items():
            for name, series in agreements.series.items():
                known, value = AUTHORS.get((row, split, name)), series.value()
                xi = self.xi[split, "expected"][name].first if name in COLUMNS else None
                table.append(
                    {
                        "split": split,
                        "agreement": f"A({name})",
                        "value": value,
                        **low_high(series.interval()),
                        **low_high(series.seed_interval(), "seed_"),
                        "chance": float(agreements.chance.mean()),
                        "held_out": series.held_out(),
                        "best_steps": " ".join(str(series.steps[step]) for step in sorted(set(series.best()))),
                        "tau": series.value("tau"),
                        **low_high(series.interval("tau"), "tau_"),
                        "released_ties": series.value("released"),
                        "xi": None if name not in COLUMNS else xi.performance if xi else "never",
                        "xi_step": xi.step if xi else None,
                        "authors": known,
                        "difference": None if known is None else value - known,
                        "authors_xi": AUTHORS_XI.get((row, split, name)),
                    }
                )
        return table

    def paper_table(self) -> Table:
        """The row of the paper's Tables 1 and 4 (A), 2 (tau), 6 (A on training texts), and with BLEU, in per cent."""
        table = []
        for number, split, measure in (
            ("1, 4", "valid", "expected"),
            ("2", "valid", "tau"),
            ("6", "train", "expected"),
            ("3, 5", "valid, by BLEU", "expected"),
            ("7", "train, by BLEU", "expected"),
        ):
            if split not in self.compared:
                continue
            agreements, best = self.compared[split]
            row: dict[str, Any] = {"table": number}
            for name in COLUMNS:
                row[f"A({name})"] = round(100 * agreements.series[name].value(measure), 2)
            row["chance"] = 0.0 if measure == "tau" else round(100 * float(agreements.chance.mean()), 2)
            for name in COLUMNS:
                xi = self.xi[split, measure][name].first
                row[f"xi({name})"] = round(100 * xi.performance, 2) if xi else "never"
            table.append({**row, "xi*": round(100 * best, 2)})
        return table

    def curve_table(self) -> list[dict[str, Any]]:
        """Agreements and accuracies at every evaluation, for each pair of runs."""
        table = []
        for name, series in self.valid.series.items():
            if len(series.steps) > 1:
                table += series.rows(f"A({name})", [f"{name} {pair}" for pair in range(len(series.curve()))])
        for role in ("reference", "uniform", "comparison"):
            for outcome in self.texts.outcomes(role):
                named = {"what": f"accuracy ({role})", "seeds": f"{role} {outcome.seed}"}
                table += [{**named, "step": int(row["step"]), "value": row["accuracy"]} for row in outcome.run.rows]
        return table

    def figures(self) -> Figures:
        """How agreements grow with training, where they end against chance, and of translators attention itself."""
        followed = {f"A({name})" for name in (*COLUMNS, SEEDS_AGREE)} | {"accuracy (comparison)"}
        curves = [line for line in self.curve_table() if line["what"] in followed]
        shown = [
            line for line in self.agreements if line["agreement"] != f"A({SEEDS_AGREE})" and "BLEU" not in line["split"]
        ]
        return {
            "training": self.over_training(curves, "agreement through training", "agreement, accuracy"),
            "agreement": at_best_evaluation(self.order.row, shown),
            **({"attention": attention_figure(self.order.row, self.picture)} if self.picture else {}),
        }

    def summary(self) -> str:
        share, count = {name: self.valid.series[name].value() for name in COLUMNS}, len(self.valid.chance)
        return (
            f"On {self.order.row} ({count} validation {self.texts.examples}) the position that attention "
            f"values most is among the top 5 % of the lexical probe in {share['alpha, beta']:.0%} of the "
            f"{self.texts.examples}, and of the probe learned under uniform attention in "
            f"{share['alpha, beta_uf']:.0%}; chance is "
            f"{self.valid.chance.mean():.1%}. Uniform training and the bag-of-words proxy agree in "
            f"{share['beta_uf, beta_px']:.0%}, gradient influence and uniform training in "
            f"{share['delta, beta_uf']:.0%}. The reference runs' best accuracy is {self.best:.3f}, {self.beside()}."
        )

    def beside(self) -> str:
        """What the accuracy is to be seen beside."""
        if self.translates:
            return f"and its best BLEU {100 * self.compared['valid, by BLEU'][1]:.1f}"
        logistic = next(line["accuracy"] for line in self.accuracies if line["run"] == LOGISTIC)
        side = "above" if self.best >= logistic else "below"
        return f"{100 * abs(self.best - logistic):.1f} points {side} that of a logistic regression on the same words"

    def notes(self) -> list[str]:
        if not isinstance(self.texts, TextRuns):
            known = far_from_authors(self.agreements) if self.order.preset == "paper" else []
            return [*super().notes(), *known, "The attention that is drawn is on a sentence of our own, in no corpus."]
        corpus = self.texts.corpus
        return [*super().notes(), *shortfall(self.accuracies, len(corpus.train), len(corpus.words))]


# --- what the table is made of


def compare_runs(runs: CorpusRuns, split: str, metric: str = "accuracy") -> Agreements:
    """Read the fields of all runs and compare them; each field is read once, since they are large.

    ``metric``: what a reference run's best evaluation is chosen by, and what counts as performance.
    """
    references, uniforms, comparisons = (runs.of(role) for role in ("reference", "uniform", "comparison"))
    alphas, groups = runs.alphas(split, metric), runs.groups(split)
    deltas = [runs.delta(run, best_step(run, metric), split) for run in references]
    # The released code turns the sign of delta round.
    turned = [ScoreField(-delta.values, delta.offsets) for delta in deltas]
    px, ibm = runs.beta_px(split), runs.beta_ibm(split)
    steps = steps_of(uniforms[0])
    values: dict[str, dict[int, list[dict[str, Floats]]]] = {}  # by name, pair of runs, step

    def compare(name: str, pair: int, u: ScoreField, v: ScoreField) -> None:
        values.setdefault(name, {}).setdefault(pair, []).append(compared(u, v))

    for number, run in enumerate(uniforms):
        for step in steps:
            beta_uf = runs.field(run, step, split, "gamma")
            for other in range(len(references)):
                pair = other * len(uniforms) + number
                compare("alpha, beta_uf", pair, alphas[other], beta_uf)
                compare("delta, beta_uf", pair, deltas[other], beta_uf)
                compare("-delta, beta_uf", pair, turned[other], beta_uf)
            compare("beta_uf, beta_px", number, beta_uf, px)
            compare("beta_px, beta_uf", number, px, beta_uf)
            compare("beta_uf, beta_ibm", number, beta_uf, ibm)
    for number, run in enumerate(comparisons):
        for step in steps:
            alpha, beta = (runs.field(run, step, split, name) for name in ("alpha", "gamma"))
            for other in range(len(references)):
                pair = other * len(comparisons) + number
                compare("alpha, beta", pair, alphas[other], beta)
                compare(SEEDS_AGREE, pair, alphas[other], alpha)
    for other, alpha in enumerate(alphas):
        compare("alpha, alpha_ibm", other, alpha, ibm)
    compare("beta_px, beta_ibm", 0, px, ibm)
    stacked = {
        name: Series.stacked(name, [pairs[k] for k in sorted(pairs)], steps, groups) for name, pairs in values.items()
    }
    return Agreements(split, stacked, runs.chances(split), performances(runs, split, metric))


def performances(runs: CorpusRuns, split: str, metric: str) -> Floats:
    """The comparison runs' performance on a split, from 0 to 1: (comparison runs, steps)."""
    name = metric if split == "valid" else f"train_{metric}"
    return np.stack([curve_of(run, name) for run in runs.of("comparison")]) / (100 if metric == "bleu" else 1)


def by_bleu(runs: CorpusRuns, by_accuracy: Agreements) -> Agreements:
    """The same with BLEU as performance, from 0 to 1; compared again only where it chooses another evaluation."""
    split = by_accuracy.split
    if all(best_step(run) == best_step(run, "bleu") for run in runs.of("reference")):
        return replace(by_accuracy, accuracy=performances(runs, split, "bleu"))
    return compare_runs(runs, split, "bleu")


def estimates(valid: Agreements, xis: Mapping[str, XiInterval], untrained: float, best: float) -> Table:
    """Values with their intervals that no other table has: a difference of two agreements, each xi above the untrained
    performance, and how agreement and performance rise together. ``whole_way``: from untrained to best performance.
    """
    learned, uniform = valid.series["alpha, beta"], valid.series.get("alpha, beta_uf")
    table: list[dict[str, Any]] = []
    if uniform is not None:
        differences = learned.at_best() - uniform.at_best()
        interval = over_examples(differences, learned.groups)
        detail = f"{learned.value():.3f} against {uniform.value():.3f}." if interval else "One text has no interval."
        estimate = Estimate(float(differences.mean()), interval)
        table.append(estimate_row(SHAPED, estimate, "examples", detail, whole_way=None))
    for name, xi in xis.items():
        read = f"{xi.first.performance:.3f}" if xi.first else "never exceeded, read as the best"
        detail = f"xi {read}; untrained {untrained:.3f}, best {best:.3f}."
        detail += " One comparison run." if xi.over == "examples" else ""
        detail += "" if xi.interval else " One text has no interval."
        interval = None if xi.interval is None else (xi.interval[0] - untrained, xi.interval[1] - untrained)
        estimate = Estimate(xi.value - untrained, interval)
        table.append(estimate_row(f"xi({name})", estimate, xi.over, detail, whole_way=best - untrained))
    over = "comparison seeds" if len(valid.accuracy) > 1 else "examples"
    values, interval = valid.rises_together()
    n, value = len(values), float(np.mean(values)) if values else None
    detail = "No run has three evaluations up to its best."
    if value is not None:
        detail = f"Spearman's correlation {value:.2f}, mean over {n} comparison run{'s' * (n > 1)}."
        detail += "" if interval else f" One of the {over} has no interval."
    rises = None if value is None else Estimate(value, interval)
    return [*table, estimate_row(RISES, rises, over, detail, whole_way=None)]

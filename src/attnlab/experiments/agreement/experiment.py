"""Does attention follow lexical knowledge? (P3 3.1, 3.2, 4.2, 5.1, A.4: Tables 1, 2, 4 and 6, text classification)

A row for each corpus. The paper compares a reference run's attention alpha with what other runs know about single
words: beta of a run from another seed, beta_uf of a run under uniform attention, beta_px of a bag-of-words proxy; and
reads each agreement A as xi, how good a model is when its attention is as far along.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import altair as alt
import numpy as np

from attnlab.experiments.agreement.table_1 import (
    COLUMNS,
    RISES,
    SEEDS_AGREE,
    SHAPED,
    Agreements,
    compare_runs,
    estimates,
)
from attnlab.experiments.texts.corpora import TextExperiment, TextRuns
from attnlab.lab.claims import Part
from attnlab.lab.experiment import Figures, Table, claim
from attnlab.lab.outcomes import Runs
from attnlab.lab.rules import TAU_LEAST, Estimate, exceeds, far_exceeds, low_high, missing
from attnlab.models.logistic import counts, sweep
from attnlab.pages.charts import COLOURS, INK, SIZE, headed, inline

LOGISTIC = "logistic regression"
SHORT = 0.02
"""A reference run further than this below logistic regression is explained in the result's notes."""
CONTEXT_LEAST = 0.2
"""The least share of the way from untrained to best performance that counts as well above."""
RISES_LEAST = 0.5
"""The least rank correlation that counts as rising together."""
AUTHORS: Mapping[tuple[str, str, str], float] = {
    ("imdb", "valid", "alpha, beta_uf"): 0.5255,
    ("imdb", "valid", "beta_px, beta_uf"): 0.8160,
    ("imdb", "valid", "delta, beta_uf"): 0.6155,
    ("imdb", "train", "alpha, beta_uf"): 0.5153,
    ("imdb", "train", "beta_px, beta_uf"): 0.8010,
    ("sms", "valid", "alpha, beta_uf"): 0.017,
}
"""Figures of the authors' own notebooks (runs of November 2020; the published tables could not be had). Their code
takes the argmax from beta_px where the text takes it from beta_uf. SMS: the larger of two."""
AUTHORS_XI: Mapping[tuple[str, str], float] = {
    ("imdb", "alpha, beta_uf"): 0.8681,
    ("imdb", "beta_uf, beta_px"): 0.8889,
    ("imdb", "delta, beta_uf"): 0.8681,
}


class AgreementExperiment(TextExperiment):
    """The paper's main table, one corpus at a time."""

    name = "agreement"
    title = "Attention follows lexical knowledge: the main table on text classification"
    source = "P3 3.1, 3.2, 4.2, 5.1, A.4"
    roles = ("reference", "uniform", "comparison", "proxy")
    lead = (
        "How often the position that one quantity values most is among the top 5 % of another, and how good a model is "
        "when its attention agrees as much. Known figures are the authors' own where they could be had. The first "
        "table is in per cent, its rows numbered as the paper's tables: 1 and 4 are A, 2 is Kendall's tau, 6 is A on "
        "training texts."
    )
    main = "paper"
    shown = ("agreement", "choices", "runs")

    # --- measures

    def measure(self, runs: Runs) -> None:
        super().measure(runs)
        self.valid, self.train = compare_runs(self.texts, "valid"), compare_runs(self.texts, "train")
        self.best = self.texts.accuracy("reference")
        self.best_trained = self.texts.accuracy("reference", "train_accuracy")
        self.untrained = max(float(self.valid.accuracy[:, 0].mean()), self.texts.majority)
        self.xi = {
            ("valid", "expected"): {name: self.valid.xi(name, "expected", self.best) for name in COLUMNS},
            ("valid", "tau"): {name: self.valid.xi(name, "tau", self.best) for name in COLUMNS},
            ("train", "expected"): {name: self.train.xi(name, "expected", self.best_trained) for name in COLUMNS},
        }
        self.accuracies, self.agreements = accuracies(self.texts), self.agreement_table()

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
        for row in self.record.rows("estimates"):
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

    @claim("agreement-bleu")
    def with_bleu(self) -> list[Part]:
        """About translation, of which there is no row yet."""
        return []

    # --- tables, figures, words

    def tables(self) -> Mapping[str, Table]:
        return {
            "agreement": self.agreements,
            "estimates": estimates(self.valid, self.xi["valid", "expected"], self.untrained, self.best),
            "paper": self.paper_table(),
            "choices": choices(self.valid),
            "curves": self.curve_table(),
        }

    def run_tables(self) -> dict[str, Table]:
        return {"runs": self.accuracies}

    def agreement_table(self) -> Table:
        """Every agreement on both splits, with intervals, chance, the choice of the evaluation, and the authors'."""
        row, table = self.order.row, []
        for agreements in (self.valid, self.train):
            split = agreements.split
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
                        "authors_xi": AUTHORS_XI.get((row, name)) if split == "valid" else None,
                    }
                )
        return table

    def paper_table(self) -> Table:
        """The row of the paper's Tables 1 and 4 (A), 2 (tau) and 6 (A on training texts), in per cent."""
        table = []
        for number, agreements, measure, best in (
            ("1, 4", self.valid, "expected", self.best),
            ("2", self.valid, "tau", self.best),
            ("6", self.train, "expected", self.best_trained),
        ):
            row: dict[str, Any] = {"table": number}
            for name in COLUMNS:
                row[f"A({name})"] = round(100 * agreements.series[name].value(measure), 2)
            row["chance"] = 0.0 if measure == "tau" else round(100 * float(agreements.chance.mean()), 2)
            for name in COLUMNS:
                xi = self.xi[agreements.split, measure][name].first
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
        """How agreements grow with training, and where they end against chance."""
        followed = {f"A({name})" for name in (*COLUMNS, SEEDS_AGREE)} | {"accuracy (comparison)"}
        curves = [line for line in self.curve_table() if line["what"] in followed]
        shown = [line for line in self.agreements if line["agreement"] != f"A({SEEDS_AGREE})"]
        return {
            "training": self.over_training(curves, "agreement through training", "agreement, accuracy"),
            "agreement": at_best_evaluation(self.order.row, shown),
        }

    def summary(self) -> str:
        logistic = next(line["accuracy"] for line in self.accuracies if line["run"] == LOGISTIC)
        share = {name: self.valid.series[name].value() for name in COLUMNS}
        return (
            f"On {self.order.row} ({len(self.texts.texts['valid'])} validation texts) the position that attention "
            f"values most is among the top 5 % of the lexical probe in {share['alpha, beta']:.0%} of the texts, and of "
            f"the probe learned under uniform attention in {share['alpha, beta_uf']:.0%}; chance is "
            f"{self.valid.chance.mean():.1%}. Uniform training and the bag-of-words proxy agree in "
            f"{share['beta_uf, beta_px']:.0%}, gradient influence and uniform training in "
            f"{share['delta, beta_uf']:.0%}. The reference runs' best accuracy is {self.best:.3f}, "
            f"{100 * abs(self.best - logistic):.1f} points {'above' if self.best >= logistic else 'below'} that of a "
            "logistic regression on the same words."
        )

    def notes(self) -> list[str]:
        corpus = self.texts.corpus
        return [*super().notes(), *shortfall(self.accuracies, len(corpus.train), len(corpus.words))]


# --- tables, figures, notes


def choices(valid: Agreements) -> Table:
    """What a choice that the paper leaves open, or its code makes otherwise, changes."""

    def row(choice: str, name: str, other: float) -> dict[str, Any]:
        ours = valid.series[name].value()
        return {"choice": choice, "agreement": f"A({name})", "ours": ours, "other": other, "change": other - ours}

    table = []
    for name in COLUMNS:
        series = valid.series[name]
        at_end = float(np.nanmean(series.curve()[:, -1]))
        table.append(row("ties as released", name, series.value("released")))
        table.append(row("evaluation chosen on other texts", name, series.held_out()))
        table.append(row("last evaluation instead of the best", name, at_end))
    code, wrong = (valid.series[name].value() for name in ("beta_px, beta_uf", "-delta, beta_uf"))
    table.append(row("argmax from beta_px, as released", "beta_uf, beta_px", code))
    return [*table, row("sign of delta turned round, as released", "delta, beta_uf", wrong)]


def accuracies(runs: TextRuns) -> Table:
    """Each run at its best evaluation, and logistic regression on the same words with the best C.

    ``clean_accuracy``: with C chosen on other texts than it is read on.
    """
    table: list[dict[str, Any]] = [
        {
            "run": role,
            "seed": outcome.seed,
            "best_step": int(best["step"]),
            **{name: best[name] for name in ("accuracy", "train_accuracy", "loss")},
            "last_accuracy": outcome.run.rows[-1]["accuracy"],
            "clean_accuracy": None,
            "entropy": best.get("entropy"),
        }
        for role in ("reference", "comparison", "uniform", "proxy")
        for outcome in runs.outcomes(role)
        for best in [max(outcome.run.rows, key=lambda row: row["accuracy"])]
    ]
    train, valid, words = runs.corpus.train, runs.texts["valid"], len(runs.corpus.words)
    fitted = sweep(counts(train, words), train.labels, counts(valid, words), valid.labels)
    logistic = {"run": LOGISTIC, "accuracy": fitted.comparable, "clean_accuracy": fitted.clean}
    return [*table, dict.fromkeys(table[0]) | logistic]


def shortfall(table: Table, texts: int, words: int) -> tuple[str, ...]:
    """Where networks with attention predict worse than word counts do: whether attention is why, or learning by heart.

    The first would show in uniform runs that do better, the second in training texts that are all right.
    """

    def mean(name: str, role: str) -> float:
        return float(np.mean([line[name] for line in table if line["run"] == role]))

    best, logistic = mean("accuracy", "reference"), mean("accuracy", LOGISTIC)
    if logistic - best <= SHORT:
        return ()
    named = ", ".join(
        f"{role} {mean('accuracy', role):.1%} ({mean('train_accuracy', role):.1%} on training texts)"
        for role in ("reference", "comparison", "uniform")
    )
    too = logistic - mean("accuracy", "uniform") > SHORT
    return (
        f"The reference runs are {100 * (logistic - best):.1f} points below logistic regression's {logistic:.1%}. Best "
        f"accuracies of the networks: {named}; they learn the vectors of {words} words from {texts} texts. Under "
        f"uniform attention they are {'also' if too else 'not'} more than {100 * SHORT:.0f} points below, so attention "
        f"{'is not what costs it' if too else 'has a part in it'}.",
    )


def at_best_evaluation(row: str, table: Table) -> alt.TopLevelMixin:
    """Every agreement with its interval, on both splits; chance as ticks, the authors' figures as diamonds."""
    order, splits = (list(dict.fromkeys(line[name] for line in table)) for name in ("agreement", "split"))
    base = alt.Chart(inline(table)).encode(
        y=alt.Y("agreement:N", title=None, sort=order),
        yOffset=alt.YOffset("split:N", sort=splits),
        color=alt.Color("split:N", title=None, sort=splits, scale=alt.Scale(range=list(COLOURS[1::-1]))),
    )
    x = alt.X("low:Q", title="agreement, 95 % interval over examples", scale=alt.Scale(domain=[0, 1]))
    bars = base.mark_rule(strokeWidth=3).encode(x=x, x2="high:Q")
    points = base.mark_point(filled=True, size=45).encode(x="value:Q")
    chances = base.mark_tick(color=INK, thickness=1.5).encode(x="chance:Q", color=alt.value(INK))
    known = base.transform_filter("isValid(datum.authors)").mark_point(shape="diamond", size=70).encode(x="authors:Q")
    title = f"{row}: agreement at the best evaluation; ticks are chance, diamonds the authors' figures"
    return headed(bars + points + chances + known, title, width=2 * SIZE["width"])

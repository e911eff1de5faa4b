"""Is the bag-of-words proxy a logistic regression? (P3 A.10: Table 10)

The proxy's p = sigmoid(1/L sum_l w^T e_{x_l}) is a logistic regression on word counts over length, whose weights are
the words' scores w^T e_i. Here both are fitted to the same texts, and compared by their agreement with beta_uf, by
accuracy, and word by word. Two classes, which all the corpora have.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import altair as alt
import numpy as np
from numpy.typing import NDArray

from attnlab.experiments.texts.corpora import PROXY_BATCH, SIZES, TextExperiment, TextRuns, over_texts
from attnlab.families.texts.reading import word_field
from attnlab.lab.claims import Part
from attnlab.lab.corpus_runs import steps_of
from attnlab.lab.experiment import Figures, Order, Setting, Table, claim
from attnlab.lab.outcomes import Runs
from attnlab.lab.rules import Estimate, between, low_high, over_examples
from attnlab.measures.checkpoints import first_half, read_crosswise
from attnlab.models.logistic import FittedProxy, Logistic, Sweep, beta_log, counts, fit_logistic, fit_proxy, sweep
from attnlab.pages.charts import COLOURS, INK, SIZE, headed, hue, inline, rounded
from attnlab.runs.schedule import Schedule
from attnlab.stats.bootstrap import Floats

PX, LOG = "A(beta_uf, beta_px)", "A(beta_uf, beta_log)"
PASSES = 60
"""Passes over the training texts by which the paper trains its proxy."""
UPDATES = PASSES * -(-25_000 // PROXY_BATCH)
"""Updates of 60 passes over IMDB's 25,000 texts. On smaller corpora 60 passes are too few to compare the proxy with a
logistic regression that is fitted to the end: the proxy goes on to as many updates on each."""
EQUAL = f"{PX}, equal updates"
MARGIN = 0.02
"""Agreements within 2 points of each other are nearly the same."""
SIMILAR = 0.5
"""They are similar where they differ by less than this share of what the larger is above chance."""
TENTH = 0.1
"""Weights are the same word by word where they differ by less than this share of their spread."""
LEAST_COUNT = 10
"""Occurrences in training that a word needs to be compared: the weight of a rarer one is mostly the penalty's."""
FITTED_SIZE = 32
"""Embedding size of the proxy that is fitted to the end. Its minimum is the same at every size; at the trained proxy's
256 its optimiser needs 2 GB on IMDB."""
SHOWN = 500
"""Words in table and picture: evenly spaced by rank of their weight."""


class LogisticProxy(TextExperiment):
    """The proxy beside logistic regression, one corpus at a time."""

    name = "logistic-proxy"
    title = "The bag-of-words proxy and logistic regression"
    source = "P3 A.10"
    roles = ("uniform", "proxy")
    lead = (
        "How often the position that the lexicon of uniform training values most is among the top 5 % of the proxy's "
        "word scores and of a logistic regression's weights, and how far the two differ word by word. Accuracies are "
        "those of the paper's choice, made on the very texts they are measured on, and clean ones, chosen on other "
        "texts."
    )
    main = "table10"
    dots_title = "The lexicon under uniform attention, found by two bags of words"
    dots: ClassVar[Mapping[str, str]] = {PX: f"{PX}, held out", LOG: f"{LOG}, held out"}
    columns: ClassVar[Mapping[str, str]] = {
        f"{PX}, held out": PX,
        f"{LOG}, held out": LOG,
        "low": "difference from",
        "high": "to",
        "chance": "chance",
        "proxy_accuracy": "accuracy, proxy",
        "logistic_accuracy": "accuracy, logistic",
        "proxy_clean_accuracy": "clean, proxy",
        "logistic_clean_accuracy": "clean, logistic",
        "weights_apart": "weights apart",
        "weights_spread": "spread",
    }
    shown = ("accuracy",)

    def settings_for(self, order: Order) -> list[Setting]:
        """As elsewhere, but the proxy goes on to as many updates on each corpus."""
        settings = list(super().settings_for(order))
        if order.preset != "quick":
            proxy = settings[self.roles.index("proxy")]
            settings[self.roles.index("proxy")] = replace(proxy, schedule=continued(proxy.schedule_at(order.preset)))
        return settings

    # --- measures

    def measure(self, runs: Runs) -> None:
        """Both agreements over the uniform runs' training, and both with the argmax taken from the other side; the
        proxy's once after the paper's passes and once after equal updates.
        """
        super().measure(runs)
        valid, last = self.texts.texts["valid"], sixty_passes(self.texts, SIZES[self.order.preset].passes)
        self.fitted = fit(self.texts, last)
        self.proxy_accuracies = proxy_accuracies(self.texts, last)
        self.updates = steps_of(self.texts.of("proxy")[0])[-1]
        logistic = beta_log(self.fitted.swept.chosen, valid)
        self.series = {}
        for name, field in (("beta_px", word_field(valid, self.texts.word_scores(last=last))), ("beta_log", logistic)):
            ahead, back = f"A(beta_uf, {name})", f"A({name}, beta_uf)"
            self.series[ahead] = self.texts.follow(ahead, [field], "uniform", "gamma", first=False)
            self.series[back] = self.texts.follow(back, [field], "uniform", "gamma")
        if self.updates >= UPDATES:
            field = word_field(valid, self.texts.word_scores())
            self.series[EQUAL] = self.texts.follow(EQUAL, [field], "uniform", "gamma", first=False)

    def read(self, proxy: str = PX) -> tuple[Floats, Floats]:
        """Both agreements of every text, at steps that the other half of the texts chose: (texts,) each."""
        px, log = (read_crosswise(self.series[name].values["expected"]) for name in (proxy, LOG))
        return px, log

    # --- rules

    @claim("logistic-equals-proxy", reads=("table10",))
    def same_agreement(self) -> Part:
        """Similar: the difference is less than half of what the larger of the two is above chance; with our margin:
        its interval lies within 2 points of 0. Each fails if it lies outside. With equal updates where it was run so.
        """
        row = self.record.row("table10")
        found, px, log = self.found(row, "difference"), row[f"{PX}, held out"], row[f"{LOG}, held out"]
        after = ""
        if row.get("equal_difference") is not None:
            found, px = self.found(row, "equal_difference", "equal_"), row[EQUAL]
            after = f" after {row['updates']} updates"
        detail = f"{PX}{after} is {px:.3f} and {LOG} {log:.3f}, each text read at steps that others chose."
        similar = SIMILAR * (max(px, log) - row["chance"])
        verdict, direction = (between(found.interval, -most, most) for most in (MARGIN, similar))
        return Part(self.order.row, verdict, found.value, found.interval, "examples", detail, direction, found.runs)

    @claim("proxy-weights-are-logistic", reads=("table10",))
    def same_weights(self) -> Part:
        """Holds if the mean size of a word's difference, by the weights' spread, lies below a tenth; fails if above."""
        row = self.record.row("table10")
        spread, converged = row["weights_spread"], row.get("converged", True)  # older results do not say: all had
        found = Estimate.of(row, "weights_apart", "apart_", over="words")
        interval = None if found.interval is None else (found.interval[0] / spread, found.interval[1] / spread)
        verdict = between(interval, -TENTH, TENTH) if converged else "undecided"
        detail = f"Over {row['words']} words the mean difference is {found.value / spread:.2g} of their spread, "
        detail += f"{spread:.3f}.{'' if converged else ' A fit has not converged.'}"
        return Part(self.order.row, verdict, found.value / spread, interval, "words", detail)

    # --- tables, figures, words

    def tables(self) -> Mapping[str, Table]:
        return {
            "table10": [self.line()],
            "accuracy": self.accuracy_table(),
            "words": self.fitted.words_table(self.texts),
            "curves": self.curve_table(),
        }

    def accuracy_table(self) -> Table:
        """Accuracies in the comparable form (chosen on the texts that are read) and the clean one (on other texts)."""
        swept, majority = self.fitted.swept, self.texts.majority
        lines = (
            ("proxy", "pass, by loss", *self.proxy_accuracies),
            ("logistic regression", f"C, by accuracy: {swept.chosen.C:g}", swept.comparable, swept.clean),
            ("uniform attention", "step, by accuracy", self.texts.accuracy("uniform"), None),
            ("commonest class", "", majority, majority),
        )
        return [dict(zip(("model", "chosen", "comparable", "clean"), line, strict=True)) for line in lines]

    def line(self) -> dict[str, Any]:
        """The corpus' line of the paper's table, and how far the two models differ."""
        fitted = self.fitted
        trained, chosen = fitted.trained[fitted.common], fitted.swept.chosen.weights[0, fitted.common]
        return {
            f"{PX}, largest": self.series[PX].value(),
            f"{LOG}, largest": self.series[LOG].value(),
            **self.held_out(),
            **self.after_equal_updates(),
            "chance": self.texts.chance,
            "A(beta_px, beta_uf), largest": self.series["A(beta_px, beta_uf)"].value(),
            "A(beta_log, beta_uf), largest": self.series["A(beta_log, beta_uf)"].value(),
            "C": fitted.swept.chosen.C,
            "proxy_accuracy": self.proxy_accuracies[0],
            "proxy_clean_accuracy": self.proxy_accuracies[1],
            "logistic_accuracy": fitted.swept.comparable,
            "logistic_clean_accuracy": fitted.swept.clean,
            **fitted.row(),
            "trained_proxy_correlation": float(np.corrcoef(trained, chosen)[0, 1]),
        }

    def held_out(self) -> dict[str, float | None]:
        """Both agreements, each text read at steps that others chose, and their difference."""
        px, log = self.read()
        return {
            f"{PX}, held out": float(px.mean()),
            f"{LOG}, held out": float(log.mean()),
            "difference": float((px - log).mean()),
            **low_high(over_examples(px - log)),
        }

    def after_equal_updates(self) -> dict[str, float | None]:
        """The same for the proxy that had as many updates as on every corpus; empty where it had not."""
        if EQUAL not in self.series:
            return {"updates": None, EQUAL: None, "equal_difference": None, **low_high(None, "equal_")}
        px, log = self.read(EQUAL)
        return {
            "updates": self.updates,
            EQUAL: float(px.mean()),
            "equal_difference": float((px - log).mean()),
            **low_high(over_examples(px - log), "equal_"),
        }

    def curve_table(self) -> Table:
        """The agreements of every uniform run at every evaluation."""
        seeds = [str(seed) for seed in self.texts.seeds("uniform")]
        return [row for name, series in self.series.items() for row in series.rows(name, seeds)]

    def figures(self) -> Figures:
        """Agreements over training, and the weights word by word."""
        curves = [line for line in self.curve_table() if line["what"] in (PX, LOG)]
        words, title = self.fitted.words_table(self.texts), f"{self.order.row}: one point a word; dashed: equal"
        return {
            "curves": self.over_training(curves, "agreement with the lexicon of uniform training"),
            "weights": word_by_word(words, title),
        }

    def summary(self) -> str:
        line = self.line()
        return (
            f"On {self.order.row} the top position of the lexicon of uniform training is among the top 5 % of the "
            f"proxy's words in {line[f'{PX}, held out']:.1%} of the texts and of logistic regression's in "
            f"{line[f'{LOG}, held out']:.1%}: a difference of {line['difference']:.3f}{over_texts(line)}; chance is "
            f"{line['chance']:.1%}. Their accuracies are {line['proxy_accuracy']:.3f} and "
            f"{line['logistic_accuracy']:.3f} chosen as in the paper, {line['proxy_clean_accuracy']:.3f} and "
            f"{line['logistic_clean_accuracy']:.3f} chosen on other texts. Fitted to the end with the same penalty "
            f"(C = {line['C']:g}) their weights of {line['words']} words differ by {line['weights_apart']:.2g} on "
            f"average, where the spread is {line['weights_spread']:.2g}; the proxy as trained correlates with the "
            f"logistic weights by {line['trained_proxy_correlation']:.2f}."
        )

    def notes(self) -> list[str]:
        swept, passes = self.fitted.swept, SIZES[self.order.preset].passes
        notes = [
            *super().notes(),
            "The released code takes the argmax from beta_px, the text from beta_uf: the text's direction decides, "
            "both are in the table.",
            "Word by word neither model has an intercept, as in the paper's equations; the logistic regression whose "
            "accuracy and agreement are reported has one, as in the released code.",
            f"The proxy that is fitted to the end has embeddings of {FITTED_SIZE} instead of 256: its minimum is the "
            "same.",
            f"Words compared occur at least {LEAST_COUNT} times in training; {SHOWN} of them at most are in the table, "
            "evenly spaced by rank of their weight.",
        ]
        if EQUAL in self.series:
            notes.append(
                f"The proxy goes on to {self.updates} updates, at least as many as 60 passes over IMDB's 25,000 texts "
                "are; columns and accuracies that do not say so are those of the paper's 60 passes."
            )
        if passes < PASSES:
            notes.append(f"The proxy is trained for {passes} passes over the texts instead of {PASSES}.")
        if swept.unconverged:
            notes.append(f"{swept.unconverged} of {len(swept.fits)} logistic regressions did not converge.")
        return notes


# --- what is fitted to a corpus' bags of words


@dataclass(frozen=True, eq=False)
class Fitted:
    """Logistic regressions at every C; the one at the best C without an intercept; the proxy fitted likewise.

    ``trained`` (words,): word scores of the proxy as P3 trains it. ``occurrences`` (words,): in the training texts.
    """

    swept: Sweep
    logistic: Logistic
    proxy: FittedProxy
    trained: Floats
    occurrences: NDArray[np.int64]

    @cached_property
    def common(self) -> NDArray[np.int64]:
        """Ids of the words that are compared."""
        return np.flatnonzero(self.occurrences >= LEAST_COUNT)

    @property
    def spread(self) -> float:
        """The standard deviation of these words' weights in the logistic regression without an intercept."""
        return float(self.logistic.weights[0, self.common].std())

    @property
    def apart(self) -> Floats:
        """The size of the difference between both models, without an intercept, for each of these words."""
        return np.asarray(np.abs(self.proxy.scores[self.common] - self.logistic.weights[0, self.common]))

    @property
    def converged(self) -> bool:
        """Whether both reached their minimum."""
        return self.logistic.converged and self.proxy.converged

    def row(self) -> dict[str, float | bool | None]:
        """How far the two differ word by word."""
        return {
            "words": len(self.common),
            "weights_apart": float(self.apart.mean()),
            **low_high(over_examples(self.apart), "apart_"),
            "weights_spread": self.spread,
            "converged": self.converged,
        }

    def words_table(self, runs: TextRuns) -> Table:
        """Some words, from the smallest weight to the largest."""
        order = self.common[self.logistic.weights[0, self.common].argsort(kind="stable")]
        places = np.unique(np.linspace(0, len(order) - 1, min(SHOWN, len(order))).round().astype(np.int64))
        return [
            {
                "word": runs.corpus.words[word],
                "occurrences": int(self.occurrences[word]),
                "logistic": float(self.logistic.weights[0, word]),
                "fitted_proxy": float(self.proxy.scores[word]),
                "logistic_with_intercept": float(self.swept.chosen.weights[0, word]),
                "trained_proxy": float(self.trained[word]),
            }
            for word in order[places]
        ]


def continued(schedule: Schedule) -> Schedule:
    """A proxy's schedule and as many evaluations more, evenly spaced, up to the number of updates that all have."""
    if schedule.steps >= UPDATES:
        return schedule
    more = np.linspace(schedule.steps, UPDATES, PASSES + 1).round().astype(int)[1:].tolist()
    return schedule.model_copy(update={"steps": UPDATES, "evaluations": (*schedule.evaluations, *more)})


def sixty_passes(runs: TextRuns, passes: int) -> int:
    """The step after so many passes over the training texts."""
    return passes * -(-len(runs.corpus.train) // PROXY_BATCH)


def fit(runs: TextRuns, last: int) -> Fitted:
    """Everything that is fitted to the training texts; C is that of the best validation accuracy, as in the paper.

    ``last``: the trained proxy's last evaluation that counts.
    """
    train, valid, words = runs.corpus.train, runs.texts["valid"], len(runs.corpus.words)
    features, labels = counts(train, words), train.labels.numpy()
    swept = sweep(features, labels, counts(valid, words), valid.labels.numpy())
    C = swept.chosen.C
    return Fitted(
        swept,
        fit_logistic(features, labels, C, intercept=False),
        fit_proxy(features, labels, C, size=FITTED_SIZE),
        runs.word_scores(last=last)[:, 0],
        np.bincount(train.words.numpy(), minlength=words),
    )


def proxy_accuracies(runs: TextRuns, last: int) -> tuple[float, float]:
    """The trained proxy's accuracy at the pass of lowest loss: chosen on all texts, and chosen on the other half."""
    (proxy,), texts = runs.of("proxy"), runs.texts["valid"]
    features, steps = counts(texts, len(runs.corpus.words)), [step for step in steps_of(proxy) if step <= last]
    logits = np.stack([features @ runs.word_scores(step)[:, 0] for step in steps])  # (passes, texts)
    return chosen_by_loss(logits, texts.labels.numpy())


def chosen_by_loss(logits: Floats, labels: NDArray[np.int64]) -> tuple[float, float]:
    """Accuracy of the row of lowest loss, chosen on all texts and chosen on the half that is not read.

    ``logits`` (rows, texts) of the second of two classes; ``labels`` (texts,).
    """
    losses, right = np.logaddexp(0, -(2 * labels - 1) * logits), (logits > 0) == (labels == 1)
    half = first_half(len(labels))
    read = [right[losses[:, texts].mean(axis=1).argmin(), ~texts].mean() for texts in (half, ~half)]
    return float(right[losses.mean(axis=1).argmin()].mean()), float(np.mean(read))


def word_by_word(words: Table, title: str) -> alt.TopLevelMixin:
    """Each word's weight in both models, as fitted and as trained."""
    kinds = {"fitted_proxy": "fitted, same penalty", "trained_proxy": "as trained"}
    points = [
        {"word": line["word"], "logistic": line["logistic"], "proxy": line[column], "kind": kind}
        for column, kind in kinds.items()
        for line in words
    ]
    ends = [min(line["logistic"] for line in words), max(line["logistic"] for line in words)]
    diagonal = alt.Chart(inline([{"logistic": end, "proxy": end} for end in ends])).encode(x="logistic:Q", y="proxy:Q")
    dots = alt.Chart(inline(points)).encode(
        x=alt.X("logistic:Q", title="weight in logistic regression"),
        y=alt.Y("proxy:Q", title="score in the proxy"),
        color=hue("kind", COLOURS[1::-1]),
        tooltip=["word:N", rounded("logistic"), rounded("proxy")],
    )
    lines = diagonal.mark_line(color=INK, strokeDash=[4, 3], strokeWidth=1)
    layers = alt.layer(lines, dots.mark_circle(size=16, opacity=0.5))
    return headed(layers, title, width=2 * SIZE["width"], height=2 * SIZE["height"])

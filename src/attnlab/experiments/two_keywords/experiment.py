"""Two keywords (ours, after the slides and the blog): a keyword for each class, and words that both classes share.

The slides have "This movie is great" against "This movie is bad": under uniform attention the shared words' relevance
should cancel and that of the class words grow. count-tables has it for a bag of words; here it is asked of an LSTM. The
blog says in passing that keywords of the negative class go the way of positive ones: first known, then attended to.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import altair as alt
import numpy as np

from attnlab.families.keyword.spec import KeywordSpec
from attnlab.families.keyword.task import KEYWORD, NEGATIVE
from attnlab.families.texts.spec import ClassifierSpec
from attnlab.lab.claims import Part, Preset
from attnlab.lab.experiment import Experiment, Figures, Setting, Table, by_preset, claim
from attnlab.lab.outcomes import Outcome, curve_table, mean, median
from attnlab.lab.rules import above, below
from attnlab.pages.charts import COLOURS, by_metric, curves, panels
from attnlab.runs.schedule import Schedule
from attnlab.runs.spec import RunSpec

# --- settings

SLIDES = KeywordSpec(length=4, words=5, negative=True)
"""As the slides' sentences: three places for three shared words, one for great or bad."""
PAPERS = KeywordSpec(negative=True)
"""As in P3 6.1: 40 places, 40 words."""
STEPS = by_preset(20, 100, 100)
EVALUATIONS = (*range(21), 25, 30, 40, 60, 80, 100)
SEEDS = by_preset(2, 10, 20)
EVALUATED = 1500


def trained(name: str, task: KeywordSpec, model: ClassifierSpec) -> Setting:
    """P3's training of a classifier on a task; one seed for start and data."""
    schedules: Mapping[Preset, Schedule] = {
        preset: Schedule(steps=steps, evaluations=tuple(step for step in EVALUATIONS if step <= steps))
        for preset, steps in STEPS.items()
    }
    sizes = {"task": task, "model": model, "batch": 32, "evaluation_batch": EVALUATED}
    return Setting(name, lambda seed: RunSpec(**sizes, init_seed=seed, data_seed=seed), SEEDS, schedules)


ONE_WAY = ClassifierSpec(bidirectional=False, attention="uniform")
UNIFORM = (
    trained("slides' size, uniform attention", SLIDES, ONE_WAY),
    trained("P3's size, uniform attention", PAPERS, ONE_WAY),
)
LEARNED = (
    trained("P3's classifier", PAPERS, ClassifierSpec()),
    trained("the blog's gated LSTM", PAPERS, ClassifierSpec(score="linear", bidirectional=False)),
)

CANCELS = 0.1
"""Largest change of a shared word that counts as none, as a share of the class words' change; as in count-tables."""
HALF = 0.5
FEWEST = 5
"""Seeds below which nothing is decided."""


class TwoKeywords(Experiment):
    """Shared words under uniform attention, and both keywords where attention is learned."""

    name = "two-keywords"
    title = "A keyword for each class, and the words that both share"
    source = "ours, after the slides and the blog"
    settings = (*UNIFORM, *LEARNED)
    decides_at = ("reduced", "paper")
    recalls = True

    # --- rules

    @claim("shared-words-cancel-lstm", reads=("runs",))
    def shared_words_cancel(self) -> Iterator[Part]:
        for setting in UNIFORM:
            group = self.record.rows("runs", setting=setting.name)
            shares = [row["shared_share"] for row in group]
            detail = (
                f"Shared words change by {shown(mean(shares))} of what the class words do, over {len(group)} seeds."
            )
            yield below(f"{setting.name}: shared words cancel", shares, CANCELS, detail, least=FEWEST)
            growth = [row["lesser_growth"] for row in group]
            detail = f"The lesser of the two keywords grows by {shown(mean(growth))}, over {len(group)} seeds."
            yield above(f"{setting.name}: class words grow", growth, 0.0, detail, least=FEWEST)

    @claim("negative-keyword-alike", reads=("runs",))
    def negative_keyword_is_known_then_attended_to(self) -> Iterator[Part]:
        for setting in LEARNED:
            group = self.record.rows("runs", setting=setting.name)
            leads = [float(row["negative_lead"]) for row in group if row["negative_lead"] is not None]
            probe, attention = (median([row[f"negative_{what}_step"] for row in group]) for what in POINTED)
            detail = (
                f"In negative sequences the probe gets to their keyword at step {shown(probe)}, attention at "
                f"{shown(attention)} (medians of the seeds that do), over {len(leads)} of {len(group)} seeds."
            )
            yield above(f"{setting.name}: known first", leads, 0.0, detail, least=FEWEST)
            last = [row["negative_attention"] for row in group]
            detail = f"It has the largest attention in {shown(mean(last))} of them at the end, over {len(group)} seeds."
            yield above(f"{setting.name}: attended to", last, HALF, detail, least=FEWEST)

    # --- tables, figures, words

    def run_row(self, outcome: Outcome) -> Mapping[str, Any]:
        """What became of keywords and shared words, and when both fields got to the keyword of either class."""
        line: dict[str, Any] = {"setting": outcome.setting, "seed": outcome.seed}
        line |= {"shared_share": shared_share(outcome), "lesser_growth": float(min(class_growth(outcome)))}
        for name, before in CLASSES.items():
            columns = [f"{before}{what}_accuracy" for what in POINTED]
            line |= {f"{name}_{what}_step": outcome.reached(one) for what, one in zip(POINTED, columns, strict=True)}
            line[f"{name}_lead"] = outcome.lead(*columns)
            line[f"{name}_attention"] = outcome.run.rows[-1][f"{before}attention_accuracy"]
        last = outcome.run.rows[-1]
        return {**line, "accuracy": last["accuracy"], "last_step": int(last["step"]), "run": outcome.run.id}

    def tables(self) -> Mapping[str, Table]:
        return {"relevance": [row for outcome in self.runs.all() for row in relevance_rows(outcome)]}

    def figures(self) -> Figures:
        lines = curves(
            y="relevance", y_title="change of log-odds", colour="words", colours=COLOURS[:3], scale=alt.Scale()
        )
        rows = [row for row in self.tables()["relevance"] if row["setting"] in [one.name for one in UNIFORM]]
        uniform = panels(rows, layer=lines, title="Relevance of class words and of shared words, every seed")
        learned = curve_table(one for setting in LEARNED for one in self.runs[setting])
        shares = {
            f"{what}, {name} keyword": f"{before}{what}_accuracy"
            for name, before in CLASSES.items()
            for what in POINTED
        }
        pointing = by_metric(learned, shares, "setting")
        layer = curves(y="share", y_title="share of sequences", colour="what", colours=COLOURS[:4])
        title = "How often the keyword has the largest probe, or attention"
        return {"relevance": uniform, "knowledge": panels(pointing, layer=layer, title=title)}

    def notes(self) -> Sequence[str]:
        return [
            "A word's relevance is the mean log-odds of the positive class over all positions that hold it, in "
            f"{EVALUATED} fresh sequences, half of them positive; changes are from step 0.",
            "At the slides' size shared words are drawn with repetition and the class word is at a random place.",
            *self.at_preset(quick="quick: two seeds of each, 20 updates.", reduced="reduced: 10 seeds instead of 20."),
        ]


POINTED = ("probe", "attention")
CLASSES = {"positive": "", "negative": "negative_"}
"""Both classes, and what is before the names of their measurements."""


def change(outcome: Outcome) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Of each word's relevance from step 0 on: (evaluations, words)."""
    words = sum(name.startswith("relevance_") for name in outcome.run.rows[0])
    values = np.stack([outcome.column(f"relevance_{word}") for word in range(words)], 1)
    return np.asarray(values - values[0])


def class_growth(outcome: Outcome) -> tuple[float, float]:
    """How far the keywords' relevance has grown at the end, each for its own class."""
    last = change(outcome)[-1]
    return float(last[KEYWORD]), -float(last[NEGATIVE])


def shared_share(outcome: Outcome) -> float:
    """The shared words' mean absolute change at the end, as a share of the keywords' mean growth."""
    return float(np.abs(change(outcome)[-1, NEGATIVE + 1 :]).mean() / np.mean(class_growth(outcome)))


def relevance_rows(outcome: Outcome) -> Iterator[dict[str, Any]]:
    """The change of each keyword and, of shared words, the mean absolute one, at every evaluation."""
    for row, values in zip(outcome.run.rows, change(outcome), strict=True):
        of = {
            "positive keyword": values[KEYWORD],
            "negative keyword": values[NEGATIVE],
            "shared words": np.abs(values[NEGATIVE + 1 :]).mean(),
        }
        for words, value in of.items():
            place = {"setting": outcome.setting, "seed": outcome.seed, "step": int(row["step"])}
            yield {**place, "words": words, "relevance": float(value)}


def shown(value: float | None) -> str:
    """A number in words."""
    return "none" if value is None else f"{value:.3g}"

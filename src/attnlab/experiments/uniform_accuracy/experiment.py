"""Does uniform attention reach the same accuracy and the same test loss? (slides, blog)

Two networks from the same starting weights, on the same batches: one learns its attention, the other's stays at 1/L.
Their texts and seeds are paired. Accuracy and loss are two statements.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import altair as alt
import numpy as np

from attnlab.data.labelled_text import load_corpus
from attnlab.experiments.texts.corpora import TextExperiment, TextRuns, TextSetting, text_setting
from attnlab.lab.claims import Part, Preset, Verdict
from attnlab.lab.corpus_runs import best_step
from attnlab.lab.experiment import Figures, Order, Table, by_preset, claim
from attnlab.lab.outcomes import Outcome, Runs
from attnlab.lab.rules import Estimate, Interval, between, in_words, low_high, over_examples
from attnlab.measures.checkpoints import first_half
from attnlab.pages.charts import SIZE, headed, hue, inline, rounded
from attnlab.probes.texts import text_fields
from attnlab.runs.engine import Job
from attnlab.runs.loop import Trained
from attnlab.runs.schedule import Schedule
from attnlab.runs.spec import RunSpec
from attnlab.stats.bootstrap import Floats
from attnlab.stats.student import student_interval

Pair = Literal["reference", "uniform"]
PAIR: tuple[Pair, Pair] = ("reference", "uniform")
SEEDS = (20, 21, 22, 23, 24)
LONG = "imdb"
STEPS = by_preset({"": 250}, {"": 1000}, {"": 4000})
COUNT = by_preset({"": 1}, {"": 5, LONG: 2}, {"": 5, LONG: 2})
TEXTS = by_preset({"": 500}, {"": 4000, LONG: 2000}, {"": 4000})
EVERY = 250
MARGIN, SHARE = 0.02, 0.1
"""Accuracy within 2 points, loss within a tenth of what training takes away."""


class UniformAccuracy(TextExperiment):
    """Learned against uniform attention, one corpus at a time."""

    name = "uniform-accuracy"
    title = "Accuracy and loss with learned and with uniform attention"
    source = "slides, blog"
    rows = ("sst", "sms", "ag_news", LONG)
    roles = PAIR
    left_out = ()
    decides_at = ("reduced", "paper")
    lead = "The same network from the same start on the same batches, with attention learned and with attention at 1/L."
    main = "differences"
    dots_title = "Accuracy with learned and with uniform attention"
    dots_axis = "accuracy"
    dots: ClassVar[Mapping[str, tuple[str, Mapping[str, str]]]] = {
        "learned": ("learned", {"measure": "accuracy"}),
        "uniform": ("uniform", {"measure": "accuracy"}),
    }
    columns: ClassVar[Mapping[str, str]] = {
        "measure": "measure",
        "learned": "learned",
        "uniform": "uniform",
        "difference": "difference",
        "low": "from (texts)",
        "high": "to (texts)",
        "seeds_low": "from (seeds)",
        "seeds_high": "to (seeds)",
        "margin": "margin",
        "texts": "texts",
    }

    def default_rows(self, preset: Preset) -> list[str]:
        return [row for row in super().default_rows(preset) if row in self.rows]

    # --- runs

    def setting(self, order: Order, role: Pair) -> TextSetting:
        """The runs of one side."""
        steps, count, texts = (at(table[order.preset], order.row) for table in (STEPS, COUNT, TEXTS))
        setting = text_setting(order.row, role, order.preset, seeds=SEEDS[:count])
        made = setting.spec

        def spec(seed: int) -> RunSpec:
            return made(seed).model_copy(update={"evaluation_batch": texts})

        keep: Literal["best", False] = "best" if order.row == LONG else False
        return replace(
            setting, spec=spec, schedule=Schedule.every(EVERY, steps=steps, checkpoint_every=EVERY, keep=keep)
        )

    def jobs(self, order: Order) -> list[Job]:
        settings = [self.setting(order, role) for role in PAIR]
        return [setting.job(seed, order.preset) for setting in settings for seed in setting.seeds_at(order)]

    def outcomes(self, order: Order, done: Mapping[str, Trained]) -> Iterator[Outcome]:
        for role in PAIR:
            setting = self.setting(order, role)
            for seed in setting.seeds_at(order):
                spec = setting.spec(seed)
                yield Outcome(setting.name, seed, done[spec.id], spec)

    # --- what is measured

    def measure(self, runs: Runs) -> None:
        texts = at(TEXTS[self.order.preset], self.order.row)
        self.texts = TextRuns(self.order.row, self.order.preset, runs, texts=texts)
        self.whole = self.order.row == LONG
        read = self.read_whole if self.whole else self.read_crosswise
        sides = {role: [read(run) for run in self.texts.of(role)] for role in PAIR}
        start = float(np.mean([run.rows[0]["loss"] for run in self.texts.of("reference")]))
        self.compared: dict[str, Difference] = {}
        for name in ("accuracy", "loss"):
            learned, uniform = (np.stack([one[name] for one in sides[role]]) for role in PAIR)
            margin = MARGIN if name == "accuracy" else SHARE * (start - float(learned.mean()))
            self.compared[name] = Difference(learned, uniform, margin)

    def read_crosswise(self, run: Trained) -> dict[str, Floats]:
        """Every text's loss and whether its class was found, at the evaluation that suits the other half of the texts
        best: (texts,) each. Of two classes the right one's log-odds are sum_l alpha_l gamma_l.
        """
        texts, steps = self.texts.texts["valid"], [int(row["step"]) for row in run.rows]
        odds = np.empty((len(steps), len(texts)))
        for place, step in enumerate(steps):
            gamma = self.texts.field(run, step, "valid", "gamma")
            weights = 1 / np.repeat(gamma.lengths, gamma.lengths)
            if run in self.texts.of("reference"):
                weights = self.texts.field(run, step, "valid", "alpha").values
            odds[place] = np.add.reduceat(weights * gamma.values, gamma.offsets[:-1])
        values = {"accuracy": (odds > 0).astype(float), "loss": np.logaddexp(0, -odds)}
        half = first_half(len(texts))
        read = {name: np.empty(len(texts)) for name in values}
        for chosen, other in ((half, ~half), (~half, half)):
            read["accuracy"][other] = values["accuracy"][values["accuracy"][:, chosen].mean(1).argmax()][other]
            read["loss"][other] = values["loss"][values["loss"][:, chosen].mean(1).argmin()][other]
        return read

    def read_whole(self, run: Trained) -> dict[str, Floats]:
        """The same on the whole test set, at the evaluation that is most accurate on the validation texts."""
        texts = load_corpus(self.order.row, most=None).valid
        if self.order.preset == "quick":
            texts = self.texts.texts["valid"]
        fields = text_fields(self.texts.model(run, best_step(run)), texts)
        right = fields.log_probabilities.argmax(1) == texts.labels.numpy()
        return {"accuracy": right.astype(float), "loss": -fields.log_probabilities[np.arange(len(texts)), texts.labels]}

    # --- rules

    @claim("uniform-as-accurate", reads=("differences",))
    def as_accurate(self) -> Iterator[Part]:
        """A part for accuracy and one for the loss: all intervals within the margin; fails if one lies outside it."""
        for row in self.record.rows("differences"):
            texts, seeds = (Estimate.of(row, "difference", before).interval for before in ("", "seeds_"))
            verdicts = {between(interval, -row["margin"], row["margin"]) for interval in (texts, seeds) if interval}
            verdict: Verdict = "fails" if "fails" in verdicts else "holds" if verdicts == {"holds"} else "undecided"
            detail = (
                f"{row['measure']}: {row['uniform']:.3f} uniform, {row['learned']:.3f} learned; the difference lies in "
                f"{in_words(texts)} over {row['texts']} texts and {in_words(seeds)} over {row['seeds']} seeds, the "
                f"margin is {row['margin']:.3f}."
            )
            runs = int(row["seeds"])
            yield Part(row["measure"], verdict, row["difference"], texts, "examples", detail, runs=runs)

    # --- tables, figures, words

    def tables(self) -> Mapping[str, Table]:
        return {"differences": [{"measure": name, **one.line()} for name, one in self.compared.items()]}

    def figures(self) -> Figures:
        rows = [
            {"measure": name, "seed": str(seed), "attention": side, "value": float(values.mean())}
            for name, one in self.compared.items()
            for side, table in (("learned", one.learned), ("uniform", one.uniform))
            for seed, values in zip(self.texts.seeds("reference"), table, strict=True)
        ]
        return {"pairs": pairs(self.order.row, rows)}

    def summary(self) -> str:
        said = [
            f"{name} {one.learned.mean():.3f} with learned and {one.uniform.mean():.3f} with uniform attention, a "
            f"difference of {one.by_seed.mean():.4f} ({in_words(one.over_texts)} over texts, "
            f"{in_words(one.over_seeds)} over seeds)"
            for name, one in self.compared.items()
        ]
        return f"On {self.order.row}: {'; '.join(said)}."

    def notes(self) -> list[str]:
        how = (
            "Every run is read on the whole test set, at the evaluation that is most accurate on "
            f"{len(self.texts.texts['valid'])} of its texts."
            if self.whole
            else "Every text is read at the evaluation that suits the other half of the texts best: no text chooses "
            "the step it is read at. The validation texts are the whole test set."
        )
        steps, texts = (at(table[self.order.preset], self.order.row) for table in (STEPS, TEXTS))
        return [
            *self.corpus_notes(steps, texts),
            how,
            "Differences are uniform minus learned, text by text and seed by seed: both networks start from the same "
            "weights and see the same batches. Intervals over seeds are Student's, and need three seeds.",
        ]


def at(table: Mapping[str, int], row: str) -> int:
    """A row's own number, or that of all others."""
    return table.get(row, table[""])


@dataclass(frozen=True, eq=False)
class Difference:
    """``learned`` and ``uniform`` (seeds, texts): a measure of both sides; ``margin``: what counts as the same."""

    learned: Floats
    uniform: Floats
    margin: float

    @property
    def by_seed(self) -> Floats:
        """Uniform minus learned, mean over texts: (seeds,)."""
        return np.asarray((self.uniform - self.learned).mean(1))

    @property
    def over_texts(self) -> Interval | None:
        """The interval over texts, of the mean over seeds."""
        return over_examples((self.uniform - self.learned).mean(0))

    @property
    def over_seeds(self) -> Interval | None:
        """The interval over seeds."""
        return student_interval(self.by_seed)

    def line(self) -> dict[str, Any]:
        """The figures in a table."""
        return {
            "learned": float(self.learned.mean()),
            "uniform": float(self.uniform.mean()),
            "difference": float(self.by_seed.mean()),
            **low_high(self.over_texts),
            **low_high(self.over_seeds, "seeds_"),
            "margin": self.margin,
            "texts": self.learned.shape[1],
            "seeds": len(self.by_seed),
        }


def pairs(row: str, table: Table) -> alt.TopLevelMixin:
    """Both sides of every pair, joined by a line."""
    base = alt.Chart().encode(
        x=alt.X("attention:N", title=None, axis=alt.Axis(labelAngle=0)),
        y=alt.Y("value:Q", title=None, scale=alt.Scale(zero=False)),
        color=hue("seed"),
        tooltip=["seed:N", "attention:N", rounded("value", ".4f")],
    )
    both = alt.layer(base.mark_line(opacity=0.6), base.mark_point(filled=True, size=50), data=inline(table))
    sized = both.properties(**SIZE).facet(column=alt.Column("measure:N", title=None)).resolve_scale(y="independent")
    return headed(sized, f"{row}: learned and uniform attention, seed by seed")

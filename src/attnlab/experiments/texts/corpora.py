"""What the experiments on labelled texts share: the corpora, the runs on each, and what is read from these (P3 A.8).

Beside the roles of `attnlab.lab.corpus_runs`: in *frozen* runs attention alone is trained, over a lexicon that stays as
random as it began (A.6); the *proxy* sees bags of words (2.3).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Literal

import altair as alt
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from attnlab.data.batch import Bags
from attnlab.data.corpora import data_folder, known_corpus
from attnlab.errors import UsageError
from attnlab.families.texts import reading
from attnlab.families.texts.problem import evaluated
from attnlab.families.texts.spec import ClassifierSpec, LabelledTextSpec, ProxySpec
from attnlab.fields import ScoreField
from attnlab.lab.claims import Finding, Preset
from attnlab.lab.corpus_runs import CorpusRuns, best_step
from attnlab.lab.experiment import Order, Setting, Table
from attnlab.lab.outcomes import Outcome, Runs
from attnlab.lab.page_of_rows import RowsExperiment
from attnlab.lab.rules import Estimate
from attnlab.models.classifier import Classifier
from attnlab.pages.charts import over_training
from attnlab.probes.influence import influence
from attnlab.runs.engine import Job
from attnlab.runs.loop import Trained
from attnlab.runs.optimisers import AdamSpec
from attnlab.runs.schedule import Schedule
from attnlab.runs.spec import RunSpec
from attnlab.stats.bootstrap import Floats
from attnlab.theory.counts import beta_ibm, count_table

Role = Literal["reference", "comparison", "uniform", "frozen", "proxy"]

ROWS = ("imdb", "ag_news", "20newsgroups", "sst", "amazon", "yelp", "sms")
"""The corpora, in the order of the paper's table; SMS, which the paper leaves out of it, last."""
LONG = ("imdb", "20newsgroups", "amazon", "yelp")
"""Corpora of long texts: at ``paper`` each costs more CPU hours than a laptop has to spare."""
PROXY_BATCH = 64

SEEDS: Mapping[Role, tuple[int, ...]] = {
    "reference": (20, 21, 22),
    "comparison": (13, 14, 15, 16, 17),
    "uniform": (12, 11, 10),
    "frozen": (30, 31, 32),
    "proxy": (20,),
}
"""The released code's seeds (reference 20, comparison 13 to 17, uniform 12), and ours where it has one run only. Frozen
runs have seeds of their own: from a reference's start they would share its random states."""


@dataclass(frozen=True)
class Size:
    """How much of everything: runs of each role, updates of a classifier, passes of the proxy, texts evaluated."""

    runs: Mapping[Role, int]
    steps: int
    passes: int
    texts: int

    @property
    def evaluations(self) -> tuple[int, ...]:
        """A.8: at 0, 10, 50, 100, 150, 200, 250, and every 250 from there."""
        steps = {0, 10, 50, 100, 150, 200, 250, *range(500, self.steps + 1, 250), self.steps}
        return tuple(sorted(step for step in steps if step <= self.steps))


SIZES: dict[Preset, Size] = {
    "quick": Size({"reference": 1, "comparison": 1, "uniform": 1, "frozen": 1, "proxy": 1}, 250, 20, 500),
    "reduced": Size({"reference": 1, "comparison": 1, "uniform": 1, "frozen": 1, "proxy": 1}, 2000, 60, 4000),
    "paper": Size({"reference": 3, "comparison": 5, "uniform": 3, "frozen": 3, "proxy": 1}, 4000, 60, 4000),
}


# --- runs


class TextSetting(Setting):
    """One role's runs on one corpus at one preset."""

    def job(self, seed: int, preset: Preset) -> Job:
        return Job(f"{self.name} {seed}", self.spec(seed), self.schedule_at(preset))


def text_setting(
    corpus: str,
    role: Role,
    preset: Preset,
    *,
    seeds: Sequence[int] = (),
    model: ClassifierSpec | None = None,
    label: str = "",
    size: Size | None = None,
    task: LabelledTextSpec | None = None,
) -> TextSetting:
    """The runs of a role; a reference run keeps the weights of its best evaluation, for influence and the like.

    ``seeds`` and ``size``: others than the preset's. ``model``: another network than P3's. ``task``: the corpus read
    otherwise. ``label``: what the runs are named after, if not the corpus. The proxy has the released code's rates and
    is measured after every pass over the training texts.
    """
    task = task or LabelledTextSpec(corpus=corpus, content=reading.corpus_of(corpus).content)
    size = size or SIZES[preset]
    settings: dict[str, Any]
    if role == "proxy":
        rate = 5e-5 if corpus in ("imdb", "amazon", "yelp") else 1.5e-4
        settings = {"model": ProxySpec(), "optimiser": AdamSpec(learning_rate=rate), "batch": PROXY_BATCH}
        a_pass = -(-len(reading.corpus_of(corpus).train) // PROXY_BATCH)
        steps = a_pass * size.passes
        # A kill costs a fifth of the proxy's short training at most; its checkpoints are as large as a classifier's.
        evaluations = tuple(range(0, steps + 1, a_pass))
        schedule = Schedule(steps=steps, evaluations=evaluations, checkpoint_every=max(steps // 5, 1))
    else:
        attention = "uniform" if role == "uniform" else "learned"
        network = (model or ClassifierSpec()).model_copy(update={"attention": attention})
        settings = {"model": network, "train": "attention-only" if role == "frozen" else "all", "batch": 32}
        keep: Literal["best", False] = "best" if role == "reference" else False
        schedule = Schedule(steps=size.steps, evaluations=size.evaluations, checkpoint_every=250, keep=keep)

    def spec(seed: int) -> RunSpec:
        return RunSpec(task=task, evaluation_batch=size.texts, init_seed=seed, data_seed=seed, **settings)

    return TextSetting(f"{label or corpus} {role}", spec, {preset: seeds or SEEDS[role][: size.runs[role]]}, schedule)


def corpora_at_hand(names: Sequence[str]) -> list[str]:
    """Those of the corpora whose files are in the data folder."""
    root = data_folder(None)
    there = [name for name in names if known_corpus(name).find(root) is not None]
    if not there:
        raise UsageError(f"{root} has none of the corpora {', '.join(names)}; `attnlab data` says how to get them.")
    return there


class TextRuns(CorpusRuns):
    """Finished runs on labelled texts: a field has a row for each text."""

    def __init__(
        self,
        corpus: str,
        preset: Preset,
        runs: Runs,
        label: str = "",
        texts: int | None = None,
        task: LabelledTextSpec | None = None,
    ) -> None:
        super().__init__(label or corpus, runs)
        self.name, self._texts = corpus, texts or SIZES[preset].texts
        self.corpus = reading.corpus_of(corpus) if task is None else task.build()

    @cached_property
    def texts(self) -> dict[str, Bags]:
        """The texts that fields are over, by split: ``valid`` and ``train``."""
        return evaluated(self.corpus, self._texts)

    def stored(self, table: pa.Table, split: str, name: str) -> ScoreField:
        return reading.stored_field(table, split, name)

    def lengths(self, split: str) -> NDArray[np.int64]:
        return self.texts[split].lengths.numpy()

    def delta(self, run: Trained, step: int, split: str) -> ScoreField:
        return influence(self.model(run, step), self.texts[split])

    def model(self, run: Trained, step: int | None = None) -> Classifier:
        """A run's network with its weights at a step, by default at the best evaluation: a reference run keeps them."""
        assert run.run is not None
        spec = RunSpec.model_validate(run.run.spec())
        assert isinstance(spec.model, ClassifierSpec)
        # Word vectors are where it began, not what it learned, so their file is not needed.
        from_random = spec.model.model_copy(update={"vectors": None})
        network = from_random.build(self.corpus.words, len(self.corpus.classes), spec.init_seed)
        run.run.load_into(network, best_step(run) if step is None else step)
        return network

    def word_scores(self, step: int | None = None, last: int | None = None) -> Floats:
        """The proxy's scores w^T e_i at an evaluation, by default at that of lowest validation loss, as in the
        released code: (words, 1 or classes). ``last``: that of the evaluations up to there.
        """
        (proxy,) = self.of("proxy")
        assert proxy.run is not None
        rows = [row for row in proxy.rows if last is None or row["step"] <= last]
        best = int(min(rows, key=lambda row: row["loss"])["step"])
        return reading.stored_word_scores(proxy.run.fields(best if step is None else step))

    def beta_px(self, split: str) -> ScoreField:
        """The proxy's probe at its best evaluation: every word's log-odds of the right class."""
        return reading.word_field(self.texts[split], self.word_scores())

    def beta_ibm(self, split: str) -> ScoreField:
        counts = count_table(reading.labelled_pairs(self.corpus.train, self.corpus))
        return beta_ibm(counts, reading.labelled_pairs(self.texts[split], self.corpus))

    @property
    def majority(self) -> float:
        labels = self.texts["valid"].labels.numpy()
        return float(np.bincount(labels).max() / len(labels))


# --- experiments


class TextExperiment(RowsExperiment):
    """An experiment on labelled texts, with a row for each corpus unless it says otherwise.

    ``roles``: the runs that it needs. ``left_out``: corpora that the paper leaves out of its tables (A.9): reported,
    and no part of a claim.
    """

    rows: ClassVar[tuple[str, ...]] = ROWS
    roles: tuple[Role, ...] = ()
    left_out: ClassVar[tuple[str, ...]] = ("sms",)

    texts: TextRuns

    def default_rows(self, preset: Preset) -> list[str]:
        """SST at ``quick``, which is to end in minutes; else all corpora whose files are there, but at ``paper`` only
        those of short texts. The long ones take days of a laptop's time there: their results are made at ``reduced``,
        and at ``paper`` only for somebody who names them.
        """
        if preset == "quick":
            return ["sst"]
        return corpora_at_hand([name for name in ROWS if preset != "paper" or name not in LONG])

    def settings_for(self, order: Order) -> Sequence[Setting]:
        """Its settings, references first: they are what everything is compared with."""
        return [text_setting(order.row, role, order.preset) for role in self.roles]

    def asked(self, order: Order) -> list[tuple[Setting, int]]:
        return [(setting, seed) for setting in self.settings_for(order) for seed in setting.seeds_at(order)]

    def measure(self, runs: Runs) -> None:
        self.texts = TextRuns(self.order.row, self.order.preset, runs)

    def findings(self, only: str | None = None) -> tuple[Finding, ...]:
        return () if self.order.row in self.left_out else super().findings(only)

    def seeds(self) -> dict[str, list[int]]:
        return {role: self.texts.seeds(role) for role in self.roles}

    def run_row(self, outcome: Outcome) -> dict[str, Any]:
        best = max(outcome.run.rows, key=lambda row: row["accuracy"])
        return {
            "setting": outcome.setting,
            "seed": outcome.seed,
            "best_step": int(best["step"]),
            "accuracy": best["accuracy"],
            "train_accuracy": best["train_accuracy"],
            "last_step": outcome.run.step,
            "last_accuracy": outcome.run.rows[-1]["accuracy"],
            "run": outcome.run.id,
        }

    def run_tables(self) -> dict[str, Table]:
        """A line for each run. The table ``curves`` of these experiments has agreements over training."""
        return {"runs": [self.run_row(outcome) for outcome in self.runs.all()]}

    def notes(self) -> list[str]:
        """How its runs on one corpus were made, what was left out of the corpus, and what intervals are over."""
        counts = {role: len(self.texts.seeds(role)) for role in self.roles}
        named = ", ".join(f"{count} {role}" for role, count in counts.items())
        notes = self.corpus_notes()
        notes.append(
            "One run of each role: intervals are over examples and say nothing about other seeds."
            if set(counts.values()) == {1}
            else f"Runs: {named}. Intervals are over examples; a text's agreement is its mean over all pairs of runs."
        )
        if self.order.row in self.left_out:
            notes.append("The paper leaves SMS out of its tables (A.9): this row is reported and decides no claim.")
        return notes

    def corpus_notes(self, steps: int | None = None, texts: int | None = None) -> list[str]:
        """How runs of so many updates, read on at most so many texts, were made; what was left out of the corpus."""
        departed = departures(self.order.preset, steps, texts)
        return [*departed, *(f"{self.order.row}: {note}" for note in self.texts.corpus.notes)]

    def over_training(self, table: Table, title: str, y_title: str = "agreement") -> alt.TopLevelMixin:
        """The curves of ``table`` through training, with chance, under a title that begins with the corpus."""
        return over_training(table, title=f"{self.order.row}: {title}", chance=self.texts.chance, y_title=y_title)

    def found(self, row: Mapping[str, Any], value: str, before: str = "") -> Estimate:
        """A value of a table's row with its interval over the texts of as many runs as its first role has."""
        return Estimate.of(row, value, before, runs=self.record.runs(self.roles[0]))


def over_texts(line: Mapping[str, Any]) -> str:
    """The interval of a table's line in words, empty where it has none."""
    return "" if line["low"] is None else f" (95 % interval over texts {line['low']:.3f} to {line['high']:.3f})"


def departures(preset: Preset, steps: int | None = None, texts: int | None = None) -> list[str]:
    """Where runs on labelled texts depart from the paper or what it says, and what the preset shortened: updates and
    texts, the preset's own if none are named.
    """
    size = SIZES[preset]
    steps, texts = steps or size.steps, texts or size.texts
    return [
        r"Words are the matches of \w+, lower-cased, and those seen fewer than 3 times in training are <unk>; the "
        "paper's own tokeniser is not known.",
        "Embeddings start at random, as in the released code; the paper's text says GloVe.",
        "Validation texts are at most 4000 of the test set, as in the paper; they also choose the evaluation at which "
        "attention is read.",
        "The last evaluation is after 4000 updates; the released code's is after 3999."
        if preset == "paper"
        else f"At {preset}: {steps} updates instead of 4000, and at most {texts} validation texts.",
    ]

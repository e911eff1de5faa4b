"""What the experiments on sentence pairs share: the corpora, the runs on each, and what is read from these (P3 A.8);
and experiments with rows of both kinds, labelled texts and sentence pairs.

Beside the roles of `attnlab.lab.corpus_runs`: *linear* runs have the read-out softmax(W (c + d)) of A.1; the *proxy*
sees bags of pieces (2.3). A field has a row for each output word, the end mark included, and the words of a sentence
are drawn together. L counts the marks at both ends of the input.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from attnlab.data.bitext import Bitext, PieceSplit
from attnlab.data.bitexts import known_bitext
from attnlab.data.corpora import data_folder
from attnlab.experiments.texts.corpora import SEEDS as TEXT_SEEDS
from attnlab.experiments.texts.corpora import TextExperiment, TextRuns, text_setting
from attnlab.families.translation import pieces, reading
from attnlab.families.translation.problem import evaluated
from attnlab.families.translation.spec import TranslationProxySpec, TranslatorSpec
from attnlab.families.translation.task import BitextSpec
from attnlab.fields import ScoreField
from attnlab.lab.claims import Preset
from attnlab.lab.corpus_runs import CorpusRuns, best_step
from attnlab.lab.experiment import Order, Setting
from attnlab.lab.outcomes import Outcome, Runs
from attnlab.measures.series import Groups
from attnlab.models.decoding import translate
from attnlab.models.translator import Translator
from attnlab.probes.translation import translation_fields
from attnlab.runs.loop import Trained
from attnlab.runs.schedule import Schedule
from attnlab.runs.spec import RunSpec
from attnlab.theory.counts import beta_ibm, count_table

Role = Literal["reference", "comparison", "uniform", "linear", "proxy"]

CORPORA: Mapping[str, str] = {
    "multi30k": "multi30k/en-de",
    "multi30k-de-en": "multi30k/de-en",
    "iwslt14": "iwslt14/de-en",
    "libreoffice-en-nl": "libreoffice/en-nl",
    "libreoffice-en-pt": "libreoffice/en-pt",
    "libreoffice-it-pt": "libreoffice/it-pt",
}
"""The rows and the bitexts they are: English to German first, as the paper's text says; the help texts of LibreOffice
stand for News Commentary, in the same languages."""
ROWS = tuple(CORPORA)
BY_PRESET: Mapping[Preset, tuple[str, ...]] = {
    "quick": ("multi30k",),
    "reduced": ("multi30k-de-en", "libreoffice-en-nl"),
    "paper": ("multi30k",),
}
"""Those that are run where none is named: at ``paper`` a row costs hours."""
PASSES: Mapping[str, int] = {"iwslt14": 30, "libreoffice-en-nl": 40, "libreoffice-en-pt": 30, "libreoffice-it-pt": 40}
"""Passes of the paper's training over corpora other than Multi30k, which has 20 of them, 36,000 updates."""
BATCH, PROXY_BATCH = 16, 64
SEEDS: Mapping[Role, int] = {"reference": 20, "comparison": 13, "uniform": 12, "linear": 20, "proxy": 20}
"""The released code's seeds: one run of each role. It has no linear one; ours starts as the reference does."""
PAIRS: Mapping[Preset, int] = {"quick": 100, "reduced": 1000, "paper": 1000}
WHOLE = 1014
"""Multi30k's validation pairs: the paper's count of output words needs them all."""
FIRST = (0, 50, 100, 500, 1000, 1500)


@dataclass(frozen=True)
class Size:
    """How much of everything: updates of the reference and of the other translators, passes of the proxy."""

    reference: int
    others: int
    passes: int

    def steps(self, role: Role) -> int:
        return self.reference if role == "reference" else self.others


SIZES: dict[Preset, Size] = {
    "quick": Size(200, 200, 1),
    "reduced": Size(4000, 4000, 30),
    "paper": Size(36_000, 20_000, 30),
}


WHOLE_REFERENCE = "multi30k-de-en"
"""The row whose reference run is trained as long at ``reduced`` as at ``paper``: the released code writes English, so
whether the direction explains where our English to German falls short of the authors' BLEU can be seen here alone.
"""


def size_of(row: str, preset: Preset) -> Size:
    """Multi30k's, but at ``paper`` the paper's number of passes over another corpus, for every run."""
    if preset == "reduced" and row == WHOLE_REFERENCE:
        return replace(SIZES[preset], reference=SIZES["paper"].reference)
    if preset != "paper" or row not in PASSES:
        return SIZES[preset]
    updates = PASSES[row] * (len(bitext_of(row).train) // BATCH) // 2000 * 2000
    return Size(updates, updates, SIZES[preset].passes)


def evaluations(steps: int) -> tuple[int, ...]:
    """A.8: at 0, 50, 100, 500, 1000, 1500, and every 2000 (as released: 2000, 4000, and on); and at the end.

    >>> evaluations(4500)
    (0, 50, 100, 500, 1000, 1500, 2000, 4000, 4500)
    """
    every = {*FIRST, *range(2000, steps + 1, 2000), steps}
    return tuple(sorted(step for step in every if step <= steps))


# --- runs


def task_of(row: str) -> BitextSpec:
    """The task of a row."""
    return pieces.task_of(CORPORA[row])


def bitext_of(row: str) -> Bitext:
    """The corpus of a row."""
    return pieces.bitext_of(CORPORA[row])


def pairs_of(row: str, preset: Preset) -> int:
    """Pairs of each split that evaluations read."""
    whole = preset != "quick" and CORPORA[row].startswith("multi30k/")
    return WHOLE if whole else PAIRS[preset]


def pair_setting(row: str, role: Role, preset: Preset, label: str = "") -> Setting:
    """The run of a role. Weights of every evaluation are kept where more is read off them: of the reference's (delta,
    and its translations beside another network's at equal updates) and of the linear one's (its optimal attention).
    """
    task, size, seed = task_of(row), size_of(row, preset), SEEDS[role]
    settings: dict[str, Any]
    if role == "proxy":
        a_pass = -(-len(bitext_of(row).train) // PROXY_BATCH)
        steps = a_pass * size.passes
        schedule = Schedule(
            steps=steps, evaluations=tuple(range(0, steps + 1, a_pass)), checkpoint_every=max(steps // 5, 1)
        )
        settings = {"model": TranslationProxySpec(), "batch": PROXY_BATCH}
    else:
        steps = size.steps(role)
        kept = role in ("reference", "linear")
        schedule = Schedule(steps=steps, evaluations=evaluations(steps), checkpoint_every=500, keep=kept)
        settings = {"model": network(role), "batch": BATCH}

    def spec(seed: int) -> RunSpec:
        pairs = pairs_of(row, preset)
        return RunSpec(task=task, evaluation_batch=pairs, init_seed=seed, data_seed=seed, **settings)

    return Setting(f"{label or row} {role}", spec, {preset: (seed,)}, schedule)


def network(role: Role) -> TranslatorSpec:
    """The translator of a role; of those that xi is read off, every evaluation has its BLEU."""
    if role == "uniform":
        return TranslatorSpec(attention="uniform")
    return TranslatorSpec(readout="linear") if role == "linear" else TranslatorSpec(bleu=True)


def bitexts_at_hand(rows: Sequence[str]) -> list[str]:
    """Those of the rows whose files are in the data folder."""
    root = data_folder(None)
    at_hand = []
    for row in rows:
        known, source, target = known_bitext(CORPORA[row])
        if known.locate(root, source, target) is not None:
            at_hand.append(row)
    return at_hand


class PairRuns(CorpusRuns):
    """Finished runs on sentence pairs: a field has a row for each output word."""

    examples = "output words"

    def __init__(self, row: str, preset: Preset, runs: Runs, label: str = "") -> None:
        super().__init__(label or row, runs)
        self.name, self._row, self._pairs = row, row, pairs_of(row, preset)

    @property
    def corpus(self) -> Bitext:
        return bitext_of(self._row)

    @cached_property
    def texts(self) -> dict[str, PieceSplit]:
        """The pairs that fields are over, by split: ``valid`` and ``train``."""
        return evaluated(self.corpus, self._pairs)

    def stored(self, table: pa.Table, split: str, name: str) -> ScoreField:
        return reading.stored_field(table, split, "log_beta" if name == "gamma" else name)

    def words(self, run: Trained, step: int, split: str, name: str) -> NDArray[Any]:
        """(output words,) ``log_p`` of the right word, or ``predicted``, the likeliest one, at an evaluation."""
        return reading.stored_words(self.kept(run, step), split, name)

    def right(self, split: str) -> NDArray[np.int32]:
        """(output words,) The right words."""
        return pieces.sentence_pairs(self.texts[split], self.corpus).target

    def lengths(self, split: str) -> NDArray[np.int64]:
        pairs = self.texts[split]
        return np.asarray(np.repeat(pairs.source.lengths + 2, pairs.target.lengths + 1))

    def groups(self, split: str) -> Groups:
        outputs = self.texts[split].target.lengths + 1
        return np.repeat(np.arange(len(outputs)), outputs)

    def delta(self, run: Trained, step: int, split: str) -> ScoreField:
        delta = translation_fields(self.model(run, step), self.texts[split], influence=True).delta
        assert delta is not None
        return delta

    def model(self, run: Trained, step: int | None = None) -> Translator:
        """A run's network with its weights at an evaluation, the best one if none is named."""
        assert run.run is not None
        spec = RunSpec.model_validate(run.run.spec())
        return reading.network_at(run.run, spec, best_step(run) if step is None else step)

    def translations(self, run: Trained, step: int, split: str = "valid") -> list[str]:
        """What a run makes of the inputs at an evaluation, by beam search."""
        return translate(self.model(run, step), self.corpus.pieces, self.texts[split].source)

    def beta_px(self, split: str) -> ScoreField:
        (proxy,) = self.of("proxy")
        return self.field(proxy, int(min(proxy.rows, key=lambda row: row["loss"])["step"]), split, "gamma")

    def beta_ibm(self, split: str) -> ScoreField:
        counts = count_table(pieces.sentence_pairs(self.corpus.train, self.corpus))
        return beta_ibm(counts, pieces.sentence_pairs(self.texts[split], self.corpus))

    @property
    def majority(self) -> float:
        right = self.right("valid")
        return float(np.bincount(right).max() / len(right))


def pair_run_row(outcome: Outcome) -> dict[str, Any]:
    """A run's line: where its loss is least, which for a translator is near its best."""
    rows = outcome.run.rows
    best = max(rows, key=lambda row: row["accuracy"]) if "accuracy" in rows[0] else min(rows, key=lambda r: r["loss"])
    measures = ("accuracy", "train_accuracy", "loss", "train_loss", "bleu", "train_bleu")
    return {
        "setting": outcome.setting,
        "seed": outcome.seed,
        "best_step": int(best["step"]),
        **{name: best.get(name) for name in measures},
        "best_bleu": max((row["bleu"] for row in rows), default=None) if "bleu" in rows[0] else None,
        "last_step": outcome.run.step,
        "last_accuracy": rows[-1].get("accuracy"),
        "last_bleu": rows[-1].get("bleu"),
        "run": outcome.run.id,
    }


# --- experiments


class CorpusExperiment(TextExperiment):
    """An experiment with a row for each corpus of labelled texts and for each of sentence pairs.

    ``pair_roles``: the runs that a row of sentence pairs needs. ``more``: how many runs a row of texts has of a role at
    ``reduced``, where it has more than one.
    """

    rows = (*TextExperiment.rows, *ROWS)
    answers_with = TextExperiment.rows  # answers speak of labelled texts; rows of pairs have their own tabs
    pair_roles: tuple[Role, ...] = ()
    more: ClassVar[Mapping[tuple[str, str], int]] = {}

    texts: TextRuns | PairRuns  # type: ignore[assignment]

    @property
    def translates(self) -> bool:
        """Whether its row is one of sentence pairs."""
        return self.order.row in ROWS

    def default_rows(self, preset: Preset) -> list[str]:
        """SST at ``quick``; else those of both kinds that are there, at ``paper`` Multi30k alone of sentence pairs."""
        texts = super().default_rows(preset)
        return texts if preset == "quick" else [*texts, *bitexts_at_hand(BY_PRESET[preset])]

    def settings_for(self, order: Order) -> Sequence[Setting]:
        if order.row not in ROWS:
            more = self.more if order.preset == "reduced" else {}
            seeds = {role: TEXT_SEEDS[role][: more.get((order.row, role), 0)] for role in self.roles}
            return [text_setting(order.row, role, order.preset, seeds=seeds[role]) for role in self.roles]
        return [pair_setting(order.row, role, order.preset) for role in self.pair_roles]

    def measure(self, runs: Runs) -> None:
        if self.translates:
            self.texts = PairRuns(self.order.row, self.order.preset, runs)
        else:
            super().measure(runs)

    def seeds(self) -> dict[str, list[int]]:
        roles = self.pair_roles if self.translates else self.roles
        return {role: self.texts.seeds(role) for role in roles}

    def run_row(self, outcome: Outcome) -> dict[str, Any]:
        return pair_run_row(outcome) if self.translates else super().run_row(outcome)

    def notes(self) -> list[str]:
        if not self.translates:
            return super().notes()
        assert isinstance(self.texts, PairRuns)
        return pair_notes(self.texts, self.order.preset)


def pair_notes(runs: PairRuns, preset: Preset) -> list[str]:
    """Where runs on sentence pairs depart from the paper or what it says, and what the preset shortened."""
    size, (valid, train) = size_of(runs.name, preset), (runs.texts[split] for split in ("valid", "train"))
    words = len(runs.right("valid"))
    notes = [
        f"{runs.name} is {CORPORA[runs.name]}: {len(runs.corpus.train)} training pairs in {len(runs.corpus.pieces)} "
        f"pieces; fields are over {len(valid)} validation pairs, {words} output words with their end marks, and "
        f"{len(train)} training pairs. L counts the marks at both ends of the input.",
        "One run of each role. Intervals are over sentences, whose output words are drawn together, and say nothing "
        "about other seeds.",
        "The decoder starts from the mean of the encoder directions' final states, as released; the text says h_L.",
    ]
    if preset == "paper" or size.reference != size.others:
        notes.append(f"The reference has {size.reference} updates, the other translators {size.others}.")
    if preset != "paper":
        notes.append(f"At {preset}: {size.others} updates instead of Multi30k's 36,000 and 20,000.")
    return [*notes, *(f"{runs.name}: {note}" for note in runs.corpus.notes)]

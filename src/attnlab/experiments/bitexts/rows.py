"""Experiments with rows of both kinds, labelled texts and sentence pairs."""

from collections.abc import Sequence
from typing import Any

from attnlab.experiments.bitexts.corpora import (
    BY_PRESET,
    CORPORA,
    ROWS,
    PairRuns,
    Role,
    bitexts_at_hand,
    pair_run_row,
    pair_setting,
    size_of,
)
from attnlab.experiments.texts.corpora import TextExperiment, TextRuns
from attnlab.lab.claims import Preset
from attnlab.lab.experiment import Order, Setting
from attnlab.lab.outcomes import Outcome, Runs


class CorpusExperiment(TextExperiment):
    """An experiment with a row for each corpus of labelled texts and for each of sentence pairs.

    ``pair_roles``: the runs that a row of sentence pairs needs.
    """

    rows = (*TextExperiment.rows, *ROWS)
    answers_with = TextExperiment.rows  # answers speak of labelled texts; rows of pairs have their own tabs
    pair_roles: tuple[Role, ...] = ()

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
            return super().settings_for(order)
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
    if preset == "paper":
        notes.append(f"The reference has {size.reference} updates, the other translators {size.others}.")
    else:
        notes.append(f"At {preset}: {size.reference} updates instead of Multi30k's 36,000.")
    return [*notes, *(f"{runs.name}: {note}" for note in runs.corpus.notes)]

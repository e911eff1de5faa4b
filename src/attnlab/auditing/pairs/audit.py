"""The audit of a parallel corpus: read, forecast, train, measure, grade."""

from datetime import UTC, datetime
from importlib.metadata import version
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import torch

from attnlab.auditing.audit import Say, Watching, watched
from attnlab.auditing.budget import LEFT_OUT, PairBudget, pair_budget_of
from attnlab.auditing.card import PAIRS, make_card
from attnlab.auditing.numbers import Numbers
from attnlab.auditing.pairs.findings import find_in_pairs
from attnlab.auditing.pairs.numbers import ReadWords, measure_pairs
from attnlab.auditing.pairs.plan import PairPlan
from attnlab.auditing.pairs.reading import (
    TranslatorFields,
    read_translator,
    sample_words,
    stored_fields,
    write_fields,
)
from attnlab.auditing.plan import AuditRuns, best_step
from attnlab.auditing.result import Audit, PairExample
from attnlab.auditing.training_pairs import BATCH
from attnlab.data.bitext import Bitext
from attnlab.data.pieces import BEGIN
from attnlab.data.sentence_pairs import read_pairs
from attnlab.families.translation.pieces import ibm1_field, sentence_pairs
from attnlab.families.translation.problem import evaluated
from attnlab.families.translation.reading import network_at, stored_field
from attnlab.families.translation.task import BitextFiles, BitextSpec
from attnlab.files import as_path
from attnlab.models.translator import Translator
from attnlab.pages.attention_map import piece_labels
from attnlab.probes.translators_apart import translators_apart
from attnlab.runs.engine import Engine
from attnlab.runs.environment import threads
from attnlab.runs.loop import Trained
from attnlab.runs.spec import RunSpec
from attnlab.runs.store import RunStore
from attnlab.theory.forecast import forecast
from attnlab.theory.ngrams import NGrams

EXAMPLE_PIECES = 14
"""Pieces of the longest side of the pair that the page shows."""


def audit_pairs(
    source: str | Path,
    target: str | Path,
    *,
    budget: str,
    seeds: int,
    store: RunStore,
    out: str | Path | None,
    engine: Engine,
    watching: Watching | None = None,
    say: Say,
    examples: bool = True,
) -> Audit:
    """May attention on this parallel corpus be trusted? See `attnlab.audit`."""
    chosen = pair_budget_of(budget)
    say("reading the sentence pairs")
    pairs = read_pairs(source, target, warn_empty=False)
    files = BitextFiles.of(source, target)
    task = BitextSpec.of_files(files, pieces=chosen.pieces, longest=chosen.longest)
    bitext = task.build()
    findings = find_in_pairs(bitext)
    made_forecast = forecast(pairs)
    plan = PairPlan(task, bitext, chosen, seeds)
    with watched(watching) as watch:
        done = plan.train(store, engine, watch)
    with threads(1):
        folder = None if out is None else as_path(out, "A folder") / "fields"
        read = _Reading(bitext, chosen, folder, say)
        learned = [read.translator(run) for run in done.learned]
        twins = {weight: read.translator(run, run.step) for weight, run in done.twins.items()}
        numbers = read.numbers(done, learned, twins)
    card = make_card(numbers, findings.too_little, PAIRS, made_forecast.reasons)
    shown = read.example(learned[0], twins, numbers) if examples else ()
    name = f"{Path(files.source).name} and {Path(str(files.target)).name}"
    now = datetime.now(UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    settings = _settings(chosen, seeds, task, done)
    return Audit(name, card, numbers, findings, made_forecast, settings, shown, now, kind="pairs")


class _Reading:
    """What is read of the trained translators, kept in ``folder`` so that it is read once."""

    def __init__(self, bitext: Bitext, budget: PairBudget, folder: Path | None, say: Say) -> None:
        self.bitext, self.folder, self.say = bitext, folder, say
        self.pairs = evaluated(bitext, budget.pairs)["valid"]
        self.sample = sample_words(self.pairs, LEFT_OUT)

    def network(self, run: Trained, step: int | None = None) -> Translator:
        """A run's translator, at its best evaluation unless another step is named."""
        assert run.run is not None
        spec = RunSpec.model_validate(run.run.spec())
        return network_at(run.run, spec, best_step(run) if step is None else step)

    def translator(self, run: Trained, step: int | None = None) -> TranslatorFields:
        """A run's fields."""
        at = best_step(run) if step is None else step
        path = None if self.folder is None else self.folder / f"{run.id}-{at}.parquet"
        if path is not None and (known := stored_fields(path, self.sample, run.id, at)) is not None:
            return known
        self.say(f"reading run {run.id}: attention, lexical probe, influence")
        fields = read_translator(self.network(run, at), self.pairs, self.sample)
        if path is not None:
            write_fields(path, fields, self.sample, run.id, at)
            kept = stored_fields(path, self.sample, run.id, at)  # of the same precision as when it is read again
            assert kept is not None
            return kept
        return fields

    def words(self) -> ReadWords:
        """The output words, and what a trigram of the training pairs' output side says in their place."""
        train, read = (sentence_pairs(split, self.bitext) for split in (self.bitext.train, self.pairs))
        sides = [np.split(pairs.target, pairs.target_offsets[1:-1]) for pairs in (train, read)]
        _, said = NGrams(sides[0], len(self.bitext.pieces), BEGIN).read(sides[1])
        return ReadWords(read.target, np.repeat(np.arange(len(read)), np.diff(read.target_offsets)), said)

    def numbers(
        self, done: AuditRuns, learned: list[TranslatorFields], twins: dict[float, TranslatorFields]
    ) -> Numbers:
        """All numbers; the uniform twin's lexicon and the proxy's are at their best evaluations, too."""
        assert done.uniform.run is not None
        assert done.proxy.run is not None
        networks = [self.network(run) for run in done.learned]
        uniform = best_step(done.uniform)
        proxy = int(min(done.proxy.rows, key=lambda row: row["loss"])["step"])
        return measure_pairs(
            self.words(),
            learned,
            ibm1_field(self.bitext, self.pairs),
            apart={
                (a, b): translators_apart(networks[a], networks[b], self.pairs)
                for a, b in combinations(range(len(networks)), 2)
            },
            others={
                "lexicon of the uniform twin": stored_field(done.uniform.run.fields(uniform), "valid", "log_beta"),
                "lexicon of the proxy": stored_field(done.proxy.run.fields(proxy), "valid", "log_beta"),
            },
            accuracies={
                "uniform twin": max(row["accuracy"] for row in done.uniform.rows),
                **{f"deceptive twin, lambda {w:g}": run.rows[-1]["accuracy"] for w, run in done.twins.items()},
            },
            twins={
                weight: (fields, translators_apart(networks[0], self.network(run, run.step), self.pairs))
                for (weight, fields), run in zip(twins.items(), done.twins.values(), strict=True)
            },
        )

    def example(
        self, first: TranslatorFields, twins: dict[float, TranslatorFields], numbers: Numbers
    ) -> tuple[PairExample, ...]:
        """The longest of the pairs that are short enough to show, with both attentions."""
        source, target = self.pairs.source.lengths, self.pairs.target.lengths
        fitting = np.flatnonzero(np.maximum(source, target) <= EXAMPLE_PIECES)
        if not len(fitting):
            return ()
        row = int(fitting[(source + target)[fitting].argmax()])
        start = int((target[:row] + 1).sum())
        rows = np.arange(start, start + int(target[row]) + 1)
        equal = [twin for twin in numbers.twins if twin.equal] or list(numbers.twins)
        far = max(equal, key=lambda twin: twin.jsd.value or 0.0, default=None)
        names = self.bitext.pieces.names
        words = [
            [names[piece] for piece in side.sentence(row).tolist()] for side in (self.pairs.source, self.pairs.target)
        ]
        pictures = [first.alpha, *([twins[far.weight].alpha] if far is not None else [])]
        alphas = [tuple(tuple(field.row(int(t)).tolist()) for t in rows) for field in pictures]
        inputs = tuple(piece_labels(["<s>", *words[0], "</s>"]))
        return (PairExample(inputs, tuple(piece_labels([*words[1], "</s>"])), *alphas),)


def _settings(budget: PairBudget, seeds: int, task: BitextSpec, done: AuditRuns) -> dict[str, Any]:
    """What repeats the audit."""
    return {
        "budget": budget.name,
        "seeds": seeds,
        "network": f"LSTM {budget.hidden}, {budget.layers} layers, at most {budget.steps} updates of {BATCH} pairs "
        f"by Adam at {budget.learning_rate:g}",
        "pieces": f"at most {budget.pieces}, shared by both sides",
        "twins": f"at most {budget.twin_steps} updates, lambda {', '.join(f'{w:g}' for w in budget.weights)}",
        "sentences cut to pieces": budget.longest,
        "content of the pairs": task.content,
        "runs": ", ".join(run.id for run in (*done.learned, done.uniform, done.proxy, *done.twins.values())),
        "attnlab": version("attnlab"),
        "torch": torch.__version__,
    }

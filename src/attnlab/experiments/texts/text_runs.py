"""The finished runs on one corpus, and the score fields read from them."""

from collections.abc import Mapping
from functools import cached_property

import numpy as np
import pyarrow as pa
import torch
from numpy.typing import NDArray

from attnlab.data.batch import Bags
from attnlab.data.labelled_text import Corpus
from attnlab.data.sentence_pairs import SentencePairs
from attnlab.errors import UsageError
from attnlab.experiments.texts.classification import SIZES, Role, corpus_of, job, seeds_of
from attnlab.families.texts.problem import evaluated
from attnlab.families.texts.spec import ClassifierSpec
from attnlab.fields import ScoreField
from attnlab.lab.experiment import Order
from attnlab.measures.agreement import random_baseline
from attnlab.models.classifier import Classifier, log_odds
from attnlab.runs.loop import Trained
from attnlab.runs.spec import RunSpec
from attnlab.theory.counts import CountTable, beta_ibm, count_table

Floats = NDArray[np.float64]


class TextRuns:
    """Runs on the corpus ``order.row``; fields are read when they are asked for and not kept: there are many."""

    def __init__(self, order: Order, done: Mapping[str, Trained]) -> None:
        self.order, self.done = order, done
        self._last: tuple[tuple[str, int], pa.Table] | None = None
        self.corpus: Corpus = corpus_of(order.row)
        self.texts: dict[str, Bags] = evaluated(self.corpus, SIZES[order.preset].texts)
        """The texts that fields are over, by split: ``valid`` and ``train``."""

    def of(self, role: Role) -> list[Trained]:
        """The runs of a role, in the order of their seeds."""
        return [self.done[self.spec(role, seed).id] for seed in self.seeds(role)]

    def seeds(self, role: Role) -> list[int]:
        """Their seeds."""
        return seeds_of(role, self.order)

    def spec(self, role: Role, seed: int) -> RunSpec:
        """The spec of one of them."""
        return job(self.order.row, role, seed, self.order.preset).spec

    def field(self, run: Trained, step: int, split: str, name: str) -> ScoreField:
        """``alpha`` or ``gamma`` of a classifier at an evaluation, over the texts of a split."""
        table = self._table(run, step)
        of_split = np.asarray(table["split"].combine_chunks().dictionary_decode()) == split
        column = table[name].combine_chunks().filter(of_split)
        offsets = np.asarray(column.offsets, dtype=np.int64)
        return ScoreField(np.asarray(column.flatten(), dtype=np.float64), offsets - offsets[0])

    def _table(self, run: Trained, step: int) -> pa.Table:
        """A run's fields at an evaluation; those read last are kept: several are asked for in a row."""
        assert run.run is not None
        if self._last is None or self._last[0] != (run.id, step):
            self._last = (run.id, step), run.run.fields(step)
        return self._last[1]

    def steps(self, run: Trained) -> list[int]:
        """The steps of its evaluations."""
        return [int(row["step"]) for row in run.rows]

    def best_step(self, run: Trained) -> int:
        """The first evaluation of highest validation accuracy: where a reference run's attention is alpha."""
        return int(max(run.rows, key=lambda row: row["accuracy"])["step"])

    def curve(self, run: Trained, name: str = "accuracy") -> Floats:
        """A metric at every evaluation: (steps,)."""
        return np.array([row[name] for row in run.rows], dtype=np.float64)

    def model(self, run: Trained) -> Classifier:
        """A reference run's network with its weights at the best evaluation."""
        assert run.run is not None
        spec = RunSpec.model_validate(run.run.spec())
        assert isinstance(spec.model, ClassifierSpec)
        # Word vectors are where it began, not what it learned, so their file is not needed.
        network = without_vectors(spec.model).build(self.corpus.words, len(self.corpus.classes), spec.init_seed)
        tensors = run.run.load(self.best_step(run)).tensors
        weights = {name.removeprefix("model."): value for name, value in tensors.items() if name.startswith("model.")}
        network.load_state_dict(weights)
        return network

    @cached_property
    def best_pass(self) -> int:
        """The proxy's evaluation of lowest validation loss, as in the released code."""
        (proxy,) = self.of("proxy")
        return int(min(proxy.rows, key=lambda row: row["loss"])["step"])

    def word_scores(self, step: int) -> Floats:
        """The proxy's scores w^T e_i at an evaluation: (words, 1 or classes)."""
        (proxy,) = self.of("proxy")
        assert proxy.run is not None
        table = proxy.run.fields(step)
        return np.stack([np.asarray(table[name], dtype=np.float64) for name in table.column_names], 1)

    def beta_px(self, split: str) -> ScoreField:
        """The proxy's probe at its best evaluation: every word's log-odds of the right class."""
        return word_field(self.texts[split], self.word_scores(self.best_pass))

    def beta_ibm(self, split: str) -> ScoreField:
        """Trans(y | x_l) from the training texts' count table (P3 4.2); alpha_ibm orders positions in the same way."""
        return beta_ibm(self.counts, self.pairs(self.texts[split]))

    @cached_property
    def counts(self) -> CountTable:
        """The count table of words and classes."""
        return count_table(self.pairs(self.corpus.train))

    def pairs(self, texts: Bags) -> SentencePairs:
        """Texts and their classes as sentence pairs with an output of one word."""
        return SentencePairs(
            texts.words.numpy().astype(np.int32),
            texts.offsets.numpy(),
            texts.labels.numpy().astype(np.int32),
            np.arange(len(texts) + 1, dtype=np.int64),
            list(self.corpus.words),
            list(self.corpus.classes),
        )

    def chance(self, split: str) -> Floats:
        """The exact chance level of A in every text: (texts,)."""
        return random_baseline(self.texts[split].lengths.numpy())

    @property
    def majority(self) -> float:
        """The accuracy of always saying the commonest class, on the validation texts."""
        labels = self.texts["valid"].labels.numpy()
        return float(np.bincount(labels).max() / len(labels))


def without_vectors(model: ClassifierSpec) -> ClassifierSpec:
    """The same network from random embeddings."""
    return model.model_copy(update={"vectors": None})


def word_field(texts: Bags, scores: Floats) -> ScoreField:
    """The log-odds of the right class that each position's word has by itself; ``scores`` (words, 1 or classes)."""
    if not len(texts):
        raise UsageError("There are no texts to make a field of.")
    at = torch.from_numpy(scores)[texts.words]  # (tokens, 1 or classes)
    labels = torch.repeat_interleave(texts.labels, texts.lengths)
    return ScoreField(log_odds(at, labels).numpy(), texts.offsets.numpy())

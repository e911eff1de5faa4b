"""Runs on labelled texts brought to life: the attention classifier of P3 2.4 and the bag-of-words proxy of P3 2.3."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import torch
from torch import Tensor
from torch.nn import functional

from attnlab.data.batch import Bags, padded
from attnlab.data.corpora import KNOWN
from attnlab.data.labelled_text import Corpus
from attnlab.data.tokens import TokenRule
from attnlab.errors import UsageError
from attnlab.families.base import BaseProblem, watched_table
from attnlab.families.passes import rows_of_step, sample
from attnlab.families.texts.deception import Twin, make_deception
from attnlab.families.texts.spec import ClassifierSpec, LabelledTextSpec, ProxySpec
from attnlab.fields import ScoreField
from attnlab.models.classifier import Classifier, log_probabilities
from attnlab.models.flushed import FlushedLoss, flushed
from attnlab.models.proxy import TextProxy
from attnlab.models.trained import choose_trained
from attnlab.probes.texts import text_fields
from attnlab.protocols import Loss, Row, RunSettings

SPLITS = ("valid", "train")
"""Whose fields an evaluation keeps: the validation texts', and those of as many training texts."""


def drawn_rows(texts: int, batch: int, seed: int, step: int) -> Tensor:
    """Which texts update number ``step`` sees: the next of an order drawn anew for every pass over all texts."""
    return torch.from_numpy(rows_of_step(texts, batch, seed, step))


def evaluated(corpus: Corpus, most: int) -> dict[str, Bags]:
    """The texts that evaluations read: at most ``most`` validation texts, and as many training texts.

    Which they are is the same for all runs on a corpus, since fields are compared between runs.
    """
    count = min(most, len(corpus.valid))

    def drawn(texts: Bags, purpose: str) -> Bags:
        return texts.select(torch.from_numpy(sample(len(texts), count, purpose)))

    return {"valid": drawn(corpus.valid, "validation sample"), "train": drawn(corpus.train, "training sample")}


class TextProblem(BaseProblem):
    """Mean negative log-likelihood of the right classes of a batch of texts."""

    def __init__(self, spec: RunSettings, device: str = "cpu") -> None:
        assert isinstance(spec.task, LabelledTextSpec)
        super().__init__(spec, device)
        self.corpus = spec.task.build()
        self.texts = self.corpus.train
        self.batch = len(self.texts) if spec.batch is None else spec.batch
        self.evaluated = evaluated(self.corpus, spec.evaluation_batch)

    def rows(self, step: int) -> Tensor:
        """Which texts update number ``step`` sees."""
        return drawn_rows(len(self.texts), self.batch, self.spec.data_seed, step)


class ClassifierProblem(TextProblem):
    """That of the attention classifier."""

    def __init__(self, spec: RunSettings, device: str = "cpu") -> None:
        assert isinstance(spec.model, ClassifierSpec)
        super().__init__(spec, device)
        words, classes = self.corpus.words, len(self.corpus.classes)
        self.model: Classifier = spec.model.build(words, classes, spec.init_seed).to(device)
        choose_trained(self.model, self.model.score_parameters(), spec.train)
        self.uniform, self._fields = spec.model.attention == "uniform", None
        self.deception = None
        if spec.deception is not None:
            original = spec.model.build(words, classes, spec.init_seed).to(device)
            self.deception = make_deception(spec.deception, self.corpus, original)

    def take_original(self, weights: Mapping[str, Tensor]) -> None:
        """What this run's network is the twin of."""
        assert isinstance(self.deception, Twin)
        self.deception.take(weights)
        self.deception.begin(self.model)

    def loss(self, step: int) -> Loss:
        batch = padded(self.texts, self.rows(step)).to(self.device)
        self.model.train()
        if self.deception is not None:
            with flushed():
                return FlushedLoss(self.deception.loss(self.model(batch.tokens, batch.lengths), batch))
        seen = self.model(batch.tokens, batch.lengths)
        loss: Tensor = functional.nll_loss(seen.log_probabilities, batch.labels)
        return loss

    def evaluate(self, step: int) -> Row:  # noqa: ARG002 (the texts are the same at every step)
        """``loss``, ``accuracy`` and ``entropy`` (attention's, as a share of its largest, log L) on the validation
        texts, the same with ``train_`` on the training sample; keeps both splits' fields. What a deceptive run says
        beside them is in `attnlab.families.texts.deception`.
        """
        row: Row = {}
        columns: dict[str, list[Any]] = {"split": [], "alpha": [], "gamma": []}
        for split in SPLITS:
            texts = self.evaluated[split]
            fields = text_fields(self.model, texts)
            measured = {"loss": fields.loss, "accuracy": fields.accuracy, "entropy": relative_entropy(fields.alpha)}
            if self.deception is not None:
                measured |= self.deception.measure(split, texts, fields)
            row |= {name if split == "valid" else f"train_{name}": value for name, value in measured.items()}
            columns["split"].append(pa.array([split] * len(texts)).dictionary_encode())
            for name in ("alpha", "gamma"):
                columns[name].append(_ragged(getattr(fields, name)))
        if self.uniform:
            del columns["alpha"]  # 1/L everywhere
        self._fields = pa.table({name: pa.chunked_array(parts) for name, parts in columns.items()})
        return row

    def watched(self, example: tuple[str, ...]) -> pa.Table:
        """Of a text and the class that beta is about; one output word, the class."""
        if len(example) != 2 or example[1] not in self.corpus.classes:
            named = ", ".join(repr(name[:40]) for name in self.corpus.classes[:20])
            raise UsageError(
                f"To watch a classifier takes a text and one of its classes, {named}; not {example!r:.80}."
            )
        assert isinstance(self.spec.task, LabelledTextSpec)
        rule = KNOWN[self.spec.task.corpus].rule if self.spec.task.file is None else TokenRule()
        words = rule.words(example[0])
        if not words:
            raise UsageError("The text to watch has no word: none of its characters is a letter or a digit.")
        ids = {word: number for number, word in enumerate(self.corpus.words)}
        label = self.corpus.classes.index(example[1])
        numbers, offsets = torch.tensor([ids.get(word, 0) for word in words]), torch.tensor([0, len(words)])
        fields = text_fields(self.model, Bags(numbers, offsets, torch.tensor([label])))
        alpha, gamma = (torch.from_numpy(np.asarray(field.row(0)))[None] for field in (fields.alpha, fields.gamma))
        said = self.corpus.classes[int(fields.log_probabilities[0].argmax())]
        return watched_table(words, [example[1]], [said], alpha, gamma.sigmoid())

    def fields(self) -> pa.Table | None:
        """A row for each text of both splits: ``split``, ``alpha`` (not of uniform attention) and ``gamma``."""
        kept, self._fields = self._fields, None
        return kept


class ProxyProblem(TextProblem):
    """That of the bag-of-words proxy."""

    def __init__(self, spec: RunSettings, device: str = "cpu") -> None:
        assert isinstance(spec.model, ProxySpec)
        super().__init__(spec, device)
        words, classes = len(self.corpus.words), len(self.corpus.classes)
        self.model: TextProxy = spec.model.build(words, classes, spec.init_seed).to(device)

    def loss(self, step: int) -> Tensor:
        texts = self.texts.select(self.rows(step)).to(self.device)
        return functional.nll_loss(self.model(texts.words, texts.offsets), texts.labels)

    @torch.no_grad()
    def evaluate(self, step: int) -> Row:  # noqa: ARG002 (the texts are the same at every step)
        """``loss`` and ``accuracy`` on the validation texts, the same with ``train_`` on the training sample."""
        row: Row = {}
        for split, texts in self.evaluated.items():
            predicted = log_probabilities(self.model.text_scores(texts.words, texts.offsets))
            name = "" if split == "valid" else "train_"
            row[f"{name}loss"] = float(functional.nll_loss(predicted.double(), texts.labels))
            row[f"{name}accuracy"] = float((predicted.argmax(1) == texts.labels).double().mean())
        return row

    @torch.no_grad()
    def fields(self) -> pa.Table:
        """``score_k``: what every word, by id, adds to logit k."""
        scores = self.model.word_scores().cpu().numpy()
        return pa.table({f"score_{k}": column for k, column in enumerate(scores.T)})


def relative_entropy(alpha: ScoreField) -> float:
    """Mean over texts of attention's entropy by log L, its largest; texts of one word, whose entropy is 0, left out."""
    several = alpha.lengths > 1
    if not several.any():
        return 0.0
    parts = -alpha.values * np.log(np.maximum(alpha.values, 1e-45))
    entropy = np.add.reduceat(parts, alpha.offsets[:-1])
    return float((entropy[several] / np.log(alpha.lengths[several])).mean())


def _ragged(field: ScoreField) -> pa.Array:
    values = pa.array(field.values.astype(np.float32))
    return pa.ListArray.from_arrays(pa.array(field.offsets.astype(np.int32)), values)

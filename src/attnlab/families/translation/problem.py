"""Runs on sentence pairs brought to life: the translator of P3 A.8 and the bag-of-words proxy of P3 2.3."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import torch
from torch import Tensor
from torch.nn import functional

from attnlab.data.bitext import Bitext, PieceSplit, piece_side
from attnlab.data.piece_batches import Rows, marked, pair_batch
from attnlab.data.pieces import BEGIN, END
from attnlab.errors import UsageError
from attnlab.families.base import BaseProblem, watched_table
from attnlab.families.passes import rows_of_step, sample
from attnlab.families.translation.deception import PairTwin, PairTwinSpec
from attnlab.families.translation.spec import TranslationProxySpec, TranslatorSpec
from attnlab.families.translation.task import BitextSpec
from attnlab.fields import ScoreField
from attnlab.measures.bleu import bleu
from attnlab.models.decoding import translate
from attnlab.models.proxy import TextProxy
from attnlab.models.trained import choose_trained
from attnlab.models.translator import Translator
from attnlab.probes.translation import translation_fields
from attnlab.protocols import Row, RunSettings
from attnlab.seeds import numpy_generator

SPLITS = ("valid", "train")
"""Whose fields an evaluation keeps: the validation pairs', and those of as many training pairs."""


def evaluated(bitext: Bitext, most: int) -> dict[str, PieceSplit]:
    """The pairs that evaluations read: at most ``most`` validation pairs, and as many training pairs."""
    count = min(most, len(bitext.validation))
    return {
        "valid": bitext.validation.select(sample(len(bitext.validation), count, "validation sample")),
        "train": bitext.train.select(sample(len(bitext.train), count, "training sample")),
    }


class TranslationProblem(BaseProblem):
    """Mean negative log-likelihood of all output words of a batch of pairs, end marks included."""

    def __init__(self, spec: RunSettings, device: str = "cpu") -> None:
        assert isinstance(spec.task, BitextSpec)
        super().__init__(spec, device)
        self.bitext = spec.task.build()
        self.pairs, self.words = self.bitext.train, len(self.bitext.pieces)
        self.batch = len(self.pairs) if spec.batch is None else spec.batch
        self.evaluated = evaluated(self.bitext, spec.evaluation_batch)
        self._fields: pa.Table | None = None

    def rows(self, step: int) -> Rows:
        """Which pairs update number ``step`` sees."""
        return rows_of_step(len(self.pairs), self.batch, self.spec.data_seed, step)

    def fields(self) -> pa.Table | None:
        """A row for each output word of both splits' pairs, as `evaluate` made them."""
        kept, self._fields = self._fields, None
        return kept


class TranslatorProblem(TranslationProblem):
    """That of the translator."""

    def __init__(self, spec: RunSettings, device: str = "cpu") -> None:
        assert isinstance(spec.model, TranslatorSpec)
        super().__init__(spec, device)
        self.settings = spec.model
        self.model: Translator = spec.model.build(self.words, spec.init_seed).to(device)
        choose_trained(self.model, self.model.score_parameters(), spec.train)
        self.twin: PairTwin | None = None
        if isinstance(spec.deception, PairTwinSpec):
            self.twin = PairTwin(spec.deception, spec.model.build(self.words, spec.init_seed).to(device))

    def take_original(self, weights: Mapping[str, Tensor]) -> None:
        """What this run's network is the twin of."""
        assert self.twin is not None
        self.twin.take(weights)
        self.twin.begin(self.model)

    def loss(self, step: int) -> Tensor:
        batch = pair_batch(self.pairs, self.rows(step)).to(self.device)
        if self.twin is not None:
            return self.twin.loss(self.model, batch)
        self.model.train()
        return self.model.loss(
            batch.source,
            batch.previous,
            batch.target,
            source_lengths=batch.source_lengths,
            target_lengths=batch.target_lengths,
            generator=numpy_generator(self.spec.data_seed, "dropout", step),
        )

    def evaluate(self, step: int) -> Row:  # noqa: ARG002 (the pairs are the same at every step)
        """``loss`` and ``accuracy`` (share of output words that are the likeliest, the right words before them given)
        on the validation pairs, the same with ``train_`` on the training sample, and ``bleu`` if it is wanted. Keeps
        both splits' fields: ``alpha`` (not of uniform attention), ``log_beta``, of a linear read-out ``context_beta``,
        ``delta`` if it is wanted, and of each word ``pair``, ``log_p`` and ``predicted``. What a twin says beside them
        is in `attnlab.families.translation.deception`.
        """
        row: Row = {}
        columns: dict[str, list[Any]] = {}
        for split in SPLITS:
            pairs, before = self.evaluated[split], "" if split == "valid" else "train_"
            fields = translation_fields(self.model, pairs, influence=self.settings.influence)
            row |= {f"{before}loss": fields.loss, f"{before}accuracy": fields.accuracy}
            if self.twin is not None:
                measured = self.twin.measure(split, pairs, self.model, fields.alpha)
                row |= {f"{before}{name}": value for name, value in measured.items()}
            if self.settings.bleu:
                texts = translate(self.model, self.bitext.pieces, pairs.source, beam=self.settings.beam)
                row[f"{before}bleu"] = bleu(texts, pairs.target.texts()).score
            kept: dict[str, Any] = {"split": pa.array([split] * len(fields.pair)).dictionary_encode()}
            kept |= {name: pa.array(getattr(fields, name)) for name in ("pair", "predicted")}
            kept["log_p"] = pa.array(fields.log_p.astype(np.float32))
            for name in ("alpha", "log_beta", "context_beta", "delta"):
                field = getattr(fields, name)
                if field is not None and not (name == "alpha" and self.model.mode == "uniform"):  # 1/L everywhere
                    kept[name] = ragged(field)
            for name, values in kept.items():
                columns.setdefault(name, []).append(values)
        self._fields = pa.table({name: pa.chunked_array(parts) for name, parts in columns.items()})
        return row

    def watched(self, example: tuple[str, ...]) -> pa.Table:
        """Of a sentence and its translation, in pieces; the words before each output word are given."""
        if len(example) != 2:
            raise UsageError(f"To watch a translator takes a sentence and its translation, not {example!r:.80}.")
        pieces = self.bitext.pieces
        source, target = (piece_side(pieces, [text]) for text in example)
        if not len(source.values) or not len(target.values):
            raise UsageError("The sentence to watch, or its translation, has no word.")
        fields = translation_fields(self.model, PieceSplit(source, target, np.zeros(1, np.int64)))
        shape = len(target.values) + 1, len(source.values) + 2
        alpha, beta = (torch.from_numpy(field.values).reshape(shape) for field in (fields.alpha, fields.log_beta))
        inputs, outputs, said = (
            [pieces.names[one] for one in ids]
            for ids in ((BEGIN, *source.values), (*target.values, END), fields.predicted.tolist())
        )
        return watched_table([*inputs, pieces.names[END]], outputs, said, alpha, beta.exp())


class TranslationProxyProblem(TranslationProblem):
    """That of the bag-of-words proxy: an input's words, marks included, predict each of its output's words."""

    def __init__(self, spec: RunSettings, device: str = "cpu") -> None:
        assert isinstance(spec.model, TranslationProxySpec)
        super().__init__(spec, device)
        self.model: TextProxy = spec.model.build(self.words, spec.init_seed).to(device)

    def loss(self, step: int) -> Tensor:
        return -self._log_p(self.pairs, self.rows(step)).mean()

    @torch.no_grad()
    def evaluate(self, step: int) -> Row:  # noqa: ARG002 (the pairs are the same at every step)
        """``loss`` on the validation pairs, ``train_loss`` on the training sample. Keeps ``log_beta``, the logarithm of
        beta_px, of both splits.
        """
        row: Row = {}
        columns: dict[str, list[Any]] = {"split": [], "pair": [], "log_beta": []}
        for split in SPLITS:
            pairs = self.evaluated[split]
            log_p = self._log_p(pairs, np.arange(len(pairs)))
            row["loss" if split == "valid" else "train_loss"] = -float(log_p.double().mean())
            outputs = pairs.target.lengths + 1
            columns["split"].append(pa.array([split] * len(log_p)).dictionary_encode())
            columns["pair"].append(pa.array(np.repeat(np.arange(len(pairs), dtype=np.int32), outputs)))
            columns["log_beta"].append(ragged(self._beta(pairs)))
        self._fields = pa.table({name: pa.chunked_array(parts) for name, parts in columns.items()})
        return row

    def _log_p(self, pairs: PieceSplit, rows: Rows) -> Tensor:
        """The log-probability of every output word of these pairs: (words,)."""
        batch = pair_batch(pairs, rows).to(self.device)
        ends = torch.cat([batch.inside.new_zeros(1, dtype=torch.int64), batch.inside.sum(1).cumsum(0)])
        by_pair = self.model(batch.source[batch.inside], ends)  # (batch, words)
        pair, t = (batch.labels >= 0).nonzero().unbind(1)
        right: Tensor = by_pair[pair, batch.target[pair, t]]
        return right

    def _beta(self, pairs: PieceSplit) -> ScoreField:
        """log beta_px[t, l] = log softmax(W e_{x_l})[y_t]."""
        rows = np.arange(len(pairs))
        source, source_lengths = marked(pairs.source, rows, before=True, after=True)
        target, target_lengths = marked(pairs.target, rows, before=False, after=True)
        distinct, places = torch.unique(source, return_inverse=True)
        # (distinct, words): as many rows as the split has different words
        theta = (self.model.embedding[distinct.to(self.device)] @ self.model.weight.T).log_softmax(1).cpu()
        parts = [
            theta[places[k, : int(source_lengths[k])]][:, target[k, : int(target_lengths[k])]].t().flatten()
            for k in range(len(pairs))
        ]
        lengths = source_lengths.repeat_interleave(target_lengths)
        offsets = functional.pad(lengths.cumsum(0), (1, 0))
        return ScoreField(torch.cat(parts).numpy(), offsets.numpy())


def ragged(field: ScoreField) -> pa.Array:
    """A field as a column of lists of 32-bit numbers."""
    return pa.ListArray.from_arrays(pa.array(field.offsets.astype(np.int32)), pa.array(field.values.astype(np.float32)))

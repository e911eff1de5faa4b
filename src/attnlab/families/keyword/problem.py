"""Runs on the keyword task (P3 6.1) brought to life: the classifier of P3 2.4, or the blog's gated LSTM."""

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from attnlab.data.batch import POSITIONS
from attnlab.families.base import BaseProblem
from attnlab.families.keyword.spec import KeywordSpec
from attnlab.families.keyword.task import NOWHERE, KeywordBatch
from attnlab.families.texts.spec import ClassifierSpec
from attnlab.measures.top import top_share
from attnlab.models.classifier import Classifier
from attnlab.models.trained import choose_trained
from attnlab.probes.mean_state import explained_share, word_shares
from attnlab.protocols import Row, RunSettings
from attnlab.seeds import numpy_generator

ENOUGH = 10
"""Sequences for each word below which no linear map from words to mean states is fitted."""


class KeywordProblem(BaseProblem):
    """Mean negative log-likelihood of the right classes of a fresh batch of sequences."""

    def __init__(self, spec: RunSettings, device: str = "cpu") -> None:
        assert isinstance(spec.task, KeywordSpec)
        assert isinstance(spec.model, ClassifierSpec)
        assert spec.batch is not None
        super().__init__(spec, device)
        self.batch, self.task = spec.batch, spec.task.build()
        names = tuple(str(word + 1) for word in range(self.task.words))
        self.model: Classifier = spec.model.build(names, 2, spec.init_seed).to(device)
        choose_trained(self.model, self.model.score_parameters(), spec.train)

    def loss(self, step: int) -> Tensor:
        batch = self.task.batch(self.batch, self._generator("training", step)).to(self.device)
        self.model.train()
        seen = self.model(batch.tokens, _lengths(batch))
        loss: Tensor = functional.nll_loss(seen.log_probabilities, batch.labels)
        return loss

    @torch.no_grad()
    def evaluate(self, step: int) -> Row:
        """See `keyword_metrics`; on fresh sequences, every other one positive."""
        labels = np.arange(1, self.spec.evaluation_batch + 1, dtype=np.int64) % 2
        batch = self.task.draw(labels, self._generator("evaluation", step)).to(self.device)
        self.model.eval()
        return keyword_metrics(self.model, batch)

    def _generator(self, purpose: str, step: int) -> np.random.Generator:
        return numpy_generator(self.spec.data_seed, purpose, step)


def keyword_metrics(model: Classifier, batch: KeywordBatch) -> Row:
    """What is measured of sequences of one length, at least one of them positive.

    ``loss`` and ``accuracy`` are over all of them, everything else over positive ones. ``attention_accuracy`` and
    ``probe_accuracy``: share of sequences in which the keyword's position has the largest alpha, or the largest beta;
    ``attention_mean`` and ``probe_mean``: mean alpha and mean beta there. ``attention_entropy`` and ``probe_entropy``:
    in nats, of alpha and of beta by its sum over positions.

    The log-odds of P3 6.1, means over positive sequences whose keyword is not last, of which there are ``positives``
    (``left_out``: the others): ``gamma_keyword`` at the keyword, ``gamma_after`` one after it, ``gamma_last`` at the
    last position, ``gamma_mean`` over all positions; and ``gamma_first`` at the first one, where the keyword is not
    first either. NaN where there is no such sequence.

    ``mean_state``: how much of the mean state's variance a linear map of the mean embedding explains (see
    `attnlab.probes.mean_state`), fitted to two thirds of all sequences and tried on the rest; left out where those are
    fewer than ten for each word.

    Where negative sequences have a keyword of their own also ``negative_attention_accuracy`` and so on, the same of
    them, beta and gamma being those of the negative class; and ``relevance_w`` of every word w: the mean log-odds of
    the positive class over all positions that hold it, in sequences of both classes.
    """
    log_probabilities, alpha, gamma, means = _read(model, batch)
    right = log_probabilities.gather(1, batch.labels[:, None])
    hits = log_probabilities.argmax(1) == batch.labels
    row = {"loss": -float(right.double().mean()), "accuracy": float(hits.double().mean())}
    positive = batch.labels == 1
    row |= _pointing(alpha[positive], gamma[positive], batch.position[positive])
    row |= _four(gamma[positive].double(), batch.position[positive])
    words, fitted = len(model.embedding), 2 * len(batch) // 3
    negative = (batch.labels == 0) & (batch.position != NOWHERE)
    if negative.any():
        pointing = _pointing(alpha[negative], gamma[negative], batch.position[negative])
        row |= {f"negative_{name}": value for name, value in pointing.items()}
        row |= _relevance(torch.where(positive[:, None], gamma, -gamma).double(), batch.tokens, words)
    if fitted >= ENOUGH * words:
        shares = word_shares(batch.tokens, words)
        row["mean_state"] = explained_share(shares.cpu().numpy(), means.double().cpu().numpy(), fitted)
    return row


def _read(model: Classifier, batch: KeywordBatch) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Log-probabilities (batch, 2), alpha and gamma (batch, length), mean states (batch, size), in bounded memory."""
    lengths, block = _lengths(batch), max(1, POSITIONS // batch.tokens.shape[1])
    parts = []
    for first in range(0, len(batch), block):
        rows = slice(first, first + block)
        h = model.encoder(batch.tokens[rows], lengths[rows], embedding=model.embedding).states
        seen = model.attend(h, lengths[rows], labels=batch.labels[rows])
        parts.append((seen.log_probabilities, seen.alpha, seen.gamma, h.mean(1)))
    log_probabilities, alpha, gamma, means = (torch.cat(column) for column in zip(*parts, strict=True))
    return log_probabilities, alpha, gamma, means


def _pointing(alpha: Tensor, gamma: Tensor, position: Tensor) -> Row:
    """Where attention and the probe point: ``alpha`` and ``gamma`` (positives, length), ``position`` (positives,)."""
    at, beta = position[:, None], gamma.sigmoid()
    relevance = functional.logsigmoid(gamma).softmax(1)  # beta by its sum
    measured = {
        "attention_accuracy": top_share(alpha.unsqueeze(1), at),
        "probe_accuracy": top_share(gamma.unsqueeze(1), at),
        "attention_mean": alpha.gather(1, at),
        "probe_mean": beta.gather(1, at),
        "attention_entropy": torch.special.entr(alpha).sum(1),
        "probe_entropy": torch.special.entr(relevance).sum(1),
    }
    return {name: float(values.double().mean()) for name, values in measured.items()}


def _four(gamma: Tensor, position: Tensor) -> Row:
    """The log-odds of P3 6.1: ``gamma`` (positives, length), ``position`` (positives,)."""
    followed = position < gamma.shape[1] - 1
    gamma, position = gamma[followed], position[followed]
    at = position[:, None]
    row = {
        "gamma_keyword": gamma.gather(1, at),
        "gamma_after": gamma.gather(1, at + 1),
        "gamma_mean": gamma.mean(1),
        "gamma_last": gamma[:, -1],
        "gamma_first": gamma[position > 0, 0],
    }
    counts = {"positives": float(followed.sum()), "left_out": float((~followed).sum())}
    return {name: float(values.mean()) for name, values in row.items()} | counts


def _relevance(log_odds: Tensor, tokens: Tensor, words: int) -> Row:
    """Each word's mean of ``log_odds`` (batch, length) over its occurrences in ``tokens``; NaN of one that has none."""
    sums, counts = (
        torch.zeros(words, dtype=torch.float64, device=tokens.device).index_add_(0, tokens.flatten(), values.flatten())
        for values in (log_odds, torch.ones_like(log_odds))
    )
    return {f"relevance_{word}": float(value) for word, value in enumerate(sums / counts)}


def _lengths(batch: KeywordBatch) -> Tensor:
    """All positions of every sequence: (batch,)."""
    return torch.full((len(batch),), batch.tokens.shape[1], device=batch.tokens.device)

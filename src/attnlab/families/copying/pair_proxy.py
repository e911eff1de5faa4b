"""The bag-of-words proxy (P3 2.3) on copying brought to life: what uniform attention could know of the words."""

import pyarrow as pa
import torch
from torch import Tensor

from attnlab.families.base import BaseProblem
from attnlab.families.copying.spec import CopyingSpec, PairProxySpec
from attnlab.measures.top import top_share
from attnlab.models.proxy import Bags, Proxy
from attnlab.protocols import Row, RunSettings
from attnlab.seeds import numpy_generator


class PairProxyProblem(BaseProblem):
    """Mean negative log-likelihood of all output words, each predicted from the bag of its input's words.

    End symbols are left out: they are in every pair, on both sides, and say nothing about words.
    """

    def __init__(self, spec: RunSettings, device: str = "cpu") -> None:
        assert isinstance(spec.task, CopyingSpec)
        assert isinstance(spec.model, PairProxySpec)
        assert spec.batch is not None
        super().__init__(spec, device)
        self.batch, self.task = spec.batch, spec.task.build()
        words = self.task.distribution.words
        self.model: Proxy = spec.model.build(words, words, spec.init_seed).to(device)

    def loss(self, step: int) -> Tensor:
        source, target, _ = self._pairs(self.batch, "training", step)
        return -self._log_probabilities(source).gather(1, target).mean()

    @torch.no_grad()
    def evaluate(self, step: int) -> Row:
        """Averages over all output words of fresh pairs.

        ``loss``; ``accuracy``: share of output words that are the likeliest word of their bag, at best 1/L where no
        word occurs twice. Of the probe beta_px: ``probe_accuracy``, share of output words for which the right position
        is the largest; ``probe_mean``, mean at the right position; ``probe_spread``, standard deviation over positions
        by the mean over positions.
        """
        source, target, position = self._pairs(self.spec.evaluation_batch, "evaluation", step)
        log_probabilities = self._log_probabilities(source)
        beta = self.model.theta()[source.unsqueeze(1), target.unsqueeze(2)].double()  # (batch, target, source)
        at = position.expand(target.shape).unsqueeze(2)  # (batch, target, 1)
        measured = {
            "loss": -log_probabilities.gather(1, target),
            "accuracy": log_probabilities.argmax(1, keepdim=True) == target,
            "probe_accuracy": top_share(beta, position),
            "probe_mean": beta.gather(2, at),
            "probe_spread": beta.std(2, correction=0) / beta.mean(2),
        }
        return {name: float(values.double().mean()) for name, values in measured.items()}

    @torch.no_grad()
    def fields(self) -> pa.Table:
        """``theta_o``: the probability of output word o for every input word, by id."""
        theta = self.model.theta().cpu().numpy()
        return pa.table({f"theta_{word}": column for word, column in enumerate(theta.T)})

    def _pairs(self, count: int, purpose: str, step: int) -> tuple[Tensor, Tensor, Tensor]:
        """Input words (batch, L), output words (batch, L) and the right positions (L,), without end symbols."""
        batch = self.task.batch(count, numpy_generator(self.spec.data_seed, purpose, step)).to(self.device)
        assert batch.position is not None  # a copying task knows them
        return batch.source[:, :-1], batch.target[:, :-1], batch.position[:-1]

    def _log_probabilities(self, source: Tensor) -> Tensor:
        """(batch, words)"""
        count, length = source.shape
        offsets = torch.arange(0, count * length + 1, length, device=source.device)
        log_probabilities: Tensor = self.model(Bags(source.flatten(), offsets))
        return log_probabilities

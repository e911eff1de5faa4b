"""A run spec brought to life: the model, the loss of each step, the evaluation at any step.

Batches, dropout and evaluation data are functions of seed and step alone (`attnlab.seeds`), so a problem has no hidden
state: the model and the optimiser are all that a checkpoint has to hold.
"""

from typing import Protocol

import pyarrow as pa
import torch
from torch import Tensor, nn
from torch.nn import functional

from attnlab.data.batch import PairBatch, PairTask
from attnlab.families.copying.metrics import Row, pair_metrics
from attnlab.families.copying.pair_proxy import PairProxyProblem
from attnlab.families.copying.remedies import begin, make_alignment_loss, task_at
from attnlab.families.keyword.problem import KeywordProblem
from attnlab.families.texts.problem import ClassifierProblem, ProxyProblem
from attnlab.families.topics.problem import SstProblem, TopicProblem
from attnlab.models.seq2seq import Prediction, Seq2Seq
from attnlab.models.trained import choose_trained
from attnlab.runs.model_spec import PairProxySpec, ProxySpec, Seq2SeqSpec
from attnlab.runs.spec import RunSpec
from attnlab.runs.task_spec import CopyingSpec, KeywordSpec, OwnTaskSpec, SstSpec, TopicsSpec
from attnlab.seeds import numpy_generator, torch_generator


class Loss(Protocol):
    """What an update goes down: a scalar tensor, or one that was found together with its gradients."""

    def detach(self) -> Tensor: ...

    def backward(self) -> None: ...


class Problem(Protocol):
    """What the training loop needs to know."""

    @property
    def model(self) -> nn.Module: ...

    def trained_parameters(self) -> dict[str, nn.Parameter]:
        """The parameters that the optimiser changes, by name."""
        ...

    def loss(self, step: int) -> Loss:
        """The loss that update number ``step`` (from 0) goes down."""
        ...

    def evaluate(self, step: int) -> Row:
        """Measurements after ``step`` updates; leaves no trace in the run."""
        ...

    def fields(self) -> pa.Table | None:
        """What an evaluation keeps beside its row, if anything; the store calls it the run's fields."""
        ...


class PairProblem:
    """Sequence-to-sequence training on a synthetic task: mean negative log-likelihood of all output words.

    A mirrored read-out begins otherwise, a warm start draws other sequences, an alignment loss adds to it
    (`attnlab.families.copying.remedies`).
    """

    def __init__(self, spec: RunSpec, device: torch.device | str = "cpu") -> None:
        assert isinstance(spec.task, CopyingSpec | OwnTaskSpec)
        assert isinstance(spec.model, Seq2SeqSpec)
        assert spec.batch is not None
        self.spec, self.device = spec, device
        self.batch, self.dropout = spec.batch, spec.model.dropout
        self.task = spec.task.build()
        words = self.task.vocabulary
        self.model: Seq2Seq = begin(spec, spec.model.build(words, words, spec.init_seed)).to(device)
        self._trained = choose_trained(self.model, self.model.attention.score_parameters(), spec.train)
        self._alignment_loss = make_alignment_loss(spec, device)

    def trained_parameters(self) -> dict[str, nn.Parameter]:
        return self._trained

    def loss(self, step: int) -> Tensor:
        batch = self._batch(task_at(self.spec, self.task, step), self.batch, "training", step)
        self.model.train()
        dropout = torch_generator(self.spec.data_seed, "dropout", step) if self.dropout else None
        prediction = self._predict(batch, probe=False, generator=dropout)
        loss = functional.nll_loss(prediction.log_probabilities.flatten(0, 1), batch.target.flatten())
        return loss if self._alignment_loss is None else loss + self._alignment_loss(prediction.attention, batch)

    @torch.no_grad()
    def evaluate(self, step: int) -> Row:
        batch = self._batch(self.task, self.spec.evaluation_batch, "evaluation", step)
        self.model.eval()
        return pair_metrics(self._predict(batch, probe=True), batch)

    def fields(self) -> None:
        """Nothing."""

    def _batch(self, task: PairTask, count: int, purpose: str, step: int) -> PairBatch:
        return task.batch(count, numpy_generator(self.spec.data_seed, purpose, step)).to(self.device)

    def _predict(self, batch: PairBatch, *, probe: bool, generator: torch.Generator | None = None) -> Prediction:
        prediction: Prediction = self.model(
            batch.source, batch.previous, targets=batch.target if probe else None, generator=generator
        )
        return prediction


def build_problem(spec: RunSpec, device: torch.device | str = "cpu") -> Problem:
    """The problem that ``spec`` describes."""
    if isinstance(spec.task, CopyingSpec | OwnTaskSpec):
        proxy = isinstance(spec.model, PairProxySpec)
        return PairProxyProblem(spec, device) if proxy else PairProblem(spec, device)
    if isinstance(spec.task, KeywordSpec):
        return KeywordProblem(spec, device)
    if isinstance(spec.task, TopicsSpec):
        return TopicProblem(spec, device)
    if isinstance(spec.task, SstSpec):
        return SstProblem(spec, device)
    return ProxyProblem(spec, device) if isinstance(spec.model, ProxySpec) else ClassifierProblem(spec, device)

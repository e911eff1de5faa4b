"""Sequence-to-sequence runs brought to life."""

import pyarrow as pa
import torch
from torch import Tensor
from torch.nn import functional

from attnlab.data.batch import PairBatch, PairTask
from attnlab.errors import UsageError
from attnlab.families.base import BaseProblem, watched_table
from attnlab.families.copying.mean_states import mean_state_metrics
from attnlab.families.copying.metrics import pair_metrics
from attnlab.families.copying.remedies import before_update, begin, make_alignment_loss, task_at
from attnlab.families.copying.spec import CopyingSpec, OffPositionSpec, OwnTaskSpec, Seq2SeqSpec
from attnlab.families.copying.task import CopyingTask
from attnlab.models.deception import hidden_mass_penalty
from attnlab.models.seq2seq import Prediction, Seq2Seq
from attnlab.models.trained import choose_trained
from attnlab.protocols import Optimiser, Row, RunSettings
from attnlab.seeds import numpy_generator, torch_generator


class PairProblem(BaseProblem):
    """Sequence-to-sequence training on a synthetic task: mean negative log-likelihood of all output words.

    What a remedy changes of that is in `attnlab.families.copying.remedies`.
    """

    def __init__(self, spec: RunSettings, device: str = "cpu") -> None:
        assert isinstance(spec.task, CopyingSpec | OwnTaskSpec)
        assert isinstance(spec.model, Seq2SeqSpec)
        assert spec.batch is not None
        super().__init__(spec, device)
        self.batch, self.dropout, self.task = spec.batch, spec.model.dropout, spec.task.build()
        words = self.task.vocabulary
        self.model: Seq2Seq = begin(spec, spec.model.build(words, words, spec.init_seed)).to(device)
        choose_trained(self.model, self.model.attention.score_parameters(), spec.train)
        self._alignment_loss = make_alignment_loss(spec, device)

    def before_update(self, step: int, optimiser: Optimiser) -> None:
        before_update(self.spec, step, self.model, optimiser)

    def loss(self, step: int) -> Tensor:
        batch = self._batch(task_at(self.spec, self.task, step), self.batch, "training", step)
        self.model.train()
        dropout = torch_generator(self.spec.data_seed, "dropout", step) if self.dropout else None
        prediction: Prediction = self.model(batch.source, batch.previous, generator=dropout)
        loss = functional.nll_loss(prediction.log_probabilities.flatten(0, 1), batch.target.flatten())
        if isinstance(self.spec.deception, OffPositionSpec):
            return loss + self.spec.deception.weight * _penalty(prediction, batch, self.spec.deception.floor)
        return loss if self._alignment_loss is None else loss + self._alignment_loss(prediction.attention, batch)

    @torch.no_grad()
    def evaluate(self, step: int) -> Row:
        batch = self._batch(self.task, self.spec.evaluation_batch, "evaluation", step)
        self.model.eval()
        row = pair_metrics(self.model(batch.source, batch.previous, targets=batch.target), batch)
        if isinstance(self.task, CopyingTask):
            rng = numpy_generator(self.spec.data_seed, "mean states", step)
            row |= mean_state_metrics(self.model, self.task, batch.source, rng)
        return row

    @torch.no_grad()
    def watched(self, example: tuple[str, ...]) -> pa.Table:
        """Of one sequence, the same for all runs on a task; numbers are words."""
        if example:
            raise UsageError("A run on copying draws the sequence that is watched by itself; watch=() is right.")
        batch = self.task.batch(1, numpy_generator(0, "watched", 0)).to(self.device)
        self.model.eval()
        prediction = self.model(batch.source, batch.previous, targets=batch.target)
        source, target, said = (
            [self._name(word) for word in words[0].tolist()]
            for words in (batch.source, batch.target, prediction.log_probabilities.argmax(-1))
        )
        return watched_table(source, target, said, prediction.alpha[0], prediction.lexical[0].exp())

    def _name(self, word: int) -> str:
        return "end" if word == self.task.vocabulary - 1 else str(word + 1)

    def _batch(self, task: PairTask, count: int, purpose: str, step: int) -> PairBatch:
        return task.batch(count, numpy_generator(self.spec.data_seed, purpose, step)).to(self.device)


def _penalty(prediction: Prediction, batch: PairBatch, floor: float) -> Tensor:
    """Mean over output words of -log(1 - alpha at the right position)."""
    assert batch.position is not None  # copying knows it
    at = batch.position.expand(prediction.alpha.shape[:2]).unsqueeze(-1)
    return hidden_mass_penalty(prediction.alpha.gather(-1, at), floor).mean()

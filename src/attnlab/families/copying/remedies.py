"""What a run does against a start that would fail.

All of it is a function of seeds and step alone, as a run's batches are, so a run with a remedy resumes as exactly as
one without. A mirrored read-out changes the start, a warm start and an alignment loss what is gone down, a warm-up and
fresh attention the state between two updates.
"""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from attnlab.data.batch import PairBatch, PairTask
from attnlab.families.copying import spec as specs
from attnlab.models.seq2seq import Seq2Seq
from attnlab.protocols import Optimiser, RunSettings
from attnlab.seeds import numpy_generator

# --- the start


def begin(spec: RunSettings, model: Seq2Seq) -> Seq2Seq:
    """The network as it is before the first update, given as it was drawn."""
    if isinstance(spec.remedy, specs.MirroredReadoutSpec):
        model.readout.mirror()
    return model


# --- what is gone down


def task_at(spec: RunSettings, task: PairTask, step: int) -> PairTask:
    """What update number ``step`` sees: ``task``, that of the spec, unless a warm start says otherwise."""
    remedy = spec.remedy
    if isinstance(remedy, specs.WarmStartSpec) and step < remedy.updates:
        assert isinstance(spec.task, specs.CopyingSpec)
        return spec.task.on(remedy.distribution)
    return task


@dataclass(frozen=True, eq=False)
class AlignmentLoss:
    """``weight`` times the cross-entropy of attention to alpha_ibm (P3 equation 16) by ``table``.

    ``table``: Trans(o|i) of IBM Model 1, (words, words).
    """

    table: Tensor
    weight: float

    def __call__(self, attention: Tensor, batch: PairBatch) -> Tensor:
        """Mean over output words and heads of -sum_l alpha_ibm[t, l] log alpha[t, l].

        ``attention``: (batch, heads, target, source). An output word that no input word explains has no part in it.
        """
        # Trans(y_t | x_l): (batch, target, source)
        beta = self.table[batch.source[:, None, :], batch.target[:, :, None]]
        tiny = torch.finfo(beta.dtype).tiny
        alignment = beta / beta.sum(-1, keepdim=True).clamp_min(tiny)
        return -self.weight * (alignment[:, None] * attention.clamp_min(tiny).log()).sum(-1).mean()


def make_alignment_loss(spec: RunSettings, device: str) -> AlignmentLoss | None:
    """The alignment loss of the spec, if it has one: IBM Model 1 is trained on its sample."""
    remedy = spec.remedy
    if not isinstance(remedy, specs.AlignmentLossSpec):
        return None
    from attnlab.data.sentence_pairs import SentencePairs  # runs without this loss are spared the loading
    from attnlab.theory.ibm1 import train_ibm1

    assert isinstance(spec.task, specs.CopyingSpec)
    task = spec.task.build() if remedy.distribution is None else spec.task.on(remedy.distribution)
    sample = task.batch(remedy.pairs, numpy_generator(spec.data_seed, "alignment"))
    pairs = SentencePairs.from_ids(sample.source.numpy(), sample.target.numpy(), task.vocabulary)
    table = train_ibm1(pairs, iterations=remedy.iterations).table.dense()
    return AlignmentLoss(torch.from_numpy(table).float().to(device), remedy.weight)


# --- what changes between updates


def before_update(spec: RunSettings, step: int, model: nn.Module, optimiser: Optimiser) -> None:
    """What the spec's remedy does before update number ``step``.

    A checkpoint of ``step`` holds what was there before it, so a run that goes on from there does it again.
    """
    remedy = spec.remedy
    if isinstance(remedy, specs.WarmUpSpec):
        assert isinstance(optimiser, torch.optim.Adam)
        for group in optimiser.param_groups:
            group["lr"] = spec.optimiser.learning_rate * min(1.0, (step + 1) / remedy.updates)
    elif isinstance(remedy, specs.FreshAttentionSpec) and step == remedy.step:
        _renew(remedy.seed, spec, model, optimiser)


@torch.no_grad()
def _renew(seed: int, spec: RunSettings, model: nn.Module, optimiser: Optimiser) -> None:
    assert isinstance(spec.model, specs.Seq2SeqSpec)
    assert isinstance(model, Seq2Seq)
    words = len(model.source_embedding)
    fresh = spec.model.model_copy(update={"head_seeds": None}).build(words, words, seed)
    for old, new in zip(model.attention.score_parameters(), fresh.attention.score_parameters(), strict=True):
        old.copy_(new)
        optimiser.state.pop(old, None)

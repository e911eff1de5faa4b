"""View: how a probe reads a model, ours or anybody's.

A view is one function. It reads a batch with the model and returns what the probes ask about:

    def view(model, batch, gates=None):
        x = model.embedding(batch.tokens)           # (batch, source, size)
        if gates is not None:
            x = x * gates[:, :, None]               # where the gates go: one multiplier for each input position
        logits, alpha = model.rest(x, batch.inside)
        return Seen(logits.log_softmax(-1), alpha)

Models that predict words one at a time, or have several heads and layers, need no other protocol: see `Seen`.
"""

from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import torch
from torch import Tensor, nn

from attnlab.data.batch import PairBatch, TextBatch
from attnlab.errors import UsageError
from attnlab.models.classifier import Classifier
from attnlab.models.seq2seq import Seq2Seq
from attnlab.models.translator import Translator


@dataclass(frozen=True)
class Seen:
    """What a model says about a batch and how it came to that. What a model does not have is None.

    ``log_probabilities``: (batch, classes), or (batch, target, words) of a model that predicts words one at a time.

    ``alpha``: attention, (batch, source), or with more dimensions in between, each combination of which is one row of
    the field: (batch, heads, source), (batch, layers, heads, source); where there are output words they come last,
    (batch, target, source) or (batch, heads, target, source). Values after an input's end are ignored.

    ``lexical``: the lexical probe (P3 2.2), (batch, source) or (batch, target, source). How the model would rate the
    right output if it attended to that position alone: the log-odds gamma = log(beta / (1 - beta)), or log beta.
    """

    log_probabilities: Tensor
    alpha: Tensor | None = None
    lexical: Tensor | None = None


@runtime_checkable
class Batch(Protocol):
    """What a probe knows of a batch; how a view reads it is between the view and the batch.

    Of labelled texts (`attnlab.data.batch.Bags`) a probe makes `attnlab.data.batch.TextBatch`, which has
    ``tokens`` (batch, source) and ``lengths`` (batch,) too. A `PairBatch`, or a batch of your own, is read as it is.
    """

    @property
    def inside(self) -> Tensor:
        """Which input positions are there: boolean (batch, source)."""
        ...

    @property
    def labels(self) -> Tensor:
        """What is right: classes (batch,) or output words (batch, target), there -1 after an output's end."""
        ...

    def to(self, device: torch.device | str) -> "Batch":
        """The same batch on another device."""
        ...


class View(Protocol):
    """How to read a model."""

    def __call__(self, model: Any, batch: Any, gates: Tensor | None = None) -> Seen:
        """Read ``batch`` with ``model``, which is in evaluation mode and on the batch's device.

        ``gates`` (batch, source): what the vector of each input position is multiplied by where the model first has
        one; all 1 if None. Influence is the derivative to them.
        """
        ...


def classifier_view(model: Classifier, batch: TextBatch, gates: Tensor | None = None) -> Seen:
    """The view of our own attention classifier; the lexical probe is in log-odds."""
    if not isinstance(batch, TextBatch):
        raise UsageError(f"Our Classifier reads labelled texts (attnlab.data.batch.Bags), not {_kind(batch)}.")
    seen = model(batch.tokens, batch.lengths, labels=batch.labels, gates=gates)
    return Seen(seen.log_probabilities, seen.alpha, seen.gamma)


def seq2seq_view(model: Seq2Seq | Translator, batch: PairBatch, gates: Tensor | None = None) -> Seen:
    """The view of our own sequence-to-sequence networks; the lexical probe is log beta."""
    if not isinstance(batch, PairBatch):
        raise UsageError(f"Our {type(model).__name__} reads pairs (attnlab.data.batch.PairBatch), not {_kind(batch)}.")
    seen = model(
        batch.source,
        batch.previous,
        source_lengths=batch.source_lengths,
        target_lengths=batch.target_lengths,
        targets=batch.target,
        gates=gates,
    )
    return Seen(seen.log_probabilities, seen.alpha, seen.lexical)


def view_of(model: nn.Module, view: View | None = None) -> View:
    """The ``view`` given, or the one of our own network that ``model`` is."""
    if not isinstance(model, nn.Module):
        raise UsageError(f"A model to read is a torch.nn.Module, not {_kind(model)}.")
    if view is None:
        if isinstance(model, Classifier):
            return classifier_view
        if isinstance(model, Seq2Seq | Translator):
            return seq2seq_view
        raise UsageError(
            f"How to read a {type(model).__name__} is for you to say: give a view, a function of model, batch and "
            "gates that returns attnlab.probes.view.Seen."
        )
    if not callable(view):
        raise UsageError(f"A view is a function of model, batch and gates, not {_kind(view)}.")
    return view


def see(view: View, model: nn.Module, batch: Batch, gates: Tensor | None = None) -> Seen:
    """Read a batch through ``view`` and refuse what does not fit the batch."""
    seen = view(model, batch, gates)
    if not isinstance(seen, Seen):
        raise UsageError(f"A view returns attnlab.probes.view.Seen, not {_kind(seen)}.")
    labels, (size, source) = batch.labels, batch.inside.shape
    shape = tuple(seen.log_probabilities.shape)
    if shape[:-1] != tuple(labels.shape) or shape[-1] < 2:
        wanted = ", ".join(map(str, labels.shape))
        raise UsageError(f"The view's log_probabilities are {shape}; ({wanted}, 2 classes or more) is right.")
    for name in ("alpha", "lexical"):
        scores = getattr(seen, name)
        if scores is None:
            continue
        words = tuple(labels.shape[1:])  # (target,) where there are output words
        ends = (*words, source)
        if scores.ndim < 2 or scores.shape[0] != size or tuple(scores.shape[-len(ends) :]) != ends:
            wanted = ", ".join(map(str, ends))
            raise UsageError(f"The view's {name} is {tuple(scores.shape)}; ({size}, {wanted}) is right for this batch.")
    check_labels(labels, shape[-1])
    return seen


def check_labels(labels: Tensor, classes: int) -> None:
    """Refuse labels that a model of so many classes cannot say."""
    if labels.ndim == 2:
        labels = labels[labels >= 0]  # -1: no output word
    if not labels.numel():
        return
    smallest, largest = (int(bound) for bound in labels.aminmax())
    if smallest < 0 or largest >= classes:
        raise UsageError(
            f"The texts' labels go from {smallest} to {largest}; from 0 to {classes - 1} is right for a "
            f"classifier of {classes} classes."
        )


def _kind(thing: object) -> str:
    """What a thing of the wrong type is, such as ``a str``."""
    return "None" if thing is None else f"a {type(thing).__name__}"

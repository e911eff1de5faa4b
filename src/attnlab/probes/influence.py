"""Influence: how much the right class's log-probability hangs on each word (P3 5.1).

    delta_l = - d NLL / d g_l   at g = 1,   where the text is read with embeddings g_l e_{x_l}

Positive: more of the word makes the right class more probable. (The released classification code negates it twice.)
"""

import torch
from torch import Tensor, nn

from attnlab.data.batch import POSITIONS, Bags
from attnlab.errors import UsageError
from attnlab.fields import ScoreField
from attnlab.probes.reading import Gathered, batches_of, frozen, gates_of, prepared
from attnlab.probes.texts import GatheredTexts, TextFields
from attnlab.probes.view import Batch, Seen, View, see


def influence(
    model: nn.Module, texts: Bags | Batch, view: View | None = None, *, positions: int = POSITIONS
) -> ScoreField:
    """delta of every position: a row for each text, or for each output word of it.

    ``view`` says how to read ``model``, and where the gates go; our own networks need none. About ``positions`` are
    read at a time. A text is read forward once, and back once for each of its output words.

    >>> from attnlab.models.classifier import Classifier
    >>> texts = Bags(torch.tensor([1, 2, 3, 4, 5]), torch.tensor([0, 3, 5]), torch.tensor([0, 1]))
    >>> influence(Classifier(6, embedding_size=4, hidden=3), texts).lengths.tolist()
    [3, 2]
    """
    view, delta = prepared(model, texts, view), Gathered()
    with frozen(model):
        for rows, batch in batches_of(model, texts, positions):
            gates = gates_of(model, batch)
            delta.add(_delta(see(view, model, batch, gates), batch, gates), rows, batch)
    return delta.field()


def text_influence(
    model: nn.Module, texts: Bags, view: View | None = None, *, positions: int = POSITIONS
) -> tuple[TextFields, ScoreField]:
    """Attention, lexical probe and prediction, as of `attnlab.probes.texts.text_fields`, and delta beside them.

    A text is read once, forward and back, for all of it.
    """
    view, gathered, delta = prepared(model, texts, view), GatheredTexts(), Gathered()
    with frozen(model):
        for rows, batch in batches_of(model, texts, positions):
            gates = gates_of(model, batch)
            seen = see(view, model, batch, gates)
            delta.add(_delta(seen, batch, gates), rows, batch)
            gathered.add(seen, rows, batch)
    return gathered.fields(texts.labels), delta.field()


def _delta(seen: Seen, batch: Batch, gates: Tensor) -> Tensor:
    """delta (batch, source), or (batch, target, source) where there are output words."""
    labels = batch.labels.clamp(min=0)  # at -1, where no output word is, anything will do
    right = seen.log_probabilities.gather(-1, labels.unsqueeze(-1)).squeeze(-1)  # (batch,) or (batch, target)
    if right.ndim == 1:
        return _gradient(right, gates)
    *others, last = right.unbind(1)
    return torch.stack([*(_gradient(word, gates, keep=True) for word in others), _gradient(last, gates)], 1)


def _gradient(right: Tensor, gates: Tensor, *, keep: bool = False) -> Tensor:
    """Of each text's ``right`` (batch,) to its own ``gates`` (batch, source): the texts do not see each other.

    ``keep``: what backward passes need is kept for another one.
    """
    gradient = None
    if right.requires_grad:
        (gradient,) = torch.autograd.grad(right.sum(), gates, retain_graph=keep, allow_unused=True)
    if gradient is None:
        raise UsageError(
            "The view's log_probabilities do not depend on the gates: multiply the vector of each input position by "
            "its gate, with gradients enabled."
        )
    return gradient

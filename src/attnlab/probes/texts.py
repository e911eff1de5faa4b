"""Attention alpha and the lexical probe of many texts, of any model that has a view, in bounded memory."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from attnlab.data.batch import POSITIONS, Bags
from attnlab.errors import UsageError
from attnlab.fields import ScoreField
from attnlab.probes.reading import Gathered, batches_of, frozen, prepared
from attnlab.probes.view import Batch, Seen, View, see


def attention(
    model: nn.Module, texts: Bags | Batch, view: View | None = None, *, positions: int = POSITIONS
) -> ScoreField:
    """alpha: a row for each text, or for each head and output word of it (see `attnlab.probes.view.Seen`).

    ``view`` says how to read ``model``; our own networks need none. About ``positions`` are read at a time.

    >>> from attnlab.models.classifier import Classifier
    >>> texts = Bags(torch.tensor([1, 2, 3, 4, 5]), torch.tensor([0, 3, 5]), torch.tensor([0, 1]))
    >>> alpha = attention(Classifier(6, embedding_size=4, hidden=3), texts)
    >>> alpha.lengths.tolist(), float(alpha.row(0).sum().round(6))
    ([3, 2], 1.0)
    """
    return _one_field(model, texts, view, positions, "alpha")


def lexical(
    model: nn.Module, texts: Bags | Batch, view: View | None = None, *, positions: int = POSITIONS
) -> ScoreField:
    """The lexical probe (P3 2.2, 2.4): how the model would rate the right class if it attended to a position alone.

    For our classifier the log-odds gamma = log(beta / (1 - beta)), for our sequence-to-sequence network log beta.

    >>> from attnlab.models.classifier import Classifier
    >>> texts = Bags(torch.tensor([1, 2, 3, 4, 5]), torch.tensor([0, 3, 5]), torch.tensor([0, 1]))
    >>> lexical(Classifier(6, embedding_size=4, hidden=3), texts).lengths.tolist()
    [3, 2]
    """
    return _one_field(model, texts, view, positions, "lexical")


@dataclass(frozen=True, eq=False)
class TextFields:
    """``alpha`` and ``gamma`` of every text; ``log_probabilities`` (texts, classes) and the right ones' negative mean,
    ``loss``; ``accuracy``.
    """

    alpha: ScoreField
    gamma: ScoreField
    log_probabilities: NDArray[np.float64]
    loss: float
    accuracy: float


class GatheredTexts:
    """`TextFields` as they are gathered, batch by batch."""

    def __init__(self) -> None:
        self._alpha, self._gamma = Gathered(), Gathered()
        self._rows: list[Tensor] = []
        self._log_probabilities: list[Tensor] = []

    def add(self, seen: Seen, rows: Tensor, batch: Batch) -> None:
        """What was seen of the texts ``rows`` (batch,)."""
        self._alpha.add(part(seen, "alpha"), rows, batch)
        self._gamma.add(part(seen, "lexical"), rows, batch)
        self._rows.append(rows)
        self._log_probabilities.append(seen.log_probabilities.detach().cpu())

    def fields(self, labels: Tensor) -> TextFields:
        """All of it, for the right classes ``labels`` (texts,)."""
        log_probabilities = torch.cat(self._log_probabilities)[torch.cat(self._rows).argsort()].double()
        return TextFields(
            self._alpha.field(),
            self._gamma.field(),
            log_probabilities.numpy(),
            loss=-float(log_probabilities.gather(1, labels[:, None]).mean()),
            accuracy=float((log_probabilities.argmax(1) == labels).double().mean()),
        )


def text_fields(model: nn.Module, texts: Bags, view: View | None = None, *, positions: int = POSITIONS) -> TextFields:
    """Attention, lexical probe and prediction of every text."""
    view, gathered = prepared(model, texts, view), GatheredTexts()
    with frozen(model), torch.no_grad():
        for rows, batch in batches_of(model, texts, positions):
            gathered.add(see(view, model, batch), rows, batch)
    return gathered.fields(texts.labels)


def part(seen: Seen, name: Literal["alpha", "lexical"]) -> Tensor:
    """What was seen under this name; a model that does not have it is a UsageError."""
    scores: Tensor | None = getattr(seen, name)
    if scores is None:
        what = {"alpha": "attention", "lexical": "lexical probe, the read-out at one position alone"}[name]
        raise UsageError(f"This view gives no {what}: its Seen has {name}=None.")
    return scores


def _one_field(
    model: nn.Module, texts: Bags | Batch, view: View | None, positions: int, name: Literal["alpha", "lexical"]
) -> ScoreField:
    view, gathered = prepared(model, texts, view), Gathered()
    with frozen(model), torch.no_grad():
        for rows, batch in batches_of(model, texts, positions):
            gathered.add(part(see(view, model, batch), name), rows, batch)
    return gathered.field()

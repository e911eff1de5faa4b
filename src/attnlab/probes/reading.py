"""What all probes share: a model that is held still, batches read one after the other, scores put together."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from attnlab.data.batch import Bags, TextBatch, batches
from attnlab.errors import UsageError
from attnlab.fields import ScoreField
from attnlab.models.classifier import Classifier
from attnlab.probes.view import Batch, View, check_labels, view_of


def prepared(model: nn.Module, texts: Bags | Batch, view: View | None) -> View:
    """The view to read ``model`` with; refuses what cannot be read before anything is."""
    view = view_of(model, view)
    if not isinstance(texts, Bags | Batch):
        raise UsageError(
            "A probe reads labelled texts (attnlab.data.batch.Bags) or a batch that has inside, labels and to, not a "
            f"{type(texts).__name__}."
        )
    if not len(texts.labels):
        raise UsageError("There are no texts to read.")
    if isinstance(model, Classifier):
        check_labels(texts.labels, model.classes)  # of others it is known only once they have read a batch
    return view


def only_texts(texts: Bags | Batch, probe: str) -> None:
    """Refuse a batch where ``probe`` reads labelled texts alone."""
    if not isinstance(texts, Bags):
        raise UsageError(f"{probe} are of labelled texts (attnlab.data.batch.Bags), not of a {type(texts).__name__}.")


def text_batches(model: nn.Module, texts: Bags, positions: int) -> Iterator[tuple[Tensor, TextBatch]]:
    """Texts about ``positions`` at a time on the model's device; and which rows (batch,) of all texts these are."""
    device = _device(model)
    for batch in batches(texts, positions):
        yield batch.rows, batch.to(device)


def batches_of(model: nn.Module, texts: Bags | Batch, positions: int) -> Iterator[tuple[Tensor, Batch]]:
    """The same for texts or for a batch, which is read as it is."""
    if isinstance(texts, Bags):
        yield from text_batches(model, texts, positions)
    else:
        yield torch.arange(len(texts.labels)), texts.to(_device(model))


def gates_of(model: nn.Module, batch: Batch) -> Tensor:
    """Gates of 1 (batch, source) for `torch.autograd` to differentiate to, of the model's own precision."""
    floating = (parameter.dtype for parameter in model.parameters() if parameter.is_floating_point())
    ones = torch.ones(batch.inside.shape, dtype=next(floating, None), device=batch.inside.device)
    return ones.requires_grad_()


class Gathered:
    """Scores of batches in any order, put together as one field."""

    def __init__(self) -> None:
        self._values: list[Tensor] = []
        self._lengths: list[Tensor] = []
        self._texts: list[Tensor] = []

    def add(self, scores: Tensor, rows: Tensor, batch: Batch) -> None:
        """``scores`` (batch, ..., source) of the texts ``rows`` (batch,); padded output words are left out."""
        inside, labels = batch.inside.cpu(), batch.labels.cpu()
        there = torch.ones(scores.shape[:-1], dtype=torch.bool)
        if labels.ndim == 2:  # (batch, target), while there is (batch, ..., target)
            there &= (labels >= 0).view(len(labels), *[1] * (there.ndim - 2), -1)
        there = there.view(len(there), -1)  # (batch, rows of the field)
        values = scores.detach().cpu().reshape(*there.shape, -1)
        self._values.append(values[there[:, :, None] & inside[:, None, :]])
        count = there.sum(1)
        self._lengths.append(inside.sum(1).repeat_interleave(count))
        self._texts.append(rows.repeat_interleave(count))

    def field(self) -> ScoreField:
        """Text after text, and the rows of a text in their own order."""
        lengths, texts = torch.cat(self._lengths), torch.cat(self._texts)
        offsets = torch.cat([lengths.new_zeros(1), lengths.cumsum(0)])
        ordered = Bags(torch.cat(self._values), offsets, texts).select(texts.argsort(stable=True))
        return ScoreField(ordered.words.numpy(), ordered.offsets.numpy())


@contextmanager
def frozen(model: nn.Module) -> Iterator[None]:
    """In evaluation mode, with gradients enabled but none for the model's own parameters; afterwards as it was before,
    also after an error.
    """
    modes = [(module, module.training) for module in model.modules()]
    wanted = [(parameter, parameter.requires_grad) for parameter in model.parameters()]
    model.eval().requires_grad_(False)
    try:
        with torch.enable_grad():
            yield
    finally:
        for module, training in modes:
            module.training = training
        for parameter, requires_grad in wanted:
            parameter.requires_grad_(requires_grad)


def _device(model: nn.Module) -> torch.device:
    return next((parameter.device for parameter in model.parameters()), torch.device("cpu"))

"""What comes before anything is read out of a classifier: texts that it can read, and a model that is held still."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import nn

from attnlab.data.batch import Bags
from attnlab.errors import UsageError
from attnlab.models.classifier import Classifier


def check_texts(model: Classifier, texts: Bags) -> None:
    """Refuse to read nothing, or texts of classes that the model does not have."""
    if not len(texts):
        raise UsageError("There are no texts to read.")
    smallest, largest = (int(bound) for bound in texts.labels.aminmax())
    if smallest < 0 or largest >= model.classes:
        raise UsageError(
            f"The texts' labels go from {smallest} to {largest}; from 0 to {model.classes - 1} is right for a "
            f"classifier of {model.classes} classes."
        )


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

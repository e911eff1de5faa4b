"""Which of a model's parameters a run trains."""

from collections.abc import Collection

from torch import nn

from attnlab.errors import UsageError
from attnlab.protocols import Train


def choose_trained(
    model: nn.Module, attention: Collection[nn.Parameter], train: Train, frozen: Collection[nn.Parameter] = ()
) -> None:
    """Freeze what ``train`` leaves alone, ``attention`` being the attention's parameters, and all that is ``frozen``.

    What the model itself has frozen stays so. What is left to train requires a gradient.
    """
    ours, left_alone = ({id(parameter) for parameter in group} for group in (attention, frozen))
    for parameter in model.parameters():
        wanted = train == "all" or (id(parameter) in ours) == (train == "attention-only")
        if not wanted or id(parameter) in left_alone:
            parameter.requires_grad_(False)
    if not any(parameter.requires_grad for parameter in model.parameters()):
        raise UsageError(f"train = {train} leaves no parameter to train in this model.")

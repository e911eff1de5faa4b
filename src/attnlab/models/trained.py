"""Which of a model's parameters a run trains."""

from torch import nn

from attnlab.errors import UsageError
from attnlab.runs.spec import Train


def choose_trained(model: nn.Module, attention: list[nn.Parameter], train: Train) -> dict[str, nn.Parameter]:
    """Freeze what ``train`` leaves alone and return the rest by name."""
    ours = {id(parameter) for parameter in attention}
    chosen = {}
    for name, parameter in model.named_parameters():
        wanted = train == "all" or (id(parameter) in ours) == (train == "attention-only")
        parameter.requires_grad_(wanted)
        if wanted:
            chosen[name] = parameter
    if not chosen:
        raise UsageError(f"train = {train} leaves no parameter to train in this model.")
    return chosen

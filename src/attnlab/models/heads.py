"""A single head of a network, left alone in it (P3 5.2)."""

import copy

import torch
from torch import nn

from attnlab.errors import UsageError
from attnlab.models.seq2seq import Seq2Seq


@torch.no_grad()
def pruned(network: Seq2Seq, k: int, *, for_all: bool) -> Seq2Seq:
    """A copy of ``network`` with head ``k`` (from 0) alone; the weights of the others are gone.

    Its context is what the head contributed to the whole one, or, ``for_all``, so many times that as there were heads,
    as if all of them had been copies of this one.
    """
    weight, projection = _parameters(network, k)
    heads, mean = network.attention.heads, network.attention.combine == "mean"
    alone = copy.deepcopy(network)
    alone.attention.heads = 1
    alone.attention.weight = nn.ParameterList([nn.Parameter(weight.detach().clone())])
    if projection is not None:
        alone.attention.projection = nn.ParameterList([nn.Parameter(projection.detach().clone())])
    # One head's average is the head itself: it speaks for all already; one head's sum is what it contributed.
    factor = (1 if mean else heads) if for_all else (1 / heads if mean else 1)
    if factor != 1:
        if alone.readout.hidden is None:
            raise UsageError(f"Pruning needs a read-out with a hidden layer, tanh or relu, not {alone.readout.kind}.")
        alone.readout.hidden.weight[:, : alone.readout.context_size] *= factor
    return alone


def _parameters(network: Seq2Seq, k: int) -> tuple[nn.Parameter, nn.Parameter | None]:
    attention = network.attention
    if attention.weight is None:
        raise UsageError("Plain dot attention has no weights, so there is no head to leave alone.")
    if not 0 <= k < attention.heads:
        raise UsageError(f"The network has {attention.heads} heads, from 0 to {attention.heads - 1}; there is no {k}.")
    return attention.weight[k], None if attention.projection is None else attention.projection[k]

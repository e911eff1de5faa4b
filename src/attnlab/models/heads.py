"""Single heads of a network (P3 5.2): taken out, kept in a file, put into another network, left alone in their own."""

import copy
from dataclasses import dataclass
from pathlib import Path

import safetensors.torch
import torch
from safetensors import SafetensorError
from torch import Tensor, nn

from attnlab.errors import UsageError
from attnlab.models.seq2seq import Seq2Seq


@dataclass(frozen=True, eq=False)
class Head:
    """``weight`` W^(k): (query, state). ``projection`` P^(k): (context, state), where heads have one of their own."""

    weight: Tensor
    projection: Tensor | None = None


def head_of(network: Seq2Seq, k: int) -> Head:
    """A copy of head ``k`` (from 0).

    >>> head_of(Seq2Seq(12, 12, hidden=8, heads=2, seed=1), 1).weight.shape
    torch.Size([8, 8])
    """
    weight, projection = _parameters(network, k)
    return Head(weight.detach().clone(), None if projection is None else projection.detach().clone())


@torch.no_grad()
def place_head(network: Seq2Seq, k: int, head: Head) -> None:
    """Give head ``k`` (from 0) of ``network`` the values of ``head``; a head of another width is a UsageError."""
    weight, projection = _parameters(network, k)
    wanted, found = _widths(weight, projection), _widths(head.weight, head.projection)
    if wanted != found:
        raise UsageError(f"The head has {found}, but the network's heads have {wanted}.")
    weight.copy_(head.weight)
    if projection is not None and head.projection is not None:
        projection.copy_(head.projection)


def save_head(path: Path | str, head: Head) -> None:
    """Write a head as a safetensors file."""
    tensors = {"weight": head.weight} if head.projection is None else vars(head)
    Path(path).write_bytes(safetensors.torch.save({name: value.contiguous() for name, value in tensors.items()}))


def load_head(path: Path | str) -> Head:
    """The head that `save_head` wrote."""
    try:
        tensors = safetensors.torch.load(Path(path).read_bytes())
    except FileNotFoundError:
        raise UsageError(f"There is no file {path}.") from None
    except (OSError, SafetensorError):
        raise UsageError(f"{path} is no head: a safetensors file that save_head wrote is needed.") from None
    weight, projection = tensors.get("weight"), tensors.get("projection")
    matrices = all(tensor.dim() == 2 and tensor.is_floating_point() for tensor in tensors.values())
    if weight is None or set(tensors) - {"weight", "projection"} or not matrices:
        named = ", ".join(sorted(tensors)) or "nothing"
        raise UsageError(f"{path} is no head: it holds {named}; a matrix weight and at most a projection are right.")
    return Head(weight, projection)


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
        raise UsageError("Plain dot attention has no weights, so there is no head to take or to give.")
    if not 0 <= k < attention.heads:
        raise UsageError(f"The network has {attention.heads} heads, from 0 to {attention.heads - 1}; there is no {k}.")
    return attention.weight[k], None if attention.projection is None else attention.projection[k]


def _widths(weight: Tensor, projection: Tensor | None) -> str:
    told = f"a weight of {' x '.join(map(str, weight.shape))}"
    return told + (
        " and no projection" if projection is None else f" and a projection of {' x '.join(map(str, projection.shape))}"
    )

"""Dot attention with one head or K (P3 2.1, equations 1 and 2; P3 5.2)."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Literal

import torch
from torch import Tensor, nn

from attnlab.errors import UsageError
from attnlab.models.initial import uniform
from attnlab.models.products import linear

AttentionMode = Literal["learned", "uniform", "given"]
Score = Literal["bilinear", "dot"]
Combine = Literal["sum", "mean"]


@dataclass(frozen=True)
class Attended:
    """``context`` c_t: (batch, target, context). ``weights`` alpha^(k)_{t,l}: (batch, heads, target, source)."""

    context: Tensor
    weights: Tensor


class Attention(nn.Module):
    """alpha^(k)_{t,l} = softmax_l(s_t^T W^(k) h_l);  c_t = sum over heads of sum_l alpha^(k)_{t,l} h_l.

    ``score``: ``bilinear`` with W^(k), or plain ``dot`` s_t^T h_l (sizes must then agree, and one head is all there
    can be). ``score_bias``: (s_t^T W^(k) + b^(k)) h_l, as in the released copying code. ``projected``: each head
    projects the states it averages with a matrix of its own, to ``projected`` numbers (the released code); 0 means it
    averages the states themselves (the text). ``combine``: the heads' contexts are summed (text) or averaged (released
    multi-head code). ``mode``: weights ``learned``, ``uniform`` over the input, or ``given`` by the caller.

    Head k's starting values come from ``head_generators[k]``, so that single heads can be put together in new
    combinations (P3 5.2).
    """

    def __init__(
        self,
        query_size: int,
        state_size: int,
        *,
        heads: int = 1,
        score: Score = "bilinear",
        score_bias: bool = False,
        projected: int = 0,
        combine: Combine = "sum",
        mode: AttentionMode = "learned",
        head_generators: Sequence[torch.Generator] | None = None,
    ) -> None:
        super().__init__()
        if heads < 1:
            raise UsageError(f"Attention needs at least one head, not {heads}.")
        if score == "dot" and (query_size != state_size or heads > 1):
            raise UsageError(
                f"Plain dot attention needs one head and states of one size: {heads} heads, decoder {query_size}, "
                f"encoder {state_size}; use the bilinear score."
            )
        if head_generators is not None and len(head_generators) != heads:
            raise UsageError(f"{heads} heads need as many generators, not {len(head_generators)}.")
        self.heads, self.combine, self.mode = heads, combine, mode
        generators: Sequence[torch.Generator | None] = head_generators or [None] * heads
        self.weight: nn.ParameterList | None = None  # W^(k), each (query, state)
        self.projection: nn.ParameterList | None = None  # P^(k), each (projected, state)
        self.bias: nn.ParameterList | None = None  # b^(k), each (state,)
        if score == "bilinear":
            self.weight = nn.ParameterList(
                uniform(query_size, state_size, bound=1 / sqrt(query_size), generator=g) for g in generators
            )
        if projected:
            self.projection = nn.ParameterList(
                uniform(projected, state_size, bound=1 / sqrt(state_size), generator=g) for g in generators
            )
        if score_bias and score == "bilinear":  # drawn last: without it a head starts as it always did
            self.bias = nn.ParameterList(
                uniform(state_size, bound=1 / sqrt(query_size), generator=g) for g in generators
            )
        self.context_size = projected or state_size

    def score_parameters(self) -> list[nn.Parameter]:
        """What decides where to attend: the W^(k) and b^(k). A head's own projection belongs to what is read there."""
        return [parameter for parts in (self.weight, self.bias) if parts is not None for parameter in parts]

    def forward(
        self, queries: Tensor, states: Tensor, lengths: Tensor | None = None, *, given: Tensor | None = None
    ) -> Attended:
        """Attend from ``queries`` s_t (batch, target, query) to ``states`` h_l (batch, source, state).

        ``lengths``: (batch,) input lengths; positions after them get weight 0. ``given``: (batch, target, source) or
        (batch, heads, target, source), wanted exactly when the mode is ``given``.
        """
        weights = self._weights(queries, states, lengths, given)  # (batch, heads, target, source)
        scale = 1 / self.heads if self.combine == "mean" else 1.0
        if self.projection is None:
            # sum_k sum_l alpha^(k) h_l = sum_l (sum_k alpha^(k)) h_l: one product for all heads
            return Attended(torch.bmm(_added(weights, scale), states), weights)
        values = torch.einsum("bls,kcs->bklc", states, torch.stack(tuple(self.projection)))
        return Attended(torch.einsum("bktl,bklc->btc", weights, values) * scale, weights)

    def focused(self, states: Tensor) -> Tensor:
        """The context if every head attends to one position alone, for each position: (batch, source, context)."""
        scale = 1 / self.heads if self.combine == "mean" else 1.0
        if self.projection is None:
            return states * (scale * self.heads) if scale * self.heads != 1 else states
        return states @ (torch.stack(tuple(self.projection)).sum(0) * scale).T

    def _weights(self, queries: Tensor, states: Tensor, lengths: Tensor | None, given: Tensor | None) -> Tensor:
        batch, target, _ = queries.shape
        shape = (batch, self.heads, target, states.shape[1])
        if (given is not None) != (self.mode == "given"):
            raise UsageError(f"Attention weights are handed over exactly when the mode is given; it is {self.mode}.")
        if given is not None:
            given = given.unsqueeze(1) if given.dim() == 3 else given
            try:
                return given.to(states.dtype).expand(shape)
            except RuntimeError:
                raise UsageError(f"Given attention has shape {tuple(given.shape)}, not {shape}.") from None
        outside = None
        if lengths is not None:
            outside = padding(lengths, shape[-1]).to(states.device)[:, None, None, :]  # (batch, 1, 1, source)
        if self.mode == "uniform":
            inside = states.new_ones(batch, 1, 1, shape[-1])
            inside = inside if outside is None else inside.masked_fill(outside, 0)
            return (inside / inside.sum(-1, keepdim=True)).expand(shape)
        if self.weight is None:
            moved = queries
        else:
            moved = linear(queries, (self.weight[0] if self.heads == 1 else torch.cat(tuple(self.weight), dim=1)).t())
            if self.bias is not None:
                moved = moved + torch.cat(tuple(self.bias))
        logits = torch.bmm(
            moved.reshape(batch, target * self.heads, -1), states.transpose(1, 2)
        )  # (batch, target * heads, source)
        logits = logits.view(batch, target, self.heads, -1).transpose(1, 2)
        return (logits if outside is None else logits.masked_fill(outside, float("-inf"))).softmax(-1)


def padding(lengths: Tensor, longest: int) -> Tensor:
    """True at positions after a sequence's end: (batch, longest)."""
    return torch.arange(longest, device=lengths.device) >= lengths[:, None]


def _added(weights: Tensor, scale: float) -> Tensor:
    """sum_k alpha^(k), scaled: (batch, target, source)."""
    total = weights.squeeze(1) if weights.shape[1] == 1 else weights.sum(1)
    return total if scale == 1 else total * scale

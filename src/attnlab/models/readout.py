"""From context and decoder state to output words: the network N of P3 2.1 and its simpler relatives."""

from typing import Literal

import torch
from torch import Tensor, nn

from attnlab.errors import UsageError
from attnlab.models import initial
from attnlab.models.products import WideLinear, linear

ReadoutKind = Literal["tanh", "relu", "linear", "context"]

PAIR_ELEMENTS = 1 << 22
"""How many numbers the widest table of ``Readout.pairs`` may hold at once (16 MB of float32)."""


class Readout(nn.Module):
    """Logits over output words from [c_t, s_t].

    ``tanh`` and ``relu``: one hidden layer, W2 f(W1 [c_t, s_t] + b1) + b2 (P3 2.1). ``linear``: W (c_t + s_t) (P3 A.1).
    ``context``: W c_t, the slides' simplified model, in which the outputs are exactly the attention-weighted sum of the
    relevances r_l = W h_l.
    """

    def __init__(
        self,
        kind: ReadoutKind,
        context_size: int,
        state_size: int,
        words: int,
        *,
        hidden: int,
        generator: torch.Generator | None,
    ) -> None:
        super().__init__()
        if kind == "linear" and context_size != state_size:
            raise UsageError(
                f"The linear read-out adds context and decoder state, so their sizes agree: {context_size} and "
                f"{state_size}; project the context."
            )
        self.kind, self.context_size = kind, context_size
        deep = kind in ("tanh", "relu")
        self.hidden = (
            initial.linear(context_size + state_size, hidden, generator=generator, kind=WideLinear) if deep else None
        )
        self.output = initial.linear(
            hidden if deep else context_size, words, bias=deep, generator=generator, kind=WideLinear
        )

    def forward(self, context: Tensor, state: Tensor) -> Tensor:
        """Logits (..., words) for ``context`` (..., context) and ``state`` (..., state)."""
        return self._finish(self._context_part(context), self._state_part(state))

    def features(self, context: Tensor, state: Tensor) -> Tensor:
        """What the output layer reads (..., features); `forward` without that layer."""
        return self._mixed(self._context_part(context), self._state_part(state))

    def pairs(self, contexts: Tensor, states: Tensor, target: Tensor) -> Tensor:
        """log p(y_t) when the context is that of input position l, for every pair: (batch, target, source).

        ``contexts``: (batch, source, context). ``states``: (batch, target, state). ``target``: (batch, target).
        Examples are taken in blocks, so that the table of pairs stays small.
        """
        from_context = self._context_part(contexts).unsqueeze(1)  # (batch, 1, source, features)
        from_state = self._state_part(states).unsqueeze(2)  # (batch, target, 1, features)
        batch, source, outputs = contexts.shape[0], contexts.shape[1], states.shape[1]
        widest = max(self.output.in_features, self.output.out_features)
        block = max(1, PAIR_ELEMENTS // (source * outputs * widest))
        table = []
        for first in range(0, batch, block):
            rows = slice(first, first + block)
            logits = self._finish(from_context[rows], from_state[rows])  # (block, target, source, words)
            chosen = target[rows, :, None, None].expand(-1, -1, source, 1)
            table.append((logits.gather(-1, chosen) - logits.logsumexp(-1, keepdim=True)).squeeze(-1))
        return torch.cat(table)

    @torch.no_grad()
    def mirror(self) -> None:
        """Turn the sign of the weights on the context, in place: what spoke for a word speaks against it."""
        if self.kind == "linear":
            raise UsageError("The linear read-out has no weights of its own for the context, so it cannot be mirrored.")
        weights = self.output.weight if self.hidden is None else self.hidden.weight[:, : self.context_size]
        weights.neg_()

    def _context_part(self, context: Tensor) -> Tensor:
        if self.hidden is None:
            return context
        return linear(context, self.hidden.weight[:, : self.context_size])

    def _state_part(self, state: Tensor) -> Tensor:
        if self.hidden is not None:
            return linear(state, self.hidden.weight[:, self.context_size :], self.hidden.bias)
        return state if self.kind == "linear" else state.new_zeros(*state.shape[:-1], 1)

    def _mixed(self, from_context: Tensor, from_state: Tensor) -> Tensor:
        mixed = from_context + from_state
        if self.hidden is not None:
            mixed = mixed.tanh_() if self.kind == "tanh" else mixed.relu_()
        return mixed

    def _finish(self, from_context: Tensor, from_state: Tensor) -> Tensor:
        logits: Tensor = self.output(self._mixed(from_context, from_state))
        return logits

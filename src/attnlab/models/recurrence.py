"""The recurrences of LSTM and GRU on CPU: one layer, one direction, forward and backward by hand.

Both work on *packed* sequences (see `Packing`): rows stand step by step, longest sequences first, so that step ``t`` is
a contiguous block whose sequences are the first ones of the block before. Padding has no row and costs nothing.

What makes them fast is that little leaves the cache and nothing is done twice. All buffers are allocated once a call
and every operation writes into its place in them. The input's share of the gates comes in already computed and is
overwritten by the gates. The backward pass makes one product a step (the gradient of the state before) and leaves the
weights' gradient to one large product at the end. Every step costs the same, so the cost is linear in the length.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable

# Derivatives through an activation's own value y, written into a given place:
# gradient * y * (1 - y) for the sigmoid, gradient * (1 - y ** 2) for tanh.
sigmoid_backward = torch.ops.aten.sigmoid_backward.grad_input
tanh_backward = torch.ops.aten.tanh_backward.grad_input


@dataclass(frozen=True)
class Packing:
    """Where the positions of a padded batch stand once packed.

    A row is one valid position; ``rows`` is their number, the sum of the lengths. Blocks of states have the initial
    states before the first step: ``(batch + rows, hidden)``.
    """

    batch: int
    length: int
    sizes: list[int]
    """How many sequences each step has, never growing."""
    order: Tensor
    """(batch,) The sequences from longest to shortest."""
    positions: Tensor
    """(rows,) Each row's place in the padded batch flattened to ``batch * length``."""
    mirror: Tensor
    """(rows,) The row of the same sequence as far from its end as this one from its beginning: its own inverse."""
    before: Tensor
    """(rows,) Where the block of states has the state before each row's."""
    last: Tensor
    """(batch,) Where the block of states has the last state of each sequence, longest first."""

    @property
    def equal(self) -> bool:
        """Whether all sequences have one length."""
        return self.sizes[-1] == self.batch

    @property
    def full(self) -> bool:
        """Whether there is no padding, so that packing is a transposition."""
        return self.equal and len(self.sizes) == self.length

    @staticmethod
    def of(lengths: Tensor, length: int) -> "Packing":
        """Pack sequences of these ``lengths`` (batch,), padded to ``length``."""
        batch, device = len(lengths), lengths.device
        sorted_lengths, order = lengths.sort(descending=True, stable=True)
        steps = torch.arange(int(sorted_lengths[0]), device=device)
        sizes = (sorted_lengths > steps[:, None]).sum(1)
        starts = sizes.cumsum(0) - sizes  # a step's first row
        step = steps.repeat_interleave(sizes)  # each row's step
        member = torch.arange(len(step), device=device) - starts[step]  # and its sequence, counted from the longest
        starts_of_states = torch.cat([starts.new_zeros(1), batch + starts])
        return Packing(
            batch=batch,
            length=length,
            sizes=sizes.tolist(),
            order=order,
            positions=order[member] * length + step,
            mirror=starts[sorted_lengths[member] - 1 - step] + member,
            before=starts_of_states[step] + member,
            last=starts_of_states[sorted_lengths] + torch.arange(batch, device=device),
        )


def _states(initial: Tensor | None, rows: Tensor, packing: Packing) -> Tensor:
    """An empty block of states (batch + rows, hidden) like ``rows`` that begins with the initial ones or zeros."""
    hidden = rows.new_empty(packing.batch + len(rows), rows.shape[1])
    hidden[: packing.batch] = 0.0 if initial is None else initial
    return hidden


def _steps(rows: Tensor, packing: Packing) -> tuple[Tensor, ...]:
    """For each step, its block (sequences, ...) of ``rows``."""
    return torch.split(rows, packing.sizes)


def _before(states: Tensor, packing: Packing) -> list[Tensor]:
    """For each step, the states (sequences, hidden) of its sequences one step before."""
    blocks = torch.split(states, [packing.batch, *packing.sizes])
    return [block[:size] for block, size in zip(blocks, packing.sizes, strict=False)]


def _weight_gradient(gates: Tensor, hiddens: Tensor, packing: Packing, *, skip: int) -> Tensor:
    """The recurrent weights' gradient (gates, hidden) from that of all rows' gates, less the first ``skip``."""
    rows = len(gates)
    before = hiddens[skip:rows] if packing.equal else hiddens.index_select(0, packing.before[skip:])
    return (before.t() @ gates[skip:]).t()  # faster than gates.t() @ before


class LSTMRecurrence(Function):
    """The LSTM's recurrence, gates in the order i, f, g, o:

    c = f * c_before + i * g,  h = o * tanh(c),  where i, f, o = sigmoid(projected + W h_before), g = tanh(likewise).

    ``projected`` (rows, 4 * hidden): the input's share of the gates with both biases; it is overwritten.
    ``hidden``, ``cell`` (batch, hidden): the initial states, longest sequence first, or both None for zeros.
    ``weight`` (4 * hidden, hidden). Returns all hidden states (rows, hidden) and the last hidden and cell states of the
    sequences (batch, hidden), longest first.
    """

    @staticmethod
    def forward(
        ctx: Any, projected: Tensor, hidden: Tensor | None, cell: Tensor | None, weight: Tensor, packing: Packing
    ) -> tuple[Tensor, Tensor, Tensor]:
        size, sizes = weight.shape[1], packing.sizes
        gates = projected
        squashed = gates.new_empty(len(gates), size)  # tanh(c)
        hiddens, cells = _states(hidden, squashed, packing), _states(cell, squashed, packing)
        i, f, g, o = (_steps(gate, packing) for gate in torch.split(gates, size, 1))
        i_and_f = _steps(gates[:, : 2 * size], packing)
        steps = _steps(gates, packing)
        h, c, tanh_c = (
            _steps(hiddens[packing.batch :], packing),
            _steps(cells[packing.batch :], packing),
            _steps(squashed, packing),
        )
        h_before, c_before = _before(hiddens, packing), _before(cells, packing)
        for t in range(len(sizes)):
            if t > 0 or hidden is not None:
                steps[t].addmm_(h_before[t], weight.t())
            i_and_f[t].sigmoid_()
            g[t].tanh_()
            o[t].sigmoid_()
            torch.mul(f[t], c_before[t], out=c[t]).addcmul_(i[t], g[t])
            torch.tanh(c[t], out=tanh_c[t])
            torch.mul(o[t], tanh_c[t], out=h[t])
        ctx.packing, ctx.has_initial = packing, hidden is not None
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(gates, hiddens, cells, squashed, weight)
        return hiddens[packing.batch :], hiddens.index_select(0, packing.last), cells.index_select(0, packing.last)

    @staticmethod
    @once_differentiable
    def backward(
        ctx: Any, d_hiddens: Tensor | None, d_last_hidden: Tensor | None, d_last_cell: Tensor | None
    ) -> tuple[Tensor | None, ...]:
        gates, hiddens, cells, squashed, weight = ctx.saved_tensors
        packing: Packing = ctx.packing
        size, sizes = weight.shape[1], packing.sizes
        i, f, g, o = (_steps(gate, packing) for gate in torch.split(gates, size, 1))
        i_and_f = _steps(gates[:, : 2 * size], packing)
        c_before, tanh_c = _before(cells, packing), _steps(squashed, packing)
        d_gates = torch.empty_like(gates)
        d_i, d_f, d_g, d_o = (_steps(gate, packing) for gate in torch.split(d_gates, size, 1))
        d_i_and_f = _steps(d_gates[:, : 2 * size], packing)
        d_steps = _steps(d_gates, packing)
        d_outer = None if d_hiddens is None else _steps(d_hiddens, packing)
        # The gradients of the states, step after step in the same place: a sequence not yet begun (from its end) still
        # has that of its last state there, and what is left when all steps are done is that of the initial states.
        d_hidden_all = _gradient_of_last(d_last_hidden, squashed, packing)
        d_cell_all = _gradient_of_last(d_last_cell, squashed, packing)
        scratch = torch.empty_like(d_cell_all)
        for t in reversed(range(len(sizes))):
            d_h, d_c, through_o = d_hidden_all[: sizes[t]], d_cell_all[: sizes[t]], scratch[: sizes[t]]
            if d_outer is not None:
                d_h.add_(d_outer[t])
            torch.mul(d_h, o[t], out=through_o)
            d_c.add_(tanh_backward(through_o, tanh_c[t], grad_input=through_o))
            torch.mul(d_h, tanh_c[t], out=d_o[t])
            sigmoid_backward(d_o[t], o[t], grad_input=d_o[t])
            torch.mul(d_c, g[t], out=d_i[t])
            torch.mul(d_c, c_before[t], out=d_f[t])
            sigmoid_backward(d_i_and_f[t], i_and_f[t], grad_input=d_i_and_f[t])
            torch.mul(d_c, i[t], out=d_g[t])
            tanh_backward(d_g[t], g[t], grad_input=d_g[t])
            d_c.mul_(f[t])
            if t > 0 or ctx.has_initial:
                torch.mm(d_steps[t], weight, out=d_h)
        d_weight = None
        if ctx.needs_input_grad[3]:
            d_weight = _weight_gradient(d_gates, hiddens, packing, skip=0 if ctx.has_initial else packing.batch)
        return (
            d_gates if ctx.needs_input_grad[0] else None,
            d_hidden_all if ctx.needs_input_grad[1] else None,
            d_cell_all if ctx.needs_input_grad[2] else None,
            d_weight,
            None,
        )


def _gradient_of_last(gradient: Tensor | None, states: Tensor, packing: Packing) -> Tensor:
    """A place (batch, hidden) for the states' gradient, beginning with that of the last states."""
    if gradient is None:
        return states.new_zeros(packing.batch, states.shape[1])
    return gradient.clone(memory_format=torch.contiguous_format)


class GRURecurrence(Function):
    """The GRU's recurrence, gates in the order r, z, n:

    h = (1 - z) * n + z * h_before,  where r, z = sigmoid(projected + W h_before),
    n = tanh(projected + r * u),  u = W h_before + b.

    ``projected`` (rows, 3 * hidden): the input's share of the gates with its bias and the recurrent bias of r and z; it
    is overwritten. ``hidden`` (batch, hidden): the initial states, longest sequence first, or None for zeros.
    ``weight`` (3 * hidden, hidden); ``bias`` (hidden,): n's recurrent bias. Returns all hidden states (rows, hidden)
    and the sequences' last ones (batch, hidden), longest first.
    """

    @staticmethod
    def forward(
        ctx: Any, projected: Tensor, hidden: Tensor | None, weight: Tensor, bias: Tensor, packing: Packing
    ) -> tuple[Tensor, Tensor]:
        size, sizes = weight.shape[1], packing.sizes
        gates = projected
        recurrent = gates.new_empty(len(gates), size)  # u
        hiddens = _states(hidden, recurrent, packing)
        r, z, n = (_steps(gate, packing) for gate in torch.split(gates, size, 1))
        r_and_z = _steps(gates[:, : 2 * size], packing)
        h, h_before, u = (
            _steps(hiddens[packing.batch :], packing),
            _before(hiddens, packing),
            _steps(recurrent, packing),
        )
        to_r_and_z, to_u = torch.split(weight.t(), [2 * size, size], 1)
        for t in range(len(sizes)):
            if t > 0 or hidden is not None:
                r_and_z[t].addmm_(h_before[t], to_r_and_z)
                torch.addmm(bias, h_before[t], to_u, out=u[t])
            else:
                u[t].copy_(bias)
            r_and_z[t].sigmoid_()
            n[t].addcmul_(r[t], u[t]).tanh_()
            torch.lerp(n[t], h_before[t], z[t], out=h[t])
        ctx.packing, ctx.has_initial = packing, hidden is not None
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(gates, hiddens, recurrent, weight)
        return hiddens[packing.batch :], hiddens.index_select(0, packing.last)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, d_hiddens: Tensor | None, d_last: Tensor | None) -> tuple[Tensor | None, ...]:
        gates, hiddens, recurrent, weight = ctx.saved_tensors
        packing: Packing = ctx.packing
        size, sizes = weight.shape[1], packing.sizes
        r, z, n = (_steps(gate, packing) for gate in torch.split(gates, size, 1))
        r_and_z = _steps(gates[:, : 2 * size], packing)
        h_before, u = _before(hiddens, packing), _steps(recurrent, packing)
        d_gates, d_recurrent = torch.empty_like(gates), torch.empty_like(recurrent)
        d_r, d_z, d_n = (_steps(gate, packing) for gate in torch.split(d_gates, size, 1))
        d_r_and_z, d_u = _steps(d_gates[:, : 2 * size], packing), _steps(d_recurrent, packing)
        from_r_and_z, from_u = torch.split(weight, [2 * size, size])
        d_outer = None if d_hiddens is None else _steps(d_hiddens, packing)
        d_hidden_all = _gradient_of_last(d_last, recurrent, packing)  # step after step in the same place, as in LSTM
        scratch = torch.empty_like(d_hidden_all)
        for t in reversed(range(len(sizes))):
            d_h, kept = d_hidden_all[: sizes[t]], scratch[: sizes[t]]
            if d_outer is not None:
                d_h.add_(d_outer[t])
            torch.mul(d_h, z[t], out=kept)  # the part that reaches h_before directly
            torch.sub(d_h, kept, out=d_n[t])
            tanh_backward(d_n[t], n[t], grad_input=d_n[t])
            torch.mul(d_n[t], r[t], out=d_u[t])
            torch.mul(d_n[t], u[t], out=d_r[t])
            torch.sub(h_before[t], n[t], out=d_z[t]).mul_(d_h)
            sigmoid_backward(d_r_and_z[t], r_and_z[t], grad_input=d_r_and_z[t])
            if t > 0 or ctx.has_initial:
                torch.addmm(kept, d_r_and_z[t], from_r_and_z, out=d_h).addmm_(d_u[t], from_u)
        d_weight = d_bias = None
        if ctx.needs_input_grad[2]:
            skip = 0 if ctx.has_initial else packing.batch
            d_weight = torch.cat(
                [
                    _weight_gradient(d_gates[:, : 2 * size], hiddens, packing, skip=skip),
                    _weight_gradient(d_recurrent, hiddens, packing, skip=skip),
                ]
            )
        if ctx.needs_input_grad[3]:
            d_bias = d_recurrent.sum(0)
        return (
            d_gates if ctx.needs_input_grad[0] else None,
            d_hidden_all if ctx.needs_input_grad[1] else None,
            d_weight,
            d_bias,
            None,
        )


# The recurrences as functions: arguments and results as in the classes' docstrings.
lstm: Callable[..., tuple[Tensor, Tensor, Tensor]] = LSTMRecurrence.apply
gru: Callable[..., tuple[Tensor, Tensor]] = GRURecurrence.apply

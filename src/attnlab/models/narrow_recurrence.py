"""The LSTM's recurrence on CPU for narrow batches: the same as `attnlab.models.recurrence.lstm`, in another order.

With some ten sequences at a step the products read more weights than they multiply, and each operation costs more than
its arithmetic. So the weights are copied once a call into the order in which a step's product reads them, and the
factors of the backward pass, which are small enough to stay in the cache, are made for all steps beforehand: a step
then has five operations besides its products. With a hundred sequences the other order is the faster one.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function

from attnlab.models.packing import Packing
from attnlab.models.products import adder, product
from attnlab.models.recurrence import (
    block_of_states,
    gradient_of_last,
    longest_sequences,
    refuse_second_derivatives,
    sigmoid_backward,
    states_before,
    steps_of,
    tanh_backward,
)


class NarrowLSTMRecurrence(Function):
    """Arguments and results as those of `attnlab.models.recurrence.LSTMRecurrence`."""

    @staticmethod
    def forward(
        ctx: Any, packing: Packing, projected: Tensor, hidden: Tensor | None, cell: Tensor | None, *weights: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        size, gates = weights[0].shape[1], projected
        squashed = gates.new_empty(*gates.shape[:2], size)  # tanh(c)
        hiddens, cells = block_of_states(hidden, squashed, packing), block_of_states(cell, squashed, packing)
        i, f, g, o = (steps_of(gate, packing) for gate in torch.split(gates, size, 2))
        i_and_f = steps_of(gates[..., : 2 * size], packing)
        h, c, tanh_c = (steps_of(x, packing) for x in (hiddens[packing.batch :], cells[packing.batch :], squashed))
        c_before = states_before(cells, packing)
        products = [
            (steps_of(gates[:, d], packing), states_before(hiddens[:, d], packing), adder(weight, packing.batch))
            for d, weight in enumerate(weights)
        ]
        for t in range(len(packing.sizes)):
            if t > 0 or hidden is not None:
                for place, h_before, add in products:
                    add(place[t], h_before[t])
            i_and_f[t].sigmoid_()
            g[t].tanh_()
            o[t].sigmoid_()
            torch.mul(f[t], c_before[t], out=c[t]).addcmul_(i[t], g[t])
            torch.tanh(c[t], out=tanh_c[t])
            torch.mul(o[t], tanh_c[t], out=h[t])
        ctx.packing, ctx.has_initial, ctx.factors = packing, hidden is not None, None
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(gates, hiddens, cells, squashed, *weights)
        states = packing.pad(hiddens[packing.batch :])
        return states, hiddens.index_select(0, packing.last), cells.index_select(0, packing.last)

    @staticmethod
    def backward(
        ctx: Any, d_states: Tensor | None, d_last_hidden: Tensor | None, d_last_cell: Tensor | None
    ) -> tuple[Tensor | None, ...]:
        refuse_second_derivatives()
        gates, hiddens, cells, squashed, *weights = ctx.saved_tensors
        packing: Packing = ctx.packing
        size, directions = weights[0].shape[1], len(weights)
        if ctx.factors is None:  # else the graph was kept, and these are of the pass before
            ctx.factors = _factors(gates, cells, squashed, packing)
        through_c, through_gates = ctx.factors
        forget = steps_of(gates[..., size : 2 * size], packing)
        d_gates = torch.empty_like(gates)
        by_gate = d_gates.view(len(gates), directions, 4, size)
        of_c, of_h = steps_of(by_gate[:, :, :3], packing), steps_of(by_gate[:, :, 3], packing)
        factor_c, factor_h = steps_of(through_gates[:, :, :3], packing), steps_of(through_gates[:, :, 3], packing)
        h_to_c = steps_of(through_c, packing)
        d_outer = None if d_states is None else packing.unpad(d_states, directions)
        d_hidden = gradient_of_last(d_last_hidden, squashed, packing)
        d_cell = gradient_of_last(d_last_cell, squashed, packing)
        d_cells = longest_sequences(d_cell.unsqueeze(2), packing)
        d_h_of, d_c_of = longest_sequences(d_hidden, packing), longest_sequences(d_cell, packing)
        to_h = [
            (steps_of(d_gates[:, d], packing), longest_sequences(d_hidden[:, d], packing), w.t())
            for d, w in enumerate(weights)
        ]
        for t, count in reversed(list(enumerate(packing.sizes))):
            d_h, d_c = d_h_of[count], d_c_of[count]
            if d_outer is not None:
                d_h.add_(d_outer[t])
            d_c.addcmul_(d_h, h_to_c[t])
            torch.mul(d_cells[count], factor_c[t], out=of_c[t])
            torch.mul(d_h, factor_h[t], out=of_h[t])
            d_c.mul_(forget[t])
            if t > 0 or ctx.has_initial:
                for d_place, d_h_before, weight in to_h:
                    product(d_place[t], weight, out=d_h_before[count])
        d_weights = _weight_gradients(d_gates, hiddens, weights, packing, ctx)
        return None, d_gates, *((d_hidden, d_cell) if ctx.has_initial else (None, None)), *d_weights


def _factors(gates: Tensor, cells: Tensor, squashed: Tensor, packing: Packing) -> tuple[Tensor, Tensor]:
    """What gradients are multiplied by, for all rows: from h to c (rows, directions, hidden), and from c (for i, f, g)
    or h (for o) to what goes into the gates (rows, directions, 4, hidden).
    """
    rows, directions, size = squashed.shape
    i, f, g, o = gates.view(rows, directions, 4, size).unbind(2)
    c_before = cells.index_select(0, packing.before)
    to_c = torch.empty_like(squashed)
    tanh_backward(o, squashed, grad_input=to_c)
    to_gates = torch.empty_like(gates).view(rows, directions, 4, size)
    of_i, of_f, of_g, of_o = to_gates.unbind(2)
    sigmoid_backward(g, i, grad_input=of_i)
    sigmoid_backward(c_before, f, grad_input=of_f)
    tanh_backward(i, g, grad_input=of_g)
    sigmoid_backward(squashed, o, grad_input=of_o)
    return to_c, to_gates


def _weight_gradients(
    d_gates: Tensor, hiddens: Tensor, weights: list[Tensor], packing: Packing, ctx: Any
) -> list[Tensor | None]:
    """The gradient of each W that needs one, all rows in one product."""
    needed = ctx.needs_input_grad[-len(weights) :]
    if not any(needed):
        return [None] * len(weights)
    first = 0 if ctx.has_initial else packing.batch  # a state of zeros has no part in it
    before = hiddens.index_select(0, packing.before[first:])
    return [product(d_gates[first:, d].t(), before[:, d].t()) if needed[d] else None for d in range(len(weights))]


narrow_lstm: Callable[..., tuple[Tensor, Tensor, Tensor]] = NarrowLSTMRecurrence.apply

"""The recurrences of LSTM and GRU on CPU: one layer in one or both directions, forward and backward by hand.

Both work on packed sequences (`attnlab.models.packing`). A row holds both directions side by side, each with weights of
its own: the reverse one is the forward one on mirrored sequences.

What makes them fast is that little leaves the cache and nothing is done twice. All buffers are allocated once a call
and every operation writes into its place in them. The input's share of the gates comes in already computed, is
overwritten by the gates, and these by their gradient. The backward pass makes one product a step (the gradient of the
state before) and leaves the weights' gradient to one large product at the end. So the cost is linear in the length.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function

from attnlab.errors import UsageError
from attnlab.models.packing import Packing
from attnlab.models.products import adder, product

# Derivatives through an activation's own value y, written into a given place:
# gradient * y * (1 - y) for the sigmoid, gradient * (1 - y ** 2) for tanh.
sigmoid_backward = torch.ops.aten.sigmoid_backward.grad_input
tanh_backward = torch.ops.aten.tanh_backward.grad_input


class LSTMRecurrence(Function):
    """The LSTM's recurrence, gates in the order i, f, g, o:

    c = f * c_before + i * g,  h = o * tanh(c),  where i, f, o = sigmoid(projected + W h_before), g = tanh(likewise).

    ``projected`` (rows, directions, 4 * hidden): the input's share of the gates with both biases; it is overwritten.
    ``hidden``, ``cell`` (batch, directions, hidden): the initial states, longest sequence first; both None for zeros.
    ``weights``: a W (4 * hidden, hidden) for each direction. Returns all hidden states, padded (batch, length,
    directions * hidden), and the sequences' last hidden and cell states (batch, directions, hidden), longest first.
    """

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
        products = _products(gates, hiddens, weights, packing)
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
        ctx.packing, ctx.has_initial = packing, hidden is not None
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
        size = weights[0].shape[1]
        i, f, g, o = (steps_of(gate, packing) for gate in torch.split(gates, size, 2))
        i_and_f = steps_of(gates[..., : 2 * size], packing)
        c_before, tanh_c = states_before(cells, packing), steps_of(squashed, packing)
        d_gates = _place_for_gradient(gates)
        d_i_and_f, d_g, d_o = (steps_of(d, packing) for d in torch.split(d_gates, [2 * size, size, size], 2))
        d_outer = None if d_states is None else packing.unpad(d_states, len(weights))
        d_hidden = gradient_of_last(d_last_hidden, squashed, packing)
        d_cell = gradient_of_last(d_last_cell, squashed, packing)
        through = torch.empty_like(gates[: packing.batch])  # the gradient of the gates, not yet of what is in them
        through_gates = through[..., : 2 * size], *torch.split(through, size, 2)
        places = [longest_sequences(x, packing) for x in (d_hidden, d_cell, *through_gates)]
        to_h = [
            (steps_of(d_gates[:, d], packing), longest_sequences(d_hidden[:, d], packing), w.t())
            for d, w in enumerate(weights)
        ]
        for t, count in reversed(list(enumerate(packing.sizes))):
            d_h, d_c, through_i_and_f, through_i, through_f, through_g, through_o = (place[count] for place in places)
            if d_outer is not None:
                d_h.add_(d_outer[t])
            torch.mul(d_h, o[t], out=through_i)
            d_c.add_(tanh_backward(through_i, tanh_c[t], grad_input=through_i))
            torch.mul(d_c, g[t], out=through_i)
            torch.mul(d_c, c_before[t], out=through_f)
            torch.mul(d_c, i[t], out=through_g)
            torch.mul(d_h, tanh_c[t], out=through_o)
            d_c.mul_(f[t])
            sigmoid_backward(through_i_and_f, i_and_f[t], grad_input=d_i_and_f[t])
            tanh_backward(through_g, g[t], grad_input=d_g[t])
            sigmoid_backward(through_o, o[t], grad_input=d_o[t])
            if t > 0 or ctx.has_initial:
                for d_place, d_h_before, weight in to_h:
                    product(d_place[t], weight, out=d_h_before[count])
        d_weights = _weight_gradients(d_gates, hiddens, weights, packing, ctx)
        return None, d_gates, *((d_hidden, d_cell) if ctx.has_initial else (None, None)), *d_weights


class GRURecurrence(Function):
    """The GRU's recurrence, gates in the order r, z, u, n:

    h = (1 - z) * n + z * h_before,  where r, z = sigmoid(projected + W h_before), u = projected + W h_before,
    n = tanh(projected + r * u).

    ``projected`` (rows, directions, 4 * hidden): for r and z the input's share with both biases, for u the recurrent
    bias alone, for n the input's share with its bias; it is overwritten. ``hidden`` (batch, directions, hidden): the
    initial states, longest sequence first, or None for zeros. ``weights``: a W (3 * hidden, hidden) for each direction.
    Returns all hidden states, padded (batch, length, directions * hidden), and the sequences' last ones (batch,
    directions, hidden), longest first.
    """

    @staticmethod
    def forward(
        ctx: Any, packing: Packing, projected: Tensor, hidden: Tensor | None, *weights: Tensor
    ) -> tuple[Tensor, Tensor]:
        size, gates = weights[0].shape[1], projected
        r, z, u, n = (steps_of(gate, packing) for gate in torch.split(gates, size, 2))
        r_and_z = steps_of(gates[..., : 2 * size], packing)
        hiddens = block_of_states(hidden, gates[..., :size], packing)
        h, h_before = steps_of(hiddens[packing.batch :], packing), states_before(hiddens, packing)
        products = _products(gates, hiddens, weights, packing)
        for t in range(len(packing.sizes)):
            if t > 0 or hidden is not None:
                for place, before, add in products:
                    add(place[t], before[t])
            r_and_z[t].sigmoid_()
            n[t].addcmul_(r[t], u[t]).tanh_()
            torch.lerp(n[t], h_before[t], z[t], out=h[t])
        ctx.packing, ctx.has_initial = packing, hidden is not None
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(gates, hiddens, *weights)
        return packing.pad(hiddens[packing.batch :]), hiddens.index_select(0, packing.last)

    @staticmethod
    def backward(ctx: Any, d_states: Tensor | None, d_last: Tensor | None) -> tuple[Tensor | None, ...]:
        refuse_second_derivatives()
        gates, hiddens, *weights = ctx.saved_tensors
        packing: Packing = ctx.packing
        size = weights[0].shape[1]
        r, z, u, n = (steps_of(gate, packing) for gate in torch.split(gates, size, 2))
        r_and_z, h_before = steps_of(gates[..., : 2 * size], packing), states_before(hiddens, packing)
        d_gates = _place_for_gradient(gates)
        d_r_and_z, d_u, d_n = (steps_of(d, packing) for d in torch.split(d_gates, [2 * size, size, size], 2))
        d_outer = None if d_states is None else packing.unpad(d_states, len(weights))
        d_hidden = gradient_of_last(d_last, gates[..., :size], packing)
        straight = torch.empty_like(d_hidden)  # the part of a state's gradient that goes past n to the state before
        through = torch.empty_like(gates[: packing.batch, :, : 2 * size])  # as in the LSTM, for r and z
        places = [longest_sequences(x, packing) for x in (d_hidden, straight, through, *torch.split(through, size, 2))]
        to_h = [
            (
                *(longest_sequences(x[:, d], packing) for x in (straight, d_hidden)),
                steps_of(d_gates[:, d, : len(w)], packing),
                w.t(),
            )
            for d, w in enumerate(weights)
        ]
        for t, count in reversed(list(enumerate(packing.sizes))):
            d_h, kept, through_r_and_z, through_r, through_z = (place[count] for place in places)
            if d_outer is not None:
                d_h.add_(d_outer[t])
            torch.sub(h_before[t], n[t], out=through_z).mul_(d_h)
            torch.mul(d_h, z[t], out=kept)
            tanh_backward(d_h.sub_(kept), n[t], grad_input=d_n[t])
            torch.mul(d_n[t], u[t], out=through_r)
            torch.mul(d_n[t], r[t], out=d_u[t])
            sigmoid_backward(through_r_and_z, r_and_z[t], grad_input=d_r_and_z[t])
            if t > 0 or ctx.has_initial:
                for kept_of, d_h_before, d_place, weight in to_h:
                    product(d_place[t], weight, out=d_h_before[count]).add_(kept_of[count])
        d_weights = _weight_gradients(d_gates, hiddens, weights, packing, ctx)
        return None, d_gates, d_hidden if ctx.has_initial else None, *d_weights


# The recurrences as functions: arguments and results as in the classes' docstrings.
lstm: Callable[..., tuple[Tensor, Tensor, Tensor]] = LSTMRecurrence.apply
gru: Callable[..., tuple[Tensor, Tensor]] = GRURecurrence.apply


def steps_of(rows: Tensor, packing: Packing) -> tuple[Tensor, ...]:
    """For each step, its block (sequences, ...) of ``rows``."""
    return torch.split(rows, packing.sizes)


def block_of_states(initial: Tensor | None, like: Tensor, packing: Packing) -> Tensor:
    """An empty block of states (batch + rows, directions, hidden) that begins with the initial ones or zeros."""
    states = like.new_empty(packing.batch + len(like), *like.shape[1:])
    states[: packing.batch] = 0.0 if initial is None else initial
    return states


def states_before(states: Tensor, packing: Packing) -> list[Tensor]:
    """For each step, the states (sequences, ...) of its sequences one step before."""
    blocks = torch.split(states, [packing.batch, *packing.sizes])
    return [block[:count] for block, count in zip(blocks, packing.sizes, strict=False)]


def longest_sequences(sequences: Tensor, packing: Packing) -> dict[int, Tensor]:
    """For each number of sequences that a step may have, so many of ``sequences`` (batch, ...), the longest ones."""
    return {count: sequences[:count] for count in set(packing.sizes)}


def _products(
    gates: Tensor, hiddens: Tensor, weights: tuple[Tensor, ...], packing: Packing
) -> list[tuple[tuple[Tensor, ...], list[Tensor], Callable[[Tensor, Tensor], object]]]:
    """For each direction, step by step where the recurrent product is added, the states before, and what adds it."""
    return [
        (
            steps_of(gates[:, d, : len(weight)], packing),
            states_before(hiddens[:, d], packing),
            adder(weight, packing.batch),
        )
        for d, weight in enumerate(weights)
    ]


def refuse_second_derivatives() -> None:
    """Gradients are enabled in a backward pass only if it is to be differentiated itself."""
    if torch.is_grad_enabled():
        raise UsageError("The recurrence has no second derivative on CPU; ask for gradients without create_graph.")


def _place_for_gradient(gates: Tensor) -> Tensor:
    """Where the gates' gradient is written: over the gates, unless the graph is kept for another backward pass."""
    return torch.empty_like(gates) if torch._C._autograd._get_current_graph_task_keep_graph() else gates


def gradient_of_last(gradient: Tensor | None, like: Tensor, packing: Packing) -> Tensor:
    """A place (batch, directions, hidden) for the states' gradient, step after step, from the last to the first.

    It begins with the gradient of the last states, which a sequence finds there untouched when its last step comes, and
    what is left in the end is the gradient of the initial states.
    """
    if gradient is None:
        return like.new_zeros(packing.batch, *like.shape[1:])
    return gradient.clone(memory_format=torch.contiguous_format)


def _weight_gradients(
    d_gates: Tensor, hiddens: Tensor, weights: list[Tensor], packing: Packing, ctx: Any
) -> list[Tensor | None]:
    """The gradient of each W that needs one, all rows in one product."""
    needed = ctx.needs_input_grad[-len(weights) :]
    first = 0 if ctx.has_initial else packing.batch  # a state of zeros has no part in it
    if not any(needed):
        return [None] * len(weights)
    before = hiddens[first : len(d_gates)] if packing.equal else hiddens.index_select(0, packing.before[first:])
    return [
        # transposed, because this product is faster than the other way round
        product(before[:, d].t(), d_gates[first:, d, : len(weight)].t()).t() if needed[d] else None
        for d, weight in enumerate(weights)
    ]

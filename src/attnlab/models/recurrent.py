"""LSTM and GRU over sequences of different lengths, with the weights of `torch.nn.LSTM` and `torch.nn.GRU`.

On CPU the recurrences are our own (`attnlab.models.recurrence`), because PyTorch's backward pass over packed sequences
is quadratic in their length. On CUDA the library's fused kernels do the work; that path is untested on a GPU.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import sqrt
from typing import Literal, TypeAlias, get_args

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from attnlab.errors import UsageError
from attnlab.models.initial import check_sizes, uniform
from attnlab.models.narrow_recurrence import narrow_lstm
from attnlab.models.packing import INTEGERS, Packing
from attnlab.models.products import linear
from attnlab.models.recurrence import gru, lstm

Cell = Literal["lstm", "gru"]
Draws: TypeAlias = torch.Generator | np.random.Generator
"""Where dropout comes from. NumPy's draws 16 bits for each number and is nine times as fast."""
Starts: TypeAlias = list[Tensor | None]
"""A layer's initial hidden and, for an LSTM, cell states (batch, directions, hidden); None for zeros."""

GATES = {"lstm": 4, "gru": 3}

RARE = 4
"""A table of the whole vocabulary is projected where each word has this many positions or more, else that of the
distinct words only: finding them costs more than the few rows it may save."""


@dataclass(frozen=True)
class RecurrentState:
    """Initial or final states: ``hidden`` (layers * directions, batch, hidden), ``cell`` the same, None for a GRU."""

    hidden: Tensor
    cell: Tensor | None


@dataclass(frozen=True)
class RecurrentOutput:
    """``states`` (batch, length, directions * hidden) of the last layer, zero after a sequence's end (steps may stand
    together in memory, as in `torch.nn.LSTM`: use ``reshape``, not ``view``).

    ``final``: each layer's and direction's state when it has read the whole sequence: the forward direction's at the
    sequence's own last position, the reverse one's at its first.
    """

    states: Tensor
    final: RecurrentState


class Recurrent(nn.Module):
    """LSTM or GRU of one or more layers in one or both directions; padding never changes a value or a gradient.

    Parameters have the names, shapes, order and starting values (uniform in +-1/sqrt(hidden)) of `torch.nn.LSTM` and
    `torch.nn.GRU`, so that a ``state_dict`` goes both ways. ``dropout`` acts between layers, in training mode only.
    ``generator`` draws the starting values. ``narrow``: an LSTM whose batches have some ten sequences; the same values
    to rounding (`attnlab.models.narrow_recurrence`).

    >>> lstm = Recurrent("lstm", 3, 4, bidirectional=True)
    >>> output = lstm(torch.zeros(2, 5, 3), torch.tensor([5, 2]))
    >>> output.states.shape, output.final.hidden.shape
    (torch.Size([2, 5, 8]), torch.Size([2, 2, 4]))
    """

    def __init__(
        self,
        cell: Cell,
        input_size: int,
        hidden_size: int,
        *,
        layers: int = 1,
        bidirectional: bool = False,
        dropout: float = 0.0,
        narrow: bool = False,
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__()
        if cell not in get_args(Cell):
            raise UsageError(f"There is no recurrent cell {cell!r}; there are {' and '.join(get_args(Cell))}.")
        check_sizes("A recurrent network", input_size=input_size, hidden_size=hidden_size, layers=layers)
        if not 0 <= dropout < 1:
            raise UsageError(f"Dropout is a share of at least 0 and below 1, not {dropout}.")
        if narrow and cell != "lstm":
            raise UsageError(f"Only an LSTM has a recurrence for narrow batches, not a {cell}.")
        self.cell, self.input_size, self.hidden_size = cell, input_size, hidden_size
        self.layers, self.dropout = layers, dropout
        self.directions = 2 if bidirectional else 1
        self._recurrence: Callable[..., tuple[Tensor, ...]] = narrow_lstm if narrow else lstm if cell == "lstm" else gru
        rows = GATES[cell] * hidden_size
        for layer in range(layers):
            columns = self.directions * hidden_size if layer else input_size
            shapes: list[tuple[int, ...]] = [(rows, columns), (rows, hidden_size), (rows,), (rows,)]
            for direction in range(self.directions):
                for name, shape in zip(_names(layer, direction), shapes, strict=True):
                    self.register_parameter(name, uniform(*shape, bound=1 / sqrt(hidden_size), generator=generator))

    def forward(
        self,
        inputs: Tensor,
        lengths: Tensor | None = None,
        *,
        embedding: Tensor | None = None,
        initial: RecurrentState | None = None,
        generator: Draws | None = None,
        gates: Tensor | None = None,
    ) -> RecurrentOutput:
        """Read ``inputs``: vectors (batch, length, input), or with an ``embedding`` (words, input) ids (batch, length).

        ``lengths`` (batch,): how many positions of each sequence count, all if None. ``initial``: the states to start
        from, zeros if None. ``generator`` draws dropout. ``gates`` (batch, length): what each position's vector is
        multiplied by, 1 if None; a loss's derivative to them is the positions' influence (P3 5.1). Token ids are the
        faster input: what the first layer makes of a word is computed once for all its positions.
        """
        self._check_inputs(inputs, embedding)
        if gates is not None and (gates.shape != inputs.shape[:2] or gates.dtype != self._dtype):
            raise UsageError(f"The gates are {_described(gates)}; {tuple(inputs.shape[:2])} of {self._dtype} is right.")
        packing = _packing(inputs, lengths)
        starts = self._starts(initial, packing)
        tokens = None
        vectors = packing.pack(inputs)  # (rows, input), or (rows,) if these are tokens
        if embedding is not None:
            vectors, tokens = _table(embedding, vectors)
        run = self._library_layer if _on_gpu(vectors) else self._layer
        scales = None if gates is None else packing.pack(gates)  # (rows,)
        finals: list[list[Tensor]] = []
        for layer in range(self.layers):
            states, *final = run(layer, vectors, tokens, scales, starts[layer], packing)
            finals.append(final)
            if layer + 1 < self.layers:
                vectors, tokens, scales = self._dropped(packing.pack(states), generator), None, None
        return RecurrentOutput(states, self._final(finals, packing))

    def _layer(
        self, layer: int, vectors: Tensor, tokens: Tensor | None, scales: Tensor | None, start: Starts, packing: Packing
    ) -> tuple[Tensor, ...]:
        """A layer's states (batch, length, directions * hidden), then its final states (batch, directions, hidden).

        It reads ``vectors`` (rows, input), or those of ``vectors`` (words, input) that ``tokens`` (rows,) name, each
        multiplied by its one of ``scales`` (rows,).
        """
        weights_ih, weights_hh, biases_ih, biases_hh = self._parameters_of(layer)
        size, words = self.hidden_size, len(vectors)
        bias = torch.stack(biases_ih)  # (directions, gates)
        if self.cell == "lstm":
            bias = bias + torch.stack(biases_hh)
        else:
            bias_of_r_and_z, bias_of_u = torch.split(torch.stack(biases_hh), [2 * size, size], 1)
            bias = bias + functional.pad(bias_of_r_and_z, (0, size))
        weight = weights_ih[0] if self.directions == 1 else torch.cat(weights_ih)
        at_once = bias.flatten() if scales is None else None  # scaled is the product alone: the bias comes after it
        projected = linear(vectors, weight, at_once).view(words, self.directions, -1)

        def arranged(rows: Tensor) -> Tensor:
            """With the GRU's recurrent bias of u where its recurrence wants it."""
            if self.cell == "lstm":
                return rows
            r_and_z, n = torch.split(rows, [2 * size, size], 2)
            return torch.cat([r_and_z, bias_of_u.expand(len(rows), -1, -1), n], 2)

        if scales is None:
            projected = arranged(projected)
        if tokens is not None or self.directions == 2:
            index = torch.arange(words) if tokens is None else tokens
            projected = functional.embedding(packing.read(index, self.directions), projected.flatten(0, 1))
        if scales is not None:
            read = scales[:, None] if self.directions == 1 else torch.stack([scales, scales[packing.mirror]], 1)
            projected = arranged(torch.addcmul(bias, projected, read[..., None]))
        return self._recurrence(packing, projected, *start, *weights_hh)

    def _library_layer(
        self, layer: int, vectors: Tensor, tokens: Tensor | None, scales: Tensor | None, start: Starts, packing: Packing
    ) -> tuple[Tensor, ...]:
        """The same by the library's fused kernels."""
        rows = vectors if tokens is None else functional.embedding(tokens, vectors)
        rows = rows if scales is None else rows * scales[:, None]
        zeros = rows.new_zeros(packing.batch, self.directions, self.hidden_size)
        states = [(zeros if state is None else state).transpose(0, 1).contiguous() for state in start]
        weights = [p for of_direction in zip(*self._parameters_of(layer), strict=True) for p in of_direction]
        # Gradients are wanted in evaluation mode too; the kernels keep what they need for them in training mode only.
        settings = (weights, True, 1, 0.0, torch.is_grad_enabled(), self.directions == 2)
        sizes = torch.tensor(packing.sizes)
        if self.cell == "lstm":
            hiddens, *finals = torch.lstm(rows, sizes, states, *settings)
        else:
            hiddens, *finals = torch.gru(rows, sizes, states[0], *settings)
        return packing.pad(hiddens.unsqueeze(1)), *(final.transpose(0, 1) for final in finals)

    def _parameters_of(self, layer: int) -> list[list[Tensor]]:
        """Its weight_ih, weight_hh, bias_ih and bias_hh, each a list over directions."""
        names = [_names(layer, direction) for direction in range(self.directions)]
        return [[getattr(self, name) for name in kind] for kind in zip(*names, strict=True)]

    def _dropped(self, vectors: Tensor, generator: Draws | None) -> Tensor:
        if not self.training or self.dropout == 0:
            return vectors
        if isinstance(generator, np.random.Generator):
            drawn = generator.integers(0, 1 << 16, vectors.shape, dtype=np.uint16)
            scaled = (drawn >= round(self.dropout * (1 << 16))) * np.float32(1 / (1 - self.dropout))
            return vectors * torch.from_numpy(scaled).to(vectors)
        kept = torch.empty_like(vectors).bernoulli_(1 - self.dropout, generator=generator)
        return vectors * kept.div_(1 - self.dropout)

    def _starts(self, initial: RecurrentState | None, packing: Packing) -> list[Starts]:
        """Each layer's initial states (batch, directions, hidden), longest first: hidden, and for an LSTM cell."""
        names = ("hidden", "cell") if self.cell == "lstm" else ("hidden",)
        if initial is None:
            return [[None] * len(names)] * self.layers
        if self.cell == "gru" and initial.cell is not None:
            raise UsageError("A GRU has no cell state, but the initial state has one; leave it None.")
        shape = (self.layers * self.directions, packing.batch, self.hidden_size)
        starts = []
        for name in names:
            state: Tensor | None = getattr(initial, name)
            if state is None:
                raise UsageError("An LSTM starts from a hidden and a cell state, but the initial cell state is None.")
            if state.shape != shape or state.dtype != self._dtype:
                raise UsageError(
                    f"The initial {name} state is {_described(state)}; "
                    f"(layers * directions, batch, hidden) = {shape} of {self._dtype} is right."
                )
            state = state if packing.equal else state.index_select(1, packing.order)
            starts.append(state.view(self.layers, self.directions, *shape[1:]).transpose(1, 2).unbind(0))
        return [list(start) for start in zip(*starts, strict=True)]

    def _final(self, finals: list[list[Tensor]], packing: Packing) -> RecurrentState:
        """All layers' final states, in the order of the batch."""
        states = [torch.stack(state).transpose(1, 2).flatten(0, 1) for state in zip(*finals, strict=True)]
        if not packing.equal:
            states = [state.index_select(1, packing.order.argsort()) for state in states]
        return RecurrentState(states[0], states[1] if self.cell == "lstm" else None)

    @property
    def _dtype(self) -> torch.dtype:
        return self._parameters_of(0)[0][0].dtype

    def _check_inputs(self, inputs: Tensor, embedding: Tensor | None) -> None:
        if embedding is None:
            if inputs.dim() != 3 or inputs.shape[2] != self.input_size or inputs.dtype != self._dtype:
                raise UsageError(
                    f"The input is {_described(inputs)}; without an embedding, vectors "
                    f"(batch, length, {self.input_size}) of {self._dtype} are right."
                )
        else:
            if embedding.dim() != 2 or embedding.shape[1] != self.input_size or embedding.dtype != self._dtype:
                raise UsageError(
                    f"The embedding is {_described(embedding)}; (words, {self.input_size}) of {self._dtype} is right."
                )
            if inputs.dim() != 2 or inputs.dtype not in INTEGERS:
                raise UsageError(
                    f"The input is {_described(inputs)}; with an embedding, token ids (batch, length) of an integer "
                    "type are right."
                )
        if inputs.numel() == 0:
            raise UsageError(f"The input is empty: its shape is {tuple(inputs.shape)}.")


def _names(layer: int, direction: int) -> list[str]:
    suffix = f"_l{layer}" + ("_reverse" if direction else "")
    return [name + suffix for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")]


def _described(tensor: Tensor) -> str:
    return f"{tuple(tensor.shape)} of {tensor.dtype}"


def _on_gpu(tensor: Tensor) -> bool:
    return tensor.device.type != "cpu"


def _packing(inputs: Tensor, lengths: Tensor | None) -> Packing:
    batch, length = inputs.shape[:2]
    if lengths is None:
        lengths = torch.full((batch,), length)
    if lengths.shape != (batch,) or lengths.dtype not in INTEGERS:
        raise UsageError(f"The lengths are {_described(lengths)}; ({batch},) of an integer type is right.")
    return Packing.of(lengths.to(inputs.device), length)


def _table(embedding: Tensor, tokens: Tensor) -> tuple[Tensor, Tensor]:
    """The vectors (words, input) of the words worth projecting, and each position's row (rows,) among them."""
    words = len(embedding)
    tokens = tokens.to(torch.int64)
    smallest, largest = (int(bound) for bound in tokens.aminmax())
    if smallest < 0 or largest >= words:
        raise UsageError(
            f"Token ids go from {smallest} to {largest}; from 0 to {words - 1}, the embedding's last, is right."
        )
    if RARE * words <= len(tokens):
        return embedding, tokens
    distinct, tokens = torch.unique(tokens, return_inverse=True)
    return functional.embedding(distinct, embedding), tokens

"""LSTM and GRU over sequences of different lengths, with the weights of `torch.nn.LSTM` and `torch.nn.GRU`.

On CPU the recurrences are our own (`attnlab.models.recurrence`), because PyTorch's backward pass over packed sequences
is quadratic in their length. On CUDA the library's fused kernels do the work; that path is untested on a GPU.
"""

from dataclasses import dataclass
from math import sqrt
from typing import Literal, get_args

import torch
from torch import Tensor, nn
from torch.nn import functional

from attnlab.errors import UsageError
from attnlab.models.initial import uniform
from attnlab.models.recurrence import Packing, gru, lstm

Cell = Literal["lstm", "gru"]

GATES = {"lstm": 4, "gru": 3}
INTEGERS = (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64)

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
    """``states`` (batch, length, directions * hidden) of the last layer, zero behind a sequence's end.

    ``final``: each layer's and direction's state when it has read the whole sequence: the forward direction's at the
    sequence's own last position, the reverse one's at its first.
    """

    states: Tensor
    final: RecurrentState


class Recurrent(nn.Module):
    """LSTM or GRU of one or more layers in one or both directions; padding never changes a value or a gradient.

    Parameters have the names, shapes, order and starting values (uniform in +-1/sqrt(hidden)) of `torch.nn.LSTM` and
    `torch.nn.GRU`, so that a ``state_dict`` goes both ways. ``dropout`` acts between layers, in training mode only.
    ``generator`` draws the starting values.

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
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__()
        if cell not in get_args(Cell):
            raise UsageError(f"There is no recurrent cell {cell!r}; there are {' and '.join(get_args(Cell))}.")
        for name, size in {"input_size": input_size, "hidden_size": hidden_size, "layers": layers}.items():
            if size < 1:
                raise UsageError(f"A recurrent network needs {name} of at least 1, not {size}.")
        if not 0 <= dropout < 1:
            raise UsageError(f"Dropout is a share of at least 0 and below 1, not {dropout}.")
        self.cell, self.input_size, self.hidden_size = cell, input_size, hidden_size
        self.layers, self.dropout = layers, dropout
        self.directions = 2 if bidirectional else 1
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
        generator: torch.Generator | None = None,
    ) -> RecurrentOutput:
        """Read ``inputs``: vectors (batch, length, input), or with an ``embedding`` (words, input) ids (batch, length).

        ``lengths`` (batch,): how many positions of each sequence count, all if None. ``initial``: the states to start
        from, zeros if None. ``generator`` draws dropout. Token ids are the faster input: what the first layer makes of
        a word is computed once for all its positions.
        """
        self._check_inputs(inputs, embedding)
        packing = _packing(inputs, lengths)
        starts = self._starts(initial, packing)
        tokens = None
        vectors = _packed(inputs, packing)  # (rows, input), or (rows,) if these are tokens
        if embedding is not None:
            vectors, tokens = _table(embedding, vectors)
        finals: list[tuple[Tensor, ...]] = []
        for layer in range(self.layers):
            if layer > 0:
                vectors, tokens = self._dropped(vectors, generator), None
            layer_starts = starts[layer * self.directions : (layer + 1) * self.directions]
            run = self._library_layer if _on_gpu(vectors) else self._layer
            vectors, layer_finals = run(layer, vectors, tokens, layer_starts, packing)
            finals += layer_finals
        return RecurrentOutput(_padded(vectors, packing), self._final(finals, packing))

    def _layer(
        self,
        layer: int,
        vectors: Tensor,
        tokens: Tensor | None,
        starts: list[tuple[Tensor | None, ...]],
        packing: Packing,
    ) -> tuple[Tensor, list[tuple[Tensor, ...]]]:
        """All hidden states (rows, directions * hidden) of one layer and the final states of each direction."""
        hiddens, finals = [], []
        for direction, start in enumerate(starts):
            weight_ih, weight_hh, bias_ih, bias_hh = self._parameters_of(layer, direction)
            # The reverse direction is the forward one on mirrored sequences.
            read = vectors if direction == 0 or tokens is not None else _placed(vectors, packing.mirror, len(vectors))
            bias, bias_of_n = bias_ih + bias_hh, None
            if self.cell == "gru":  # the reset gate stands before n's recurrent bias
                bias_of_rz, bias_of_n = torch.split(bias_hh, [2 * self.hidden_size, self.hidden_size])
                bias = bias_ih + functional.pad(bias_of_rz, (0, self.hidden_size))
            projected = functional.linear(read, weight_ih, bias)
            if tokens is not None:
                projected = functional.embedding(tokens if direction == 0 else tokens[packing.mirror], projected)
            if self.cell == "lstm":
                hidden, *final = lstm(projected, *start, weight_hh, packing)
            else:
                hidden, *final = gru(projected, *start, weight_hh, bias_of_n, packing)
            hiddens.append(hidden if direction == 0 else _placed(hidden, packing.mirror, len(hidden)))
            finals.append(tuple(final))
        return (hiddens[0] if len(hiddens) == 1 else torch.cat(hiddens, 1)), finals

    def _library_layer(
        self,
        layer: int,
        vectors: Tensor,
        tokens: Tensor | None,
        starts: list[tuple[Tensor | None, ...]],
        packing: Packing,
    ) -> tuple[Tensor, list[tuple[Tensor, ...]]]:
        """The same by the library's fused kernels."""
        rows = vectors if tokens is None else functional.embedding(tokens, vectors)
        zeros = rows.new_zeros(packing.batch, self.hidden_size)
        states = [torch.stack([zeros if s is None else s for s in state]) for state in zip(*starts, strict=True)]
        weights = [p for direction in range(self.directions) for p in self._parameters_of(layer, direction)]
        # Gradients are wanted in evaluation mode too; the kernels keep what they need for them in training mode only.
        settings = (weights, True, 1, 0.0, torch.is_grad_enabled(), self.directions == 2)
        sizes = torch.tensor(packing.sizes)
        if self.cell == "lstm":
            hiddens, *final = torch.lstm(rows, sizes, states, *settings)
        else:
            hiddens, *final = torch.gru(rows, sizes, states[0], *settings)
        return hiddens, list(zip(*final, strict=True))

    def _parameters_of(self, layer: int, direction: int) -> list[Tensor]:
        """Its weight_ih, weight_hh, bias_ih and bias_hh."""
        return [self.get_parameter(name) for name in _names(layer, direction)]

    def _dropped(self, vectors: Tensor, generator: torch.Generator | None) -> Tensor:
        if not self.training or self.dropout == 0:
            return vectors
        kept = torch.empty_like(vectors).bernoulli_(1 - self.dropout, generator=generator)
        return vectors * kept.div_(1 - self.dropout)

    def _starts(self, initial: RecurrentState | None, packing: Packing) -> list[tuple[Tensor | None, ...]]:
        """For each layer and direction its initial states, longest sequence first: hidden, and cell for an LSTM."""
        count = self.layers * self.directions
        names = ("hidden", "cell") if self.cell == "lstm" else ("hidden",)
        if initial is None:
            return [(None,) * len(names)] * count
        if self.cell == "gru" and initial.cell is not None:
            raise UsageError("A GRU has no cell state, but the initial state has one; leave it None.")
        shape, dtype = (count, packing.batch, self.hidden_size), self._dtype
        for name in names:
            state = getattr(initial, name)
            if state is None:
                raise UsageError("An LSTM starts from a hidden and a cell state, but the initial cell state is None.")
            if state.shape != shape or state.dtype != dtype:
                raise UsageError(
                    f"The initial {name} state is {_described(state)}; "
                    f"(layers * directions, batch, hidden) = {shape} of {dtype} is right."
                )
        states = [getattr(initial, name) for name in names]
        if not packing.equal:
            states = [state.index_select(1, packing.order) for state in states]
        return list(zip(*(state.unbind(0) for state in states), strict=True))

    def _final(self, finals: list[tuple[Tensor, ...]], packing: Packing) -> RecurrentState:
        states = [torch.stack(state) for state in zip(*finals, strict=True)]
        if not packing.equal:
            states = [state.index_select(1, packing.order.argsort()) for state in states]
        return RecurrentState(states[0], states[1] if self.cell == "lstm" else None)

    @property
    def _dtype(self) -> torch.dtype:
        return self.get_parameter("weight_ih_l0").dtype

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
    return tensor.is_cuda


def _packing(inputs: Tensor, lengths: Tensor | None) -> Packing:
    batch, length = inputs.shape[:2]
    if lengths is None:
        return Packing.of(torch.full((batch,), length, device=inputs.device), length)
    if lengths.shape != (batch,) or lengths.dtype not in INTEGERS:
        raise UsageError(f"The lengths are {_described(lengths)}; ({batch},) of an integer type is right.")
    shortest, longest = int(lengths.min()), int(lengths.max())
    if shortest < 1 or longest > length:
        raise UsageError(f"Lengths go from {shortest} to {longest}; from 1 to {length}, the input's length, is right.")
    return Packing.of(lengths.to(inputs.device, torch.int64), length)


def _packed(padded: Tensor, packing: Packing) -> Tensor:
    """The valid positions (rows, ...) of (batch, length, ...), in packed order."""
    if packing.full:
        return padded.transpose(0, 1).flatten(0, 1)
    return padded.flatten(0, 1).index_select(0, packing.positions)


def _padded(rows: Tensor, packing: Packing) -> Tensor:
    """Packed (rows, size) back to (batch, length, size), zero at padding."""
    if packing.full:
        return rows.view(packing.length, packing.batch, -1).transpose(0, 1)
    places = packing.batch * packing.length
    return _placed(rows, packing.positions, places).view(packing.batch, packing.length, -1)


def _placed(rows: Tensor, places: Tensor, count: int) -> Tensor:
    """``count`` rows of zeros with the given ones at their places. (Its gradient is a plain gather.)"""
    return rows.new_zeros(count, rows.shape[1]).index_copy_(0, places, rows)


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

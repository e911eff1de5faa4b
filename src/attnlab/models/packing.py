"""Batches of sequences of different lengths without their padding.

*Packed* sequences come step by step, longest sequences first, so that a step is a contiguous block of rows whose
sequences are the first ones of the block before. Padding has no row and costs nothing.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from attnlab.errors import UsageError

INTEGERS = (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64)


@dataclass(frozen=True)
class Packing:
    """Where the positions of a padded batch are once packed.

    A row is one valid position; ``rows`` is their number, the sum of the lengths. A block of states has the initial
    ones before those of the rows: ``(batch + rows, ...)``.
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
    """(rows,) Where a block of states has the state before each row's."""
    last: Tensor
    """(batch,) Where a block of states has the last state of each sequence, longest first."""

    @staticmethod
    def of(lengths: Tensor, length: int) -> "Packing":
        """Pack sequences of these ``lengths`` (batch,), padded to ``length``."""
        shortest, longest = (int(bound) for bound in lengths.aminmax())
        if shortest < 1 or longest > length:
            raise UsageError(
                f"Lengths go from {shortest} to {longest}; from 1 to {length}, the length of the input, is right."
            )
        batch, device = len(lengths), lengths.device
        sorted_lengths, order = lengths.long().sort(descending=True, stable=True)
        steps = torch.arange(longest, device=device)
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

    @property
    def equal(self) -> bool:
        """Whether all sequences have one length."""
        return self.sizes[-1] == self.batch

    @property
    def full(self) -> bool:
        """Whether there is no padding, so that packing is a transposition."""
        return self.equal and len(self.sizes) == self.length

    def pack(self, padded: Tensor) -> Tensor:
        """The rows (rows, ...) of (batch, length, ...)."""
        if self.full:
            return padded.transpose(0, 1).flatten(0, 1)
        return padded.flatten(0, 1).index_select(0, self.positions)

    def read(self, index: Tensor, directions: int) -> Tensor:
        """``index`` (rows,) as each direction reads it, the second one mirrored: (rows, directions).

        It then points into rows that hold the directions side by side, flattened to ``rows * directions``.
        """
        read = index[:, None] if directions == 1 else torch.stack([index, index[self.mirror]], 1)
        return read * directions + torch.arange(directions, device=index.device)

    def pad(self, states: Tensor) -> Tensor:
        """(rows, directions, hidden), as read, to (batch, length, directions * hidden), zero at padding."""
        _, directions, size = states.shape
        if self.full and directions == 1:
            return states.view(self.length, self.batch, size).transpose(0, 1)
        places = self.read(self.positions, directions).flatten()
        padded = states.new_zeros(self.batch * self.length * directions, size)
        return padded.index_copy_(0, places, states.flatten(0, 1)).view(self.batch, self.length, -1)

    def unpad(self, padded: Tensor, directions: int) -> tuple[Tensor, ...]:
        """(batch, length, directions * hidden), as read: for each step (sequences, directions, hidden)."""
        if self.full and directions == 1:
            return padded.unsqueeze(2).unbind(1)
        places = self.read(self.positions, directions).flatten()
        rows = padded.reshape(self.batch * self.length * directions, -1).index_select(0, places)
        return torch.split(rows.view(len(self.positions), directions, -1), self.sizes)

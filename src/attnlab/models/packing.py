"""Batches of sequences of different lengths without their padding.

*Packed* sequences stand step by step, longest sequences first, so that a step is a contiguous block of rows whose
sequences are the first ones of the block before. Padding has no row and costs nothing.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from attnlab.errors import UsageError

INTEGERS = (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64)


@dataclass(frozen=True)
class Packing:
    """Where the positions of a padded batch stand once packed.

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

    def pad(self, states: Tensor) -> Tensor:
        """(rows, directions, hidden), as read, back to (batch, length, directions * hidden), zero at padding."""
        directions = states.shape[1]
        if self.full and directions == 1:
            return states.view(self.length, self.batch, -1).transpose(0, 1)
        places = self.read(self.positions, directions)
        return _placed(states, places, self.batch * self.length).view(self.batch, self.length, -1)

    def read(self, index: Tensor, directions: int) -> Tensor:
        """``index`` (rows,) as each direction reads it, the second one mirrored: (rows, directions).

        It then points into rows that hold the directions side by side, flattened to ``rows * directions``.
        """
        read = index[:, None] if directions == 1 else torch.stack([index, index[self.mirror]], 1)
        return read * directions + torch.arange(directions, device=index.device)

    def turn(self, states: Tensor) -> Tensor:
        """(rows, directions, hidden) from the order in which each direction reads to that of the text, or back."""
        rows, directions, _ = states.shape
        if directions == 1:
            return states
        return _placed(states, self.read(torch.arange(rows, device=states.device), directions), rows)


def _placed(states: Tensor, places: Tensor, rows: int) -> Tensor:
    """``rows`` of zeros, with each row's and direction's state moved to its place of ``places`` (rows, directions)."""
    _, directions, size = states.shape
    flat = states.new_zeros(rows * directions, size)
    return flat.index_copy_(0, places.flatten(), states.flatten(0, 1)).view(rows, directions, size)

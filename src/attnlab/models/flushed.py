"""Numbers too small for the processor's fast paths taken for 0.

Attention that is pushed away from positions for hundreds of updates becomes so small there, below 1e-38, that the
processor works with it digit by digit, and an update takes three times as long. Such numbers change nothing.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor


@contextmanager
def flushed() -> Iterator[None]:
    """Inside, this thread's smallest numbers are 0; afterwards they are what they were before."""
    tiny = torch.tensor(torch.finfo(torch.float32).tiny)
    before = bool(tiny / 2 == 0)
    torch.set_flush_denormal(True)
    try:
        yield
    finally:
        torch.set_flush_denormal(before)


class FlushedLoss:
    """A loss whose gradients are worked out in the same way."""

    def __init__(self, loss: Tensor) -> None:
        self._loss = loss

    def detach(self) -> Tensor:
        return self._loss.detach()

    def backward(self) -> None:
        with flushed():
            self._loss.backward()  # type: ignore[no-untyped-call]

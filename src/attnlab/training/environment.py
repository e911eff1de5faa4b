"""Where a run is trained: what has to be the same for its numbers to be the same."""

import platform
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path

import numpy as np
import torch


@contextmanager
def threads(count: int) -> Iterator[None]:
    """Let PyTorch use ``count`` threads inside the block; put the old number back afterwards."""
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def versions() -> dict[str, str]:
    """Versions of what decides numbers."""
    return {
        "attnlab": version("attnlab"),
        "python": platform.python_version(),
        "torch": torch.__version__,
        "numpy": np.__version__,
    }


def environment(device: str = "cpu") -> dict[str, str | int]:
    """Versions, processor and thread count as they are now."""
    return {
        **versions(),
        "system": platform.system(),
        "machine": platform.machine(),
        "processor": _processor(),
        "vector_instructions": torch.backends.cpu.get_cpu_capability(),
        "threads": torch.get_num_threads(),
        "device": device,
    }


def _processor() -> str:
    """The processor's name, as precisely as the system tells it."""
    try:
        with Path("/proc/cpuinfo").open(encoding="utf-8", errors="replace") as lines:
            for line in lines:
                if line.startswith("model name"):
                    return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor() or "unknown"

"""Where a run is trained: what has to be the same for its numbers to be the same."""

import ctypes
import os
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


def keep_memory() -> None:
    """Keep memory that is freed for what is allocated next, until this process ends.

    The GNU C library gives blocks of 32 MB and more back to the system at once, and gets them back page by page, each
    set to zero: a tenth of the time of an update on long texts. No number depends on it, but it is a setting of the
    whole process and holds on to its memory, so it is for processes of our own, such as a sweep's workers. All threads
    share what is kept: with a heap for each, a worker that trains every run in a new thread would keep the memory of
    sixteen runs. Elsewhere than on Linux nothing happens.
    """
    if platform.libc_ver()[0] == "glibc":
        library = ctypes.CDLL(None)
        library.mallopt(_MMAP_MAX, 0)
        library.mallopt(_TRIM_THRESHOLD, 2**31 - 1)
        library.mallopt(_ARENA_MAX, 1)


# Names that malloc.h gives to what `mallopt` sets.
_TRIM_THRESHOLD = -1
_MMAP_MAX = -4
_ARENA_MAX = -8


def environment(device: str = "cpu") -> dict[str, str | int]:
    """Versions, processor and thread count as they are now."""
    return {
        "attnlab": version("attnlab"),
        "python": platform.python_version(),
        "torch": torch.__version__,
        "numpy": np.__version__,
        "system": platform.system(),
        "machine": platform.machine(),
        "processor": _processor(),
        "vector_instructions": torch.backends.cpu.get_cpu_capability(),
        "threads": torch.get_num_threads(),
        "device": device,
    }


def _processor() -> str:
    """The processor's name, as precisely as the system gives it."""
    try:
        with Path("/proc/cpuinfo").open(encoding="utf-8", errors="replace") as lines:
            for line in lines:
                if line.startswith("model name"):
                    return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor() or "unknown"


def cores() -> int:
    """How many cores this process may use.

    >>> cores() >= 1
    True
    """
    affinity = getattr(os, "sched_getaffinity", None)  # not on every system
    return len(affinity(0)) if affinity else os.cpu_count() or 1

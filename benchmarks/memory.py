"""The largest memory that this process has had."""

import resource
import sys
from pathlib import Path


def peak_gigabytes() -> float:
    """Of this process alone.

    On Linux the largest resident set that `getrusage` tells is handed down to a program that is started in a process'
    place, so a small one begins with the peak of whoever started it; the kernel's own mark of it does not.
    """
    status = Path("/proc/self/status")
    if status.is_file():
        marks = [line.split() for line in status.read_text().splitlines() if line.startswith("VmHWM:")]
        if marks:
            return int(marks[0][1]) / 1e6  # kilobytes
    unit = 1e9 if sys.platform == "darwin" else 1e6  # macOS counts in bytes
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit

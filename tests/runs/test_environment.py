"""A process that keeps its memory gets most of it from the system once."""

import platform
import subprocess
import sys

import pytest

ALLOCATE = """
import resource
import sys
import torch
from attnlab.runs.environment import keep_memory

def batches():
    for megabytes in (36, 56, 44, 64, 40, 52, 60, 48):  # blocks as an update on long texts needs them
        gates, states = torch.ones(megabytes * 2**18), torch.ones(32 * 2**18 + megabytes)

if sys.argv[1] == "kept":
    keep_memory()
batches()
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(3):
    batches()
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


def pages(memory: str) -> int:
    """How many pages the system has to bring once every size of block has been there before."""
    command = [sys.executable, "-c", ALLOCATE, memory]
    return int(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only the GNU C library is told to keep memory")
def test_a_process_that_keeps_its_memory_gets_most_pages_once() -> None:
    # Small things may have taken their place in a block, so that a few are still got anew.
    assert pages("kept") < pages("returned") / 4


IN_THREADS = """
import resource
import threading
import torch
from attnlab.runs.environment import keep_memory

def run():
    held = [torch.ones(2**16) for _ in range(200)]  # 50 MB in blocks that no heap gives back

keep_memory()
for number in range(12):
    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    if number == 0:
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only the GNU C library is told to keep memory")
def test_a_run_in_a_new_thread_takes_the_memory_that_the_last_one_left() -> None:
    command = [sys.executable, "-c", IN_THREADS]
    grown = int(subprocess.run(command, capture_output=True, text=True, check=True).stdout)  # kB
    assert grown < 25_000

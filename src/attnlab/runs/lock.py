"""One process at a time writes a run.

The lock is the operating system's own and ends with the process that holds it, however that ends. Lock files live
outside the run's folder, so the folder can be renamed away while it is locked. They stay when they are released:
deleting one would let two processes lock two files of the same name.
"""

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import FileLock, Timeout

from attnlab.errors import RunBusy, StoreError
from attnlab.files import explained, from_json, read_plain, to_json

GRACE = 0.1
"""Seconds for which even a caller that will not wait tries again: ``is_locked`` holds a lock for an instant."""


@contextmanager
def locked(path: Path, name: str, wait: float | None = None) -> Iterator[None]:
    """Hold the lock file ``path``, named ``name`` to the user; within a thread it may be taken again while held.

    ``wait`` is how many seconds another holder is waited for: 0 not at all, None for ever. Then RunBusy.
    """
    lock = FileLock(path, is_singleton=True)
    if is_odd(path):
        raise StoreError(f"{path} is no plain file, so nothing is locked through it; delete it, and it is made anew.")
    with explained(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            lock.acquire(timeout=-1 if wait is None else max(wait, GRACE), poll_interval=0.02)
        except Timeout:
            raise RunBusy(f"Run {name} is in use by {_holder(path)}: wait until it ends, or end it.") from None
    outermost = lock.lock_counter == 1
    note = path.with_suffix(".holder")  # beside the lock file, which Windows lets nobody read while it is locked
    try:
        if outermost:
            with suppress(OSError):  # it only makes a message clearer
                note.unlink(missing_ok=True)  # a stranger's may be a link, which is not written through
                with note.open("xb") as file:
                    file.write(to_json({"pid": os.getpid(), "host": socket.gethostname()}))
        yield
    finally:
        if outermost:
            with suppress(OSError):
                note.unlink()
        lock.release()


def is_locked(path: Path) -> bool:
    """Whether anybody holds the lock file now. Writes nothing."""
    if not is_plain(path):
        return False
    lock = FileLock(path)
    try:
        with lock.acquire(timeout=0):
            return False
    except Timeout:
        return True
    except OSError:  # a store that may only be read: nobody here can be writing it
        return False


def is_plain(path: Path) -> bool:
    """Whether there is a plain file and no link."""
    return os.path.isfile(path) and not os.path.islink(path)  # noqa: PTH113, PTH114 (a Path's own raise errors)


def is_odd(path: Path) -> bool:
    """Whether there is something else than a plain file, such as a link."""
    return os.path.lexists(path) and not is_plain(path)


def _holder(path: Path) -> str:
    try:
        holder = from_json(read_plain(path.with_suffix(".holder"), 4096))
        sentence = f"process {holder['pid']} on {holder['host']}"
    except (OSError, StoreError, ValueError, KeyError, TypeError, RecursionError):
        return "another process"
    return sentence if sentence.isprintable() else "another process"

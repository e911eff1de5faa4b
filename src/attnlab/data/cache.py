"""Preprocessed data on disk, named by what it was made from.

A cache file holds arrays and a few facts, and the sha256 of its name and both. One that is damaged, cut off, of another
name or form is not trusted: the data is made again. Writers put a whole file in place in one move, so processes may
write the same one at once. A folder that cannot be written to costs time and a warning, nothing else. It may be deleted
at any time.
"""

import json
import os
import re
import sys
import warnings
from collections.abc import Mapping, Sequence
from contextlib import suppress
from hashlib import file_digest, sha256
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from attnlab.data.reading import readable
from attnlab.errors import UsageError

_KEY = re.compile(r"[a-z]+-[0-9a-f]{1,64}")
Arrays = Mapping[str, NDArray[Any]]


def cache_folder() -> Path:
    """The folder that ATTNLAB_CACHE names, else attnlab's in the user's cache directory of this system."""
    if named := os.environ.get("ATTNLAB_CACHE"):
        return Path(named)
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local") / "attnlab" / "Cache"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "attnlab"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "attnlab"


def content_key(files: Sequence[Path], *settings: object) -> str:
    """A name for what these settings make of these files: of their bytes and names, not their dates or folders."""
    digest = sha256(json.dumps([str(setting) for setting in settings]).encode())
    for path in files:
        with readable(path), path.open("rb") as stream:
            bytes_ = file_digest(stream, "sha256").hexdigest()
        digest.update(json.dumps([path.parent.name, path.name, bytes_]).encode())
    return digest.hexdigest()[:32]


def read_cached(key: str) -> tuple[dict[str, NDArray[Any]], Any] | None:
    """The arrays and facts written under ``key``; None if there are none, or none that are whole."""
    try:
        if not _file(key).is_file():  # a pipe would be waited for
            return None
        with safe_open(_file(key), "numpy") as stored:
            arrays = {name: stored.get_tensor(name) for name in sorted(stored.keys())}
            header = stored.metadata() or {}
        whole = header.get("sha256") == _digest(key, arrays, header["facts"])
        return (arrays, json.loads(header["facts"])) if whole else None
    except (OSError, SafetensorError, KeyError, ValueError, MemoryError, RecursionError):
        return None


def write_cached(key: str, arrays: Arrays, facts: object) -> None:
    """Keep arrays and facts, which JSON can hold, under ``key``."""
    text = json.dumps(facts)
    data = save(dict(arrays), {"facts": text, "sha256": _digest(key, arrays, text)})
    _put(_file(key), data)


def _put(path: Path, data: bytes) -> None:
    new = path.with_name(f".new-{uuid4().hex}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        new.write_bytes(data)
        new.replace(path)
    except OSError as fault:
        with suppress(OSError):
            new.unlink()
        warnings.warn(
            f"Preprocessed data cannot be kept in {path.parent} ({fault.strerror or fault}), so it is made anew each "
            "time; ATTNLAB_CACHE can name another folder.",
            stacklevel=3,
        )


def cached_bytes(key: str) -> bytes | None:
    """The file kept under ``key``, if it is there and whole: to be sent to another machine."""
    return None if read_cached(key) is None else _file(key).read_bytes()


def is_cached(key: str) -> bool:
    """Whether there is a file of this name; reading it says whether it is whole."""
    return _file(key).is_file()


def put_cached(key: str, data: bytes) -> None:
    """Keep a file that another machine's `cached_bytes` gave; readers check it as any other."""
    if not _KEY.fullmatch(key):
        raise UsageError(f"{key[:80]!r} is no name of preprocessed data.")
    _put(_file(key), data)


def check_ragged(values: NDArray[Any], offsets: NDArray[Any], most: int = 2**62) -> None:
    """A ValueError unless ``offsets`` cut ``values``, ids from 0 to below ``most``, into rows.

    >>> check_ragged(np.array([3, 1, 2]), np.array([0, 1, 3]), most=4)
    """
    flat = values.ndim == offsets.ndim == 1 and len(offsets) > 0
    if not flat or offsets[0] != 0 or offsets[-1] != len(values) or (np.diff(offsets) < 0).any():
        raise ValueError("these offsets do not cut these values into rows")
    if len(values) and not 0 <= values.min() <= values.max() < most:
        raise ValueError("a value is no id")


def check_texts(*texts: object) -> None:
    """A ValueError unless all are texts."""
    if not all(isinstance(text, str) for text in texts):
        raise ValueError("a name or a note is no text")


def _file(key: str) -> Path:
    return cache_folder() / f"{key}.safetensors"


def _digest(key: str, arrays: Arrays, facts: str) -> str:
    digest = sha256(json.dumps([key, facts]).encode())
    for name, values in sorted(arrays.items()):
        digest.update(f"{name} {values.dtype.str} {values.shape}".encode())
        digest.update(np.ascontiguousarray(values).data)
    return digest.hexdigest()

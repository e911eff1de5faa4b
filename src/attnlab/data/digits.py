"""Handwritten digits: MNIST's four IDX files (LeCun, Cortes, Burges) from a folder, or scikit-learn's small ones.

IDX: two zero bytes, the type of a number (8: a byte), how many dimensions, their sizes (32 bits, largest byte first),
then the numbers. The files may be packed by gzip, as they are offered. Their content is checked against known sums.
"""

import gzip
import os
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from math import prod
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from attnlab.data.reading import readable
from attnlab.errors import UsageError

Bytes = NDArray[np.uint8]

SUMS = {
    "train-images-idx3-ubyte": "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
    "train-labels-idx1-ubyte": "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
    "t10k-images-idx3-ubyte": "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
    "t10k-labels-idx1-ubyte": "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
}
"""sha256 of each file, unpacked."""
SMALL_TEST = 500
"""Of scikit-learn's digits the last so many are for tests; they have no split."""


@dataclass(frozen=True, eq=False)
class Digits:
    """``train`` and ``test`` (digits, height, width), from 0 to 1, and their classes (digits,)."""

    name: str
    train: NDArray[np.float32]
    train_labels: NDArray[np.int64]
    test: NDArray[np.float32]
    test_labels: NDArray[np.int64]

    @cached_property
    def content(self) -> str:
        """What they are: 16 hexadecimal digits."""
        digest = sha256()
        for part in (self.train, self.train_labels, self.test, self.test_labels):
            digest.update(np.ascontiguousarray(part).tobytes())
        return digest.hexdigest()[:16]


def load_digits(root: Path | None) -> Digits:
    """MNIST from ``root``/mnist where it is there, every digit halved to 14 x 14; else scikit-learn's, 8 x 8."""
    folder = None if root is None else Path(root) / "mnist"
    if folder is None or not folder.is_dir():
        return _small_digits()
    train, train_labels, test, test_labels = (read_known(folder, name) for name in SUMS)
    return Digits("MNIST", _halved(train), train_labels.astype(np.int64), _halved(test), test_labels.astype(np.int64))


def digit_files() -> list[Path]:
    """MNIST's files in the folder that ATTNLAB_DATA names; none where it has no MNIST."""
    folder = Path(os.environ.get("ATTNLAB_DATA") or os.devnull) / "mnist"
    return [_file(folder, name) for name in SUMS] if folder.is_dir() else []


def _file(folder: Path, name: str) -> Path:
    path = next((path for path in (folder / name, folder / f"{name}.gz") if path.is_file()), None)
    if path is None:
        raise UsageError(f"{folder} has no {name} (or {name}.gz); MNIST has the four files {', '.join(SUMS)}.")
    return path


def read_known(folder: Path, name: str) -> Bytes:
    """One of MNIST's files, plain or packed; a file with another content than the official one is refused."""
    path = _file(folder, name)
    values, data = _read(path)
    if sha256(data).hexdigest() != SUMS[name]:
        raise UsageError(f"{path} is not MNIST's {name}: its content has another sha256.")
    return values


def read_idx(path: Path) -> Bytes:
    """The numbers of an IDX file of bytes."""
    return _read(Path(path))[0]


def _read(path: Path) -> tuple[Bytes, bytes]:
    with readable(path, "an IDX file is needed"):
        data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    if len(data) < 4 or data[:2] != b"\0\0":
        raise UsageError(f"{path} is no IDX file: one begins with two zero bytes.")
    if data[2] != 8:
        raise UsageError(f"{path} has numbers of type {data[2]:#04x}; bytes (0x08) can be read.")
    begin = 4 + 4 * data[3]
    if len(data) < begin:
        raise UsageError(f"{path} is cut off: its head needs {begin} bytes, and there are {len(data)}.")
    shape = tuple(int(size) for size in np.frombuffer(data[4:begin], ">u4"))
    if len(data) - begin != prod(shape):
        raise UsageError(f"{path} has {len(data) - begin} numbers; its head names {' x '.join(map(str, shape))}.")
    return np.frombuffer(data, np.uint8, offset=begin).reshape(shape), data


def _halved(images: Bytes) -> NDArray[np.float32]:
    """The mean of every 2 x 2 pixels, from 0 to 1."""
    count, height, width = images.shape
    blocks = images.reshape(count, height // 2, 2, width // 2, 2).astype(np.float32)
    return np.asarray(blocks.mean((2, 4)) / 255, np.float32)


def _small_digits() -> Digits:
    from sklearn.datasets import load_digits as small

    images, labels = small(return_X_y=True)
    images, labels = (images.reshape(-1, 8, 8) / 16).astype(np.float32), labels.astype(np.int64)
    train, test = slice(0, -SMALL_TEST), slice(-SMALL_TEST, None)
    return Digits("scikit-learn's digits", images[train], labels[train], images[test], labels[test])

"""IDX files, whole and damaged; digits on canvases; subsamples that keep every class."""

import gzip
import struct
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attnlab.data.digits import SUMS, load_digits, read_idx, read_known
from attnlab.data.subsample import subsample
from attnlab.errors import UsageError
from attnlab.families.teacher.digits import canvases


def idx(values: np.ndarray, kind: int = 8) -> bytes:
    return bytes([0, 0, kind, values.ndim]) + struct.pack(f">{values.ndim}I", *values.shape) + values.tobytes()


VALUES = np.arange(24, dtype=np.uint8).reshape(2, 3, 4)


@pytest.mark.parametrize("packed", [False, True])
def test_idx_files_are_read(tmp_path: Path, packed: bool) -> None:
    path = tmp_path / ("a.gz" if packed else "a")
    path.write_bytes(gzip.compress(idx(VALUES)) if packed else idx(VALUES))
    assert np.array_equal(read_idx(path), VALUES)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "begins with two zero bytes"),
        (b"\x1f\x8b\x08\x00", "begins with two zero bytes"),
        (idx(VALUES)[:-1], "has 23 numbers; its head names 2 x 3 x 4"),
        (idx(VALUES) + b"x", "has 25 numbers"),
        (idx(VALUES)[:7], "is cut off"),
        (idx(VALUES, kind=13), "type 0x0d"),
    ],
)
def test_damaged_idx_files_are_refused(tmp_path: Path, content: bytes, words: str) -> None:
    path = tmp_path / "a"
    path.write_bytes(content)
    with pytest.raises(UsageError, match=words):
        read_idx(path)


def test_a_truncated_archive_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.gz"
    path.write_bytes(gzip.compress(idx(VALUES))[:-9])
    with pytest.raises(UsageError, match="no whole"):
        read_idx(path)


def test_another_content_than_mnists_is_refused(tmp_path: Path) -> None:
    name = next(iter(SUMS))
    with pytest.raises(UsageError, match="has no train-images"):
        read_known(tmp_path, name)
    (tmp_path / name).write_bytes(idx(VALUES))
    with pytest.raises(UsageError, match="another sha256"):
        read_known(tmp_path, name)


def test_without_mnist_there_are_small_digits(tmp_path: Path) -> None:
    digits = load_digits(tmp_path)
    assert digits.name == "scikit-learn's digits"
    assert digits.train.shape == (1297, 8, 8)
    assert 0 <= digits.train.min() <= digits.train.max() <= 1
    assert set(digits.test_labels) == set(range(10))


@pytest.mark.needs_data("mnist")
def test_mnist(data_root: Path) -> None:
    digits = load_digits(data_root)
    assert digits.train.shape == (60000, 14, 14)
    assert digits.test.shape == (10000, 14, 14)
    assert digits.train_labels[:5].tolist() == [5, 0, 4, 1, 9]


def test_a_digit_is_whole_somewhere_on_its_canvas() -> None:
    images = np.random.default_rng(0).random((6, 8, 8)).astype(np.float32)
    words = canvases(images, 0.0, np.random.default_rng(1))  # 16 x 16, in 4 x 4 patches of 4 x 4
    assert words.shape == (6, 16, 16)
    for image, columns in zip(images, words, strict=True):
        canvas = np.zeros((16, 16), np.float32)
        for word in range(16):
            row, column = divmod(word, 4)
            canvas[4 * row : 4 * row + 4, 4 * column : 4 * column + 4] = columns[:, word].reshape(4, 4)
        places = [(r, c) for r in range(9) for c in range(9) if np.array_equal(canvas[r : r + 8, c : c + 8], image)]
        assert len(places) == 1
        assert canvas.sum() == pytest.approx(image.sum(), rel=1e-5)


@given(st.lists(st.integers(0, 4), min_size=5, max_size=60), st.integers(0, 2**32), st.data())
def test_subsamples_keep_every_class(classes: list[int], seed: int, data: st.DataObject) -> None:
    labels = np.array(classes, np.int64)
    size = data.draw(st.integers(len(set(classes)), len(classes)))
    rows = subsample(labels, size, np.random.default_rng(seed))
    assert len(set(rows.tolist())) == size
    assert set(labels[rows].tolist()) == set(classes)
    assert set(labels[rows[-len(set(classes)) :]].tolist()) == set(classes)  # also without what is held out


@pytest.mark.parametrize(("size", "words"), [(1, "cannot keep all 2 classes"), (9, "cannot be drawn from 4")])
def test_impossible_subsamples_are_refused(size: int, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        subsample(np.array([0, 0, 1, 1]), size, np.random.default_rng(0))

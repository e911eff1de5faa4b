"""Word vectors in GloVe's text form: a word and its numbers a line, between spaces; plain, .gz or .xz.

Only the lines of wanted words are turned into numbers, so a file of gigabytes takes seconds. A first line of two whole
numbers, the header of word2vec's text form, is passed over.
"""

import math
import re
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from attnlab.data.reading import opened
from attnlab.errors import UsageError

GET_VECTORS = (
    "a table of GloVe (Pennington, Socher and Manning 2014, nlp.stanford.edu/projects/glove): "
    "glove/glove.6B.300d.txt, also .gz or .xz"
)
_HEADER = re.compile(rb"\d+ \d+\s*")


class Vectors(NamedTuple):
    """``ids``: (n,) the wanted words that have a vector, rising. ``matrix``: (n, size) float32, their vectors."""

    ids: NDArray[np.int64]
    matrix: NDArray[np.float32]


def read_vectors(path: Path, words: Sequence[str]) -> Vectors:
    """The vectors of those ``words`` that have one; a word's id is its place. If a word has two, the first counts."""
    path = Path(path)
    wanted = {word.encode(): place for place, word in enumerate(words)}
    vectors: dict[int, list[float]] = {}
    twice: list[str] = []
    size = None
    with opened(path) as lines:
        for number, line in enumerate(lines, 1):
            if (number == 1 and _HEADER.fullmatch(line)) or not line.strip():
                continue
            word, *numbers = line.rstrip().split(b" ")
            size = size or len(numbers)
            if len(numbers) != size or size == 0:
                if len(numbers) > size > 0 and not _is_number(numbers[0]):
                    continue  # a word with spaces in it, as the largest GloVe tables have: nobody wants it
                raise UsageError(
                    f"{path}, line {number} has {len(numbers)} numbers after its word; "
                    f"{f'the first vector has {size}' if size else 'at least one is needed'}."
                )
            place = wanted.get(word)
            if place is None:
                continue
            if place in vectors:
                twice.append(words[place])
                continue
            vectors[place] = _numbers(path, number, numbers)
    if size is None:
        raise UsageError(f"{path} has no vectors.")
    if twice:
        warnings.warn(
            f"{path} has a second vector for {len(twice)} words, such as {twice[0]!r}; the first one counts.",
            stacklevel=2,
        )
    ids = np.array(sorted(vectors), np.int64)
    return Vectors(ids, np.array([vectors[place] for place in ids.tolist()], np.float32).reshape(len(ids), size))


def find_vectors(root: Path) -> Path:
    """The first file below ``root``/glove; every table of one GloVe release has the same words."""
    paths = vector_files(root)
    if not paths:
        raise UsageError(f"{root / 'glove'} has no word vectors; needed: {GET_VECTORS}.")
    return paths[0]


def vector_files(root: Path) -> list[Path]:
    """The files of word vectors in ``root``/glove."""
    return sorted(path for ending in ("txt", "txt.gz", "txt.xz") for path in (root / "glove").glob(f"*.{ending}"))


def _numbers(path: Path, line: int, fields: list[bytes]) -> list[float]:
    try:
        values = [float(field) for field in fields]
    except ValueError:
        bad = next(field for field in fields if not _is_number(field))
        raise UsageError(f"{path}, line {line}: {bad.decode('utf-8', 'replace')[:40]!r} is not a number.") from None
    if not all(map(math.isfinite, values)):
        raise UsageError(f"{path}, line {line} has a number that is not finite.")
    return values


def _is_number(field: bytes) -> bool:
    try:
        float(field)
    except ValueError:
        return False
    return True

"""The Stanford Sentiment Treebank as P1 reads it: whole sentences, lower-cased, without punctuation, as bags of words.

Read from the official bracketed trees ``{train,dev,test}.txt`` (or ``.txt.gz``), whose outermost label is the
sentence's.
"""

import gzip
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import torch

from attnlab.data.batch import Bags
from attnlab.errors import UsageError
from attnlab.families.topics.task import Split

Classes = Literal[2, 5]
PAD = "$pad$"

_LEAF = re.compile(r"\(\d ([^()]+)\)")
_ROOT = re.compile(r"\(([0-4]) ")
_PUNCTUATION = re.compile(r"[^\w\s]")


@dataclass(frozen=True)
class Corpus:
    """Labelled sentences and the words they are made of, in the order of their ids."""

    words: tuple[str, ...]
    split: Split
    classes: int

    def id(self, word: str) -> int:
        """The id of a word."""
        if word not in self.words:
            raise UsageError(f"The corpus has no word {word!r}; its {len(self.words)} words are lower-cased.")
        return self.words.index(word)


def sst_folder() -> Path:
    """Where the treebank is: the folder ``sst`` of the one that ATTNLAB_DATA names."""
    root = os.environ.get("ATTNLAB_DATA")
    if not root:
        raise UsageError("The Stanford Sentiment Treebank is needed: set ATTNLAB_DATA to a folder that holds sst.")
    return Path(root) / "sst"


def read_sst(folder: Path, classes: Classes, *, padded: bool = False) -> Corpus:
    """SST5, or SST2: without the middle label, 0 and 1 against 3 and 4.

    ``padded``: every sentence is filled up to the longest of all with one padding word, which the model attends to like
    any other: as released.
    """
    ids: dict[str, int] = {}
    parts = [_sentences(_open(folder, name), classes) for name in ("train", "dev", "test")]
    numbered = [
        [([ids.setdefault(word, len(ids)) for word in words], label) for words, label in part] for part in parts
    ]
    if padded:
        longest = max(len(words) for part in numbered for words, _ in part)
        pad = ids.setdefault(PAD, len(ids))
        numbered = [[(words + [pad] * (longest - len(words)), label) for words, label in part] for part in numbered]
    return Corpus(tuple(ids), Split(*(_bags(part) for part in numbered)), classes)


def _open(folder: Path, name: str) -> Iterator[tuple[Path, int, str]]:
    """The lines of a split, each with its file and number."""
    for path in (folder / f"{name}.txt", folder / f"{name}.txt.gz"):
        if path.is_file():
            opened = gzip.open if path.suffix == ".gz" else open
            with opened(path, "rt", encoding="utf-8") as lines:
                yield from ((path, number, line) for number, line in enumerate(lines, 1) if line.strip())
            return
    raise UsageError(f"{folder} has no {name}.txt or {name}.txt.gz; the treebank's trees are needed there.")


def _sentences(lines: Iterator[tuple[Path, int, str]], classes: Classes) -> list[tuple[list[str], int]]:
    """Words and label of every sentence that the task has."""
    sentences = []
    for path, number, line in lines:
        root = _ROOT.match(line)
        text = " ".join(_LEAF.findall(line)).lower()
        words = _PUNCTUATION.sub("", text).split()
        if root is None or not words:
            raise UsageError(f"{path}, line {number} is no labelled tree such as (3 (2 good) (2 film)): {line[:40]!r}.")
        label = int(root[1])
        if classes == 2 and label == 2:
            continue
        sentences.append((words, label if classes == 5 else int(label > 2)))
    return sentences


def _bags(sentences: list[tuple[list[int], int]]) -> Bags:
    lengths = torch.tensor([0, *(len(words) for words, _ in sentences)])
    words = torch.tensor([word for words, _ in sentences for word in words])
    return Bags(words, lengths.cumsum(0), torch.tensor([label for _, label in sentences]))

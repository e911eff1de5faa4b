"""The Stanford Sentiment Treebank as P1 reads it: whole sentences, lower-cased, without punctuation, as bags of words.

Read from the official bracketed trees ``{train,dev,test}.txt`` (or ``.txt.gz``): see `attnlab.data.corpora.sst`.
"""

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import torch

from attnlab.data.batch import Bags
from attnlab.data.corpora.corpus import first
from attnlab.data.corpora.sst import MIDDLE, read_trees
from attnlab.errors import UsageError
from attnlab.families.topics.task import Split

Classes = Literal[2, 5]
PAD = "$pad$"
PARTS = ("train", "dev", "test")

_PUNCTUATION = re.compile(r"[^\w\s]")


@dataclass(frozen=True)
class Treebank:
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


def sst_files(folder: Path) -> list[Path]:
    """The trees' three files."""
    return [_file(folder, name) for name in PARTS]


def _file(folder: Path, part: str) -> Path:
    path = first(folder, f"{part}.txt")
    if path is None:
        raise UsageError(f"{folder} has no {part}.txt or {part}.txt.gz; the treebank's trees are needed there.")
    return path


def read_sst(folder: Path, classes: Classes, *, padded: bool = False) -> Treebank:
    """SST5, or SST2: without the middle label, 0 and 1 against 3 and 4.

    ``padded``: every sentence is filled up to the longest of all with one padding word, which the model attends to like
    any other: as released.
    """
    ids: dict[str, int] = {}
    parts = [_sentences(folder, name, classes) for name in PARTS]
    coded = [[([ids.setdefault(word, len(ids)) for word in words], label) for words, label in part] for part in parts]
    if padded:
        longest = max(len(words) for part in coded for words, _ in part)
        pad = ids.setdefault(PAD, len(ids))
        coded = [[(words + [pad] * (longest - len(words)), label) for words, label in part] for part in coded]
    return Treebank(tuple(ids), Split(*(_bags(part) for part in coded)), classes)


def _sentences(folder: Path, name: str, classes: Classes) -> list[tuple[list[str], int]]:
    """Words and label of every sentence of a split that the task has."""
    sentences = []
    for tree in read_trees(_file(folder, name)):
        words = _PUNCTUATION.sub("", " ".join(tree.leaves).lower()).split()
        if not words:
            raise UsageError(f"{tree.place} is a sentence without a word: {' '.join(tree.leaves)[:40]!r}.")
        if classes == 5 or tree.label != MIDDLE:
            sentences.append((words, tree.label if classes == 5 else int(tree.label > MIDDLE)))
    return sentences


def _bags(sentences: list[tuple[list[int], int]]) -> Bags:
    lengths = torch.tensor([0, *(len(words) for words, _ in sentences)])
    words = torch.tensor([word for words, _ in sentences for word in words])
    return Bags(words, lengths.cumsum(0), torch.tensor([label for _, label in sentences]))

"""The Stanford Sentiment Treebank: its trees, and as a corpus without the middle label: 3 and 4 against 0 and 1.

Whole sentences, from the official bracketed trees; the words are the trees' leaves. In the corpus brackets, which the
trees write as -LRB- and -RRB-, are brackets again and so no words.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from attnlab.data.corpora.corpus import Found, HubSource, Known, PaperSizes, Part, Raw, find_files
from attnlab.data.reading import read_lines
from attnlab.errors import UsageError

_ROOT = re.compile(r"\(([0-4]) ")
_LEAF = re.compile(r"\([0-4] ([^()]+)\)")
_BRACKET = re.compile(r"-[LR][RSC]B-")
MIDDLE = 2


def read(found: Found) -> Raw:
    """Sentences of both splits."""
    (train, train_middle), (test, test_middle) = (_part(found.train[0]), _part(found.test[0]))
    note = f"{train_middle} training and {test_middle} test sentences with the middle label are left out."
    return Raw(train, test, (note,))


class Tree(NamedTuple):
    """A sentence: its leaves in order, its label from 0 to 4, and its file and line."""

    leaves: list[str]
    label: int
    place: str


def read_trees(path: Path) -> Iterator[Tree]:
    """The sentences of a file of trees, one on each line; the outermost label is the sentence's. Plain, .gz or .xz."""
    for number, line in enumerate(read_lines(path), 1):
        if not line.strip():
            continue
        root, leaves = _ROOT.match(line), _LEAF.findall(line)
        if root is None or not leaves:
            raise UsageError(f"{path}, line {number} is no labelled tree such as (3 (2 good) (2 film)): {line[:40]!r}.")
        yield Tree(leaves, int(root[1]), f"{path}, line {number}")


def _part(path: Path) -> tuple[Part, int]:
    trees = list(read_trees(path))
    kept = [tree for tree in trees if tree.label != MIDDLE]
    texts = [_BRACKET.sub(" ", " ".join(tree.leaves)) for tree in kept]
    return Part(texts, [int(tree.label > MIDDLE) for tree in kept]), len(trees) - len(kept)


KNOWN = Known(
    name="sst",
    title="Stanford Sentiment Treebank",
    classes=("negative", "positive"),
    find=lambda root: find_files(root, ("sst", "trees", "sst/trees"), ("trees", ["train.txt"], ["test.txt"])),
    read=read,
    get="the trees of the Stanford Sentiment Treebank (Socher et al. 2013, nlp.stanford.edu/sentiment): "
    "sst/train.txt and sst/test.txt, also .gz",
    paper=PaperSizes(valid=1421, vocabulary=11022),
    hub=HubSource("SetFit/sst5", ("text",), "label", {0: 0, 1: 0, 3: 1, 4: 1}),
)

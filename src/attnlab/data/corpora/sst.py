"""The Stanford Sentiment Treebank without its middle label: 3 and 4 (positive) against 0 and 1.

Whole sentences, from the official bracketed trees; the words are the trees' leaves. Brackets, which the trees write as
-LRB- and -RRB-, are brackets again and so no words.
"""

import re
from pathlib import Path

from attnlab.data.corpora.corpus import Found, HubSource, Known, PaperSizes, Part, Raw, first
from attnlab.data.reading import read_lines
from attnlab.errors import UsageError

_ROOT = re.compile(r"\(([0-4]) ")
_LEAF = re.compile(r"\([0-4] ([^()]+)\)")
_BRACKET = re.compile(r"-[LR][RSC]B-")
MIDDLE = 2


def find(root: Path) -> Found | None:
    """Trees ``{train,test}.txt`` in sst, trees or sst/trees."""
    for folder in (root / "sst", root / "trees", root / "sst" / "trees"):
        train, test = first(folder, "train.txt"), first(folder, "test.txt")
        if train and test:
            return Found("trees", (train,), (test,))
    return None


def read(found: Found) -> Raw:
    """Sentences of both splits."""
    (train, train_middle), (test, test_middle) = (_part(found.train[0]), _part(found.test[0]))
    note = f"{train_middle} training and {test_middle} test sentences with the middle label are left out."
    return Raw(train, test, (note,))


def _part(path: Path) -> tuple[Part, int]:
    texts, labels, middle = [], [], 0
    for number, line in enumerate(read_lines(path), 1):
        if not line.strip():
            continue
        root, leaves = _ROOT.match(line), _LEAF.findall(line)
        if root is None or not leaves:
            raise UsageError(f"{path}, line {number} is no labelled tree such as (3 (2 good) (2 film)): {line[:40]!r}.")
        label = int(root[1])
        if label == MIDDLE:
            middle += 1
            continue
        texts.append(_BRACKET.sub(" ", " ".join(leaves)))
        labels.append(int(label > MIDDLE))
    return Part(texts, labels), middle


KNOWN = Known(
    name="sst",
    title="Stanford Sentiment Treebank",
    classes=("negative", "positive"),
    find=find,
    read=read,
    get="the trees of the Stanford Sentiment Treebank (Socher et al. 2013, nlp.stanford.edu/sentiment): "
    "sst/train.txt and sst/test.txt, also .gz",
    paper=PaperSizes(valid=1421, vocabulary=11022),
    hub=HubSource("SetFit/sst5", ("text",), "label", {0: 0, 1: 0, 3: 1, 4: 1}),
)

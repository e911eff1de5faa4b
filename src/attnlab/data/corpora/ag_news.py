"""AG News: world against business news, title and description. Sports and science are not part of the task."""

import csv
import io
from pathlib import Path

from attnlab.data.corpora.corpus import Found, HubSource, Known, PaperSizes, Part, Raw, first
from attnlab.data.labelled_file import check_quotes, read_columns
from attnlab.data.reading import read_utf8
from attnlab.data.tokens import TokenRule
from attnlab.errors import UsageError

LABELS = {"1": 0, "3": 1}
OTHERS = ("2", "4")
"""Sports, and science and technology."""


def find(root: Path) -> Found | None:
    """``train.csv`` and ``test.csv``; or, with ``test.csv``, the subset ``train_subset.tsv`` of the training set."""
    for folder in (root / "ag_news", root / "ag_news_csv", root / "ag_news" / "ag_news_csv"):
        test = first(folder, "test.csv")
        if test and (train := first(folder, "train.csv")):
            return Found("train.csv and test.csv", (train,), (test,))
        if test and (train := first(folder, "train_subset.tsv")):
            return Found("train_subset.tsv and test.csv", (train,), (test,))
    return None


def read(found: Found) -> Raw:
    """Both splits."""
    train, test = found.train[0], found.test[0]
    subset = ".tsv" in train.suffixes
    first_part, first_others = _chosen(train, *(_subset(train) if subset else _csv(train)))
    second_part, second_others = _chosen(test, *_csv(test))
    notes = [f"The training texts are those of {train.name}, a part of the official training set."] if subset else []
    if first_others or second_others:
        notes.append(f"{first_others} training and {second_others} test texts on sports or science are left out.")
    return Raw(first_part, second_part, tuple(notes))


def _csv(path: Path) -> tuple[list[str], list[str]]:
    """The official form: class, title, description, all quoted, without a header."""
    texts, labels = [], []
    data = read_utf8(path)
    check_quotes(path, data)
    rows = csv.reader(io.StringIO(data.decode("utf-8"), newline=""))
    try:
        for row in rows:
            if not row:  # an empty line: no text, but a row, so that those behind it keep their numbers
                row = ["", "", ""]
            if len(row) != 3:
                raise UsageError(f"{path}, line {rows.line_num} has {len(row)} columns, not class, title, description.")
            labels.append(row[0])
            texts.append(f"{row[1]} {row[2]}".strip())
    except csv.Error as error:
        raise UsageError(f"{path}, line {rows.line_num} is no CSV ({error}).") from None
    return texts, labels


def _subset(path: Path) -> tuple[list[str], list[str]]:
    texts, labels = read_columns(path, ["text", "class"])
    return texts.to_pylist(), labels.to_pylist()


def _chosen(path: Path, texts: list[str], labels: list[str]) -> tuple[Part, int]:
    """The texts of the task's classes, and how many there are of the others."""
    for row, (text, label) in enumerate(zip(texts, labels, strict=True), 1):
        if label not in LABELS and label not in OTHERS and (text or label):
            raise UsageError(f"{path}, row {row}: the class must be 1, 2, 3 or 4, not {label[:40]!r}.")
    rows = [row for row, label in enumerate(labels) if label in LABELS]
    others = sum(label in OTHERS for label in labels)
    return Part([texts[row] for row in rows], [LABELS[labels[row]] for row in rows]), others


KNOWN = Known(
    name="ag_news",
    title="AG News, world against business",
    classes=("world", "business"),
    find=find,
    read=read,
    get="the AG News topic classification set (Zhang, Zhao and LeCun 2015): ag_news/train.csv and ag_news/test.csv",
    rule=TokenRule(numbers=True),
    paper=PaperSizes(vocabulary=31065),
    hub=HubSource("fancyzhx/ag_news", ("text",), "label", {0: 0, 2: 1}),
)

"""AG News: world against business news, title and description. Sports and science are not part of the task."""

import csv
import io
from pathlib import Path

from attnlab.data.corpora.corpus import Found, HubSource, Known, PaperSizes, Part, Raw, find_files
from attnlab.data.labelled_file import check_quotes, read_columns
from attnlab.data.reading import read_utf8
from attnlab.data.tokens import TokenRule
from attnlab.errors import UsageError

LABELS = {"1": 0, "3": 1}
OTHERS = ("2", "4")
"""Sports, and science and technology."""


def read(found: Found) -> Raw:
    """Both splits."""
    train, test = found.train[0], found.test[0]
    subset = ".tsv" in train.suffixes
    columns = (column.to_pylist() for column in read_columns(train, ["text", "class"])) if subset else _csv(train)
    first_part, first_others = _chosen(train, *columns)
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
            if not row:  # an empty line: no text, but a row, so that those after it keep their numbers
                row = ["", "", ""]
            if len(row) != 3:
                raise UsageError(f"{path}, line {rows.line_num} has {len(row)} columns, not class, title, description.")
            labels.append(row[0])
            texts.append(f"{row[1]} {row[2]}".strip())
    except csv.Error as error:
        raise UsageError(f"{path}, line {rows.line_num} is no CSV ({error}).") from None
    return texts, labels


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
    find=lambda root: find_files(
        root,
        ("ag_news", "ag_news_csv", "ag_news/ag_news_csv"),
        ("train.csv and test.csv", ["train.csv"], ["test.csv"]),
        ("train_subset.tsv and test.csv", ["train_subset.tsv"], ["test.csv"]),  # a part of the training set
    ),
    read=read,
    get="the AG News topic classification set (Zhang, Zhao and LeCun 2015): ag_news/train.csv and ag_news/test.csv",
    rule=TokenRule(numbers=True),
    paper=PaperSizes(vocabulary=31065),
    hub=HubSource("fancyzhx/ag_news", ("text",), "label", {0: 0, 2: 1}),
)

"""IMDB reviews (Maas et al. 2011): 25,000 to train, 25,000 to test; ``<br />`` is a space."""

from pathlib import Path

from attnlab.data.corpora.corpus import Found, HubSource, Known, PaperSizes, Part, Raw, find_files, find_folders
from attnlab.data.labelled_file import read_columns
from attnlab.data.reading import read_utf8
from attnlab.data.tokens import TokenRule
from attnlab.errors import UsageError

CLASSES = ("neg", "pos")


def read(found: Found) -> Raw:
    """Both splits, from folders or tables; the reviews without a label (``unsup``) are not part of the task."""
    part = _folder if found.form == "folders" else _table
    return Raw(part(found.train), part(found.test))


def _folder(files: tuple[Path, ...]) -> Part:
    texts = [read_utf8(path).decode("utf-8") for path in files]
    return Part(texts, [CLASSES.index(path.parent.name) for path in files])


def _table(files: tuple[Path, ...]) -> Part:
    texts, labels = (column.to_pylist() for column in read_columns(files[0], ["text", "label"]))
    for line, label in enumerate(labels, 2):
        if label not in CLASSES:
            raise UsageError(f"{files[0]}, line {line}: the label must be neg or pos, not {label[:40]!r}.")
    return Part(texts, [CLASSES.index(label) for label in labels])


KNOWN = Known(
    name="imdb",
    title="IMDB reviews",
    classes=("negative", "positive"),
    find=lambda root: (
        find_folders(root, ("aclImdb", "imdb/aclImdb", "imdb"), ("train", "test"), CLASSES, "*.txt")
        or find_files(root, ["imdb"], ("train.tsv and test.tsv", ["train.tsv"], ["test.tsv"]))
    ),
    read=read,
    get="the Large Movie Review Dataset (Maas et al. 2011, ai.stanford.edu/~amaas/data/sentiment), unpacked as aclImdb",
    rule=TokenRule(breaks=True),
    paper=PaperSizes(train=25000, valid=4000, vocabulary=60338),
    hub=HubSource("stanfordnlp/imdb", ("text",), "label", {0: 0, 1: 1}),
)

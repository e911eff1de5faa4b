"""IMDB reviews (Maas et al. 2011): 25,000 to train, 25,000 to test; ``<br />`` is a space."""

from pathlib import Path

from attnlab.data.corpora.corpus import Found, HubSource, Known, PaperSizes, Part, Raw, first
from attnlab.data.labelled_file import read_columns
from attnlab.data.reading import read_utf8
from attnlab.data.tokens import TokenRule
from attnlab.errors import UsageError

CLASSES = ("neg", "pos")


def find(root: Path) -> Found | None:
    """The archive's folder ``aclImdb``; or ``{train,test}.tsv`` with the columns label and text."""
    for folder in (root / "aclImdb", root / "imdb" / "aclImdb", root / "imdb"):
        if all((folder / part / label).is_dir() for part in ("train", "test") for label in CLASSES):
            return Found("folders", _reviews(folder / "train"), _reviews(folder / "test"))
    train, test = first(root / "imdb", "train.tsv"), first(root / "imdb", "test.tsv")
    return Found("train.tsv and test.tsv", (train,), (test,)) if train and test else None


def _reviews(folder: Path) -> tuple[Path, ...]:
    return tuple(path for label in CLASSES for path in sorted((folder / label).glob("*.txt")))


def read(found: Found) -> Raw:
    """Both splits; the reviews without a label (``unsup``) are not part of the task."""
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
    find=find,
    read=read,
    get="the Large Movie Review Dataset (Maas et al. 2011, ai.stanford.edu/~amaas/data/sentiment), unpacked as aclImdb",
    rule=TokenRule(breaks=True),
    paper=PaperSizes(train=25000, valid=4000, vocabulary=60338),
    hub=HubSource("stanfordnlp/imdb", ("text",), "label", {0: 0, 1: 1}),
)

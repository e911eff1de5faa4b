"""What every known corpus says of itself, where its files are looked for, and what reading it gives."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path

from attnlab.data.tokens import TokenRule


@dataclass(frozen=True, eq=False)
class Part:
    """Texts and their labels as they are in the files, before they are cut into words.

    ``rows``, ``path``: (texts,) where each is in its file, and the file, where a user may want to know.
    """

    texts: Sequence[str]
    labels: Sequence[int]
    rows: Sequence[int] | None = None
    path: Path | None = None


@dataclass(frozen=True, eq=False)
class Raw:
    """``test`` is None where the corpus has no official split. ``notes``: what was left out, a sentence each."""

    train: Part
    test: Part | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Found:
    """The files of a corpus: ``form`` says which of its forms they are."""

    form: str
    train: tuple[Path, ...]
    test: tuple[Path, ...] = ()

    @property
    def files(self) -> tuple[Path, ...]:
        """All of them."""
        return self.train + self.test


@dataclass(frozen=True)
class PaperSizes:
    """What is known of the paper's sizes (P3 Table 8, A.9); None where it is not."""

    train: int | None = None
    valid: int | None = None
    median_length: int | None = None
    vocabulary: int | None = None


@dataclass(frozen=True)
class HubSource:
    """Where the ``hub`` extra finds the corpus: the dataset's name and configuration, and its columns.

    ``text``: columns that make up the text. ``labels``: the label column's values -> our labels; others are left out.
    ``test``: the official test split, None without one. ``most``: texts to take at most.
    """

    dataset: str
    text: tuple[str, ...]
    label: str
    labels: dict[object, int]
    configuration: str | None = None
    test: str | None = "test"
    most: int | None = None


@dataclass(frozen=True)
class Known:
    """A corpus that is known by name.

    ``find`` looks for its files in a data folder; ``read`` reads those found. ``longest``: texts of more words are left
    out. ``training``: how many texts train where there is no official split; None means four fifths.
    """

    name: str
    title: str
    classes: tuple[str, str]
    find: Callable[[Path], Found | None]
    read: Callable[[Found], Raw]
    get: str
    rule: TokenRule = field(default_factory=TokenRule)
    longest: int | None = None
    training: int | None = None
    paper: PaperSizes = field(default_factory=PaperSizes)
    hub: HubSource | None = None


def first(folder: Path, *names: str) -> Path | None:
    """The first of ``names`` that is a file in ``folder``, plain or packed."""
    paths = (folder / f"{name}{packed}" for name in names for packed in ("", ".gz", ".xz"))
    return next((path for path in paths if path.is_file()), None)


def find_files(root: Path, folders: Sequence[str], *forms: tuple[str, Sequence[str], Sequence[str]]) -> Found | None:
    """All files of one of ``forms`` (its name, training files, test files) in one of the ``folders`` of ``root``."""
    for folder, (form, train, test) in product(folders, forms):
        files = [path for name in (*train, *test) if (path := first(root / folder, name))]
        if len(files) == len(train) + len(test):
            return Found(form, tuple(files[: len(train)]), tuple(files[len(train) :]))
    return None


def find_folders(
    root: Path, folders: Sequence[str], splits: Sequence[str], classes: Sequence[str], names: str = "*"
) -> Found | None:
    """The texts, files called ``names``, of a folder of ``root`` that has ``splits`` with a folder for each class."""
    for folder in folders:
        parts = [[root / folder / part / name for name in classes] for part in splits]
        if all(path.is_dir() for part in parts for path in part):
            files = ((file for path in part for file in sorted(path.glob(names)) if file.is_file()) for part in parts)
            return Found("folders", *map(tuple, files))
    return None

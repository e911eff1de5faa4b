"""What every known corpus says of itself, and what reading it gives."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from attnlab.data.tokens import TokenRule


@dataclass(frozen=True, eq=False)
class Part:
    """Texts and their labels as they stand in the files, before they are cut into words.

    ``rows``, ``path``: (texts,) where each stands in its file, and the file, where a user may want to know.
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
    for name in names:
        for path in (folder / f"{name}{packed}" for packed in ("", ".gz", ".xz")):
            if path.is_file():
                return path
    return None

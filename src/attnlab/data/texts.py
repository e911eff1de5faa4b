"""A user's labelled texts from one file, as a forecast takes them.

A label is the one output word of its text (P3 2.4), so labelled texts are sentence pairs. Texts are lower-cased and cut
at everything that is no letter, mark, digit or apostrophe. A row whose text has no word, or whose label is missing
(empty or ``nan``), is left out, and the notes say which; rows are counted from 1 without the header.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from attnlab.data.labelled_file import read_columns
from attnlab.data.own_file import SHOWN, check_groups, count_rows, explain_rows, given_labels, id_like, parse_groups
from attnlab.data.sentence_pairs import SentencePairs
from attnlab.errors import UsageError
from attnlab.files import as_path

_NO_WORD = r"[^\pL\pM\pN']+"


@dataclass(frozen=True, eq=False)
class LabelledTexts:
    """``pairs``: the texts' words and their labels. ``left_out``: rows without words or label, counted from 1.

    ``unmapped``: rows with a label that the map does not name. ``path``: their file.
    """

    pairs: SentencePairs
    left_out: tuple[int, ...]
    path: Path
    unmapped: tuple[int, ...] = ()

    def __len__(self) -> int:
        return len(self.pairs)

    @property
    def rows(self) -> NDArray[np.int64]:
        """(texts,) the row of each text that is left, counted as those left out are."""
        out = np.array([*self.left_out, *self.unmapped], np.int64)
        return np.delete(np.arange(1, len(self) + len(out) + 1), out - 1)

    @property
    def notes(self) -> tuple[str, ...]:
        """What was left out, and which labels are too rare to learn anything about, a sentence each."""
        notes = [
            f"{self.path.name}: " + count_rows(np.arange(len(rows)), rows, "row", which)
            for rows, which in ((self.left_out, "without words or label"), (self.unmapped, "with a label not mapped"))
            if rows
        ]
        labels, label = self.pairs.target_words, self.pairs.target
        once = np.flatnonzero(np.bincount(label, minlength=len(labels))[label] == 1)
        if why := id_like(len(labels), len(self)):
            notes.append(f"{self.path.name}: {why}; is another column meant?")
        elif len(once):
            rows = self.rows[once[:SHOWN]].tolist()
            first = [f"{labels[label[text]][:40]!r} in row {row}" for text, row in zip(once, rows, strict=False)]
            named = ", ".join(first) + ", ..." * (len(once) > SHOWN)
            noun, have, them = ("label", "has", "it") if len(once) == 1 else ("labels", "have", "them")
            notes.append(
                f"{self.path.name}: {len(once)} {noun} ({named}) {have} one text only, so nothing is said about {them}."
            )
        return explain_rows(notes, self.path)


def read_texts(
    path: str | Path, *, text: str = "text", label: str = "label", map: str | Mapping[str, str] | None = None
) -> LabelledTexts:
    """The texts in column ``text`` and their labels in column ``label`` of a .csv, .tsv, .json(l) or .parquet file.

    All but Parquet may be packed (.gz, .xz). ``map`` says which labels make which class, as ``"1,2=neg 4,5=pos"`` or as
    a dictionary; rows with other labels are left out.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "reviews.csv"
    ...     _ = path.write_text("review,stars\\nA lovely film!,5\\nAn awful film,1\\nA film,3\\n")
    ...     texts = read_texts(path, text="review", label="stars", map="1=bad 5=good")
    >>> len(texts), texts.pairs.source_words, texts.pairs.target_words
    (2, ['a', 'lovely', 'film', 'an', 'awful'], ['good', 'bad'])
    >>> texts.notes[0]
    'reviews.csv: 1 row with a label not mapped is left out (row 3).'
    """
    path = as_path(path, "A file of labelled texts")
    grouping = parse_groups(map)
    texts, labels = read_columns(path, [text, label])
    words = pc.utf8_trim_whitespace(pc.replace_substring_regex(pc.utf8_lower(texts), _NO_WORD, " "))
    labels = given_labels(labels)
    whole = np.asarray(pc.and_(pc.not_equal(words, ""), pc.not_equal(labels, "")))
    mapped = np.ones(len(whole), dtype=bool)
    if grouping is not None:
        names = labels.to_pylist()
        there = set(names) - {""}
        check_groups(path, label, grouping, there)
        mapped = np.array([name in grouping for name in names], dtype=bool)
        labels = pa.array([grouping.get(name, "") for name in names], pa.large_string())
    used = whole & mapped
    if not used.any():
        raise UsageError(f"{path} has no row with words in its text and a label.")
    left_out, unmapped = (tuple((np.flatnonzero(rows) + 1).tolist()) for rows in (~whole, whole & ~mapped))
    return LabelledTexts(_paired(words.filter(pa.array(used)), labels.filter(pa.array(used))), left_out, path, unmapped)


def _paired(texts: pa.Array, labels: pa.Array) -> SentencePairs:
    """Words between single blanks, and labels, as ids."""
    split = pc.split_pattern(texts, " ")
    encoded = [column.dictionary_encode() for column in (split.flatten(), labels)]
    words, names = (column.indices.to_numpy().astype(np.int32) for column in encoded)
    offsets = split.offsets.to_numpy().astype(np.int64)
    vocabularies = (column.dictionary.to_pylist() for column in encoded)
    return SentencePairs(words, offsets - offsets[0], names, np.arange(len(names) + 1, dtype=np.int64), *vocabularies)

"""A user's labelled texts from one file, as a forecast takes them.

A label is the one output word of its text (P3 2.4), so labelled texts are sentence pairs. Texts are cut into words as
`attnlab.data.tokens` does it for training; what is written without spaces is cut further. A row whose text has no word,
or whose label is missing (empty or ``nan``), is left out, and the notes say which; rows are counted from 1 without the
header.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from attnlab.data.labelled_file import read_columns
from attnlab.data.own_file import SHOWN, check_groups, count_rows, explain_rows, given_labels, id_like, parse_groups
from attnlab.data.sentence_pairs import SentencePairs
from attnlab.data.tokens import TokenRule, Tokens, tokenise
from attnlab.errors import UsageError
from attnlab.files import as_path

LONG = 20
"""Letters of the mean word from which on texts of one word are taken for texts without spaces."""
PIECE = 3
_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
    "\U00020000-\U0003ffff"
)
"""Thai, Lao, Burmese, Khmer, Japanese and Chinese characters."""
_CHARACTER = re.compile(f"[{_UNSPACED}]")
_CHARACTER_OR_WORD = re.compile(f"[{_UNSPACED}]|[^{_UNSPACED}]+")


@dataclass(frozen=True, eq=False)
class LabelledTexts:
    """``pairs``: the texts' words and their labels. ``left_out``: rows without words or label, counted from 1.

    ``unmapped``: rows with a label that the map does not name. ``path``: their file. ``texts``: as they were read.
    ``cut``: what words are, where texts are written without spaces. ``columns``: those of the texts and the labels;
    ``groups``: the map from labels to classes, if there is one.
    """

    pairs: SentencePairs
    left_out: tuple[int, ...]
    path: Path
    unmapped: tuple[int, ...] = ()
    texts: Sequence[str] | None = None
    cut: str = ""
    columns: tuple[str, str] = ("text", "label")
    groups: Mapping[str, str] | None = None

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
        if self.cut:
            notes.append(
                f"{self.path.name}: its texts are written without spaces; here {self.cut} count as words. Training and "
                "`attnlab data` take what is between spaces and punctuation for a word, so put spaces between words."
            )
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
    written = texts.to_pylist()
    tokens, cut = _tokenised(written)
    labels = given_labels(labels)
    whole = (tokens.lengths > 0) & np.asarray(pc.not_equal(labels, ""))
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
    kept = [one for one, there in zip(written, used.tolist(), strict=True) if there]
    pairs = _paired(tokens, labels, used)
    return LabelledTexts(pairs, left_out, path, unmapped, kept, cut, (text, label), grouping)


class _Characters(TokenRule):
    """Every character of a script without spaces is a word."""

    def words(self, text: str) -> list[str]:
        return [one for word in super().words(text) for one in _CHARACTER_OR_WORD.findall(word)]


class _Pieces(TokenRule):
    """All runs of ``PIECE`` characters are words."""

    def words(self, text: str) -> list[str]:
        words = super().words(text)
        return [word[k : k + PIECE] for word in words for k in range(max(1, len(word) - PIECE + 1))]


def _tokenised(texts: Sequence[str]) -> tuple[Tokens, str]:
    """The texts' words, and what they are where texts are written without spaces."""
    tokens = tokenise(texts, TokenRule())
    count = np.bincount(tokens.ids, minlength=len(tokens.words))
    letters = count @ np.array([len(word) for word in tokens.words], np.int64)
    unspaced = count @ np.array([len(_CHARACTER.findall(word)) for word in tokens.words], np.int64)
    if unspaced > letters / 2:
        return tokenise(texts, _Characters()), "single characters"
    one_word = len(tokens.ids) and np.median(tokens.lengths[tokens.lengths > 0]) == 1
    if one_word and letters >= LONG * len(tokens.ids):
        return tokenise(texts, _Pieces()), f"all runs of {PIECE} characters"
    return tokens, ""


def _paired(tokens: Tokens, labels: pa.Array, used: NDArray[np.bool_]) -> SentencePairs:
    """The words and labels of the rows ``used``, as ids."""
    kept, words = np.unique(tokens.ids[np.repeat(used, tokens.lengths)], return_inverse=True)
    offsets = np.append(0, tokens.lengths[used].cumsum())
    encoded = labels.filter(pa.array(used)).dictionary_encode()
    names = encoded.indices.to_numpy().astype(np.int32)
    vocabulary = [tokens.words[one] for one in kept.tolist()]
    ends = np.arange(len(names) + 1, dtype=np.int64)
    return SentencePairs(words.astype(np.int32), offsets, names, ends, vocabulary, encoded.dictionary.to_pylist())

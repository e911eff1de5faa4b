"""Texts cut into words.

A word is a run of word characters of the lower-cased text, ``\\w+`` with Unicode's letters, digits and the underscore.
The paper says only "word level", and that the median SMS has 13 words (P3 A.9): this rule gives exactly 13. Cutting at
spaces gives 12; with punctuation kept as words of its own it is 15 or 16.
"""

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

_WORD = re.compile(r"\w+")
_BREAK = re.compile(r"<br\s*/?>", re.IGNORECASE)
_LONG_NUMBER = re.compile(r"\d\d+")


@dataclass(frozen=True)
class TokenRule:
    """What a corpus does besides. Each is off unless its corpus says so.

    ``breaks``: ``<br />`` is a space (IMDB). ``underscores``: words are cut at "_" too (20 Newsgroups). ``numbers``:
    integers of more than one digit are unknown words (AG News, 20 Newsgroups).
    """

    breaks: bool = False
    underscores: bool = False
    numbers: bool = False

    def words(self, text: str) -> list[str]:
        """The words of one text, in reading order.

        >>> TokenRule().words("It's GREAT, isn't it?")
        ['it', 's', 'great', 'isn', 't', 'it']
        """
        if self.breaks:
            text = _BREAK.sub(" ", text)
        if self.underscores:
            text = text.replace("_", " ")
        return _WORD.findall(text.lower())

    def is_unknown(self, word: str) -> bool:
        """Whether this rule makes ``word`` an unknown one, however often it occurs."""
        return self.numbers and _LONG_NUMBER.fullmatch(word) is not None


@dataclass(frozen=True, eq=False)
class Tokens:
    """Texts as numbers: ``ids`` (tokens,) into ``words``, which stand in order of first use; ``lengths`` (texts,)."""

    ids: NDArray[np.int32]
    lengths: NDArray[np.int64]
    words: list[str]


def tokenise(texts: Sequence[str], rule: TokenRule) -> Tokens:
    """Every text's words as numbers."""
    seen: defaultdict[str, int] = defaultdict()
    seen.default_factory = seen.__len__  # a new word gets the next number, within the interpreter's own loop
    numbered = []
    for text in texts:
        words = rule.words(text)
        numbered.append(np.fromiter(map(seen.__getitem__, words), np.int32, len(words)))
    lengths = np.array([len(ids) for ids in numbered], np.int64)
    ids = np.concatenate(numbered) if numbered else np.zeros(0, np.int32)
    return Tokens(ids, lengths, list(seen))

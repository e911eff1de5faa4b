"""Texts cut into words, and which of these have an id of their own; all others share the id of ``<unk>``.

A word is a run of word characters of the lower-cased text, ``\\w+`` with Unicode's letters, digits and the underscore.
The paper says only "word level", and that the median SMS has 13 words (P3 A.9): this rule gives exactly 13. Cutting at
spaces gives 12; with punctuation kept as words of its own it is 15 or 16.
"""

import re
from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Literal, cast, get_args

import numpy as np
from numpy.typing import NDArray

from attnlab.errors import UsageError

VocabularyRule = Literal["text", "released"]
"""``text``: words with a count of 3 or more, as the paper says. ``released``: also every training word that has a
vector in the GloVe table, as the paper's code does; that is where its large vocabularies come from."""

UNKNOWN = "<unk>"
LEAST = 3

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
    """Texts as numbers: ``ids`` (tokens,) into ``words``, which are in order of first use; ``lengths`` (texts,)."""

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


def check_vocabulary_rule(rule: str) -> VocabularyRule:
    """The rule, if it is one."""
    if rule not in get_args(VocabularyRule):
        raise UsageError(f"There is no vocabulary rule {rule!r}; the rules are {', '.join(get_args(VocabularyRule))}.")
    return cast(VocabularyRule, rule)


def choose_words(
    words: Sequence[str], counts: NDArray[np.int64], unknown: Collection[str] = (), kept: Collection[str] = ()
) -> tuple[tuple[str, ...], NDArray[np.int64]]:
    """The vocabulary, and for each of ``words`` its id there: 0, ``<unk>``, for those without one of their own.

    ``counts``: (words,) occurrences in the training texts. ``unknown``: words that never get an id. ``kept``: words
    that get one if they occur at all. Ids run by falling count, then alphabetically.
    """
    chosen = [
        place
        for place, (word, count) in enumerate(zip(words, counts.tolist(), strict=True))
        if (count >= LEAST or (count > 0 and word in kept)) and word not in unknown
    ]
    chosen.sort(key=lambda place: (-counts[place], words[place]))
    ids = np.zeros(len(words), np.int64)
    ids[chosen] = np.arange(1, len(chosen) + 1)
    return (UNKNOWN, *(words[place] for place in chosen)), ids

"""Which words of the training texts have an id of their own; all others share the id of ``<unk>``."""

from collections.abc import Collection, Sequence
from typing import Literal, cast, get_args

import numpy as np
from numpy.typing import NDArray

from attnlab.errors import UsageError

VocabularyRule = Literal["text", "released"]
"""``text``: words with a count of 3 or more, as the paper says. ``released``: also every training word that has a
vector in the GloVe table, as the paper's code does; that is where its large vocabularies come from."""

UNKNOWN = "<unk>"
LEAST = 3


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

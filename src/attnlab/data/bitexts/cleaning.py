"""Sentences before they are cut into pieces: control characters become spaces, pairs with an empty side go."""

import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from attnlab.data.bitexts.pairs import RawPairs
from attnlab.errors import UsageError

SHOWN = 5
"""Lines that a sentence names; of more it says how many."""
_CONTROL = re.compile("[\x00-\x08\x0e-\x1f\x7f-\x9f\u2028\u2029]+")
"""Characters that a terminal or another program may obey, white space apart."""

_BLANKS = re.compile(r"\s+", re.ASCII)
"""What is between words: hand alignments count them by it, so a no-break space is part of a word."""


def clean(pairs: RawPairs) -> tuple[RawPairs, list[str]]:
    """The pairs with text on both sides, and a sentence on each kind of mending."""
    notes = []
    sides, odd = [], np.zeros(len(pairs), bool)
    for side in (pairs.source, pairs.target):
        odd |= [_CONTROL.search(text) is not None for text in side]
        sides.append([mended(text) for text in side])
    empty = np.array([not (source and target) for source, target in zip(*sides, strict=True)], bool)
    if odd.any():
        notes.append(counted(pairs, odd, "pair", "with control characters", "read with spaces in their place"))
    if empty.any():
        notes.append(counted(pairs, empty, "pair", "with an empty side", "left out"))
    mended_pairs = RawPairs(sides[0], sides[1], pairs.rows, pairs.files).select(np.flatnonzero(~empty))
    if not len(mended_pairs):
        raise UsageError(f"There is no sentence pair with text on both sides in {pairs.files}.")
    return mended_pairs, notes


def mended(text: str) -> str:
    """A sentence without control characters, one space between its words."""
    return _BLANKS.sub(" ", _CONTROL.sub(" ", text)).strip(" ")


def counted(pairs: RawPairs, which: NDArray[np.bool_], what: str, kind: str, fate: str) -> str:
    """A sentence on pairs that are left out or altered: how many, and the lines of the first."""
    count, rows = int(which.sum()), pairs.rows[which]
    lines = ", ".join(map(str, rows[:SHOWN].tolist())) + ", ..." * (count > SHOWN)
    verb, line = ("is", "line") if count == 1 else ("are", "lines")
    return f"{pairs.files}: {count} {what}{'s' * (count > 1)} {kind} {verb} {fate} ({line} {lines})."


def spaceless(language: str, texts: Sequence[str]) -> list[str]:
    """A sentence on a side that has no spaces between its words; none if it has."""
    if sum(" " not in text for text in texts) <= len(texts) / 2:
        return []
    return [
        f"Most {language} sentences have no space, so each counts as one word: their pieces can be compared, but not "
        "joined to words."
    ]

"""What an audit says about the data before anything is trained."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnlab.data.labelled_text import Corpus
from attnlab.data.texts import LabelledTexts

FEWEST_TEXTS, FEWEST_OF_CLASS = 200, 20
"""Below these there is too little data for a verdict."""
DECIDES, CLOSED = 0.95, 0.8
"""A word alone decides the label if its presence gives this accuracy, and closes this share of the gap between the
commonest class and certainty."""
_DISCARDED = re.compile(r"[^\w\s]")


@dataclass(frozen=True)
class DecidingWord:
    """The word whose presence says the most about the class: ``accuracy`` of going by it alone."""

    word: str
    label: str
    accuracy: float
    decides: bool


@dataclass(frozen=True)
class DataFindings:
    """Counts over all texts that can be used, training and validation together; shares from 0 to 1.

    ``duplicates``: texts that were there before, word by word; ``contradictory``: those of them with another label than
    the first; ``leaked``: validation texts that are training texts, too. ``discarded``: the share of characters (but
    spaces) that are no part of a word, and the commonest of them. ``majority``: the commonest class of the validation
    texts. ``too_little``: why there is too little data for a verdict, empty where there is enough.
    """

    texts: int
    classes: tuple[tuple[str, int], ...]
    duplicates: int
    contradictory: int
    leaked: int
    discarded: float
    commonest: tuple[str, ...]
    unknown: float
    majority: float
    word: DecidingWord | None
    too_little: str
    notes: tuple[str, ...]

    @property
    def deciding(self) -> list[str]:
        """A sentence about the word that alone decides the label, if there is one."""
        if self.word is None or not self.word.decides:
            return []
        return [
            f"One word alone decides the label: whether {self.word.word[:40]!r} occurs gives {self.word.label[:40]} "
            f"with an accuracy of {self.word.accuracy:.1%}. If it would not be there in use, it is a leak."
        ]

    @property
    def sentences(self) -> list[str]:
        """What a reader should know, a sentence each."""
        named = ", ".join(f"{name[:40]} {count}" for name, count in self.classes[:12])
        said = [f"{self.texts} texts can be used: {named}{', ...' * (len(self.classes) > 12)}."]
        if self.too_little:
            said.append(f"{self.too_little} That is too little data for a verdict; the numbers are given without one.")
        if self.duplicates:
            one = self.duplicates == 1
            texts = "1 text repeats" if one else f"{self.duplicates} texts repeat"
            some = f", {'' if one else f'{self.contradictory} of them '}with another label than the first"
            said.append(f"{texts} an earlier one word by word{some * bool(self.contradictory)}.")
        if self.leaked:
            said.append(f"{self.leaked} validation texts are training texts, too: accuracies are too high for it.")
        said += self.deciding
        if self.word is not None and not self.word.decides:
            said.append(
                f"No word alone decides the label; the strongest, {self.word.word[:40]!r}, gives an accuracy of "
                f"{self.word.accuracy:.1%}, the commonest class {self.majority:.1%}."
            )
        if self.discarded:
            said.append(
                f"{self.discarded:.1%} of the characters are no part of a word and are not read, the commonest being "
                f"{' '.join(self.commonest)}."
            )
        said.append(f"{self.unknown:.1%} of the validation texts' words are too rare to be distinguished.")
        return said


def find_in_data(texts: LabelledTexts, corpus: Corpus) -> DataFindings:
    """Look through the texts as they were read, and as the corpus has them."""
    pairs = texts.pairs
    seen: dict[bytes, int] = {}
    duplicates = contradictory = 0
    for words, label in zip(_texts(pairs.source, pairs.source_offsets), pairs.target.tolist(), strict=True):
        if words in seen:
            duplicates += 1
            contradictory += seen[words] != label
        else:
            seen[words] = label
    labels = np.concatenate([corpus.train.labels, corpus.valid.labels])
    counts = np.bincount(labels, minlength=len(corpus.classes))
    train, valid = (_texts(part.words.numpy(), part.offsets.numpy()) for part in (corpus.train, corpus.valid))
    known = set(train)
    # Rare words are all the same to the corpus, so that texts with one may only look alike.
    all_known = [not (corpus.valid.words[a:b] == 0).any() for a, b in pairwise(corpus.valid.offsets.tolist())]
    characters = Counter(char for text in texts.texts or () for char in _DISCARDED.findall(text))
    written = sum(len("".join(text.split())) for text in texts.texts or ())
    shares = np.bincount(corpus.valid.labels.numpy(), minlength=len(corpus.classes)) / len(corpus.valid)
    return DataFindings(
        texts=len(labels),
        classes=tuple(zip(corpus.classes, counts.tolist(), strict=True)),
        duplicates=duplicates,
        contradictory=contradictory,
        leaked=sum(words in known for words, plain in zip(valid, all_known, strict=True) if plain),
        discarded=characters.total() / written if written else 0.0,
        commonest=tuple(char for char, _ in sorted(characters.items(), key=lambda item: (-item[1], item[0]))[:5]),
        unknown=float((corpus.valid.words == 0).double().mean()),
        majority=float(shares.max()),
        word=deciding_word(corpus),
        too_little=too_little(len(labels), corpus.classes, counts.tolist()),
        notes=(*corpus.notes, *(note for note in texts.notes if texts.cut and "without spaces" in note)),
    )


def too_little(texts: int, classes: Sequence[str], counts: Sequence[int]) -> str:
    """Why there is too little data, as a sentence; empty where there is enough."""
    if texts < FEWEST_TEXTS:
        return f"There are {texts} texts, fewer than {FEWEST_TEXTS}."
    rare = min(range(len(classes)), key=lambda k: counts[k])
    if counts[rare] < FEWEST_OF_CLASS:
        return f"The class {classes[rare][:40]} has {counts[rare]} texts, fewer than {FEWEST_OF_CLASS}."
    return ""


def deciding_word(corpus: Corpus) -> DecidingWord | None:
    """Of all words with an id the one whose presence or absence in a text gives the class most often."""
    classes = len(corpus.classes)
    present = np.zeros((len(corpus.words), classes), np.int64)
    for texts in (corpus.train, corpus.valid):
        pairs = np.unique(texts.words.numpy() * len(texts) + texts.sentence.numpy())  # a word counts once a text
        np.add.at(present, (pairs // len(texts), texts.labels.numpy()[pairs % len(texts)]), 1)
    totals = np.bincount(np.concatenate([corpus.train.labels, corpus.valid.labels]), minlength=classes)
    right = present.max(1) + (totals - present).max(1)
    right[0] = 0  # <unk> is no word
    if len(right) < 2:
        return None
    best = int(right.argmax())
    accuracy, majority = right[best] / totals.sum(), totals.max() / totals.sum()
    gap = (accuracy - majority) / (1 - majority) if majority < 1 else 0.0
    decides = bool(accuracy >= DECIDES and gap >= CLOSED)
    return DecidingWord(corpus.words[best], corpus.classes[int(present[best].argmax())], float(accuracy), decides)


def _texts(words: NDArray[np.integer[Any]], offsets: NDArray[np.int64]) -> list[bytes]:
    """Each text's words, to be compared."""
    return [words[a:b].tobytes() for a, b in pairwise(offsets.tolist())]

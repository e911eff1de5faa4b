"""Known bitexts, read once a process, and their pieces as count tables and IBM Model 1 want them."""

from functools import cache
from typing import Any

import numpy as np

from attnlab.data.bitext import Bitext, PieceSplit
from attnlab.data.pieces import BEGIN, END
from attnlab.data.sentence_pairs import SentencePairs
from attnlab.families.translation.task import BitextSpec
from attnlab.fields import ScoreField
from attnlab.theory.counts import beta_ibm
from attnlab.theory.ibm1 import train_ibm1


@cache
def task_of(name: str) -> BitextSpec:
    """The task of a known bitext; its corpus is read once a process."""
    return BitextSpec.of(name)


@cache
def bitext_of(name: str) -> Bitext:
    """The corpus of a known bitext."""
    return task_of(name).build()


def sentence_pairs(split: PieceSplit, bitext: Bitext) -> SentencePairs:
    """Pairs as a network reads them: ``<s>`` pieces ``</s>`` in, pieces ``</s>`` out."""
    sides: list[Any] = []
    for side, before in ((split.source, True), (split.target, False)):
        ids = np.insert(side.values, side.offsets[1:], np.int32(END))  # after the last piece of each
        offsets = side.offsets + np.arange(len(side.offsets))
        if before:
            ids = np.insert(ids, offsets[:-1], np.int32(BEGIN))
            offsets = offsets + np.arange(len(offsets))
        sides += [ids, offsets]
    return SentencePairs(*sides, list(bitext.pieces.names), list(bitext.pieces.names))


def ibm1_field(bitext: Bitext, split: PieceSplit, iterations: int = 5) -> ScoreField:
    """Trans(y_t | x_l) by IBM Model 1 over the pieces of the training part; one iteration gives beta_ibm (P3 4.2)."""
    table = train_ibm1(sentence_pairs(bitext.train, bitext), iterations=iterations).table
    return beta_ibm(table, sentence_pairs(split, bitext))

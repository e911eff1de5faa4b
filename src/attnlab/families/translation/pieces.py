"""Known bitexts, read once a process, and their pieces as count tables and IBM Model 1 want them."""

from functools import cache

import numpy as np
from numpy.typing import NDArray

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
    source, source_offsets = _inserted(split.source.values, split.source.offsets[1:], END, split.source.offsets)
    source, source_offsets = _inserted(source, source_offsets[:-1], BEGIN, source_offsets)
    target, target_offsets = _inserted(split.target.values, split.target.offsets[1:], END, split.target.offsets)
    names = list(bitext.pieces.names)
    return SentencePairs(source, source_offsets, target, target_offsets, names, names)


def _inserted(
    ids: NDArray[np.int32], places: NDArray[np.int64], mark: int, offsets: NDArray[np.int64]
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """The ids with a mark at each of ``places``, one in every sentence, and the offsets they have then."""
    return np.insert(ids, places, np.int32(mark)), offsets + np.arange(len(offsets))


def ibm1_field(bitext: Bitext, split: PieceSplit, iterations: int = 5) -> ScoreField:
    """Trans(y_t | x_l) by IBM Model 1 over the pieces of the training part; one iteration gives beta_ibm (P3 4.2)."""
    table = train_ibm1(sentence_pairs(bitext.train, bitext), iterations=iterations).table
    return beta_ibm(table, sentence_pairs(split, bitext))

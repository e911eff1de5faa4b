"""What is read from runs on labelled texts: their score fields, the proxy's word scores."""

from functools import cache

import numpy as np
import pyarrow as pa
import torch
from numpy.typing import NDArray

from attnlab.data.batch import Bags
from attnlab.data.labelled_text import Corpus, load_corpus
from attnlab.data.sentence_pairs import SentencePairs
from attnlab.errors import UsageError
from attnlab.fields import ScoreField
from attnlab.models.classifier import log_odds

Floats = NDArray[np.float64]


@cache
def corpus_of(name: str) -> Corpus:
    """The corpus, read once a process."""
    return load_corpus(name)


def stored_field(table: pa.Table, split: str, name: str) -> ScoreField:
    """``alpha`` or ``gamma`` over the texts of a split, from the fields that a classifier's evaluation keeps."""
    of_split = np.asarray(table["split"].combine_chunks().dictionary_decode()) == split
    column = table[name].combine_chunks().filter(of_split)
    offsets = np.asarray(column.offsets, dtype=np.int64)
    return ScoreField(np.asarray(column.flatten(), dtype=np.float64), offsets - offsets[0])


def stored_word_scores(table: pa.Table) -> Floats:
    """The proxy's scores w^T e_i, from the fields that its evaluation keeps: (words, 1 or classes)."""
    return np.stack([np.asarray(table[name], dtype=np.float64) for name in table.column_names], 1)


def word_field(texts: Bags, scores: Floats) -> ScoreField:
    """The log-odds of the right class that each position's word has by itself; ``scores`` (words, 1 or classes)."""
    if not len(texts):
        raise UsageError("There are no texts to make a field of.")
    at = torch.from_numpy(scores)[texts.words]  # (tokens, 1 or classes)
    labels = torch.repeat_interleave(texts.labels, texts.lengths)
    return ScoreField(log_odds(at, labels).numpy(), texts.offsets.numpy())


def labelled_pairs(texts: Bags, corpus: Corpus) -> SentencePairs:
    """Texts of a corpus and their classes as sentence pairs with an output of one word (P3 2.4)."""
    return SentencePairs(
        texts.words.numpy().astype(np.int32),
        texts.offsets.numpy(),
        texts.labels.numpy().astype(np.int32),
        np.arange(len(texts) + 1, dtype=np.int64),
        list(corpus.words),
        list(corpus.classes),
    )

"""Texts in P2's t x p form: the first p words of a text as fixed word vectors of t numbers, which are not trained.

A word without a vector is passed over, and so are positions after a text's end.
"""

from functools import cache
from typing import TYPE_CHECKING

import numpy as np
import torch

from attnlab.data.batch import Bags
from attnlab.data.corpora import data_folder
from attnlab.data.labelled_text import Corpus, load_corpus
from attnlab.data.subsample import subsample
from attnlab.data.vectors import find_vectors, read_vectors
from attnlab.errors import UsageError
from attnlab.families.teacher.examples import Data, Examples, hold_out
from attnlab.seeds import numpy_generator

if TYPE_CHECKING:
    from attnlab.families.teacher.spec import WordVectorsSpec


@cache
def corpus_of(name: str) -> Corpus:
    """The corpus, read once a process."""
    return load_corpus(name)


@cache
def vectors_of(name: str) -> torch.Tensor:
    """(words, t): the vectors of a corpus' words, scaled to a spread of 1; zeros for words that have none."""
    corpus = corpus_of(name)
    vectors = read_vectors(find_vectors(data_folder(None)), corpus.words)
    table = torch.zeros(len(corpus.words), vectors.matrix.shape[1])
    table[torch.from_numpy(vectors.ids)] = torch.from_numpy(vectors.matrix / vectors.matrix.std())
    return table


def as_words(texts: Bags, vectors: torch.Tensor, words: int, dtype: torch.dtype) -> Examples:
    """The first ``words`` words with a vector of each text: x (1, texts, t, p), and which there are (1, texts, p)."""
    known = vectors.abs().sum(1) > 0
    kept = known[texts.words]
    owner = texts.sentence[kept]
    count = torch.bincount(owner, minlength=len(texts))
    place = torch.arange(len(owner)) - (count.cumsum(0) - count)[owner]
    inside = place < words
    rows = torch.zeros(len(texts), words, vectors.shape[1], dtype=dtype)
    rows[owner[inside], place[inside]] = vectors[texts.words[kept][inside]].to(dtype)
    there = torch.arange(words) < count.clamp(min=1)[:, None]  # a text of unknown words alone is one word of zeros
    return Examples(rows.transpose(-1, -2)[None], texts.labels[None], there[None])


def text_data(spec: "WordVectorsSpec", seed: int, dtype: torch.dtype) -> Data:
    """A subsample of the training texts for each problem; all are tested on the same validation texts."""
    corpus = corpus_of(spec.corpus)
    if corpus.content != spec.content:
        raise UsageError(
            f"The corpus {spec.corpus} has changed: its content is {corpus.content}, and the run was planned for "
            f"{spec.content}."
        )
    vectors, labels = vectors_of(spec.corpus), corpus.train.labels.numpy()
    parts = []
    for own in range(seed, seed + spec.problems):
        rows = subsample(labels, spec.samples, numpy_generator(own, "texts", "sample"))
        parts.append(as_words(corpus.train.select(torch.from_numpy(rows)), vectors, spec.words, dtype))
    there = [part.there for part in parts if part.there is not None]
    sample = Examples(torch.cat([part.x for part in parts]), torch.cat([part.y for part in parts]), torch.cat(there))
    tests = numpy_generator(0, "texts", "test").permutation(len(corpus.valid))[: spec.tests]
    test = as_words(corpus.valid.select(torch.from_numpy(np.sort(tests))), vectors, spec.words, dtype)
    train, valid = hold_out(sample)
    return Data(train, valid, test, torch.ones(spec.problems), classes=len(corpus.classes))

"""Labelled texts made harder on purpose: labels shuffled, or the words that give the class away removed. And texts with
marks at both ends, as the paper's released code has them.

What a network could learn from a corpus is then known to be less, while its texts, their lengths and the number of
texts of each class stay as they were. The vocabulary stays too, so that networks begin from the same weights.
"""

from dataclasses import replace

import numpy as np
import torch
from numpy.typing import NDArray

from attnlab.data.batch import Bags
from attnlab.data.labelled_text import Corpus
from attnlab.errors import UsageError
from attnlab.seeds import numpy_generator

UNKNOWN = 0
"""The id of ``<unk>``."""
ENDS = ("<bos>", "<eos>")


def add_ends(corpus: Corpus) -> Corpus:
    """Every text between two marks, which are words of their own, the last of the vocabulary."""
    begin = len(corpus.words)

    def marked(texts: Bags) -> Bags:
        rows = torch.arange(len(texts))
        marks = torch.full((len(texts),), begin), torch.full((len(texts),), begin + 1)
        words = torch.cat([marks[0], texts.words, marks[1]])
        sentence = torch.cat([rows, torch.repeat_interleave(rows, texts.lengths), rows])
        offsets = texts.offsets + 2 * torch.arange(len(texts.offsets))
        return replace(texts, words=words[sentence.argsort(stable=True)], offsets=offsets)

    note = f"Every text begins with {ENDS[0]} and ends with {ENDS[1]}."
    train, valid = marked(corpus.train), marked(corpus.valid)
    return replace(corpus, words=(*corpus.words, *ENDS), train=train, valid=valid, notes=(*corpus.notes, note))


def shuffle_labels(corpus: Corpus, share: float, seed: int = 0) -> Corpus:
    """A ``share`` of the training labels, drawn by ``seed``, are permuted among themselves.

    A drawn label may so come back to its text or to another of its class: of two classes of equal size half of the
    drawn labels end up wrong. With the same seed a larger share draws all that a smaller one draws.

    Validation labels stay as they are, whatever the share. They say which class a probe is read for, and the question
    is what training on the altered labels left of the true relation. Where all labels are shuffled there is none, so
    that it makes no difference on average whether the labels that it is read for are true or shuffled, too.
    """
    if not 0 <= share <= 1:
        raise UsageError(f"The share of labels to shuffle lies between 0 and 1; {share} does not.")
    labels = corpus.train.labels
    count = round(share * len(labels))
    if not count:
        return corpus
    drawn = torch.from_numpy(numpy_generator(seed, "labels to shuffle").permutation(len(labels))[:count])
    order = torch.from_numpy(numpy_generator(seed, "shuffled labels").permutation(count))
    shuffled = labels.clone()
    shuffled[drawn] = labels[drawn[order]]
    note = f"{count} of {len(labels)} training labels are permuted among themselves (seed {seed})."
    return replace(corpus, train=replace(corpus.train, labels=shuffled), notes=(*corpus.notes, note))


def remove_keywords(corpus: Corpus, count: int) -> Corpus:
    """The ``count`` strongest `keywords` of the training texts become ``<unk>`` in both splits."""
    if count < 0:
        raise UsageError(f"The number of keywords to remove is 0 or more, not {count}.")
    if not count:
        return corpus
    removed = keywords(corpus)[:count]
    ids = torch.arange(len(corpus.words))
    ids[torch.from_numpy(removed)] = UNKNOWN
    splits = (corpus.train, corpus.valid)
    train, valid = (replace(texts, words=ids[texts.words]) for texts in splits)
    shares = [f"{float((a.words != b.words).double().mean()):.1%}" for a, b in zip(splits, (train, valid), strict=True)]
    note = (
        f"The {len(removed)} words that tell the most about the class are <unk>: {shares[0]} of the training tokens, "
        f"{shares[1]} of the validation tokens."
    )
    return replace(corpus, train=train, valid=valid, notes=(*corpus.notes, note))


def keywords(corpus: Corpus) -> NDArray[np.int64]:
    """The ids of all words, those first whose presence in a training text tells the most about its class.

    How much: G, the log-likelihood ratio of the table of presence and class (corpus linguistics calls it keyness; by
    2 N it is the mutual information of the two). A word must be both frequent and one-sided to be high. Neither the
    forecast nor a network enters, so that what they do without these words is not decided by how they were chosen.
    ``<unk>`` is no word. Of equals the one with the lower id, which is the more frequent, comes first.
    """
    texts, labels, classes = corpus.train, corpus.train.labels.numpy(), len(corpus.classes)
    pairs = torch.unique(texts.words * len(texts) + texts.sentence).numpy()  # a word counts once a text
    cells = pairs // len(texts) * classes + labels[pairs % len(texts)]
    present = np.bincount(cells, minlength=len(corpus.words) * classes).reshape(-1, classes)  # (words, classes)
    absent = np.bincount(labels, minlength=classes) - present
    table = np.stack([present, absent], 1)  # (words, present or absent, classes)
    expected = table.sum(1, keepdims=True) * table.sum(2, keepdims=True) / len(corpus.train)
    # Cells in which nothing was seen add nothing: there is a logarithm of 0 instead of minus infinity.
    terms = table * np.log(np.divide(table, expected, out=np.ones(table.shape), where=table > 0))
    # Rounded, so that words whose counts mirror each other are equals on every machine.
    keyness = np.round(2 * terms.sum((1, 2)), 9)
    ranked = np.argsort(-keyness, kind="stable").astype(np.int64, copy=False)
    return np.asarray(ranked[ranked != UNKNOWN])

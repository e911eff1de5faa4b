"""How large a corpus is: the paper's Table 8 and a little more."""

from dataclasses import dataclass

import torch

from attnlab.data.batch import Bags
from attnlab.data.labelled_text import Corpus


@dataclass(frozen=True)
class Sizes:
    """Texts, words and classes of a corpus.

    ``median_length``, ``longest``: words of the training texts. ``valid_longest``: of the validation texts.
    ``vocabulary``: words with an id, ``<unk>`` among them. ``unknown``: the share of ``<unk>`` among the words of the
    training and of the validation texts. ``train_classes``, ``valid_classes``: texts of each class.
    """

    train: int
    valid: int
    median_length: float
    longest: int
    valid_longest: int
    vocabulary: int
    unknown: tuple[float, float]
    train_classes: tuple[int, ...]
    valid_classes: tuple[int, ...]


def sizes(corpus: Corpus) -> Sizes:
    """What the corpus' arrays say."""
    lengths = corpus.train.lengths
    return Sizes(
        train=len(corpus.train),
        valid=len(corpus.valid),
        median_length=float(lengths.double().quantile(0.5)),
        longest=int(lengths.max()),
        valid_longest=int(corpus.valid.lengths.max()),
        vocabulary=len(corpus.words),
        unknown=(_unknown(corpus.train), _unknown(corpus.valid)),
        train_classes=_classes(corpus.train, len(corpus.classes)),
        valid_classes=_classes(corpus.valid, len(corpus.classes)),
    )


def _unknown(bags: Bags) -> float:
    return float((bags.words == 0).double().mean())


def _classes(bags: Bags, number: int) -> tuple[int, ...]:
    return tuple(torch.bincount(bags.labels, minlength=number).tolist())

"""Labelled texts: the corpora of the paper's classification experiments (P3 2.4, A.8, A.9), and files of one's own.

Reading gives texts, ``tokens`` cuts them into words, ``vocabulary`` gives the training texts' words their ids; what comes
out is a ``Corpus`` of ragged word ids. Everything that is left out is counted and named in its notes.
"""

import difflib
import os
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from attnlab.errors import UsageError
from attnlab.seeds import numpy_generator
from attnlab.tasks.batch import Bags
from attnlab.tasks.corpora import KNOWN, Known, Raw
from attnlab.tasks.tokens import tokenise
from attnlab.tasks.vocabulary import VocabularyRule, check_vocabulary_rule, choose_words

CORPORA = tuple(KNOWN)
MOST_VALID = 4000
"""Validation examples at most, as in the paper; more are drawn from with a fixed seed."""


@dataclass(frozen=True, eq=False)
class Corpus:
    """Labelled texts, split, as word ids in reading order.

    ``classes``: label -> name; of two classes 0 is the negative or first one. ``words``: id -> word, id 0 is ``<unk>``.
    ``notes``: every exclusion, counted and named, a sentence each.
    """

    name: str
    classes: tuple[str, ...]
    words: tuple[str, ...]
    train: Bags
    valid: Bags
    notes: tuple[str, ...] = ()

    @cached_property
    def content(self) -> str:
        """What the data is: 16 hexadecimal digits of a sha256 over classes, words and all arrays."""
        digest = sha256("\0".join([*self.classes, "", *self.words]).encode())
        for bags in (self.train, self.valid):
            for values in (bags.words, bags.offsets, bags.labels):
                digest.update(len(values).to_bytes(8, "little"))
                digest.update(values.numpy().astype("<i8", copy=False).tobytes())
        return digest.hexdigest()[:16]


def load_corpus(name: str, *, root: Path | None = None, vocabulary: VocabularyRule = "text") -> Corpus:
    """A corpus by name: one of ``CORPORA``, from the folder ``root``, else the one that ATTNLAB_DATA names."""
    known = known_corpus(name)
    check_vocabulary_rule(vocabulary)
    root = data_folder(root)
    found = known.find(root)
    if found is None:
        raise UsageError(f"{root} has no {known.title}; needed: {known.get}.")
    return build(known.name, known.classes, known.read(found), known)


def known_corpus(name: str) -> Known:
    """What is known of a corpus; a UsageError that lists the names if it is none."""
    if name not in KNOWN:
        close = difflib.get_close_matches(name, KNOWN, n=1)
        hint = f" Did you mean {close[0]!r}?" if close else ""
        raise UsageError(f"There is no corpus {name!r}; the corpora are {', '.join(KNOWN)}.{hint}")
    return KNOWN[name]


def data_folder(root: Path | None) -> Path:
    """``root``, else the folder that ATTNLAB_DATA names; a UsageError if there is none."""
    named = root or os.environ.get("ATTNLAB_DATA")
    if not named:
        raise UsageError("No data folder is given: name one, or set ATTNLAB_DATA to a folder that holds the corpora.")
    folder = Path(named)
    if not folder.is_dir():
        raise UsageError(f"The data folder {folder} is not there.")
    return folder


def build(name: str, classes: tuple[str, ...], raw: Raw, known: Known) -> Corpus:
    """Words, split and vocabulary of texts that were read."""
    notes = list(raw.notes)
    parts = [raw.train] if raw.test is None else [raw.train, raw.test]
    texts = [text for part in parts for text in part.texts]
    labels = np.array([label for part in parts for label in part.labels], np.int64)
    tokens = tokenise(texts, known.rule)
    starts = np.concatenate([[0], tokens.lengths.cumsum()])
    keep = tokens.lengths > 0
    if empty := int((~keep).sum()):
        notes.append(f"{count_texts(empty, 'without a word')} left out.")
    if known.longest is not None:
        long = tokens.lengths > known.longest
        keep &= ~long
        notes.append(f"{count_texts(int(long.sum()), f'of more than {known.longest} words')} left out.")
    rows = np.flatnonzero(keep)
    if raw.test is None:
        order = numpy_generator(0, "split", name).permutation(len(rows))
        size = known.training if known.training is not None else len(rows) - len(rows) // 5
        train, valid = rows[np.sort(order[:size])], rows[np.sort(order[size:])]
    else:
        border = len(raw.train.texts)
        train, valid = rows[rows < border], rows[rows >= border]
    if len(valid) > MOST_VALID:
        notes.append(f"{MOST_VALID} of {len(valid)} texts held out are drawn for validation.")
        valid = np.sort(numpy_generator(0, "validation", name).choice(valid, MOST_VALID, replace=False))
    bags = [_bags(tokens.ids, starts, labels, chosen) for chosen in (train, valid)]
    counts = np.bincount(bags[0].words.numpy(), minlength=len(tokens.words))
    unknown = {word for word in tokens.words if known.rule.is_unknown(word)}
    words, ids = choose_words(tokens.words, counts, unknown)
    bags = [Bags(torch.from_numpy(ids[part.words.numpy()]), part.offsets, part.labels) for part in bags]
    return Corpus(name, classes, words, bags[0], bags[1], tuple(notes))


def count_texts(count: int, which: str) -> str:
    return f"1 text {which} is" if count == 1 else f"{count} texts {which} are"


def _bags(
    ids: NDArray[np.int32], starts: NDArray[np.int64], labels: NDArray[np.int64], rows: NDArray[np.int64]
) -> Bags:
    """The texts ``rows`` as bags, still with the ids of all words seen."""
    every = Bags(torch.from_numpy(ids), torch.from_numpy(starts), torch.from_numpy(labels))
    return every.select(torch.from_numpy(rows))

"""Labelled texts: the corpora of the paper's classification experiments (P3 2.4, Table 8), and files of one's own.

Reading gives texts, ``tokens`` cuts them into words, ``vocabulary`` gives the training texts' words their ids; what
comes out is a ``Corpus`` of ragged word ids. Everything that is left out is counted and named in its notes.
"""

import unicodedata
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from attnlab.data.batch import Bags
from attnlab.data.cache import check_ragged, check_texts, content_key, read_cached, write_cached
from attnlab.data.corpora import KNOWN, data_folder, known_corpus
from attnlab.data.corpora.corpus import Known, Raw
from attnlab.data.own_file import check_classes, count_rows, explain_rows, hold_out_fifth, parse_groups, read_own
from attnlab.data.tokens import TokenRule, VocabularyRule, check_vocabulary_rule, choose_words, tokenise
from attnlab.data.vectors import find_vectors, read_vectors
from attnlab.errors import UsageError
from attnlab.seeds import numpy_generator

CORPORA = tuple(KNOWN)
MOST_VALID = 4000
"""Validation examples at most, as in the paper; more are drawn from with a fixed seed."""
RULES = 3
"""Raised whenever the same files give other data or notes than before: cached data of other rules is not read."""

Split = Callable[[NDArray[np.int64]], NDArray[np.bool_]]
"""From the labels (texts,) of texts without a split, which are held out: (texts,)."""


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
    """What the corpus' arrays say: the paper's Table 8 and a little more."""
    parts, lengths = (corpus.train, corpus.valid), corpus.train.lengths
    classes = [tuple(torch.bincount(bags.labels, minlength=len(corpus.classes)).tolist()) for bags in parts]
    unknown = [float((bags.words == 0).double().mean()) for bags in parts]
    return Sizes(
        train=len(corpus.train),
        valid=len(corpus.valid),
        median_length=float(lengths.double().quantile(0.5)),
        longest=int(lengths.max()),
        valid_longest=int(corpus.valid.lengths.max()),
        vocabulary=len(corpus.words),
        unknown=(unknown[0], unknown[1]),
        train_classes=classes[0],
        valid_classes=classes[1],
    )


def load_corpus(
    name: str,
    *,
    root: Path | None = None,
    vocabulary: VocabularyRule = "text",
    hub: bool = False,
    most: int | None = MOST_VALID,
) -> Corpus:
    """A corpus by name, one of ``CORPORA``, from the folder ``root``, else the one that ATTNLAB_DATA names.

    ``hub``: from a hub of datasets instead, through the network; needs the extra ``hub``. ``most``: validation texts at
    most, all of the test set if None; words and training texts are the same either way.
    """
    known = known_corpus(name)
    check_vocabulary_rule(vocabulary)
    vectors = find_vectors(data_folder(root)) if vocabulary == "released" else None
    split = _by_permutation(known)
    if hub:
        from attnlab.data.corpora.hub import read_hub

        return _build(name, known.classes, read_hub(known), known.rule, known.longest, split, vectors, most)
    found = known.find(data_folder(root))
    if found is None:
        raise UsageError(f"{data_folder(root)} has no {known.title}; needed: {known.get}.")
    files = [*found.files, *([vectors] if vectors else [])]
    settings = (name, vocabulary, found.form, len(found.train), *(() if most == MOST_VALID else (most,)))
    return _cached(
        content_key(files, RULES, unicodedata.unidata_version, *settings),
        lambda: _build(name, known.classes, known.read(found), known.rule, known.longest, split, vectors, most),
    )


def load_file(
    path: Path,
    *,
    text: str = "text",
    label: str = "label",
    groups: str | Mapping[str, str] | None = None,
    valid: Path | None = None,
    longest: int | None = None,
    vocabulary: VocabularyRule = "text",
    root: Path | None = None,
) -> Corpus:
    """Texts and labels of one's own, of two or more classes: CSV, TSV, JSON (lines) or Parquet.

    ``groups``: which labels make which class, as ``"1,2=neg 4,5=pos"`` or as a mapping from label to class; others are
    left out. ``valid``: another file to validate on; without it a fifth of each class is held out. ``longest``: texts
    of more words are left out. ``root``: the data folder, where the vocabulary rule ``released`` finds GloVe's table.
    """
    check_vocabulary_rule(vocabulary)
    if longest is not None and longest < 1:
        raise UsageError(f"The longest text allowed has at least 1 word, not {longest}.")
    path, valid = Path(path), None if valid is None else Path(valid)
    grouping = parse_groups(groups)
    vectors = find_vectors(data_folder(root)) if vocabulary == "released" else None
    files = [part for part in (path, valid, vectors) if part is not None]
    settings = (path, valid, text, label, list((grouping or {}).items()), longest, vocabulary)

    def build() -> Corpus:
        classes, raw = read_own(path, text, label, grouping, valid)
        corpus = _build(path.name, classes, raw, TokenRule(), longest, hold_out_fifth, vectors)
        return replace(corpus, notes=explain_rows(corpus.notes, path, valid))

    return _cached(content_key(files, RULES, unicodedata.unidata_version, *settings), build)


def keep_corpus(corpus: Corpus) -> str:
    """Keep a corpus in the cache under its content, so that runs on it need its file no more; its name there."""
    if read_cached(_kept(corpus.content)) is None:
        write_cached(_kept(corpus.content), *_packed(corpus))
    return _kept(corpus.content)


def kept_corpus(content: str) -> Corpus | None:
    """The corpus with this content, if the cache has it."""
    stored = read_cached(_kept(content))
    corpus = None if stored is None else _unpacked(*stored)
    return corpus if corpus is not None and corpus.content == content else None


def _kept(content: str) -> str:
    return f"corpus-{content}"


def _build(
    name: str,
    classes: tuple[str, ...],
    raw: Raw,
    rule: TokenRule,
    longest: int | None,
    split: Split,
    vectors: Path | None,
    most: int | None = MOST_VALID,
) -> Corpus:
    """Words, split and vocabulary of texts that were read."""
    notes = list(raw.notes)
    parts = [raw.train] if raw.test is None else [raw.train, raw.test]
    labels = np.concatenate([np.asarray(part.labels, np.int64) for part in parts])
    tokens = tokenise([text for part in parts for text in part.texts], rule)
    border = len(raw.train.texts)
    keep = np.ones(len(labels), bool)
    bounds = [(tokens.lengths == 0, "without a word")]
    if longest is not None:
        bounds.append((tokens.lengths > longest, f"of more than {longest} words"))
    for out, which in bounds:
        keep &= ~out
        notes += _left_out(raw, out, which)
    if raw.train.path is not None:
        check_classes(raw, classes, keep, longest)
    rows = np.flatnonzero(keep)
    held_out = split(labels[rows]) if raw.test is None else rows >= border
    train, valid = rows[~held_out], rows[held_out]
    if most is not None and len(valid) > most:
        notes.append(f"{most} of the {len(valid)} texts held out are drawn for validation.")
        valid = np.sort(numpy_generator(0, "validation", name).choice(valid, most, replace=False))
    for chosen, purpose in ((train, "to train on"), (valid, "to validate on")):
        if missing := [classes[label] for label in np.setdiff1d(np.arange(len(classes)), labels[chosen])]:
            raise UsageError(f"{name} has no text of the class {missing[0][:40]!r} {purpose}; each class needs one.")

    every = Bags(*map(torch.from_numpy, (tokens.ids, np.append(0, tokens.lengths.cumsum()), labels)))
    bags = [every.select(torch.from_numpy(chosen)) for chosen in (train, valid)]
    counts = np.bincount(bags[0].words.numpy(), minlength=len(tokens.words))
    unknown = {word for word in tokens.words if rule.is_unknown(word)}
    kept = {tokens.words[place] for place in read_vectors(vectors, tokens.words).ids} if vectors else set()
    words, ids = choose_words(tokens.words, counts, unknown, kept)
    first, second = (Bags(torch.from_numpy(ids[part.words.numpy()]), part.offsets, part.labels) for part in bags)
    return Corpus(name, classes, words, first, second, tuple(notes))


def _left_out(raw: Raw, out: NDArray[np.bool_], which: str) -> list[str]:
    """A sentence for each file that texts are left out of."""
    border = len(raw.train.texts)
    parts = [(raw.train, out[:border], "training"), (raw.test, out[border:], "held-out")]
    if raw.test is None:
        parts = [(raw.train, out, "")]
    return [
        (f"{part.path.name}: " if part.path else "")
        + count_rows(np.flatnonzero(here), part.rows, f"{kind} text".strip(), which)
        for part, here, kind in parts
        if part is not None and here.any()
    ]


def _by_permutation(known: Known) -> Split:
    """The split of a corpus that has none of its own: ``known.training`` texts train, else four fifths."""

    def split(labels: NDArray[np.int64]) -> NDArray[np.bool_]:
        size = known.training if known.training is not None else len(labels) - len(labels) // 5
        held_out = np.zeros(len(labels), bool)
        held_out[numpy_generator(0, "split", known.name).permutation(len(labels))[size:]] = True
        return held_out

    return split


def _cached(key: str, build: Callable[[], Corpus]) -> Corpus:
    """What was kept under ``key``, else what ``build`` makes, which is kept."""
    if (stored := read_cached(key)) is not None:
        with suppress(KeyError, TypeError, ValueError):  # another's content, under this name
            return _unpacked(*stored)
    corpus = build()
    write_cached(key, *_packed(corpus))
    return corpus


def _packed(corpus: Corpus) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    """Arrays and facts. No word has a newline in it, so the words are one array of bytes."""
    arrays: dict[str, NDArray[Any]] = {"words": np.frombuffer("\n".join(corpus.words).encode(), np.uint8)}
    for part, bags in (("train", corpus.train), ("valid", corpus.valid)):
        arrays[f"{part}.words"] = bags.words.numpy().astype(np.int32)
        arrays[f"{part}.offsets"] = bags.offsets.numpy()
        arrays[f"{part}.labels"] = bags.labels.numpy().astype(np.int32)
    return arrays, {"name": corpus.name, "classes": corpus.classes, "notes": corpus.notes}


def _unpacked(arrays: Mapping[str, NDArray[Any]], facts: Mapping[str, Any]) -> Corpus:
    train, valid = (
        Bags(*(torch.from_numpy(arrays[f"{part}.{name}"].astype(np.int64)) for name in ("words", "offsets", "labels")))
        for part in ("train", "valid")
    )
    words = arrays["words"].tobytes().decode().split("\n")
    check_texts(facts["name"], *facts["classes"], *facts["notes"])
    for bags in (train, valid):
        check_ragged(bags.words.numpy(), bags.offsets.numpy(), len(words))
        check_ragged(bags.labels.numpy(), np.array([0, len(bags.offsets) - 1]), len(facts["classes"]))
    return Corpus(facts["name"], tuple(facts["classes"]), tuple(words), train, valid, tuple(facts["notes"]))

"""Sentence pairs in pieces: a parallel corpus, known by name or a user's own, ready to be translated.

Reading gives sentences, ``pieces`` cuts them; what comes out is a ``Bitext`` of ragged piece ids without marks: whoever
trains adds ``<s>`` and ``</s>``. Everything that is left out or cut is counted and named in its notes.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
import sentencepiece
from numpy.typing import NDArray

from attnlab.data.bitexts import known_bitext
from attnlab.data.bitexts.cleaning import clean, counted, spaceless
from attnlab.data.bitexts.own import read_own_pairs
from attnlab.data.bitexts.pairs import RawBitext, RawPairs
from attnlab.data.cache import check_ragged, check_texts, content_key, read_cached, write_cached
from attnlab.data.corpora import data_folder
from attnlab.data.pieces import Encoded, Pieces, learn_pieces
from attnlab.errors import UsageError
from attnlab.fields import ragged_rows

PIECES = 8000
LONGEST = 250
"""Pieces of a sentence that are kept; the rest of a longer one is cut off."""
RULES = 2
"""Raised whenever the same files give other data or notes than before: cached data of other rules is not read."""

SplitName = Literal["train", "validation", "test"]
SPLITS: tuple[SplitName, ...] = get_args(SplitName)


@dataclass(frozen=True, eq=False)
class PieceSide:
    """One side of some pairs: sentence k has the pieces ``values[offsets[k] : offsets[k + 1]]``, without marks.

    ``values (n,)``, ``offsets (sentences + 1,)``. Its text is ``text(k)``, of the bytes ``letters`` at ``letter_offsets
    (sentences + 1,)``: as read, without control characters, and never cut.
    """

    values: NDArray[np.int32]
    offsets: NDArray[np.int64]
    letters: NDArray[np.uint8]
    letter_offsets: NDArray[np.int64]

    def __post_init__(self) -> None:
        parts = ((self.values, self.offsets), (self.letters, self.letter_offsets))
        if any(offsets[0] != 0 or offsets[-1] != len(values) for values, offsets in parts):
            raise UsageError("A side's offsets go from 0 to the number of its pieces, and of its letters.")

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def lengths(self) -> NDArray[np.int64]:
        """``(sentences,)``: pieces of each."""
        return np.diff(self.offsets)

    def sentence(self, k: int) -> NDArray[np.int32]:
        """The pieces of sentence ``k``."""
        return self.values[self.offsets[k] : self.offsets[k + 1]]

    def text(self, k: int) -> str:
        """Sentence ``k`` as it is in the corpus."""
        return self.letters[self.letter_offsets[k] : self.letter_offsets[k + 1]].tobytes().decode()

    def texts(self) -> list[str]:
        """All sentences."""
        return [self.text(k) for k in range(len(self))]

    def select(self, rows: NDArray[np.int64]) -> "PieceSide":
        """Some sentences, in the order named."""
        (places, offsets), (letters, ends) = (ragged_rows(o, rows) for o in (self.offsets, self.letter_offsets))
        return PieceSide(self.values[places], offsets, self.letters[letters], ends)


@dataclass(frozen=True, eq=False)
class PieceSplit:
    """Pairs of a split. ``rows (pairs,)``: the line of its file that each comes from, from 1."""

    source: PieceSide
    target: PieceSide
    rows: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.source)

    def select(self, rows: NDArray[np.int64]) -> "PieceSplit":
        """Some pairs, in the order named."""
        return PieceSplit(self.source.select(rows), self.target.select(rows), self.rows[rows])


@dataclass(frozen=True, eq=False)
class Bitext:
    """A parallel corpus in pieces; ``notes``: every exclusion, counted and named, a sentence each."""

    name: str
    source_language: str
    target_language: str
    pieces: Pieces
    train: PieceSplit
    validation: PieceSplit
    test: PieceSplit | None = None
    notes: tuple[str, ...] = ()

    @cached_property
    def content(self) -> str:
        """What the data is: 16 hexadecimal digits of a sha256 over the pieces' model and all ids."""
        digest = sha256(self.pieces.model)
        for split in self.splits.values():
            for side in (split.source, split.target):
                for values in (side.values, side.offsets):
                    digest.update(len(values).to_bytes(8, "little"))
                    digest.update(values.astype("<i8", copy=False).tobytes())
        return digest.hexdigest()[:16]

    @property
    def splits(self) -> dict[SplitName, PieceSplit]:
        """Those that there are, by name."""
        every = zip(SPLITS, (self.train, self.validation, self.test), strict=True)
        return {name: split for name, split in every if split is not None}


def load_bitext(name: str, *, pieces: int = PIECES, longest: int = LONGEST, root: Path | None = None) -> Bitext:
    """A bitext by name such as ``multi30k/en-de``, from the folder ``root``, else the one that ATTNLAB_DATA names.

    ``pieces``: how many. ``longest``: pieces of a sentence that are kept.
    """
    _check_longest(longest)
    known, source, target = known_bitext(name)
    files = known.locate(data_folder(root), source, target)
    if files is None:
        raise UsageError(f"{data_folder(root)} has no {known.title} in {source} and {target}; needed: {known.get}.")
    return _cached(
        content_key(files, *_versions(), name, pieces, longest),
        lambda: _build(name, (source, target), known.load(files, source, target), pieces, longest),
    )


def load_bitext_files(
    source: str | Path,
    target: str | Path | None = None,
    *,
    columns: tuple[str, str] | None = None,
    languages: tuple[str, str] = ("source", "target"),
    validation: Sequence[str | Path] = (),
    pieces: int = PIECES,
    longest: int = LONGEST,
) -> Bitext:
    """A parallel corpus of one's own: two files, line by line, or one with both sides; plain, .gz or .xz.

    One file is a table (.csv, .tsv, .json(l), .parquet) with two ``columns``, or has lines ``source TAB target`` or
    ``source ||| target`` without a header. ``validation``: files of the same form to validate on; without them a tenth
    is held out, and a source sentence that occurs twice is on one side of the split.
    """
    _check_longest(longest)
    files = [Path(path) for path in (source, target) if path is not None]
    held_out = [Path(path) for path in validation]
    settings = (files, held_out, columns, languages, pieces, longest)
    name = " and ".join(path.name for path in files)
    return _cached(
        content_key([*files, *held_out], *_versions(), *settings),
        lambda: _build(name, languages, read_own_pairs(files, held_out, columns), pieces, longest),
    )


def keep_bitext(bitext: Bitext) -> str:
    """Keep a bitext in the cache under its content, so that runs on it need its files no more; its name there."""
    if read_cached(_kept(bitext.content)) is None:
        write_cached(_kept(bitext.content), *_packed(bitext))
    return _kept(bitext.content)


def kept_bitext(content: str) -> Bitext | None:
    """The bitext with this content, if the cache has it."""
    stored = read_cached(_kept(content))
    bitext = None if stored is None else _read(*stored)
    return bitext if bitext is not None and bitext.content == content else None


def _kept(content: str) -> str:
    return f"bitext-{content}"


def _versions() -> tuple[object, ...]:
    """What decides the pieces beside the texts: another version of the library may learn others."""
    return "bitext", RULES, sentencepiece.__version__


def _check_longest(longest: int) -> None:
    if longest < 1:
        raise UsageError(f"The longest sentence allowed has at least 1 piece, not {longest}.")


def _build(name: str, languages: tuple[str, str], raw: RawBitext, size: int, longest: int) -> Bitext:
    """Clean sentences, pieces learned from the training part, everything encoded."""
    notes = list(raw.notes)
    parts: dict[SplitName, RawPairs] = {}
    for split, given in zip(SPLITS, (raw.train, raw.validation, raw.test), strict=True):
        if given is not None:
            parts[split], more = clean(given)
            notes += more
    train = parts["train"]
    # The order of the languages must not matter: both directions have the same pieces.
    sides = (train.source, train.target) if languages[0] <= languages[1] else (train.target, train.source)
    pieces, more_notes = learn_pieces([*sides[0], *sides[1]], size)
    splits: dict[SplitName, PieceSplit] = {}
    for split, pairs in parts.items():
        splits[split], more = _in_pieces(pieces, pairs, longest)
        notes += more
        if not len(splits[split]):
            raise UsageError(f"{pairs.files} has no sentence pair with text on both sides.")
    notes += _seen_in_training(parts)
    notes += [*more_notes, *spaceless(languages[0], train.source), *spaceless(languages[1], train.target)]
    every = splits["train"], splits["validation"], splits.get("test")
    return Bitext(name, languages[0], languages[1], pieces, *every, notes=tuple(notes))


def _seen_in_training(parts: Mapping[SplitName, RawPairs]) -> list[str]:
    """A sentence for each other split that has pairs of the training part."""
    train = set(zip(parts["train"].source, parts["train"].target, strict=True))
    notes = []
    for name, pairs in parts.items():
        seen = sum(pair in train for pair in zip(pairs.source, pairs.target, strict=True))
        if seen and name != "train":
            notes.append(f"{seen} of the {len(pairs)} {name} pairs {'is a' if seen == 1 else 'are'} training pair"
                         f"{'s' * (seen > 1)}, too.")  # fmt: skip
    return notes


def _in_pieces(pieces: Pieces, pairs: RawPairs, longest: int) -> tuple[PieceSplit, list[str]]:
    """The pairs encoded, those of which nothing is left on a side taken out, long sentences cut."""
    notes = []
    encoded = [pieces.encode(side) for side in (pairs.source, pairs.target)]
    nothing = (np.diff(encoded[0].offsets) == 0) | (np.diff(encoded[1].offsets) == 0)
    if nothing.any():
        notes.append(counted(pairs, nothing, "pair", "of which nothing printable is on a side", "left out"))
        pairs = pairs.select(np.flatnonzero(~nothing))
        encoded = [pieces.encode(side) for side in (pairs.source, pairs.target)]
    for name, one in zip(("source", "target"), encoded, strict=True):
        long = np.diff(one.offsets) > longest
        if long.any():
            which = f"of more than {longest} pieces"
            notes.append(counted(pairs, long, f"{name} sentence", which, f"cut to {longest}"))
    sides = [_side(one, side, longest) for one, side in zip(encoded, (pairs.source, pairs.target), strict=True)]
    return PieceSplit(sides[0], sides[1], pairs.rows), notes


def piece_side(pieces: Pieces, texts: Sequence[str], longest: int = LONGEST) -> PieceSide:
    """Sentences in pieces, cut to ``longest``."""
    return _side(pieces.encode(texts), texts, longest)


def _side(encoded: Encoded, texts: Sequence[str], longest: int) -> PieceSide:
    lengths = np.diff(encoded.offsets)
    place = np.arange(len(encoded.values)) - np.repeat(encoded.offsets[:-1], lengths)
    offsets = np.append(0, np.minimum(lengths, longest).cumsum()).astype(np.int64)
    letters = [text.encode() for text in texts]
    ends = np.append(0, np.cumsum([len(one) for one in letters], dtype=np.int64)).astype(np.int64)
    return PieceSide(encoded.values[place < longest], offsets, np.frombuffer(b"".join(letters), np.uint8), ends)


def _cached(key: str, build: Callable[[], Bitext]) -> Bitext:
    """What was kept under ``key``, else what ``build`` makes, which is kept."""
    if (stored := read_cached(key)) is not None and (bitext := _read(*stored)) is not None:
        return bitext
    bitext = build()
    write_cached(key, *_packed(bitext))
    return bitext


_SIDE = ("values", "offsets", "letters", "letter_offsets")


def _packed(bitext: Bitext) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    arrays: dict[str, NDArray[Any]] = {"pieces": np.frombuffer(bitext.pieces.model, np.uint8)}
    for name, split in bitext.splits.items():
        arrays[f"{name}.rows"] = split.rows
        for side in ("source", "target"):
            arrays |= {f"{name}.{side}.{field}": getattr(getattr(split, side), field) for field in _SIDE}
    languages = (bitext.source_language, bitext.target_language)
    return arrays, {"name": bitext.name, "languages": languages, "notes": bitext.notes}


def _read(arrays: Mapping[str, NDArray[Any]], facts: Any) -> Bitext | None:
    """What was packed; None if it is no bitext, though its checksum agrees."""
    try:
        bitext = _unpacked(arrays, facts)
        check_texts(bitext.name, bitext.source_language, bitext.target_language, *bitext.notes)
        for split in bitext.splits.values():
            for side in (split.source, split.target):
                check_ragged(side.values, side.offsets, len(bitext.pieces))
                check_ragged(side.letters, side.letter_offsets)
                if not len(split.rows) == len(side.offsets) - 1 == len(side.letter_offsets) - 1:
                    raise ValueError("the sides are not of one length")
    except (KeyError, TypeError, ValueError, RuntimeError):
        return None
    return bitext


def _unpacked(arrays: Mapping[str, NDArray[Any]], facts: Mapping[str, Any]) -> Bitext:
    splits: dict[SplitName, PieceSplit] = {}
    for name in SPLITS:
        if f"{name}.rows" in arrays:
            source, target = (
                PieceSide(*(arrays[f"{name}.{side}.{field}"] for field in _SIDE)) for side in ("source", "target")
            )
            splits[name] = PieceSplit(source, target, arrays[f"{name}.rows"])
    source_language, target_language = facts["languages"]
    every = splits["train"], splits["validation"], splits.get("test")
    pieces = Pieces(arrays["pieces"].tobytes())
    return Bitext(facts["name"], source_language, target_language, pieces, *every, notes=tuple(facts["notes"]))

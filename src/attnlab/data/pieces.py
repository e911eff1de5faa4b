"""Pieces of words: one SentencePiece model for both languages of a parallel corpus (P3 2.1 has 8000 of them).

The model is the library's default, a unigram language model over normalised text (NFKC) with case kept; the paper says
no more than how many pieces there are. Every character of the training text has a piece. Ids 0 to 3 are ``<pad>``,
``<unk>``, ``<s>`` and ``</s>``.

A piece never crosses a space, so words are encoded one by one: each distinct word once, and every piece knows its word.
"""

import io
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
import sentencepiece
from numpy.typing import NDArray

from attnlab.data.sentence_pairs import Side
from attnlab.errors import UsageError

PAD, UNKNOWN, BEGIN, END = range(4)
MARKS = ("<pad>", "<unk>", "<s>", "</s>")
FEWEST = 8
"""The fewest pieces that may be asked for: the marks and something to say."""
MOST = 100_000
MOST_SENTENCES = 200_000
"""Sentences that pieces are learned from at most; of more, some are taken at even distances."""
_MOST_CHARACTERS = 2_000
"""Characters of a sentence that pieces are learned from."""
_FEW_PIECES = re.compile(r"smaller than required_chars\. \d+ vs (\d+)")
_SPACE = "\u2581"
"""How a model spells the space before a word."""


@dataclass(frozen=True, eq=False)
class Encoded:
    """Sentences in pieces, without marks: sentence k is ``values[offsets[k] : offsets[k + 1]]``.

    ``values (n,)``: ids. ``words (n,)``: which word of its sentence each piece belongs to, from 0, words being what is
    between the white space of ASCII. A word may have no piece, if nothing of it is left by the normalisation.
    """

    values: NDArray[np.int32]
    offsets: NDArray[np.int64]
    words: NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class Pieces:
    """A trained model; ``model``: its bytes, as SentencePiece saves them."""

    model: bytes

    @cached_property
    def _processor(self) -> sentencepiece.SentencePieceProcessor:
        return sentencepiece.SentencePieceProcessor(model_proto=self.model)

    def __len__(self) -> int:
        return int(self._processor.get_piece_size())

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The pieces by id; one that begins a word begins with ``▁``."""
        return tuple(self._processor.id_to_piece(list(range(len(self)))))

    def encode(self, texts: Sequence[str]) -> Encoded:
        """Sentences as ids, without marks."""
        side = Side.of_lines(pa.array(texts, pa.large_string()))
        encoded = self._processor.encode(side.words, num_threads=1) if side.words else []
        pieces, ends = _flat(encoded)
        counts = np.diff(ends)[side.ids]  # (words of the text,), pieces of each
        starts = np.append(0, np.cumsum(counts))
        places = np.arange(starts[-1]) + np.repeat(ends[side.ids] - starts[:-1], counts)
        place_in_sentence = np.arange(len(side.ids)) - np.repeat(side.offsets[:-1], side.lengths)
        return Encoded(pieces[places], starts[side.offsets], np.repeat(place_in_sentence, counts).astype(np.int32))

    def decode(self, ids: Iterable[int]) -> str:
        """The text of a sentence's pieces; marks and what follows the end are left out.

        An unknown piece is shown as `` ⁇ ``, as SentencePiece does.
        """
        kept = []
        for one in ids:
            if one == END:
                break
            if one not in (PAD, BEGIN):
                kept.append(int(one))
        return str(self._processor.decode(kept))


def learn_pieces(texts: Sequence[str], size: int = 8000) -> tuple[Pieces, tuple[str, ...]]:
    """A model of ``size`` pieces, fewer if the texts bear no more, and what there is to say about it.

    The same texts give the same bytes: one thread, no sampling.
    """
    if not FEWEST <= size <= MOST:
        raise UsageError(f"The number of pieces lies between {FEWEST} and {MOST}, not {size}.")
    notes = []
    chosen = np.arange(len(texts))
    if len(texts) > MOST_SENTENCES:
        chosen = np.linspace(0, len(texts) - 1, MOST_SENTENCES).round().astype(np.int64)
        notes.append(f"Pieces are learned from {MOST_SENTENCES} of the {len(texts)} training sentences.")
    chosen_texts = [texts[k][:_MOST_CHARACTERS] for k in chosen.tolist()]
    try:
        pieces = Pieces(_trained(chosen_texts, size, 1.0))
    except UsageError:  # a writing of thousands of characters: the rarest become unknown
        pieces = Pieces(_trained(chosen_texts, size, 0.9995))
    if len(pieces) < size:
        notes.append(f"The training text bears {len(pieces)} pieces, not {size}.")
    return pieces, tuple(notes)


def _trained(texts: Sequence[str], size: int, coverage: float) -> bytes:
    """A model of which every character has a piece that is among the ``coverage`` most frequent of the texts."""
    model = io.BytesIO()
    try:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(texts),
            model_writer=model,
            model_type="unigram",
            vocab_size=size,
            character_coverage=coverage,
            hard_vocab_limit=False,  # a small corpus gets as many as it bears
            max_sentence_length=4 * _MOST_CHARACTERS,  # in bytes: no sentence is skipped
            num_threads=1,  # the sums of several threads differ in their last digits
            pad_id=PAD,
            unk_id=UNKNOWN,
            bos_id=BEGIN,
            eos_id=END,
            minloglevel=3,
        )
    except RuntimeError as fault:
        if few := _FEW_PIECES.search(str(fault)):
            raise UsageError(f"{size} pieces are too few for {few[1]} different characters; ask for more.") from None
        raise UsageError("There is too little text to learn pieces from; a few sentences are needed.") from None
    return model.getvalue()


def _flat(lists: Sequence[Sequence[int]]) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Lists one after the other, and where each begins and the last ends."""
    ends = np.append(0, np.cumsum([len(one) for one in lists], dtype=np.int64))
    values = np.fromiter((piece for one in lists for piece in one), np.int32, int(ends[-1]))
    return values, ends.astype(np.int64)

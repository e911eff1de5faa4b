"""Pieces: the same bytes twice, every sentence back from its ids, every piece in its word."""

import numpy as np
import pytest
import sentencepiece
from hypothesis import given, settings
from hypothesis import strategies as st

from attnlab.data.pieces import BEGIN, END, MARKS, PAD, UNKNOWN, learn_pieces
from attnlab.errors import UsageError
from attnlab.seeds import numpy_generator


def sentences(count, seed=0):
    """Sentences of invented words, the frequent ones much more frequent than the rare."""
    generator = numpy_generator(seed, "sentences")
    syllables = [a + b for a in "bdfgklmnprst" for b in ("a", "e", "i", "o", "ou", "ü")]
    words = ["".join(generator.choice(syllables, generator.integers(1, 4))) for _ in range(400)]
    ranks = np.arange(1, 401.0)
    chances = (1 / ranks) / (1 / ranks).sum()
    return [" ".join(generator.choice(words, generator.integers(3, 12), p=chances)) + "." for _ in range(count)]


@pytest.fixture(scope="module")
def pieces():
    return learn_pieces(sentences(600), 120)[0]


def test_the_same_texts_give_the_same_bytes(pieces):
    again, notes = learn_pieces(sentences(600), 120)
    assert again.model == pieces.model
    assert notes == ()
    assert learn_pieces(sentences(600, seed=1), 120)[0].model != pieces.model


def test_marks_have_the_first_ids(pieces):
    assert pieces.names[:4] == MARKS
    assert (PAD, UNKNOWN, BEGIN, END) == (0, 1, 2, 3)
    assert len(pieces) == len(pieces.names) == len(set(pieces.names)) == 120


def test_sentences_come_back(pieces):
    texts = sentences(50, seed=2)
    encoded = pieces.encode(texts)
    for k, text in enumerate(texts):
        ids = encoded.values[encoded.offsets[k] : encoded.offsets[k + 1]]
        assert pieces.decode(ids) == text
        assert pieces.decode([BEGIN, *ids, END, *ids, PAD]) == text
    assert encoded.values.dtype == np.int32 and encoded.offsets.dtype == np.int64


@settings(max_examples=200)
@given(st.lists(st.lists(st.text(st.sampled_from("abdoütx.Z…½ﬁ"), min_size=1, max_size=6), max_size=5), max_size=5))
def test_pieces_are_those_of_the_library_and_know_their_words(pieces, lists):
    """Words encoded one by one are the sentence encoded whole, unknown and compatibility characters included."""
    processor = sentencepiece.SentencePieceProcessor(model_proto=pieces.model)
    texts = [" ".join(words) for words in lists]
    encoded = pieces.encode(texts)
    assert encoded.offsets.tolist() == [0, *np.cumsum([len(processor.encode(text)) for text in texts]).tolist()]
    for k, words in enumerate(lists):
        part = slice(encoded.offsets[k], encoded.offsets[k + 1])
        assert encoded.values[part].tolist() == processor.encode(texts[k])
        expected = [number for number, word in enumerate(words) for _ in processor.encode(word)]
        assert encoded.words[part].tolist() == expected


def test_a_word_of_which_nothing_is_left_has_no_piece(pieces):
    encoded = pieces.encode(["ba \u200b bo", "", "\u200b"])
    assert encoded.offsets[1:].tolist() == [len(encoded.values)] * 3
    assert set(encoded.words.tolist()) == {0, 2}


def test_a_small_text_gets_as_many_pieces_as_it_bears():
    texts = sentences(20)
    pieces, notes = learn_pieces(texts, 8000)
    assert 20 < len(pieces) < 8000
    assert notes == (f"The training text bears {len(pieces)} pieces, not 8000.",)
    encoded = pieces.encode(texts)
    assert pieces.decode(encoded.values[: encoded.offsets[1]]) == texts[0]


def test_of_very_many_sentences_some_teach_the_pieces(monkeypatch):
    monkeypatch.setattr("attnlab.data.pieces.MOST_SENTENCES", 200)
    texts = sentences(600)
    pieces, notes = learn_pieces(texts, 100)
    assert notes == ("Pieces are learned from 200 of the 600 training sentences.",)
    chosen = [texts[k] for k in np.linspace(0, 599, 200).round().astype(int)]
    assert pieces.model == learn_pieces(chosen, 100)[0].model


@pytest.mark.parametrize(
    ("texts", "size", "sentence"),
    [
        (["ba bo"] * 9, 4, "The number of pieces lies between 8 and 100000, not 4."),
        (["ba bo"] * 9, 10**6, "The number of pieces lies between 8 and 100000, not 1000000."),
        (["abcdefghij klmnop"] * 9, 10, "10 pieces are too few for 2[0-9] different characters; ask for more."),
        ([], 100, "There is too little text to learn pieces from"),
        (["\u200b"], 100, "There is too little text to learn pieces from"),
    ],
)
def test_what_cannot_be_learned_from_is_refused(texts, size, sentence):
    with pytest.raises(UsageError, match=sentence):
        learn_pieces(texts, size)

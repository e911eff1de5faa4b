"""Words: checked against a loop over characters."""

from itertools import groupby

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attnlab.data.tokens import TokenRule, tokenise


def runs(text):
    """Runs of letters, digits and underscores, by hand."""
    return [
        "".join(chars)
        for is_word, chars in groupby(text.lower(), key=lambda char: char.isalnum() or char == "_")
        if is_word
    ]


@given(st.text())
def test_words_are_runs_of_word_characters(text):
    assert TokenRule().words(text) == runs(text)


@given(st.lists(st.text(alphabet="ab_1 .é<br/>", max_size=12), max_size=8))
def test_numbers_give_the_words_back(texts):
    tokens = tokenise(texts, TokenRule())
    assert [tokens.words[word] for word in tokens.ids] == [word for text in texts for word in runs(text)]
    assert tokens.lengths.tolist() == [len(runs(text)) for text in texts]
    assert len(set(tokens.words)) == len(tokens.words)
    assert tokens.ids.dtype == np.int32


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        (TokenRule(), ["fine", "br", "br", "end_of_story", "1993"]),
        (TokenRule(breaks=True), ["fine", "end_of_story", "1993"]),
        (TokenRule(underscores=True), ["fine", "br", "br", "end", "of", "story", "1993"]),
    ],
    ids=["plain", "breaks", "underscores"],
)
def test_what_a_corpus_may_do_besides(rule, words):
    assert rule.words("Fine.<br /><BR>end_of_story: 1993!") == words


def test_only_integers_of_two_digits_and_more_are_unknown():
    words = ["7", "42", "1993", "42nd", "٤٢", "four"]
    assert [word for word in words if TokenRule(numbers=True).is_unknown(word)] == ["42", "1993", "٤٢"]
    assert not any(map(TokenRule().is_unknown, words))

"""Which words get an id: checked against a dictionary."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attnlab.data.tokens import UNKNOWN, check_vocabulary_rule, choose_words
from attnlab.errors import UsageError

counted = st.dictionaries(st.sampled_from([*"abcdefgh", "é", "zz"]), st.integers(0, 6), min_size=1)


@given(counted, st.sets(st.sampled_from("abc")), st.sets(st.sampled_from("bcd")))
def test_ids_by_falling_count_then_alphabet(counts, unknown, kept):
    words, ids = choose_words(list(counts), np.array(list(counts.values())), unknown, kept)
    expected = {word for word, count in counts.items() if count >= 3 or (count and word in kept)} - unknown
    assert words == (UNKNOWN, *sorted(expected, key=lambda word: (-counts[word], word)))
    assert dict(zip(counts, ids.tolist(), strict=True)) == {
        word: words.index(word) if word in expected else 0 for word in counts
    }


def test_an_unknown_rule_is_told_with_the_known_ones():
    assert check_vocabulary_rule("released") == "released"
    with pytest.raises(UsageError, match=r"no vocabulary rule 'glove'; the rules are text, released"):
        check_vocabulary_rule("glove")

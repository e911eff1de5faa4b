"""The keyword task: what it may and may not produce, and that it is the paper's distribution."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attnlab.errors import UsageError
from attnlab.families.keyword.task import KEYWORD, NEGATIVE, KeywordTask
from attnlab.seeds import numpy_generator

SMALL = KeywordTask(length=3, words=3)


@given(
    length=st.integers(2, 9), words=st.integers(2, 6), labels=st.lists(st.integers(0, 1)), seed=st.integers(0, 2**32)
)
def test_positive_sequences_hold_the_keyword_once_and_say_where(length, words, labels, seed):
    batch = KeywordTask(length, words).draw(np.array(labels, dtype=np.int64), numpy_generator(seed))
    assert batch.tokens.shape == (len(labels), length)
    assert batch.labels.tolist() == labels
    for tokens, label, position in zip(batch.tokens.tolist(), labels, batch.position.tolist(), strict=True):
        assert tokens.count(KEYWORD) == label
        assert position == (tokens.index(KEYWORD) if label else -1)
        assert all(0 <= word < words for word in tokens)


@given(
    length=st.integers(2, 9), words=st.integers(3, 6), labels=st.lists(st.integers(0, 1)), seed=st.integers(0, 2**32)
)
def test_a_keyword_for_each_class_is_in_its_sequences_once_and_never_in_the_others(length, words, labels, seed):
    task = KeywordTask(length, words, negative=True)
    batch = task.draw(np.array(labels, dtype=np.int64), numpy_generator(seed))
    for tokens, label, position in zip(batch.tokens.tolist(), labels, batch.position.tolist(), strict=True):
        own, other = (KEYWORD, NEGATIVE) if label else (NEGATIVE, KEYWORD)
        assert (tokens.count(own), tokens.count(other)) == (1, 0)
        assert tokens[position] == own
        assert all(word in task.shared for place, word in enumerate(tokens) if place != position)


def test_a_keyword_for_each_class_is_at_any_place_and_leaves_every_shared_word_to_both():
    batch = KeywordTask(4, 5, negative=True).batch(8000, numpy_generator(0))
    for label in (0, 1):
        of_class = batch.labels == label
        places = np.bincount(batch.position[of_class].numpy(), minlength=4) / int(of_class.sum())
        assert np.abs(places - 1 / 4).max() < 0.04  # five standard deviations
        shares = np.bincount(batch.tokens[of_class].numpy().ravel(), minlength=5)[2:] / int(of_class.sum())
        assert np.abs(shares - 1).max() < 0.07


def test_a_keyword_for_each_class_needs_a_word_that_both_share():
    with pytest.raises(UsageError, match="at least 3 words, a shared one too, not 2"):
        KeywordTask(4, 2, negative=True)


def test_the_paper_s_sizes():
    task = KeywordTask()
    batch = task.batch(4000, numpy_generator(0))
    assert batch.tokens.shape == (4000, 40)
    assert (batch.tokens.min(), batch.tokens.max()) == (0, 39)
    assert abs(batch.labels.double().mean() - 0.5) < 0.04  # five standard deviations


def rejected(count, rng):
    """P3 6.1 to the letter: uniform words; two keywords are thrown away, and what the wanted class does not have."""
    kept = []
    while len(kept) < count:
        wanted = rng.integers(2)
        while True:
            tokens = rng.integers(SMALL.words, size=SMALL.length)
            if (tokens == KEYWORD).sum() == wanted:
                kept.append(tokens)
                break
    return np.array(kept)


def frequencies(tokens):
    """How often each of the 27 sequences occurs."""
    codes = tokens @ (SMALL.words ** np.arange(SMALL.length))
    return np.bincount(codes, minlength=SMALL.words**SMALL.length)


def exact():
    """The probability of each of the 27 sequences: half for those without a keyword, half for those with one."""
    sequences = np.array(list(product(range(SMALL.words), repeat=SMALL.length)))
    keywords = (sequences == KEYWORD).sum(1)
    chances = np.where(keywords > 1, 0.0, 0.5 / np.where(keywords == 1, (keywords == 1).sum(), (keywords == 0).sum()))
    return np.bincount(sequences @ (SMALL.words ** np.arange(SMALL.length)), weights=chances, minlength=27)


@pytest.mark.parametrize("direct", [True, False], ids=["drawn directly", "by rejection"])
def test_both_ways_of_drawing_have_the_same_distribution(direct):
    n = 20_000
    tokens = SMALL.batch(n, numpy_generator(3)).tokens.numpy() if direct else rejected(n, numpy_generator(4))
    counts, expected = frequencies(tokens), n * exact()
    assert (counts[expected == 0] == 0).all()
    there = expected > 0
    chi_square = ((counts - expected)[there] ** 2 / expected[there]).sum()
    assert there.sum() == 20  # 8 without a keyword, 12 with one
    assert chi_square < 50  # 19 degrees of freedom: exceeded once in 7,000 fair draws


def test_the_same_generator_gives_the_same_batch():
    first, second = (KeywordTask().batch(5, numpy_generator(7, "training", 3)) for _ in range(2))
    assert (first.tokens == second.tokens).all() and (first.labels == second.labels).all()
    assert (first.tokens != KeywordTask().batch(5, numpy_generator(7, "training", 4)).tokens).any()


@pytest.mark.parametrize(
    ("values", "named"), [({"length": 1}, "length of at least 2"), ({"words": 1}, "at least 2 words")]
)
def test_a_task_without_room_is_refused(values, named):
    with pytest.raises(UsageError, match=named) as caught:
        KeywordTask(**values)
    assert "\n" not in str(caught.value)

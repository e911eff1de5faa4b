"""Copying tasks: what each distribution may and may not produce."""

from math import factorial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attnlab.errors import UsageError
from attnlab.families.copying.task import (
    CopyingTask,
    Independent,
    Mixture,
    Permutations,
    PermutationSets,
    Selections,
    Zipf,
    random_permutation,
)
from attnlab.seeds import numpy_generator

seeds = st.integers(0, 2**32)


@given(words=st.integers(1, 12), count=st.integers(0, 20), seed=seeds)
def test_permutations_hold_every_word_once(words, count, seed):
    drawn = Permutations(words).draw(count, numpy_generator(seed))
    assert drawn.shape == (count, words)
    assert (np.sort(drawn, axis=1) == np.arange(words)).all()


@given(words=st.integers(1, 12), seed=seeds, data=st.data())
def test_selections_repeat_no_word(words, seed, data):
    length = data.draw(st.integers(1, words))
    drawn = Selections(length, words).draw(30, numpy_generator(seed))
    assert drawn.shape == (30, length)
    assert drawn.min() >= 0 and drawn.max() < words
    assert all(len(set(row)) == length for row in drawn.tolist())


@given(size=st.integers(1, 6), sets=st.integers(1, 4), seed=seeds)
def test_permutation_sets_take_one_set_each(size, sets, seed):
    drawn = PermutationSets(size, sets).draw(30, numpy_generator(seed))
    chosen = drawn // size
    assert (chosen == chosen[:, :1]).all(), "a sequence mixes two sets"
    assert (np.sort(drawn % size, axis=1) == np.arange(size)).all()


def test_every_permutation_is_equally_likely():
    n = 24_000
    drawn = Permutations(4).draw(n, numpy_generator(1))
    _, counts = np.unique(drawn, axis=0, return_counts=True)
    assert len(counts) == factorial(4)
    expected = n / factorial(4)
    chi_square = ((counts - expected) ** 2 / expected).sum()
    assert chi_square < 60  # 23 degrees of freedom: exceeded once in 30,000 draws of a fair shuffle


def test_independent_words_are_uniform_and_repeat():
    drawn = Independent(40, 40).draw(4000, numpy_generator(2))
    counts = np.bincount(drawn.ravel(), minlength=40)
    assert ((counts - 4000) ** 2 / 4000).sum() < 90  # 39 degrees of freedom
    assert any(len(set(row)) < 40 for row in drawn.tolist())


def test_zipf_words_have_zipfs_frequencies():
    weights = 1 / np.arange(1, 11)
    drawn = Zipf(20, 10).draw(2000, numpy_generator(5))
    expected = 40_000 * weights / weights.sum()
    counts = np.bincount(drawn.ravel(), minlength=10)
    assert ((counts - expected) ** 2 / expected).sum() < 40  # 9 degrees of freedom


def test_zipf_without_repetition_draws_one_word_after_the_other():
    n = 60_000
    drawn = Zipf(2, 3, repeat=False).draw(n, numpy_generator(6))
    assert (drawn[:, 0] != drawn[:, 1]).all()
    # Weights 6, 3, 2 of 11: the word left out is drawn neither first nor second.
    left_out = np.bincount(3 - drawn.sum(axis=1), minlength=3) / n
    chance = [3 / 11 * 2 / 8 + 2 / 11 * 3 / 9, 6 / 11 * 2 / 5 + 2 / 11 * 6 / 9, 6 / 11 * 3 / 5 + 3 / 11 * 6 / 8]
    assert left_out == pytest.approx(chance, abs=0.01)  # five standard deviations
    assert (drawn[:, 0] < drawn[:, 1]).mean() == pytest.approx(0.5, abs=0.01), "the order tells the frequency"


def test_zipf_of_all_words_is_a_permutation():
    drawn = Zipf(6, 6, exponent=2.0, repeat=False).draw(50, numpy_generator(7))
    assert (np.sort(drawn, axis=1) == np.arange(6)).all()


def test_mixture_keeps_its_shares():
    mixture = Mixture((Permutations(40), Selections(40, 41)), (0.9, 0.1))
    drawn = mixture.draw(10_000, numpy_generator(3))
    assert mixture.words == 41
    with_the_odd_word = (drawn == 40).any(axis=1).mean()
    assert abs(with_the_odd_word - 0.1 * 40 / 41) < 0.012  # four standard deviations


def test_batch_copies_shifts_and_closes():
    task = CopyingTask(Selections(3, 5))
    batch = task.batch(7, numpy_generator(4))
    assert task.vocabulary == 7
    assert (batch.target == batch.source).all()
    assert (batch.source[:, -1] == task.end).all()
    assert (batch.previous[:, 0] == task.start).all()
    assert (batch.previous[:, 1:] == batch.target[:, :-1]).all()
    assert batch.position.tolist() == [0, 1, 2, 3]


@given(seed=seeds, order=st.permutations(range(6)), substitution=st.permutations(range(9)))
def test_position_names_the_word_an_output_is_made_from(seed, order, substitution):
    task = CopyingTask(Selections(6, 9), tuple(substitution), tuple(order))
    batch = task.batch(5, numpy_generator(seed))
    mapping = np.array([*substitution, task.start, task.end])
    made_from = batch.source.numpy()[:, batch.position.numpy()]
    assert (batch.target.numpy() == mapping[made_from]).all()


def test_same_seed_same_batch_and_another_seed_another():
    task = CopyingTask(Permutations(8))
    one, same, other = (task.batch(4, numpy_generator(seed, "training", 0)) for seed in (5, 5, 6))
    assert (one.source == same.source).all()
    assert not (one.source == other.source).all()


def test_random_permutation_is_fixed():
    assert random_permutation(40, 0) == random_permutation(40, 0)
    assert sorted(random_permutation(40, 0)) == list(range(40))
    assert random_permutation(40, 0) != random_permutation(40, 1)


@pytest.mark.parametrize(
    ("make", "named"),
    [
        (lambda: Selections(5, 4), "5 different words"),
        (lambda: Permutations(0), "words of at least 1"),
        (lambda: Independent(0, 3), "length of at least 1"),
        (lambda: Zipf(5, 4, repeat=False), "5 different words"),
        (lambda: Zipf(5, 4, exponent=-1), "exponent from 0 to 10, not -1"),
        (lambda: Zipf(5, 4, exponent=float("nan")), "exponent from 0 to 10, not nan"),
        (lambda: PermutationSets(3, 0), "sets of at least 1"),
        (lambda: Mixture((Permutations(3),), (0.5,)), "add up to 1"),
        (lambda: Mixture((Permutations(3),), (0.5, 0.5)), "1 parts, 2 shares"),
        (lambda: Mixture((Permutations(3), Permutations(4)), (0.5, 0.5)), "one length"),
        (lambda: CopyingTask(Permutations(3), substitution=(0, 1)), "substitution of words"),
        (lambda: CopyingTask(Permutations(3), order=(0, 0, 1)), "order of positions"),
        (lambda: numpy_generator(-1), "not -1"),
    ],
)
def test_bad_settings_are_refused_in_a_sentence(make, named):
    with pytest.raises(UsageError, match=named):
        make()

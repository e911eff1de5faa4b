"""Best steps chosen on some texts and read on others, and parts of claims with known answers."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attnlab.experiments.texts.text_curves import at_steps, best_steps, cross_read, first_half, held_out
from attnlab.experiments.texts.text_parts import bounds, far_exceeds, sign_of

TEXTS = 40


@given(st.integers(2, 500))
def test_the_halves_are_halves_and_the_same_each_time(texts):
    half = first_half(texts)
    assert half.sum() == texts // 2
    assert np.array_equal(half, first_half(texts))


def test_each_pair_has_its_own_best_step_and_texts_average_over_pairs():
    values = np.zeros((2, 3, TEXTS))
    values[0, 1], values[1, 2] = 0.5, 0.9
    everyone = np.ones(TEXTS, dtype=bool)
    assert best_steps(values, everyone).tolist() == [1, 2]
    assert at_steps(values, best_steps(values, everyone), everyone) == pytest.approx(np.full(TEXTS, 0.7))


def test_what_one_half_likes_is_read_on_the_other():
    half = first_half(TEXTS)
    values = np.zeros((1, 2, TEXTS))
    values[0, 0, half] = 1.0  # each half likes the step at which the other half has nothing
    values[0, 1, ~half] = 1.0
    assert held_out(values).tolist() == [0.0] * (TEXTS - TEXTS // 2)
    assert cross_read(values).tolist() == [0.0] * TEXTS
    assert values.mean(axis=2).max() == 0.5, "choosing and reading on all texts would be more optimistic"


@given(st.integers(0, 2**32 - 1))
def test_a_single_step_leaves_nothing_to_choose(seed):
    values = np.random.default_rng(seed).random((3, 1, TEXTS))
    assert cross_read(values) == pytest.approx(values[:, 0].mean(axis=0))
    assert held_out(values) == pytest.approx(values[:, 0, ~first_half(TEXTS)].mean(axis=0))


@pytest.mark.parametrize(
    ("value", "verdict"),
    [(0.5, "holds"), (0.15, "fails"), (0.1, "fails"), (0.02, "fails")],
    ids=["far above", "above, but not by twice", "chance", "below"],
)
def test_far_exceeding_chance(value, verdict):
    generator = np.random.default_rng(0)
    values, chance = (generator.random(4000) < value).astype(float), np.full(4000, 0.1)
    part = far_exceeds("A", values, chance)
    assert part.verdict == verdict
    assert part.effect == values.mean()
    assert part.interval[0] < part.effect < part.interval[1]


def test_few_texts_decide_nothing():
    assert far_exceeds("A", np.array([1.0, 0.0, 0.0, 0.0]), np.full(4, 0.2)).verdict == "undecided"
    assert far_exceeds("A", np.array([1.0]), np.array([0.2])).verdict == "undecided"
    assert bounds(np.array([1.0])) is None


@pytest.mark.parametrize(
    ("interval", "sign"), [((0.1, 0.2), 1), ((-0.2, -0.1), -1), ((-0.1, 0.1), 0), ((0.0, 0.1), 0), (None, 0)]
)
def test_the_side_of_zero_an_interval_lies_on(interval, sign):
    assert sign_of(interval) == sign

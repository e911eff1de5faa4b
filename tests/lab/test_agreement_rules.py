"""Rules on agreements, one value a text: parts of claims with known answers."""

import numpy as np
import pytest

from attnlab.lab.rules import far_exceeds, higher, low_high, lower, over_examples


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
    assert over_examples(np.array([1.0])) is None


@pytest.mark.parametrize(
    ("interval", "above", "below"),
    [
        ((0.1, 0.2), "holds", "fails"),
        ((-0.2, -0.1), "fails", "holds"),
        ((-0.1, 0.1), "undecided", "undecided"),
        ((0.0, 0.1), "undecided", "undecided"),
        (None, "undecided", "undecided"),
    ],
)
def test_the_side_of_zero_an_interval_lies_on(interval, above, below):
    assert (higher(interval, 0), lower(interval, 0)) == (above, below)


def test_no_interval_is_two_empty_columns():
    assert low_high(None) == {"low": None, "high": None}

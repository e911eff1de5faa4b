"""Rules on agreements, one value a text: parts of claims with known answers."""

import numpy as np
import pytest

from attnlab.lab.rules import Estimate, exceeds, falls_short, far_exceeds, higher, low_high, lower, over_examples


def estimate(values, runs=None):
    return Estimate(float(np.mean(values)), over_examples(np.asarray(values)), "examples", runs)


@pytest.mark.parametrize(
    ("value", "direction", "verdict"),
    [(0.5, "holds", "holds"), (0.15, "holds", "fails"), (0.1, "undecided", "fails"), (0.02, "fails", "fails")],
    ids=["far above", "above, but not by twice", "chance", "below"],
)
def test_far_exceeding_chance(value, direction, verdict):
    values = (np.random.default_rng(0).random(4000) < value).astype(float)
    part = far_exceeds("A", estimate(values), 0.1)
    assert (part.direction, part.verdict) == (direction, verdict)
    assert part.effect == values.mean()
    assert part.interval[0] < part.effect < part.interval[1]


def test_few_texts_decide_nothing():
    assert far_exceeds("A", estimate([1.0, 0.0, 0.0, 0.0]), 0.2).verdict == "undecided"
    assert far_exceeds("A", estimate([1.0]), 0.2).verdict == "undecided"
    assert over_examples(np.array([1.0])) is None


@pytest.mark.parametrize(("runs", "direction"), [(None, "holds"), (2, "holds"), (1, "undecided")])
@pytest.mark.parametrize("least", [None, 0.13])
def test_one_run_decides_nothing_by_a_few_points(runs, direction, least):
    part = exceeds("A", Estimate(0.14, (0.13, 0.15), "examples", runs), 0.1, "so", least=least)
    assert (part.directed, part.verdict) == (direction, direction)
    assert part.one_run == (runs == 1)
    assert part.detail.endswith("points.") == (runs == 1)
    assert exceeds("A", Estimate(0.16, (0.15, 0.17), "examples", runs), 0.1, "so", least=least).verdict == "holds"
    lower_one = exceeds("A", Estimate(0.06, (0.05, 0.07), "examples", runs), 0.1, "so")
    assert lower_one.verdict == ("undecided" if runs == 1 else "fails")


def test_an_interval_over_seeds_is_of_no_single_run():
    part = exceeds("A", Estimate(0.14, (0.13, 0.15), "seeds", 1), 0.1, "so")
    assert (part.verdict, part.runs) == ("holds", None)


@pytest.mark.parametrize("value", [-0.3, -0.02, 0.0, 0.02, 0.3])
@pytest.mark.parametrize("runs", [1, 3])
def test_falling_short_is_exceeding_with_the_sign_turned(value, runs):
    found = Estimate(value, (value - 0.01, value + 0.01), "examples", runs)
    turned = Estimate(-value, (-value - 0.01, -value + 0.01), "examples", runs)
    part = falls_short("A", found, 0, "so")
    assert part.verdict == exceeds("A", turned, 0, "so").verdict
    assert (part.effect, part.interval) == (value, found.interval)


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

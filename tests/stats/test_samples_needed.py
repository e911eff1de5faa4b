"""Samples needed, against curves whose answer is known."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attnlab.errors import UsageError
from attnlab.stats.samples_needed import Needed, growth, log_ratio, samples_needed


@given(power=st.floats(0.2, 3), wanted=st.floats(101, 1599))
def test_a_power_law_is_read_off_exactly(power: float, wanted: float) -> None:
    sizes = [100, 200, 400, 800, 1600]
    errors = [n**-power for n in sizes]
    found = samples_needed(sizes, errors, wanted**-power)
    assert found.where == "inside"
    assert found.samples == pytest.approx(wanted, rel=1e-6)


def test_an_error_that_comes_back_is_not_taken_for_good() -> None:
    assert samples_needed([10, 20, 40, 80], [0.05, 0.3, 0.2, 0.05], 0.1).samples > 40


def test_outside() -> None:
    assert samples_needed([10, 20], [0.5, 0.2], 0.1) == Needed(20.0, "above")
    assert samples_needed([10, 20], [0.1, 0.05], 0.1) == Needed(10.0, "below")


def test_ratios() -> None:
    inside, more, less = Needed(100.0, "inside"), Needed(400.0, "above"), Needed(25.0, "below")
    assert log_ratio(more, inside) == 2
    assert log_ratio(inside, less) == 2
    assert log_ratio(more, more) is None
    assert log_ratio(less, less) is None
    assert log_ratio(inside, more) == -2


def test_growth_is_the_exponent() -> None:
    noise = np.random.default_rng(0).normal(0, 0.1, (4, 30))
    sizes = [10.0, 20.0, 40.0, 80.0]
    needed = [[7 * size**1.5 * math.exp(e) for e in row] for size, row in zip(sizes, noise, strict=True)]
    exponent, low, high = growth(sizes, needed)
    assert low < 1.5 < high
    assert exponent == pytest.approx(1.5, abs=0.05)
    assert high - low < 0.1


@pytest.mark.parametrize(
    ("sizes", "errors", "level"), [([], [], 0.1), ([2, 1], [1, 1], 0.1), ([1], [math.nan], 0.1), ([1], [1], 0)]
)
def test_bad_curves_are_refused(sizes: list[int], errors: list[float], level: float) -> None:
    with pytest.raises(UsageError):
        samples_needed(sizes, errors, level)

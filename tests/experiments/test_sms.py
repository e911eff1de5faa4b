"""Agreement between seeds: an interval over seeds, not over pairs, and its verdicts."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attnlab.experiments.sms.experiment import decide, mean_of_pairs, seed_interval


def matrix(level, spread=0.0, seeds=8, draw=0):
    values = np.random.default_rng(draw).normal(level, spread, (seeds, seeds))
    values = (values + values.T) / 2
    np.fill_diagonal(values, np.nan)  # it is never to be read
    return values


def test_the_mean_is_over_pairs_of_different_seeds():
    values = np.array([[np.nan, 0.1, 0.2], [0.1, np.nan, 0.6], [0.2, 0.6, np.nan]])
    assert mean_of_pairs(values) == pytest.approx(0.3)


def test_resamples_of_three_seeds_can_be_listed():
    values = np.array([[np.nan, 0.1, 0.2], [0.1, np.nan, 0.6], [0.2, 0.6, np.nan]])
    means = []
    for drawn in product(range(3), repeat=3):
        pairs = [values[i, j] for k, i in enumerate(drawn) for j in drawn[k + 1 :] if i != j]
        if pairs:
            means.append(np.mean(pairs))
    low, high = seed_interval(values)
    assert (low, high) == pytest.approx(np.quantile(means, [0.025, 0.975]), abs=1e-9)


@given(st.integers(3, 10), st.floats(0, 1))
def test_seeds_that_agree_alike_have_an_interval_of_no_width(seeds, level):
    assert seed_interval(matrix(level, seeds=seeds)) == pytest.approx((level, level))


def test_two_seeds_have_no_interval():
    assert seed_interval(matrix(0.5, seeds=2)) is None
    assert decide({"sms": matrix(0.1, seeds=2), "sst": matrix(0.9, seeds=2)}).verdict == "undecided"


def test_a_seed_that_disagrees_with_all_widens_the_interval_more_than_pairs_would():
    values = matrix(0.8)
    values[0, 1:] = values[1:, 0] = 0.0
    pairs = values[np.triu_indices(8, 1)]
    generator = np.random.default_rng(0)
    as_if_independent = np.quantile(generator.choice(pairs, (4000, len(pairs))).mean(axis=1), [0.025, 0.975])
    low, high = seed_interval(values)
    assert high - low > 1.5 * (as_if_independent[1] - as_if_independent[0])


@pytest.mark.parametrize(
    ("sms", "sst", "news", "verdicts"),
    [
        (0.2, 0.6, 0.7, ["holds", "holds"]),
        (0.6, 0.2, 0.9, ["fails", "holds"]),
        (0.4, 0.4, 0.9, ["undecided", "holds"]),
    ],
)
def test_verdicts(sms, sst, news, verdicts):
    finding = decide({"sms": matrix(sms, 0.05, draw=1), "sst": matrix(sst, 0.05, draw=2), "ag_news": matrix(news)})
    assert [part.verdict for part in finding.parts] == verdicts
    assert [part.name for part in finding.parts] == ["sms against sst", "sms against ag_news"]
    assert {part.over for part in finding.parts} == {"pairs of seeds"}

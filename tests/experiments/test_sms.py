"""Agreement between seeds: its mean over pairs and its verdicts."""

import numpy as np
import pytest

from attnlab.experiments.sms.experiment import decide, mean_of_pairs


def matrix(level, spread=0.0, seeds=8, draw=0):
    values = np.random.default_rng(draw).normal(level, spread, (seeds, seeds))
    values = (values + values.T) / 2
    np.fill_diagonal(values, np.nan)  # it is never to be read
    return values


def test_the_mean_is_over_pairs_of_different_seeds():
    values = np.array([[np.nan, 0.1, 0.2], [0.1, np.nan, 0.6], [0.2, 0.6, np.nan]])
    assert mean_of_pairs(values) == pytest.approx(0.3)


def test_two_seeds_decide_nothing():
    assert decide({"sms": matrix(0.1, seeds=2), "sst": matrix(0.9, seeds=2)}).verdict == "undecided"


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

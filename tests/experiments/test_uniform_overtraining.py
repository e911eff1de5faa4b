"""Rising, then falling: verdicts where the answer is known."""

import numpy as np
import pytest

from attnlab.experiments.texts.text_agreement import Series
from attnlab.experiments.uniform_overtraining.experiment import AGREEMENT, decide, read_peak


def series(levels, steps, texts=1500, seed=1):
    drawn = np.random.default_rng(seed).random((2, len(steps), texts))
    return Series(AGREEMENT, tuple(steps), {"expected": (drawn < np.array(levels)[:, None]).astype(float)})


@pytest.mark.parametrize(
    ("levels", "last", "verdict"),
    [
        ((0.1, 0.6, 0.3), 4000, "holds"),
        ((0.1, 0.5, 0.49), 4000, "undecided"),  # a fall that so few texts do not show
        ((0.1, 0.3, 0.6), 4000, "fails"),  # still rising at the end
        ((0.1, 0.3, 0.6), 2000, "undecided"),  # the same, but it had not the paper's time
        ((0.6, 0.3, 0.1), 2000, "fails"),  # it never rose
        ((0.3, 0.3, 0.1), 4000, "undecided"),
    ],
    ids=["up and down", "hardly down", "up", "up, cut short", "down", "flat, then down"],
)
def test_verdicts(levels, last, verdict):
    finding = decide("sst", series(levels, (0, 10, last)))
    assert finding.claim == "uniform-rises-then-falls"
    assert finding.parts[0].name == "sst"
    assert finding.verdict == verdict


def test_the_peak_is_chosen_on_one_half_and_all_is_read_on_the_other():
    found = read_peak(series((0.1, 0.6, 0.3), (0, 10, 20), texts=2001))
    assert (found.peak, found.other) == (1, 2)
    assert {len(values) for values in (found.start, found.top, found.end, found.second)} == {1001}
    assert found.top.mean() - found.end.mean() == pytest.approx(0.3, abs=0.05)

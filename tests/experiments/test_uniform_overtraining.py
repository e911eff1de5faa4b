"""Rising, then falling: verdicts where the answer is known."""

import numpy as np
import pytest

from attnlab.experiments.uniform_overtraining.experiment import AGREEMENT, UniformOvertraining, read_peak
from attnlab.lab.experiment import Order, Record
from attnlab.measures.series import Series


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
    story = UniformOvertraining()
    story.order = Order("paper", row="sst")
    steps = (0, 10, last)
    row = read_peak(series(levels, steps)).row(steps)
    story.record = Record({"peak": [row]}, {"reference": [20, 21, 22]})
    (finding,) = story.findings()
    assert finding.claim == "uniform-rises-then-falls"
    assert finding.parts[0].name == "sst"
    assert finding.verdict == verdict


def test_one_run_decides_nothing_by_a_few_points():
    story, steps = UniformOvertraining(), (0, 10, 4000)
    story.order = Order("reduced", row="yelp")
    row = read_peak(series((0.1, 0.6, 0.57), steps, texts=40_000)).row(steps)
    for runs, verdict in ((3, "holds"), (1, "undecided")):
        story.record = Record({"peak": [row]}, {"reference": list(range(runs))})
        assert story.rises_then_falls().verdict == verdict


def test_the_peak_is_chosen_on_one_half_and_all_is_read_on_the_other():
    peak = read_peak(series((0.1, 0.6, 0.3), (0, 10, 20), texts=2001))
    assert (peak.place, peak.other) == (1, 2)
    assert {len(values) for values in (peak.start, peak.top, peak.end, peak.second)} == {1001}
    assert peak.rise.mean() == pytest.approx(0.5, abs=0.05)
    assert peak.fall.mean() == pytest.approx(0.3, abs=0.05)

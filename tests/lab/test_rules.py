"""Parts decided from one value a seed: their verdicts, numbers and sentences."""

import numpy as np
import pytest

from attnlab.lab.claims import Part
from attnlab.lab.rules import above, below, within

HIGH, LOW = [0.9, 0.8] * 10, [0.1, 0.2] * 10
MIXED = [0.0, 1.0] * 10


@pytest.mark.parametrize(
    ("rule", "values", "verdict"),
    [
        (above, HIGH, "holds"),
        (above, LOW, "fails"),
        (above, MIXED, "undecided"),
        (below, HIGH, "fails"),
        (below, LOW, "holds"),
        (below, MIXED, "undecided"),
    ],
)
def test_a_whole_interval_on_one_side_of_the_bound_decides(rule, values, verdict):
    part = rule("a name", values, 0.5, "It was told.")
    assert (part.name, part.verdict, part.over, part.detail) == ("a name", verdict, "seeds", "It was told.")
    assert part.effect == pytest.approx(np.mean(values))
    low, high = part.interval
    assert min(values) <= low <= part.effect <= high <= max(values)
    assert (low > 0.5, high < 0.5) == (values is HIGH, values is LOW)


@pytest.mark.parametrize(
    ("centre", "margin", "verdict"),
    [
        (0.85, 0.05, "holds"),
        (0.85, 0.5, "holds"),
        (0.5, 0.1, "fails"),  # the interval lies above
        (1.5, 0.1, "fails"),  # and below
        (0.85, 0.001, "undecided"),  # and around
        (0.95, 0.1, "undecided"),  # and across the lower end
        (0.75, 0.1, "undecided"),  # and the upper one
    ],
)
def test_within_a_margin_the_whole_interval_lies_inside_or_outside(centre, margin, verdict):
    part = within("a", HIGH, centre, margin, "It was told.")
    assert part.verdict == verdict
    assert (part.effect, part.over, part.detail) == (pytest.approx(0.85), "seeds", "It was told.")


def test_an_interval_that_ends_at_the_margin_is_inside_and_one_that_ends_at_the_bound_is_not_beyond_it():
    same = [0.5] * 20
    assert within("a", same, 0.25, 0.25, "").verdict == "holds"
    assert above("a", same, 0.5, "").verdict == "undecided"
    assert below("a", same, 0.5, "").verdict == "undecided"


@pytest.mark.parametrize("values", [HIGH, LOW])
def test_too_few_seeds_decide_nothing_and_the_sentence_says_how_many_are_needed(values):
    few = values[:19]
    for part in (above("a", few, 0.5, "Told."), below("a", few, 0.5, "Told."), within("a", few, 0.5, 0.5, "Told.")):
        assert part.verdict == "undecided"
        assert part.detail == "Told. At least 20 seeds are needed, not 19."
        assert part.effect == pytest.approx(np.mean(few)) and part.interval is not None


def test_a_rule_may_need_fewer_and_count_something_else():
    part = above("a", HIGH[:5], 0.5, "Told.", least=5, over="runs")
    assert (part.verdict, part.over, part.detail) == ("holds", "runs", "Told.")
    part = below("a", LOW[:4], 0.5, "Told.", least=5, over="runs")
    assert (part.verdict, part.detail) == ("undecided", "Told. At least 5 runs are needed, not 4.")
    assert within("a", HIGH[:5], 0.85, 0.1, "Told.", least=5).verdict == "holds"


def test_without_a_run_there_is_no_number_and_one_sentence():
    nothing = Part("a", "undecided", None, None, "seeds", "No run at this preset.")
    assert above("a", [], 0.5, "Told.") == below("a", [], 0.5, "Told.") == within("a", [], 0.5, 0.1, "Told.") == nothing

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attnlab.errors import UsageError
from attnlab.measures.xi import Xi, drawn_texts, xi

# Agreement of attention across two seeds of Multi30k, as the paper's authors measured it.
STEPS = [0, 50, 100, 500, 1000, 1500, 2000, 4000]
AGREEMENT = [0.063, 0.063, 0.165, 0.267, 0.453, 0.565, 0.631, 0.702]
PERFORMANCE = [0.0, 0.1, 0.2, 0.3, 0.4345, 0.5, 0.55, 0.6]


@pytest.mark.parametrize(("level", "step"), [(0.0, 0), (0.063, 100), (0.3102, 1000), (0.3443, 1000), (0.453, 1500)])
def test_reads_performance_at_the_first_checkpoint_that_agrees_more(level: float, step: int) -> None:
    assert xi(STEPS, AGREEMENT, PERFORMANCE, level) == Xi(step, PERFORMANCE[STEPS.index(step)])


@pytest.mark.parametrize("level", [0.702, 0.9])
def test_never(level: float) -> None:
    assert xi(STEPS, AGREEMENT, PERFORMANCE, level) is None


def test_a_later_fall_of_agreement_changes_nothing() -> None:
    assert xi([0, 1, 2], [0.1, 0.5, 0.2], [1, 2, 3], 0.3) == Xi(1, 2.0)


def test_runs_are_averaged_before_the_checkpoint_is_found() -> None:
    # Neither run alone crosses 0.5 at step 1; their mean does, and their mean performance is read.
    agreement, performance = [[0.0, 0.9, 0.9], [0.0, 0.2, 0.9]], [[0.5, 0.6, 0.9], [0.5, 0.8, 0.9]]
    assert xi([0, 1, 2], agreement, performance, 0.5) == Xi(1, pytest.approx(0.7))
    assert xi([0, 1, 2], agreement, performance, 0.6) == Xi(2, pytest.approx(0.9))


@given(st.lists(st.floats(0, 1), min_size=1, max_size=20), st.floats(0, 1), st.floats(0, 1))
def test_more_agreement_is_never_reached_earlier(agreement: list[float], one: float, other: float) -> None:
    steps, (low, high) = range(len(agreement)), sorted((one, other))
    first, later = (xi(steps, agreement, agreement, level) for level in (low, high))
    assert later is None or (first is not None and first.step <= later.step and later.performance > high)


@pytest.mark.parametrize(
    ("steps", "agreement", "performance", "level", "message"),
    [
        ([], [], [], 0.5, "at least one checkpoint"),
        ([0, 2, 1], [0, 0, 0], [0, 0, 0], 0.5, "rising order"),
        ([0, 0], [0, 0], [0, 0], 0.5, "rising order"),
        ([0, 1], [0, 0, 0], [0, 0], 0.5, "one agreement for each of its 2"),
        ([0, 1], [0, 0], [[[0, 0]]], 0.5, "one performance for each of its 2"),
        ([0, 1], [0, float("nan")], [0, 0], 0.5, "finite"),
        ([0, 1], [0, 0], [0, 0], float("nan"), "finite"),
    ],
)
def test_bad_input_is_refused(
    steps: list[int], agreement: list[float], performance: list[float], level: float, message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        xi(steps, agreement, performance, level)


def test_output_words_of_a_sentence_are_drawn_together() -> None:
    groups = np.array([4, 4, 4, 2, 7, 7])
    counts = drawn_texts(6, "alpha, beta", groups)
    assert (counts[:, [0, 0, 4]] == counts[:, [1, 2, 5]]).all()
    assert (counts[:, [0, 3, 4]].sum(axis=1) == 3).all(), "as many sentences as there are"
    assert (drawn_texts(6, "alpha, beta").sum(axis=1) == 6).all()

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attnlab.errors import UsageError
from attnlab.measures.checkpoints import (
    at_steps,
    best_checkpoint,
    best_steps,
    first_half,
    read_crosswise,
    read_on_second_half,
)

NAN = float("nan")
TEXTS = 40


def test_checkpoints_that_differ_by_chance_alone_are_seen_through() -> None:
    # 20 checkpoints agree on 30 % of 200 rows at random: the maximum lies above 0.3, the held-out figure at it.
    generator = np.random.default_rng(0)
    chosen = [best_checkpoint(generator.random((20, 200)) < 0.3) for _ in range(40)]
    assert np.mean([each.held_out for each in chosen]) == pytest.approx(0.3, abs=0.012)
    assert np.mean([each.maximum for each in chosen]) > 0.34


def test_a_checkpoint_that_is_best_everywhere_has_no_optimism() -> None:
    values = np.array([[0.2] * 10, [0.9] * 10, [0.5] * 10])
    chosen = best_checkpoint(values)
    assert (chosen.best, chosen.maximum, chosen.held_out) == (1, pytest.approx(0.9), pytest.approx(0.9))


def test_two_rows_that_disagree() -> None:
    # Each row alone chooses the checkpoint that is worst for the other.
    chosen = best_checkpoint([[1, 0], [0, 1]])
    assert (chosen.best, chosen.maximum, chosen.held_out) == (0, 0.5, 0.0)


def test_rows_of_a_group_stay_in_one_half() -> None:
    # Split within its group, a row's twin would choose its own checkpoint and read 1.
    values = np.repeat(np.eye(6), 2, axis=1)  # checkpoint k is right on the two rows of sentence k
    assert best_checkpoint(values, groups=np.repeat(range(6), 2)).held_out == 0
    assert best_checkpoint(values).held_out > 0


def test_an_undefined_checkpoint_is_never_chosen() -> None:
    chosen = best_checkpoint([[NAN] * 6, [0.3] * 6, [0.1, NAN, 0.1, 0.1, 0.1, 0.1]])
    assert (chosen.best, chosen.held_out) == (1, pytest.approx(0.3))


def test_the_seed_decides() -> None:
    values = np.random.default_rng(1).random((5, 31))
    assert best_checkpoint(values) == best_checkpoint(values)
    assert best_checkpoint(values).held_out != best_checkpoint(values, seed=1).held_out


@pytest.mark.parametrize(
    ("values", "options", "message"),
    [
        ([1, 2], {}, "checkpoints, rows"),
        ([[]], {}, "checkpoints, rows"),
        ([[1], [2]], {}, "at least two"),
        ([[1, 2]], {"groups": ["a", "a"]}, "at least two"),
        ([[1, 2]], {"splits": 0}, "split"),
        ([[NAN, NAN]], {}, "some must be defined"),
        ([[1, NAN], [NAN, 1]], {}, "No half"),
    ],
)
def test_bad_input_is_refused(values: list[object], options: dict[str, object], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        best_checkpoint(values, **options)


# --- one split in half, text by text


@given(st.integers(2, 500))
def test_the_halves_are_halves_and_the_same_each_time(texts: int) -> None:
    half = first_half(texts)
    assert half.sum() == texts // 2
    assert np.array_equal(half, first_half(texts))


def test_each_pair_has_its_own_best_step_and_texts_average_over_pairs() -> None:
    values = np.zeros((2, 3, TEXTS))
    values[0, 1], values[1, 2] = 0.5, 0.9
    everyone = np.ones(TEXTS, dtype=bool)
    assert best_steps(values, everyone).tolist() == [1, 2]
    assert at_steps(values, best_steps(values, everyone), everyone) == pytest.approx(np.full(TEXTS, 0.7))


def test_what_one_half_likes_is_read_on_the_other() -> None:
    half = first_half(TEXTS)
    values = np.zeros((1, 2, TEXTS))
    values[0, 0, half] = 1.0  # each half likes the step at which the other half has nothing
    values[0, 1, ~half] = 1.0
    assert read_on_second_half(values).tolist() == [0.0] * (TEXTS - TEXTS // 2)
    assert read_crosswise(values).tolist() == [0.0] * TEXTS
    assert values.mean(axis=2).max() == 0.5, "choosing and reading on all texts would be more optimistic"


@given(st.integers(0, 2**32 - 1))
def test_a_single_step_leaves_nothing_to_choose(seed: int) -> None:
    values = np.random.default_rng(seed).random((3, 1, TEXTS))
    assert read_crosswise(values) == pytest.approx(values[:, 0].mean(axis=0))
    assert read_on_second_half(values) == pytest.approx(values[:, 0, ~first_half(TEXTS)].mean(axis=0))

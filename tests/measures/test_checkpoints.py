import numpy as np
import pytest

from attnlab.errors import UsageError
from attnlab.measures.checkpoints import best_checkpoint

NAN = float("nan")


def test_checkpoints_that_differ_by_chance_alone_are_seen_through() -> None:
    # 20 checkpoints agree on 30 % of 200 rows at random: the maximum lies above 0.3, the held-out figure at it.
    generator = np.random.default_rng(0)
    chosen = [best_checkpoint(generator.random((20, 200)) < 0.3) for _ in range(40)]
    assert np.mean([each.held_out for each in chosen]) == pytest.approx(0.3, abs=0.012)
    assert np.mean([each.maximum for each in chosen]) > 0.34
    assert all(each.optimism == each.maximum - each.held_out for each in chosen)


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

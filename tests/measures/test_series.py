"""Agreements over training: best evaluations of every pair, and means over what is defined."""

import numpy as np
import pytest

from attnlab.errors import UsageError
from attnlab.fields import ScoreField
from attnlab.measures.agreement import top_agreement
from attnlab.measures.checkpoints import first_half
from attnlab.measures.series import MEASURES, Series, compared, mean_over_pairs
from attnlab.measures.tau import kendall_tau

NAN = float("nan")


def series(values):
    return Series("u, v", tuple(range(np.shape(values)[1])), dict.fromkeys(MEASURES, np.asarray(values, dtype=float)))


def test_every_pair_is_read_at_its_own_best_evaluation():
    # (pairs, steps, texts): the first pair is best at step 1, the second at step 0
    one = series([[[0.0, 0.2], [0.6, 0.8]], [[0.5, 0.3], [0.1, 0.1]]])
    assert one.best() == [1, 0]
    assert one.at_best() == pytest.approx([0.55, 0.55])
    assert one.value() == pytest.approx(0.55)
    assert one.interval() == pytest.approx((0.55, 0.55))
    low, high = one.seed_interval()
    assert (low, high) == pytest.approx((0.4, 0.7))
    assert one.held_out() <= one.value()


def test_one_text_and_one_pair_have_no_interval():
    one = series([[[0.5]]])
    assert one.interval() is None
    assert one.seed_interval() is None
    assert one.held_out() == one.value() == 0.5


def test_undefined_values_are_left_out():
    assert mean_over_pairs(np.array([[NAN, 0.2, NAN], [0.4, 0.4, NAN]])) == pytest.approx([0.4, 0.3, NAN], nan_ok=True)
    assert series([[[NAN, 0.5]], [[0.1, NAN]]]).value() == pytest.approx(0.3)


def test_all_measures_of_all_pairs_and_steps_are_side_by_side():
    u, v = ScoreField.from_rows([[3, 1, 2], [1, 1]]), ScoreField.from_rows([[0.5, 0.2, 0.3], [0.9, 0.1]])
    both = compared(u, v)
    assert both["expected"].tolist() == top_agreement(u, v).expected.tolist()
    assert both["released"].tolist() == top_agreement(u, v).released.tolist()
    assert both["expected"].tolist() != both["released"].tolist(), "the second text ties"
    np.testing.assert_array_equal(both["tau"], kendall_tau(u, v))
    stacked = Series.stacked("u, v", [[both, both], [both, both], [both, both]], (0, 10))
    assert stacked.steps == (0, 10)
    assert stacked.values["tau"].shape == (3, 2, 2)
    assert Series.stacked("u, v", [[both]], (0, 10)).steps == (-1,), "nothing is followed"


def test_a_row_of_the_table_is_a_pair_at_a_step():
    rows = series([[[0.0], [0.25]], [[0.5], [0.75]]]).rows("A(u, v)", ["20, 12", "21, 12"])
    assert [(row["seeds"], row["step"], row["value"]) for row in rows] == [
        ("20, 12", 0, 0.0),
        ("20, 12", 1, 0.25),
        ("21, 12", 0, 0.5),
        ("21, 12", 1, 0.75),
    ]
    assert {row["what"] for row in rows} == {"A(u, v)"}


# --- rows that hang together


def of_sentences(groups, steps=3, seed=0):
    """Words of a sentence agree alike: rows are many, sentences few."""
    rng = np.random.default_rng(seed)
    names, group = np.unique(groups, return_inverse=True)
    sentences = rng.random((1, steps, len(names)))
    return Series("u, v", tuple(range(steps)), dict.fromkeys(MEASURES, sentences[:, :, group]), np.asarray(groups))


def test_an_interval_over_words_is_one_over_their_sentences():
    groups = np.repeat(np.arange(20), 30)
    together = of_sentences(groups)
    apart = Series(together.name, together.steps, together.values)
    assert together.value() == apart.value()
    width, narrow = (np.diff(one.interval()).item() for one in (together, apart))
    assert width > 4 * narrow, "600 words say no more than the 20 sentences they are in"
    sentences = together.at_best().reshape(20, 30)[:, 0]
    assert width == pytest.approx(np.diff(series(sentences[None, None]).interval()).item())


def test_a_sentence_is_on_one_side_of_a_split():
    groups = np.repeat([3, 8, 5, 1], [4, 1, 7, 2])
    half = first_half(len(groups), groups)
    assert {len(set(half[groups == one])) for one in groups} == {1}
    assert len(np.unique(groups[half])) == 2
    one = Series("u, v", (0, 1), dict.fromkeys(MEASURES, np.ones((1, 2, 4))), np.array([0, 0, 0, 0]))
    with pytest.raises(UsageError, match="two rows or groups"):
        one.held_out()

from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise, permutations
from math import ceil

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attnlab.errors import UsageError
from attnlab.fields import ScoreField
from attnlab.measures.agreement import random_baseline, released_baseline, top_agreement, top_count

Rows = list[tuple[list[int], list[int]]]


def row_pairs(longest: int, values: int, most: int = 6) -> st.SearchStrategy[Rows]:
    """Some rows of u and v side by side, with so few values that many tie: a byte gives one of each."""
    row = st.binary(max_size=longest)
    pair = row.map(lambda row: ([byte % values for byte in row], [byte // values % values for byte in row]))
    return st.lists(pair, min_size=1, max_size=most)


TIED = row_pairs(60, 4)
SHARES = st.sampled_from([0.05, 0.07, 0.1, 0.25, 0.5, 1.0])


def fields(rows: Rows) -> tuple[ScoreField, ScoreField]:
    return ScoreField.from_rows([u for u, _ in rows]), ScoreField.from_rows([v for _, v in rows])


def exact_top(length: int, share: float) -> int:
    return ceil(Fraction(str(share)) * length)


def over_all_orders(u: list[int], v: list[int], share: float) -> Fraction:
    """A(u, v) averaged over every order of v's positions that its values allow, and over every argmax of u."""
    positions = range(len(v))
    orders = [order for order in permutations(positions) if all(v[a] >= v[b] for a, b in pairwise(order))]
    highest = [j for j in positions if u[j] == max(u)]
    top = exact_top(len(v), share)
    hits = sum(j in order[:top] for order in orders for j in highest)
    return Fraction(hits, len(orders) * len(highest))


def by_loop(u: list[int], v: list[int], share: float) -> Fraction:
    """The expected value, position by position, in whole numbers."""
    top, highest = exact_top(len(v), share), [j for j in range(len(u)) if u[j] == max(u)]
    chances = []
    for j in highest:
        greater, equal = sum(other > v[j] for other in v), sum(other == v[j] for other in v)
        chances.append(Fraction(min(max(top - greater, 0), equal), equal))
    return sum(chances, Fraction(0)) / len(chances)


def by_released_code(u: list[int], v: list[int], share: float) -> bool:
    there = v[int(np.argmax(u))]
    return sum(other > there for other in v) < exact_top(len(v), share)


@given(row_pairs(5, 3), st.sampled_from([0.05, 0.3, 0.5, 0.7, 1.0]))
def test_expected_value_is_the_mean_over_all_ways_to_break_ties(rows: Rows, share: float) -> None:
    measured = top_agreement(*fields(rows), share).expected
    for (u, v), value in zip(rows, measured, strict=True):
        assert value == float(over_all_orders(u, v, share)) if u else np.isnan(value)


@given(TIED, SHARES)
def test_both_figures_equal_a_loop_over_rows_exactly(rows: Rows, share: float) -> None:
    measured = top_agreement(*fields(rows), share)
    for (u, v), expected, released in zip(rows, measured.expected, measured.released, strict=True):
        if u:
            assert expected == float(by_loop(u, v, share)) and released == by_released_code(u, v, share)
        else:
            assert np.isnan(expected) and np.isnan(released)


def test_rows_of_real_lengths_equal_a_loop() -> None:
    # More values than are computed with at once, and one row that alone is more.
    generator = np.random.default_rng(0)
    lengths = [*generator.integers(1, 500, size=700), 140_000, *generator.integers(1, 500, size=50)]
    rows = [(generator.random(n), generator.random(n)) for n in lengths]
    measured = top_agreement(ScoreField.from_rows([u for u, _ in rows]), ScoreField.from_rows([v for _, v in rows]))
    loop = [(v > v[u.argmax()]).sum() < -(-len(u) // 20) for u, v in rows]
    assert measured.released.tolist() == loop == measured.expected.tolist()


@given(st.lists(st.binary(min_size=1, max_size=40), min_size=1, max_size=6), SHARES)
def test_a_field_without_ties_agrees_with_itself(rows: list[bytes], share: float) -> None:
    field = ScoreField.from_rows([np.argsort(list(row), kind="stable") for row in rows])
    measured = top_agreement(field, field, share)
    assert (measured.expected == 1).all() and (measured.released == 1).all()


@given(TIED, st.sampled_from([np.exp, np.arctan, lambda x: 3 * x - 7, lambda x: x**3]))
def test_only_the_order_of_scores_counts(rows: Rows, rising: Callable[[np.ndarray], np.ndarray]) -> None:
    u, v = fields(rows)
    before = top_agreement(u, v)
    for pair in ((u, ScoreField(rising(v.values), v.offsets)), (ScoreField(rising(u.values), u.offsets), v)):
        after = top_agreement(*pair)
        assert np.array_equal(before.expected, after.expected, equal_nan=True)
        assert np.array_equal(before.released, after.released, equal_nan=True)


@given(TIED, SHARES)
def test_without_ties_in_u_the_released_rule_counts_at_least_the_expected(rows: Rows, share: float) -> None:
    u, v = fields([([*range(len(u))], v) for u, v in rows])
    measured = top_agreement(u, v, share)
    some = u.lengths > 0
    assert ((measured.expected[some] >= 0) & (measured.released[some] <= 1)).all()
    assert (measured.released[some] >= measured.expected[some]).all()


@given(row_pairs(4, 3, most=2), st.sampled_from([0.05, 0.3, 0.5, 0.7]))
def test_baselines_are_the_means_over_all_shuffles_of_v(rows: Rows, share: float) -> None:
    u, v = fields(rows)
    expected, released = random_baseline(u.lengths, share), released_baseline(v, share)
    for k, (scores, values) in enumerate(rows):
        if not scores:
            assert np.isnan([expected[k], released[k]]).all()
            continue
        shuffled = [list(order) for order in permutations(values)]
        mean = sum(by_loop(scores, order, share) for order in shuffled) / len(shuffled)
        assert expected[k] == float(mean)
        assert released[k] == np.mean([by_released_code(scores, order, share) for order in shuffled])


def test_baselines_differ_only_where_v_ties_at_the_border() -> None:
    v = ScoreField.from_rows([[3, 2, 1, 0], [3, 3, 1, 0], [3, 1, 1, 1]])
    assert random_baseline(v.lengths).tolist() == [0.25, 0.25, 0.25]
    assert released_baseline(v).tolist() == [0.25, 0.5, 0.25]


@pytest.mark.parametrize("share", [0.05, 0.07, 0.1, 0.29, 0.55, 1.0])
def test_the_top_is_counted_as_in_exact_arithmetic(share: float) -> None:
    lengths = np.arange(3000)
    assert top_count(lengths, share).tolist() == [exact_top(length, share) for length in range(3000)]


@pytest.mark.parametrize("share", [0.0, -0.1, 1.01, float("nan")])
def test_a_share_out_of_range_is_refused(share: float) -> None:
    field = ScoreField.from_rows([[1, 2]])
    with pytest.raises(UsageError, match="share"):
        top_agreement(field, field, share)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_a_score_that_is_not_finite_is_refused_by_its_row(bad: float) -> None:
    good, broken = ScoreField.from_rows([[1, 2], [], [3, 4, 5]]), ScoreField.from_rows([[1, 2], [], [3, bad, bad]])
    for pair, name in (((good, broken), "v"), ((broken, good), "u")):
        with pytest.raises(UsageError, match=f"row 2 of {name} has {bad} at position 1"):
            top_agreement(*pair)
    with pytest.raises(UsageError, match="row 2 of v"):
        released_baseline(broken)


def test_scores_too_large_to_add_up_are_fine() -> None:
    field = ScoreField.from_rows([[1.7e308, 1.6e308, -1.7e308], [1.0, 1.7e308, 0.0]])
    assert top_agreement(field, field).expected.tolist() == [1, 1]


def test_fields_of_different_shape_are_refused() -> None:
    with pytest.raises(UsageError, match="u has 1 rows and v has 2"):
        top_agreement(ScoreField.from_rows([[1, 2]]), ScoreField.from_rows([[1], [2]]))
    with pytest.raises(UsageError, match="row 1 has 2 positions in u and 1 in v"):
        top_agreement(ScoreField.from_rows([[1], [2, 3], [4]]), ScoreField.from_rows([[1], [2], [3, 4]]))


def test_no_rows_are_no_figures() -> None:
    none = ScoreField.from_rows([])
    assert len(top_agreement(none, none).expected) == 0 and len(released_baseline(none)) == 0


def test_rows_of_more_positions_than_sixteen_bits_count():
    length = 66_000
    u, v = np.zeros(length), np.arange(length, 0, -1.0)
    u[-1] = 1.0  # valued most by u, least by v: 65,999 positions are greater
    measured = top_agreement(ScoreField.from_rows([u, u[:10]]), ScoreField.from_rows([v, v[:10]]))
    assert measured.expected[0] == measured.released[0] == 0

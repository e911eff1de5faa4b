import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import kendalltau

from attnlab.errors import UsageError
from attnlab.fields import ScoreField
from attnlab.measures.tau import kendall_tau


def by_scipy(u: ScoreField, v: ScoreField) -> np.ndarray:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # SciPy warns of rows that are too short
        return np.array([kendalltau(u.row(k), v.row(k)).statistic for k in range(len(u))])


def check(u: ScoreField, v: ScoreField) -> None:
    np.testing.assert_allclose(kendall_tau(u, v), by_scipy(u, v), rtol=0, atol=1e-9, equal_nan=True)


@given(st.lists(st.binary(max_size=80), min_size=1, max_size=4))
def test_equals_scipy_with_many_ties(rows: list[bytes]) -> None:
    u = [[byte % 5 for byte in row] for row in rows]
    v = [[byte // 5 % 5 for byte in row] for row in rows]
    check(ScoreField.from_rows(u), ScoreField.from_rows(v))


@given(st.lists(st.lists(st.tuples(st.floats(-1e300, 1e300), st.floats(-1, 1)), max_size=12), min_size=1, max_size=2))
def test_equals_scipy_on_any_numbers(rows: list[list[tuple[float, float]]]) -> None:
    check(*(ScoreField.from_rows([[pair[k] for pair in row] for row in rows]) for k in (0, 1)))


@pytest.mark.parametrize("decimals", [17, 2, 1, 0], ids=lambda decimals: f"{decimals} decimals")
@pytest.mark.parametrize("longest", [20, 300, 3000])
def test_equals_scipy_at_real_lengths(longest: int, decimals: int) -> None:
    # 3000 positions are several tiles of the counting, of several widths of whole numbers.
    generator = np.random.default_rng(longest)
    lengths = generator.integers(0, longest, size=40)
    u = [generator.random(n).round(decimals) for n in lengths]
    v = [(row + generator.random(len(row))).round(decimals) for row in u]
    check(ScoreField.from_rows(u), ScoreField.from_rows(v))


def test_equals_scipy_where_ranks_fill_a_byte() -> None:
    generator = np.random.default_rng(1)
    rows = [[generator.permutation(n) for n in range(252, 260)] for _ in range(2)]
    check(ScoreField.from_rows(rows[0]), ScoreField.from_rows(rows[1]))


def test_a_row_longer_than_a_block_equals_scipy() -> None:
    generator = np.random.default_rng(2)
    u = generator.integers(0, 30_000, size=140_000)
    v = u + generator.integers(0, 30_000, size=140_000)
    check(ScoreField.from_rows([u, [1, 2]]), ScoreField.from_rows([v, [2, 1]]))


@given(st.lists(st.permutations(range(9)), min_size=1, max_size=3))
def test_same_order_is_one_and_the_opposite_minus_one(rows: list[list[int]]) -> None:
    u = ScoreField.from_rows(rows)
    # Exactly: the largest value has no rounding.
    assert (kendall_tau(u, ScoreField(np.exp(u.values), u.offsets)) == 1).all()
    assert (kendall_tau(u, ScoreField(-u.values, u.offsets)) == -1).all()


@given(st.binary(min_size=2, max_size=50))
def test_is_symmetric_and_odd(row: bytes) -> None:
    u, v = ScoreField.from_rows([[byte % 4 for byte in row]]), ScoreField.from_rows([[byte // 4 % 4 for byte in row]])
    tau = kendall_tau(u, v)
    assert np.array_equal(kendall_tau(v, u), tau, equal_nan=True)
    assert np.array_equal(kendall_tau(u, ScoreField(-v.values, v.offsets)), -tau, equal_nan=True)


def test_rows_without_an_order_have_no_tau() -> None:
    u = ScoreField.from_rows([[], [1], [1, 1, 1], [1, 2, 3], [1, 2]])
    v = ScoreField.from_rows([[], [2], [1, 2, 3], [0, 0, 0], [1, 2]])
    assert np.isnan(kendall_tau(u, v)).tolist() == [True, True, True, True, False]


def test_signed_zeros_tie() -> None:
    u, v = ScoreField.from_rows([[0.0, -0.0, 1.0]]), ScoreField.from_rows([[1.0, 2.0, 3.0]])
    check(u, v)


def test_a_score_that_is_not_finite_is_refused() -> None:
    u, v = ScoreField.from_rows([[1, 2], [3, 4]]), ScoreField.from_rows([[1, 2], [3, np.nan]])
    with pytest.raises(UsageError, match="row 1 of v has nan at position 1"):
        kendall_tau(u, v)

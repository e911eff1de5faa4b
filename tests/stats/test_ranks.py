import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from sklearn.metrics import roc_auc_score

from attnlab.stats.ranks import area_under_curve, spearman


def test_comparisons_are_those_of_the_libraries():
    rng = np.random.default_rng(0)
    for _ in range(20):
        a, b = rng.integers(4, size=12).astype(float), rng.integers(4, size=12).astype(float)
        learned = rng.integers(1, 5, size=12)
        assert spearman(a[None], b[None]) == pytest.approx(stats.spearmanr(a, b).statistic)
        runs = np.tile(np.arange(5), 12) < np.repeat(learned, 5)
        area = area_under_curve(a[None], learned[None].astype(float), 5.0 - learned[None])
        assert area == pytest.approx(roc_auc_score(runs, np.repeat(a, 5)))


@given(st.lists(st.integers(-5, 5), min_size=3, max_size=12, unique=True))
def test_ranks_in_order_correlate_fully_and_backwards_with_the_opposite_sign(values):
    row = np.array([values], dtype=float)
    assert spearman(row, np.exp(row)).tolist() == pytest.approx([1])
    assert spearman(row, -row).tolist() == pytest.approx([-1])


def test_rows_are_taken_one_by_one_and_a_constant_side_is_undefined():
    a, b = np.array([[1.0, 2, 3], [1, 2, 3], [2, 2, 2]]), np.array([[1.0, 2, 3], [3, 2, 1], [1, 2, 3]])
    assert spearman(a, b).tolist() == pytest.approx([1, -1, np.nan], nan_ok=True)


@given(st.lists(st.tuples(st.integers(0, 3), st.booleans()), min_size=2, max_size=12))
def test_the_area_counts_pairs(runs):
    won = [(a > b) + (a == b) / 2 for a, first in runs if first for b, second in runs if not second]
    scores, learned = (np.array([column], dtype=float) for column in zip(*runs, strict=True))
    area = area_under_curve(scores, learned, 1 - learned)[0]
    assert area == pytest.approx(np.mean(won) if won else np.nan, nan_ok=True)

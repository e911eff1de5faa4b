import pytest
from hypothesis import given
from hypothesis import strategies as st

from attnlab.stats.proportions import holm


@given(st.dictionaries(st.text(max_size=3), st.floats(0, 1), min_size=1, max_size=8))
def test_holm_is_between_none_and_bonferroni_and_keeps_the_order(p_values):
    corrected = holm(p_values)
    assert list(corrected) == list(p_values)
    for name, p in p_values.items():
        assert p <= corrected[name] <= min(1.0, len(p_values) * p) or corrected[name] == max(
            corrected[other] for other in p_values if p_values[other] <= p
        )
    names = sorted(p_values, key=lambda name: p_values[name])
    assert sorted(corrected.values()) == [corrected[name] for name in names]


@given(st.lists(st.floats(0, 1), min_size=1, max_size=6))
def test_holm_equals_the_closed_test_of_bonferroni(p_values):
    """Holm's correction of a test is the largest Bonferroni p-value of all the subsets of tests that contain it."""
    names = [str(k) for k in range(len(p_values))]
    corrected = holm(dict(zip(names, p_values, strict=True)))
    for k, name in enumerate(names):
        subsets = (bits for bits in range(1, 2 ** len(names)) if bits >> k & 1)
        chosen = ([p for i, p in enumerate(p_values) if bits >> i & 1] for bits in subsets)
        assert corrected[name] == pytest.approx(max(min(1.0, len(some) * min(some)) for some in chosen))


def test_no_tests_need_no_correction():
    assert holm({}) == {}

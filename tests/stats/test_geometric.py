import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attnlab.errors import UsageError
from attnlab.stats.geometric import fit_geometric


@settings(max_examples=30)
@given(n=st.integers(1, 60), share=st.floats(0, 1), k=st.integers(1, 8))
def test_at_one_number_of_heads_the_fit_is_the_root_of_the_rate(n, share, k):
    failed = round(share * n)
    fit = fit_geometric({k: (failed, n)})
    assert fit.q**k == pytest.approx(failed / n, abs=0.006)
    assert fit.interval[0] <= fit.q <= fit.interval[1]
    assert fit.goodness > 0.5  # a law with one free number meets one rate


def test_the_fit_is_the_likeliest_rate():
    failures = {1: (33, 60), 2: (20, 60), 4: (3, 60), 8: (1, 20)}

    def log_likelihood(q):
        return sum(f * k * math.log(q) + (n - f) * math.log(1 - q**k) for k, (f, n) in failures.items())

    fit = fit_geometric(failures)
    best = max(np.linspace(0.001, 0.999, 9981), key=log_likelihood)
    assert fit.q == pytest.approx(best, abs=1e-3)
    for bound in fit.interval:
        assert 2 * (log_likelihood(fit.q) - log_likelihood(bound)) == pytest.approx(3.841, abs=0.15)


@pytest.mark.parametrize("failures", [{}, {1: (3, 2)}, {0: (1, 2)}, {2: (0, 0)}])
def test_a_law_without_data_is_refused(failures):
    with pytest.raises(UsageError, match="geometric law"):
        fit_geometric(failures)

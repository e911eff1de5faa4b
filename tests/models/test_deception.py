"""The objectives of deceptive training, against the equations written out and SciPy's entropies."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.distance import jensenshannon
from scipy.stats import entropy

from attnlab.errors import UsageError
from attnlab.fields import ScoreField
from attnlab.measures import divergence
from attnlab.models.deception import bounded_divergence, hidden_mass_penalty, total_variation
from attnlab.stats.student import student_interval

lengths = st.lists(st.integers(1, 7), min_size=1, max_size=5)


def attention(rng, lengths, sharpness):
    """Rows of attention, padded with zeros: (batch, source), and which positions are there."""
    inside = np.arange(max(lengths)) < np.array(lengths)[:, None]
    scores = np.where(inside, sharpness * rng.normal(size=inside.shape), -np.inf)
    weights = np.exp(scores - scores.max(1, keepdims=True))
    return weights / weights.sum(1, keepdims=True), inside


@given(lengths, st.integers(0, 99), st.floats(0.001, 0.5))
def test_the_divergence_is_that_of_attention_with_a_little_noise(lengths, seed, floor):
    rng = np.random.default_rng(seed)
    (p, inside), (q, _) = attention(rng, lengths, 3), attention(rng, lengths, 30)
    got = bounded_divergence(*map(torch.from_numpy, (p, q, inside)), floor)
    for k, length in enumerate(lengths):
        noisy = [(1 - floor) * q[k, i] + floor / length for i in range(length)]
        assert float(got[k]) == pytest.approx(entropy(p[k, :length], noisy), abs=1e-9)
        assert float(got[k]) <= math.log(length / floor) + 1e-9


def test_the_divergence_is_bounded_and_has_a_gradient_where_the_plain_one_has_neither():
    p, inside = torch.tensor([[1.0, 0.0]]), torch.ones(1, 2, dtype=torch.bool)
    scores = torch.tensor([[-200.0, 0.0]], requires_grad=True)
    q = scores.softmax(1)
    assert q[0, 0] == 0  # the plain divergence is infinite
    value = bounded_divergence(p, q, inside, 0.01)
    assert value.tolist() == pytest.approx([math.log(2 / 0.01)])
    value.sum().backward()
    assert torch.isfinite(scores.grad).all()


@given(st.floats(0, 1), st.floats(0.001, 0.5))
def test_the_penalty_on_mass(mass, floor):
    got = float(hidden_mass_penalty(torch.tensor(mass, dtype=torch.float64), floor))
    assert got == pytest.approx(-math.log((1 - floor) * (1 - mass) + floor), abs=1e-9)
    assert 0 <= got <= -math.log(floor) + 1e-9


def test_total_variation():
    p, q = torch.tensor([[0.2, 0.3, 0.5], [1.0, 0.0, 0.0]]), torch.tensor([[0.2, 0.3, 0.5], [0.0, 0.0, 1.0]])
    assert total_variation(p, q).tolist() == pytest.approx([0.0, 1.0])
    assert divergence.total_variation(p.double().numpy(), q.double().numpy()).tolist() == pytest.approx([0.0, 1.0])


@given(lengths, st.integers(0, 99))
def test_the_jensen_shannon_divergence_is_scipys_squared_distance(lengths, seed):
    rng = np.random.default_rng(seed)
    (p, inside), (q, _) = attention(rng, lengths, 3), attention(rng, lengths, 3)
    offsets = np.append(0, np.cumsum(lengths))
    got = divergence.jensen_shannon(ScoreField(p[inside], offsets), ScoreField(q[inside], offsets))
    for k, length in enumerate(lengths):
        assert got[k] == pytest.approx(jensenshannon(p[k, :length], q[k, :length], base=2) ** 2, abs=1e-9)


def test_an_empty_row_has_no_divergence():
    field = ScoreField.from_rows([[], [0.5, 0.5]])
    assert np.isnan(divergence.jensen_shannon(field, field)).tolist() == [True, False]
    with pytest.raises(UsageError):
        divergence.jensen_shannon(field, ScoreField.from_rows([[1.0]]))


def test_students_interval():
    values = [0.3, 0.1, 0.25, 0.2]
    from scipy.stats import ttest_1samp

    expected = ttest_1samp(values, 0).confidence_interval(0.95)
    assert student_interval(values) == pytest.approx((expected.low, expected.high))
    assert student_interval(values[:2]) is None
    with pytest.raises(UsageError):
        student_interval([1.0, math.nan, 2.0])

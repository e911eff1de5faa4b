"""Optimal attention: against SLSQP, grids, random attention, and what is known exactly for two outputs."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.special import expit, logit, logsumexp

from attnlab.errors import UsageError
from attnlab.probes.optimal_attention import attention_loss, lexical_beta, lexical_log_odds, optimal_attention

SEEDS = st.integers(0, 2**32 - 1)
SCALES = st.sampled_from([0.1, 1.0, 5.0, 20.0, 50.0])


def draw(seed, batch, length, outputs, scale):
    rng = np.random.default_rng(seed)
    gamma = torch.from_numpy(rng.normal(0, scale, (batch, length, outputs)))
    gamma_s = torch.from_numpy(rng.normal(0, scale, (batch, outputs)))
    return gamma, torch.from_numpy(rng.integers(outputs, size=batch)), gamma_s


def losses_of(attentions, gamma, gold, gamma_s):
    """The losses (attentions, batch) of each of many attentions in every row."""
    many = torch.from_numpy(attentions)[:, None].expand(-1, len(gamma), -1)
    return torch.stack([attention_loss(alpha, gamma, gold, gamma_s) for alpha in many])


def test_the_papers_example():
    gamma = torch.tensor([[[0.0, 0, 0], [0, -10, 5], [0, 5, -10]]])
    found = optimal_attention(gamma, torch.tensor([0]))
    assert found.alpha[0].tolist() == pytest.approx([0, 0.5, 0.5], abs=1e-6)
    assert found.alpha[0, 0] == 0
    assert found.reached.all() and found.gap <= 1e-6
    assert lexical_beta(gamma, torch.tensor([0]))[0].tolist() == pytest.approx([1 / 3, 0.00669, 0.00669], abs=1e-5)


@settings(max_examples=20)
@given(SEEDS, st.integers(1, 12), st.integers(2, 20), SCALES)
def test_no_other_attention_is_better(seed, length, outputs, scale):
    gamma, gold, gamma_s = draw(seed, 8, length, outputs, scale)
    found = optimal_attention(gamma, gold, gamma_s)
    assert found.reached.all()
    assert (found.alpha >= 0).all()
    torch.testing.assert_close(found.alpha.sum(1), torch.ones(8, dtype=torch.float64))
    torch.testing.assert_close(found.loss, attention_loss(found.alpha, gamma, gold, gamma_s), rtol=1e-6, atol=1e-9)
    rng = np.random.default_rng(seed)
    others = np.concatenate([rng.dirichlet(np.full(length, 0.3), size=30), np.eye(length)])
    for other in losses_of(others, gamma, gold, gamma_s):
        assert (found.loss <= other + 1e-6).all()


@pytest.mark.parametrize("scale", [0.5, 3.0, 10.0])
@pytest.mark.parametrize("outputs", [3, 8])
def test_slsqp_finds_nothing_better(outputs, scale):
    gamma, gold, gamma_s = draw(5, 10, 6, outputs, scale)
    found = optimal_attention(gamma, gold, gamma_s)
    for k in range(10):
        ahead = (gamma[k] - gamma[k, :, gold[k], None]).numpy()
        offset = (gamma_s[k] - gamma_s[k, gold[k]]).numpy()
        solved = min(
            (
                minimize(
                    lambda a, g=ahead, o=offset: logsumexp(a @ g + o),
                    start,
                    bounds=[(0, 1)] * 6,
                    constraints={"type": "eq", "fun": lambda a: a.sum() - 1},
                    method="SLSQP",
                    options={"ftol": 1e-12, "maxiter": 500},
                )
                for start in (np.full(6, 1 / 6), found.alpha[k].numpy())
            ),
            key=lambda s: s.fun,
        )
        assert float(found.loss[k]) == pytest.approx(solved.fun, abs=2e-6)


def test_a_grid_over_the_simplex_finds_nothing_better():
    gamma, gold, gamma_s = draw(3, 20, 3, 4, 4.0)
    found = optimal_attention(gamma, gold, gamma_s)
    fine = 50
    i, j = np.meshgrid(np.arange(fine + 1), np.arange(fine + 1), indexing="ij")
    inside = i + j <= fine
    grid = np.stack([i[inside], j[inside], fine - i[inside] - j[inside]], 1) / fine
    best = losses_of(grid, gamma, gold, gamma_s).min(0).values
    assert (found.loss <= best + 1e-6).all()
    assert (found.loss >= best - 0.15).all(), "the grid is fine enough to come close"


@settings(max_examples=25)
@given(SEEDS, st.integers(1, 15), SCALES)
def test_with_two_outputs_it_is_one_hot_at_the_largest_beta(seed, length, scale):
    gamma, gold, gamma_s = draw(seed, 20, length, 2, scale)
    found = optimal_attention(gamma, gold, gamma_s)
    odds = lexical_log_odds(gamma, gold, gamma_s)  # they do not saturate as beta does
    best = odds.amax(1, keepdim=True)
    clear = (odds < best - 1e-3).sum(1) == length - 1
    assert found.reached.all()
    assert (found.alpha[clear].argmax(1) == odds[clear].argmax(1)).all()
    assert (found.alpha[clear].amax(1) > 0.998).all()


@given(SEEDS, st.integers(1, 10), SCALES)
def test_with_two_outputs_attention_averages_log_odds(seed, length, scale):
    """p_correct = sigmoid(sum_l alpha_l logit(beta_l)), exactly."""
    gamma, gold, gamma_s = draw(seed, 5, length, 2, min(scale, 5.0))
    alpha = torch.from_numpy(np.random.default_rng(seed).dirichlet(np.ones(length), size=5))
    beta = lexical_beta(gamma, gold, gamma_s).numpy()
    correct = np.exp(-attention_loss(alpha, gamma, gold, gamma_s).numpy())
    np.testing.assert_allclose(expit((alpha.numpy() * logit(beta)).sum(1)), correct, rtol=1e-6)


@given(SEEDS, st.integers(2, 8))
def test_beta_is_the_softmax_at_the_right_output(seed, outputs):
    gamma, gold, gamma_s = draw(seed, 4, 3, outputs, 4.0)
    softmax = torch.softmax(gamma + gamma_s[:, None], 2)
    expected = torch.stack([row[:, y] for row, y in zip(softmax, gold, strict=True)])
    torch.testing.assert_close(lexical_beta(gamma, gold, gamma_s), expected)


def test_ties_share_their_weight():
    gamma = torch.zeros(1, 4, 2)
    gamma[0, 1:3, 0] = 2.0
    found = optimal_attention(gamma, torch.tensor([0]))
    assert found.alpha[0].tolist() == pytest.approx([0, 0.5, 0.5, 0], abs=1e-6)
    alike = optimal_attention(torch.ones(1, 5, 3), torch.tensor([2]))
    assert alike.reached.all() and alike.alpha[0].tolist() == pytest.approx([0.2] * 5)


@settings(max_examples=10)
@given(SEEDS, st.integers(2, 9), st.integers(2, 6))
def test_masked_positions_are_not_there(seed, length, outputs):
    gamma, gold, gamma_s = draw(seed, 3, length, outputs, 3.0)
    lengths = np.random.default_rng(seed).integers(1, length + 1, size=3)
    mask = torch.arange(length)[None] < torch.from_numpy(lengths)[:, None]
    gamma[~mask] = torch.nan  # whatever stands there
    found = optimal_attention(gamma, gold, gamma_s, mask=mask)
    assert found.reached.all() and (found.alpha[~mask] == 0).all()
    for k, own in enumerate(lengths):
        alone = optimal_attention(gamma[k : k + 1, :own], gold[k : k + 1], gamma_s[k : k + 1])
        assert float(found.loss[k]) == pytest.approx(float(alone.loss), abs=2e-6)


def test_where_the_loss_is_all_but_zero_it_still_points_at_the_best_position():
    gamma = torch.zeros(1, 3, 4, dtype=torch.float64)
    gamma[0, :, 1] = torch.tensor([40.0, 60.0, 50.0])
    found = optimal_attention(gamma, torch.tensor([1]))
    assert found.alpha[0].tolist() == [0, 1, 0] and found.loss[0] < 1e-20


@pytest.mark.parametrize("scale", [50.0, 500.0])
def test_large_logits_converge(scale):
    gamma, gold, gamma_s = draw(1, 50, 20, 30, scale)
    found = optimal_attention(gamma, gold, gamma_s)
    assert found.reached.all() and found.iterations < 150


def test_too_few_iterations_are_told_not_hidden():
    gamma, gold, gamma_s = draw(1, 20, 8, 5, 3.0)
    found = optimal_attention(gamma, gold, gamma_s, max_iterations=1)
    assert found.iterations == 1 and not found.reached.all()
    assert ((found.gap <= 1e-6) == found.reached).all()
    best = optimal_attention(gamma, gold, gamma_s, tolerance=1e-9).loss
    assert (found.loss - best <= found.gap + 1e-9).all(), "the gap is an upper bound"
    torch.testing.assert_close(found.alpha.sum(1), torch.ones(20, dtype=torch.float64))


def test_an_empty_batch_and_single_precision():
    nothing = optimal_attention(torch.zeros(0, 3, 4), torch.zeros(0, dtype=torch.long))
    assert nothing.alpha.shape == (0, 3)
    gamma, gold, gamma_s = draw(2, 5, 4, 3, 2.0)
    small = optimal_attention(gamma.float(), gold, gamma_s.float())
    torch.testing.assert_close(small.loss, optimal_attention(gamma, gold, gamma_s).loss, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    ("make", "named"),
    [
        (lambda: optimal_attention(torch.zeros(2, 3), torch.zeros(2).long()), r"\(batch, length, outputs\)"),
        (lambda: optimal_attention(torch.zeros(2, 3, 1), torch.zeros(2).long()), "two outputs"),
        (lambda: optimal_attention(torch.zeros(2, 3, 4), torch.zeros(3).long()), r"come as \(2,\)"),
        (lambda: optimal_attention(torch.zeros(2, 3, 4), torch.full((2,), 4)), "between 0 and 3; these have 4 to 4"),
        (
            lambda: optimal_attention(torch.zeros(2, 3, 4), torch.zeros(2).long(), mask=torch.eye(2, 3) > 1),
            "Row 0 of the batch has no position",
        ),
        (lambda: optimal_attention(torch.zeros(1, 2, 3), torch.zeros(1).long(), mask=torch.ones(1, 2)), "a boolean"),
        (lambda: optimal_attention(torch.full((1, 2, 3), torch.inf), torch.zeros(1).long()), "finite"),
        (lambda: optimal_attention(torch.zeros(1, 2, 3), torch.zeros(1).long(), tolerance=0.0), "tolerance must be"),
    ],
)
def test_bad_input_is_refused_in_a_sentence(make, named):
    with pytest.raises(UsageError, match=named):
        make()

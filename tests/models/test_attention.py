"""Attention and read-out against the papers' formulas, written out as loops."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from attnlab.errors import UsageError
from attnlab.models.attention import Attention
from attnlab.models.readout import Readout


def make(heads=1, projected=0, combine="sum", mode="learned", query=5, state=4, score="bilinear"):
    generators = [torch.Generator().manual_seed(k) for k in range(heads)]
    attention = Attention(
        query,
        state,
        heads=heads,
        projected=projected,
        combine=combine,
        mode=mode,
        score=score,
        head_generators=generators,
    )
    return attention.double()


def inputs(batch=3, target=4, source=6, query=5, state=4, seed=0):
    generator = torch.Generator().manual_seed(seed)
    queries = torch.randn(batch, target, query, generator=generator, dtype=torch.float64)
    states = torch.randn(batch, source, state, generator=generator, dtype=torch.float64)
    lengths = torch.randint(1, source + 1, (batch,), generator=generator)
    return queries, states, lengths


def by_hand(attention, queries, states, lengths):
    """Equations 1, 2 and those of 5.2, one output word, head and input position at a time."""
    batch, target, _ = queries.shape
    weights = torch.zeros(batch, attention.heads, target, states.shape[1], dtype=torch.float64)
    contexts = torch.zeros(batch, target, attention.context_size, dtype=torch.float64)
    for b in range(batch):
        for t in range(target):
            for k in range(attention.heads):
                scores = [
                    (queries[b, t] @ attention.weight[k] @ states[b, ell]).item() for ell in range(int(lengths[b]))
                ]
                alpha = torch.tensor(scores, dtype=torch.float64).softmax(0)
                for ell, weight in enumerate(alpha):
                    value = states[b, ell]
                    if attention.projection is not None:
                        value = attention.projection[k] @ value
                    weights[b, k, t, ell] = weight
                    contexts[b, t] += weight * value / (attention.heads if attention.combine == "mean" else 1)
    return weights, contexts


@given(
    heads=st.integers(1, 3),
    projected=st.sampled_from([0, 2]),
    combine=st.sampled_from(["sum", "mean"]),
    seed=st.integers(0, 1000),
)
def test_equals_the_equations(heads, projected, combine, seed):
    attention = make(heads, projected, combine)
    queries, states, lengths = inputs(seed=seed)
    with torch.no_grad():
        got = attention(queries, states, lengths)
        weights, contexts = by_hand(attention, queries, states, lengths)
    torch.testing.assert_close(got.weights, weights, atol=1e-12, rtol=0)
    torch.testing.assert_close(got.context, contexts, atol=1e-12, rtol=0)


@given(heads=st.integers(1, 3), projected=st.sampled_from([0, 2]), combine=st.sampled_from(["sum", "mean"]))
def test_focused_is_the_context_of_one_position(heads, projected, combine):
    attention = make(heads, projected, combine, mode="given")
    queries, states, _ = inputs()
    for ell in range(states.shape[1]):
        given_weights = torch.zeros(3, 4, 6, dtype=torch.float64)
        given_weights[:, :, ell] = 1
        context = attention(queries, states, given=given_weights).context[:, 0]
        torch.testing.assert_close(attention.focused(states)[:, ell], context, atol=1e-12, rtol=0)


def test_uniform_attention_averages_each_sequence():
    attention = make(heads=2, combine="mean", mode="uniform")
    queries, states, lengths = inputs()
    got = attention(queries, states, lengths)
    for b, length in enumerate(lengths.tolist()):
        expected = states[b, :length].mean(0).expand(4, -1)
        torch.testing.assert_close(got.context[b], expected)
        assert (got.weights[b, :, :, length:] == 0).all()


def test_plain_dot_scores_are_inner_products():
    attention = make(score="dot", query=4, state=4)
    queries, states, _ = inputs(query=4)
    expected = torch.einsum("btd,bld->btl", queries, states).softmax(-1)
    torch.testing.assert_close(attention(queries, states).weights[:, 0], expected)
    assert attention.score_parameters() == []


def test_a_heads_start_depends_on_its_own_generator_only():
    def first_head(others):
        generators = [torch.Generator().manual_seed(s) for s in (7, *others)]
        return Attention(5, 4, heads=len(generators), projected=3, head_generators=generators)

    one, other = first_head([1]), first_head([2, 3])
    assert torch.equal(one.weight[0], other.weight[0])
    assert torch.equal(one.projection[0], other.projection[0])
    assert not torch.equal(one.weight[1], other.weight[1])


@pytest.mark.parametrize("kind", ["tanh", "relu", "linear", "context"])
def test_pairs_equal_one_forward_for_each_position(kind, monkeypatch):
    monkeypatch.setattr("attnlab.models.readout.PAIR_ELEMENTS", 60)  # several blocks
    readout = Readout(kind, 4, 4, 7, hidden=5, generator=torch.Generator().manual_seed(1)).double()
    queries, contexts, _ = inputs(query=4, seed=2)
    target = torch.randint(7, (3, 4), generator=torch.Generator().manual_seed(3))
    got = readout.pairs(contexts, queries, target)
    assert got.shape == (3, 4, 6)
    for t in range(4):
        for ell in range(6):
            logits = readout(contexts[:, ell], queries[:, t])
            expected = logits.log_softmax(-1)[torch.arange(3), target[:, t]]
            torch.testing.assert_close(got[:, t, ell], expected, atol=1e-12, rtol=0)


def test_relevances_of_the_context_read_out_add_up():
    """The slides' simplified model: y_t = sum_l a_{t,l} r_l with r_l = W h_l, exactly."""
    attention = make(query=4)
    readout = Readout("context", 4, 4, 7, hidden=5, generator=None).double()
    queries, states, lengths = inputs(query=4)
    attended = attention(queries, states, lengths)
    relevances = readout(states, queries.new_zeros(3, 6, 4))
    torch.testing.assert_close(readout(attended.context, queries), attended.weights[:, 0] @ relevances)


@pytest.mark.parametrize(
    ("make_it", "named"),
    [
        (lambda: Attention(4, 4, heads=0), "at least one head"),
        (lambda: Attention(4, 5, score="dot"), "bilinear"),
        (lambda: Attention(4, 4, heads=2, head_generators=[torch.Generator()]), "as many generators"),
        (lambda: Readout("linear", 4, 5, 3, hidden=2, generator=None), "sizes agree"),
        (lambda: make()(*inputs()[:2], given=torch.ones(3, 4, 6)), "mode is given"),
        (lambda: make(mode="given")(*inputs()[:2]), "mode is given"),
        (lambda: make(mode="given")(*inputs()[:2], given=torch.ones(3, 4, 5)), "has shape"),
    ],
)
def test_bad_settings_are_refused_in_a_sentence(make_it, named):
    with pytest.raises(UsageError, match=named):
        make_it()


# --- the released copying code's score


@pytest.mark.parametrize("heads", [1, 3])
def test_a_bias_of_the_score_adds_one_direction_to_every_query(heads):
    """(s_t^T W^(k) + b^(k)) h_l, one output word, head and input position at a time."""
    generators = [torch.Generator().manual_seed(k) for k in range(heads)]
    attention = Attention(5, 4, heads=heads, score_bias=True, head_generators=generators).double()
    queries, states, lengths = inputs()
    weights = attention(queries, states, lengths).weights
    for b, t, k in ((0, 0, 0), (1, 2, heads - 1), (2, 3, heads - 1)):
        moved = queries[b, t] @ attention.weight[k] + attention.bias[k]
        scores = torch.stack([moved @ states[b, ell] for ell in range(int(lengths[b]))])
        assert torch.allclose(weights[b, k, t, : len(scores)], scores.softmax(0))
        assert not weights[b, k, t, len(scores) :].any()
    assert len(attention.score_parameters()) == 2 * heads


def test_without_a_bias_heads_start_as_they_always_did():
    plain, biased = (
        Attention(5, 4, projected=3, score_bias=bias, head_generators=[torch.Generator().manual_seed(1)])
        for bias in (False, True)
    )
    assert plain.bias is None
    assert torch.equal(plain.weight[0], biased.weight[0])
    assert torch.equal(plain.projection[0], biased.projection[0])
    assert biased.bias[0].abs().max() <= 5**-0.5

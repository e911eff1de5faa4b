"""The network of P3 2.1 against the same network written with PyTorch's own modules."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from attnlab.errors import UsageError
from attnlab.models.seq2seq import Seq2Seq

WORDS, HIDDEN = 9, 6


def library_recurrence(ours, words, lengths, embedding, start=None):
    """The same recurrence by nn.LSTM or nn.GRU over packed sequences."""
    kind = nn.LSTM if ours.cell == "lstm" else nn.GRU
    library = kind(
        ours.input_size,
        ours.hidden_size,
        num_layers=ours.layers,
        bidirectional=ours.directions == 2,
        batch_first=True,
        dtype=torch.float64,
    )
    library.load_state_dict(ours.state_dict())
    packed = pack_padded_sequence(embedding[words], lengths, batch_first=True, enforce_sorted=False)
    states, final = library(packed, start)
    return pad_packed_sequence(states, batch_first=True, total_length=words.shape[1])[0], final


def by_library(network, source, previous, source_lengths, target_lengths, target):
    """log p_t, alpha and log beta from the text's equations, one position at a time."""
    h, final = library_recurrence(network.encoder, source, source_lengths, network.source_embedding)

    def joined(state):
        return state.view(-1, network.directions, *state.shape[1:]).mean(1)

    start = tuple(joined(s) for s in final) if isinstance(final, tuple) else joined(final)
    s, _ = library_recurrence(network.decoder, previous, target_lengths, network.target_embedding, start)
    attended = network.attention(s, h, source_lengths)
    log_p = network.readout(attended.context, s).log_softmax(-1)
    beta = torch.full((*target.shape, source.shape[1]), float("-inf"), dtype=torch.float64)
    for b in range(len(source)):
        for t in range(target.shape[1]):
            for ell in range(int(source_lengths[b])):
                context = network.attention.focused(h)[b, ell]
                beta[b, t, ell] = network.readout(context, s[b, t]).log_softmax(-1)[target[b, t]]
    return log_p, attended.weights, beta


@settings(max_examples=25)
@given(
    cell=st.sampled_from(["lstm", "gru"]),
    layers=st.integers(1, 2),
    bidirectional=st.booleans(),
    shared=st.booleans(),
    heads=st.integers(1, 2),
    projected=st.booleans(),
    combine=st.sampled_from(["sum", "mean"]),
    readout=st.sampled_from(["tanh", "relu", "linear", "context"]),
    seed=st.integers(0, 100),
)
def test_equals_the_library(cell, layers, bidirectional, shared, heads, projected, combine, readout, seed):
    if readout == "linear":
        projected = projected or bidirectional
    network = Seq2Seq(
        WORDS,
        WORDS,
        hidden=HIDDEN,
        embedding_size=5,
        cell=cell,
        layers=layers,
        bidirectional=bidirectional,
        shared_embedding=shared,
        heads=heads,
        projected_context=projected,
        combine=combine,
        readout=readout,
        seed=seed,
    ).double()
    generator = torch.Generator().manual_seed(seed)
    source, previous, target = (torch.randint(WORDS, (3, length), generator=generator) for length in (5, 4, 4))
    source_lengths, target_lengths = torch.tensor([5, 2, 4]), torch.tensor([1, 4, 3])
    got = network(source, previous, source_lengths=source_lengths, target_lengths=target_lengths, targets=target)
    log_p, weights, beta = by_library(network, source, previous, source_lengths, target_lengths, target)
    torch.testing.assert_close(got.log_probabilities, log_p, atol=1e-10, rtol=0)
    torch.testing.assert_close(got.attention, weights, atol=1e-10, rtol=0)
    torch.testing.assert_close(got.lexical, beta, atol=1e-10, rtol=0)
    torch.testing.assert_close(got.alpha, weights.mean(1), atol=1e-10, rtol=0)
    weighting = torch.randn(log_p.shape, generator=generator, dtype=torch.float64)
    ours = torch.autograd.grad((got.log_probabilities * weighting).sum(), list(network.parameters()), allow_unused=True)
    theirs = torch.autograd.grad((log_p * weighting).sum(), [*network.readout.parameters()], allow_unused=True)
    by_name = dict(zip((name for name, _ in network.named_parameters()), ours, strict=True))
    for (name, _), expected in zip(network.readout.named_parameters(), theirs, strict=True):
        torch.testing.assert_close(by_name[f"readout.{name}"], expected, atol=1e-10, rtol=0)


def test_all_gradients_are_those_of_finite_differences():
    network = Seq2Seq(5, 5, hidden=3, heads=2, projected_context=True, seed=4).double()
    words = torch.tensor([[0, 3, 1], [2, 2, 4]])
    names, values = zip(*network.named_parameters(), strict=True)

    def loss(*parameters):
        state = dict(zip(names, parameters, strict=True))
        return torch.func.functional_call(network, state, (words, words)).log_probabilities[..., 0].sum()

    assert torch.autograd.gradcheck(loss, tuple(v.detach().requires_grad_() for v in values), atol=1e-6)


def test_words_behind_the_end_change_nothing():
    network = Seq2Seq(WORDS, WORDS, hidden=HIDDEN, seed=1).double()
    source, target = torch.randint(WORDS, (2, 6)), torch.randint(WORDS, (2, 5))
    lengths = {"source_lengths": torch.tensor([4, 6]), "target_lengths": torch.tensor([5, 2])}
    before = network(source, target, targets=target, **lengths)
    changed = source.clone()
    changed[0, 4:] = (changed[0, 4:] + 1) % WORDS
    after = network(changed, target, targets=target, **lengths)
    assert torch.equal(before.log_probabilities, after.log_probabilities)
    assert torch.equal(before.lexical, after.lexical)


def test_start_follows_from_seeds_and_leaves_global_generators_alone():
    torch.manual_seed(5)
    before = torch.get_rng_state()
    one, same = Seq2Seq(9, 9, hidden=4, seed=3), Seq2Seq(9, 9, hidden=4, seed=3)
    assert torch.equal(torch.get_rng_state(), before)
    for left, right in zip(one.parameters(), same.parameters(), strict=True):
        assert torch.equal(left, right)
    other_head = Seq2Seq(9, 9, hidden=4, seed=3, head_seeds=(8,))
    for (name, left), right in zip(one.named_parameters(), other_head.parameters(), strict=True):
        assert torch.equal(left, right) != name.startswith("attention.")


def test_starting_values_are_pytorchs_defaults():
    network = Seq2Seq(500, 500, hidden=64, seed=0).requires_grad_(False)
    assert abs(float(network.source_embedding.mean())) < 0.02
    assert abs(float(network.source_embedding.std()) - 1) < 0.02
    for weight, bound in ((network.readout.hidden.weight, 128**-0.5), (network.encoder.weight_hh_l0, 64**-0.5)):
        assert float(weight.abs().max()) <= bound
        assert abs(float(weight.std()) - bound / 3**0.5) < 0.03 * bound


@pytest.mark.parametrize(
    ("settings_", "named"),
    [
        ({"target_words": 8}, "one vocabulary"),
        ({"heads": 2, "head_seeds": (1,)}, "as many seeds"),
        ({"bidirectional": True, "readout": "linear"}, "project the context"),
        ({"heads": 2, "score": "dot"}, "bilinear"),
    ],
)
def test_bad_settings_are_refused_in_a_sentence(settings_, named):
    with pytest.raises(UsageError, match=named):
        Seq2Seq(9, settings_.pop("target_words", 9), hidden=4, **settings_)

"""The fields of a translator against their slow definitions: one pair, one output word, one position at a time."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.pairs_in_pieces import drawn_split, split_of

from attnlab.data.piece_batches import pair_batch
from attnlab.errors import UsageError
from attnlab.models.translator import Translator
from attnlab.probes.influence import influence
from attnlab.probes.texts import attention, lexical
from attnlab.probes.translation import translation_fields

WORDS = 13
VARIANTS = [
    {},
    {"projected": False, "score_bias": False, "start": "last"},
    {"readout": "linear"},
    {"readout": "context"},
    {"attention": "uniform"},
]
LENGTHS = st.lists(st.tuples(st.integers(1, 5), st.integers(1, 5)), min_size=1, max_size=5)


def make(**variant):
    return Translator(WORDS, hidden=4, seed=3, **variant).double()


def slow(model, split):
    """alpha, log beta, delta and log p of each output word, by their definitions."""
    model.eval()
    rows = []
    for k in range(len(split)):
        batch = pair_batch(split, np.array([k]))
        gates = torch.ones(batch.source.shape, dtype=torch.float64, requires_grad=True)
        seen = model(batch.source, batch.previous, targets=batch.target, gates=gates)
        for t, right in enumerate(batch.target[0].tolist()):
            log_p = seen.log_probabilities[0, t, right]
            (delta,) = torch.autograd.grad(log_p, gates, retain_graph=True)  # -d NLL = d log p
            rows.append((k, seen.alpha[0, t].detach(), seen.lexical[0, t].detach(), delta[0], log_p.detach()))
    return rows


@pytest.mark.parametrize("variant", VARIANTS, ids=str)
@settings(max_examples=15)
@given(lengths=LENGTHS, seed=st.integers(0, 2**32), pairs=st.integers(1, 3))
def test_fields_are_their_definitions(variant, lengths, seed, pairs):
    model, split = make(**variant), drawn_split(lengths, WORDS, seed)
    fields = translation_fields(model, split, influence=True, pairs=pairs)
    expected = slow(model, split)
    assert len(fields.alpha) == len(expected) == sum(target + 1 for _, target in lengths)
    for t, (k, alpha, log_beta, delta, log_p) in enumerate(expected):
        assert fields.pair[t] == k
        np.testing.assert_allclose(fields.alpha.row(t), alpha, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(fields.log_beta.row(t), log_beta, rtol=1e-9)
        np.testing.assert_allclose(fields.delta.row(t), delta, rtol=1e-7, atol=1e-11)
        assert fields.log_p[t] == pytest.approx(float(log_p), rel=1e-9)
    assert fields.loss == pytest.approx(-np.mean([float(row[4]) for row in expected]))


def test_they_are_also_what_the_probes_of_any_model_say():
    """Through the view of our own networks, on a padded batch."""
    model, split = make(), drawn_split([(4, 3), (2, 5), (5, 1)], WORDS, 7)
    fields, batch = translation_fields(model, split, influence=True), pair_batch(split, np.arange(3))
    for ours, theirs in (
        (fields.alpha, attention(model, batch)),
        (fields.log_beta, lexical(model, batch)),
        (fields.delta, influence(model, batch)),
    ):
        assert ours.offsets.tolist() == theirs.offsets.tolist()
        np.testing.assert_allclose(ours.values, theirs.values, rtol=1e-7, atol=1e-11)


def test_influence_is_the_limit_of_differences():
    model, split = make(), drawn_split([(3, 2)], WORDS, 1)
    model.eval()
    batch = pair_batch(split, np.array([0]))
    fields = translation_fields(model, split, influence=True)
    for position in range(5):

        def log_p(gate, position=position):
            gates = torch.ones(1, 5, dtype=torch.float64)
            gates[0, position] = gate
            seen = model(batch.source, batch.previous, gates=gates).log_probabilities
            return seen.gather(2, batch.target[..., None]).flatten().detach().numpy()

        slope = (log_p(1 + 1e-5) - log_p(1 - 1e-5)) / 2e-5
        np.testing.assert_allclose([fields.delta.row(t)[position] for t in range(3)], slope, rtol=1e-6, atol=1e-9)


def test_the_linear_read_out_has_beta_without_the_decoders_term():
    model, split = make(readout="linear"), drawn_split([(3, 2), (1, 4)], WORDS, 5)
    fields = translation_fields(model, split)
    assert fields.delta is None
    model.eval()
    row = 0
    for k in range(2):
        batch = pair_batch(split, np.array([k]))
        h = model.encode(batch.source).states[0]
        gamma = (h @ model.projection.weight.T + model.projection.bias) @ model.readout.output.weight.T
        for right in batch.target[0].tolist():
            expected = gamma.log_softmax(1)[:, right].detach()
            np.testing.assert_allclose(fields.context_beta.row(row), expected, rtol=1e-9)
            row += 1
    assert translation_fields(make(), split).context_beta is None


def test_accuracy_is_the_share_of_likeliest_words_and_the_network_is_left_as_it_was():
    model, split = make(), drawn_split([(3, 2), (4, 4)], WORDS, 2)
    model.train()
    fields = translation_fields(model, split)
    right = np.concatenate([[*split.target.sentence(k), 3] for k in range(2)])
    assert fields.accuracy == (fields.predicted == right).mean()
    assert model.training and all(parameter.requires_grad for parameter in model.parameters())
    assert all(parameter.grad is None for parameter in model.parameters())


def test_no_pairs_are_refused():
    with pytest.raises(UsageError, match="no sentence pairs"):
        translation_fields(make(), split_of([], []))

"""Leave-one-out: against texts that are really read without the word, by PyTorch's own networks."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from attnlab.data.batch import Bags
from attnlab.errors import UsageError
from attnlab.models.classifier import log_odds
from attnlab.probes.leave_one_out import leave_one_out, sample_for_leave_one_out

LENGTHS = [1, 2, 9, 5, 9, 1, 3]
MODELS = {
    "as in the paper": {},
    "one direction": {"bidirectional": False},
    "linear score": {"score": "linear"},
    "uniform attention": {"attention": "uniform"},
    "gru": {"cell": "gru"},
    "gru, one direction": {"cell": "gru", "bidirectional": False},
    "four classes": {"classes": 4},
}


@pytest.mark.parametrize("settings", MODELS.values(), ids=MODELS.keys())
@pytest.mark.parametrize("positions", [1, 30, 8192])
def test_it_is_the_fall_of_the_log_odds_without_the_word(draw_model, draw_texts, logits_of, settings, positions):
    model, texts = draw_model(**settings), draw_texts(LENGTHS, settings.get("classes", 2))
    loo = leave_one_out(model, texts, positions=positions)
    for k, length in enumerate(LENGTHS):
        vectors = model.embedding[texts.words[texts.offsets[k] : texts.offsets[k + 1]]]

        def right(kept, vectors=vectors, label=texts.labels[k]):
            logits = logits_of(model, vectors[kept]) if kept else torch.cat([torch.zeros(1), model.output.bias])
            return log_odds((logits if kept or model.classes == 2 else logits[1:])[None], label[None]).item()

        everything = list(range(length))
        expected = [right(everything) - right([p for p in everything if p != left_out]) for left_out in everything]
        np.testing.assert_allclose(loo.row(k), expected, rtol=1e-10, atol=1e-11)
    assert loo.values.std() > 1e-3


def test_single_precision_gives_the_same_to_its_rounding(draw_model, draw_texts):
    model, texts = draw_model(), draw_texts([30, 12], seed=3)
    exact = leave_one_out(model, texts).values
    np.testing.assert_allclose(leave_one_out(model.float(), texts).values, exact, atol=2e-5)


def test_a_saturated_network_still_tells_words_apart(draw_model, draw_texts):
    model, texts = draw_model(), draw_texts([6])
    with torch.no_grad():
        model.output.weight.mul_(2000)
        probabilities = model(texts.words[None], torch.tensor([6])).log_probabilities.exp()
    assert probabilities.max() > 1 - 1e-12
    loo = leave_one_out(model, texts).row(0)
    assert np.isfinite(loo).all() and len(set(np.round(loo, 6))) == len(set(texts.words.tolist()))


def test_model_and_global_state_are_left_alone(draw_model, draw_texts):
    model, before = draw_model(), torch.get_rng_state()
    leave_one_out(model, draw_texts(LENGTHS))
    assert model.training and all(p.requires_grad and p.grad is None for p in model.parameters())
    assert torch.equal(torch.get_rng_state(), before) and torch.is_grad_enabled()


@given(st.lists(st.integers(1, 30), min_size=1, max_size=40), st.integers(0, 50), st.integers(0, 5))
def test_the_sample_is_drawn_among_the_short_texts(lengths, count, seed):
    texts = Bags(torch.zeros(sum(lengths)), torch.tensor([0, *np.cumsum(lengths)]), torch.zeros(len(lengths)))
    rows = sample_for_leave_one_out(texts, count, longest=20, seed=seed).tolist()
    short = [k for k, length in enumerate(lengths) if length <= 20]
    assert rows == sorted(set(rows)) and set(rows) <= set(short)
    assert len(rows) == min(count, len(short))
    assert rows == sample_for_leave_one_out(texts, count, longest=20, seed=seed).tolist()


def test_seeds_draw_different_samples(draw_texts):
    texts = draw_texts([3] * 1000)
    first, second = (sample_for_leave_one_out(texts, seed=seed) for seed in (0, 1))
    assert len(first) == len(second) == 400
    assert not torch.equal(first, second)


def test_texts_that_cannot_be_read_are_refused(draw_model, draw_texts):
    with pytest.raises(UsageError, match="no texts to read"):
        leave_one_out(draw_model(), draw_texts([]))
    with pytest.raises(UsageError, match="Text 0 has no words"):
        leave_one_out(draw_model(), draw_texts([0, 4]))
    texts = draw_texts([2])
    texts.labels[0] = -1
    with pytest.raises(UsageError, match="labels go from -1"):
        leave_one_out(draw_model(), texts)

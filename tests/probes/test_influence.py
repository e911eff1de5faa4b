"""Influence: against automatic differentiation on PyTorch's own networks, and against differences."""

import numpy as np
import pytest
import torch

from attnlab.errors import UsageError
from attnlab.probes.influence import influence, text_influence
from attnlab.probes.texts import text_fields

LENGTHS = [3, 1, 7, 5, 7]
MODELS = {
    "as in the paper": {},
    "one direction": {"bidirectional": False},
    "linear score": {"score": "linear"},
    "uniform attention": {"attention": "uniform"},
    "gru": {"cell": "gru"},
    "four classes": {"classes": 4},
}


def words_of(texts, k):
    return texts.words[texts.offsets[k] : texts.offsets[k + 1]]


@pytest.mark.parametrize("settings", MODELS.values(), ids=MODELS.keys())
@pytest.mark.parametrize("positions", [1, 20, 8192])
def test_it_is_the_gradient_to_gates_on_the_embeddings(draw_model, draw_texts, logits_of, settings, positions):
    model, texts = draw_model(**settings), draw_texts(LENGTHS, settings.get("classes", 2))
    delta = influence(model, texts, positions=positions)
    for k, length in enumerate(LENGTHS):
        gates = torch.ones(length, 1, dtype=torch.float64, requires_grad=True)
        logits = logits_of(model, gates * model.embedding[words_of(texts, k)])
        nll = -torch.log_softmax(logits, 0)[texts.labels[k]]
        expected = -torch.autograd.grad(nll, gates)[0][:, 0]
        np.testing.assert_allclose(delta.row(k), expected, rtol=1e-10, atol=1e-12)
    assert delta.values.std() > 1e-4


def test_it_is_what_the_log_probability_gains_when_a_word_grows(draw_model, draw_texts, logits_of):
    """The sign: positive where more of the word makes the right class more probable."""
    model, texts, step = draw_model(), draw_texts([6]), 1e-5
    vectors = model.embedding[texts.words].detach()

    def right(position, by):
        scaled = vectors.clone()
        scaled[position] *= 1 + by
        return torch.log_softmax(logits_of(model, scaled), 0)[texts.labels[0]].item()

    gains = [(right(position, step) - right(position, -step)) / (2 * step) for position in range(6)]
    np.testing.assert_allclose(influence(model, texts).row(0), gains, rtol=1e-6, atol=1e-9)


def test_the_other_fields_come_with_it(draw_model, draw_texts):
    model, texts = draw_model(3).float(), draw_texts(LENGTHS, 3)
    fields, delta = text_influence(model, texts, positions=20)
    expected = text_fields(model, texts)
    for name in ("alpha", "gamma"):
        np.testing.assert_allclose(getattr(fields, name).values, getattr(expected, name).values, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(fields.log_probabilities, expected.log_probabilities, rtol=1e-5, atol=1e-6)
    assert fields.loss == pytest.approx(expected.loss) and fields.accuracy == expected.accuracy
    assert delta.offsets.tolist() == fields.alpha.offsets.tolist() == texts.offsets.tolist()


@pytest.mark.parametrize("fails", [False, True], ids=["read to the end", "an error on the way"])
def test_the_model_is_left_as_it_was(draw_model, draw_texts, fails):
    model, texts = draw_model(), draw_texts(LENGTHS)
    model.score.eval()
    model.output.bias.requires_grad_(False)
    wanted = [parameter.requires_grad for parameter in model.parameters()]
    weights = {name: value.clone() for name, value in model.state_dict().items()}
    with torch.no_grad():  # as an evaluation would call it
        if fails:
            texts.words[-1] = 10_000
            with pytest.raises(UsageError, match="Token ids"):
                influence(model, texts)
        else:
            influence(model, texts)
        assert not torch.is_grad_enabled()
    assert model.training and model.encoder.training and not model.score.training
    assert [parameter.requires_grad for parameter in model.parameters()] == wanted
    assert all(parameter.grad is None for parameter in model.parameters())
    assert all(torch.equal(value, weights[name]) for name, value in model.state_dict().items())


def test_the_weights_get_no_gradients(draw_model, draw_texts):
    """Their products would cost as much again as the reading."""
    asked = []
    model = draw_model()
    for parameter in model.parameters():
        parameter.register_hook(asked.append)
    influence(model, draw_texts(LENGTHS))
    assert not asked


def test_texts_that_cannot_be_read_are_refused(draw_model, draw_texts):
    with pytest.raises(UsageError, match="no texts to read"):
        influence(draw_model(), draw_texts([]))
    with pytest.raises(UsageError, match="Text 1 has no words"):
        influence(draw_model(), draw_texts([2, 0]))
    texts = draw_texts([2, 3])
    texts.labels[1] = 2
    with pytest.raises(UsageError, match="labels go from 0 to 2; from 0 to 1 is right for a classifier of 2 classes"):
        influence(draw_model(), texts)

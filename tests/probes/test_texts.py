"""The fields over many texts, against reading every text by itself."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from attnlab.data.batch import Bags
from attnlab.errors import UsageError
from attnlab.models.classifier import Classifier, log_odds
from attnlab.probes.texts import text_fields

LENGTHS = st.lists(st.integers(1, 12), min_size=1, max_size=12)


def numbered(lengths):
    """Texts whose words are all different, so that each tells where it came from."""
    return Bags(torch.arange(sum(lengths)) + 1, torch.tensor([0, *np.cumsum(lengths)]), torch.arange(len(lengths)) % 2)


@settings(max_examples=15)
@given(lengths=LENGTHS, positions=st.integers(1, 60), classes=st.sampled_from([2, 4]))
def test_fields_are_those_of_every_text_read_by_itself(lengths, positions, classes):
    model = Classifier(200, classes, embedding_size=5, hidden=4, seed=1)
    texts = numbered(lengths)
    fields = text_fields(model, texts, positions=positions)
    losses, right = [], 0
    for k, length in enumerate(lengths):
        words = texts.words[texts.offsets[k] : texts.offsets[k + 1]]
        with torch.no_grad():
            alone = model(words[None], torch.tensor([length]), labels=texts.labels[k : k + 1])
        np.testing.assert_allclose(fields.alpha.row(k), alone.alpha[0], rtol=1e-4, atol=1e-6)
        np.testing.assert_allclose(fields.gamma.row(k), alone.gamma[0], rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(fields.log_probabilities[k], alone.log_probabilities[0], rtol=1e-4, atol=1e-6)
        losses.append(-float(alone.log_probabilities[0, texts.labels[k]]))
        right += int(fields.log_probabilities[k].argmax() == texts.labels[k])
    assert fields.loss == pytest.approx(np.mean(losses), rel=1e-4)
    assert fields.accuracy == right / len(lengths)


def test_the_probe_is_the_log_odds_of_the_right_class(draw_model, draw_texts):
    model, texts = draw_model(3).float(), draw_texts([4, 6], classes=3)
    fields = text_fields(model, texts)
    for k in range(2):
        words = texts.words[texts.offsets[k] : texts.offsets[k + 1]]
        h = model.encoder(words[None], embedding=model.embedding).states[0]
        expected = log_odds(model.output(h), texts.labels[k].expand(len(words)))
        np.testing.assert_allclose(fields.gamma.row(k), expected.detach(), rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("training", [True, False])
def test_the_models_mode_stays_as_it_was(draw_model, draw_texts, training):
    model = draw_model().float().train(training)
    text_fields(model, draw_texts([3]))
    assert model.training == training
    assert all(parameter.grad is None and parameter.requires_grad for parameter in model.parameters())


def test_nothing_to_read_is_refused(draw_model, draw_texts):
    with pytest.raises(UsageError, match="no texts to read"):
        text_fields(draw_model().float(), draw_texts([]))
    with pytest.raises(UsageError, match=r"Text 1 has no words"):
        text_fields(draw_model().float(), draw_texts([3, 0, 2]))

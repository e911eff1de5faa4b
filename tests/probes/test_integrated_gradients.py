"""Integrated gradients: against the definition on embeddings, integrated by a fine sum, and their own completeness."""

import subprocess
import sys

import numpy as np
import pytest
import torch

from attnlab.errors import UsageError
from attnlab.models.classifier import log_odds
from attnlab.probes.integrated_gradients import integrated_gradients

pytest.importorskip("captum", reason="pip install 'attnlab[attribution]'")

LENGTHS = [4, 1, 5]
MODELS = {"as in the paper": {}, "uniform attention": {"attention": "uniform"}, "three classes": {"classes": 3}}


@pytest.mark.parametrize("settings", MODELS.values(), ids=MODELS.keys())
def test_they_are_the_integral_over_embeddings_summed_over_dimensions(draw_model, draw_texts, logits_of, settings):
    model, texts = draw_model(**settings), draw_texts(LENGTHS, settings.get("classes", 2))
    found, _ = integrated_gradients(model, texts, positions=8)
    points, weights = np.polynomial.legendre.leggauss(30)
    for k in range(len(LENGTHS)):
        vectors = model.embedding[texts.words[texts.offsets[k] : texts.offsets[k + 1]]].detach()
        gradients = torch.zeros_like(vectors)
        for point, weight in zip((points + 1) / 2, weights / 2, strict=True):
            scaled = (point * vectors).requires_grad_()
            right = log_odds(logits_of(model, scaled)[None], texts.labels[k : k + 1])
            gradients += weight * torch.autograd.grad(right.sum(), scaled)[0]
        np.testing.assert_allclose(found.row(k), (gradients * vectors).sum(1), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("settings", MODELS.values(), ids=MODELS.keys())
def test_they_sum_to_what_the_words_changed(draw_model, draw_texts, logits_of, settings):
    model, texts = draw_model(**settings), draw_texts(LENGTHS, settings.get("classes", 2))
    found, gaps = integrated_gradients(model, texts, steps=50)
    for k in range(len(LENGTHS)):
        vectors = model.embedding[texts.words[texts.offsets[k] : texts.offsets[k + 1]]]
        full, empty = (
            log_odds(logits_of(model, given)[None], texts.labels[k : k + 1]).item() for given in (vectors, 0 * vectors)
        )
        assert abs(full - empty) > 1e-3
        assert found.row(k).sum() == pytest.approx(full - empty, abs=1e-6)
        assert gaps[k].item() == pytest.approx(found.row(k).sum() - (full - empty), abs=1e-9)


def test_too_few_steps_show_in_the_gap(draw_model, draw_texts):
    model, texts = draw_model(), draw_texts(LENGTHS)
    coarse, fine = (integrated_gradients(model, texts, steps=steps)[1].abs().max() for steps in (1, 50))
    assert fine < coarse / 100


def test_the_model_is_left_as_it_was(draw_model, draw_texts):
    model = draw_model()
    with torch.no_grad():
        integrated_gradients(model, draw_texts(LENGTHS), steps=2)
    assert model.training and all(p.requires_grad and p.grad is None for p in model.parameters())


def test_bad_input_is_refused(draw_model, draw_texts):
    with pytest.raises(UsageError, match="no texts to read"):
        integrated_gradients(draw_model(), draw_texts([]))
    with pytest.raises(UsageError, match="at least 1 step, not 0"):
        integrated_gradients(draw_model(), draw_texts([2]), steps=0)


WITHOUT = """
import sys
sys.modules["captum"] = None  # as if it were not installed
import torch
from attnlab.errors import UsageError
from attnlab.models.classifier import Classifier
from attnlab.probes.integrated_gradients import integrated_gradients
from attnlab.data.batch import Bags
try:
    integrated_gradients(Classifier(3), Bags(torch.tensor([1]), torch.tensor([0, 1]), torch.tensor([1])))
except UsageError as refused:
    print(refused)
"""


def test_without_captum_a_sentence_says_how_to_get_it():
    found = subprocess.run([sys.executable, "-c", WITHOUT], capture_output=True, encoding="utf-8", check=True)
    assert found.stdout.strip() == (
        "Integrated gradients need captum, which is not installed; pip install 'attnlab[attribution]' brings it."
    )

"""Integrated gradients (Sundararajan, Taly, Yan 2017) of the right class's log-odds to the words, through captum.

    ig_l = sum_d e_{l,d} * integral_0^1  d f(t e) / d e_{l,d}  dt          f: log-odds of the right class

from the baseline of zero embeddings to the text's own e. A word's attribution summed over its dimensions d is the
attribution of a gate that multiplies the word's embedding, because the chain rule gives the gate the same sum. So gates
are what captum is given: one number a word instead of 300, and the network reads word ids as always.
"""

from importlib import import_module
from typing import Any

import torch
from torch import Tensor

from attnlab.data.batch import Bags
from attnlab.errors import UsageError
from attnlab.fields import ScoreField
from attnlab.models.classifier import Classifier, log_odds
from attnlab.probes.reading import check_texts, frozen
from attnlab.probes.texts import POSITIONS, batches


def integrated_gradients(
    model: Classifier, texts: Bags, *, steps: int = 50, positions: int = POSITIONS
) -> tuple[ScoreField, Tensor]:
    """ig of every position of every text, and each text's gap (texts,).

    The integral is a Gauss-Legendre sum of ``steps`` points. A text's attributions should sum to f(e) - f(0); the gap
    is the sum's excess over it. Where it is not small beside that difference, ask for more steps.
    """
    check_texts(model, texts)
    if steps < 1:
        raise UsageError(f"Integrated gradients need at least 1 step, not {steps}.")

    def gated(gates: Tensor, tokens: Tensor, lengths: Tensor, labels: Tensor) -> Tensor:
        """f (batch,) of texts whose embeddings are multiplied by ``gates`` (batch, source)."""
        return log_odds(model(tokens, lengths, gates=gates).log_probabilities, labels)

    method = _captum().IntegratedGradients(gated)
    values = torch.empty(len(texts.words), dtype=model.embedding.dtype)
    gaps = torch.empty(len(texts), dtype=model.embedding.dtype)
    with frozen(model):
        for batch in batches(texts, positions):
            attributed, gap = method.attribute(
                torch.ones(batch.tokens.shape, dtype=values.dtype),
                baselines=0.0,
                additional_forward_args=(batch.tokens, batch.lengths, batch.labels),
                n_steps=steps,
                internal_batch_size=len(batch.rows),  # a step at a time: the batch is already as large as is good
                return_convergence_delta=True,
            )
            values[batch.places], gaps[batch.rows] = attributed[batch.inside], gap
    return ScoreField(values.numpy(), texts.offsets.numpy()), gaps


def _captum() -> Any:
    try:
        return import_module("captum.attr")
    except ModuleNotFoundError as missing:
        raise UsageError(
            "Integrated gradients need captum, which is not installed; pip install 'attnlab[attribution]' brings it."
        ) from missing

"""Integrated gradients (Sundararajan, Taly, Yan 2017) of the right class's log-odds to the words, through captum.

    ig_l = sum_d e_{l,d} * integral_0^1  d f(t e) / d e_{l,d}  dt          f: log-odds of the right class

from the baseline of zero embeddings to the text's own e. A word's attribution summed over its dimensions d is the
attribution of a gate that multiplies the word's embedding, because the chain rule gives the gate the same sum. So gates
are what captum is given: one number a word instead of 300, and the network reads word ids as always.
"""

from collections.abc import Callable
from importlib import import_module
from typing import Any

import torch
from torch import Tensor, nn

from attnlab.data.batch import POSITIONS, Bags
from attnlab.errors import UsageError
from attnlab.fields import ScoreField
from attnlab.models.classifier import log_odds
from attnlab.probes.reading import Gathered, batches_of, frozen, gates_of, only_texts, prepared
from attnlab.probes.view import Batch, View, see


def integrated_gradients(
    model: nn.Module, texts: Bags, view: View | None = None, *, steps: int = 50, positions: int = POSITIONS
) -> tuple[ScoreField, Tensor]:
    """ig of every position of every text, and each text's gap (texts,).

    The integral is a Gauss-Legendre sum of ``steps`` points. A text's attributions should sum to f(e) - f(0); the gap
    is the sum's excess over it. Where it is not small beside that difference, ask for more steps. ``view`` says how to
    read ``model``, and where the gates go; our own classifier needs none.
    """
    view = prepared(model, texts, view)
    only_texts(texts, "Integrated gradients")
    if steps < 1:
        raise UsageError(f"Integrated gradients need at least 1 step, not {steps}.")
    method, gathered = _captum().IntegratedGradients, Gathered()
    all_rows, gaps = [], []
    with frozen(model):
        for rows, batch in batches_of(model, texts, positions):
            attributed, gap = method(_gated(view, model, batch)).attribute(
                gates_of(model, batch).detach(),
                baselines=0.0,
                n_steps=steps,
                internal_batch_size=len(rows),  # a step at a time: the batch is already as large as is good
                return_convergence_delta=True,
            )
            gathered.add(attributed, rows, batch)
            all_rows.append(rows)
            gaps.append(gap.detach().cpu())
    return gathered.field(), torch.cat(gaps)[torch.cat(all_rows).argsort()]


def _gated(view: View, model: nn.Module, batch: Batch) -> Callable[[Tensor], Tensor]:
    def gated(gates: Tensor) -> Tensor:
        """f (batch,) of the batch's texts with embeddings multiplied by ``gates`` (batch, source)."""
        return log_odds(see(view, model, batch, gates).log_probabilities, batch.labels)

    return gated


def _captum() -> Any:
    try:
        return import_module("captum.attr")
    except ModuleNotFoundError as missing:
        raise UsageError(
            "Integrated gradients need captum, which is not installed; pip install 'attnlab[attribution]' brings it."
        ) from missing

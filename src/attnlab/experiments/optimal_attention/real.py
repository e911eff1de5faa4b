"""Optimal attention of a trained translator: its linear variant (P3 A.1) on Multi30k.

With the read-out softmax(W (c + d)) the logits of attention alpha are sum_l alpha_l gamma_l + gamma_s. gamma_l is W c_l
of the projected state c_l, and gamma_s is W d_t. So the attention of least loss can be found word by word.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from attnlab.data.bitext import PieceSplit
from attnlab.data.piece_batches import pair_batch
from attnlab.experiments.bitexts.corpora import PairRuns
from attnlab.fields import ScoreField
from attnlab.lab.corpus_runs import steps_of
from attnlab.lab.rules import low_high, over_examples
from attnlab.measures.agreement import random_baseline, top_agreement
from attnlab.measures.bleu_counts import bleu_difference, bleu_of, sentence_counts
from attnlab.models.translator import Translator
from attnlab.probes.optimal_attention import lexical_log_odds, optimal_attention
from attnlab.runs.loop import Trained

FAR = 30.0
"""Outputs whose logit stays this far below another's under every attention add less than 1e-9 to any loss."""


@dataclass(frozen=True, eq=False)
class Optimum:
    """Fields over the output words of some sentences, a row each: ``alpha_opt``, and the log-odds of beta with the
    decoder's term gamma_s and without it (``context``). ``gap`` (words,): at least how far the loss is above the least.
    """

    alpha_opt: ScoreField
    beta: ScoreField
    context: ScoreField
    gap: NDArray[np.float64]
    sentence: NDArray[np.int64]


def optimum_of(model: Translator, split: PieceSplit, tolerance: float) -> Optimum:
    """The optimal attention of every output word of ``split``, sentence by sentence: its words share their gamma."""
    parts: dict[str, list[Tensor]] = {name: [] for name in ("alpha_opt", "beta", "context", "gap")}
    lengths, sentence = [], []
    for k, (gamma, gamma_s, gold) in enumerate(logits_of(model, split)):
        words, positions = len(gold), len(gamma)
        kept, right = few_outputs(gamma, gamma_s, gold)
        every = gamma[:, kept].expand(words, -1, -1)
        best = optimal_attention(every, right, gamma_s[:, kept], tolerance=tolerance)
        parts["alpha_opt"].append(best.alpha.flatten())
        parts["gap"].append(best.gap)
        whole = gamma.expand(words, -1, -1)
        parts["beta"].append(lexical_log_odds(whole, gold, gamma_s).flatten())
        parts["context"].append(lexical_log_odds(whole, gold).flatten())
        lengths += [positions] * words
        sentence += [k] * words
    offsets = np.append(0, np.cumsum(lengths)).astype(np.int64)
    alpha_opt, beta, context, gap = (torch.cat(values).numpy() for values in parts.values())
    alpha, with_decoder, alone = (ScoreField(values, offsets) for values in (alpha_opt, beta, context))
    return Optimum(alpha, with_decoder, alone, gap, np.array(sentence, dtype=np.int64))


@torch.no_grad()
def logits_of(model: Translator, split: PieceSplit) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
    """Of each sentence gamma (positions, outputs), gamma_s (words, outputs), both doubles, and the right words."""
    model.eval()
    weight, bias = model.readout.output.weight.double(), model.readout.output.bias
    for k in range(len(split)):
        batch = pair_batch(split, np.array([k]))
        encoded = model.encode(batch.source)
        d = model.decoder(batch.previous, None, embedding=model.embedding, initial=encoded.start).states[0]
        gamma = model.project(encoded.states)[0].double() @ weight.T
        gamma_s = d.double() @ weight.T
        yield gamma, gamma_s if bias is None else gamma_s + bias.double(), batch.target[0]


def few_outputs(gamma: Tensor, gamma_s: Tensor, gold: Tensor) -> tuple[Tensor, Tensor]:
    """The outputs (kept,) that can matter to any of a sentence's words, and where the right words are among them.

    Under any attention an output's logit lies between its least and its largest over positions. One whose largest is
    far below the best of the least ones never matters; the right words are kept.
    """
    most, least = gamma.amax(0) + gamma_s, gamma.amin(0) + gamma_s  # (words, outputs)
    matters = (most >= least.amax(1, keepdim=True) - FAR).any(0)
    matters[gold] = True
    kept = matters.nonzero().squeeze(1)
    return kept, torch.searchsorted(kept, gold)


def agreement_rows(optimum: Optimum) -> list[dict[str, Any]]:
    """A(alpha_opt, beta) with the decoder's term and without, as released, with intervals over sentences."""
    chance = float(random_baseline(optimum.alpha_opt.lengths).mean())
    table = []
    for name, beta in (("with the decoder's term", optimum.beta), ("without it, as released", optimum.context)):
        values = top_agreement(optimum.alpha_opt, beta).expected
        row = {"beta": name, "words": len(values), "value": float(values.mean())}
        row |= {**low_high(over_examples(values, optimum.sentence)), "chance": chance, "authors": 0.53}
        table.append(row)
    return table


def nothing_row(optimum: Optimum, little: float) -> dict[str, Any]:
    """How often the position of largest beta gets less than ``little`` of the optimal attention."""
    weight = np.array(
        [optimum.alpha_opt.row(k)[optimum.beta.row(k).argmax()] for k in range(len(optimum.alpha_opt))],
        dtype=np.float64,
    )
    nothing = (weight < little).astype(np.float64)
    return {
        "words": len(nothing),
        "value": float(nothing.mean()),
        **low_high(over_examples(nothing, optimum.sentence)),
        "mean_weight": float(weight.mean()),
        "largest_gap": float(optimum.gap.max()),
    }


def bleu_row(runs: PairRuns) -> dict[str, Any]:
    """BLEU of the linear network less that of the main one, both at their best evaluation of as many updates."""
    (linear,), (main,) = runs.of("linear"), runs.of("reference")
    last = min(steps_of(linear)[-1], steps_of(main)[-1])
    steps = [best_up_to(run, last) for run in (linear, main)]
    references = runs.texts["valid"].target.texts()
    ours, theirs = (
        sentence_counts(runs.translations(run, step), references)
        for run, step in zip((linear, main), steps, strict=True)
    )
    difference, interval = bleu_difference(ours, theirs)
    return {
        "linear": float(bleu_of(ours.sum(axis=0))),
        "main": float(bleu_of(theirs.sum(axis=0))),
        "difference": difference,
        **low_high(interval),
        "linear_step": steps[0],
        "main_step": steps[1],
        "up_to": last,
        "authors_linear": 38.2,
        "authors_main": 37.9,
    }


def best_up_to(run: Trained, last: int) -> int:
    """The first evaluation of highest validation accuracy within so many updates."""
    rows = [row for row in run.rows if row["step"] <= last]
    return int(max(rows, key=lambda row: row["accuracy"])["step"])

"""All score fields of a translator over sentence pairs, a row for each output word, in bounded memory.

    alpha_{t,l}    attention
    beta_{t,l}     the probability of the right word y_t if the network attends to position l alone (P3 2.2)
    delta_{t,l}    -d NLL_t / d g_l at g = 1, where the input is read with embeddings g_l e_{x_l} (P3 5.1)

Probing reads a pair as many times as it has words, and so does influence. Both are made cheap by what words share. The
wide output layer sees each pair of positions (t, l) once, without padding. And a word's gradient meets the others'
only below the attention: what the read-out and the attention pass on is worked out for all words at once, and only
the recurrences are read back once for each word, many pairs at a time.
"""

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from attnlab.data.batch import PairBatch
from attnlab.data.bitext import PieceSplit
from attnlab.data.piece_batches import sorted_batches
from attnlab.errors import UsageError
from attnlab.fields import ScoreField
from attnlab.models.products import product
from attnlab.models.recurrent import RecurrentState
from attnlab.models.translator import Encoded, Translator
from attnlab.probes.reading import Gathered, frozen

PAIRS = 64
"""Sentence pairs read at once."""
LOGITS = 1 << 21
"""About how many logits the output layer makes at once: 8 MB."""


@dataclass(frozen=True, eq=False)
class TranslationFields:
    """A row for each output word, end marks included, pair after pair.

    ``log_beta``: log beta. ``context_beta``: of a linear read-out the same without the decoder's term gamma_s, else
    None. ``delta``: None unless asked for. ``log_p`` (words,): log-probability of the right words; ``predicted``
    (words,): the likeliest ones. ``pair`` (words,): whose output each word is in. ``loss``: minus the mean of
    ``log_p``; ``accuracy``: share of words that are the likeliest.
    """

    alpha: ScoreField
    log_beta: ScoreField
    context_beta: ScoreField | None
    delta: ScoreField | None
    log_p: NDArray[np.float64]
    predicted: NDArray[np.int32]
    pair: NDArray[np.int32]
    loss: float
    accuracy: float


def translation_fields(
    model: Translator, split: PieceSplit, *, influence: bool = False, pairs: int = PAIRS
) -> TranslationFields:
    """All fields of ``split``'s pairs, ``pairs`` at a time; delta only if ``influence``."""
    if not len(split):
        raise UsageError("There are no sentence pairs to read.")
    names = ["alpha", "log_beta", *["context_beta"] * (model.readout.kind == "linear"), *["delta"] * influence]
    gathered = {name: Gathered() for name in names}
    words: dict[str, list[Tensor]] = {name: [] for name in ("log_p", "predicted", "right", "pair")}
    device = next(model.parameters()).device
    with frozen(model):
        for numbers, on_cpu in sorted_batches(split, pairs):
            rows, batch = torch.from_numpy(numbers), on_cpu.to(device)
            seen = read_fields(model, batch, influence=influence)
            for name in names:
                gathered[name].add(getattr(seen, name), rows, batch)
            there = (batch.labels >= 0).cpu()
            for name, values in (("log_p", seen.log_p), ("predicted", seen.predicted), ("right", batch.target)):
                words[name].append(values.cpu()[there])
            words["pair"].append(rows.repeat_interleave(there.sum(1)))
    joined = {name: torch.cat(parts) for name, parts in words.items()}
    order = joined["pair"].argsort(stable=True)
    log_p, predicted, right, pair = (joined[name][order] for name in ("log_p", "predicted", "right", "pair"))
    fields = {name: one.field() for name, one in gathered.items()}
    return TranslationFields(
        fields["alpha"],
        fields["log_beta"],
        fields.get("context_beta"),
        fields.get("delta"),
        log_p.double().numpy(),
        predicted.int().numpy(),
        pair.int().numpy(),
        loss=-float(log_p.double().mean()),
        accuracy=float((predicted == right).double().mean()),
    )


@dataclass(frozen=True)
class BatchFields:
    """What `translation_fields` gathers, of one batch: fields (batch, target, source), words (batch, target)."""

    alpha: Tensor
    log_beta: Tensor
    context_beta: Tensor | None
    delta: Tensor | None
    log_p: Tensor
    predicted: Tensor


def read_fields(model: Translator, batch: PairBatch, *, influence: bool) -> BatchFields:
    """The fields of one batch; ``model`` is frozen (`attnlab.probes.reading.frozen`)."""
    gates = torch.ones(batch.source.shape, dtype=model.embedding.dtype, device=model.embedding.device)
    with torch.set_grad_enabled(influence):
        encoded = model.encode(batch.source, batch.source_lengths, gates=gates.requires_grad_() if influence else None)
        start = _leaf(encoded.start) if influence else encoded.start
        d = model.decoder(batch.previous, batch.target_lengths, embedding=model.embedding, initial=start).states
    with torch.no_grad():
        queries = model.query(d)
        alpha = model.attend(queries, encoded)
        there = (batch.labels >= 0).flatten().nonzero().squeeze(1)
        context = torch.bmm(alpha, encoded.states)
        words = _Words(model, context.flatten(0, 1)[there], d.flatten(0, 1)[there], batch.target.flatten()[there])
        padded = batch.target.new_zeros(batch.target.numel())
        log_beta, context_beta = _probe(model, encoded, d, batch)
    delta = None
    if influence:
        delta = _influence(model, encoded, start, (queries, alpha, d), words, there, gates)
    return BatchFields(
        alpha,
        log_beta,
        context_beta,
        delta,
        words.log_p.new_zeros(padded.shape).index_copy(0, there, words.log_p).view(batch.target.shape),
        padded.index_copy(0, there, words.predicted).view(batch.target.shape),
    )


class _Words:
    """Output words that are there: ``log_p``, ``predicted`` (rows,), and the gradient of each one's own NLL to its
    context sum_l alpha h_l, ``to_context`` (rows, 2 * hidden), and to its decoder state, ``to_state`` (rows, hidden).
    """

    def __init__(self, model: Translator, context: Tensor, state: Tensor, right: Tensor) -> None:
        self.context, self.state = context.detach().requires_grad_(), state.detach().requires_grad_()
        with torch.enable_grad():
            features = model.readout.features(model.project(self.context), self.state)
        logits = model.readout.output(features.detach())
        self.predicted = logits.argmax(1)
        picked = logits.gather(1, right[:, None])
        largest = logits.amax(1, keepdim=True)
        table = logits.sub_(largest).exp_()
        total = table.sum(1, keepdim=True)
        self.log_p = (picked - largest - total.log()).squeeze(1)
        of_logits = table.div_(total).scatter_add_(1, right[:, None], -torch.ones_like(total))
        self._features, self._of_features = features, product(of_logits, model.readout.output.weight.t())

    def gradients(self) -> tuple[Tensor, Tensor]:
        to_context, to_state = torch.autograd.grad(
            self._features, (self.context, self.state), self._of_features, allow_unused=True
        )
        return to_context, torch.zeros_like(self.state) if to_state is None else to_state


def _probe(model: Translator, encoded: Encoded, d: Tensor, batch: PairBatch) -> tuple[Tensor, Tensor | None]:
    """log beta (batch, target, source), and of a linear read-out without gamma_s; 0 where there is no word."""
    focused = model.project(encoded.states)  # (batch, source, context)
    inside = (batch.labels >= 0)[:, :, None] & batch.inside[:, None, :]  # (batch, target, source)
    pair, t, position = inside.nonzero().unbind(1)
    right, values = batch.target[pair, t], focused.new_empty(len(pair))
    output = model.readout.output
    step = max(1, LOGITS // model.words)
    for first in range(0, len(pair), step):
        part = slice(first, first + step)
        features = model.readout.features(focused[pair[part], position[part]], d[pair[part], t[part]])
        values[part] = _log_p(output(features), right[part])
    log_beta = focused.new_zeros(inside.shape)
    log_beta[inside] = values
    if model.readout.kind != "linear":
        return log_beta, None
    context_beta = torch.stack(
        [output(h).log_softmax(1).t()[y] for h, y in zip(focused, batch.target, strict=True)]
    )  # each (target, source)
    return log_beta, context_beta


def _log_p(logits: Tensor, right: Tensor) -> Tensor:
    """log softmax(logits) (rows, words) at the right words (rows,); the logits are overwritten."""
    picked = logits.gather(1, right[:, None])
    largest = logits.amax(1, keepdim=True)
    total = logits.sub_(largest).exp_().sum(1, keepdim=True)
    return (picked - largest - total.log()).squeeze(1)


def _influence(
    model: Translator,
    encoded: Encoded,
    start: RecurrentState,
    attended: tuple[Tensor, Tensor, Tensor],
    words: _Words,
    there: Tensor,
    gates: Tensor,
) -> Tensor:
    """delta (batch, target, source); ``attended``: queries, alpha and d."""
    queries, alpha, d = attended
    batch, target, _ = alpha.shape
    h = encoded.states

    def of_words(rows: Tensor) -> Tensor:
        """(batch, target, ...), 0 where there is no word."""
        return rows.new_zeros(batch * target, rows.shape[1]).index_copy(0, there, rows).view(batch, target, -1)

    with torch.no_grad():
        to_context, to_state = (of_words(rows) for rows in words.gradients())
        to_alpha = torch.bmm(to_context, h.transpose(1, 2))
        to_score = alpha * (to_alpha - (alpha * to_alpha).sum(-1, keepdim=True))
        if model.mode == "learned":
            to_state = to_state + torch.bmm(to_score, h) @ model.query.weight
        else:
            to_score = torch.zeros_like(to_score)
    deltas = []
    for t in range(target):
        # What word t alone passes on: to each h_l by its context and its score, and to the decoder's first state.
        to_h = alpha[:, t, :, None] * to_context[:, t, None] + to_score[:, t, :, None] * queries[:, t, None]
        only_t = torch.zeros_like(to_state)
        only_t[:, t] = to_state[:, t]
        assert start.cell is not None
        assert encoded.start.cell is not None
        to_start = torch.autograd.grad(d, (start.hidden, start.cell), only_t, retain_graph=True)
        (to_gates,) = torch.autograd.grad(
            (h, encoded.start.hidden, encoded.start.cell), gates, (to_h, *to_start), retain_graph=True
        )
        deltas.append(-to_gates)
    return torch.stack(deltas, 1)


def _leaf(state: RecurrentState) -> RecurrentState:
    assert state.cell is not None
    return RecurrentState(state.hidden.detach().requires_grad_(), state.cell.detach().requires_grad_())

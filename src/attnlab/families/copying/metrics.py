"""What is measured at an evaluation of a sequence-to-sequence run."""

import torch
from torch import Tensor

from attnlab.data.batch import PairBatch
from attnlab.measures.profile import PROFILE
from attnlab.measures.top import top_share
from attnlab.models.seq2seq import Prediction
from attnlab.protocols import Row

BEST_HEAD = "attention_best_head"


def pair_metrics(prediction: Prediction, batch: PairBatch) -> Row:
    """Averages over all output words of the batch.

    ``loss``: -log p(y_t). ``accuracy``: share of words whose most likely output is right. ``attention_entropy``: in
    nats, the heads' mean. Where the task knows the right input position of every output word also:
    ``attention_accuracy``, ``attention_one_before``, ``attention_one_after``: share of output words whose largest
    attention (mean over heads) is there, or one position to either side; ``probe_accuracy``: the same for the lexical
    probe beta; ``attention_mean`` and ``probe_mean``: mean alpha and mean beta at the right position;
    ``attention_-4`` to ``attention_+4``: mean alpha so many positions before or after it, 0 beyond the ends;
    ``probe_entropy``: in nats, of beta by its sum over positions. Of a network of several heads also
    ``attention_best_head``: ``attention_accuracy`` of the one head that has the highest.
    """
    inside = _inside(batch)
    chosen = prediction.log_probabilities.gather(-1, batch.target.unsqueeze(-1)).squeeze(-1)  # (batch, target)
    right = prediction.log_probabilities.argmax(-1) == batch.target
    entropy = torch.special.entr(prediction.attention).sum(-1).mean(1)  # (batch, target)
    measured = {"loss": -chosen, "accuracy": right, "attention_entropy": entropy}
    if batch.position is not None:
        alpha, position = prediction.alpha, batch.position
        measured["attention_accuracy"] = top_share(alpha, position)
        measured["attention_one_before"] = top_share(alpha, position - 1)
        measured["attention_one_after"] = top_share(alpha, position + 1)
        at = position.expand(alpha.shape[:2]).unsqueeze(-1)
        for distance, name in sorted(PROFILE.items(), key=lambda one: one[0] != 0):  # the right position first
            place = at + distance
            inside_source = (place >= 0) & (place < alpha.shape[-1])
            shifted = alpha.gather(-1, place.clamp(0, alpha.shape[-1] - 1)) * inside_source
            measured[name] = shifted.squeeze(-1)
        if prediction.lexical is not None:
            measured["probe_accuracy"] = top_share(prediction.lexical, position)
            measured["probe_mean"] = prediction.lexical.gather(-1, at).squeeze(-1).exp()
            measured["probe_entropy"] = torch.special.entr(prediction.lexical.softmax(-1)).sum(-1)
    row = {name: float(values[inside].double().mean()) for name, values in measured.items()}
    if batch.position is not None and (heads := prediction.attention.unbind(1))[1:]:
        each = [top_share(head, batch.position)[inside].mean() for head in heads]
        row[BEST_HEAD] = float(max(each))
    return row


def _inside(batch: PairBatch) -> Tensor:
    """Which output positions count: (batch, target)."""
    if batch.target_lengths is None:
        return torch.ones_like(batch.target, dtype=torch.bool)
    return torch.arange(batch.target.shape[1], device=batch.target.device) < batch.target_lengths[:, None]

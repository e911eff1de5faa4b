"""Trained networks with several heads pruned to one of them: how well does each do alone?"""

from dataclasses import dataclass

import torch

from attnlab.data.batch import PairBatch
from attnlab.families.copying.metrics import pair_metrics
from attnlab.models.seq2seq import Seq2Seq, pruned


@dataclass(frozen=True)
class Pruned:
    """Accuracies of a network whole and with one head left, on fresh sequences.

    ``alone[k]``: with head k, its context as large as what it contributed. ``for_all[k]``: as large as if all heads had
    been copies of it. ``best``: the head and the size of context that do best on sequences of their own.
    """

    whole: float
    alone: list[float]
    for_all: list[float]
    best_head: int
    best_for_all: bool

    @property
    def best(self) -> float:
        """The accuracy with the best head."""
        return (self.for_all if self.best_for_all else self.alone)[self.best_head]


def prune(network: Seq2Seq, choosing: PairBatch, measuring: PairBatch) -> Pruned:
    """Prune ``network`` to each of its heads, choose the best on one batch and measure all on the other."""
    heads = network.attention.heads
    networks = {(k, for_all): pruned(network, k, for_all=for_all) for k in range(heads) for for_all in (False, True)}
    chosen = {key: _accuracy(one, choosing) for key, one in networks.items()}
    measured = {key: _accuracy(one, measuring) for key, one in networks.items()}
    best_head, best_for_all = max(chosen, key=lambda key: chosen[key])
    return Pruned(
        _accuracy(network, measuring),
        [measured[k, False] for k in range(heads)],
        [measured[k, True] for k in range(heads)],
        best_head,
        best_for_all,
    )


@torch.no_grad()
def _accuracy(network: Seq2Seq, batch: PairBatch) -> float:
    network.eval()
    return pair_metrics(network(batch.source, batch.previous), batch)["accuracy"]

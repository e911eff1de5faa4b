import pytest
import torch

from attnlab.families.copying.pruning import prune
from attnlab.families.copying.task import CopyingTask, Permutations
from attnlab.models.seq2seq import Seq2Seq
from attnlab.seeds import numpy_generator


def batches(seed=0):
    task = CopyingTask(Permutations(5))
    return [task.batch(20, numpy_generator(seed, "test", part)) for part in (0, 1)]


def accuracy(network, batch):
    with torch.no_grad():
        chosen = network(batch.source, batch.previous).log_probabilities.argmax(-1)
    return (chosen == batch.target).double().mean().item()


def test_heads_that_are_copies_do_as_well_alone_for_all():
    network = Seq2Seq(7, 7, hidden=8, heads=3, projected_context=True, combine="mean", seed=3)
    with torch.no_grad():
        for values in (network.attention.weight, network.attention.projection):
            for k in (1, 2):
                values[k].copy_(values[0])
    result = prune(network, *batches())
    assert result.for_all == [pytest.approx(result.whole)] * 3
    assert result.whole == pytest.approx(accuracy(network, batches()[1]))
    assert result.best == (result.for_all if result.best_for_all else result.alone)[result.best_head]


def test_the_best_head_is_chosen_on_one_batch_and_measured_on_the_other():
    network = Seq2Seq(7, 7, hidden=8, heads=4, seed=5)
    choosing, measuring = batches()
    ours, theirs = prune(network, choosing, measuring), prune(network, choosing, choosing)
    assert (ours.best_head, ours.best_for_all) == (theirs.best_head, theirs.best_for_all)
    assert theirs.best == max(*theirs.alone, *theirs.for_all)
    assert ours.whole == pytest.approx(accuracy(network, measuring))

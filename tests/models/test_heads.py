"""Single heads left alone; heads that are not there are refused."""

import pytest
import torch

from attnlab.errors import UsageError
from attnlab.models.seq2seq import Seq2Seq, pruned

WORDS = torch.tensor([[0, 1, 2, 3, 4], [4, 2, 0, 1, 3]])
VARIANTS = {
    "released": {"cell": "gru", "shared_embedding": False, "projected_context": True, "combine": "mean"},
    "text": {},
}


def make(heads=3, hidden=8, seed=1, **changes):
    return Seq2Seq(7, 7, hidden=hidden, heads=heads, seed=seed, **changes)


def says(network):
    with torch.no_grad():
        return network(WORDS, WORDS).log_probabilities


@torch.no_grad()
def copy_head(taker, to, giver, k):
    """Give head ``to`` of one network the values of head ``k`` of another."""
    for name in ("weight", "projection"):
        parameters = getattr(taker.attention, name)
        if parameters is not None:
            parameters[to].copy_(getattr(giver.attention, name)[k])


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_network_whose_heads_are_copies_says_the_same_with_one_of_them_for_all(variant):
    network = make(**VARIANTS[variant])
    for k in (0, 1):
        copy_head(network, k, network, 2)
    torch.testing.assert_close(says(pruned(network, 1, for_all=True)), says(network), atol=1e-6, rtol=0)


def test_a_head_alone_says_what_is_left_when_the_others_are_silent():
    network = make(**VARIANTS["released"])
    left = says(pruned(network, 2, for_all=False))
    with torch.no_grad():
        for k in (0, 1):
            network.attention.projection[k].zero_()
    torch.testing.assert_close(left, says(network), atol=1e-6, rtol=0)


def test_a_summed_head_alone_is_a_network_of_one_head():
    network, single = make(), make(heads=1)
    copy_head(single, 0, network, 1)  # both have the body of seed 1
    torch.testing.assert_close(says(pruned(network, 1, for_all=False)), says(single), atol=1e-6, rtol=0)


def test_pruning_leaves_the_network_as_it_is():
    network = make(**VARIANTS["released"])
    before = says(network)
    pruned(network, 0, for_all=False)
    assert torch.equal(says(network), before)


@pytest.mark.parametrize("k", [-1, 3])
def test_a_head_that_the_network_does_not_have_is_refused(k):
    with pytest.raises(UsageError, match=f"from 0 to 2; there is no {k}"):
        pruned(make(), k, for_all=True)


def test_what_has_no_heads_or_no_hidden_layer_is_refused():
    with pytest.raises(UsageError, match="Plain dot attention"):
        pruned(make(heads=1, score="dot"), 0, for_all=True)
    with pytest.raises(UsageError, match="tanh or relu, not linear"):
        pruned(make(readout="linear"), 0, for_all=True)

"""Single heads: taken, kept, placed and left alone; heads that do not fit are refused."""

import copy

import pytest
import safetensors.torch
import torch

from attnlab.errors import UsageError
from attnlab.models.heads import Head, head_of, load_head, place_head, pruned, save_head
from attnlab.models.seq2seq import Seq2Seq

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


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_head_goes_through_a_file_into_another_network(variant, tmp_path):
    giver, taker = (make(seed=seed, **VARIANTS[variant]) for seed in (1, 2))
    before = copy.deepcopy(taker.state_dict())
    save_head(tmp_path / "head.safetensors", head_of(giver, 2))
    place_head(taker, 0, load_head(tmp_path / "head.safetensors"))
    after, given = taker.state_dict(), giver.state_dict()
    for name, value in after.items():
        if name in ("attention.weight.0", "attention.projection.0"):
            assert torch.equal(value, given[name.replace(".0", ".2")])
        else:
            assert torch.equal(value, before[name])


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_network_whose_heads_are_copies_says_the_same_with_one_of_them_for_all(variant):
    network = make(**VARIANTS[variant])
    for k in (0, 1):
        place_head(network, k, head_of(network, 2))
    torch.testing.assert_close(says(pruned(network, 1, for_all=True)), says(network), atol=1e-6, rtol=0)


def test_a_head_alone_says_what_is_left_when_the_others_are_silent():
    network = make(**VARIANTS["released"])
    left = says(pruned(network, 2, for_all=False))
    silent = Head(head_of(network, 0).weight, torch.zeros(8, 8))
    for k in (0, 1):
        place_head(network, k, silent)
    torch.testing.assert_close(left, says(network), atol=1e-6, rtol=0)


def test_a_summed_head_alone_is_a_network_of_one_head():
    network, single = make(), make(heads=1)
    place_head(single, 0, head_of(network, 1))  # both have the body of seed 1
    torch.testing.assert_close(says(pruned(network, 1, for_all=False)), says(single), atol=1e-6, rtol=0)


def test_pruning_leaves_the_network_as_it_is():
    network = make(**VARIANTS["released"])
    before = says(network)
    pruned(network, 0, for_all=False)
    assert torch.equal(says(network), before)


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"hidden": 6, **VARIANTS["released"]}, "a weight of 6 x 6 .* 6 x 6, but the network's heads have .* 8 x 8"),
        ({}, "no projection, but the network's heads have a weight of 8 x 8 and a projection of 8 x 8"),
    ],
)
def test_a_head_file_of_another_width_is_refused_and_changes_nothing(changes, named, tmp_path):
    save_head(tmp_path / "head.safetensors", head_of(make(**changes), 0))
    network = make(**VARIANTS["released"])
    before = says(network)
    with pytest.raises(UsageError, match=named) as caught:
        place_head(network, 0, load_head(tmp_path / "head.safetensors"))
    assert "\n" not in str(caught.value)
    assert torch.equal(says(network), before)


@pytest.mark.parametrize(
    ("tensors", "named"),
    [
        ({"wait": torch.zeros(2, 2)}, "it holds wait"),
        ({"weight": torch.zeros(4)}, "a matrix weight"),
        ({"weight": torch.zeros(2, 2), "bias": torch.zeros(2, 2)}, "it holds bias, weight"),
        ({}, "it holds nothing"),
    ],
)
def test_a_file_that_is_no_head_is_refused(tensors, named, tmp_path):
    path = tmp_path / "head.safetensors"
    path.write_bytes(safetensors.torch.save(tensors))
    with pytest.raises(UsageError, match=named):
        load_head(path)


def test_a_file_that_is_not_there_or_not_safetensors_is_refused(tmp_path):
    with pytest.raises(UsageError, match="There is no file"):
        load_head(tmp_path / "head.safetensors")
    (tmp_path / "text").write_bytes(b"no tensors here")
    with pytest.raises(UsageError, match="is no head"):
        load_head(tmp_path / "text")


@pytest.mark.parametrize("k", [-1, 3])
def test_a_head_that_the_network_does_not_have_is_refused(k):
    with pytest.raises(UsageError, match=f"from 0 to 2; there is no {k}"):
        head_of(make(), k)


def test_what_has_no_heads_or_no_hidden_layer_is_refused():
    with pytest.raises(UsageError, match="Plain dot attention"):
        head_of(make(heads=1, score="dot"), 0)
    with pytest.raises(UsageError, match="tanh or relu, not linear"):
        pruned(make(readout="linear"), 0, for_all=True)

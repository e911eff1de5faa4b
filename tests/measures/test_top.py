"""Hits at the right position, ties shared."""

import torch

from attnlab.measures.top import top_share


def test_uniform_attention_scores_one_over_length():
    field = torch.full((2, 5, 5), 0.2)
    assert torch.allclose(top_share(field, torch.arange(5)), torch.tensor(0.2, dtype=torch.float64))
    assert (top_share(field, torch.arange(5) + 1)[:, -1] == 0).all(), "a position behind the input counts as a hit"


def test_a_right_position_for_each_example():
    field = torch.tensor([[[0.1, 0.7, 0.2]], [[0.4, 0.4, 0.2]]])
    assert top_share(field, torch.tensor([[1], [0]])).tolist() == [[1.0], [0.5]]

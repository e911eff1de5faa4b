"""Metrics on predictions whose values are known."""

from math import log

import pytest
import torch

from attnlab.data.batch import PairBatch
from attnlab.families.copying.metrics import pair_metrics
from attnlab.measures.profile import PROFILE
from attnlab.models.seq2seq import Prediction


def batch_of(target, position=None, target_lengths=None):
    return PairBatch(source=target, previous=target, target=target, position=position, target_lengths=target_lengths)


def test_values_worked_out_by_hand():
    # One example, three output words, three input positions, four symbols.
    p = torch.tensor([[[0.7, 0.1, 0.1, 0.1], [0.2, 0.5, 0.2, 0.1], [0.4, 0.3, 0.2, 0.1]]])
    alpha = torch.tensor([[[1.0, 0.0, 0.0], [0.5, 0.25, 0.25], [0.1, 0.8, 0.1]]])
    beta = torch.tensor([[[0.9, 0.1, 0.1], [0.1, 0.3, 0.2], [0.2, 0.2, 0.2]]])
    seen = Prediction(p.log(), alpha.unsqueeze(1), beta.log())
    row = pair_metrics(seen, batch_of(torch.tensor([[0, 1, 2]]), torch.tensor([0, 1, 2])))
    assert row["loss"] == pytest.approx(-(log(0.7) + log(0.5) + log(0.2)) / 3)
    assert row["accuracy"] == pytest.approx(2 / 3)
    assert row["attention_accuracy"] == pytest.approx(1 / 3)
    assert row["attention_one_before"] == pytest.approx(2 / 3)
    assert row["attention_one_after"] == pytest.approx(0)
    assert row["probe_accuracy"] == pytest.approx((1 + 1 + 1 / 3) / 3)
    assert row["probe_mean"] == pytest.approx((0.9 + 0.3 + 0.2) / 3)
    assert row["attention_mean"] == pytest.approx((1.0 + 0.25 + 0.1) / 3)
    # Word 0 looks at position 0, its own; word 1 half at the one before; word 2 mostly there.
    assert row["attention_-1"] == pytest.approx((0 + 0.5 + 0.8) / 3)
    assert row["attention_-2"] == pytest.approx((0 + 0 + 0.1) / 3)
    assert row["attention_+1"] == pytest.approx((0.0 + 0.25 + 0) / 3)
    assert row["attention_+2"] == pytest.approx(0)
    assert row["attention_-4"] == row["attention_+4"] == 0
    assert sum(row[name] for name in PROFILE.values()) == pytest.approx(1)
    relevances = [[9 / 11, 1 / 11, 1 / 11], [1 / 6, 1 / 2, 1 / 3], [1 / 3] * 3]
    assert row["probe_entropy"] == pytest.approx(-sum(p * log(p) for line in relevances for p in line) / 3)
    entropies = [0, 0.5 * log(2) + 0.5 * log(4), -0.8 * log(0.8) - 0.2 * log(0.1)]
    assert row["attention_entropy"] == pytest.approx(sum(entropies) / 3)


def test_words_behind_the_end_do_not_count():
    log_p = torch.log(torch.tensor([[[0.9, 0.1], [0.1, 0.9]]]))
    seen = Prediction(log_p, torch.full((1, 1, 2, 2), 0.5), None)
    row = pair_metrics(seen, batch_of(torch.tensor([[0, 0]]), target_lengths=torch.tensor([1])))
    assert row["accuracy"] == 1
    assert row["loss"] == pytest.approx(-log(0.9))
    assert "attention_accuracy" not in row

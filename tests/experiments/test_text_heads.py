"""The text's own heads: what is run, and how learning by attention is told from learning without."""

import pytest
import torch
from tests.experiments.test_multihead import by_heads, good_by_seed, trained

from attnlab.data.batch import PairBatch
from attnlab.experiments.multihead.heads import TEXT
from attnlab.experiments.text_heads.experiment import TextHeads, attending_once_learned
from attnlab.families.copying.metrics import BEST_HEAD, pair_metrics
from attnlab.lab.claims import load_claims
from attnlab.lab.experiment import Order
from attnlab.models.seq2seq import Prediction


def settle(order, best_head):
    """Plan and "train" until nothing new is asked for; ``best_head``: what the best head of a network has."""
    experiment, done = TextHeads(), {}
    while True:
        jobs = experiment.plan(order, done)
        done = {}
        for job in jobs:
            good = any(good_by_seed(head, job.spec.data_seed) for head in job.spec.model.head_seeds)
            run = trained(job, 60 if good else None)
            for row in run.rows:
                row[BEST_HEAD] = best_head
            done[job.spec.id] = run
        if experiment.plan(order, done) == jobs:
            return jobs, done


def test_it_trains_ten_networks_of_each_kind_from_the_text_alone():
    jobs, _ = settle(Order("reduced"), 1.0)
    assert {job.spec.model.cell for job in jobs} == {"lstm"}
    eights = by_heads(jobs, TEXT, 8)
    assert len(eights) == 30
    assert all(job.schedule.stop_at is None for job in eights)
    goods = [sum(head % 3 == 0 for head in job.spec.model.head_seeds) for job in eights[:20]]
    assert goods == [0] * 10 + [1] * 10


@pytest.mark.parametrize(("best_head", "verdict"), [(0.9, "holds"), (0.5, "fails"), (0.03, "fails")])
def test_networks_that_learn_without_a_head_that_attends_are_told_apart(best_head, verdict):
    _, done = settle(Order("reduced"), best_head)
    result = TextHeads().analyse(Order("reduced"), done)
    parts = {finding.claim: finding.parts for finding in result.findings}
    assert set(parts) == {claim.id for claim in load_claims() if "text-heads" in claim.experiments}
    assert [part.verdict for part in parts["heads-all-bad"]] == ["holds"]
    assert [part.verdict for part in parts["heads-one-good"]] == ["holds"]
    bad, random = parts["heads-learn-by-attention"]
    assert (bad.verdict, random.verdict) == (verdict, verdict)
    assert bad.detail.startswith("10 of 10" if verdict == "holds" else "0 of 10")
    assert bad.detail in result.summary
    assert any(note.startswith("reduced: 10 bad and 4 good") for note in result.notes)


def test_only_what_has_learned_counts_and_at_its_last_evaluation_in_time():
    def curve(seed, accuracy, *best):
        return [
            {"seed": seed, "step": step, "accuracy": accuracy, BEST_HEAD: value}
            for step, value in zip((190, 200, 300), best, strict=True)
        ]

    rows = curve(0, 0.99, 0.1, 0.9, 0.1) + curve(1, 0.9, 0.9, 0.9, 0.9) + curve(2, 0.99, 0.9, 0.1, 0.9)
    assert attending_once_learned(rows) == [True, False]


def test_few_networks_that_learn_decide_nothing():
    _, done = settle(Order("reduced", 2), 1.0)
    result = TextHeads().analyse(Order("reduced", 2), done)
    parts = next(finding.parts for finding in result.findings if finding.claim == "heads-learn-by-attention")
    assert {part.verdict for part in parts} == {"undecided"}


# --- the measure


def test_the_best_head_is_the_one_that_is_right_most_often_whatever_the_mean_says():
    attention = torch.tensor(
        [
            [[[0.6, 0.4, 0.0], [0.4, 0.6, 0.0]], [[0.0, 0.1, 0.9], [0.0, 0.1, 0.9]]],  # right twice; never
            [[[0.6, 0.4, 0.0], [0.9, 0.1, 0.0]], [[0.0, 0.1, 0.9], [0.1, 0.9, 0.0]]],  # right once; once
        ]
    )  # (batch, heads, target, source)
    source, target = (torch.zeros(2, length, dtype=torch.long) for length in (3, 2))
    batch = PairBatch(source, target, target, position=torch.tensor([0, 1]))
    seen = Prediction(torch.zeros(2, 2, 4).log_softmax(-1), attention, None)
    row = pair_metrics(seen, batch)
    assert row[BEST_HEAD] == 0.75
    assert row["attention_accuracy"] == 0.125  # of the mean: wrong three times, and once a tie of two positions
    alone = pair_metrics(Prediction(seen.log_probabilities, attention[:, :1], None), batch)
    assert BEST_HEAD not in alone

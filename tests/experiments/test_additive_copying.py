"""Additive copying: the network's relevances add up, its plan, and verdicts on runs whose answer is known."""

import pytest
import torch
from tests.lab.ended import after, group, trained, verdicts

from attnlab.experiments.additive_copying.experiment import (
    PERMUTATIONS,
    SELECTIONS,
    SIMPLIFIED,
    AdditiveCopying,
)
from attnlab.lab.claims import load_claims
from attnlab.lab.experiment import Order
from attnlab.lab.outcomes import Outcome
from attnlab.runs.loop import Trained


def test_logits_are_the_attention_weighted_sum_of_relevances_word_by_word():
    """y_{t,o} = sum_l a_{tl} r_{o,l}, a the softmax of h_l^T d_t, r = W h: from states alone, with loops."""
    network = SIMPLIFIED.model_copy(update={"hidden": 6}).build(7, 7, seed=3).double()
    source, previous = torch.tensor([[2, 0, 5, 6]]), torch.tensor([[6, 2, 0]])
    with torch.no_grad():
        network.readout.output.weight.mul_(20)  # so that no sum is near 0
        seen = network(source, previous, targets=torch.tensor([[1, 4, 5]]))
        encoded = network.encoder(source, None, embedding=network.source_embedding)
        d = network.decoder(previous, None, embedding=network.target_embedding, initial=encoded.final).states[0]
        h, w = encoded.states[0], network.readout.output.weight.detach()
    for t, right in enumerate((1, 4, 5)):
        scores = [float((h[place] * d[t]).sum()) for place in range(4)]
        powers = [torch.tensor(score, dtype=torch.float64).exp() for score in scores]
        logits = []
        for word in range(7):
            relevances = [sum(float(w[word, k] * h[place, k]) for k in range(6)) for place in range(4)]
            logits.append(sum(float(power / sum(powers)) * r for power, r in zip(powers, relevances, strict=True)))
        expected = torch.tensor(logits, dtype=torch.float64).log_softmax(0)
        assert torch.allclose(seen.log_probabilities[0, t], expected, atol=1e-9)
        for place in range(4):
            relevance = torch.stack([(w[word] * h[place]).sum() for word in range(7)])
            assert float(seen.lexical[0, t, place]) == pytest.approx(float(relevance.log_softmax(0)[right]), abs=1e-9)


def test_runs_are_the_slides_network_on_the_papers_tasks():
    jobs = AdditiveCopying().plan(Order("paper"), {})
    assert len({job.spec.id for job in jobs}) == len(jobs) == 40
    assert {(job.spec.model.score, job.spec.model.readout, job.spec.model.hidden) for job in jobs} == {
        ("dot", "context", 256)
    }
    assert {job.schedule.steps for job in jobs} == {400}
    assert {job.schedule.steps for job in AdditiveCopying().plan(Order("reduced"), {})} == {200}


@pytest.mark.parametrize(
    ("selections", "permutations", "learn", "harder"),
    [
        ([60] * 20, [None] * 20, "holds", "holds"),
        ([60] * 20, [60] * 20, "holds", "undecided"),
        ([60] * 19 + [None], [None] * 20, "fails", "holds"),
        ([None] * 20, [60] * 20, "fails", "fails"),
        ([60] * 5, [None] * 2, "undecided", "holds"),
        ([], [], "undecided", "undecided"),
    ],
)
def test_verdicts_follow_who_learns(selections, permutations, learn, harder):
    outcomes = group(SELECTIONS, selections) + group(PERMUTATIONS, permutations)
    whole, _ = verdicts(after(AdditiveCopying(), outcomes))
    assert (whole["additive-selections-learn"], whole["additive-permutations-harder"]) == (learn, harder)


def pointing(setting, seed, relevance, attention, last=100):
    """A run whose two fields get to the right position at these steps."""
    rows = [
        {
            "step": step,
            "accuracy": 0.1,
            "probe_accuracy": 0.5 if relevance is not None and step >= relevance else 0.4,
            "attention_accuracy": 0.9 if attention is not None and step >= attention else 0.1,
        }
        for step in range(0, last + 1, 10)
    ]
    return Outcome(setting.name, seed, Trained(f"{seed:016x}", rows, last), setting.spec(seed))


@pytest.mark.parametrize(
    ("relevance", "attention", "leads", "verdict"),
    [(20, 40, 20, "holds"), (40, 20, -20, "fails"), (20, None, 80, "holds"), (None, None, None, "undecided")],
)
def test_which_comes_first_is_by_half_of_the_words(relevance, attention, leads, verdict):
    runs = [pointing(one, seed, relevance, attention) for one in (SELECTIONS, PERMUTATIONS) for seed in range(6)]
    assert runs[0].reached("probe_accuracy") == relevance
    assert runs[0].lead("probe_accuracy", "attention_accuracy") == leads
    whole, parts = verdicts(after(AdditiveCopying(), runs))
    assert whole["additive-relevance-first"] == verdict
    assert parts["additive-relevance-first", SELECTIONS.name].effect == leads
    few, _ = verdicts(after(AdditiveCopying(), runs[:4]))
    assert few["additive-relevance-first"] == "undecided"


def test_analyse_makes_a_whole_result_that_decides_nothing_at_quick():
    experiment, order = AdditiveCopying(), Order("quick")
    done = {}
    for job in experiment.plan(order, {}):
        rows = trained(40 if job.label.startswith("40") else None, last=job.schedule.steps).rows
        done[job.spec.id] = Trained(job.spec.id, rows, int(rows[-1]["step"]))
    result = experiment.analyse(order, done)
    assert {finding.claim: finding.verdict for finding in result.findings} == {
        claim.id: "undecided" for claim in load_claims() if "additive-copying" in claim.experiments
    }
    assert [(row["setting"], row["learned"]) for row in result.tables["success"]] == [
        (PERMUTATIONS.name, 0),
        (SELECTIONS.name, 2),
    ]
    assert set(result.figures) == {"curves", "knowledge"}
    assert "40 of 60: 2 of 2 runs learned within 50 updates" in result.summary

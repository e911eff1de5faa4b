"""A translator's optimal attention: logits as the network has them, outputs that cannot matter, tables and verdicts."""

import numpy as np
import pytest
import torch
from tests.experiments.translating import little_corpora
from tests.pairs_in_pieces import drawn_split

from attnlab.experiments.bitexts.corpora import PairRuns, pair_setting
from attnlab.experiments.optimal_attention import experiment as module
from attnlab.experiments.optimal_attention import real
from attnlab.experiments.optimal_attention.experiment import OptimalAttentionExperiment, measure_translator
from attnlab.experiments.optimal_attention.real import few_outputs, logits_of, nothing_row, optimum_of
from attnlab.fields import ScoreField
from attnlab.lab.experiment import Order, Record
from attnlab.lab.outcomes import Outcome, Runs
from attnlab.models.translator import Translator
from attnlab.probes.optimal_attention import attention_loss, optimal_attention
from attnlab.probes.translation import translation_fields
from attnlab.runs.loop import Trained, train
from attnlab.runs.store import RunStore

WORDS = 40
SPLIT = drawn_split([(5, 4), (3, 6), (7, 2)], WORDS, seed=1)


@pytest.fixture(scope="module")
def network():
    """A small linear network with large weights, so that positions differ in what they say."""
    model = Translator(WORDS, hidden=8, readout="linear", seed=3)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(3)
    return model.eval()


def test_beta_is_the_networks(network):
    found, fields = optimum_of(network, SPLIT, 1e-6), translation_fields(network, SPLIT)
    for ours, theirs in ((found.beta, fields.log_beta), (found.context, fields.context_beta)):
        np.testing.assert_allclose(torch.sigmoid(torch.from_numpy(ours.values)).log(), theirs.values, atol=1e-4)
    assert found.sentence.tolist() == fields.pair.tolist()


def test_no_attention_is_better_than_the_optimum(network):
    found, fields = optimum_of(network, SPLIT, 1e-6), translation_fields(network, SPLIT)
    word = 0
    for gamma, gamma_s, gold in logits_of(network, SPLIT):
        for t in range(len(gold)):
            one = gamma[None], gold[t : t + 1], gamma_s[t : t + 1]
            best = attention_loss(torch.from_numpy(found.alpha_opt.row(word))[None], *one)
            own = attention_loss(torch.from_numpy(fields.alpha.row(word))[None], *one)
            assert float(own) == pytest.approx(-fields.log_p[word], abs=1e-4), "the network's own loss"
            assert best <= own + 1e-6
            for alone in torch.eye(len(gamma), dtype=torch.float64):
                assert best <= attention_loss(alone[None], *one) + 1e-6
            word += 1
    assert word == len(found.alpha_opt)
    assert found.gap.max() <= 1e-6
    sums = np.add.reduceat(found.alpha_opt.values, found.alpha_opt.offsets[:-1])
    assert sums == pytest.approx(np.ones(word))


def test_outputs_that_cannot_matter_are_left_out_and_change_nothing(network):
    gamma, gamma_s, gold = next(iter(logits_of(network, SPLIT)))
    gamma_s = gamma_s.clone()
    gamma_s[:, 10:20] -= 500
    kept, right = few_outputs(gamma, gamma_s, gold)
    assert kept[right].tolist() == gold.tolist()
    assert len(kept) < WORDS
    whole = optimal_attention(gamma.expand(len(gold), -1, -1), gold, gamma_s)
    few = optimal_attention(gamma[:, kept].expand(len(gold), -1, -1), right, gamma_s[:, kept])
    torch.testing.assert_close(few.loss, whole.loss, atol=2e-6, rtol=0)


def test_nothing_is_counted_at_the_position_of_largest_beta():
    offsets = np.array([0, 2, 4, 6])
    alpha = ScoreField(np.array([0.0, 1.0, 1.0, 0.0, 0.995, 0.005]), offsets)
    beta = ScoreField(np.array([2.0, 1.0, 2.0, 1.0, 0.0, 1.0]), offsets)
    row = nothing_row(real.Optimum(alpha, beta, beta, np.array([0, 1e-7, 0]), np.array([0, 0, 1])), 0.01)
    assert row["value"] == pytest.approx(2 / 3)
    assert row["mean_weight"] == pytest.approx((0 + 1 + 0.005) / 3)
    assert row["largest_gap"] == 1e-7


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("linear")
    with little_corpora(folder / "data"):
        outcomes = []
        for role in module.ROLES:
            setting = pair_setting("multi30k", role, "quick")
            job = setting.job(20, "quick")
            run = train(job.spec, job.schedule, RunStore(folder / "runs"))
            outcomes.append(Outcome(setting.name, 20, run, job.spec))
        yield PairRuns("multi30k", "quick", Runs(outcomes))


def test_both_read_outs_are_translated_at_equal_updates(runs):
    tables = measure_translator(runs, sentences=2)
    (bleu,) = tables["bleu"]
    (reference,) = runs.of("reference")
    assert bleu["up_to"] == 6
    assert bleu["main"] == pytest.approx({row["step"]: row["bleu"] for row in reference.rows}[bleu["main_step"]])
    assert bleu["difference"] == pytest.approx(bleu["linear"] - bleu["main"])
    few = runs.texts["valid"].target.lengths[:2] + 1
    assert [row["words"] for row in tables["multi30k"]] == [few.sum()] * 2
    assert tables["nothing"][0]["words"] == few.sum()


def test_the_best_evaluation_is_sought_within_as_many_updates():
    rows = [{"step": step, "accuracy": value} for step, value in ((0, 0.1), (10, 0.4), (20, 0.3), (30, 0.9))]
    assert real.best_up_to(Trained("id", rows, 30), 20) == 10


@pytest.mark.parametrize(
    ("difference", "verdict"),
    [((-0.5, -0.2, 0.4), "holds"), ((-2.0, -3.0, -1.5), "fails"), ((0.0, -1.5, 1.5), "undecided")],
)
def test_verdicts_on_bleu(difference, verdict):
    value, low, high = difference
    row = {"linear": 30.0, "main": 30.0, "up_to": 20_000, "difference": value, "low": low, "high": high}
    assert decided("linear-readout-as-good", {"bleu": [row]}).verdict == verdict


@pytest.mark.parametrize(
    ("interval", "verdict", "direction"),
    [((0.01, 0.03), "holds", "holds"), ((0.1, 0.2), "fails", "holds"), ((0.6, 0.8), "fails", "fails")],
)
def test_verdicts_on_how_rare_it_is(interval, verdict, direction):
    row = {"value": sum(interval) / 2, "low": interval[0], "high": interval[1], "words": 100}
    part = decided("optimum-rarely-empty", {"nothing": [row]})
    assert (part.verdict, part.direction) == (verdict, direction)


def test_beta_has_the_decoders_term_in_the_claim():
    rows = [{"value": value, "low": value - 0.02, "high": value + 0.02, "chance": 0.07} for value in (0.5, 0.1)]
    part = decided("attention-optimum-real", {"multi30k": rows})
    assert (part.effect, part.verdict, part.runs) == (0.5, "holds", 1)


def decided(claim, tables):
    """The only part of a claim, decided from tables alone."""
    story = OptimalAttentionExperiment().retold(Order("paper"), Record(tables, {}))
    (part,) = OptimalAttentionExperiment.rules()[claim](story)
    return part


def test_without_the_corpus_there_are_no_runs(monkeypatch, tmp_path):
    monkeypatch.setenv("ATTNLAB_DATA", str(tmp_path))
    assert OptimalAttentionExperiment().jobs(Order("paper")) == []
    monkeypatch.delenv("ATTNLAB_DATA")
    assert OptimalAttentionExperiment().jobs(Order("paper")) == []

"""The topic experiments: their plans, what is read out of a run, and verdicts on outcomes whose answer is known."""

import numpy as np
import pytest

from attnlab.experiments.topic_ablation import experiment as topic_ablation
from attnlab.experiments.topic_capacity import experiment as topic_capacity
from attnlab.experiments.topic_query import experiment as topic_query
from attnlab.experiments.topic_words import experiment as topic_words
from attnlab.experiments.topics.topics import LEVELS, Outcome, Setting, compare, ranges
from attnlab.families.topics.problem import QUANTILES
from attnlab.lab.claims import load_claims
from attnlab.lab.experiment import Order
from attnlab.lab.registry import EXPERIMENTS
from attnlab.runs.loop import Trained
from attnlab.theory.norms import norm_of_score

NAMES = ("topic-words", "topic-ablation", "topic-capacity", "topic-query")


def outcome(
    setting: Setting,
    seed: int = 0,
    *,
    final_score: float = 4.0,
    off: float = 0.0,
    learned_at: float = 1000.0,
    last_loss: float = 0.002,
    share: float = 0.9,
    noise: float = 0.01,
    first: float = 1.0,
    dip: float = 0.0,
    query_norm: float = 0.8,
) -> Outcome:
    """A run whose scores rise to ``final_score`` and whose norms lie ``off`` above the identity, relatively.

    The loss falls through 0.5 at ``learned_at``; ``dip``: how far score and norm fall first.
    """
    rows = []
    steps = range(0, setting.epochs + 1, 100)
    for step in steps:
        done = step / steps[-1]
        score = final_score * done - (dip if 0 < step <= 100 else 0.0)
        norm = norm_of_score(score, setting.others, query_norm=query_norm, start_norm=0.3) * (1 + off * (step > 0))
        row = {
            "step": step,
            "loss": max(np.log(4) * (0.5 / np.log(4)) ** (step / learned_at), last_loss),
            "accuracy": 0.9,
            "test_accuracy": 0.9,
            "query_norm": query_norm,
            "weight_mean": 0.05 + 0.9 * done,
            "weight_min": 0.05,
            "share": 0.05 + (share - 0.05) * (step >= learned_at / 2),
            "attention_accuracy": first,
            "probe_accuracy": 1.0,
            "probe_mean": done,
        }
        for word in range(8):
            row |= {f"score_{word}": score, f"norm_{word}": float(norm)}
        for quantile in QUANTILES:
            row |= {f"other_score_{quantile}": -noise * final_score, f"other_norm_{quantile}": noise}
        rows.append(row)
    return Outcome(setting, seed, Trained(setting.spec(seed).id, rows, steps[-1]))


def verdicts(findings):
    return {f.claim: f.verdict for f in findings}, {(f.claim, p.name): p for f in findings for p in f.parts}


def words(count=20, **changes):
    return [outcome(s, seed, **changes) for s in topic_words.SETTINGS for seed in range(count if s.name == "FC" else 5)]


def test_what_is_read_out_of_a_run():
    run = outcome(topic_words.FIXED, off=0.02)
    assert run.largest_deviation() == pytest.approx(0.02)
    assert run.median_deviation() == pytest.approx(0.02)
    assert run.crossing(0.5) == pytest.approx(1000, abs=0.1)
    assert run.crossing(1.0) == pytest.approx(1000 * np.log(np.log(4)) / np.log(np.log(4) / 0.5), abs=0.1)
    assert run.crossing(1e-4) is None
    assert run.crossing(2.0) == 0
    assert run.final_score() == pytest.approx(4.0)
    assert run.final_norm() == pytest.approx(0.8 * 1.02 * norm_of_score(4.0, 20, query_norm=0.8, start_norm=0.3))
    assert set(run.row()) >= {f"epoch_of_loss_{level}" for level in LEVELS}


def test_scores_that_stay_small_show_no_identity():
    run = outcome(topic_words.FIXED, final_score=0.04, off=0.5)
    assert run.largest_deviation() is None and run.median_deviation() is None


def test_the_authors_values_lie_inside_the_range_or_not():
    runs = [outcome(topic_words.FIXED, seed, learned_at=at) for seed, at in enumerate((500, 900))]
    told = {row["measure"]: row for row in compare(ranges(runs), topic_words.AUTHORS)}
    assert told["epoch_of_loss_0.5"]["inside"] and told["epoch_of_loss_0.5"]["authors"] == 778
    assert not told["final_score"]["inside"]
    assert (told["epoch_of_loss_0.5"]["smallest"], told["epoch_of_loss_0.5"]["reached"]) == (pytest.approx(500), 2)


def test_the_papers_outcome_makes_every_claim_about_topic_words_hold():
    whole, parts = verdicts(topic_words.decide(words(off=0.005)))
    assert set(whole.values()) == {"holds"}
    assert parts["norm-identity", "all classifiers"].effect == pytest.approx(0.005)
    assert parts["norm-converges", "FC"].detail.startswith("In 20 of 20 seeds")


@pytest.mark.parametrize(
    ("changes", "claim"),
    [
        ({"off": 0.08}, "norm-identity"),
        ({"off": 0.08}, "norm-identity-any-classifier"),
        ({"last_loss": 0.06}, "norm-converges"),
        ({"first": 0.999}, "norm-converges"),
        ({"share": 0.2}, "topic-words-stand-out"),
        ({"noise": 0.3}, "non-topic-words-still"),
    ],
)
def test_the_opposite_outcome_makes_a_claim_about_topic_words_fail(changes, claim):
    whole, _ = verdicts(topic_words.decide(words(**changes)))
    assert whole[claim] == "fails"


def test_one_classifier_off_the_curve_refutes_both_identities():
    runs = [outcome(s, seed, off=0.08 if s.name == "TL" else 0.0) for s in topic_words.SETTINGS for seed in range(5)]
    whole, parts = verdicts(topic_words.decide(runs))
    assert whole["norm-identity"] == whole["norm-identity-any-classifier"] == "fails"
    assert parts["norm-identity-any-classifier", "FC"].verdict == "holds"


def test_few_seeds_or_unseen_scores_decide_nothing():
    whole, _ = verdicts(topic_words.decide(words(count=5)))
    assert whole["norm-converges"] == "undecided"
    single = [outcome(s, 0) for s in topic_words.SETTINGS]
    whole, _ = verdicts(topic_words.decide(single))
    assert set(whole.values()) == {"undecided"}
    whole, _ = verdicts(topic_words.decide(words(final_score=0.04)))
    assert whole["norm-identity"] == "undecided"


def ablation(joint, frozen_keys, frozen_embeddings, **changes):
    epochs = {"": joint, "KF": frozen_keys, "EF": frozen_embeddings}
    runs = []
    for setting in topic_ablation.SETTINGS:
        count = 20 if setting == topic_ablation.TRAINED_LINEAR else 5
        at = epochs[setting.name[3:]]
        runs += [outcome(setting, seed, learned_at=at + 10 * seed, **changes) for seed in range(count)]
    return runs


def test_learning_sooner_by_half_is_promotion():
    whole, parts = verdicts(topic_ablation.decide(ablation(800, 3000, 90_000)))
    assert whole["mutual-promotion"] == "holds"
    assert parts["mutual-promotion", "FC against FC-KF"].effect == pytest.approx(2200, abs=1)
    assert "5 of 5 seeds never reach it" in parts["mutual-promotion", "TC against TC-EF"].detail


@pytest.mark.parametrize(
    ("epochs", "verdict"),
    [
        ((3000, 800, 800), "fails"),
        ((2000, 2100, 2100), "fails"),  # sooner, but not by half
        ((4000, 90_000, 90_000), "undecided"),  # how much sooner cannot be known
        ((90_000, 90_000, 90_000), "undecided"),
    ],
)
def test_other_orders_of_learning_are_not_promotion(epochs, verdict):
    whole, _ = verdicts(topic_ablation.decide(ablation(*epochs)))
    assert whole["mutual-promotion"] == verdict


def test_suppression_is_a_joint_fall_early_in_one_seed_of_twenty():
    runs = ablation(800, 3000, 3000)
    assert verdicts(topic_ablation.decide(runs))[0]["mutual-suppression"] == "fails"
    dipping = outcome(topic_ablation.TRAINED_LINEAR, 3, dip=0.2)
    changed = [dipping if (o.setting.name, o.seed) == ("TC", 3) else o for o in runs]
    whole, parts = verdicts(topic_ablation.decide(changed))
    assert whole["mutual-suppression"] == "holds"
    assert parts["mutual-suppression", "TC"].effect == 0.05
    few = [o for o in changed if o.seed < 5]
    assert verdicts(topic_ablation.decide(few))[0]["mutual-suppression"] == "undecided"
    step, score, start, norm = topic_ablation.fall(dipping)
    assert step <= 100 and score < 0 and norm < start == pytest.approx(0.3)


@pytest.mark.parametrize(
    ("scores", "verdict"), [((4.0, 3.5, 3.0), "holds"), ((4.0, 3.0, 3.5), "fails"), ((4.0, 3.5, 3.5), "undecided")]
)
def test_capacity_weakens_attention_if_scores_fall_twice(scores, verdict):
    by_name = dict(zip(("FC", "TC", "TL"), scores, strict=True))
    runs = [
        outcome(s, seed, final_score=by_name.get(s.name, 3.0) + 0.1 * seed)
        for s in topic_capacity.SETTINGS
        for seed in range(5)
    ]
    assert verdicts(topic_capacity.decide(runs))[0]["capacity-weakens-attention"] == verdict


@pytest.mark.parametrize(
    ("off", "score", "verdict"), [(0.05, 4.0, "holds"), (0.3, 4.0, "fails"), (0.0, 0.01, "undecided")]
)
def test_the_identity_through_layers_is_decided_by_the_median_word(off, score, verdict):
    runs = [outcome(s, seed, off=off, final_score=score) for s in topic_query.SETTINGS for seed in range(5)]
    assert verdicts(topic_query.decide(runs))[0]["norm-identity-through-layers"] == verdict


@pytest.mark.parametrize("name", NAMES)
def test_an_experiment_decides_its_claims_and_fills_its_tables_and_figures(name):
    experiment, order = EXPERIMENTS[name], Order("quick")
    settings = {
        "topic-words": topic_words.SETTINGS,
        "topic-ablation": topic_ablation.SETTINGS,
        "topic-capacity": topic_capacity.SETTINGS,
        "topic-query": topic_query.SETTINGS,
    }[name]
    jobs = experiment.plan(order, {})
    done = {setting.spec(seed).id: outcome(setting, seed).run for setting in settings for seed in range(2)}
    assert {job.spec.id for job in jobs} <= done.keys()
    result = experiment.analyse(order, done)
    named = {claim.id for claim in load_claims() if name in claim.experiments}
    assert {finding.claim for finding in result.findings} == named
    for table in result.tables.values():
        assert table and all(list(row) == list(table[0]) for row in table)
    for chart in result.figures.values():
        assert chart.to_dict()["$schema"]
    assert result.summary and result.notes and all(result.seeds.values())


@pytest.mark.parametrize("name", NAMES)
def test_plans_are_the_papers(name):
    jobs = EXPERIMENTS[name].plan(Order("paper"), {})
    assert len({job.spec.id for job in jobs}) == len(jobs)
    assert [job.spec.id for job in EXPERIMENTS[name].at_most(Order("paper"), {})] == [job.spec.id for job in jobs]
    plain = jobs[0].spec
    assert (plain.task.topics, plain.task.words, plain.task.dictionary, plain.task.others) == (4, 2, 5000, 20)
    assert (plain.task.sentences, plain.model.size, plain.optimiser.learning_rate, plain.batch) == (5000, 10, 0.1, None)
    assert plain.model.query_std == 0.3 and not plain.model.train_query
    epochs = 6000 if name == "topic-ablation" else 5000
    assert jobs[0].schedule.steps == epochs
    assert plain.model.embedding_std == (0.1 if name == "topic-ablation" else 1e-6)
    fewer = EXPERIMENTS[name].plan(Order("paper", seeds=1), {})
    assert {job.spec.init_seed for job in fewer} == {0}


def test_topic_words_at_paper_shares_its_runs_with_capacity_and_query():
    runs = {job.spec.id for job in EXPERIMENTS["topic-words"].plan(Order("paper"), {})}
    for name in ("topic-capacity", "topic-query"):
        assert len(runs & {job.spec.id for job in EXPERIMENTS[name].plan(Order("paper"), {})}) == 15

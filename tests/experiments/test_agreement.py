"""The agreement experiment: end to end on a little corpus, and its rules on values whose answer is known."""

import csv
import json

import numpy as np
import pytest
from scipy import stats
from tests.news import write_news

from attnlab.experiments.agreement.experiment import AgreementExperiment, shortfall
from attnlab.experiments.agreement.rules import exceeds_tau, in_context, rises_together, shaped
from attnlab.experiments.sms.evidence import FOR, evidence_table
from attnlab.experiments.texts import classification
from attnlab.experiments.texts.classification import Size
from attnlab.experiments.texts.text_agreement import MEASURES, Agreements, Series, measure
from attnlab.experiments.texts.text_context import Context
from attnlab.experiments.texts.text_runs import TextRuns
from attnlab.fields import ScoreField
from attnlab.lab.conduct import conduct
from attnlab.lab.experiment import Order
from attnlab.measures.agreement import top_agreement
from attnlab.runs.engine import LocalEngine
from attnlab.runs.loop import finished
from attnlab.runs.store import RunStore

TINY = Size({"reference": 2, "comparison": 2, "uniform": 1, "frozen": 1, "proxy": 1}, 20, 3, 16)


@pytest.fixture(scope="module")
def conducted(tmp_path_factory):
    """The experiment on a corpus of our own, with few updates of the real network."""
    root = tmp_path_factory.mktemp("agreement")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ATTNLAB_CACHE", str(root / "cache"))
        patch.setenv("ATTNLAB_DATA", str(write_news(root / "data")))
        patch.setattr(classification, "SIZES", {**classification.SIZES, "quick": TINY})
        patch.setattr("attnlab.experiments.texts.text_runs.SIZES", {**classification.SIZES, "quick": TINY})
        classification.corpus_of.cache_clear()
        experiment, order, store = AgreementExperiment(), Order("quick", row="ag_news"), RunStore(root / "runs")
        done = conduct(experiment, order, store, LocalEngine(2), root / "results", command="attnlab run agreement")
        page = experiment.report(root / "results" / "agreement")
        jobs = experiment.plan(order, {})
        runs = TextRuns(order, {job.spec.id: finished(job.spec, job.schedule, store) for job in jobs})
        yield done, page, runs
        classification.corpus_of.cache_clear()


def table(done, name):
    with (done.folder / "tables" / f"{name}.csv").open(newline="", encoding="utf-8") as lines:
        return list(csv.DictReader(lines))


def test_a_row_lies_in_its_own_folder(conducted):
    done, page, _ = conducted
    assert done.folder.parts[-3:] == ("agreement", "quick", "ag_news")
    document = json.loads((done.folder / "result.json").read_text(encoding="utf-8"))
    assert document["row"] == "ag_news"
    assert document["seeds"]["reference"] == [20, 21]
    assert page.name == "report.html"
    assert "ag_news" in page.read_text(encoding="utf-8")


def test_the_paper_s_row_has_all_its_columns(conducted):
    rows = table(conducted[0], "paper")
    assert [row["table"] for row in rows] == ["1, 4", "2", "6"]
    for row in rows:
        assert list(row)[1:5] == [
            "A(alpha, beta_uf)",
            "A(beta_uf, beta_px)",
            "A(delta, beta_uf)",
            "A(alpha, beta)",
        ]
        assert row["xi(alpha, beta)"] == "never" or 0 <= float(row["xi(alpha, beta)"]) <= 100
    assert float(rows[0]["chance"]) > 0 == float(rows[1]["chance"])


def test_figures_are_those_of_the_fields(conducted):
    """A(alpha, beta) by hand: each reference against each comparison run, the largest over evaluations, averaged."""
    done, _, runs = conducted
    found = {(row["split"], row["agreement"]): row for row in table(done, "agreement")}
    for split in ("valid", "train"):
        largest = []
        for reference in runs.of("reference"):
            alpha = runs.field(reference, runs.best_step(reference), split, "alpha")
            for other in runs.of("comparison"):
                curve = [
                    top_agreement(alpha, runs.field(other, step, split, "gamma")).expected.mean()
                    for step in runs.steps(other)
                ]
                largest.append(max(curve))
        row = found[split, "A(alpha, beta)"]
        assert float(row["value"]) == pytest.approx(np.mean(largest))
        assert float(row["low"]) <= float(row["value"]) <= float(row["high"])
        lengths = runs.texts[split].lengths.numpy()
        assert float(row["chance"]) == pytest.approx((np.ceil(0.05 * lengths) / lengths).mean())
        assert float(row["held_out"]) <= float(row["value"]) + 1e-12


def test_turning_delta_round_turns_tau_round(conducted):
    _, _, runs = conducted
    series = measure(runs, "valid").series
    np.testing.assert_allclose(series["-delta, beta_uf"].values["tau"], -series["delta, beta_uf"].values["tau"])


def test_every_claim_of_the_experiment_is_decided_but_bleu(conducted):
    found = {finding.claim for finding in conducted[0].result.findings}
    assert found == {
        "attention-follows-lexicon",
        "lexicon-under-uniform",
        "saliency-explained",
        "attention-like-ibm1",
        "attention-shapes-lexicon",
        "agreement-in-context",
        "agreement-grows-with-performance",
        "agreement-kendall",
        "agreement-training-split",
    }


def test_evidence_tells_attention_on_a_class_s_own_words_from_attention_on_the_other_s(conducted):
    runs = conducted[2]
    (uniform,) = runs.of("uniform")
    beta_uf = runs.field(uniform, runs.best_step(uniform), "valid", "gamma")
    turned = ScoreField(-beta_uf.values, beta_uf.offsets)
    table = evidence_table(runs, [1, 2], [beta_uf, turned])
    assert len(table) == 2 * 2 * 2  # seeds, classes, for and against
    assert sum(line["texts"] for line in table if (line["seed"], line["evidence"]) == (1, FOR)) == len(
        runs.texts["valid"]
    )
    for line in table:
        looked_for = (line["seed"] == 1) == (line["evidence"] == FOR)
        assert line["A"] == pytest.approx(1) if looked_for else line["A"] < line["chance"]


# --- the rules


def series(name, values, measured="expected"):
    """A series of one pair and one evaluation with these values, one a text."""
    array = np.asarray(values, dtype=float)[None, None]
    return Series(name, (-1,), {m: array if m == measured else np.zeros_like(array) for m in MEASURES})


@pytest.mark.parametrize(
    ("tau", "verdict"), [(np.full(50, 0.3), "holds"), (np.full(50, 0.05), "fails"), ([0.9, -0.6] * 25, "undecided")]
)
def test_tau_counts_from_a_tenth(tau, verdict):
    assert exceeds_tau(series("alpha, beta", tau, "tau")).verdict == verdict


@pytest.mark.parametrize(
    ("learned", "uniform", "verdict"),
    [([1.0] * 30, [0.0] * 30, "holds"), ([0.0] * 30, [1.0] * 30, "fails"), ([1, 0] * 15, [0, 1] * 15, "undecided")],
)
def test_attention_shapes_the_lexicon_where_the_difference_lies_above_zero(learned, uniform, verdict):
    both = {"alpha, beta": series("alpha, beta", learned), "alpha, beta_uf": series("alpha, beta_uf", uniform)}
    assert shaped(Agreements("valid", both, np.full(30, 0.1), np.zeros((1, 1)))).verdict == verdict


def agreements(agree, accuracy, level):
    """Comparison runs whose attention agrees with the reference's so much, and one agreement of this level."""
    agree, accuracy = np.asarray(agree, dtype=float), np.asarray(accuracy, dtype=float)
    values = {m: agree[..., None].repeat(4, axis=2) for m in MEASURES}
    steps = tuple(range(0, 10 * agree.shape[1], 10))
    found = {
        "alpha, alpha(step)": Series("alpha, alpha(step)", steps, values),
        "alpha, beta": series("alpha, beta", [level] * 4),
    }
    return Agreements("valid", found, np.full(4, 0.1), accuracy)


RISING = [[0.1, 0.4, 0.6, 0.8]] * 3
BETTER = [[0.5, 0.7, 0.8, 0.9], [0.5, 0.72, 0.8, 0.9], [0.5, 0.74, 0.8, 0.9]]


def test_xi_is_read_where_attention_first_agrees_more():
    context = Context(agreements(RISING, BETTER, 0.3), "alpha, beta", "expected", best=0.9)
    assert context.step == 10
    assert context.performance == pytest.approx(0.72)
    assert context.interval[0] < 0.72 < context.interval[1]
    assert in_context("alpha, beta", context, untrained=0.5, best=0.9).verdict == "holds"


def test_an_agreement_never_exceeded_is_read_as_the_best():
    context = Context(agreements(RISING, BETTER, 0.85), "alpha, beta", "expected", best=0.9)
    part = in_context("alpha, beta", context, untrained=0.5, best=0.9)
    assert context.performance is None
    assert part.effect == pytest.approx(0.4)
    assert part.verdict == "holds"


def test_xi_near_the_untrained_performance_fails():
    context = Context(agreements(RISING, BETTER, 0.05), "alpha, beta", "expected", best=0.9)
    assert context.step == 0
    assert in_context("alpha, beta", context, untrained=0.5, best=0.9).verdict == "fails"


def one_run(texts, accuracy, levels):
    """A single comparison run whose attention agrees so on each text, (steps, texts), and one agreement by text."""
    texts = np.asarray(texts, dtype=float)
    steps = tuple(range(0, 10 * len(texts), 10))
    found = {
        "alpha, alpha(step)": Series("alpha, alpha(step)", steps, dict.fromkeys(MEASURES, texts[None])),
        "alpha, beta": series("alpha, beta", levels),
    }
    return Agreements("valid", found, np.full(texts.shape[1], 0.1), np.asarray([accuracy], dtype=float))


def spread(shares, texts=200):
    """Texts of which this share agrees, at every step: (steps, texts)."""
    return np.array([np.arange(texts) < share * texts for share in shares], dtype=float)


@pytest.mark.parametrize(("share", "step", "verdict"), [(0.25, 10, "holds"), (0.05, 0, "fails"), (0.9, None, "holds")])
def test_one_comparison_run_is_decided_over_examples(share, step, verdict):
    found = one_run(spread([0.1, 0.4, 0.6, 0.8]), BETTER[0], spread([share])[0])
    context = Context(found, "alpha, beta", "expected", best=0.9)
    part = in_context("alpha, beta", context, untrained=0.5, best=0.9)
    assert (context.step, part.over, part.verdict) == (step, "examples", verdict)
    assert part.interval[0] - 1e-9 <= part.effect <= part.interval[1] + 1e-9
    assert "One comparison run" in part.detail


def test_an_agreement_near_a_step_of_the_curve_is_read_with_the_doubt_of_its_texts():
    # 0.39 and 0.40 of 200 texts: drawn again, the order of the two changes unless both count the same texts.
    curve = spread([0.1, 0.4, 0.6, 0.8])
    together = Context(one_run(curve, BETTER[0], spread([0.39])[0]), "alpha, beta", "expected", best=0.9)
    apart = Context(one_run(curve, BETTER[0], spread([0.39])[0][::-1]), "alpha, beta", "expected", best=0.9)
    assert together.step == apart.step == 10
    assert together.interval == pytest.approx((0.7, 0.8))  # where no text of the difference is drawn, none exceeds
    assert apart.interval[1] > 0.7


def test_undefined_texts_are_left_out_of_a_single_run_too():
    curve = np.hstack([spread([0.1, 0.4, 0.6, 0.8]), np.full((4, 50), np.nan)])
    levels = np.append(spread([0.25])[0], np.full(50, np.nan))
    context = Context(one_run(curve, BETTER[0], levels), "alpha, beta", "expected", best=0.9)
    assert (context.step, context.performance) == (10, 0.7)
    assert context.interval == pytest.approx((0.7, 0.7))


def test_one_run_and_one_text_decide_nothing():
    found = one_run([[0.1], [0.4], [0.6], [0.8]], BETTER[0], [0.3])
    context = Context(found, "alpha, beta", "expected", best=0.9)
    assert context.interval is None
    assert in_context("alpha, beta", context, untrained=0.5, best=0.9).verdict == "undecided"
    assert rises_together(found).verdict == "undecided"


@pytest.mark.parametrize(("agree", "verdict"), [(RISING, "holds"), ([row[::-1] for row in RISING], "fails")])
def test_agreement_and_performance_rise_together(agree, verdict):
    assert rises_together(agreements(agree, BETTER[: len(agree)], 0.3)).verdict == verdict


@pytest.mark.parametrize(
    ("shares", "verdict"),
    [([0.1, 0.4, 0.6, 0.8], "holds"), ([0.8, 0.6, 0.4, 0.1], "fails"), ([0.5, 0.4, 0.45, 0.5], "undecided")],
)
def test_with_one_run_they_rise_together_over_examples(shares, verdict):
    texts = spread(shares)
    generator = np.random.default_rng(0)
    for row in texts:
        generator.shuffle(row)
    found = one_run(texts, BETTER[0], texts[0])
    part = rises_together(found)
    assert (part.over, part.verdict) == ("examples", verdict)
    expected = stats.spearmanr(texts.mean(axis=1), BETTER[0]).statistic
    assert part.effect == pytest.approx(expected)
    assert part.interval[0] - 1e-9 <= part.effect <= part.interval[1] + 1e-9


def accuracies(reference, uniform, logistic):
    """A table of runs with these validation accuracies."""
    named = {"reference": reference, "comparison": reference, "uniform": uniform}
    lines = [{"run": role, "accuracy": value, "train_accuracy": 1.0} for role, value in named.items()]
    return [*lines, {"run": "logistic regression", "accuracy": logistic, "train_accuracy": None}]


def test_networks_near_logistic_regression_need_no_explanation():
    assert shortfall(accuracies(0.90, 0.90, 0.919), 100, 10) == ()
    assert shortfall(accuracies(0.90, 0.80, 0.85), 100, 10) == ()


@pytest.mark.parametrize(("uniform", "why"), [(0.90, "is not what costs it"), (0.94, "has a part in it")])
def test_networks_far_below_logistic_regression_are_explained(uniform, why):
    (note,) = shortfall(accuracies(0.90, uniform, 0.95), 100, 10)
    assert "5.0 points below logistic regression's 95.0%" in note
    assert "10 words from 100 texts" in note
    assert f"attention {why}." in note

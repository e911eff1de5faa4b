"""The agreement experiment: end to end on a little corpus, and its rules on values whose answer is known."""

import csv
import json
import math

import numpy as np
import pytest
from scipy import stats
from tests.lab.drawn import drawn
from tests.news import write_news

from attnlab.experiments.agreement.experiment import AgreementExperiment, choices, estimates, shortfall
from attnlab.experiments.agreement.shown import COLUMNS
from attnlab.experiments.sms.experiment import AGAINST, FOR, Between
from attnlab.experiments.texts import corpora
from attnlab.experiments.texts.corpora import Size, TextRuns
from attnlab.families.texts.reading import corpus_of
from attnlab.fields import ScoreField
from attnlab.lab.conduct import conduct
from attnlab.lab.corpus_runs import best_step, steps_of
from attnlab.lab.experiment import Order, Record
from attnlab.lab.outcomes import Runs
from attnlab.lab.rules import low_high
from attnlab.measures.agreement import top_agreement
from attnlab.measures.agreements import SEEDS_AGREE, Agreements
from attnlab.measures.series import MEASURES, Series
from attnlab.probes.influence import influence
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
        patch.setitem(corpora.SIZES, "quick", TINY)
        corpus_of.cache_clear()
        experiment, order, store = AgreementExperiment(), Order("quick", row="ag_news"), RunStore(root / "runs")
        done = conduct(experiment, order, store, LocalEngine(2), root / "results", command="attnlab run agreement")
        page = experiment.report(root / "results" / "agreement")
        trained = {job.spec.id: finished(job.spec, job.schedule, store) for job in experiment.plan(order, {})}
        yield done, page, TextRuns("ag_news", "quick", Runs(experiment.outcomes(order, trained)))
        corpus_of.cache_clear()


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
    assert "AG News" in page.read_text(encoding="utf-8")


def test_the_paper_s_row_has_all_its_columns(conducted):
    rows = table(conducted[0], "paper")
    assert [row["table"] for row in rows] == ["1, 4", "2", "6"]
    for row in rows:
        assert list(row)[1:5] == ["A(alpha, beta_uf)", "A(beta_uf, beta_px)", "A(delta, beta_uf)", "A(alpha, beta)"]
        assert row["xi(alpha, beta)"] == "never" or 0 <= float(row["xi(alpha, beta)"]) <= 100
    assert float(rows[0]["chance"]) > 0 == float(rows[1]["chance"])


def test_figures_are_those_of_the_fields(conducted):
    """A(alpha, beta) by hand: each reference against each comparison run, the largest over evaluations, averaged."""
    done, _, runs = conducted
    measured = {(row["split"], row["agreement"]): row for row in table(done, "agreement")}
    for split in ("valid", "train"):
        largest = []
        for reference in runs.of("reference"):
            alpha = runs.field(reference, best_step(reference), split, "alpha")
            for other in runs.of("comparison"):
                curve = [
                    top_agreement(alpha, runs.field(other, step, split, "gamma")).expected.mean()
                    for step in steps_of(other)
                ]
                largest.append(max(curve))
        row = measured[split, "A(alpha, beta)"]
        assert float(row["value"]) == pytest.approx(np.mean(largest))
        assert float(row["low"]) <= float(row["value"]) <= float(row["high"])
        lengths = runs.texts[split].lengths.numpy()
        assert float(row["chance"]) == pytest.approx((np.ceil(0.05 * lengths) / lengths).mean())
        assert float(row["held_out"]) <= float(row["value"]) + 1e-12


def choice(done, name, agreement):
    (row,) = [row for row in table(done, "choices") if (row["choice"], row["agreement"]) == (name, agreement)]
    assert float(row["change"]) == pytest.approx(float(row["other"]) - float(row["ours"]))
    return float(row["ours"]), float(row["other"])


def largest(runs, pairs):
    """By hand: the largest mean agreement over the uniform run's evaluations; ``pairs``: u and v from beta_uf."""
    (uniform,) = runs.of("uniform")
    betas = [runs.field(uniform, step, "valid", "gamma") for step in steps_of(uniform)]
    return max(top_agreement(*pairs(beta)).expected.mean() for beta in betas)


def test_the_released_sign_is_that_of_delta_turned_round(conducted):
    done, _, runs = conducted
    deltas = [influence(runs.model(run), runs.texts["valid"]) for run in runs.of("reference")]
    turned = [ScoreField(-delta.values, delta.offsets) for delta in deltas]
    ours, released = choice(done, "sign of delta turned round, as released", "A(delta, beta_uf)")
    assert ours == pytest.approx(np.mean([largest(runs, lambda beta, u=u: (u, beta)) for u in deltas]))
    assert released == pytest.approx(np.mean([largest(runs, lambda beta, u=u: (u, beta)) for u in turned]))
    assert ours > released, "what makes the right class more probable is what speaks for it"


def test_ties_as_released_count_every_position_that_ties_at_the_border(conducted):
    """A word that occurs twice in a text has the same beta_px twice: the released rule lets both into the top."""
    done, _, runs = conducted
    (uniform,) = runs.of("uniform")
    px, shares = runs.beta_px("valid"), []
    for step in steps_of(uniform):
        beta = runs.field(uniform, step, "valid", "gamma")
        inside = []
        for k in range(len(px)):
            u, v = beta.row(k), px.row(k)
            inside.append(sum(value > v[u.argmax()] for value in v) < math.ceil(0.05 * len(v)))
        shares.append(np.mean(inside))
    ours, released = choice(done, "ties as released", "A(beta_uf, beta_px)")
    assert released == pytest.approx(max(shares))
    assert ours == pytest.approx(largest(runs, lambda beta: (beta, px)))
    assert ours < released


def test_the_other_choices_are_read_where_they_say():
    """Two steps of one pair, so that the best is not the last; and series of different levels."""
    levels = {name: 0.1 * number for number, name in enumerate((*COLUMNS, "beta_px, beta_uf", "-delta, beta_uf"))}
    made = {
        name: Series(name, (0, 10), {m: np.array([[[level + 0.2] * 4, [level] * 4]]) for m in MEASURES})
        for name, level in levels.items()
    }
    rows = {
        (row["choice"], row["agreement"]): row for row in choices(Agreements("valid", made, np.ones(4), np.ones(1)))
    }
    for name in COLUMNS:
        assert rows["last evaluation instead of the best", f"A({name})"]["change"] == pytest.approx(-0.2)
        assert rows["evaluation chosen on other texts", f"A({name})"]["other"] == pytest.approx(levels[name] + 0.2)
    row = rows["argmax from beta_px, as released", "A(beta_uf, beta_px)"]
    assert (row["ours"], row["other"]) == pytest.approx((0.3, 0.6))
    row = rows["sign of delta turned round, as released", "A(delta, beta_uf)"]
    assert (row["ours"], row["other"]) == pytest.approx((0.4, 0.7))


def test_figures_draw_what_the_tables_say(conducted):
    done, _, runs = conducted
    figures = done.result.figures
    assert list(figures) == ["training", "agreement"]
    curves = {
        (row["what"], row["seeds"], row["step"]): row["value"] for row in drawn(figures["training"]) if "step" in row
    }
    shown = {f"A({name})" for name in (*COLUMNS, SEEDS_AGREE)} | {"accuracy (comparison)"}
    assert {what for what, _, _ in curves} == shown
    (uniform,) = runs.of("uniform")
    alpha, px = runs.alphas()[1], runs.beta_px("valid")
    for step in steps_of(uniform):
        beta_uf = runs.field(uniform, step, "valid", "gamma")
        by_hand = top_agreement(alpha, beta_uf).expected.mean()
        assert curves["A(alpha, beta_uf)", "alpha, beta_uf 1", step] == pytest.approx(by_hand)
        by_hand = top_agreement(beta_uf, px).expected.mean()
        assert curves["A(beta_uf, beta_px)", "beta_uf, beta_px 0", step] == pytest.approx(by_hand)
    for outcome in runs.outcomes("comparison"):
        for row in outcome.run.rows:
            named = ("accuracy (comparison)", f"comparison {outcome.seed}", row["step"])
            assert curves[named] == row["accuracy"]
    (chance,) = [row["value"] for row in drawn(figures["training"]) if row["what"] == "exact chance"]
    assert chance == pytest.approx(runs.chance)
    ends = drawn(figures["agreement"])
    written = {(row["split"], row["agreement"]): row for row in table(done, "agreement")}
    assert len(ends) == len(written) - 2, "all but how far seeds agree, on both splits"
    for row in ends:
        line = written[row["split"], row["agreement"]]
        assert [row[name] for name in ("value", "low", "high", "chance")] == pytest.approx(
            [float(line[name]) for name in ("value", "low", "high", "chance")]
        )
    bars, points, ticks, known = figures["agreement"].to_dict()["layer"]
    fields = [layer["encoding"]["x"]["field"] for layer in (bars, points, ticks, known)]
    assert fields == ["low", "value", "chance", "authors"]


def test_every_claim_of_the_experiment_is_decided_but_bleu(conducted):
    assert {finding.claim for finding in conducted[0].result.findings} == {
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


def test_evidence_separates_attention_on_a_class_s_own_words_from_attention_on_the_other_s(conducted):
    runs = conducted[2]
    (uniform,) = runs.of("uniform")
    beta_uf = runs.field(uniform, best_step(uniform), "valid", "gamma")
    turned = ScoreField(-beta_uf.values, beta_uf.offsets)
    nothing = np.ones((2, 2, len(beta_uf)))
    lines = Between(runs, [1, 2], [beta_uf, turned], nothing, nothing).evidence()
    assert len(lines) == 2 * 2 * 2  # seeds, classes, for and against
    own = [line["texts"] for line in lines if (line["seed"], line["evidence"]) == (1, FOR)]
    assert sum(own) == len(runs.texts["valid"])
    for line in lines:
        looked_for = (line["seed"], line["evidence"]) in ((1, FOR), (2, AGAINST))
        assert line["A"] == pytest.approx(1) if looked_for else line["A"] < line["chance"]


# --- the rules


def series(name, values, measured="expected"):
    """A series of one pair and one evaluation with these values, one a text."""
    array = np.asarray(values, dtype=float)[None, None]
    return Series(name, (-1,), {m: array if m == measured else np.zeros_like(array) for m in MEASURES})


def story(valid, untrained=0.5, best=0.9):
    """The experiment with these agreements measured."""
    xis = {name: valid.xi(name, "expected", best) for name in COLUMNS if name in valid.series}
    made = told(estimates=estimates(valid, xis, untrained, best), comparison=len(valid.accuracy))
    made.xi = {("valid", "expected"): xis}
    return made


def told(comparison=2, **tables):
    """The experiment with these tables of two reference runs."""
    made = AgreementExperiment()
    made.order = Order("paper", row="sst")
    made.record = Record(tables, {"reference": [20, 21], "comparison": list(range(comparison))})
    return made


def rows(*splits):
    """Their lines of the table of agreements, as far as rules read them."""
    return [
        {
            "split": split.split,
            "agreement": f"A({name})",
            "value": one.value(),
            **low_high(one.interval()),
            "chance": float(split.chance.mean()),
            "tau": one.value("tau"),
            **low_high(one.interval("tau"), "tau_"),
        }
        for split in splits
        for name, one in split.series.items()
    ]


def in_context(valid):
    """How xi(alpha, beta) was read, and the part that it makes."""
    made = story(valid)
    (part,) = made.in_context()
    assert part.name == "xi(alpha, beta)"
    return made.xi["valid", "expected"]["alpha, beta"], part


@pytest.mark.parametrize(
    ("tau", "verdict"), [(np.full(50, 0.3), "holds"), (np.full(50, 0.05), "fails"), ([0.9, -0.6] * 25, "undecided")]
)
def test_tau_counts_from_a_tenth(tau, verdict):
    every = {name: series(name, tau, "tau") for name in COLUMNS}
    valid = Agreements("valid", every, np.full(50, 0.1), np.zeros((1, 1)))
    parts = list(told(agreement=rows(valid)).with_tau())
    assert [(part.name, part.verdict) for part in parts] == [(f"tau({name})", verdict) for name in COLUMNS]
    assert {part.direction for part in parts} == {"undecided" if verdict == "undecided" else "holds"}


@pytest.mark.parametrize(
    ("learned", "uniform", "verdict"),
    [([1.0] * 30, [0.0] * 30, "holds"), ([0.0] * 30, [1.0] * 30, "fails"), ([1, 0] * 15, [0, 1] * 15, "undecided")],
)
def test_attention_shapes_the_lexicon_where_the_difference_lies_above_zero(learned, uniform, verdict):
    both = {"alpha, beta": series("alpha, beta", learned), "alpha, beta_uf": series("alpha, beta_uf", uniform)}
    followed = Series(SEEDS_AGREE, (0, 10), {m: np.zeros((1, 2, 30)) for m in MEASURES})
    valid = Agreements("valid", both | {SEEDS_AGREE: followed}, np.full(30, 0.1), np.zeros((1, 2)))
    assert told(estimates=estimates(valid, {}, 0.5, 0.9)).shapes_lexicon().verdict == verdict


def test_each_claim_is_decided_by_the_agreements_it_speaks_of():
    """Every agreement has a level of its own, on each split."""
    names = (*COLUMNS, "alpha, alpha_ibm", "beta_uf, beta_ibm", "beta_px, beta_ibm")
    valid, train = (
        Agreements(
            split,
            {name: series(name, [0.3 + start + 0.01 * number] * 30) for number, name in enumerate(names)},
            np.full(30, 0.1),
            np.zeros((1, 1)),
        )
        for split, start in (("valid", 0.0), ("train", 0.2))
    )
    made = told(agreement=rows(valid, train))
    levels = {f"A({name})": 0.3 + 0.01 * number for number, name in enumerate(names)}
    decided = {
        made.follows_lexicon: ["A(alpha, beta_uf)", "A(alpha, beta)"],
        made.like_ibm1: ["A(alpha, alpha_ibm)", "A(beta_uf, beta_ibm)", "A(beta_px, beta_ibm)"],
    }
    for rule, parts in decided.items():
        assert [(part.name, part.verdict) for part in rule()] == [(name, "holds") for name in parts]
        assert [part.effect for part in rule()] == pytest.approx([levels[name] for name in parts])
    assert made.uniform_training_is_the_proxys().effect == pytest.approx(levels["A(beta_uf, beta_px)"])
    assert made.influence_follows_lexicon().effect == pytest.approx(levels["A(delta, beta_uf)"])
    on_train = [part.effect - levels[part.name] for part in made.on_training_texts()]
    assert on_train == pytest.approx([0.2] * len(COLUMNS))
    assert list(made.with_bleu()) == []


def agreements(agree, accuracy, level):
    """Comparison runs whose attention agrees with the reference's so much, and one agreement of this level."""
    agree, accuracy = np.asarray(agree, dtype=float), np.asarray(accuracy, dtype=float)
    values = {m: agree[..., None].repeat(4, axis=2) for m in MEASURES}
    steps = tuple(range(0, 10 * agree.shape[1], 10))
    both = {SEEDS_AGREE: Series(SEEDS_AGREE, steps, values), "alpha, beta": series("alpha, beta", [level] * 4)}
    return Agreements("valid", both, np.full(4, 0.1), accuracy)


RISING = [[0.1, 0.4, 0.6, 0.8]] * 3
BETTER = [[0.5, 0.7, 0.8, 0.9], [0.5, 0.72, 0.8, 0.9], [0.5, 0.74, 0.8, 0.9]]


def test_xi_is_read_where_attention_first_agrees_more():
    xi, part = in_context(agreements(RISING, BETTER, 0.3))
    assert xi.first.step == 10
    assert xi.value == xi.first.performance == pytest.approx(0.72)
    assert xi.interval[0] < 0.72 < xi.interval[1]
    assert part.verdict == "holds"


def test_an_agreement_never_exceeded_is_read_as_the_best():
    xi, part = in_context(agreements(RISING, BETTER, 0.85))
    assert xi.first is None
    assert xi.value == 0.9
    assert part.effect == pytest.approx(0.4)
    assert part.verdict == "holds"


def test_xi_near_the_untrained_performance_fails():
    xi, part = in_context(agreements(RISING, BETTER, 0.05))
    assert xi.first.step == 0
    assert part.verdict == "fails"


def one_run(texts, accuracy, levels):
    """A single comparison run whose attention agrees so on each text, (steps, texts), and one agreement by text."""
    texts = np.asarray(texts, dtype=float)
    steps = tuple(range(0, 10 * len(texts), 10))
    both = {
        SEEDS_AGREE: Series(SEEDS_AGREE, steps, dict.fromkeys(MEASURES, texts[None])),
        "alpha, beta": series("alpha, beta", levels),
    }
    return Agreements("valid", both, np.full(texts.shape[1], 0.1), np.asarray([accuracy], dtype=float))


def spread(shares, texts=200):
    """Texts of which this share agrees, at every step: (steps, texts)."""
    return np.array([np.arange(texts) < share * texts for share in shares], dtype=float)


@pytest.mark.parametrize(("share", "step", "verdict"), [(0.25, 10, "holds"), (0.05, 0, "fails"), (0.9, None, "holds")])
def test_one_comparison_run_is_decided_over_examples(share, step, verdict):
    xi, part = in_context(one_run(spread([0.1, 0.4, 0.6, 0.8]), BETTER[0], spread([share])[0]))
    read_at = xi.first.step if xi.first else None
    assert (read_at, part.over, part.verdict) == (step, "examples", verdict)
    assert part.interval[0] - 1e-9 <= part.effect <= part.interval[1] + 1e-9
    assert "One comparison run" in part.detail


def test_an_agreement_near_a_step_of_the_curve_is_read_with_the_doubt_of_its_texts():
    # 0.39 and 0.40 of 200 texts: drawn again, the order of the two changes unless both count the same texts.
    curve = spread([0.1, 0.4, 0.6, 0.8])
    together, _ = in_context(one_run(curve, BETTER[0], spread([0.39])[0]))
    apart, _ = in_context(one_run(curve, BETTER[0], spread([0.39])[0][::-1]))
    assert together.first.step == apart.first.step == 10
    assert together.interval == pytest.approx((0.7, 0.8))  # where no text of the difference is drawn, none exceeds
    assert apart.interval[1] > 0.7


def test_undefined_texts_are_left_out_of_a_single_run_too():
    curve = np.hstack([spread([0.1, 0.4, 0.6, 0.8]), np.full((4, 50), np.nan)])
    levels = np.append(spread([0.25])[0], np.full(50, np.nan))
    xi, _ = in_context(one_run(curve, BETTER[0], levels))
    assert (xi.first.step, xi.first.performance) == (10, 0.7)
    assert xi.interval == pytest.approx((0.7, 0.7))


def test_one_run_and_one_text_decide_nothing():
    measured = one_run([[0.1], [0.4], [0.6], [0.8]], BETTER[0], [0.3])
    xi, part = in_context(measured)
    assert xi.interval is None
    assert part.verdict == "undecided"
    assert part.detail.endswith("One text has no interval.")
    part = story(measured).rises_with_performance()
    assert (part.verdict, part.interval) == ("undecided", None)
    assert part.detail.endswith("One of the examples has no interval.")


@pytest.mark.parametrize(("agree", "verdict"), [(RISING, "holds"), ([row[::-1] for row in RISING], "fails")])
def test_agreement_and_performance_rise_together(agree, verdict):
    part = story(agreements(agree, BETTER[: len(agree)], 0.3)).rises_with_performance()
    assert (part.over, part.verdict) == ("comparison seeds", verdict)


@pytest.mark.parametrize(
    ("shares", "verdict"),
    [([0.1, 0.4, 0.6, 0.8], "holds"), ([0.8, 0.6, 0.4, 0.1], "fails"), ([0.5, 0.4, 0.45, 0.5], "undecided")],
)
def test_with_one_run_they_rise_together_over_examples(shares, verdict):
    texts = spread(shares)
    generator = np.random.default_rng(0)
    for row in texts:
        generator.shuffle(row)
    part = story(one_run(texts, BETTER[0], texts[0])).rises_with_performance()
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

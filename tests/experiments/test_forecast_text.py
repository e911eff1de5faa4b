"""Forecast-text: end to end on a little corpus, its plan, its measures, and comparisons whose answer is known."""

import csv

import numpy as np
import pytest
from tests.lab.drawn import drawn
from tests.lab.in_this_process import InThisProcess
from tests.news import write_news

from attnlab.data.altered import keywords, remove_keywords, shuffle_labels
from attnlab.data.labelled_text import load_corpus
from attnlab.errors import UsageError
from attnlab.experiments.forecast_text import experiment as forecast_text
from attnlab.experiments.forecast_text.experiment import (
    SIZES,
    VARIANTS,
    ForecastText,
    Size,
    Variant,
    forecast_figure,
    verdict_table,
)
from attnlab.experiments.forecast_text.rivals import MEASURES, measure_figure, measure_table, measure_texts
from attnlab.experiments.texts import corpora
from attnlab.experiments.texts.corpora import TextRuns, text_setting
from attnlab.families.texts.reading import corpus_of
from attnlab.lab.conduct import conduct
from attnlab.lab.corpus_runs import best_step, steps_of
from attnlab.lab.experiment import Order
from attnlab.lab.outcomes import Runs
from attnlab.measures.agreement import top_agreement
from attnlab.runs.loop import finished
from attnlab.runs.store import RunStore
from attnlab.theory.forecast import LIKELY, WEAK, prospect_of

ROLES = dict.fromkeys(("reference", "comparison", "uniform", "frozen", "proxy"), 1)
FEW = (Variant("as it is"), Variant("100 % shuffled", shuffled=1.0), Variant("5 removed", without_keywords=5))


@pytest.fixture(scope="module")
def news(tmp_path_factory):
    """A corpus of our own sentences in place of AG News."""
    root = tmp_path_factory.mktemp("forecast-text")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ATTNLAB_CACHE", str(root / "cache"))
        patch.setenv("ATTNLAB_DATA", str(write_news(root / "data", train=150, test=40)))
        corpus_of.cache_clear()
        yield root
        corpus_of.cache_clear()


@pytest.fixture(scope="module")
def conducted(news):
    """The experiment with three variants, two pairs of runs of each, and ten updates of the real network."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(corpora.SIZES, "quick", corpora.Size(ROLES, 20, 1, 40))
        patch.setitem(SIZES, "quick", Size(("ag_news",), 10, 30, 2))
        patch.setattr(forecast_text, "VARIANTS", FEW)
        experiment, order, store = ForecastText(), Order("quick"), RunStore(news / "runs")
        done = conduct(experiment, order, store, InThisProcess(), news / "results", command="attnlab run")
        jobs = experiment.plan(order, {})
        yield done, jobs, {job.spec.id: finished(job.spec, job.schedule, store) for job in jobs}


def table(done, name):
    with (done.folder / "tables" / f"{name}.csv").open(newline="", encoding="utf-8") as lines:
        return list(csv.DictReader(lines))


def test_every_variant_is_forecast_and_measured(conducted):
    done, jobs, _ = conducted
    assert len(jobs) == len({job.spec.id for job in jobs}) == 12
    assert {job.schedule.evaluations for job in jobs} == {(0, 10)}
    rows = table(done, "variants")
    assert [row["variant"] for row in rows] == [variant.name for variant in FEW]
    assert [float(row["wrong_labels"]) > 0.3 for row in rows] == [False, True, False]
    for row in rows:
        assert float(row["low"]) <= float(row["excess"]) <= float(row["high"])
        assert float(row["agreement"]) - float(row["chance"]) == pytest.approx(float(row["excess"]))
    assert done.result.findings == ()
    assert (done.folder / "figures" / "forecast.svg").is_file()
    assert "as it is (gain 0." in done.result.summary


def test_measured_is_the_agreement_of_the_fields_that_were_kept(conducted):
    """By hand: each pair's reference against its comparison run, the largest over evaluations, less chance."""
    done, jobs, trained = conducted
    runs = TextRuns("ag_news", "quick", Runs([]))
    for number, row in enumerate(table(done, "variants")):
        best, last = [], []
        for pair in range(2):
            reference, other = (trained[job.spec.id] for job in jobs[4 * number + 2 * pair :][:2])
            alpha = runs.field(reference, best_step(reference), "valid", "alpha")
            betas = [runs.field(other, step, "valid", "gamma") for step in steps_of(other)]
            best.append(max(top_agreement(alpha, beta).expected.mean() for beta in betas))
            end = runs.field(reference, steps_of(reference)[-1], "valid", "alpha")
            last.append(top_agreement(end, betas[-1]).expected.mean())
        lengths = alpha.lengths
        assert len(lengths) == 30
        chance = (np.ceil(0.05 * lengths) / lengths).mean()
        assert float(row["excess"]) == pytest.approx(np.mean(best) - chance)
        assert float(row["at_end"]) == pytest.approx(np.mean(last) - chance)


def test_pairs_of_runs_have_shufflings_of_their_own(conducted):
    _, jobs, _ = conducted
    tasks = [job.spec.task for job in jobs]
    assert [task.shuffle_seed for task in tasks] == [0] * 6 + [1, 1] + [0] * 4
    shuffled = [task.build().content for task in tasks[4:8]]
    assert shuffled[0] == shuffled[1] != shuffled[2] == shuffled[3]
    assert {job.spec.init_seed for job in jobs} == {20, 13, 21, 14}


def test_the_words_removed_are_named(conducted):
    (row,) = table(conducted[0], "keywords")
    corpus = load_corpus("ag_news")
    assert row["removed"] == "5"
    assert row["first"].split() == [corpus.words[word] for word in keywords(corpus)[:5]]


# --- the plan


@pytest.mark.parametrize("preset", ["reduced", "paper"])
def test_unaltered_runs_are_those_of_the_experiment_agreement(news, preset):
    for role, seeds in (("reference", (20, 21)), ("comparison", (13, 14))):
        for pair, seed in enumerate(seeds):
            ours = VARIANTS[0].setting("ag_news", role, pair, preset).job(seed, preset)
            theirs = text_setting("ag_news", role, preset).job(seed, preset)
            assert (ours.label, theirs.label) == (f"ag_news, as it is, {role} {seed}", f"ag_news {role} {seed}")
            assert ours.spec.id == theirs.spec.id
            assert set(ours.schedule.evaluations) < set(theirs.schedule.evaluations)
            assert ours.schedule.evaluations[-1] == ours.schedule.steps == SIZES[preset].steps
            altered = [variant.setting("ag_news", role, pair, preset).spec(seed).id for variant in VARIANTS[1:]]
            assert theirs.spec.id not in altered


# --- the measures


def test_measures_fall_as_labels_are_shuffled_and_keywords_removed(news):
    corpus = load_corpus("ag_news")
    whole, nothing = measure_texts(corpus).values, measure_texts(shuffle_labels(corpus, 1.0)).values
    without = measure_texts(remove_keywords(corpus, 8)).values
    assert list(whole) == list(MEASURES)
    for name in MEASURES:
        assert whole[name] > nothing[name], name
        if name != "derivative_gain":  # which <unk>, now the commonest word, may move either way
            assert whole[name] > without[name], name
    assert whole["logistic_accuracy"] > 0.3  # nearly all of the half that a majority gets wrong
    assert abs(nothing["logistic_accuracy"]) < 0.15
    assert abs(nothing["gain_above_shuffled"]) < 0.25 * whole["gain_above_shuffled"]
    assert abs(nothing["mutual_information_above_shuffled"]) < 0.25 * whole["mutual_information_above_shuffled"]


def test_measures_do_not_look_at_validation_texts(news):
    corpus = load_corpus("ag_news")
    other = with_other_validation(corpus)
    assert measure_texts(corpus).values == measure_texts(other).values


def with_other_validation(corpus):
    return type(corpus)(corpus.name, corpus.classes, corpus.words, corpus.train, corpus.train, corpus.notes)


def test_nothing_but_unknown_words_is_refused_in_a_sentence(news):
    with pytest.raises(UsageError, match="one word only"):
        measure_texts(remove_keywords(load_corpus("ag_news"), 1000))


# --- comparisons


def made(corpus, variant, gain, excess, last=0.0, accuracy=0.1):
    """A variant whose forecast and outcome are known."""
    return {
        "corpus": corpus,
        "variant": variant,
        **dict.fromkeys(MEASURES, 0.0),
        "gain": gain,
        "logistic_accuracy": accuracy,
        "forecast": prospect_of((gain - 0.01, gain + 0.01)),
        "excess": excess,
        "at_end": last,
    }


@pytest.fixture
def known():
    """Over all variants the gain is wrong about one; within each corpus it is right."""
    return [
        made("one", "a", 0.5, 0.4, accuracy=0.4),
        made("one", "b", 0.2, 0.2, accuracy=0.2),
        made("one", "c", -0.1, 0.0, accuracy=0.0),
        made("two", "a", 0.3, 0.5, accuracy=0.5),
        made("two", "b", 0.1, 0.3, accuracy=0.3),
        made("two", "c", -0.2, 0.1, accuracy=0.1),
    ]


def test_correlations_are_over_all_variants_and_within_corpora(known):
    rows = {(row["measure"], row["over"]): row for row in measure_table(known) if row["read"] == "best"}
    assert rows["logistic_accuracy", "all"]["spearman"] == pytest.approx(1)
    assert rows["gain", "one"]["spearman"] == rows["gain", "two"]["spearman"] == pytest.approx(1)
    assert rows["gain", "one"]["low"] is None
    # ranks of gain 6 4 2 5 3 1 against 5 3 1 6 4 2: all six differ by one
    assert rows["gain", "all"]["spearman"] == pytest.approx(1 - 6 * 6 / (6 * 35))
    assert rows["gain", "all"]["low"] < rows["gain", "all"]["spearman"] <= rows["gain", "all"]["high"]
    assert rows["information", "all"]["spearman"] is None, "a constant has no rank correlation"


def test_an_outcome_that_is_constant_has_no_correlation(known):
    rows = [row for row in measure_table(known) if row["read"] == "last"]
    assert {row["spearman"] for row in rows} == {None}
    assert {row[end] for row in rows for end in ("low", "high")} == {None}


def test_the_summary_and_the_verdicts_say_what_was_measured(known):
    story = ForecastText()
    story.variants, story.measures = known, measure_table(known)
    said = story.summary()
    assert "A(alpha, beta) less chance on two: 0.500 a (gain 0.300), 0.300 b (gain 0.100), 0.100 c" in said
    assert "over 6 variants: 0.83 (95 % interval" in said
    assert "held-out accuracy, less the majority's 1.00" in said
    assert "information of the alignment undefined" in said
    verdicts = {row["forecast"]: row for row in verdict_table(known)}
    likely, none = verdicts["likely to be learned"], verdicts["no reason to be learned"]
    assert (likely["variants"], likely["least"], likely["most"]) == (3, pytest.approx(0.2), pytest.approx(0.5))
    assert (none["variants"], none["mean"]) == (2, pytest.approx(0.05))


def test_the_forecast_s_figure_draws_gain_against_agreement(known):
    chart = forecast_figure([row | {"low": 0.0, "high": 1.0, "gain_low": 0.0, "gain_high": 1.0} for row in known])
    rows = drawn(chart)
    assert [row["gain"] for row in rows[:2]] == [WEAK, LIKELY]
    points = {(row["corpus"], row["variant"]): (row["gain"], row["excess"]) for row in rows if "variant" in row}
    assert points == {(row["corpus"], row["variant"]): (row["gain"], row["excess"]) for row in known}
    *_, across, along, dots = (layer["encoding"] for layer in chart.to_dict()["layer"])
    assert [across[end]["field"] for end in ("x", "x2", "y")] == ["gain_low", "gain_high", "excess"]
    assert [along[end]["field"] for end in ("x", "y", "y2")] == ["gain", "low", "high"]
    assert (dots["x"]["field"], dots["y"]["field"]) == ("gain", "excess")


def test_the_figure_of_measures_draws_correlations_at_the_best_evaluation(known):
    measures = measure_table(known)
    rows = drawn(measure_figure(measures))
    right = {
        (row["title"], row["over"]): row["spearman"]
        for row in measures
        if row["read"] == "best" and row["spearman"] is not None
    }
    assert len(right) == 6, "two measures that vary, over all and in each corpus"
    assert {(row["title"], row["over"]): row["spearman"] for row in rows} == right

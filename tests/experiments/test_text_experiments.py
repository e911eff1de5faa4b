"""The experiments on labelled texts from end to end: real texts, the real network, a few updates."""

import csv
import json
import math

import numpy as np
import pytest
from tests.lab.drawn import drawn
from tests.lab.in_this_process import InThisProcess

from attnlab.errors import UsageError
from attnlab.experiments.forecast_text.experiment import ForecastText
from attnlab.experiments.texts import corpora
from attnlab.experiments.texts.corpora import ROWS, Size, TextExperiment, text_setting
from attnlab.lab.claims import claim, load_claims, outcome_of
from attnlab.lab.conduct import conduct
from attnlab.lab.experiment import Order
from attnlab.lab.registry import find_experiment
from attnlab.runs.loop import train
from attnlab.runs.store import RunStore

ROWED = ("frozen-lexicon", "uniform-overtraining", "saliency", "logistic-proxy")
HERE = pytest.mark.needs_data("sst", "sms_spam")


@pytest.fixture(scope="module")
def small():
    """Twenty updates, forty texts."""
    roles = dict.fromkeys(("reference", "comparison", "uniform", "frozen", "proxy"), 1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(corpora.SIZES, "quick", Size(roles, steps=20, passes=1, texts=40))
        yield


@pytest.fixture(scope="module")
def ran(small, tmp_path_factory):
    """Conducts an experiment once; all share their runs."""
    place, done = tmp_path_factory.mktemp("texts"), {}

    def go(name):
        if name not in done:
            experiment = find_experiment(name)
            store, results = RunStore(place / "runs"), place / "results"
            done[name] = conduct(experiment, order_of(name), store, InThisProcess(), results, command="attnlab run")
        return done[name]

    return go


def order_of(name):
    return Order("quick", row="sst" if find_experiment(name).rows else "")


def lines(folder, table):
    with (folder / "tables" / f"{table}.csv").open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


@HERE
@pytest.mark.parametrize("name", [*ROWED, "sms"])
def test_a_result_is_whole(ran, name):
    done = ran(name)
    claims = {claim.id for claim in load_claims() if name in claim.experiments}
    assert {finding.claim for finding in done.result.findings} == claims
    assert all(finding.parts for finding in done.result.findings)
    for table in done.result.tables.values():
        assert table
        assert all(list(row) == list(table[0]) for row in table)
        assert all(math.isfinite(value) for row in table for value in row.values() if isinstance(value, float))
    assert all((done.folder / "figures" / f"{figure}.png").is_file() for figure in done.result.figures)
    document = json.loads((done.folder / "result.json").read_text(encoding="utf-8"))
    assert document["seeds"]
    assert any("20 updates instead of 4000" in note for note in document["notes"])
    runs = [row["run"] for row in done.result.tables["runs"]]
    assert len(set(runs)) == len(runs) == len(find_experiment(name).plan(order_of(name), {}))
    assert "nan" not in document["summary"]


@HERE
@pytest.mark.parametrize("name", ROWED)
def test_a_row_has_its_page(ran, name):
    folder = ran(name).folder.parents[1]
    page = find_experiment(name).report(folder)
    text = page.read_text(encoding="utf-8")
    assert page == folder / "report.html"
    assert "SST (quick)" in text
    assert ran(name).result.tables  # the page was made from the folder, after the runs were read
    for finding in ran(name).result.findings:
        outcome, weakly = outcome_of(claim(finding.claim).stance, finding.parts)
        said = f"weakly {outcome}" if weakly else outcome
        assert f"<td>{finding.claim}</td><td>{said}</td><td>{said}</td>" in text


def trained(done, role, seed):
    """One of the runs on SST."""
    job = text_setting("sst", role, "quick").job(seed, "quick")
    return train(job.spec, job.schedule, RunStore(done.folder.parents[3] / "runs"))


def agreement_by_hand(u, v):
    """Is u's highest position among the highest 5 % of v? No two of these numbers tie."""
    at = int(np.argmax(u))
    return float(sum(value > v[at] for value in v) < math.ceil(0.05 * len(v)))


def rows_of(run, step, split, column):
    table = run.run.fields(step).to_pydict()
    return [row for row, of in zip(table[column], table["split"], strict=True) if of == split]


@HERE
def test_the_frozen_lexicons_curves_are_those_of_the_stored_fields(ran, small):
    done = ran("frozen-lexicon")
    runs = {role: trained(done, role, seed) for role, seed in (("reference", 20), ("uniform", 12), ("frozen", 30))}
    best = max(runs["reference"].rows, key=lambda row: row["accuracy"])["step"]
    alpha = rows_of(runs["reference"], best, "valid", "alpha")
    curves = {(row["what"], int(row["step"])): float(row["value"]) for row in lines(done.folder, "curves")}
    assert len(curves) == 6, "two agreements at three evaluations"
    for name, role, column in (("A(alpha, alpha_fr)", "frozen", "alpha"), ("A(alpha, beta_uf)", "uniform", "gamma")):
        for step in (0, 10, 20):
            other = rows_of(runs[role], step, "valid", column)
            by_hand = np.mean([agreement_by_hand(u, v) for u, v in zip(alpha, other, strict=True)])
            assert curves[name, step] == pytest.approx(by_hand)
    shown = [row for row in drawn(done.result.figures["curves"]) if "step" in row]
    assert {(row["what"], row["step"]): row["value"] for row in shown} == curves
    (line,) = lines(done.folder, "table9")
    largest = max(value for (name, _), value in curves.items() if name == "A(alpha, alpha_fr)")
    assert float(line["A(alpha, alpha_fr), largest"]) == pytest.approx(largest)
    assert line["held_out_texts"] == "20"


@HERE
def test_a_frozen_run_keeps_its_lexicon(ran, small):
    run = trained(ran("frozen-lexicon"), "frozen", 20)
    start, end = (rows_of(run, step, "valid", "gamma") for step in (0, 20))
    assert start == end
    assert rows_of(run, 0, "valid", "alpha") != rows_of(run, 20, "valid", "alpha")


@HERE
def test_overtraining_draws_agreement_and_both_accuracies(ran):
    done = ran("uniform-overtraining")
    reference, uniform = trained(done, "reference", 20), trained(done, "uniform", 12)
    best = max(reference.rows, key=lambda row: row["accuracy"])["step"]
    alpha = rows_of(reference, best, "valid", "alpha")
    shown = drawn(done.result.figures["curves"])
    curves = {(row["what"], row["step"]): row["value"] for row in shown if "step" in row}
    for row in uniform.rows:
        other = rows_of(uniform, row["step"], "valid", "gamma")
        by_hand = np.mean([agreement_by_hand(u, v) for u, v in zip(alpha, other, strict=True)])
        assert curves.pop(("A(alpha, beta_uf)", row["step"])) == pytest.approx(by_hand)
        assert curves.pop(("validation accuracy", row["step"])) == row["accuracy"]
        assert curves.pop(("training accuracy", row["step"])) == row["train_accuracy"]
    assert not curves
    (chance,) = [row["value"] for row in shown if row["what"] == "exact chance"]
    assert chance == pytest.approx(np.mean([math.ceil(0.05 * len(row)) / len(row) for row in alpha]))


@HERE
def test_the_proxys_figure_draws_the_text_s_direction(ran):
    result = ran("logistic-proxy").result
    table = {(row["what"], row["step"]): row["value"] for row in result.tables["curves"]}
    curves = {(row["what"], row["step"]): row["value"] for row in drawn(result.figures["curves"]) if "step" in row}
    assert {what for what, _ in curves} == {"A(beta_uf, beta_px)", "A(beta_uf, beta_log)"}
    assert curves.items() <= table.items()
    (line,) = result.tables["table10"]
    for name in ("A(beta_uf, beta_px)", "A(beta_uf, beta_log)"):
        assert max(value for (what, _), value in curves.items() if what == name) == pytest.approx(
            line[f"{name}, largest"]
        )


@HERE
def test_seeds_are_compared_both_ways(ran):
    result = ran("sms").result
    assert [row["corpus"] for row in result.tables["corpora"]] == ["sms", "sst"]
    assert {row["paper_median_length"] for row in result.tables["corpora"] if row["corpus"] == "sms"} == {13}
    assert [row["median_length"] for row in result.tables["corpora"] if row["corpus"] == "sms"] == [13]
    assert {(row["corpus"], row["class"]) for row in result.tables["evidence"]} == {
        ("sms", "ham"),
        ("sms", "spam"),
        ("sst", "negative"),
        ("sst", "positive"),
    }
    assert {finding.verdict for finding in result.findings} == {"undecided"}, "two seeds have no interval"


@HERE
def test_the_fitted_proxy_has_the_weights_of_logistic_regression(ran):
    (line,) = ran("logistic-proxy").result.tables["table10"]
    assert line["weights_apart"] < 0.01 * line["weights_spread"]
    words = ran("logistic-proxy").result.tables["words"]
    assert min(row["occurrences"] for row in words) >= 10
    assert len(words) == 500
    logistic = [row["logistic"] for row in words]
    assert logistic == sorted(logistic)


# --- which rows are run


def default_rows(preset):
    return TextExperiment().default_rows(preset)


def test_quick_is_one_small_corpus():
    assert default_rows("quick") == ["sst"]


def test_rows_are_those_that_are_there(tmp_path, monkeypatch):
    monkeypatch.setenv("ATTNLAB_DATA", str(tmp_path))
    with pytest.raises(UsageError, match="none of the corpora"):
        default_rows("reduced")
    (tmp_path / "sms_spam").mkdir()
    (tmp_path / "sms_spam" / "SMSSpamCollection").write_text("ham\thello\n")
    assert default_rows("reduced") == default_rows("paper") == ["sms"]
    monkeypatch.delenv("ATTNLAB_DATA")
    with pytest.raises(UsageError, match="ATTNLAB_DATA"):
        default_rows("paper")


@pytest.mark.needs_data("sst", "sms_spam", "ag_news", "imdb", "20newsgroups", "yelp", "amazon_blitzer", "multi30k")
def test_long_texts_wait_for_reduced():
    assert default_rows("reduced") == list(ROWS)
    assert default_rows("paper") == ["ag_news", "sst", "sms"]
    for name in ROWED:
        pairs = ["multi30k"] if name == "uniform-overtraining" else []
        assert find_experiment(name).default_rows("paper") == ["ag_news", "sst", "sms", *pairs]


@pytest.mark.needs_data("sst", "sms_spam", "ag_news")
@pytest.mark.parametrize(("preset", "count", "shared"), [("quick", 10, 0), ("reduced", 40, 4), ("paper", 60, 12)])
def test_forecast_text_shares_its_unaltered_runs(preset, count, shared):
    experiment = find_experiment("forecast-text")
    jobs = experiment.at_most(Order(preset), {})
    assert len({job.spec.id for job in jobs}) == len(jobs) == count
    theirs = {
        setting.spec(seed).id
        for name in {job.spec.task.corpus for job in jobs}
        for setting in (text_setting(name, role, preset) for role in ("reference", "comparison"))
        for seed in setting.seeds_at(Order(preset))
    }
    assert len(theirs & {job.spec.id for job in jobs}) == shared
    assert {job.spec.init_seed for job in experiment.plan(Order(preset, seeds=1), {})} == {20, 13}
    story = ForecastText()
    story.order = Order(preset)
    assert any(note.startswith(preset) for note in story.notes()) == (preset != "paper")

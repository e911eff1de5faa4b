"""Rows of translation, from end to end: captions of our own, the real network, a few updates."""

import csv
import json
import math

import numpy as np
import pytest
from tests.experiments.translating import little_corpora
from tests.lab.drawn import drawn
from tests.lab.in_this_process import InThisProcess

from attnlab.data.pieces import BEGIN, END
from attnlab.errors import UsageError
from attnlab.experiments.agreement.experiment import far_from_authors
from attnlab.experiments.agreement.shown import COLUMNS, EXAMPLES, own_pair
from attnlab.experiments.bitexts import corpora
from attnlab.experiments.bitexts.corpora import (
    CORPORA,
    PASSES,
    ROWS,
    SEEDS,
    PairRuns,
    bitext_of,
    bitexts_at_hand,
    evaluations,
    pair_setting,
    size_of,
)
from attnlab.lab.claims import load_claims
from attnlab.lab.conduct import conduct
from attnlab.lab.experiment import Order
from attnlab.lab.outcomes import Outcome, Runs
from attnlab.lab.registry import find_experiment
from attnlab.lab.wording import corpus_called
from attnlab.measures.agreements import SEEDS_AGREE
from attnlab.runs.loop import train
from attnlab.runs.store import RunStore

QUICK = Order("quick", row="multi30k")


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("translation")
    with little_corpora(folder / "data"):
        yield folder


@pytest.fixture(scope="module")
def ran(place):
    """Conducts an experiment once; all share their runs."""
    done = {}

    def go(name):
        if name not in done:
            store, results = RunStore(place / "runs"), place / "results"
            done[name] = conduct(find_experiment(name), QUICK, store, InThisProcess(), results, command="attnlab run")
        return done[name]

    return go


@pytest.fixture(scope="module")
def runs(place, ran):
    """The runs of agreement's row."""
    ran("agreement")
    outcomes = []
    for role in ("reference", "uniform", "comparison", "proxy"):
        setting = pair_setting("multi30k", role, "quick")
        job = setting.job(SEEDS[role], "quick")
        outcomes.append(
            Outcome(setting.name, SEEDS[role], train(job.spec, job.schedule, RunStore(place / "runs")), job.spec)
        )
    return PairRuns("multi30k", "quick", Runs(outcomes))


def lines(done, table):
    with (done.folder / "tables" / f"{table}.csv").open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize("name", ["agreement", "uniform-overtraining"])
def test_a_row_is_whole(ran, name):
    done = ran(name)
    claims = {claim.id for claim in load_claims() if name in claim.experiments}
    assert {finding.claim for finding in done.result.findings} == claims
    assert all(finding.parts for finding in done.result.findings)
    for table in done.result.tables.values():
        assert table
        assert all(list(row) == list(table[0]) for row in table)
        assert all(math.isfinite(value) for row in table for value in row.values() if isinstance(value, float))
    assert all((done.folder / "figures" / f"{figure}.svg").is_file() for figure in done.result.figures)
    document = json.loads((done.folder / "result.json").read_text(encoding="utf-8"))
    assert document["row"] == "multi30k"
    assert set(document["seeds"]) == set(find_experiment(name).pair_roles)
    assert "nan" not in document["summary"]
    assert any("6 updates instead of Multi30k's 36,000" in note for note in document["notes"])
    page = find_experiment(name).report(done.folder.parents[1]).read_text(encoding="utf-8")
    assert f"{corpus_called('multi30k')} (quick)" in page
    assert "roten Ball" not in page


def by_hand(u, v):
    """Is the highest position of u among the highest 5 % of v, word by word?"""
    hits = []
    for one, other in zip(u, v, strict=True):
        above = sum(value > other[int(np.argmax(one))] for value in other)
        hits.append(float(above < math.ceil(0.05 * len(other))))
    return np.array(hits)


def test_agreements_are_those_of_the_stored_fields(ran, runs):
    table = {(row["split"], row["agreement"]): row for row in lines(ran("agreement"), "agreement")}
    curves = {(row["what"], int(row["step"])): float(row["value"]) for row in lines(ran("agreement"), "curves")}
    (reference,), (uniform,) = runs.of("reference"), runs.of("uniform")
    best = max(reference.rows, key=lambda row: row["accuracy"])["step"]

    def field(run, step, split, name):
        kept = run.run.fields(step).to_pydict()
        return [np.array(row) for row, of in zip(kept[name], kept["split"], strict=True) if of == split]

    for split in ("valid", "train"):
        alpha = field(reference, best, split, "alpha")
        levels = [by_hand(alpha, field(uniform, step, split, "log_beta")).mean() for step in (0, 2, 4, 6)]
        assert float(table[split, "A(alpha, beta_uf)"]["value"]) == pytest.approx(max(levels))
        if split == "valid":
            assert [curves["A(alpha, beta_uf)", step] for step in (0, 2, 4, 6)] == pytest.approx(levels)
        chance = np.mean([math.ceil(0.05 * len(row)) / len(row) for row in alpha])
        assert float(table[split, "A(alpha, beta_uf)"]["chance"]) == pytest.approx(chance)
    shown = {(row["what"], row["step"]) for row in drawn(ran("agreement").result.figures["training"]) if "step" in row}
    assert {(f"A({name})", 6) for name in (*COLUMNS, SEEDS_AGREE)} <= shown


def test_words_of_a_sentence_are_drawn_together(runs):
    series = runs.follow("A", runs.alphas(), "uniform", "gamma")
    pairs = runs.texts["valid"]
    assert np.bincount(series.groups).tolist() == (pairs.target.lengths + 1).tolist()
    assert len(series.groups) == series.values["expected"].shape[2] == len(runs.lengths("valid"))
    assert set(runs.lengths("valid")[series.groups == 0]) == {pairs.source.lengths[0] + 2}


def test_bleu_is_performance_too(ran, runs):
    result = ran("agreement").result
    numbers = {row["table"]: row for row in result.tables["paper"]}
    assert list(numbers) == ["1, 4", "2", "6", "3, 5", "7"]
    (reference,) = runs.of("reference")
    assert numbers["3, 5"]["xi*"] == pytest.approx(max(row["bleu"] for row in reference.rows), abs=0.006)
    assert numbers["7"]["xi*"] == pytest.approx(max(row["train_bleu"] for row in reference.rows), abs=0.006)
    assert numbers["1, 4"]["xi*"] == pytest.approx(100 * max(row["accuracy"] for row in reference.rows), abs=0.006)
    by_bleu = {row["what"]: row for row in result.tables["estimates_bleu"]}
    untrained = runs.of("comparison")[0].rows[0]["bleu"] / 100
    best = max(row["bleu"] for row in reference.rows) / 100
    assert by_bleu["xi(alpha, beta_uf)"]["whole_way"] == pytest.approx(best - untrained)
    parts = next(finding.parts for finding in result.findings if finding.claim == "agreement-bleu")
    assert [part.name for part in parts] == [f"xi({name})" for name in COLUMNS]


def test_the_count_table_and_the_proxy_are_over_the_same_words(runs):
    for split in ("valid", "train"):
        lengths = runs.lengths(split).tolist()
        for field in (runs.beta_px(split), runs.beta_ibm(split)):
            assert field.lengths.tolist() == lengths
    words = runs.right("valid")
    assert runs.majority == max(np.mean(words == word) for word in set(words.tolist()))
    assert (words == END).sum() == len(runs.texts["valid"])


def test_beta_ibm_counts_pieces_with_their_marks(runs):
    """C by the equation: each output word spreads a count of one over its pair's positions."""
    counts = {}
    train_split = runs.corpus.train
    for k in range(len(train_split)):
        source = [BEGIN, *train_split.source.sentence(k).tolist(), END]
        for y in [*train_split.target.sentence(k).tolist(), END]:
            for x in source:
                counts[x, y] = counts.get((x, y), 0) + 1 / len(source)
    totals = {}
    for (x, _), value in counts.items():
        totals[x] = totals.get(x, 0) + value
    valid = runs.texts["valid"]
    source = [BEGIN, *valid.source.sentence(0).tolist(), END]
    first = int(valid.target.sentence(0)[0])
    expected = [counts.get((x, first), 0) / totals[x] if x in totals else 0 for x in source]
    assert runs.beta_ibm("valid").row(0).tolist() == pytest.approx(expected)


def test_attention_is_drawn_on_a_sentence_of_our_own(ran):
    table = ran("agreement").result.tables["attention"]
    assert sorted({row["step"] for row in table}) == [0, 6]
    for step in (0, 6):
        rows = [row for row in table if row["step"] == step]
        for output in {row["output"] for row in rows}:
            assert sum(row["weight"] for row in rows if row["output"] == output) == pytest.approx(1)
    assert drawn(ran("agreement").result.figures["attention"]) == table
    inputs = list(dict.fromkeys(row["input"] for row in table))
    spelled = "".join(one.split(" ", 1)[1] for one in inputs[1:-1]).replace("_", " ").strip()
    assert spelled == EXAMPLES["multi30k"][0].replace("T", "<unk>").replace("p", "<unk>"), "letters of no caption"


def test_our_own_pair_has_the_pieces_of_its_texts(place):
    pieces = bitext_of("multi30k").pieces
    pair = own_pair(pieces, ("a dog sees two men.", "ein Hund sieht zwei Männer."))
    assert pieces.decode(pair.source.sentence(0)) == "a dog sees two men."
    assert pair.target.text(0) == "ein Hund sieht zwei Männer."


def test_overtraining_follows_the_uniform_run(ran, runs):
    (line,) = ran("uniform-overtraining").result.tables["peak"]
    shown = drawn(ran("uniform-overtraining").result.figures["curves"])
    curves = {(row["what"], row["step"]): row["value"] for row in shown if "step" in row}
    (uniform,) = runs.of("uniform")
    for row in uniform.rows:
        assert curves["validation accuracy", row["step"]] == row["accuracy"]
    assert line["last_step"] == 6
    assert line["held_out_texts"] < len(runs.lengths("valid")), "whole sentences of one half"
    assert find_experiment("uniform-overtraining").story(QUICK, runs._runs.all()).whole == 36_000


# --- settings


def test_runs_are_the_papers(place):
    jobs = {role: pair_setting("multi30k", role, "paper").job(SEEDS[role], "paper") for role in SEEDS}
    assert {role: job.spec.init_seed for role, job in jobs.items()} == {
        "reference": 20,
        "comparison": 13,
        "uniform": 12,
        "linear": 20,
        "proxy": 20,
    }
    steps = {role: job.schedule.steps for role, job in jobs.items() if role != "proxy"}
    assert steps == {"reference": 36_000, "comparison": 20_000, "uniform": 20_000, "linear": 20_000}
    assert jobs["reference"].spec.batch == 16
    assert jobs["reference"].spec.evaluation_batch == 1014
    assert {role for role, job in jobs.items() if job.schedule.keep} == {"reference", "linear"}
    assert {role for role, job in jobs.items() if getattr(job.spec.model, "bleu", False)} == {"reference", "comparison"}
    a_pass = -(-60 // 64)
    assert jobs["proxy"].schedule.evaluations == tuple(range(0, 30 * a_pass + 1, a_pass))


def test_evaluations_are_the_papers(monkeypatch):
    monkeypatch.setattr(corpora, "FIRST", (0, 50, 100, 500, 1000, 1500))
    assert evaluations(36_000) == (0, 50, 100, 500, 1000, 1500, *range(2000, 36_001, 2000))
    assert evaluations(200) == (0, 50, 100, 200)


def test_another_corpus_has_its_own_number_of_passes(monkeypatch):
    class Few:
        train = range(32_000)

    monkeypatch.setattr(corpora, "bitext_of", lambda row: Few)
    assert size_of("libreoffice-en-nl", "paper").reference == 40 * 2000
    assert size_of("libreoffice-en-nl", "reduced").reference == 4000


def test_german_to_english_has_a_whole_reference_run_where_the_others_are_shortened():
    """So that it can be seen whether the direction explains the authors' higher BLEU."""
    size = size_of("multi30k-de-en", "reduced")
    assert (size.reference, size.others) == (36_000, 4000)
    assert size_of("multi30k", "reduced").reference == 4000
    assert size_of("multi30k-de-en", "quick") == size_of("multi30k", "quick")
    reference, other = (pair_setting("multi30k-de-en", role, "reduced") for role in ("reference", "uniform"))
    assert (reference.schedule.steps, other.schedule.steps) == (36_000, 4000)
    assert set(other.schedule.evaluations) < set(reference.schedule.evaluations)
    assert set(PASSES) < set(ROWS) == set(CORPORA)


def test_rows_are_chosen_by_what_is_there(place, monkeypatch):
    assert bitexts_at_hand(ROWS) == ["multi30k", "multi30k-de-en"]
    experiment = find_experiment("agreement")
    assert experiment.default_rows("quick") == ["sst"]
    assert set(ROWS) < set(experiment.rows)
    monkeypatch.delenv("ATTNLAB_DATA")
    with pytest.raises(UsageError, match="ATTNLAB_DATA"):
        bitexts_at_hand(ROWS)


def test_notes_name_what_is_far_from_the_authors():
    line = {"agreement": "A(alpha, beta_uf)", "split": "valid", "authors": 0.31, "difference": 0.02}
    assert "within 4 points" in far_from_authors([line])[0]
    assert "unexplained so far: A(alpha, beta_uf) valid -5.0" in far_from_authors([{**line, "difference": -0.05}])[0]
    assert far_from_authors([{**line, "authors": None, "difference": None}]) == []


def test_bleu_is_that_of_the_reference_at_its_best(ran, runs):
    (reference,) = runs.of("reference")
    valid, test = ran("agreement").result.tables["bleu"]
    assert valid["bleu"] == pytest.approx(max(row["bleu"] for row in reference.rows))
    assert (valid["pairs"], test["pairs"]) == (8, 12)
    assert valid["others"] is None, "not all validation pairs"
    assert "tok:13a" in test["signature"]

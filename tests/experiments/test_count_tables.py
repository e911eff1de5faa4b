"""Count tables: the tables of the papers, and verdicts that can turn out either way."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.special import expit

from attnlab.data.sentence_pairs import SentencePairs
from attnlab.experiments.count_tables import experiment as count_tables
from attnlab.experiments.count_tables.experiment import (
    CORPORA,
    CountTables,
    alignment,
    cancels,
    count_rows,
    decide,
    grows,
)
from attnlab.lab.claims import load_claims
from attnlab.lab.experiment import Order
from attnlab.theory.relevance import NEGATIVE, POSITIVE, Descent, closed_form, descend

BY_NAME = {corpus.name: corpus for corpus in CORPORA}


def counts(name):
    return {(row["input"], row["output"]): row["count"] for row in count_rows(BY_NAME[name])}


def test_permutations_tell_nothing_and_3_of_5_tell_something():
    (same,) = set(counts("permutations").values())
    assert same == pytest.approx(2)  # six sequences, a third for each pair of words
    chosen = counts("selections")
    # A word is in 36 of 60 sequences, two given words are in 18.
    assert {round(chosen[f"{i}", f"{i}'"], 9) for i in range(1, 6)} == {12.0}
    assert {round(chosen[f"{i}", f"{j}'"], 9) for i in range(1, 6) for j in range(1, 6) if i != j} == {6.0}


def test_the_mixture_tells_the_sets_and_not_the_words():
    table = counts("mixture")
    assert table["1", "3'"] == table["1", "1'"] > 0
    assert table["1", "4'"] == 0
    assert alignment(BY_NAME["mixture"])[2] == pytest.approx(np.full((3, 3), 1 / 3))


def test_class_words_and_translations_are_aligned():
    inputs, outputs, alpha = alignment(BY_NAME["classification"])
    assert outputs == ["positive"]
    assert inputs[int(alpha[0].argmax())] == "great"
    inputs, outputs, alpha = alignment(BY_NAME["translation"])
    assert dict(zip(outputs, (inputs[k] for k in alpha.argmax(axis=1)), strict=True))["movie"] == "Film"


def test_alignments_of_every_corpus_are_distributions():
    for corpus in CORPORA:
        assert alignment(corpus)[2].sum(axis=1) == pytest.approx(1)


def test_closed_form_is_the_flow():
    def flow(_, r):
        return expit(-POSITIVE @ r) * POSITIVE - expit(NEGATIVE @ r) * NEGATIVE

    times = np.linspace(0, 100, 11)
    solved = solve_ivp(flow, (0, 100), np.zeros(5), t_eval=times, rtol=1e-10, atol=1e-12).y
    assert solved[3] == pytest.approx(closed_form(times), abs=1e-6)
    assert solved[4] == pytest.approx(-closed_form(times), abs=1e-6)
    assert np.abs(solved[:3]).max() < 1e-9


def test_descent_lowers_what_it_should():
    run = descend(np.array([0.5, -0.5, 0.2, -1.0, 1.0]), steps=500)
    assert run.times[-1] == pytest.approx(50)
    assert run.relevance[-1] @ POSITIVE > run.relevance[0] @ POSITIVE
    assert run.relevance[-1] @ NEGATIVE < run.relevance[0] @ NEGATIVE


def moved(shared, great, bad):
    """A made-up run whose words change by so much."""
    return Descent(np.array([0.0, 1.0]), np.array([[0.0] * 5, [shared, -shared, shared, great, bad]]))


@pytest.mark.parametrize(
    ("runs", "verdicts"),
    [
        ([moved(0.01, 1.0, -1.0), moved(0.02, 1.0, -1.1)], ("holds", "holds")),
        ([moved(0.5, 1.0, -1.0), moved(0.6, 1.0, -1.1)], ("fails", "holds")),
        ([moved(0.01, 1.0, 0.5), moved(0.01, 1.1, 0.4)], ("holds", "fails")),
        ([moved(0.01, 1.0, -1.0), moved(0.9, 1.0, -1.0)], ("undecided", "holds")),
        ([moved(0.01, 1.0, -1.0)], ("undecided", "undecided")),
    ],
)
def test_verdicts_on_runs_whose_answer_is_known(runs, verdicts):
    assert (cancels(runs).verdict, grows(runs).verdict) == verdicts


@pytest.fixture(scope="module")
def result():
    return CountTables().analyse(Order("quick"), {})


def test_everything_is_there_and_decided(result):
    named = {claim.id for claim in load_claims() if "count-tables" in claim.experiments}
    assert {finding.claim for finding in result.findings} == named
    assert {finding.verdict for finding in result.findings} == {"holds"}
    assert set(result.figures) == {*BY_NAME, "relevance"}
    assert {row["corpus"] for row in result.tables["counts"]} == set(BY_NAME)
    for chart in result.figures.values():
        chart.to_dict()


def test_shared_words_stay_alike_while_the_other_is_found(result):
    rows = result.tables["iterations"]
    found = [row["great_to_grossartig"] for row in rows]
    assert found == sorted(found)
    assert (found[0], rows[-1]["this_to_dieser"]) == (0.25, pytest.approx(1 / 3))
    assert {row["spread_of_shared"] for row in rows} == {0.0}


def test_pairs_that_differ_in_nothing_separate_nothing(monkeypatch):
    sentence = (["This", "movie", "is", "great", "bad"], ["Dieser", "Film", "ist", "großartig", "schlecht"])
    alike = SentencePairs.from_tokens(*([side, side] for side in sentence))
    monkeypatch.setattr(count_tables, "TWO_PAIRS", count_tables.Corpus("alike", "alike", alike))
    (finding,) = (f for f in decide([moved(0, 1, -1)] * 2) if f.claim == "two-pairs-separate")
    assert [part.verdict for part in finding.parts] == ["fails", "fails", "holds"]
    assert finding.parts[1].effect == pytest.approx(0.2)


def test_nothing_is_trained():
    assert CountTables().plan(Order("paper"), {}) == CountTables().at_most(Order("paper"), {}) == []

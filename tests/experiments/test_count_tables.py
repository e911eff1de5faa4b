"""Count tables: the tables of the papers, and verdicts that can turn out either way."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.special import expit
from tests.lab.drawn import drawn

from attnlab.data.sentence_pairs import SentencePairs
from attnlab.experiments.count_tables import experiment as count_tables
from attnlab.experiments.count_tables.experiment import EXAMPLES, CountTables, Example, alignment, count_rows
from attnlab.lab.claims import load_claims
from attnlab.lab.experiment import Order
from attnlab.theory.relevance import NEGATIVE, POSITIVE, WORDS, Descent, closed_form, descend

BY_NAME = {example.name: example for example in EXAMPLES}


def counts(name):
    return {(row["input"], row["output"]): row["count"] for row in count_rows(BY_NAME[name])}


def test_permutations_say_nothing_and_3_of_5_say_something():
    (same,) = set(counts("permutations").values())
    assert same == pytest.approx(2)  # six sequences, a third for each pair of words
    chosen = counts("selections")
    # A word is in 36 of 60 sequences, two given words are in 18.
    assert {round(chosen[f"{i}", f"{i}'"], 9) for i in range(1, 6)} == {12.0}
    assert {round(chosen[f"{i}", f"{j}'"], 9) for i in range(1, 6) for j in range(1, 6) if i != j} == {6.0}


def test_the_mixture_separates_the_sets_and_not_the_words():
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
    for example in EXAMPLES:
        assert alignment(example)[2].sum(axis=1) == pytest.approx(1)


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


def parts_of(descents, id):
    """The parts of a claim after these descents."""
    story = CountTables()
    story.order, story.descents, story.from_zero = Order("paper"), descents, descend(np.zeros(5), steps=1000)
    return list(CountTables.rules()[id](story))


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
    _, cancels, grows = parts_of(runs, "shared-words-cancel")
    assert (cancels.verdict, grows.verdict) == verdicts


@pytest.fixture(scope="module")
def result():
    return CountTables().analyse(Order("quick"), {})


def test_everything_is_there_and_decided(result):
    named = {claim.id for claim in load_claims() if "count-tables" in claim.experiments}
    assert {finding.claim for finding in result.findings} == named
    assert {finding.verdict for finding in result.findings} == {"holds"}
    assert set(result.figures) == {*BY_NAME, "relevance"}
    assert {row["corpus"] for row in result.tables["counts"]} == set(BY_NAME)
    assert result.summary.startswith("count table, permutations of 3: holds. The entries of the count table")
    for chart in result.figures.values():
        chart.to_dict()


def test_a_figure_shows_the_counts_the_table_and_the_alignment_of_its_own_example(result):
    counts, trans, alpha = result.figures["two-pairs"].to_dict()["hconcat"]
    titles = [part["title"]["text"] for part in (counts, trans, alpha)]
    assert titles == [
        "count table C, darkest: its largest",
        "Trans(output | input), darkest: 1",
        "alignment of 'This movie is great', darkest: 1",
    ]
    datasets = result.figures["two-pairs"].to_dict()["datasets"]
    cells = [
        {(row["row"], row["column"]): row["value"] for row in datasets[part["data"]["name"]]}
        for part in (counts, trans, alpha)
    ]
    # In two pairs of four words: This and Dieser twice a quarter, great and großartig once.
    assert (cells[0]["This", "Dieser"], cells[0]["great", "großartig"], cells[0]["great", "schlecht"]) == (0.5, 0.25, 0)
    assert (cells[1]["This", "Dieser"], cells[1]["great", "großartig"]) == (0.25, 0.25)
    assert cells[2]["großartig", "great"] == pytest.approx(0.4) and cells[2]["großartig", "This"] == pytest.approx(0.2)
    for name, example in BY_NAME.items():
        assert result.figures[name].to_dict()["title"]["text"] == example.title
        values = {row["value"] for row in drawn(result.figures[name]) if row["row"] in example.pairs.source_words}
        assert values >= {row["count"] for row in result.tables["counts"] if row["corpus"] == name}


def test_the_figure_of_relevance_draws_every_start_and_the_closed_form(result):
    rows = drawn(result.figures["relevance"])
    last = max(row["time"] for row in rows)
    ends = {(row["seed"], row["word"]): row for row in rows if row["time"] == last}
    assert ends[-1, "great"]["relevance"] == -ends[-1, "bad"]["relevance"] > 1
    assert {ends[-1, word]["relevance"] for word in WORDS[:3]} == {0}
    assert {row["what"] for row in rows if row["seed"] == -1} == {"closed form from 0"}
    assert {row["what"] for row in rows if row["seed"] >= 0} == {"descent from random starts"}
    measured = {(row["seed"], row["word"]): row["relevance"] for row in result.tables["relevance"]}  # the last of each
    assert {key: row["relevance"] for key, row in ends.items() if key[0] >= 0} == {
        key: value for key, value in measured.items() if key[0] >= 0
    }
    assert result.figures["relevance"].to_dict()["spec"]["encoding"]["y"]["field"] == "relevance"


def test_shared_words_stay_alike_while_the_other_separates(result):
    rows = result.tables["iterations"]
    own = [row["great_to_grossartig"] for row in rows]
    assert own == sorted(own)
    assert (own[0], rows[-1]["this_to_dieser"]) == (0.25, pytest.approx(1 / 3))
    assert {row["spread_of_shared"] for row in rows} == {0.0}


def test_pairs_that_differ_in_nothing_separate_nothing(monkeypatch):
    sentence = (["This", "movie", "is", "great", "bad"], ["Dieser", "Film", "ist", "großartig", "schlecht"])
    alike = SentencePairs.from_tokens(*([side, side] for side in sentence))
    monkeypatch.setattr(count_tables, "TWO_PAIRS", Example("alike", "alike", alike))
    parts = parts_of([moved(0, 1, -1)] * 2, "two-pairs-separate")
    assert [part.verdict for part in parts] == ["fails", "fails", "holds"]
    assert parts[1].effect == pytest.approx(0.2)


def test_nothing_is_trained():
    assert CountTables().plan(Order("paper"), {}) == CountTables().at_most(Order("paper"), {}) == []

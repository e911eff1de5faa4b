"""Attention as word alignment: error rates by hand, verdicts where the answer is known, a run of a few updates."""

import math

import numpy as np
import pytest
from tests.experiments.translating import little_corpora
from tests.lab.drawn import drawn
from tests.lab.in_this_process import InThisProcess

from attnlab.data.sentence_pairs import SentencePairs
from attnlab.experiments.attention_alignment import experiment as module
from attnlab.experiments.attention_alignment.experiment import (
    ALIGNERS,
    ATTENTION,
    DIAGONAL,
    EUROPARL,
    HANSARDS,
    IBM1,
    PROBE,
    UNIFORM,
    AttentionAlignment,
    Scored,
    at_the_ends,
    diagonal,
    resampled,
)
from attnlab.families.texts.reading import stored_field
from attnlab.fields import ScoreField
from attnlab.lab.claims import load_claims
from attnlab.lab.conduct import conduct
from attnlab.lab.experiment import Order, Record
from attnlab.runs.store import RunStore
from attnlab.theory.alignment import Coverage
from attnlab.theory.piece_alignment import gold_words

QUICK = Order("quick")


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("aligned")
    with little_corpora(folder / "data") as patch:
        patch.setitem(module.STEPS, "quick", 4)
        patch.setattr(module, "EVALUATIONS", (0, 2))
        yield folder


@pytest.fixture(scope="module")
def done(place):
    store = RunStore(place / "runs")
    return conduct(AttentionAlignment(), QUICK, store, InThisProcess(), place / "results", command="attnlab run")


@pytest.fixture(scope="module")
def story(place, done):
    experiment = AttentionAlignment()
    from attnlab.runs.loop import train

    runs = {job.spec.id: train(job.spec, job.schedule, RunStore(place / "runs")) for job in experiment.jobs(QUICK)}
    return experiment.story(QUICK, experiment.outcomes(QUICK, runs))


def test_a_result_is_whole(done):
    result = done.result
    claims = {claim.id for claim in load_claims() if "attention-alignment" in claim.experiments}
    assert {finding.claim for finding in result.findings} == claims
    assert {finding.verdict for finding in result.findings} == {"undecided"}, "quick decides nothing"
    assert {(row["alignment"], row["step"]) for row in result.tables["errors"]} == {
        (aligner, step) for aligner in ALIGNERS for step in (0, 2, 4)
    }
    for table in result.tables.values():
        assert table
        assert all(math.isfinite(value) for row in table for value in row.values() if isinstance(value, float))
    assert drawn(result.figures["errors"]) == [dict(row) for row in result.tables["errors"]]
    shown = drawn(result.figures["translation"])
    assert {row["alignment"] for row in shown} == {ATTENTION, PROBE, UNIFORM}
    assert all((done.folder / "figures" / f"{name}.svg").is_file() for name in result.figures)
    assert "nan" not in result.summary
    assert any("occur in the training pairs" in note for note in result.notes)


def test_attentions_error_rate_is_counted_link_by_link(done, story):
    """Pieces joined to words by loops: summed over an input word's, averaged over an output word's."""
    bitext = EUROPARL.task.build()
    gold = gold_words(bitext)
    (outcome,) = story.runs[f"{EUROPARL.name}, learned"]
    alpha = stored_field(outcome.run.run.fields(4), "valid", "alpha")
    links, row = set(), 0
    for k in range(len(bitext.validation)):
        words = [
            bitext.pieces.encode([side.text(k)]).words for side in (bitext.validation.source, bitext.validation.target)
        ]
        table = np.zeros((words[1].max() + 1, words[0].max() + 1))
        for t, word in enumerate(words[1]):
            for at, other in enumerate(words[0]):
                table[word, other] += alpha.row(row + t)[at + 1] / np.sum(words[1] == word)
        links |= {(k, int(table[word].argmax()), word) for word in range(len(table))}
        row += len(words[1]) + 1
    sure = set(zip(*(side.tolist() for side in (gold.gold.sentences, gold.gold.source, gold.gold.target)), strict=True))
    expected = 1 - 2 * len(links & sure) / (len(links) + len(sure))
    (line,) = [row for row in done.result.tables["errors"] if (row["alignment"], row["step"]) == (ATTENTION, 4)]
    assert line["aer"] == pytest.approx(expected)
    assert line["low"] <= line["aer"] <= line["high"]


def test_where_attention_is_is_counted_word_by_word(done, story):
    (outcome,) = story.runs[f"{EUROPARL.name}, learned"]
    alpha = stored_field(outcome.run.run.fields(4), "valid", "alpha")
    where = [int(alpha.row(word).argmax()) - len(alpha.row(word)) for word in range(len(alpha))]
    row = done.result.tables["places"][-1]
    assert (row["text"], row["step"]) == (EUROPARL.name, 4)
    assert row["end_mark"] == pytest.approx(np.mean([place == -1 for place in where]))
    assert row["last_piece"] == pytest.approx(np.mean([place == -2 for place in where]))
    assert row["start_mark"] == pytest.approx(np.mean([alpha.row(word).argmax() == 0 for word in range(len(alpha))]))
    assert row["largest_weight"] == pytest.approx(np.mean([alpha.row(word).max() for word in range(len(alpha))]))
    assert len(done.result.tables["places"]) == 3


def test_attention_at_the_ends_of_its_inputs():
    rows = [[0.7, 0.2, 0.1], [0.1, 0.6, 0.3], [0.1, 0.1, 0.2, 0.6], [0.0, 0.9, 0.1, 0.0]]
    shares = at_the_ends(ScoreField.from_rows(rows))
    assert shares == {"start_mark": 0.25, "last_piece": 0.25, "end_mark": 0.25, "largest_weight": pytest.approx(0.7)}


def test_what_is_not_trained_does_not_change(done):
    for found in (IBM1, DIAGONAL):
        rows = [row for row in done.result.tables["errors"] if row["alignment"] == found]
        assert len({row["aer"] for row in rows}) == 1
        assert {row["accuracy"] for row in rows} == {None}


def test_accuracies_are_the_runs_own(done, story):
    (line,) = done.result.tables["accuracies"]
    for mode in ("learned", "uniform"):
        (outcome,) = story.runs[f"{EUROPARL.name}, {mode}"]
        assert line[mode] == pytest.approx(outcome.run.rows[-1]["accuracy"])
    assert line["difference"] == pytest.approx(line["learned"] - line["uniform"])


def test_the_diagonal_knows_no_words():
    pairs = SentencePairs.from_tokens([list("abcd"), ["a"]], [list("wxyz"), list("xy")])
    assert diagonal(pairs).positions()[1].tolist() == [0, 1, 2, 3, 0, 0]
    longer = SentencePairs.from_tokens([list("ab")], [list("vwxyz")])
    assert diagonal(longer).positions()[1].tolist() == [0, 0, 1, 1, 1]


def test_resampled_rates_are_around_the_rate_itself():
    tallies = np.array([[5, 5, 5, 4, 4], [4, 4, 4, 1, 1]] * 20)
    rates = resampled(tallies)
    assert rates.mean() == pytest.approx(1 - 10 / 18, abs=0.02)
    assert resampled(tallies[:1]).tolist() == pytest.approx([0.2] * len(rates))


def test_too_few_known_words_give_no_rate(story):
    (one,) = story.scored
    unknown = Scored(**{**vars(one), "coverage": Coverage(0.99, 0.9)})
    assert unknown.rows() == unknown.gaps() == []
    assert "are not given" in unknown.in_words()


def test_settings_are_a_pass_over_50000_pairs(monkeypatch):
    assert HANSARDS.training_pairs == 50_000
    monkeypatch.undo()
    assert 3125 * module.BATCH == 50_000
    assert module.STEPS["paper"] == 3125


@pytest.mark.parametrize(("gap", "verdict"), [(0.2, "holds"), (-0.2, "fails"), (0.03, "undecided")])
def test_verdicts(gap, verdict):
    """A positive gap: attention is worse than what it is compared with."""
    row = {"text": "Hansards", "attention": 0.5, "other": 0.5 - gap, "gap": gap, "low": gap - 0.02, "high": gap + 0.02}
    opposite = {**row, "gap": -gap, "low": -gap - 0.02, "high": -gap + 0.02}
    gaps = [
        {**(opposite if found == DIAGONAL else row), "against": found} for found in (PROBE, UNIFORM, IBM1, DIAGONAL)
    ]
    accuracy = {
        "text": "Hansards",
        "learned": 0.5,
        "uniform": 0.3,
        "difference": gap,
        "low": gap - 0.02,
        "high": gap + 0.02,
    }
    told = AttentionAlignment().retold(Order("paper"), Record({"gaps": gaps, "accuracies": [accuracy]}, {}))
    assert {finding.claim: finding.verdict for finding in told.findings()} == dict.fromkeys(
        ("attention-aligns-words", "counts-align-better", "lexicon-aligns-better", "translation-needs-alignment"),
        verdict,
    )

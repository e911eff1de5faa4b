"""The alignment experiment on texts of our own, spelled as the real ones are: what it scores, and when it will not."""

import lzma
from itertools import permutations

import pytest
from tests.lab.drawn import drawn

from attnlab.errors import UsageError
from attnlab.experiments.alignment.experiment import EUROPARL, HANSARDS, Alignments, examine
from attnlab.lab.experiment import Order

WORDS = {"the": "le", "house": "maison", "book": "livre", "summer": "été", "reads": "lit", "sees": "voit"}


@pytest.fixture
def data(tmp_path, monkeypatch):
    """Every word has one translation, in the same place; so every direction can be without error."""
    english = [list(words) for words in permutations(WORDS, 3)]
    for gold in (EUROPARL, HANSARDS):
        for name in (*gold.text, *gold.gold_text, gold.gold):
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        for side in (0, 1):
            lines = [[WORDS[word] for word in line] if side else line for line in english]
            text = "".join(" ".join(line) + "\n" for line in lines)
            (tmp_path / gold.gold_text[side]).write_text("".join(text.splitlines(True)[:8]), encoding="utf-8")
            if gold is HANSARDS:
                text = "".join(" ".join(line).capitalize() + ".\n" for line in lines).replace("é", "e")
                text = text.replace("Le ", "L'")
                (tmp_path / gold.text[side]).write_bytes(lzma.compress(text.encode("utf-8")))
            else:
                (tmp_path / gold.text[side]).write_text(text, encoding="utf-8")
        (tmp_path / gold.gold).write_text("".join(f"{m} {k} {k}\n" for m in range(1, 9) for k in (1, 2, 3)))
    monkeypatch.setenv("ATTNLAB_DATA", str(tmp_path))
    return tmp_path


def test_what_is_right_has_no_error(data):
    result = Alignments().analyse(Order("quick"), {})
    assert {row["direction"]: row["aer"] for row in result.tables["scores"]} == dict.fromkeys(
        ("forward", "reverse", "intersection", "union", "grow-diag-final-and"), 0.0
    )
    assert all(row["low"] == row["high"] == row["difference"] == 0 for row in result.tables["differences"])
    assert "is not clearly better than both directions" in result.summary
    assert len(result.tables["log-likelihood"]) == 12
    assert list(result.figures) == ["error-rates"]
    assert result.findings == ()


def test_both_texts_are_brought_to_one_spelling(data):
    result = Alignments().analyse(Order("paper"), {})
    assert {row["gold"] for row in result.tables["scores"]} == {EUROPARL.name, HANSARDS.name}
    assert all(row["source_coverage"] == row["target_coverage"] == 1 for row in result.tables["scores"])
    assert max(row["aer"] for row in result.tables["scores"]) == 0


def test_the_figure_draws_error_rates_with_their_intervals(data):
    gold = data / EUROPARL.gold
    gold.write_text(gold.read_text().replace("1 1 1\n", "1 1 2\n"))  # one link that no direction agrees with
    result = Alignments().analyse(Order("paper"), {})
    figure = result.figures["error-rates"]
    rows = drawn(figure)
    assert rows == result.tables["scores"]
    rates = {(row["gold"], row["direction"]): row for row in rows}
    assert rates[HANSARDS.name, "forward"]["aer"] == 0
    wrong = rates[EUROPARL.name, "forward"]
    assert wrong["aer"] == pytest.approx(1 / 24) and wrong["aer_low"] == 0 < 1 / 24 < wrong["aer_high"]
    bars, dots = figure.to_dict()["spec"]["layer"]
    assert dots["encoding"]["x"]["field"] == "aer"
    assert (bars["encoding"]["x"]["field"], bars["encoding"]["x2"]["field"]) == ("aer_low", "aer_high")


def test_no_error_rate_where_words_are_strangers(data):
    gold = data / EUROPARL.gold_text[0]
    gold.write_text(gold.read_text().replace("house", "hovse"))
    scored = examine(EUROPARL, 1.0)
    assert not scored.tallies
    assert not scored.known.enough
    result = Alignments().analyse(Order("quick"), {})
    assert "too few for an error rate" in result.summary
    assert result.tables["scores"] == []
    assert result.figures == {}


def test_a_missing_corpus_is_named(monkeypatch, tmp_path):
    monkeypatch.delenv("ATTNLAB_DATA", raising=False)
    with pytest.raises(UsageError, match="set ATTNLAB_DATA"):
        Alignments().analyse(Order("quick"), {})
    monkeypatch.setenv("ATTNLAB_DATA", str(tmp_path))
    with pytest.raises(UsageError, match="no file"):
        Alignments().analyse(Order("quick"), {})


@pytest.mark.needs_data("alignment_gold")
def test_on_the_europarl_sample_grow_diag_final_and_is_better_than_either_direction():
    result = Alignments().analyse(Order("quick"), {})
    against = {row["against"]: row["high"] for row in result.tables["differences"]}
    assert against["forward"] < 0
    assert against["reverse"] < 0
    assert "is better than either direction" in result.summary

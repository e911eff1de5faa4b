"""The picture of attention: every position is drawn, the same word twice too, and no word can command it."""

import json

import numpy as np
import pytest

from attnlab.pages.attention_map import SHADES, attention_lines, attention_map, piece_labels, save_map
from attnlab.pages.charts import describe


def test_repeated_words_are_different_places():
    alpha = np.arange(12).reshape(3, 4) / 12
    chart = describe(attention_map(alpha, ["a", "b", "a", "c"], ["x", "x", "y"], "Title"))
    (cells,) = chart["datasets"].values()
    assert [(cell["t"], cell["l"]) for cell in cells] == [(t, place) for t in range(3) for place in range(4)]
    assert [cell["share"] for cell in cells] == pytest.approx(alpha.flatten().tolist(), abs=1e-4)
    assert chart["encoding"]["x"]["axis"]["labelExpr"] == '["a", "b", "a", "c"][datum.value]'


def test_words_cannot_leave_their_quotes(tmp_path):
    words = ["</text><script>alert(1)</script>", '"];alert(1);["', "\u2028\\", "Ж"]
    chart = attention_map(np.eye(4), words, words)
    expression = describe(chart)["encoding"]["y"]["axis"]["labelExpr"]
    assert json.loads(expression.removesuffix("[datum.value]")) == words
    save_map(chart, tmp_path / "a.svg")
    drawn = (tmp_path / "a.svg").read_text(encoding="utf-8")
    assert "<script" not in drawn and "&lt;script&gt;" in drawn
    assert drawn.count("Ж") >= 2


def test_shades_follow_the_share():
    row = np.array([[0.0, 0.06, 0.3, 0.6, 0.9]])
    line = attention_lines(row, list("abcde"), ["word"])[-1]
    assert line == f"  word {SHADES}  e 0.90"


def test_words_and_what_goes_on_with_them():
    assert piece_labels(["▁", "▁a", "b", "<unk>", "</s>"]) == ["_", "a", "+b", "<unk>", "</s>"]


def test_more_than_nine_positions_keep_their_columns():
    lines = attention_lines(np.eye(12), [f"w{k}" for k in range(12)], [f"v{k}" for k in range(12)])
    assert lines[1].strip() == "123456789012"
    column = lines[1].index("1")
    for k, line in enumerate(lines[2:]):
        assert line[column + k] == "█" and line[column : column + 12].strip() == "█"

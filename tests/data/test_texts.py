"""Labelled texts of one's own: the map of labels, and what the notes say."""

import json
import math

import pyarrow as pa
import pytest
from pyarrow import parquet

from attnlab.data.labelled_text import load_file
from attnlab.data.texts import read_texts
from attnlab.errors import UsageError

ROWS = "text,label\nlovely,5\ngood,4\nso so,3\n,4\nbad,1\nawful,2\nodd,\nwell,3\n"


@pytest.fixture
def path(tmp_path):
    (tmp_path / "a.csv").write_text(ROWS)
    return tmp_path / "a.csv"


@pytest.mark.parametrize("groups", ["1,2=neg 4,5=pos", {"1": "neg", "2": "neg", "4": "pos", "5": "pos"}])
def test_a_map_makes_classes_and_leaves_out_other_labels(path, groups):
    texts = read_texts(str(path), map=groups)
    assert [texts.pairs.target_words[label] for label in texts.pairs.target] == ["pos", "pos", "neg", "neg"]
    assert texts.pairs.source_words == ["lovely", "good", "bad", "awful"]
    assert (texts.left_out, texts.unmapped, texts.rows.tolist()) == ((4, 7), (3, 8), [1, 2, 5, 6])
    assert texts.notes == (
        "a.csv: 2 rows without words or label are left out (rows 4, 7).",
        "a.csv: 2 rows with a label not mapped are left out (rows 3, 8).",
        "Rows are counted without the header: row 1 is the first below it.",
    )


def test_without_a_map_every_label_is_a_class(path):
    texts = read_texts(path)
    assert (len(texts), texts.pairs.target_words, texts.unmapped) == (6, ["5", "4", "3", "1", "2"], ())
    assert "4 labels ('5' in row 1, '4' in row 2, '1' in row 5, '2' in row 6) have one text only" in texts.notes[1]


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        ("1=neg 9=pos", r"a\.csv has no label '9' in its column 'label'; its labels are '1', '2', '3', '4', '5'\."),
        ("1:neg", "is no group of labels"),
        ({"1": "neg", "2": "neg"}, "two or more classes"),
    ],
)
def test_a_wrong_map_is_refused(path, groups, message):
    with pytest.raises(UsageError, match=message):
        read_texts(path, map=groups)


def test_nothing_left_is_said(tmp_path):
    (tmp_path / "a.csv").write_text("text,label\n,1\n,2\ngood,3\n")
    with pytest.raises(UsageError, match="no row with words in its text and a label"):
        read_texts(tmp_path / "a.csv", map="1=neg 2=pos")


def missing_in_csv(path):
    path.write_text("text,label\n" + "good,1\nbad,0\n" * 6 + "so,nan\nso,NaN\nso, \nso,\n", encoding="utf-8")


def missing_in_json(path):
    rows = [("good", 1), ("bad", 0)] * 6 + [("so", label) for label in (math.nan, "NaN", None, "")]
    path.write_text("".join(json.dumps({"text": t, "label": x}) + "\n" for t, x in rows), encoding="utf-8")


def missing_in_parquet(path):
    labels = pa.array([1.0, 0.0] * 6 + [math.nan, None, math.nan, None])
    parquet.write_table(pa.table({"text": ["good", "bad"] * 6 + ["so"] * 4, "label": labels}), path)


@pytest.mark.parametrize(
    ("name", "write"), [("a.csv", missing_in_csv), ("a.jsonl", missing_in_json), ("a.parquet", missing_in_parquet)]
)
def test_a_missing_label_is_counted_and_no_class(tmp_path, name, write):
    write(tmp_path / name)
    texts, corpus = read_texts(tmp_path / name), load_file(tmp_path / name)
    assert (len(texts.pairs.target_words), texts.left_out) == (2, (13, 14, 15, 16))
    assert len(corpus.classes) == 2
    assert corpus.notes[0] == f"{name}: 4 rows without a label are left out (rows 13, 14, 15, 16)."


def test_nearly_as_many_labels_as_rows_are_no_classes(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("text,label\n" + "".join(f"some words,{n or 1}\n" for n in range(40)), encoding="utf-8")
    why = "39 different labels in 40 rows look like ids or measurements, not like classes"
    assert read_texts(path).notes == (f"a.csv: {why}; is another column meant?",)
    with pytest.raises(UsageError, match=rf"a\.csv: {why}; name another column than 'label'"):
        load_file(path)


def test_words_are_those_of_data_show(tmp_path):
    text = "It's GREAT_er, isn't it? Ünder the 3rd ☂ straße"
    (tmp_path / "a.csv").write_text("text,label\n" + f'"{text}",1\n"{text}",2\n' * 4, encoding="utf-8")
    corpus = load_file(tmp_path / "a.csv")
    assert set(read_texts(tmp_path / "a.csv").pairs.source_words) == set(corpus.words) - {"<unk>"}


@pytest.mark.parametrize(
    ("text", "words", "said"),
    [
        (
            "我喜欢这个iPhone手机。很好",
            ["我", "喜", "欢", "这", "个", "iphone", "手", "机", "很", "好"],
            "single characters",
        ),
        ("acgtacgtacgtacgtacgtacgt", ["acg", "cgt", "gta", "tac"], "all runs of 3 characters"),
        ("a film about the word 我", ["a", "film", "about", "the", "word", "我"], ""),
    ],
)
def test_texts_without_spaces_are_cut_further_and_it_is_said(tmp_path, text, words, said):
    (tmp_path / "a.csv").write_text(f"text,label\n{text},1\n{text},2\n{text},1\n{text},2\n", encoding="utf-8")
    texts = read_texts(tmp_path / "a.csv")
    assert texts.pairs.source_words == words
    assert [f"here {said} count as words" in note for note in texts.notes] == ([True] if said else [])

"""The forecast's page and heat maps."""

import json
from dataclasses import replace

import pytest

from attnlab.data.sentence_pairs import SentencePairs
from attnlab.pages.charts import heat_map
from attnlab.pages.forecast import sections, write_forecast
from attnlab.theory.forecast import forecast

NASTY = "<script>alert(1)</script>"


@pytest.fixture(scope="module")
def told():
    texts = [[word, other, f"scene{k}"] for k in range(15) for other in ("film", "day") for word in (NASTY, "bad")]
    return forecast(SentencePairs.from_tokens(texts, [["good"], ["poor & sad"]] * 30), kind="labels")


def test_page_is_one_file_without_addresses_and_escapes_words(tmp_path, told):
    page, data = write_forecast(tmp_path / "new" / "folder", told, "a<b>.csv")
    text = page.read_text(encoding="utf-8")
    assert NASTY not in text
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in text
    assert "Forecast for a&lt;b&gt;.csv" in text
    assert 'src="http' not in text and 'href="http' not in text
    assert told.verdict in text
    read = json.loads(data.read_text(encoding="utf-8"))
    assert read["data"] == "a<b>.csv"
    assert read["strongest"][0]["word"] in (NASTY, "bad")


def test_sections_name_what_was_read(told):
    parts = {section.heading: section for section in sections(told)}
    assert {row["word"] for row in parts["The strongest words"].table} >= {NASTY, "bad"}
    assert {row["word"] for row in parts["The hopeless words"].table} == {"film", "day"}
    assert parts["The table of the strongest words"].chart is not None
    assert [row["label"] for row in parts["Each label"].table] == ["good", "poor & sad"]
    assert "Each label" not in {section.heading for section in sections(replace(told, labels=()))}


def test_the_page_has_no_number_that_it_does_not_explain(tmp_path, told):
    text = write_forecast(tmp_path, told, "a.csv")[0].read_text(encoding="utf-8")
    assert "derivative" not in text and "mutual information" not in text


def test_the_page_begins_with_the_verdict_and_its_reasons(tmp_path, told):
    page, _ = write_forecast(tmp_path, replace(told, reasons=(f"Because of {NASTY}.",)), "a.csv")
    assert "Because of &lt;script&gt;" in page.read_text(encoding="utf-8")


def test_what_is_to_know_of_the_data_stands_on_the_page(tmp_path, told):
    assert "About the data" not in {section.heading for section in sections(told)}
    page, _ = write_forecast(tmp_path, replace(told, notes=(f"a.csv: 2 rows with {NASTY} are left out",)), "a.csv")
    assert "a.csv: 2 rows with &lt;script&gt;" in page.read_text(encoding="utf-8")


def test_heat_map_has_a_cell_for_each_entry_in_the_given_order():
    spec = heat_map([[0.0, 1.0], [2.0, 3.0]], rows=["z", "a"], columns=["y", "b"], title="t").to_dict()
    (cells,) = spec["datasets"].values()
    assert [(c["row"], c["column"], c["value"]) for c in cells] == [
        ("z", "y", 0.0),
        ("z", "b", 1.0),
        ("a", "y", 2.0),
        ("a", "b", 3.0),
    ]
    assert spec["layer"][0]["encoding"]["y"]["sort"] == ["z", "a"]
    assert spec["layer"][0]["encoding"]["color"]["scale"]["domain"] == [0, 3.0]
    both = heat_map([[-2.0, 1.0]], rows=["z"], columns=["a long name", "b"], title="t", diverging=True).to_dict()
    assert both["layer"][0]["encoding"]["color"]["scale"]["domain"] == [-2.0, 2.0]


def test_heat_map_refuses_a_table_of_another_shape():
    with pytest.raises(ValueError, match="zip"):
        heat_map([[1.0]], rows=["a", "b"], columns=["c"], title="t")

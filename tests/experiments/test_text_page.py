"""The page over all rows: strongest presets, escaped texts, made from what is on disk."""

import html
import json
import re
import shutil
from pathlib import Path
from typing import ClassVar

import altair as alt
import pytest

from attnlab.errors import UsageError
from attnlab.experiments.bitexts.corpora import ROWS as PAIR_ROWS
from attnlab.experiments.texts.corpora import ROWS, TextExperiment
from attnlab.lab.claims import Finding, Part
from attnlab.lab.page_of_rows import RowsExperiment, dots
from attnlab.lab.page_words import page_words
from attnlab.lab.registry import EXPERIMENTS
from attnlab.lab.result import write_table
from attnlab.lab.written import WrittenResult, shown, strongest

RESULTS = Path(__file__).parents[2] / "results"
HOSTILE = '</script><script>alert(1)</script> & "quotes" <b>'


def put(folder, preset, row, *, text="it ran", verdict="holds", extra=None):
    """A row's result as it lies on disk; drawing its pictures would take most of the tests' time."""
    place = folder / preset / row
    for name in ("tables", "figures"):
        (place / name).mkdir(parents=True)
    chart = alt.Chart(alt.InlineData(values=[{"word": text, "y": 1}])).mark_bar().encode(x="word:N", y="y:Q")
    chart = (chart + chart.mark_text()).properties(title=alt.TitleParams(f"title of {row} {text}"))
    (place / "figures" / "bars.vl.json").write_text(chart.to_json(indent=None), encoding="utf-8")
    line = {"value": 0.123456, "steps": 2000, "nothing": None, **(extra or {})}
    for name, table in (("main", [line]), ("more", [{"what": text}])):
        write_table(table, place / "tables" / f"{name}.csv")
    part = Part(row, verdict, 0.25, (0.125, 0.5), "examples", text)
    document = {
        "experiment": folder.name,
        "preset": preset,
        "row": row,
        "summary": text,
        "claims": [Finding("sms-unstable", (part,)).to_json()],
        "notes": [text],
        "seeds": {"reference": [20, 21]},
        "tables": ["main", "more"],
        "figures": ["bars"],
        "command": f"attnlab run x --only {row}",
        "training_seconds": 2.0,
    }
    (place / "result.json").write_text(json.dumps(document), encoding="utf-8")


def page_of(folder, **words):
    """The page of an experiment with these words of its own."""
    own = {"name": "made-up", "title": "a title", "lead": "a lead", "main": "main", **words}
    path = type("MadeUp", (TextExperiment,), {"source": "P3", **own})().report(folder)
    assert path == folder / "report.html"
    return path.read_text(encoding="utf-8")


def test_rows_count_at_their_strongest_preset_in_the_papers_order(tmp_path):
    for preset, row in (("quick", "sst"), ("reduced", "sst"), ("paper", "sms"), ("quick", "imdb")):
        put(tmp_path, preset, row)
    assert [(result.row, result.preset) for result in strongest(tmp_path, ROWS)] == [
        ("imdb", "quick"),
        ("sst", "reduced"),
        ("sms", "paper"),
    ]
    page = page_of(tmp_path, shown=("more", "not there"))
    for text in ("IMDB (quick)", "SST (reduced)", "SMS (paper)", "a title", "a lead", "title of sst"):
        assert text in page
    assert "SST (quick)" not in page
    assert page.count("<td>0.123</td>") == 3, "the main table has a line for each corpus"
    assert page.count('data-chart="chart-') == 3


def test_the_answer_is_given_once_all_corpora_have_more_than_quick_runs(tmp_path):
    words = page_words("saliency")
    for row in ROWS:
        put(tmp_path, "reduced", row)
    page = page_of(tmp_path, name="saliency")
    assert '<p class="answer">' in page
    for text in (words.answer, words.question):
        assert html.escape(text, quote=False).replace("'", "&#39;") in page
    shutil.rmtree(tmp_path / "reduced" / "sst")
    put(tmp_path, "quick", "sst")
    assert '<p class="answer">' not in page_of(tmp_path, name="saliency")


@pytest.mark.parametrize("name", [name for name, one in EXPERIMENTS.items() if one.rows and (RESULTS / name).is_dir()])
def test_every_figure_of_the_committed_rows_has_its_caption(name):
    results = strongest(RESULTS / name, EXPERIMENTS[name].rows)
    assert {result.row for result in results} >= set(ROWS) or not set(ROWS) <= set(EXPERIMENTS[name].rows)
    of_pairs = {"attention"} if {result.row for result in results}.isdisjoint(PAIR_ROWS) else set()
    figures = {figure for result in results for figure in result.document["figures"]}
    assert figures == set(page_words(name).captions) - of_pairs


def test_it_can_be_made_again_from_the_folder_alone(tmp_path):
    put(tmp_path, "quick", "sst")
    assert page_of(tmp_path) == page_of(tmp_path)


def test_rows_of_different_columns_are_in_one_table(tmp_path):
    put(tmp_path, "quick", "sst", extra={"sst alone": 7})
    put(tmp_path, "quick", "sms", extra={"sms alone": 8})
    page = page_of(tmp_path)
    assert page.count('<th scope="col">sst alone</th>') == page.count('<th scope="col">sms alone</th>') == 1


def test_columns_of_the_main_table_can_be_chosen_and_named(tmp_path):
    put(tmp_path, "quick", "sst")
    page = page_of(tmp_path, columns={"steps": "updates", "never there": "never there"})
    assert '<th scope="col">corpus</th><th scope="col">preset</th><th scope="col">updates</th></tr>' in page
    assert "<td>SST</td><td>quick</td><td>2000</td></tr>" in page


@pytest.mark.parametrize(
    ("verdicts", "whole", "each"),
    [
        (("holds", "holds"), "as the paper says", ("as the paper says", "as the paper says")),
        (("holds", "fails"), "differs", ("as the paper says", "differs")),
        (("holds", "undecided"), "open", ("as the paper says", "open")),
    ],
)
def test_a_claim_is_as_the_paper_says_where_it_is_so_on_all_its_corpora(tmp_path, verdicts, whole, each):
    for row, verdict in zip(("sst", "sms"), verdicts, strict=True):
        put(tmp_path, "quick", row, verdict=verdict)
    page = page_of(tmp_path)
    assert (
        '<th scope="col">claim</th><th scope="col">over all</th><th scope="col">SST</th><th scope="col">SMS</th>'
        in page
    )
    assert f"<td>sms-unstable</td><td>{whole}</td><td>{each[0]}</td><td>{each[1]}</td>" in page
    assert "Until 2026-11-18 its rule gave: undecided." in page
    assert "<details><summary>2 parts with their numbers</summary>" in page


def test_a_corpus_that_decides_no_claim_has_an_empty_cell(tmp_path):
    for row in ("sst", "sms"):
        put(tmp_path, "quick", row)
    place = tmp_path / "quick" / "sms" / "result.json"
    place.write_text(json.dumps({**json.loads(place.read_text(encoding="utf-8")), "claims": []}), encoding="utf-8")
    assert "<td>sms-unstable</td><td>as the paper says</td><td>as the paper says</td><td></td>" in page_of(tmp_path)


def test_every_text_is_escaped(tmp_path):
    put(tmp_path, "quick", "sst", text=HOSTILE, extra={HOSTILE: HOSTILE})
    page = page_of(tmp_path, title=HOSTILE, lead=HOSTILE, shown=("more",))
    assert "<script>alert" not in page
    assert "<b>" not in page
    assert len(re.findall(r"<script\b", page)) == page.count("</script>") == 3, "a chart's data, the library, drawing"


def test_nothing_to_report_on_is_said(tmp_path):
    with pytest.raises(UsageError, match="no row's result"):
        page_of(tmp_path)


@pytest.mark.parametrize("damage", ["", "{", "[]", '{"mark": "nonsense", "data": 3}'])
def test_a_damaged_chart_is_named(tmp_path, damage):
    put(tmp_path, "quick", "sst")
    chart = tmp_path / "quick" / "sst" / "figures" / "bars.vl.json"
    chart.write_text(damage, encoding="utf-8")
    with pytest.raises(UsageError, match=r"bars\.vl\.json is no chart"):
        page_of(tmp_path)
    chart.unlink()
    with pytest.raises(UsageError, match=r"bars\.vl\.json cannot be read"):
        page_of(tmp_path)


@pytest.mark.parametrize(
    ("cell", "text"),
    [
        ("", ""),
        ("0.5", "0.500"),
        ("-0.25", "-0.250"),
        ("12", "12"),
        ("3.0", "3"),
        ("0.00001234", "1.2e-05"),
        ("nan", "nan"),
        ("inf", "inf"),
        ("never", "never"),
        ("1e300", "1e300"),
        ("20, 12", "20, 12"),
    ],
)
def test_cells_for_a_reader(cell, text):
    assert shown(cell) == text


def test_a_figure_s_heading_names_its_corpus_once(tmp_path):
    put(tmp_path, "quick", "sst")
    path = tmp_path / "quick" / "sst" / "figures" / "bars.vl.json"
    chart = json.loads(path.read_text(encoding="utf-8"))
    chart["title"]["text"] = "sst: words"
    path.write_text(json.dumps(chart), encoding="utf-8")
    assert "<h2>SST (quick): words</h2>" in page_of(tmp_path)


class Sides(RowsExperiment):
    name, title, source = "sides", "Two sides", "slides"
    rows, main, lead = ("sst",), "both", "a lead"
    dots_axis, dots_title = "accuracy", "both sides"
    dots: ClassVar = {"learned": ("learned", {"measure": "accuracy"}), "all": "chance"}


def test_a_dot_can_be_a_column_of_one_line_with_its_interval():
    table = [
        {"measure": "accuracy", "learned": "0.8", "learned_low": "0.7", "learned_high": "0.9", "chance": "0.5"},
        {"measure": "loss", "learned": "0.4", "learned_low": "", "learned_high": "", "chance": "nan"},
    ]

    class Kept(WrittenResult):
        def lines(self, name):
            return table if name == "both" else []

    learned, *others = dots(Sides(), Kept("paper", "sst", Path(), {}))
    shown = ("SST", "learned", 0.8, 0.7, 0.9, 0.5)
    assert tuple(learned[key] for key in ("corpus", "what", "value", "low", "high", "chance")) == shown
    assert [(point["what"], point["value"], point["low"]) for point in others] == [("all", 0.5, None)]

"""The page of a result: what lies on disk, in words, with the paper's figure in its own axes."""

import gzip
import html
import json
import os
import re
import shutil
import subprocess
import sys
from base64 import b64decode
from pathlib import Path

import altair as alt
import pytest

from attnlab.errors import UsageError
from attnlab.lab.claims import Finding, Part, claim, load_claims
from attnlab.lab.experiment import Experiment
from attnlab.lab.page import LONGEST_TABLE
from attnlab.lab.page_words import page_words
from attnlab.lab.registry import EXPERIMENTS
from attnlab.lab.result import write_table
from attnlab.lab.written import strongest

HOSTILE = '</script><script>alert(1)</script> & "quotes" <b>'
COPYING = EXPERIMENTS["copying"]
RESULTS = Path(__file__).parents[2] / "results"


def papers_claims(name):
    """Claims of a text that an experiment decides."""
    return [claim for claim in load_claims() if name in claim.experiments and claim.by != "ours"]


def put(folder, preset="paper", *, text="it ran", verdict="holds", claim="copy-iid-learns", curves=()):
    """A result as it lies on disk; drawing its pictures would take most of the tests' time."""
    place = folder / preset
    for name in ("tables", "figures"):
        (place / name).mkdir(parents=True)
    chart = alt.Chart(alt.InlineData(values=[{"word": text, "y": 1}])).mark_bar().encode(x="word:N", y="y:Q")
    chart = chart.properties(title=f"what {text} shows")
    (place / "figures" / "bars.vl.json").write_text(chart.to_json(indent=None), encoding="utf-8")
    tables = {
        "short": [{"what": text, "value": 0.123456}],
        "long": [{"what": "never shown"}] * (LONGEST_TABLE + 1),
        "curves": curves or [{"setting": "40 of 60", "seed": 0, "step": 10, "accuracy": 0.5}],
    }
    for name, table in tables.items():
        write_table(table, place / "tables" / f"{name}.csv")
    document = {
        "experiment": folder.name,
        "preset": preset,
        "summary": f"summary: {text}",
        "claims": [Finding(claim, (Part("a part", verdict, 0.25, (0.125, 0.5), "seeds", text),)).to_json()],
        "notes": [f"note: {text}"],
        "seeds": {"networks": [0, 1]},
        "tables": sorted(tables),
        "figures": ["bars"],
        "command": "attnlab run copying --preset paper",
        "training_seconds": 2.0,
    }
    (place / "result.json").write_text(json.dumps(document), encoding="utf-8")


def page_of(folder, experiment=COPYING):
    path = experiment.report(folder)
    assert path == folder / "report.html"
    return path.read_text(encoding="utf-8")


def charts_of(page):
    """The descriptions of a page's charts, in order."""
    blocks = re.findall(
        r'<script type="application/(\w+)" id="[^"]*" data-chart="[^"]*">(.*?)</script>', page, re.DOTALL
    )
    return [json.loads(block if kind == "json" else gzip.decompress(b64decode(block))) for kind, block in blocks]


def rows_of(chart, layer):
    """The data that one of a chart's layers draws."""
    return chart["datasets"][layer["data"]["name"]]


def test_it_tells_question_outcome_claims_figures_tables_and_command(tmp_path):
    put(tmp_path, "quick", text="weaker")
    put(tmp_path, "paper", text="stronger")
    page = page_of(tmp_path)
    for text in (
        COPYING.title,
        "A network is asked to repeat what it reads. Is that harder",
        "summary: stronger",
        "I.i.d. sequences from 40 words are always learned",
        "\u2713 as the paper says",
        "0.125 to 0.5",
        "what stronger shows",
        "<td>0.123</td>",
        "paper/tables/long.csv",
        "note: stronger",
        '<code id="command-',
        ">attnlab run copying --preset paper</code>",
        "Seeds: 0, 1 (networks). It took 2 seconds of training.",
    ):
        assert text in page, text
    assert "weaker" not in page
    assert "never shown" not in page


@pytest.mark.parametrize(
    ("verdict", "badge"),
    [
        ("holds", 'good">\u2713 as the paper says'),
        ("fails", 'bad">\u2260 differs'),
        ("undecided", 'open">? open'),
    ],
)
def test_outcomes_are_badges_at_the_top_and_beside_their_claim(tmp_path, verdict, badge):
    put(tmp_path, verdict=verdict)
    page = page_of(tmp_path)
    assert page.count(f'<span class="badge {badge}</span>') == 2
    assert f"{badge}</span> I.i.d. sequences from 40 words" in page
    assert f"({claim('copy-iid-learns').source})." in page


@pytest.mark.parametrize("verdict", ["holds", "fails", "undecided"])
def test_no_claim_of_ours_is_said_to_fail_after_it_says_that_something_fails(tmp_path, verdict):
    put(tmp_path / "even-steps", claim="even-steps-learned", verdict=verdict)
    page = page_of(tmp_path / "even-steps", EXPERIMENTS["even-steps"])
    assert "It fails" not in page
    assert ("\u2260 does not hold" in page) == (verdict == "fails")


def test_the_page_begins_with_verdicts_and_tells_settings_apart(tmp_path):
    put(tmp_path)
    place = tmp_path / "paper" / "result.json"
    parts = [Part(f"part {n}", "fails" if n else "holds", 0.5, None, "seeds", "") for n in range(9)]
    changes = {
        "summary": "40 of 60: all learned. 40 of 80: half did. And so on.",
        "seeds": {"40 of 60": [0], "40 of 80": [0]},
        "claims": [Finding("copy-iid-learns", tuple(parts)).to_json()],
    }
    place.write_text(json.dumps({**json.loads(place.read_text()), **changes}))
    page = page_of(tmp_path)
    assert "Of 9 parts 1 holds, 8 fail." in page
    assert "<p>40 of 60: all learned.</p>" in page
    assert "<p>40 of 80: half did. And so on.</p>" in page
    assert "Figure 2 left" in page and "Slides: two ways" in page
    assert "<summary>9 parts with their numbers</summary>" in page
    wanted = ("what it ran shows", "What is claimed", "What came out, in numbers", "How each claim was decided")
    wanted += ("Tables", "How it was measured")
    headings = re.findall(r"<h2>(.*?)</h2>", page)
    places = [next(k for k, heading in enumerate(headings) if text in heading) for text in wanted]
    assert places == sorted(places)


def test_an_experiment_of_ones_own_has_a_page_too(tmp_path):
    class Own(Experiment):
        name, title, source = "own", "My own", "my head"

    put(tmp_path, claim="my-claim")
    page = page_of(tmp_path, Own())
    assert '<span class="badge good">\u2713 holds</span> my-claim</li>' in page
    assert "My head. Run in full (preset paper)." in page
    assert len(charts_of(page)) == 1, "there is no paper's figure to draw"


def test_every_text_is_escaped(tmp_path):
    put(tmp_path, text=HOSTILE, claim=HOSTILE, curves=[{"setting": HOSTILE, "seed": HOSTILE, "step": 1, "accuracy": 1}])
    page = page_of(tmp_path)
    assert "<script>alert" not in page
    assert "<b>" not in page


def test_runs_that_were_not_trained_for_it_are_named(tmp_path):
    put(tmp_path / "copying")
    assert "Not trained anew" not in page_of(tmp_path / "copying")
    place = tmp_path / "copying" / "paper" / "result.json"
    recalled = {"mixture/paper": ["a", "b"], HOSTILE: ["c"]}
    place.write_text(json.dumps({**json.loads(place.read_text()), "recalled_runs": recalled}))
    page = page_of(tmp_path / "copying")
    assert "taken as another result has measured them: 2 of mixture/paper, 1 of &lt;/script&gt;" in page


def test_no_result_is_said(tmp_path):
    with pytest.raises(UsageError, match="no result to report on; run the experiment first"):
        COPYING.report(tmp_path)


def test_the_papers_figure_is_drawn_from_all_our_seeds_up_to_its_end(tmp_path):
    curves = [
        {"setting": setting, "seed": seed, "step": step, "accuracy": step / 1000}
        for setting in ("permutations of 40", "40 of 60", "i.i.d. from 40")
        for seed in range(3)
        for step in (0, 100, 200, 300)
    ]
    put(tmp_path, curves=curves)
    drawn = charts_of(page_of(tmp_path))[1]  # after the first figure, which answers the question
    lines, *marks = drawn["layer"]
    values = rows_of(drawn, lines)
    assert sorted({(row["series"], row["seed"], row["x"], row["y"]) for row in values}) == sorted(
        (row["setting"], str(row["seed"]), row["step"], row["accuracy"])
        for row in curves
        if row["setting"] != "i.i.d. from 40" and row["step"] <= 200
    )
    assert len(values) == 18
    assert lines["encoding"]["x"]["scale"]["domain"] == [0, 200]
    assert lines["encoding"]["y"]["scale"]["domain"] == [0, 1]
    read_off = [rows_of(drawn, mark)[0] for mark in marks]
    assert {"series": "permutations of 40", "x": 190, "y": 0.6, "y2": 0.7} in read_off
    assert {"series": "40 of 60", "x": 20, "y": 0.25} in read_off
    assert all(mark["encoding"]["x"] == lines["encoding"]["x"] for mark in marks), "the same axes"


def test_the_same_result_has_the_same_page_whatever_order_python_gives_sets(tmp_path):
    put(tmp_path / "copying")
    pages = []
    for seed in ("1", "2"):
        command = [sys.executable, "-m", "attnlab", "report", "copying", "--results", str(tmp_path)]
        subprocess.run(command, env={**os.environ, "PYTHONHASHSEED": seed}, check=True, capture_output=True)
        pages.append((tmp_path / "copying" / "report.html").read_bytes())
    assert pages[0] == pages[1]


def test_it_is_said_where_nothing_can_be_read_off_the_original(tmp_path):
    put(
        tmp_path,
        curves=[{"setting": "permutations of either of two sets of 40", "seed": 0, "step": 10, "accuracy": 0.5}],
    )
    page = page_of(tmp_path, EXPERIMENTS["mixture"])
    assert "No values of the original could be had" in page
    assert len(charts_of(page)[1]["layer"]) == 1


COMMITTED = [name for name in EXPERIMENTS if (RESULTS / name).is_dir()]


@pytest.mark.parametrize("name", COMMITTED)
def test_every_experiment_has_question_answer_and_a_caption_for_each_figure(name):
    words = page_words(name)
    assert words.question.endswith("?")
    results = strongest(RESULTS / name, EXPERIMENTS[name].rows or ("",))
    assert results
    rows = EXPERIMENTS[name].rows
    for result in results:
        answer = words.answer_over([result], whole=True) if rows else words.answer_for(result)
        assert answer, "a number of the answer is not in the result"
        assert "{" not in answer
        assert set(result.document["figures"]) <= set(words.captions), result.name
        assert all(figure.row in ("", *EXPERIMENTS[name].rows) for figure in words.paper)


@pytest.mark.parametrize("name", COMMITTED)
def test_the_page_of_every_committed_result_is_built(name, tmp_path):
    shutil.copytree(RESULTS / name, tmp_path / name, ignore=shutil.ignore_patterns("*.png", "*.svg"))
    page = EXPERIMENTS[name].report(tmp_path / name).read_text(encoding="utf-8")
    assert EXPERIMENTS[name].title in html.unescape(page)
    assert charts_of(page)


def test_rules_are_named_by_their_hashes(tmp_path):
    put(tmp_path)
    assert "Rules" not in page_of(tmp_path)
    place = tmp_path / "paper" / "result.json"
    rules = {"copy-iid-learns": {"words": "0" * 16, "code": "1" * 16}}
    document = json.loads(place.read_text())
    place.write_text(json.dumps({**document, "rules": rules}))
    assert f"Rules by hash of words and code: copy-iid-learns {'0' * 16} {'1' * 16}." in page_of(tmp_path)
    moved = {"date": "2026-11-18", "why": "The code moved.", "rules": rules}
    place.write_text(json.dumps({**document, "rules_commit": "abcdef0123456789", "moved": moved}))
    assert "Rules of commit abcdef012345; The code moved. Hashes since: copy-iid-learns" in page_of(tmp_path)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"tables": ["../../../secret"]}, "tables.0"),
        ({"figures": ["/etc/passwd"]}, "figures.0"),
        ({"claims": "all"}, "claims"),
        ({"seeds": [1]}, "seeds"),
        ({"preset": "papr"}, "preset"),
        ({"notes": None}, "notes"),
        ({"rules": {"a": "b"}}, "rules"),
        ({"moved": {"why": 1}}, "moved"),
        ({"rules_commit": 7}, "rules_commit"),
        ({"redrawn": {"why": 1}}, "redrawn"),
        ({"decided_again": {}}, "decided_again"),
        ({"recalled_runs": {"a": "b"}}, "recalled_runs"),
        ({"claims": [{"claim": "a", "parts": [{"name": "b"}]}]}, "claims.0.parts.0"),
        ({"seeds": {"networks": ["0"]}}, "seeds"),
    ],
)
def test_a_result_that_is_none_of_ours_is_refused_in_a_sentence(tmp_path, changes, sentence):
    put(tmp_path)
    place = tmp_path / "paper" / "result.json"
    place.write_text(json.dumps({**json.loads(place.read_text()), **changes}))
    with pytest.raises(UsageError, match=rf"result\.json is no whole result \({sentence}"):
        COPYING.report(tmp_path)


@pytest.mark.parametrize("text", ["", "{", "[]", "null", '"text"', "[" * 100_000])
def test_a_damaged_result_is_refused_in_a_sentence(tmp_path, text):
    put(tmp_path)
    (tmp_path / "paper" / "result.json").write_text(text)
    with pytest.raises(UsageError, match=r"result\.json is no whole result"):
        COPYING.report(tmp_path)


@pytest.mark.parametrize(
    ("name", "data", "sentence"),
    [
        ("tables/short.csv", b"\xff\xfe,1\n", "is not a table of ours"),
        ("tables/short.csv", b"a,b\n1\n", "line 2: it has not as many cells"),
        ("tables/short.csv", b"a,b\n1,2\n1,2,3\n", "line 3: it has not as many cells"),
        ("tables/short.csv", b"a\n" + b"x" * 200_000, "is not a table of ours"),
        ("tables/short.csv", b"PK\x03\x04\0\0\0", "is not a table of ours"),
        ("tables/curves.csv", b"what\n1\n", "is not what .* is drawn from"),
        ("tables/curves.csv", b"setting,seed,step,accuracy\n40 of 60,0,soon,1\n", "is not what .* is drawn from"),
        ("figures/bars.vl.json", b"", "is no chart"),
        ("figures/bars.vl.json", b"[" * 100_000, "is no chart"),
        ("figures/bars.vl.json", b'{"a":' * 900 + b"1" + b"}" * 900, "is no chart"),
        ("figures/bars.vl.json", b"[1, 2]", "is no chart"),
        ("figures/bars.vl.json", b'{"$schema": "vega-lite", "width": NaN}', "is no chart .NaN is no number"),
        ("figures/bars.vl.json", None, "cannot be read: No such file"),
    ],
)
def test_a_part_of_a_result_that_is_none_is_named(tmp_path, name, data, sentence):
    put(tmp_path)
    if data is None:
        (tmp_path / "paper" / name).unlink()
    else:
        (tmp_path / "paper" / name).write_bytes(data)
    with pytest.raises(UsageError, match=f"{re.escape(name)}.*{sentence}"):
        COPYING.report(tmp_path)


@pytest.mark.parametrize("name", ["result.json", "tables/short.csv", "figures/bars.vl.json"])
@pytest.mark.parametrize(
    ("made", "sentence"), [("link", "leaves its folder"), ("folder", "no plain file"), ("long", "bytes")]
)
def test_nothing_is_read_through_links_that_leave_the_folder_nor_without_bounds(tmp_path, name, made, sentence):
    put(tmp_path / "copying")
    place = tmp_path / "copying" / "paper" / name
    secret = place.rename(tmp_path / "secret")
    if made == "link":
        place.symlink_to(secret)
    elif made == "folder":
        place.mkdir()
    else:
        with place.open("wb") as file:
            file.truncate(65_000_000)
    lost = (name, made) == ("result.json", "folder")
    said = "has tables of a result but no file" if lost else f"{re.escape(name)} .*{sentence}"
    with pytest.raises(UsageError, match=said):
        COPYING.report(tmp_path / "copying")


def test_a_link_inside_the_folder_and_odd_titles_are_read(tmp_path):
    put(tmp_path)
    chart = tmp_path / "paper" / "figures" / "bars.vl.json"
    for title in (7, None, ["one", 2], {"text": ["a", "b"]}, {}, "\ud800"):
        chart.write_text(json.dumps({**json.loads(chart.read_text()), "title": title}))
        page_of(tmp_path)
    chart.rename(chart.with_name("moved"))
    chart.symlink_to("moved")
    page_of(tmp_path)


def test_a_result_of_another_experiment_is_not_reported_on(tmp_path):
    put(tmp_path / "rescue")
    (tmp_path / "rescue").rename(tmp_path / "copying")
    with pytest.raises(UsageError, match="paper holds a result of rescue at paper; it stands in the wrong place"):
        COPYING.report(tmp_path / "copying")


@pytest.mark.parametrize("place", ["data", "layer"])
def test_a_chart_that_would_fetch_something_makes_no_page(tmp_path, place):
    put(tmp_path)
    chart = tmp_path / "paper" / "figures" / "bars.vl.json"
    called = {"url": "https://example.invalid/data.json"}
    changes = {"data": called} if place == "data" else {"layer": [{"mark": "bar", "data": called}]}
    chart.write_text(json.dumps({**json.loads(chart.read_text()), **changes}))
    with pytest.raises(UsageError, match=r"bars\.vl\.json names an address"):
        COPYING.report(tmp_path)


def drawn_figures():
    """Every figure of a paper that is drawn, with the result it is drawn from, as far as that is there."""
    for name in COMMITTED:
        for figure in page_words(name).paper:
            for result in strongest(RESULTS / name, EXPERIMENTS[name].rows or ("",)):
                if figure.series and figure.row == result.row:
                    yield pytest.param(figure, result, id=f"{name}: {figure.name}")


@pytest.mark.parametrize(("figure", "result"), list(drawn_figures()))
def test_a_paper_s_figure_names_what_the_committed_table_has(figure, result):
    """A series whose setting was renamed would silently be left out of the figure."""
    chart = json.loads(figure.chart(result).to_json())
    rows = [row for one in chart["datasets"].values() for row in one]
    for series in figure.series:
        assert any(row["series"] == series.label and "seed" in row for row in rows), series.label
    readings = [row for row in rows if "seed" not in row]
    assert len(readings) == sum(len(series.marks) for series in figure.series)


@pytest.mark.parametrize("name", [name for name in EXPERIMENTS if papers_claims(name)])
def test_every_experiment_of_a_paper_s_claim_says_what_the_paper_shows(name):
    assert page_words(name).paper
    assert all(figure.shows.endswith(".") for figure in page_words(name).paper)

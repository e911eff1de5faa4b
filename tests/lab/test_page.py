"""The page of a result: what lies on disk, in words, with the paper's figure in its own axes."""

import json
import os
import re
import subprocess
import sys

import altair as alt
import pytest

from attnlab.errors import UsageError
from attnlab.experiments.copying import experiment as copying
from attnlab.experiments.locality import experiment as locality
from attnlab.experiments.mixture import experiment as mixture
from attnlab.experiments.multihead import heads
from attnlab.lab.claims import Finding, Part, claim
from attnlab.lab.experiment import RowedExperiment
from attnlab.lab.page import LONGEST_TABLE, MOST_PARTS, write_report
from attnlab.lab.paper_figure import page_words
from attnlab.lab.registry import EXPERIMENTS
from attnlab.lab.result import write_table

HOSTILE = '</script><script>alert(1)</script> & "quotes" <b>'
COPYING = EXPERIMENTS["copying"]


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
    path = write_report(experiment, folder)
    assert path == folder / "report.html"
    return path.read_text(encoding="utf-8")


def charts_of(page):
    """The descriptions of a page's charts, in order."""
    return [json.loads(found) for found in re.findall(r'vegaEmbed\("#chart-\d+", (\{.*\}), \{actions', page)]


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
        "It holds in these runs.",
        "0.125 to 0.5",
        "what stronger shows",
        "<td>0.123</td>",
        "paper/tables/long.csv",
        "note: stronger",
        "attnlab run copying --preset paper; seeds: networks 0, 1; 2 seconds",
    ):
        assert text in page, text
    assert "weaker" not in page
    assert "never shown" not in page


@pytest.mark.parametrize(
    ("verdict", "words"), [("fails", "It fails in these runs."), ("undecided", "These runs do not decide it.")]
)
def test_verdicts_are_put_in_words(tmp_path, verdict, words):
    put(tmp_path, verdict=verdict)
    assert f"{claim('copy-iid-learns').source}). {words}" in page_of(tmp_path)


def test_the_page_begins_with_verdicts_and_tells_settings_apart(tmp_path):
    put(tmp_path)
    place = tmp_path / "paper" / "result.json"
    parts = [Part(f"part {n}", "fails" if n else "holds", 0.5, None, "seeds", "") for n in range(MOST_PARTS + 1)]
    changes = {
        "summary": "40 of 60: all learned. 40 of 80: half did. And so on.",
        "seeds": {"40 of 60": [0], "40 of 80": [0]},
        "claims": [Finding("copy-iid-learns", tuple(parts)).to_json()],
    }
    place.write_text(json.dumps({**json.loads(place.read_text()), **changes}))
    page = page_of(tmp_path)
    assert f"It fails in these runs: of {MOST_PARTS + 1} parts 1 holds, {MOST_PARTS} fail." in page
    assert "<p>40 of 60: all learned.</p>" in page
    assert "<p>40 of 80: half did. And so on.</p>" in page
    assert f"<summary>{MOST_PARTS + 1} parts with their numbers</summary>" in page
    wanted = ("What is claimed", "what it ran shows", "What came out, in numbers", "How each claim was decided")
    headings = re.findall(r"<h2>(.*?)</h2>", page)
    places = [next(k for k, heading in enumerate(headings) if text in heading) for text in wanted]
    assert places == sorted(places)


def test_an_experiment_of_ones_own_has_a_page_too(tmp_path):
    class Own:
        name, title, source = "own", "My own", "my head"

    put(tmp_path, claim="my-claim")
    page = page_of(tmp_path, Own())
    assert "my-claim: It holds in these runs." in page
    assert "Source: my head. Run at paper." in page
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
        write_report(COPYING, tmp_path)


def test_the_papers_figure_is_drawn_from_all_our_seeds_up_to_its_end(tmp_path):
    curves = [
        {"setting": setting, "seed": seed, "step": step, "accuracy": step / 1000}
        for setting in ("permutations of 40", "40 of 60", "i.i.d. from 40")
        for seed in range(3)
        for step in (0, 100, 200, 300)
    ]
    put(tmp_path, curves=curves)
    drawn = charts_of(page_of(tmp_path))[0]
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
    put(tmp_path, curves=[{"setting": mixture.SETS.name, "seed": 0, "step": 10, "accuracy": 0.5}])
    page = page_of(tmp_path, EXPERIMENTS["mixture"])
    assert "No values of the original could be had" in page
    assert len(charts_of(page)[0]["layer"]) == 1


def test_every_experiment_without_rows_has_its_question():
    for name, experiment in EXPERIMENTS.items():
        assert isinstance(experiment, RowedExperiment) or page_words(name).question.endswith("?"), name


@pytest.mark.parametrize(
    ("name", "column", "known"),
    [
        ("copying", "setting", {setting.name for setting in copying.SETTINGS}),
        ("mixture", "setting", {setting.name for setting in mixture.SETTINGS}),
        ("multihead", "setting", set(heads.SCENARIOS)),
        ("multihead", "variant", {heads.RELEASED.name}),
        ("locality", "encoder", {encoder.name for encoder in locality.ENCODERS}),
    ],
)
def test_figures_name_what_their_experiments_have(name, column, known):
    for series in page_words(name).figure.series:
        assert series.where[column] in known

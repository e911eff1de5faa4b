"""Charts made ready for a page: the page's look, all their data, no address, and words for those who do not see."""

import gzip
import json
from base64 import b64decode

import altair as alt
import pytest

from attnlab.errors import UsageError
from attnlab.pages.charts import dot_rows, inline, not_learned, seed_curves
from attnlab.pages.fit import CONCEPTS, LARGE, SMALLEST, prepare

ROWS = [{"what": what, "seed": 0, "step": k, "share": k / 9} for what in ("attention", "lexical probe") for k in (0, 9)]


def numbers(part, name):
    """All values under keys that end so."""
    if isinstance(part, dict):
        for key, value in part.items():
            if key.lower().endswith(name) and isinstance(value, int | float):
                yield value
            elif key not in ("datasets", "values"):
                yield from numbers(value, name)
    if isinstance(part, list):
        for value in part:
            yield from numbers(value, name)


def test_letters_are_large_enough_and_ink_is_the_page_s():
    base = alt.Chart(alt.InlineData(values=[{"x": 1, "c": "#333333"}]))
    chart = base.mark_text(fontSize=7, color="#333333").encode(x="x:Q", text="c:N").properties(title="said above")
    ready = prepare(chart).chart
    assert min(numbers(ready, "fontsize")) >= SMALLEST
    assert ready["mark"]["color"] == "currentColor"
    assert ready["datasets" if "datasets" in ready else "data"] != {}
    assert "#333333" in json.dumps(ready.get("datasets") or ready["data"]), "data is left alone"
    assert "title" not in ready


def test_a_number_on_a_coloured_cell_keeps_the_ink_that_is_read_on_it():
    colour = alt.condition("datum.x > 1", alt.value("white"), alt.value("#333333"))
    chart = alt.Chart(alt.InlineData(values=[{"x": 1}])).mark_text().encode(x="x:Q", color=colour)
    assert prepare(chart).chart["encoding"]["color"]["value"] == "#333333"


def test_a_large_chart_is_packed_and_a_small_one_is_not():
    small = prepare(seed_curves(ROWS, "share", "share", "a", column="what"))
    assert small.packed == ""
    many = [{**row, "step": n} for row in ROWS for n in range(LARGE // 20)]
    large = prepare(seed_curves(many, "share", "share", "a", column="what"))
    assert json.loads(gzip.decompress(b64decode(large.packed))) == large.chart


def test_it_is_described_by_its_heading_caption_and_axes():
    chart = seed_curves(ROWS, "share", "how often", "a", column="what")
    said = prepare(chart, "Where words point", "Every seed.").description
    assert said == "Where words point. Every seed. Across: updates. Up: how often."


@pytest.mark.parametrize("names", [["attention", "lexical probe"], ["token accuracy"]])
def test_one_concept_has_one_colour_whatever_it_is_drawn_with(names):
    rows = [{"what": name, "seed": 0, "step": 1, "share": 1} for name in reversed(names)]
    chart = seed_curves(rows, "share", "share", "a", column="seed", colour="what", colours=("#111111", "#222222"))
    scale = prepare(chart).chart["spec"]["encoding"]["color"]["scale"]
    assert dict(zip(scale["domain"], scale["range"], strict=True)) == {name: CONCEPTS[name] for name in names}


@pytest.mark.parametrize(
    ("colours", "others"), [(("#111111", "#222222"), "#222222"), (("#0072b2", CONCEPTS["accuracy"]), "#d55e00")]
)
def test_other_names_keep_their_own_colours_unless_a_concept_has_it(colours, others):
    rows = [{"what": name, "seed": 0, "step": 1, "share": 1} for name in ("accuracy", "variance explained")]
    chart = seed_curves(rows, "share", "share", "a", column="seed", colour="what", colours=colours)
    scale = prepare(chart).chart["spec"]["encoding"]["color"]["scale"]
    assert dict(zip(scale["domain"], scale["range"], strict=True)) == {
        "accuracy": CONCEPTS["accuracy"],
        "variance explained": others,
    }


def test_an_empty_title_is_no_comma_before_another_layer_s():
    base = alt.Chart(alt.InlineData(values=[{"y": 1}]))
    layers = [base.mark_rule().encode(y=alt.Y("y:Q", title=title)) for title in ("", "how often")]
    ready = prepare(alt.layer(*layers)).chart
    assert [layer["encoding"]["y"]["title"] for layer in ready["layer"]] == ["how often", "how often"]


def test_names_without_a_concept_are_left_alone():
    rows = [{"what": name, "seed": 0, "step": 1, "share": 1} for name in ("mess", "solid")]
    chart = seed_curves(rows, "share", "share", "a", column="seed", colour="what", colours=("#111111", "#222222"))
    assert prepare(chart).chart["spec"]["encoding"]["color"]["scale"] == {"range": ["#111111", "#222222"]}


@pytest.mark.parametrize("key", ["url", "href"])
def test_a_chart_with_an_address_is_refused(key):
    chart = {"layer": [{"mark": "bar", "encoding": {key: {"value": "https://example.invalid"}}}]}
    with pytest.raises(UsageError, match=rf"names an address at layer\[0\]\.encoding\.{key}"):
        prepare(chart)


@pytest.mark.parametrize(
    "odd",
    [
        {"encoding": {"x": 3, "y": {"field": ["a"]}, "color": {"field": {"a": 1}, "value": 1}}},
        {"data": {"name": [1]}, "datasets": 7, "encoding": {"color": {"field": "a"}}},
        {"layer": 3, "hconcat": None, "spec": [1], "encoding": []},
    ],
)
def test_a_stranger_s_chart_of_odd_parts_is_no_accident(odd):
    assert prepare(odd).chart["config"]["background"] == "transparent"


def test_a_chart_that_is_too_deep_is_refused_in_a_sentence():
    deep = {}
    for _ in range(5000):
        deep = {"layer": [deep]}
    with pytest.raises(UsageError, match="too many parts inside each other"):
        prepare(deep, "deep")


def test_a_row_of_dots_has_value_interval_chance_and_authors():
    points = [
        {"corpus": "sst", "what": "A", "runs": "reduced", "value": 0.5, "low": 0.4, "high": 0.6}
        | {"chance": 0.1, "authors": None},
    ]
    chart = prepare(dot_rows(points, title="t")).chart
    (rows,) = chart["datasets"].values()
    assert rows == points
    drawn = {layer["encoding"]["x"]["field"] for layer in chart["layer"]}
    assert drawn == {"low", "value", "chance", "authors"}
    hollow = next(layer for layer in chart["layer"] if "fillOpacity" in layer["encoding"])["encoding"]["fillOpacity"]
    assert hollow["condition"] == {"test": "datum.runs == 'reduced'", "value": 0}


def test_runs_that_did_not_learn_have_a_band_with_words():
    chart = not_learned(305, 350, "not learned within 300 updates")
    described = json.loads((chart + alt.Chart(inline([{"y": 1}])).mark_point().encode(y="y:Q")).to_json())
    assert {"first": 305, "last": 350, "words": "not learned within 300 updates"} in [
        row for rows in described["datasets"].values() for row in rows
    ]

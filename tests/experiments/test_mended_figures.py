"""Figures that once misled, as committed: what each draws is what its page says it does."""

import csv
import json
from pathlib import Path

import pytest

from attnlab.lab.page_words import page_words

RESULTS = Path(__file__).parents[2] / "results"


def figure(place, name):
    return json.loads((RESULTS / place / "figures" / f"{name}.vl.json").read_text(encoding="utf-8"))


def table(place, name):
    with (RESULTS / place / "tables" / f"{name}.csv").open(newline="", encoding="utf-8") as lines:
        return list(csv.DictReader(lines))


def rows_of(chart):
    return [row for rows in chart["datasets"].values() for row in rows]


def test_tasks_with_a_right_position_and_texts_are_drawn_apart():
    knowledge, texts = (figure("knowledge-first/paper", name) for name in ("knowledge", "texts"))
    assert {row["setting"] for row in rows_of(knowledge)}.isdisjoint(row["setting"] for row in rows_of(texts))
    assert "right position" in knowledge["spec"]["encoding"]["y"]["title"]
    assert texts["spec"]["encoding"]["y"]["title"] == "same top word as at the run's best evaluation"


def test_the_evaluation_that_texts_are_compared_with_is_left_out():
    drawn = rows_of(figure("knowledge-first/paper", "texts"))
    measured = [row for row in table("knowledge-first/paper", "curves") if row["setting"].startswith("SST")]
    best = {
        (row["seed"], row["step"]) for row in measured if float(row["probe_top"]) == float(row["attention_top"]) == 1
    }
    assert {seed for seed, _ in best} == {row["seed"] for row in measured}, "each run has one"
    assert {(str(row["seed"]), str(row["step"])) for row in drawn}.isdisjoint(best)
    assert len(drawn) == 2 * (len(measured) - len(best))


@pytest.mark.parametrize("name", ["figure5", "turn"])
def test_locality_has_the_colours_of_the_paper_s_figure_on_its_page(name):
    scale = figure("locality/paper", name)["spec"]["encoding"]["color"]["scale"]
    ours = dict(zip(scale["domain"], scale["range"], strict=True))
    theirs = {series.label: series.colour for series in page_words("locality").paper[0].series}
    same = {"keyword": "at the keyword", "mean of all": "mean of all positions"}
    assert {same.get(label, label): colour for label, colour in theirs.items()} == ours


@pytest.mark.parametrize("name", ["classification", "mixture", "one-pair", "permutations", "selections", "two-pairs"])
def test_probabilities_have_one_scale_of_colours(name):
    counts, trans, alignment = figure("count-tables/paper", name)["hconcat"]
    domains = [panel["layer"][0]["encoding"]["color"]["scale"]["domain"] for panel in (trans, alignment)]
    assert domains == [[0, 1.0], [0, 1.0]]
    assert counts["title"]["text"].endswith("darkest: its largest")


def test_crosses_are_crosses():
    _, crosses = figure("topic-sst/paper", "identity")["spec"]["layer"]
    assert crosses["mark"]["shape"] == "cross" and crosses["mark"]["size"] >= 40
    drawn = {(row["setting"], row["word"]): row["identity"] for row in rows_of(figure("topic-sst/paper", "identity"))}
    kept = {(row["setting"], row["word"]): float(row["identity"]) for row in table("topic-sst/paper", "identity")}
    assert drawn == pytest.approx(kept)


def test_shares_of_0_and_1_are_inside_the_axes():
    chart = figure("rescue/reduced", "success")
    low, high = chart["layer"][0]["encoding"]["x"]["scale"]["domain"]
    rates = [row["rate"] for row in rows_of(chart)]
    assert low < min(rates) == 0 and max(rates) == 1 < high


def test_runs_that_did_not_learn_are_in_the_band_and_no_other():
    chart = figure("permuting/paper", "distance")
    dots = [row for row in rows_of(chart) if "distance" in row]
    (band,) = [row for row in rows_of(chart) if "words" in row]
    assert band["words"] == "not learned within 300 updates"
    kept = {(row["setting"], row["seed"]): row for row in table("permuting/paper", "runs")}
    assert len(dots) == len(kept)
    for dot in dots:
        run = kept[dot["order"], str(dot["seed"])]
        inside = band["first"] <= dot["step"] <= band["last"]
        assert inside == (run["learned"] == "False") == (not dot["learned"])
        if not inside:
            assert dot["step"] == int(run["step"])


def test_results_say_which_figures_were_drawn_again():
    for path in RESULTS.glob("*/*/result.json"):
        document = json.loads(path.read_text(encoding="utf-8"))
        if redrawn := document.get("redrawn"):
            assert redrawn["why"] and set(redrawn["figures"]) <= set(document["figures"]), path

"""Deciding claims again from what results keep: what comes out otherwise is found, what cannot be had is named."""

import csv
import json
import shutil
from pathlib import Path

import pytest

from attnlab.lab.check import check_claims, value_of
from attnlab.lab.claims import load_claims
from attnlab.lab.registry import EXPERIMENTS
from attnlab.lab.result import write_document, write_table

RESULTS = Path(__file__).parents[2] / "results"
CANNOT = {
    "early-verdict": "it keeps no curves of its own",
    "topic-words": "its tables are older than its rule",
}
"""Experiments of whose committed results some claims cannot be decided again, and why."""
COMPUTED = [name for name, experiment in EXPERIMENTS.items() if not experiment.trains]


def test_every_committed_claim_of_trained_runs_comes_out_as_it_is_kept():
    checked = list(check_claims(RESULTS, compute=False))
    assert [one for one in checked if one.same is False] == []
    cannot = [one for one in checked if one.same is None and one.result.split("/")[0] not in COMPUTED]
    assert {one.result.split("/")[0] for one in cannot} == set(CANNOT)
    for one in cannot:
        assert one.said.startswith(CANNOT[one.result.split("/")[0]])
    assert len(cannot) == 9
    with_result = {id for path in RESULTS.rglob("result.json") for id in claims_in(path)}
    assert {one.claim for one in checked} == with_result


def claims_in(path):
    return [entry["claim"] for entry in json.loads(path.read_text(encoding="utf-8"))["claims"]]


@pytest.mark.parametrize("name", ["gated-toy", "count-tables"])
def test_results_without_training_are_worked_out_again(name):
    checked = list(check_claims(RESULTS, name))
    assert [one.same for one in checked] == [True] * len(checked)
    assert {one.claim for one in checked} == {claim.id for claim in load_claims() if name in claim.experiments}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["init-derivative"])
def test_longer_results_without_training_are_worked_out_again(name):
    assert {one.same for one in check_claims(RESULTS, name)} == {True}


def test_they_are_left_out_where_nothing_is_to_be_worked_out():
    assert {one.said for one in check_claims(RESULTS, "gated-toy", compute=False)} == {"it was not to be worked out"}


def test_where_a_corpus_is_missing_its_claims_are_named_and_the_others_are_decided(tmp_path, monkeypatch):
    monkeypatch.setenv("ATTNLAB_DATA", str(tmp_path))
    shutil.copytree(RESULTS / "init-derivative", tmp_path / "results" / "init-derivative")
    checked = list(check_claims(tmp_path / "results"))
    assert {one.claim for one in checked} == {
        claim.id for claim in load_claims() if "init-derivative" in claim.experiments
    }
    assert {one.same for one in checked} == {None}
    assert all("needs Multi30k" in one.said for one in checked)


def test_a_trained_network_beside_what_needs_no_training_is_read_from_its_tables(tmp_path, monkeypatch):
    """Without its corpus, working it out again would find no translator."""
    monkeypatch.setenv("ATTNLAB_DATA", str(tmp_path))
    assert {one.same for one in check_claims(RESULTS, "optimal-attention")} == {True}


# --- faults


@pytest.fixture
def saliency(tmp_path):
    """A copy of one committed row."""
    folder = tmp_path / "saliency" / "paper" / "sst"
    shutil.copytree(RESULTS / "saliency" / "paper" / "sst", folder)
    assert {one.same for one in check_claims(tmp_path)} == {True}
    return folder


def change_table(folder, change):
    path = folder / "tables" / "saliency.csv"
    with path.open(newline="", encoding="utf-8") as lines:
        table = list(csv.DictReader(lines))
    write_table([change(row) for row in table], path)


def test_a_number_changed_in_a_table_is_found(saliency, tmp_path):
    change_table(saliency, lambda row: row | ({"value": 0.2} if row["agreement"] == "A(alpha, beta_uf)" else {}))
    (found,) = [one for one in check_claims(tmp_path) if one.same is False]
    assert (found.result, found.claim) == ("saliency/paper/sst", "relevance-under-uniform")
    assert "A(alpha, beta_uf): effect is 0.2, not 0.165" in found.said
    assert "verdict is holds" not in found.said  # its interval still lies below twice chance


@pytest.mark.parametrize(("key", "value"), [("verdict", "holds"), ("direction", "fails"), ("effect", 0.9)])
def test_an_answer_changed_in_a_result_is_found(saliency, tmp_path, key, value):
    path = saliency / "result.json"
    document = json.loads(path.read_text(encoding="utf-8"))
    document["claims"][1]["parts"][0][key] = value
    path.write_text(json.dumps(document), encoding="utf-8")
    (found,) = [one for one in check_claims(tmp_path) if one.same is False]
    assert f"{key} is" in found.said


def test_a_part_left_out_of_a_result_is_found(saliency, tmp_path):
    path = saliency / "result.json"
    document = json.loads(path.read_text(encoding="utf-8"))
    del document["claims"][0]["parts"][3]
    path.write_text(json.dumps(document), encoding="utf-8")
    (found,) = [one for one in check_claims(tmp_path) if one.same is False]
    assert found.said.startswith(
        "its parts are A(alpha, loo), A(alpha, delta), tau(alpha, loo), tau(alpha, delta), not"
    )


def test_a_column_that_is_missing_is_named(saliency, tmp_path):
    change_table(saliency, lambda row: {name: value for name, value in row.items() if name != "chance"})
    said = {one.said for one in check_claims(tmp_path)}
    assert said == {"its tables are older than its rule, which reads 'chance'"}


def test_curves_that_are_incomplete_decide_nothing_by_themselves(tmp_path):
    """Without a run's curve the table of runs still says whether it learned."""
    folder = tmp_path / "copying" / "paper"
    shutil.copytree(RESULTS / "copying" / "paper", folder)
    path = folder / "tables" / "curves.csv"
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    path.write_text("".join(lines[:500]), encoding="utf-8")
    write_document(folder, json.loads((folder / "result.json").read_text(encoding="utf-8")))  # sealed as it is now
    assert {one.same for one in check_claims(tmp_path)} == {True}


@pytest.mark.parametrize(
    ("cell", "value"),
    [
        ("", None),
        ("3", 3),
        ("-0.5", -0.5),
        ("1e-05", 1e-05),
        ("True", True),
        ("False", False),
        ("40 of 60", "40 of 60"),
    ],
)
def test_cells_are_what_they_were(cell, value):
    assert value_of(cell) == value
    assert type(value_of(cell)) is type(value)

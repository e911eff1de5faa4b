"""Forecast against translators' training: the cells, what decides, and two runs of a few updates."""

import math
from itertools import pairwise

import numpy as np
import pytest
from scipy.stats import spearmanr
from tests.experiments.translating import little_corpora
from tests.lab.drawn import drawn
from tests.lab.in_this_process import InThisProcess

from attnlab.experiments.forecast_translation import experiment as module
from attnlab.experiments.forecast_translation.experiment import (
    CELLS,
    PAIRS,
    Cell,
    ForecastTranslation,
    Tried,
    aligned_by_counts,
    exact_p,
    forecast_figure,
)
from attnlab.families.texts.reading import stored_field
from attnlab.lab.claims import load_claims
from attnlab.lab.conduct import conduct
from attnlab.lab.experiment import Order, Record
from attnlab.lab.outcomes import Outcome
from attnlab.measures.agreement import top_agreement
from attnlab.runs.loop import Trained
from attnlab.runs.store import RunStore

QUICK = Order("quick")


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("forecast")
    with little_corpora(folder / "data") as patch:
        patch.setitem(module.STEPS, "quick", 4)
        patch.setitem(module.EVERY, "quick", 2)
        yield folder


@pytest.fixture(scope="module")
def done(place):
    store = RunStore(place / "runs")
    return conduct(ForecastTranslation(), QUICK, store, InThisProcess(), place / "results", command="attnlab run")


def test_a_result_is_whole(done):
    result = done.result
    claims = {claim.id for claim in load_claims() if "forecast-translation" in claim.experiments}
    assert {finding.claim for finding in result.findings} == claims
    assert [row["cell"] for row in result.tables["cells"]] == ["Multi30k", "Multi30k, 100 % shuffled"]
    assert len({row["run"] for row in result.tables["cells"]}) == 2
    for table in result.tables.values():
        assert all(math.isfinite(value) for row in table for value in row.values() if isinstance(value, float))
    shown = [row for row in drawn(result.figures["forecast"]) if "cell" in row]
    assert shown == [{**row, "left": False} for row in result.tables["cells"]]
    lines = {(row["cell"], row["step"]): row for row in drawn(result.figures["curves"]) if "step" in row}
    values = {place: row["value"] for place, row in lines.items()}
    assert values == {(row["cell"], row["step"]): row["value"] for row in result.tables["curves"]}
    for row in result.tables["cells"]:
        last = lines[row["cell"], row["last_step"]]
        assert (last["forecast"], last["learned"]) == (row["forecast"], 2 * row["chance"])
    assert "Multi30k, 100 % shuffled: gain" in result.summary


def test_agreement_is_that_of_the_stored_attention(place, done):
    aligned = aligned_by_counts("multi30k/en-de")
    for row in done.result.tables["cells"]:
        alpha = stored_field(RunStore(place / "runs").run(row["run"]).fields(4), "valid", "alpha")
        values = top_agreement(alpha, aligned).expected
        assert row["agreement"] == pytest.approx(values.mean())
        assert row["excess"] == pytest.approx(values.mean() - row["chance"])
        assert row["low"] <= row["excess"] <= row["high"]


def test_shuffled_cells_are_forecast_from_shuffled_pairs(done):
    clean, shuffled = done.result.tables["cells"]
    assert clean["pairs"] == shuffled["pairs"] == 60
    assert clean["gain"] > shuffled["gain"]


def test_eight_different_cells():
    assert len(CELLS) == len({(cell.corpus, cell.shuffled, cell.training_pairs) for cell in CELLS}) == 8
    assert [cell.shuffled for cell in CELLS[:4]] == [0, 0.2, 0.5, 1]


def test_attention_is_learned_where_it_exceeds_twice_chance():
    rows = [{"step": step, "accuracy": 0.1, "loss": 1.0} for step in (0, 100, 200, 300)]
    levels = np.array([0.1, 0.2, 0.21, 0.15])[:, None].repeat(4, 1)
    tried = Tried(Cell("a"), Outcome("a", 20, Trained("id", rows, 300)), None, levels, np.full(4, 0.1), np.arange(4))
    assert tried.learned_step == 200
    assert Tried(**{**vars(tried), "chance": np.full(4, 0.11)}).learned_step is None


def test_the_exact_p_is_the_share_of_orders():
    rng = np.random.default_rng(0)
    one, other = rng.random(6), rng.random(6)
    found = spearmanr(one, other, alternative="greater").statistic
    assert 0 < exact_p(one, other) <= 1
    assert exact_p(one, one) == pytest.approx(1 / math.factorial(6))
    levels = [exact_p(one, np.sort(one) if turned else one[::-1]) for turned in (False, True)]
    assert all(0 < level <= 1 for level in levels)
    assert found == pytest.approx(spearmanr(one, other).statistic)


def cells(gains, ends, learned=None, said=None):
    learned = learned or [None] * len(gains)
    said = said or ["too little data to tell"] * len(gains)
    names = ("gain", "excess", "learned_step", "forecast")
    return [dict(zip(names, row, strict=True)) for row in zip(gains, ends, learned, said, strict=True)]


def decided(claim, rows):
    told = ForecastTranslation().retold(Order("paper"), Record({"cells": rows}, {}))
    return ForecastTranslation.rules()[claim](told)


def test_verdicts_on_the_order():
    rising = np.arange(8) / 10
    assert decided("forecast-orders-translation", cells(rising, rising)).verdict == "holds"
    assert decided("forecast-orders-translation", cells(rising, -rising)).verdict == "fails"
    mixed = [0.1, 0.3, 0.0, 0.2, 0.5, 0.1, 0.2, 0.4]
    part = decided("forecast-orders-translation", cells(rising, mixed))
    assert part.verdict == "undecided"
    assert part.effect == pytest.approx(spearmanr(rising, mixed).statistic)
    assert decided("forecast-orders-translation", cells(rising[:2], rising[:2])).verdict == "undecided"


LIKELY, NONE = "likely to be learned", "no reason to be learned"


@pytest.mark.parametrize(
    ("said", "learned", "verdict"),
    [
        ((LIKELY, LIKELY, NONE, NONE), (100, 200, None, None), "holds"),
        ((LIKELY, LIKELY, NONE, NONE), (100, None, None, None), "undecided"),
        ((LIKELY, LIKELY, NONE, NONE), (100, None, None, 100), "fails"),
        ((LIKELY, LIKELY, NONE, "may be learned"), (100, 200, None, None), "undecided"),
    ],
)
def test_verdicts_on_what_is_said(said, learned, verdict):
    zeros = [0.0] * 4
    part = decided("forecast-verdict-translation", cells(zeros, zeros, list(learned), list(said)))
    assert part.verdict == verdict


def test_pairs_of_evaluations_are_few_and_even():
    schedule = CELLS[0].setting("paper").schedule_at("paper")
    assert schedule.steps == 2000
    assert {after - before for before, after in pairwise(schedule.evaluations)} == {100}
    assert PAIRS == 100


def test_a_name_stands_left_of_its_point_where_it_would_run_into_the_next():
    given = [("far below", 0.1, 0.1), ("left", 1.0, 0.4), ("right", 1.2, 0.41), ("elsewhere", 1.1, 0.3)]
    rows = [
        {"cell": name, "forecast": "likely", "gain": gain, "excess": excess, "low": excess, "high": excess}
        for name, gain, excess in given
    ]
    shown = [row for row in drawn(forecast_figure(rows)) if "cell" in row]
    assert [row["cell"] for row in shown if row["left"]] == ["left"]

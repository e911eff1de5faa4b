"""Forecast-copying: its plan, and its comparisons on outcomes whose answer is known."""

import numpy as np
import pytest
from scipy import stats
from sklearn.metrics import roc_auc_score
from tests.lab.drawn import views
from tests.lab.ended import after, group, trained

from attnlab.experiments.copying import experiment as copying
from attnlab.experiments.forecast_copying.experiment import (
    KNOWN,
    ForecastCopying,
    forecast_of,
    in_words,
)
from attnlab.lab.experiment import Order
from attnlab.lab.registry import find_experiment
from attnlab.stats.ranks import area_under_curve, spearman
from attnlab.theory.forecast import LIKELY, WEAK

SETTINGS = ForecastCopying.settings
BY_NAME = {setting.name: setting for setting in SETTINGS}

SHORT = {
    "permutations of 10": [None] * 4 + [150],
    "permutations of 20": [None] * 5,
    "20 of 30": [50] * 5,
    "10 of 15": [40] * 5,
}
"""The distributions of short sequences, and made-up steps at which runs learned, as the forecast would have them."""


def story(ends):
    return after(ForecastCopying(), [one for name, steps in ends.items() for one in group(BY_NAME[name], steps)])


@pytest.fixture(scope="module")
def short():
    return story(SHORT)


def test_paper_has_twenty_distributions_and_shares_the_runs_of_copying():
    jobs = find_experiment("forecast-copying").plan(Order("paper"), {})
    assert len(SETTINGS) == 20
    assert len(jobs) == len({job.spec.id for job in jobs}) == 100
    assert {(job.schedule.steps, job.schedule.stop_at) for job in jobs} == {(200, 0.95)}
    shared = {job.spec.id for job in copying.Copying().plan(Order("paper"), {})}
    assert len(shared & {job.spec.id for job in jobs}) == 20
    assert {job.label.split(", seed")[0] for job in jobs if job.spec.id in shared} == set(KNOWN)
    assert {(job.spec.batch, job.spec.model.hidden) for job in jobs} == {(128, 256)}


@pytest.mark.parametrize(("preset", "count"), [("quick", 8), ("reduced", 60), ("paper", 100)])
def test_presets(preset, count):
    assert len(ForecastCopying().at_most(Order(preset), {})) == count
    assert len(ForecastCopying().plan(Order(preset, seeds=1), {})) == (4 if preset == "quick" else 20)
    notes = after(ForecastCopying(), [], preset).notes()
    assert any(preset in note for note in notes) == (preset != "paper")


def test_the_forecast_orders_k_of_n_and_gives_sets_of_permutations_nothing():
    names = ["permutations of 40", "40 of 41", "40 of 60"]
    gains = [forecast_of(BY_NAME[name]).gain for name in names]
    assert gains[0] == 0
    assert gains == sorted(gains)
    sets = forecast_of(BY_NAME["permutations of either of two sets of 40"])
    assert (sets.gain, sets.verdict) == (0, "no reason to be learned")


def test_a_substitution_changes_nothing():
    plain, substituted = (forecast_of(s) for s in SETTINGS if s.name.startswith("i.i.d. from 40"))
    assert plain.gain == pytest.approx(substituted.gain, abs=0.01)


def test_tables_say_what_happened(short):
    rows = {row["distribution"]: row for row in short.tables()["distributions"]}
    hard, easy = rows["permutations of 10"], rows["10 of 15"]
    assert (hard["gain"], hard["forecast"]) == (0, "no reason to be learned")
    assert (hard["learned"], hard["seeds"], hard["rate"], hard["median_step"]) == (1, 5, 0.2, 150)
    assert hard["mean_step"] == (150 + 4 * 210) / 5
    assert (easy["learned"], easy["mean_step"], easy["length"], easy["words"]) == (5, 40, 10, 15)
    assert rows["permutations of 20"]["median_step"] is None
    none, likely = short.tables()["verdicts"]
    assert (none["runs"], none["learned"], likely["learned"], likely["distributions"]) == (10, 1, 10, 2)


def test_a_forecast_that_is_right_is_said_to_be_so(short):
    table = short.tables()["measures"]
    rows = {(row["measure"], row["comparison"]): row for row in table if row["over"] == "all"}
    area = rows["gain", "area under the curve of success"]
    assert area["value"] == pytest.approx(1 - 0.5 * 9 / (11 * 9))
    assert 0.5 <= area["low"] <= area["value"] <= area["high"] <= 1
    assert rows["gain", "Spearman with success rate"]["value"] > 0.8
    assert rows["gain", "Spearman with steps to success"]["value"] < -0.7
    assert "'no reason to be learned' (2 distributions), 1 of 10 runs learned" in short.summary()
    assert "The gain's area under the curve of success: 0.95" in short.summary()


def test_distributions_whose_outcome_was_known_are_left_out_of_a_second_comparison():
    table = story(SHORT | {"40 of 60": [None] * 5}).tables()["measures"]  # as if the forecast were wrong there
    rows = {(row["over"], row["measure"], row["comparison"]): row for row in table}
    all_, new = (rows[over, "gain", "area under the curve of success"] for over in ("all", "new"))
    assert (all_["distributions"], new["distributions"]) == (5, 4)
    assert all_["value"] < 0.8 < new["value"]
    assert "success over the 4 new distributions alone: 0.95" in in_words([], table)


def test_nothing_to_compare_is_said_not_computed():
    alike = story({"10 of 15": [40] * 2, "permutations of 10": [40] * 2})
    assert {row["value"] for row in alike.tables()["measures"]} == {None}
    assert "undefined, as all runs ended alike" in alike.summary()


def test_comparisons_are_those_of_the_libraries():
    rng = np.random.default_rng(0)
    for _ in range(20):
        a, b = rng.integers(4, size=12).astype(float), rng.integers(4, size=12).astype(float)
        learned = rng.integers(1, 5, size=12)
        assert spearman(a[None], b[None]) == pytest.approx(stats.spearmanr(a, b).statistic)
        runs = np.tile(np.arange(5), 12) < np.repeat(learned, 5)
        area = area_under_curve(a[None], learned[None].astype(float), 5.0 - learned[None])
        assert area == pytest.approx(roc_auc_score(runs, np.repeat(a, 5)))


def test_analyse_makes_a_whole_result():
    experiment, order = ForecastCopying(), Order("quick")
    jobs = experiment.plan(order, {})
    done = {job.spec.id: trained(None if "permutations" in job.label else 50) for job in jobs}
    result = experiment.analyse(order, done)
    assert len(result.tables["distributions"]) == 4
    assert len(result.tables["runs"]) == 8
    assert len(result.tables["curves"]) == sum(len(run.rows) for run in done.values()), "for whoever recalls these runs"
    assert result.findings == ()
    assert set(result.figures) == {"distributions", "success", "steps"}


# --- figures


def test_each_distribution_is_drawn_with_its_rate_and_its_forecast(short):
    (bars, bar), (points, point) = views(short.figures()["distributions"])
    assert (bar["x"], bar["x2"], bar["y"], bar["color"]) == ("low", "high", "distribution", "forecast")
    assert (point["x"], point["y"], point["color"]) == ("rate", "distribution", "forecast")
    for rows in (bars, points):
        assert {row["distribution"]: row["rate"] for row in rows} == {
            "permutations of 10": 0.2,
            "permutations of 20": 0.0,
            "20 of 30": 1.0,
            "10 of 15": 1.0,
        }
        assert all(row["low"] <= row["rate"] <= row["high"] for row in rows)
        assert [row["order"] for row in rows] == [-row["gain"] for row in rows], "the strongest forecast comes first"


def test_gain_is_drawn_against_success_and_against_steps_beside_the_thresholds(short):
    gains = {row["distribution"]: row["gain"] for row in short.tables()["distributions"]}
    (limits, limit), (_, bar), (points, point) = views(short.figures()["success"])
    assert limit["x"] == "gain"
    assert [row["gain"] for row in limits] == [WEAK, LIKELY]
    assert (bar["x"], bar["y"], bar["y2"], point["x"], point["y"]) == ("gain", "low", "high", "gain", "rate")
    assert {row["distribution"]: row["gain"] for row in points} == gains
    (limits, limit), ((band,), _), _, (points, point) = views(short.figures()["steps"])
    assert [row["gain"] for row in limits] == [WEAK, LIKELY]
    assert (limit["x"], point["x"], point["y"], point["color"]) == ("gain", "gain", "step", "forecast")
    assert band["words"] == "not learned within 200 updates"
    learned = {row["distribution"]: row["learned"] for row in short.tables()["distributions"]}
    for name, count in learned.items():
        runs = [row for row in points if row["distribution"] == name]
        assert sum(row["learned"] for row in runs) == count
        assert all(row["learned"] != (band["first"] < row["step"] < band["last"]) for row in runs)
        assert len({row["step"] for row in runs if not row["learned"]}) == len(runs) - count, "beside each other"
    assert {row["step"] for row in points if row["distribution"] == "20 of 30"} == {50}

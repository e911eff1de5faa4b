"""Forecast-copying: its plan, and its comparisons on outcomes whose answer is known."""

import pytest
from tests.lab.ended import trained

from attnlab.experiments.copying import experiment as copying
from attnlab.experiments.forecast_copying.experiment import (
    SETTINGS,
    ForecastCopying,
    Tried,
    distribution_table,
    forecast_setting,
    measure_table,
    notes,
    tell,
    verdict_table,
)
from attnlab.lab.experiment import Order
from attnlab.lab.registry import find_experiment
from attnlab.lab.success import Outcome

BY_NAME = {setting.name: setting for setting in SETTINGS}


def tried(name, steps):
    """A distribution of the experiment with made-up runs that learned at ``steps``."""
    setting = BY_NAME[name]
    outcomes = tuple(Outcome(name, seed, trained(step, seed)) for seed, step in enumerate(steps))
    return Tried(setting, forecast_setting(setting), outcomes)


@pytest.fixture(scope="module")
def short():
    """The distributions of short sequences, as the forecast would have them."""
    return [
        tried("permutations of 10", [None] * 4 + [150]),
        tried("permutations of 20", [None] * 5),
        tried("20 of 30", [50] * 5),
        tried("10 of 15", [40] * 5),
    ]


def test_paper_has_twenty_distributions_and_shares_the_runs_of_copying():
    jobs = find_experiment("forecast-copying").plan(Order("paper"), {})
    assert len(SETTINGS) == 20
    assert len(jobs) == len({job.spec.id for job in jobs}) == 100
    assert {(job.schedule.steps, job.schedule.stop_at) for job in jobs} == {(200, 0.95)}
    shared = {job.spec.id for job in copying.Copying().plan(Order("paper"), {})}
    assert len(shared & {job.spec.id for job in jobs}) == 20
    assert {(job.spec.batch, job.spec.model.hidden) for job in jobs} == {(128, 256)}


@pytest.mark.parametrize(("preset", "count"), [("quick", 8), ("reduced", 60), ("paper", 100)])
def test_presets(preset, count):
    assert len(ForecastCopying().at_most(Order(preset), {})) == count
    assert len(ForecastCopying().plan(Order(preset, seeds=1), {})) == (4 if preset == "quick" else 20)
    assert any(preset in note for note in notes(Order(preset))) == (preset != "paper")


def test_the_forecast_orders_k_of_n_and_gives_sets_of_permutations_nothing():
    names = ["permutations of 40", "40 of 41", "40 of 60"]
    gains = [forecast_setting(BY_NAME[name]).gain for name in names]
    assert gains[0] == 0
    assert gains == sorted(gains)
    sets = forecast_setting(BY_NAME["permutations of either of two sets of 40"])
    assert (sets.gain, sets.verdict) == (0, "no reason to be learned")


def test_a_substitution_changes_nothing():
    plain, substituted = (forecast_setting(s) for s in SETTINGS if s.name.startswith("i.i.d. from 40"))
    assert plain.gain == pytest.approx(substituted.gain, abs=0.01)


def test_tables_say_what_happened(short):
    rows = {row["distribution"]: row for row in distribution_table(short)}
    hard, easy = rows["permutations of 10"], rows["10 of 15"]
    assert (hard["gain"], hard["forecast"]) == (0, "no reason to be learned")
    assert (hard["learned"], hard["seeds"], hard["rate"], hard["median_step"]) == (1, 5, 0.2, 150)
    assert hard["mean_step"] == (150 + 4 * 210) / 5
    assert (easy["learned"], easy["mean_step"], easy["length"], easy["words"]) == (5, 40, 10, 15)
    assert rows["permutations of 20"]["median_step"] is None
    none, likely = verdict_table(short)
    assert (none["runs"], none["learned"], likely["learned"], likely["distributions"]) == (10, 1, 10, 2)


def test_a_forecast_that_is_right_is_told_so(short):
    table = measure_table(short)
    rows = {(row["measure"], row["comparison"]): row for row in table if row["over"] == "all"}
    area = rows["gain", "area under the curve of success"]
    assert area["value"] == pytest.approx(1 - 0.5 * 9 / (11 * 9))
    assert 0.5 <= area["low"] <= area["value"] <= area["high"] <= 1
    assert rows["gain", "Spearman with success rate"]["value"] > 0.8
    assert rows["gain", "Spearman with steps to success"]["value"] < -0.7
    told = tell(verdict_table(short), measure_table(short))
    assert "'no reason to be learned' (2 distributions), 1 of 10 runs learned" in told
    assert "The gain's area under the curve of success: 0.95" in told


def test_distributions_whose_outcome_was_known_are_left_out_of_a_second_comparison(short):
    known = tried("40 of 60", [None] * 5)  # as if the forecast were wrong there
    rows = {(row["over"], row["measure"], row["comparison"]): row for row in measure_table([*short, known])}
    all_, new = (rows[over, "gain", "area under the curve of success"] for over in ("all", "new"))
    assert (all_["distributions"], new["distributions"]) == (5, 4)
    assert all_["value"] < 0.8 < new["value"]
    assert "success over the 4 new distributions alone: 0.95" in tell([], measure_table([*short, known]))


def test_nothing_to_compare_is_said_not_computed():
    alike = [tried("10 of 15", [40] * 2), tried("permutations of 10", [40] * 2)]
    assert {row["value"] for row in measure_table(alike)} == {None}
    assert "undefined, as all runs ended alike" in tell(verdict_table(alike), measure_table(alike))


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
    assert all("gain" in figure.to_json() for figure in result.figures.values())

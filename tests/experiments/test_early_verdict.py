"""The experiment early-verdict on runs whose ends are known, its measures against independent ones, and ending runs."""

import json

import numpy as np
import pytest
from sklearn.metrics import brier_score_loss, roc_auc_score
from tests.lab.drawn import views
from tests.lab.followed import GUESSING, follow, many

from attnlab.errors import UsageError
from attnlab.experiments.copying import experiment as copying
from attnlab.experiments.early_verdict.experiment import BY, EarlyVerdict, before_accuracy, giving_up, planned
from attnlab.experiments.early_verdict.measures import (
    LEFT_OUT,
    OTHER_HALF,
    area,
    brier,
    calibration_error,
    difference_table,
    family_table,
    lead,
    make_judged,
    reliability,
    stop_row,
    sure_at,
)
from attnlab.experiments.forecast_copying import experiment as forecast_copying
from attnlab.experiments.mixture import experiment as mixture
from attnlab.experiments.symmetry import experiment as symmetry
from attnlab.families.copying import early_verdict as in_training
from attnlab.families.copying import success
from attnlab.families.copying.verdict_fit import (
    COLUMNS,
    FEATURE_SETS,
    choose_threshold,
    columns_of,
    fit,
    in_fitting_half,
    judge,
    judge_halves,
    judge_left_out,
    make_cases,
    stops,
)
from attnlab.lab.claims import load_claims
from attnlab.lab.experiment import Order
from attnlab.runs.loop import Trained


def judging(runs):
    """The experiment once it has judged these runs."""
    story = EarlyVerdict()
    story.order = Order("paper")
    story.judge(runs)
    return story


@pytest.fixture(scope="module")
def story():
    return judging(many())


@pytest.fixture(scope="module")
def evidence(story):
    return story.evidence


@pytest.fixture(scope="module")
def blind():
    return judging(many(knows=False))


# --- halves, cases, fits


def test_one_of_two_seeds_is_fitted_to_in_all_distributions():
    assert all(in_fitting_half(seed) != in_fitting_half(seed + 1) for seed in range(0, 60, 2))
    assert 5 < sum(in_fitting_half(seed) for seed in range(0, 60, 2)) < 25, "not always the first"


def test_cases_are_the_steps_before_a_run_has_learned():
    runs = [follow("a", 0, 60), follow("b", 1, None), follow("c", 2, 20)]
    cases = make_cases(runs, 200)
    assert [(run, step) for run, step in zip(cases.run, cases.step, strict=True) if run != 1] == [
        (0, step) for step in (20, 30, 40, 50)
    ]
    assert list(cases.step[cases.run == 1]) == list(range(20, 151, 10))
    assert cases.learned.tolist() == [True, False, True]
    assert cases.values[0, COLUMNS.index("probe_change")] == pytest.approx(
        cases.values[0, COLUMNS.index("probe")]
        - in_training.features(runs[0].rows | {20: runs[0].rows[10]}, 20, GUESSING, ["probe"])[0],
        abs=1e-5,
    )


def test_the_fit_minimises_the_penalised_loss(evidence):
    """No small change of any number makes the stated sum smaller."""
    cases, chosen = evidence.cases, evidence.cases.of(evidence.cases.fitting)
    found = fit(cases, chosen)
    learned = cases.outcome()[chosen]

    def loss(regression):
        p = regression.chances(cases.values[chosen][:, columns_of(FEATURE_SETS["all"])], cases.step[chosen])
        weights = np.array([*(feature.weight for feature in regression.features), *regression.time])
        return -np.log(np.where(learned, p, 1 - p)).sum() + 0.5 * (weights**2).sum()

    best = loss(found)
    for change in (0.01, -0.01):
        moved = found.model_copy(update={"intercept": found.intercept + change})
        assert loss(moved) > best
        for place in range(len(found.features)):
            parts = list(found.features)
            parts[place] = parts[place].model_copy(update={"weight": parts[place].weight + change})
            assert loss(found.model_copy(update={"features": tuple(parts)})) > best


def test_nobody_is_judged_by_a_fit_that_saw_it(evidence):
    cases = evidence.cases
    half = judge_halves(cases)
    assert np.isnan(half).tolist() == cases.of(cases.fitting).tolist()
    left_out = judge_left_out(cases, cases.family, cases.of(cases.fitting))
    own = cases.of(np.array([family == "b" for family in cases.family]))
    others = fit(cases, cases.of(cases.fitting) & ~own)
    assert left_out[own] == pytest.approx(judge(others, cases)[own])


def test_one_outcome_gives_a_constant():
    cases = make_cases([follow("a", seed, 60) for seed in range(6)], 200)
    found = fit(cases, np.ones(len(cases.run), dtype=bool))
    chances = judge(found, cases)
    assert chances == pytest.approx(chances[0])
    assert 0.9 < chances[0] < 1


# --- measures, against independent ones


def test_areas_are_those_of_scikit_learn(evidence):
    judged = evidence.judged[OTHER_HALF, "loss and entropy"]
    chosen = judged.at(30)
    found = area(judged, 30)
    assert found[0] == pytest.approx(roc_auc_score(judged.cases.outcome()[chosen], judged.chance[chosen]))
    run = judged.cases.run[chosen]
    weights = judged.weights[7, run]
    weighted = roc_auc_score(judged.cases.outcome()[chosen], judged.chance[chosen], sample_weight=weights)
    assert found[7] == pytest.approx(weighted)


def test_pairs_of_one_distribution_are_counted_one_by_one(evidence):
    judged = evidence.judged[OTHER_HALF, "loss and entropy"]
    cases, won = judged.cases, []
    places = np.flatnonzero(judged.at(30))
    for a in places:
        for b in places:
            same = cases.distribution[cases.run[a]] == cases.distribution[cases.run[b]]
            if same and cases.outcome()[a] and not cases.outcome()[b]:
                won.append(0.5 * (np.sign(judged.chance[a] - judged.chance[b]) + 1))
    assert area(judged, 30, paired=True)[0] == pytest.approx(np.mean(won))
    learned, failed = judged.outcomes(judged.at(30), paired=True)
    assert (learned + failed, failed) == (40, sum(~cases.learned[cases.run[places]])), "the easy one has no pair"


def test_calibration_is_counted_bin_by_bin(blind):
    judged = blind.evidence.judged[OTHER_HALF, "all"]
    chosen = judged.at()
    chance, learned = judged.chance[chosen], judged.cases.outcome()[chosen]
    error = 0.0
    for low in np.arange(0, 1, 0.1):
        inside = (chance >= low - 1e-12) & (chance < low + 0.1 - 1e-12)
        if inside.any():
            error += inside.mean() * abs(chance[inside].mean() - learned[inside].mean())
    assert calibration_error(judged, chosen)[0] == pytest.approx(error)
    assert brier(judged, chosen)[0] == pytest.approx(brier_score_loss(learned, chance))
    table = reliability(judged, chosen)
    assert sum(row["cases"] for row in table) == chosen.sum()
    assert all(row["from"] - 1e-9 <= row["chance"] <= row["to"] + 1e-9 for row in table)


def test_resamples_keep_the_number_of_runs_of_each_distribution(evidence):
    judged = evidence.judged[OTHER_HALF, "all"]
    for name in set(judged.cases.distribution):
        own = np.array([one == name for one in judged.cases.distribution])
        assert set(judged.weights[:, own].sum(1)) == {20.0}
    assert set(judged.weights[0]) == {0.0, 1.0}


# --- sure, lead, giving up


def judged_by_hand(ends, chances):
    """Runs with these ends, and for each the chances from step 20 on."""
    runs = [follow("a", seed, end) for seed, end in enumerate(ends)]
    cases = make_cases(runs, 200)
    values = np.full(len(cases.run), 0.5)
    for run, given in enumerate(chances):
        own = np.flatnonzero(cases.run == run)
        values[own] = [*given, *[given[-1]] * (len(own) - len(given))]
    return runs, make_judged(cases, values)


def test_lead_is_counted_from_the_first_time_the_verdict_is_sure():
    runs, judged = judged_by_hand([60, 60, None], [[0.5, 0.9, 0.2, 0.95], [0.5, 0.5, 0.5, 0.5], [0.95, 0.1]])
    assert sure_at(judged) == {0: 30, 1: None, 2: 20}
    assert runs[0].accuracy_at == 50
    assert [lead(run, sure_at(judged)[place]) for place, run in enumerate(runs)] == [20, -10, None]
    parts = list(before_accuracy(judged, runs))
    assert parts[0].effect == pytest.approx(5)
    assert parts[2].detail.startswith("1 of 2 runs"), "sure of two, one of which learned"


def test_a_run_is_given_up_at_the_second_low_chance_and_what_it_spares_is_counted():
    runs, judged = judged_by_hand([100, 100, None, None], [[0.01, 0.01, 0.5], [0.5], [0.5, 0.01, 0.5, 0.01], [0.5]])
    assert stops(judged.cases, judged.chance, 0.05) == {0: 30, 1: None, 2: 60, 3: None}
    row = stop_row(judged, 0.05, 200)
    assert (row["learned"], row["learned_ended"], row["failed"], row["failed_ended"]) == (2, 1, 2, 1)
    assert row["failed_spared"] == pytest.approx((0.7 + 0) / 2)
    wrong, spared = giving_up(judged, 0.05, 200)
    assert (wrong.effect, spared.effect) == pytest.approx((0.5, 0.35))
    assert {wrong.verdict, spared.verdict} == {"undecided"}, "there are too few"
    assert runs[0].learned_at == 100


def test_the_threshold_is_the_largest_that_costs_hardly_any_run_that_learns():
    ends = [100] * 100 + [None] * 10

    def chosen(wrong, low):
        _, judged = judged_by_hand(ends, [[low]] * wrong + [[0.5]] * (110 - wrong))
        return choose_threshold(judged.cases, judged.chance)

    assert chosen(wrong=0, low=0.001) == 0.1
    assert chosen(wrong=2, low=0.001) == 0.1, "2 of 100 are allowed"
    assert chosen(wrong=3, low=0.03) == 0.02
    assert chosen(wrong=3, low=0.001) == 0.005, "where none will do it is the smallest"


# --- claims


def test_a_probe_that_knows_makes_the_claims_hold(story):
    findings = {finding.claim: finding for finding in story.findings()}
    assert findings["verdict-tells-early"].verdict == "holds"
    assert findings["verdict-carries-over"].verdict == "holds"
    assert findings["verdict-before-accuracy"].verdict == "holds"
    adds = findings["probe-adds-to-loss"]
    assert adds.verdict == "holds"
    assert all(part.effect > 0.3 for part in adds.parts)
    inside = [row for row in difference_table(story.evidence) if row["pairs"] == "of one distribution"]
    values = {(row["judged"], row["features"], row["less"]): row["value"] for row in inside}
    for part in adds.parts:
        sign = values.get((part.name, "with the probe", "loss and entropy"))
        value = sign if sign is not None else -values[part.name, "loss and entropy", "with the probe"]
        assert f"Over pairs of one distribution it adds {value:.3f}" in part.detail
    spared = findings["hopeless-runs-known"].parts[1]
    assert spared.verdict == "holds"
    assert findings["verdict-calibrated"].parts[1].verdict == "holds"


def test_where_nothing_knows_they_fail(blind):
    findings = {finding.claim: finding for finding in blind.findings()}
    part = next(part for part in findings["verdict-tells-early"].parts if part.name == "pairs of one distribution")
    assert part.verdict == "fails"
    assert part.interval[0] < 0.5 < part.interval[1]
    assert findings["verdict-carries-over"].verdict == "fails"
    assert findings["probe-adds-to-loss"].verdict != "holds"
    assert findings["hopeless-runs-known"].verdict != "holds"


def test_few_runs_decide_nothing_and_it_is_said():
    few = judging(many(seeds=6))
    assert {finding.verdict for finding in few.findings() if finding.claim != "verdict-before-accuracy"} == {
        "undecided"
    }
    assert "too few to say" in few.summary()


def test_it_decides_every_claim_of_the_registry_that_names_it(story):
    named = {claim.id for claim in load_claims() if "early-verdict" in claim.experiments}
    assert {finding.claim for finding in story.findings()} == named


def test_a_family_left_out_is_also_judged_by_seeds_that_no_fit_saw(evidence):
    rows = [row for row in family_table(evidence) if row["other_seeds"] is not None]
    assert rows
    judged, fitting = evidence.judged["families left out", "all"], evidence.cases.fitting
    for row in rows:
        own = [k for k, one in enumerate(evidence.cases.family) if one == row["family"] and not fitting[k]]
        at = [
            (judged.chance[place], evidence.cases.learned[run])
            for place, (run, step) in enumerate(zip(evidence.cases.run, evidence.cases.step, strict=True))
            if run in own and step == row["step"]
        ]
        pairs = [(a > b) + (a == b) / 2 for a, won in at if won for b, other in at if not other]
        assert row["other_seeds"] == pytest.approx(np.mean(pairs))


# --- the plan


def test_its_runs_are_those_of_the_others():
    ids = {job.spec.id for job in EarlyVerdict().plan(Order("paper"), {})}
    others = [
        (copying.Copying(), "paper"),
        (forecast_copying.ForecastCopying(), "paper"),
        (mixture.Mixture(), "paper"),
        (symmetry.Symmetry(), "reduced"),
    ]
    shared = {job.spec.id for other, preset in others for job in other.at_most(Order(preset), {})}
    assert ids <= shared
    assert len(ids) == len(EarlyVerdict().plan(Order("paper"), {})), "every run once"
    assert {job.spec.id for job in copying.Copying().at_most(Order("paper"), {})} <= ids


@pytest.mark.parametrize("preset", ["quick", "reduced", "paper"])
def test_every_run_is_one_the_verdict_knows_and_every_preset_has_both_halves(preset):
    jobs = EarlyVerdict().plan(Order(preset), {})
    assert all(in_training.chance_of(job.spec) is not None for job in jobs)
    assert {job.schedule.steps for job in jobs} == {BY[preset]}
    halves = [in_fitting_half(seed) for _, seed in planned(Order(preset))]
    assert 0.35 < np.mean(halves) < 0.65


def test_one_seed_has_no_halves():
    with pytest.raises(UsageError, match="--seeds 2 is least"):
        EarlyVerdict().plan(Order("quick", seeds=1), {})


def test_training_and_experiments_mean_the_same_by_learned():
    assert (in_training.LEARNED, in_training.BY, in_training.BACK) == (success.LEARNED, success.WITHIN, success.EVERY)


def finish(setting, seed, learned_at):
    run = follow(setting.name, seed, learned_at)
    return Trained(setting.spec(seed).id, list(run.rows.values()), max(run.rows))


def test_the_result_has_all_its_tables_and_figures():
    order, ends = Order("quick"), (None, 40)
    runs = [finish(setting, seed, ends[seed // 2 % 2]) for setting, seed in planned(order)]
    result = EarlyVerdict().analyse(order, {run.id: run for run in runs})
    assert result.summary.startswith("10 runs of 2 distributions were followed, 4 of which")
    assert {len(rows) > 0 for rows in result.tables.values()} == {True}
    assert set(result.figures) == {"areas", "chances", "reliability", "lead"}
    assert any("says nothing about the verdict that comes with attnlab" in note for note in result.notes)
    assert {finding.verdict for finding in result.findings} == {"undecided"}
    json.dumps([*result.tables.values()], allow_nan=False)


# --- ways of judging


def test_the_ways_of_judging_are_all_there(evidence):
    assert set(evidence.judged) == {(way, name) for way in (OTHER_HALF, LEFT_OUT) for name in FEATURE_SETS}


# --- figures


def test_areas_are_drawn_by_feature_set_and_step_in_a_panel_for_each_way_of_judging(story):
    ((rows, fields),) = views(story.figures()["areas"])
    assert (fields["facet"], fields["x"], fields["y"], fields["color"]) == ("judged", "step", "area", "features")
    assert {(row["judged"], row["features"]) for row in rows} == set(story.evidence.judged)
    assert {row["pairs"] for row in rows} == {"all"}
    for row in rows:
        judged = story.evidence.judged[row["judged"], row["features"]]
        assert row["area"] == area(judged, row["step"])[0]
        assert min(judged.outcomes(judged.at(row["step"]))) >= 3, "fewer are not drawn"


def test_chances_of_the_other_half_are_drawn_by_outcome(story):
    ((rows, fields),) = views(story.figures()["chances"])
    assert (fields["facet"], fields["x"], fields["y"], fields["detail"]) == ("outcome", "step", "chance", "run")
    judged, runs = story.half, story.evidence.runs
    drawn = {(row["run"], row["step"]): (row["chance"], row["outcome"]) for row in rows}
    expected = {}
    for place in np.flatnonzero(judged.at()):
        run = runs[judged.cases.run[place]]
        end = "did not learn" if run.learned_at is None else "learned"
        expected[f"{run.distribution}, seed {run.seed}", judged.cases.step[place]] = (judged.chance[place], end)
    assert drawn == expected


def test_what_was_said_is_drawn_against_what_came(story):
    (_, _), (bars, bar), (points, point) = views(story.figures()["reliability"])
    assert (bar["facet"], bar["x"], bar["y"], bar["y2"]) == ("steps", "chance", "low", "high")
    assert (point["facet"], point["x"], point["y"], point["size"]) == ("steps", "chance", "learned", "cases")
    assert bars == points
    at_all = [row for row in points if row["steps"] == "all steps"]
    expected = reliability(story.half, story.half.at())
    assert [(row["chance"], row["learned"]) for row in at_all] == [(row["chance"], row["learned"]) for row in expected]
    assert {row["judged"] for row in points} == {OTHER_HALF}


def test_the_lead_is_drawn_of_runs_that_learn(story):
    ((rows, fields),) = views(story.figures()["lead"])
    assert (fields["x"], fields["y"]) == ("lead", "count()")
    sure = sure_at(story.half)
    leads = [lead(run, sure[place]) for place, run in enumerate(story.evidence.runs) if place in sure]
    assert [row["lead"] for row in rows] == [updates for updates in leads if updates is not None]

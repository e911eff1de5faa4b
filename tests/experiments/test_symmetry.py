"""Symmetry: its plan, the fitted curve on made-up successes, and verdicts on outcomes whose answer is known."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from tests.lab.drawn import views
from tests.lab.ended import after, group, trained

from attnlab.errors import UsageError
from attnlab.experiments.copying import experiment as copying
from attnlab.experiments.forecast_copying import experiment as forecast_copying
from attnlab.experiments.symmetry import experiment as symmetry
from attnlab.experiments.symmetry.experiment import FAMILIES, SHARES, Symmetry, contrast_of
from attnlab.families.copying.spec import CopyingSpec
from attnlab.lab.claims import load_claims
from attnlab.lab.experiment import Order
from attnlab.lab.registry import find_experiment
from attnlab.records import validated
from attnlab.stats.success_curve import HIGHS, LOWS, MIDDLES, WIDTHS, fit_curves, rise


@pytest.fixture(autouse=True)
def _few_resamples(monkeypatch):
    monkeypatch.setattr(symmetry, "FIT_RESAMPLES", 200)


def story(steps_of, seeds=20, names=None):
    """The experiment after made-up runs: ``steps_of(contrast, seed)`` says when a run learned."""
    outcomes = [
        one
        for setting in Symmetry.settings
        if names is None or setting.name in names
        for one in group(setting, [steps_of(contrast_of(setting), seed) for seed in range(seeds)])
    ]
    return after(Symmetry(), outcomes)


def verdicts(*made_up, **more):
    findings = story(*made_up, **more).findings()
    return {f.claim: f.verdict for f in findings}, {p.name: p for f in findings for p in f.parts}


def threshold(value, seed):
    """Half of the runs learn without contrast, all of them from 0.001 on, the sooner the more there is."""
    return 10 * round(8 - 4 * value) if value > 1e-3 or seed % 2 else None


# --- the plan


def test_paper_shares_the_runs_of_other_experiments():
    jobs = find_experiment("symmetry").plan(Order("paper"), {})
    ids = {job.spec.id for job in jobs}
    assert len(jobs) == len(ids) == 40 + 7 * 20 + 5 * 40
    assert {(job.schedule.steps, job.schedule.stop_at) for job in jobs} == {(200, 0.95)}
    assert len(ids & {job.spec.id for job in copying.Copying().plan(Order("paper"), {})}) == 60
    of_forecast = forecast_copying.ForecastCopying().plan(Order("paper"), {})
    assert len(ids & {job.spec.id for job in of_forecast}) == 8 * 5


def test_among_shares_only_the_share_differs():
    tasks = [setting.spec(0).task for setting in FAMILIES["a share of 40 of 41"]]
    assert {task.build().vocabulary for task in tasks} == {43}  # 41 words, start and end
    assert {task.distribution.parts for task in tasks} == {tasks[0].distribution.parts}
    assert [task.distribution.shares[1] for task in tasks] == list(SHARES)
    drawn = tasks[0].build().batch(200, np.random.default_rng(0)).source[:, :-1]
    assert int(drawn.max()) == 39  # with a share of 0 the 41st word never comes
    names = [setting.name for setting in Symmetry.settings]
    assert len(set(names)) == len(names) == 13
    assert "permutations of 40, 0.1 % 40 of 41" in names


@pytest.mark.parametrize(("preset", "count"), [("quick", 3), ("reduced", 200), ("paper", 380)])
def test_presets_have_their_seeds_and_say_what_they_leave_out(preset, count):
    assert len(Symmetry().at_most(Order(preset), {})) == count
    assert {job.spec.init_seed for job in Symmetry().plan(Order(preset, seeds=1), {})} == {0}
    notes = after(Symmetry(), group(Symmetry.settings[0], [40]), preset).notes()
    assert any(note.startswith(preset) for note in notes) == (preset != "paper")


@pytest.mark.parametrize("shares", [(0.9, 0.2), (1.0,), (1.1, -0.1)])
def test_shares_that_do_not_add_up_are_refused(shares):
    parts = [{"kind": "permutations", "words": 4}, {"kind": "selections", "length": 4, "words": 5}]
    with pytest.raises(UsageError) as caught:
        validated(CopyingSpec, {"distribution": {"kind": "mixture", "parts": parts, "shares": shares}})
    assert "share" in str(caught.value)
    assert "\n" not in str(caught.value)


# --- the fitted curve

CONTRASTS = np.array([0.0, 1e-4, 1e-3, 1e-2, 1e-1])


@settings(max_examples=30)
@given(middle=st.floats(-5, 0), width=st.floats(0.1, 6))
def test_width_is_what_lies_between_a_tenth_and_nine_tenths(middle, width):
    ends = 10 ** np.array([middle - width / 2, middle, middle + width / 2])
    assert rise(ends, middle, width) == pytest.approx([0.1, 0.5, 0.9])
    assert rise(np.array([0.0]), middle, width) == 0


def test_a_step_is_the_limit():
    assert rise(CONTRASTS, -2.5, 0).tolist() == [0, 0, 0, 1, 1]
    assert rise(CONTRASTS, -2.5, 1e-3) == pytest.approx([0, 0, 0, 1, 1])


def test_the_fit_is_the_best_of_the_grid():
    learned, runs = np.array([[10.0, 12, 16, 19, 20]]), np.full(5, 20.0)
    fits = fit_curves(CONTRASTS, learned, runs)
    best = -np.inf
    for middle in MIDDLES[::4]:
        for width in WIDTHS[::4]:
            for low in LOWS[::5]:
                for high in HIGHS[low < HIGHS]:
                    p = np.clip(low + (high - low) * rise(CONTRASTS, middle, width), 1e-6, 1 - 1e-6)
                    told = stats.binom.logpmf(learned[0], 20, p) - stats.binom.logpmf(learned[0], 20, 0.5)
                    best = max(best, float(told.sum()))
    shift = float((20 * np.log(0.5)) * 5)  # both leave out the number of ways
    assert fits.curve.log_likelihood >= best + shift - 1e-9
    p = fits.curve.at(CONTRASTS)
    expected = (learned[0] * np.log(p) + (20 - learned[0]) * np.log(1 - p)).sum()
    assert fits.curve.log_likelihood == pytest.approx(expected)
    assert fits.step.width == 0
    assert fits.step.log_likelihood <= fits.curve.log_likelihood
    assert fits.aic_gain[0] == pytest.approx(2 * (fits.curve.log_likelihood - fits.step.log_likelihood) - 2)


def test_a_sharp_rise_is_narrow_and_a_slow_one_wide():
    runs = np.full(5, 200.0)
    sharp = fit_curves(CONTRASTS, np.array([[100.0, 100, 100, 200, 200]]), runs)
    assert sharp.width[0] <= 0.5
    assert sharp.height[0] == pytest.approx(0.5, abs=0.03)
    assert 1e-3 < 10**sharp.curve.middle < 1e-2
    slow = fit_curves(CONTRASTS, np.array([[100.0, 125, 150, 175, 195]]), runs)
    assert slow.width[0] > 2
    assert slow.aic_gain[0] > 5 > sharp.aic_gain[0]


# --- the rules


def test_a_threshold_is_told_from_a_slope():
    whole, parts = verdicts(threshold)
    assert whole == {
        "one-word-left-out": "holds",
        "contrast-breaks-symmetry": "holds",
        "contrast-slope": "fails",
    }
    assert parts["width of the rise"].interval[1] < 1


def test_a_wide_rise_holds():
    def wide(value, seed):
        share = 0.5 if value == 0 else np.clip(0.5 + 0.5 * (np.log10(value) + 4.5) / 4, 0, 1)
        return 50 if seed % 200 < 200 * share else None

    whole, parts = verdicts(wide, seeds=200)
    assert whole["contrast-slope"] == "holds"
    assert parts["width of the rise"].interval[0] > 1
    assert parts["more often"].verdict == "holds"
    assert parts["sooner"].verdict == "undecided"
    assert "the step of success is the same everywhere" in parts["sooner"].detail


def test_no_rise_has_no_width():
    whole, parts = verdicts(lambda _, seed: 40 + 10 * (seed % 3) if seed % 2 else None)
    assert whole["contrast-slope"] == "undecided"
    assert "too little to speak of its width" in parts["width of the rise"].detail
    assert whole["contrast-breaks-symmetry"] == "undecided"
    assert whole["one-word-left-out"] == "fails"


def test_the_opposite_makes_the_claims_fail():
    whole, parts = verdicts(lambda value, seed: None if value > 0.1 and seed else 10 * round(6 + 40 * value))
    assert parts["more often"].verdict == "fails"
    assert parts["sooner"].verdict == "fails"
    assert whole["contrast-breaks-symmetry"] == "fails"


def test_few_seeds_or_few_distributions_decide_nothing():
    whole, parts = verdicts(threshold, seeds=9)
    assert set(whole.values()) == {"undecided"}
    assert "At least 10 seeds" in parts["more often"].detail
    whole, _ = verdicts(threshold, names=("permutations of 40", "40 of 41", "40 of 60"))
    assert (whole["contrast-slope"], whole["contrast-breaks-symmetry"]) == ("undecided", "undecided")
    assert whole["one-word-left-out"] == "holds"


def test_tables_name_the_least_contrast_that_helps():
    helping = story(threshold)
    table = helping.tables()["distributions"]
    assert [row["contrast"] for row in table] == sorted(row["contrast"] for row in table)
    none = [row for row in table if row["contrast"] == 0]
    assert {row["setting"] for row in none} == {"permutations of 40", "permutations of 40, 0 % 40 of 41"}
    assert {row["p_none"] for row in none} == {None}
    row = next(row for row in table if row["setting"] == "permutations of 40, 5 % 40 of 41")
    expected = 11 * stats.fisher_exact([[20, 0], [20, 20]]).pvalue
    assert row["p_none"] == pytest.approx(expected)
    assert none[0]["mean_step"] == pytest.approx((80 + 210) / 2)
    assert "is 0.0024 (permutations of 40, 5 % 40 of 41)" in helping.summary()
    flat = story(lambda _value, _seed: 40)
    assert "No distribution was learned significantly more often" in flat.summary()


def test_it_decides_every_claim_of_the_registry_that_names_it():
    named = {claim.id for claim in load_claims() if "symmetry" in claim.experiments}
    assert {finding.claim for finding in story(threshold, seeds=1).findings()} == named


# --- the whole result


def test_analyse_makes_a_whole_result():
    experiment, order = Symmetry(), Order("quick")
    done = {
        job.spec.id: trained(50 if "40 of 60" in job.label else None, last=50) for job in experiment.plan(order, {})
    }
    result = experiment.analyse(order, done)
    assert len(result.tables["distributions"]) == len(result.tables["runs"]) == 3
    assert [row["fit"] for row in result.tables["fits"]] == ["curve", "step"]
    assert all(row["low"] <= row["value"] <= row["high"] for row in result.tables["rise"][:2])
    assert "0 of 1 runs learned within 50 updates" in result.summary
    assert set(result.figures) == {"success", "steps", "curves_of_n", "curves_of_shares"}
    assert {finding.verdict for finding in result.findings} == {"undecided"}


# --- figures


def test_success_is_drawn_against_contrast_with_the_fitted_curve_and_the_best_step():
    drawn = story(threshold)
    (lines, line), (bars, bar), (points, point) = views(drawn.figures()["success"])
    assert (line["x"], line["y"], line["strokeDash"]) == ("shown", "p", "fit")
    for name, curve in (("fitted curve", drawn.fits.curve), ("best step", drawn.fits.step)):
        shown = [row for row in lines if row["fit"] == name]
        assert [row["p"] for row in shown] == pytest.approx(curve.at(np.array([row["shown"] for row in shown])))
    assert (bar["x"], bar["y"], bar["y2"], bar["color"]) == ("shown", "low", "high", "family")
    assert (point["x"], point["y"], point["color"]) == ("shown", "rate", "family")
    assert bars == points
    rows = {row["setting"]: row for row in points}
    assert (rows["permutations of 40"]["rate"], rows["40 of 60"]["rate"]) == (0.5, 1.0)
    assert rows["40 of 60"]["shown"] == rows["40 of 60"]["contrast"] == pytest.approx(40 / 60 * 20 / 59)
    assert rows["40 of 60"]["family"] == "40 of n"
    none = sorted(row["shown"] for row in points if row["contrast"] == 0)
    assert none == pytest.approx([1e-5, 1.3e-5]), "side by side at the left"


def test_steps_are_drawn_against_contrast_and_curves_by_family():
    drawn = story(threshold, seeds=2)
    ((band,), _), _, (rows, fields) = views(drawn.figures()["steps"])
    assert (fields["x"], fields["y"], fields["color"]) == ("shown", "step", "family")
    steps = {(row["setting"], row["learned"]): row["step"] for row in rows}
    assert steps["40 of 60", True] == 70 and ("40 of 60", False) not in steps
    assert band["first"] < steps["permutations of 40", False] < band["last"]
    assert band["words"] == f"not learned within {drawn.within} updates"
    for name, family in (("curves_of_n", "40 of n"), ("curves_of_shares", "a share of 40 of 41")):
        ((rows, fields),) = views(drawn.figures()[name])
        assert (fields["facet"], fields["x"], fields["y"], fields["detail"]) == ("setting", "step", "accuracy", "seed")
        assert list(dict.fromkeys(row["setting"] for row in rows)) == [one.name for one in FAMILIES[family]]
        ends = {(row["setting"], row["seed"]): (row["step"], row["accuracy"]) for row in rows}
        assert ends[FAMILIES[family][0].name, 0] == (300, 0.5)
        assert ends[FAMILIES[family][-1].name, 0][1] == 1.0

"""The locality experiment: its plan, and verdicts on log-odds whose answer is known."""

import csv

import pytest
from tests.lab.drawn import at
from tests.lab.drawn import marks as drawn

from attnlab.experiments.locality.experiment import (
    BOTH,
    HYPOTHESIS_1,
    HYPOTHESIS_2,
    OBSERVATION_3,
    ONE,
    QUANTITIES,
    Locality,
    difference,
    early,
    in_words,
    linear_while_guessing,
    turn,
)
from attnlab.lab.claims import load_claims
from attnlab.lab.experiment import Order
from attnlab.lab.outcomes import Outcome, Runs
from attnlab.lab.result import write_result
from attnlab.runs.loop import Trained

# Log-odds at the keyword, one after it, in the mean, at the last position.
LOCAL = (10.0, 5.0, 0.0, 0.1)
PURELY_LOCAL = (10.0, 0.0, 4.0, 0.1)
NONLOCAL = (0.1, 5.0, 0.0, 10.0)


def row(step, gammas, *, top=0.8, accuracy=0.5, linear=0.95):
    keyword, after, mean, last = gammas
    return {
        "step": step,
        "accuracy": accuracy,
        "probe_accuracy": top,
        "mean_state": linear,
        "gamma_keyword": keyword,
        "gamma_after": after,
        "gamma_mean": mean,
        "gamma_last": last,
        "gamma_first": -1.0,
        "positives": 39.0,
        "left_out": 1.0,
    }


def outcome(early, late, seed=0, encoder=ONE, **changes):
    """Nothing yet at step 0, ``early`` at 2, and ``late`` from step 20 on."""
    rows = [
        row(0, (0.0, 0.1, 0.0, 0.2), top=0.1),
        row(2, early, **changes),
        row(20, late, top=0.1, accuracy=0.9, linear=0.5),
        row(60, late, top=0.1, accuracy=1.0, linear=0.4),
    ]
    return Outcome(encoder.name, seed, Trained(f"{seed:016x}", rows, 60))


def group(early, late, count=6, **changes):
    return [outcome(early, late, seed, **changes) for seed in range(count)]


def story(outcomes):
    """The experiment, with these runs measured."""
    experiment = Locality()
    experiment.order, experiment.runs = Order("paper"), Runs(outcomes)
    experiment.measure(experiment.runs)
    return experiment


def decide(outcomes):
    return story(outcomes).findings()


def verdicts(outcomes):
    return {finding.claim: finding.verdict for finding in decide(outcomes)}


def test_the_paper_s_story():
    decided = verdicts(group(LOCAL, NONLOCAL))
    assert decided == {
        "probe-purely-local": "fails",
        "probe-local-early": "holds",
        "probe-nonlocal-late": "holds",
        "mean-state-is-mean-embedding": "holds",
    }


def test_states_about_their_own_words_alone_would_be_hypothesis_1():
    decided = verdicts(group(PURELY_LOCAL, PURELY_LOCAL))
    assert decided["probe-purely-local"] == "holds"
    assert decided["probe-local-early"] == decided["probe-nonlocal-late"] == "fails"


def test_each_relation_is_a_part_with_its_own_difference():
    parts = {part.name: part for finding in decide(group(LOCAL, NONLOCAL)) for part in finding.parts}
    assert parts["keyword >> after"].effect == pytest.approx(0.5)
    assert parts["mean = last"].effect == pytest.approx(-0.01)
    assert parts["late: last = after"].verdict == "fails"
    assert parts["late: last = after"].effect == pytest.approx(0.5)
    assert (
        "10.00 at the keyword, 0.00 mean of all positions: 1.00 of the spread" in parts["early: keyword >> mean"].detail
    )


@pytest.mark.parametrize(
    ("last", "verdict"),
    [(10.0, "holds"), (6.1, "undecided"), (5.5, "fails"), (4.0, "fails")],
    ids=["much larger", "about a fifth", "hardly larger", "smaller"],
)
def test_much_larger_is_a_fifth_of_the_spread(last, verdict):
    seeds = [outcome(LOCAL, (0.0, 5.0 + shift, 0.0, last), number) for number, shift in enumerate([-0.3, 0.3] * 4)]
    parts = {part.name: part for finding in decide(seeds)[2:3] for part in finding.parts}
    assert parts["last >> after"].verdict == verdict


def test_differences_are_in_units_of_each_seed_s_own_spread():
    small, large = row(0, LOCAL), row(0, tuple(100 * value for value in LOCAL))
    for relation in (*HYPOTHESIS_1, *HYPOTHESIS_2, *OBSERVATION_3):
        assert difference(small, relation) == pytest.approx(difference(large, relation))
    assert difference(row(0, (1.0, 1.0, 1.0, 1.0)), HYPOTHESIS_1[0]) == 0


def test_four_seeds_decide_nothing():
    assert set(verdicts(group(LOCAL, NONLOCAL, count=4)).values()) == {"undecided"}
    assert set(verdicts([]).values()) == {"undecided"}


def test_seeds_whose_keyword_never_is_largest_are_left_out_and_counted():
    seeds = [*group(LOCAL, NONLOCAL), outcome(LOCAL, NONLOCAL, 9, top=0.49)]
    rows = seeds[-1].run.rows
    assert early(rows) is None and turn(rows) is None
    assert "over 6 seeds. 1 of 7 seeds never got there" in decide(seeds)[1].parts[0].detail


def test_it_turns_where_the_last_position_overtakes_but_not_before_there_is_anything():
    rows = outcome(LOCAL, NONLOCAL).run.rows
    assert rows[0]["gamma_last"] > rows[0]["gamma_keyword"]
    assert turn(rows) == 20
    assert turn(outcome(LOCAL, LOCAL).run.rows) is None


def test_mean_states_count_while_the_network_guesses():
    def share(**changes):
        return linear_while_guessing(outcome(LOCAL, NONLOCAL, **changes).run.rows)

    assert share(linear=0.85) == pytest.approx((0.95 + 0.85) / 2)
    assert share(accuracy=0.61, linear=0.1) == pytest.approx(0.95)
    below = group(LOCAL, NONLOCAL, linear=0.6)
    assert verdicts(below)["mean-state-is-mean-embedding"] == "fails"


def test_tables_show_both_encoders_and_what_was_left_out():
    seeds = group(LOCAL, NONLOCAL) + [outcome(LOCAL, LOCAL, seed, BOTH) for seed in range(2)]
    experiment = story(seeds)
    one, both = experiment.tables()["encoders"]
    assert (one["turned"], one["median_turn"], one["turn_low"], one["turn_high"]) == (6, 20, 20, 20)
    assert (both["turned"], both["median_turn"], both["late_first"]) == (0, None, -1.0)
    assert one["left_out_share"] == pytest.approx(1 / 40)
    words = experiment.summary()
    assert "At step 20 (median, 95 % interval over seeds 20 to 20) the last position exceeds it for the first" in words
    assert "time, in 6 of 6 seeds" in words
    assert "After that the last position exceeds it in no seed" in words
    never = in_words({**both, "median_early": None})
    assert "never speaks loudest" in never and "there is no turn" in never and "exceeds" not in never
    assert len(experiment.tables()["relations"]) == 2 * 2 * 9


def test_figures_draw_the_log_odds_of_each_place_and_how_linear_states_are():
    seeds = [outcome(LOCAL, NONLOCAL, 3), outcome(LOCAL, PURELY_LOCAL, 4, BOTH)]
    seeds[0].run.rows.append(row(400, NONLOCAL, accuracy=1.0, linear=0.3))
    figures = story(seeds).figures()
    whole, close, linear = (drawn(figures[name]) for name in ("figure5", "turn", "mean_state"))
    late = {(ONE.name, 3): NONLOCAL, (BOTH.name, 4): PURELY_LOCAL}
    for (encoder, seed), gammas in late.items():
        for marks in (whole, close):
            for where, value in zip(QUANTITIES.values(), gammas, strict=True):
                (mark,) = at(marks, facet=encoder, detail=seed, color=where, x=20)
                assert mark["y"] == value
    assert {mark["x"] for mark in whole} == {0, 2, 20, 60, 400}
    assert {mark["x"] for mark in close} == {0, 2, 20, 60}
    shown = [(mark["x"], mark["y"]) for mark in at(linear, facet=ONE.name, color="variance explained")]
    assert shown == [(0, 0.95), (2, 0.95), (20, 0.5), (60, 0.4), (400, 0.3)]
    shown = [(mark["x"], mark["y"]) for mark in at(linear, facet=BOTH.name, color="accuracy")]
    assert shown == [(0, 0.5), (2, 0.5), (20, 0.9), (60, 1.0)]


@pytest.mark.parametrize(("preset", "count", "steps"), [("quick", 3, 60), ("reduced", 13, 1000), ("paper", 25, 4000)])
def test_presets_have_their_seeds_and_updates(preset, count, steps):
    jobs = Locality().plan(Order(preset), {})
    assert len({job.spec.id for job in jobs}) == len(jobs) == count
    assert {job.schedule.steps for job in jobs} == {job.schedule.evaluations[-1] for job in jobs} == {steps}
    assert len(Locality().plan(Order(preset, seeds=1), {})) == 2


def test_runs_are_the_paper_s_task_under_uniform_attention():
    for job in Locality().plan(Order("paper"), {}):
        assert (job.spec.task.length, job.spec.task.words) == (40, 40)
        assert (job.spec.model.attention, job.spec.model.hidden) == ("uniform", 256)
        assert job.spec.train == "all"
    directions = [job.spec.model.bidirectional for job in Locality().plan(Order("paper"), {})]
    assert directions == [False] * 20 + [True] * 5


def test_a_whole_result_is_written(tmp_path):
    order = Order("quick")
    done = {}
    for encoder in (ONE, BOTH):
        for seed in encoder.seeds_at(order):
            done[encoder.spec(seed).id] = outcome(LOCAL, NONLOCAL, seed, encoder).run
    result = Locality().analyse(order, done)
    folder = write_result(
        result, tmp_path / "r", experiment=Locality(), order=order, command="x", seconds=1, training_seconds=1
    )
    lines = list(csv.DictReader((folder / "tables" / "curves.csv").read_text(encoding="utf-8").splitlines()))
    assert len(lines) == 12
    assert {path.stem for path in (folder / "figures").glob("*.png")} == {"figure5", "turn", "mean_state"}
    named = {claim.id for claim in load_claims() if "locality" in claim.experiments}
    assert {finding.claim for finding in result.findings} == named

"""The late order in two by two cells: orders that are known, and what it takes to decide."""

import pytest
from tests.lab.ended import after

from attnlab.experiments.late_order.experiment import CELLS, LateOrder, ordered
from attnlab.experiments.locality.experiment import ONE
from attnlab.lab.experiment import Order
from attnlab.lab.outcomes import Outcome
from attnlab.runs.loop import Trained

LATE = {"gamma_keyword": 1.0, "gamma_after": 4.0, "gamma_mean": 1.2, "gamma_last": 9.0}
"""Observation 3: last >> after >> mean = keyword."""
OURS = {"gamma_keyword": 8.0, "gamma_after": 9.0, "gamma_mean": 5.0, "gamma_last": 9.5}


def outcome(setting, seed, *gammas, accuracy=0.99):
    rows = [
        {"step": 100 * k, "accuracy": accuracy, "probe_accuracy": 0.9, "mean_state": 0.5, "gamma_first": 0.0, **gamma}
        for k, gamma in enumerate(gammas)
    ]
    return Outcome(setting.name, seed, Trained(f"{seed:016x}", rows, rows[-1]["step"]), setting.spec(seed))


def decided(late_in, seeds=3, **how):
    """The part and the story; ``late_in``: how many seeds of the first cell end with the order."""
    first = next(iter(CELLS.values()))
    group = [
        outcome(one, seed, OURS, LATE if one is first and seed < late_in else OURS, **how)
        for one in CELLS.values()
        for seed in range(seeds)
    ]
    story = after(LateOrder(), group)
    (finding,) = story.findings()
    return finding.parts[0], story


@pytest.mark.parametrize(("late_in", "verdict"), [(3, "holds"), (2, "undecided"), (0, "fails")])
def test_a_cell_in_which_all_runs_end_so_is_enough_and_no_run_refutes(late_in, verdict):
    part, story = decided(late_in)
    assert (part.verdict, part.effect) == (verdict, pytest.approx(late_in / 12))
    assert part.detail.startswith(f"{late_in} of 12 runs end with it")
    cells = story.tables()["cells"]
    assert [row["order_at_end"] for row in cells] == [late_in, 0, 0, 0]
    assert set(story.figures()) == {"figure5"} and story.summary() and story.notes()


@pytest.mark.parametrize("how", [{"seeds": 2}, {"accuracy": 0.9}])
def test_few_seeds_or_a_task_not_learned_decide_nothing(how):
    assert decided(0, **how)[0].verdict == "undecided"


def test_a_passage_is_counted_and_is_no_end():
    one = next(iter(CELLS.values()))
    row = LateOrder().run_row(outcome(one, 0, OURS, LATE, LATE, OURS))
    assert not row["order_at_end"]
    assert (row["order_evaluations"], row["order_first_step"], row["order_last_step"]) == (2, 100, 200)


@pytest.mark.parametrize(
    ("change", "there"),
    [
        ({}, True),
        ({"gamma_after": 8.0}, False),  # last is not far above it
        ({"gamma_mean": 3.0}, False),  # neither far below the neighbour nor equal to the keyword
        ({"gamma_keyword": 2.5}, False),  # the keyword is above the mean
    ],
)
def test_all_three_relations_are_asked_for(change, there):
    assert ordered(LATE | change) is there


def test_runs_are_those_of_locality_but_for_size_and_optimiser():
    jobs = LateOrder().plan(Order("paper"), {})
    assert len({job.spec.id for job in jobs}) == len(jobs) == 12
    usual = {ONE.spec(seed).id for seed in range(3)}
    assert usual < {job.spec.id for job in jobs}, "hidden 256 with Adam is locality's own"
    for (hidden, _), setting in CELLS.items():
        ours, theirs = setting.spec(2), ONE.spec(2)
        assert ours.model.hidden == hidden
        changed = {"model": theirs.model, "optimiser": theirs.optimiser}
        assert ours.model_copy(update=changed) == theirs

"""Even steps: the orders, whose runs they are compared with, the rule, the whole result."""

from pathlib import Path

import numpy as np
import pytest
from tests.lab.ended import group, trained

from attnlab.experiments.even_steps import experiment as even_steps
from attnlab.experiments.even_steps.experiment import EVEN, EvenSteps
from attnlab.experiments.permuting.experiment import RANDOM, Permuting
from attnlab.lab.claims import load_claims
from attnlab.lab.experiment import Order
from attnlab.lab.recall import recall
from attnlab.lab.registry import find_experiment
from attnlab.runs.loop import Trained

RESULTS = Path(__file__).parents[3] / "results"


def test_even_steps_move_by_as_much_at_every_output():
    for kind, by in zip(EVEN, (3, 7), strict=True):
        order = np.array(kind.order(0))
        assert sorted(order) == list(range(40))
        assert set(np.diff(order) % 40) == {by}
        assert 10 < kind.distance(0) < 15


@pytest.mark.parametrize(("preset", "count"), [("quick", 2), ("reduced", 16), ("paper", 36)])
def test_presets_have_their_seeds_and_say_what_they_leave_out(preset, count):
    assert len(find_experiment("even-steps").at_most(Order(preset), {})) == count
    assert any(note.startswith(preset) for note in even_steps.notes(Order(preset))) == (preset != "paper")


def test_random_orders_are_those_of_permuting_and_its_result_spares_training_them():
    jobs = [job for job in EvenSteps().plan(Order("paper"), {}) if job.label.startswith(RANDOM.name)]
    theirs = {job.spec.id: job.schedule for job in Permuting().plan(Order("paper"), {})}
    assert len(jobs) == 20
    assert all(theirs[job.spec.id] == job.schedule for job in jobs)
    found = recall(RESULTS)
    assert all(found.find(job) is not None for job in jobs)


@pytest.mark.parametrize(
    ("even", "random", "verdict"),
    [
        ([90] * 8, [None] * 20, "holds"),
        ([None] * 8, [None] * 20, "fails"),
        ([90] * 8, [90] * 20, "undecided"),  # all is learned: nothing is said about steps
        ([90] * 2 + [None] * 6, [None] * 20, "undecided"),
        ([None] * 8, [90] * 20, "fails"),
        ([], [None] * 20, "undecided"),
        ([90] * 8, [], "undecided"),
    ],
)
def test_even_steps_are_compared_with_random_orders(even, random, verdict):
    outcomes = [one for kind in EVEN for one in group(kind, even)] + group(RANDOM, random)
    (finding,) = even_steps.decide(outcomes, 300)
    assert finding.verdict == verdict
    assert {part.verdict for part in finding.parts} == {verdict}


def test_it_decides_every_claim_of_the_registry_that_names_it():
    named = {claim.id for claim in load_claims() if "even-steps" in claim.experiments}
    assert {finding.claim for finding in even_steps.decide([], 300)} == named


def test_analyse_makes_a_whole_result():
    experiment, order = EvenSteps(), Order("quick")
    done = {}
    for job in experiment.plan(order, {}):
        rows = trained(40 if job.label.startswith("steps") else None, last=job.schedule.steps).rows
        done[job.spec.id] = Trained(job.spec.id, rows, int(rows[-1]["step"]))
    result = experiment.analyse(order, done)
    assert [row["learned"] for row in result.tables["success"]] == [1, 0]
    assert {row["run"] for row in result.tables["runs"]} == set(done)
    assert set(result.figures) == {"curves", "knowledge"}
    assert all(figure.to_json() for figure in result.figures.values())
    assert {finding.verdict for finding in result.findings} == {"undecided"}, "50 updates say nothing about 300"
    assert "steps of 3: 1 of 1 runs learned within 50 updates" in result.summary

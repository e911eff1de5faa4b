"""Even steps: the orders, whose runs they are compared with, the rule, the whole result."""

from pathlib import Path

import numpy as np
import pytest
from tests.lab.drawn import views
from tests.lab.ended import after, group, trained

from attnlab.experiments.even_steps.experiment import EVEN, RANDOM, EvenSteps
from attnlab.experiments.permuting.experiment import Permuting
from attnlab.families.copying.orders import distance
from attnlab.lab.claims import load_claims
from attnlab.lab.experiment import Order
from attnlab.lab.recall import recall
from attnlab.lab.registry import find_experiment
from attnlab.runs.loop import Trained

RESULTS = Path(__file__).parents[2] / "results"


def test_even_steps_move_by_as_much_at_every_output():
    for setting, by in zip(EVEN, (3, 7), strict=True):
        order = setting.spec(0).task.order
        assert sorted(order) == list(range(40))
        assert set(np.diff(np.array(order)) % 40) == {by}
        assert 10 < distance(order) < 15


@pytest.mark.parametrize(("preset", "count"), [("quick", 2), ("reduced", 16), ("paper", 36)])
def test_presets_have_their_seeds_and_say_what_they_leave_out(preset, count):
    assert len(find_experiment("even-steps").at_most(Order(preset), {})) == count
    notes = after(EvenSteps(), [], preset).notes()
    assert any(note.startswith(preset) for note in notes) == (preset != "paper")


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
    outcomes = [one for setting in EVEN for one in group(setting, even)] + group(RANDOM, random)
    (finding,) = after(EvenSteps(), outcomes).findings()
    assert finding.verdict == verdict
    assert {part.verdict for part in finding.parts} == {verdict}


def test_it_decides_every_claim_of_the_registry_that_names_it():
    named = {claim.id for claim in load_claims() if "even-steps" in claim.experiments}
    assert {finding.claim for finding in after(EvenSteps(), []).findings()} == named


def test_analyse_makes_a_whole_result():
    experiment, order = EvenSteps(), Order("quick")
    done = {}
    for job in experiment.plan(order, {}):
        rows = trained(40 if job.label.startswith("steps") else None, last=job.schedule.steps).rows
        done[job.spec.id] = Trained(job.spec.id, rows, int(rows[-1]["step"]))
    result = experiment.analyse(order, done)
    assert [row["learned"] for row in result.tables["success"]] == [1, 0]
    assert {row["run"] for row in result.tables["runs"]} == set(done)
    ((rows, fields),) = views(result.figures["curves"])
    assert (fields["facet"], fields["x"], fields["y"], fields["detail"]) == ("setting", "step", "accuracy", "seed")
    assert {row["setting"]: (row["step"], row["accuracy"]) for row in rows} == {
        EVEN[0].name: (40, 1.0),
        RANDOM.name: (50, 0.5),
    }
    ((rows, fields),) = views(result.figures["knowledge"])
    assert (fields["facet"], fields["x"], fields["y"], fields["color"]) == ("setting", "step", "share", "what")
    assert {row["what"]: row["share"] for row in rows if row["step"]} == {
        "lexical probe": 0.9,
        "attention": 0.75,
        "attention, one after the right position": 0.125,
    }
    assert {finding.verdict for finding in result.findings} == {"undecided"}, "50 updates say nothing about 300"
    assert "steps of 3: 1 of 1 runs learned within 50 updates" in result.summary

"""Mirror: whose runs its starts are, the rules on made-up outcomes, the whole result."""

from pathlib import Path

import pytest
from scipy.stats import mannwhitneyu

from attnlab.experiments.copying import experiment as copying
from attnlab.experiments.mirror import experiment as mirror
from attnlab.experiments.mirror.experiment import Mirror, Start
from attnlab.lab.claims import load_claims
from attnlab.lab.experiment import Order
from attnlab.lab.recall import recall
from attnlab.lab.success import Outcome
from attnlab.runs.loop import Trained

RESULTS = Path(__file__).parents[3] / "results"


def trained(learned_at, before=0.024, id="0" * 16, last=200):
    rows = [
        {
            "step": step,
            "accuracy": 1.0 if learned_at is not None and step >= learned_at else 0.5,
            "probe_accuracy": 0.0,
            "probe_mean": before if step == 0 else 0.9,
            "attention_accuracy": 0.0,
        }
        for step in range(0, last + 1, 10)
    ]
    return Trained(id, rows, last)


def make_starts(drawn, mirrored, before=None):
    """Starts whose runs learn at these steps, never if None."""
    before = before or [0.024] * len(drawn)
    return [
        Start(Outcome("as drawn", seed, trained(a)), Outcome("mirrored", seed, trained(b, value)))
        for seed, (a, b, value) in enumerate(zip(drawn, mirrored, before, strict=True))
    ]


def test_starts_as_drawn_are_those_of_copying_and_its_result_spares_training_them():
    jobs = Mirror().plan(Order("paper"), {})
    assert len(jobs) == len({job.spec.id for job in jobs}) == 80
    plain = {copying.make_spec(copying.PERMUTATIONS, seed).id for seed in range(40)}
    drawn = [job for job in jobs if job.spec.id in plain]
    assert len(drawn) == 40
    found = recall(RESULTS)
    assert all(found.find(job) is not None for job in drawn)


def test_a_start_and_its_mirror_differ_in_that_alone():
    drawn, mirrored = (job.spec.model_dump() for job in Mirror().plan(Order("paper", seeds=1), {}))
    assert {name for name in drawn if drawn[name] != mirrored[name]} == {"remedy"}


@pytest.mark.parametrize(
    ("failing", "learning", "verdict"),
    [
        ([50] * 10, [None] * 10, "holds"),
        ([50] * 5 + [None] * 5, [50] * 5 + [None] * 5, "undecided"),  # just another start, on few of them
        ([50] * 20 + [None] * 20, [50] * 20 + [None] * 20, "fails"),  # the same on many
        ([None] * 10, [50] * 10, "fails"),  # mirrored starts end as they did
        ([50] * 9, [None] * 30, "undecided"),
        ([50] * 30, [None] * 9, "undecided"),
        ([], [None] * 10, "undecided"),
    ],
)
def test_who_learns_changes_sides_or_not(failing, learning, verdict):
    starts = make_starts([None] * len(failing) + [60] * len(learning), failing + learning)
    part = mirror.swaps(starts)
    assert part.verdict == verdict
    if failing:
        share = [sum(step is not None for step in group) / len(group) for group in (failing, learning)]
        assert part.effect == pytest.approx(share[0] - share[1])


def test_what_is_learned_behind_step_200_does_not_count():
    late = Outcome("as drawn", 0, trained(300, last=1000))
    assert Start(late, late).fails


def test_the_area_is_that_of_an_independent_test_and_decides():
    mirrored = [50, None] * 15
    noise = [0.02 + 0.0001 * ((7 * seed) % 30) for seed in range(30)]
    before = [value + (0.0007 if step else 0.0) for value, step in zip(noise, mirrored, strict=True)]
    part = mirror.known(make_starts([None] * 30, mirrored, before))
    of_learners = [value for value, step in zip(before, mirrored, strict=True) if step]
    of_others = [value for value, step in zip(before, mirrored, strict=True) if not step]
    expected = mannwhitneyu(of_learners, of_others).statistic / 15**2
    assert part.effect == pytest.approx(expected)
    assert part.interval[0] < expected < part.interval[1]
    assert part.verdict == "undecided"
    assert mirror.known(make_starts([None] * 30, mirrored, noise)).verdict == "fails"
    apart = [0.03 if step else 0.02 for step in mirrored]
    assert mirror.known(make_starts([None] * 30, mirrored, apart)).verdict == "holds"
    turned = [0.02 if step else 0.03 for step in mirrored]
    assert mirror.known(make_starts([None] * 30, mirrored, turned)).verdict == "fails"
    few = mirror.known(make_starts([None] * 18, mirrored[:18], apart[:18]))
    assert (few.verdict, few.effect) == ("undecided", 1.0)
    assert mirror.known(make_starts([None] * 3, [50] * 3)).verdict == "undecided"


@pytest.mark.parametrize("preset", ["quick", "reduced", "paper"])
def test_the_result_has_its_claims_tables_figures_and_notes(preset):
    order = Order(preset)
    jobs = Mirror().plan(order, {})
    done = {}
    for job in jobs:
        learns = (job.spec.init_seed % 2 == 0) == (job.spec.remedy is None)
        done[job.spec.id] = trained(50 if learns else None, 0.03 if learns else 0.02, job.spec.id)
    result = Mirror().analyse(order, done)
    assert {finding.claim for finding in result.findings} == {
        claim.id for claim in load_claims() if "mirror" in claim.experiments
    }
    expected = {"quick": "undecided", "reduced": "holds", "paper": "holds"}[preset]
    assert {finding.verdict for finding in result.findings} == {expected}
    half = len(jobs) // 4
    assert [row["learned_mirrored"] for row in result.tables["swaps"]] == [half, 0]
    assert f"Mirrored, {half} of {half} failing starts learn, and 0 of {half} learning ones." in result.summary
    assert set(result.figures) == {"curves", "before", "probe"}
    for chart in result.figures.values():
        chart.to_dict()
    assert any(note.startswith(preset) for note in result.notes) == (preset != "paper")


def test_where_all_starts_end_alike_it_is_said():
    starts = make_starts([None] * 3, [None] * 3)
    assert [part.detail for finding in mirror.decide(starts) for part in finding.parts] == [
        "All starts end alike.",
        "All mirrored starts end alike.",
    ]
    assert [row["rate"] for row in mirror.swap_table(starts)] == [0.0, None]

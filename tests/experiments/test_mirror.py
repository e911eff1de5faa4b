"""Mirror: whose runs its starts are, the rules on made-up outcomes, the whole result."""

from pathlib import Path

import pytest
from scipy.stats import mannwhitneyu
from tests.lab.drawn import at
from tests.lab.drawn import marks as drawn

from attnlab.experiments.copying.experiment import PERMUTATIONS
from attnlab.experiments.mirror.experiment import Mirror
from attnlab.lab.claims import load_claims
from attnlab.lab.experiment import Order
from attnlab.lab.recall import recall
from attnlab.runs.loop import Trained

RESULTS = Path(__file__).parents[2] / "results"


def trained(learned_at, before=0.024, id="0" * 16, last=200, probe=0.0):
    rows = [
        {
            "step": step,
            "accuracy": 1.0 if learned_at is not None and step >= learned_at else 0.5,
            "probe_accuracy": probe,
            "probe_mean": before if step == 0 else 0.9,
            "attention_accuracy": 0.0,
        }
        for step in range(0, last + 1, 10)
    ]
    return Trained(id, rows, last)


def analysed(as_drawn, mirrored, before=None, **keywords):
    """The result of starts whose runs learn at these steps, never if None."""
    order, before = Order("paper", seeds=len(as_drawn)), before or [0.024] * len(as_drawn)
    done = {}
    for job in Mirror().jobs(order):
        seed, plain = job.spec.init_seed, job.spec.remedy is None
        value = 0.5 if plain else before[seed]  # the probe of starts as drawn decides nothing
        done[job.spec.id] = trained((as_drawn if plain else mirrored)[seed], value, job.spec.id, **keywords)
    return Mirror().analyse(order, done)


def part(result, claim):
    """The one part of a claim."""
    (only,) = (part for finding in result.findings if finding.claim == claim for part in finding.parts)
    return only


def known(mirrored, before=None):
    return part(analysed([None] * len(mirrored), mirrored, before), "luck-known-before-training")


def test_starts_as_drawn_are_those_of_copying_and_its_result_spares_training_them():
    jobs = Mirror().plan(Order("paper"), {})
    assert len(jobs) == len({job.spec.id for job in jobs}) == 80
    plain = {PERMUTATIONS.spec(seed).id for seed in range(40)}
    as_drawn = [job for job in jobs if job.spec.id in plain]
    assert len(as_drawn) == 40
    recalled = recall(RESULTS)
    assert all(recalled.find(job) is not None for job in as_drawn)


def test_a_start_and_its_mirror_differ_in_that_alone():
    as_drawn, mirrored = (job.spec.model_dump() for job in Mirror().plan(Order("paper", seeds=1), {}))
    assert {name for name in as_drawn if as_drawn[name] != mirrored[name]} == {"remedy"}


@pytest.mark.parametrize(
    ("failing", "learning", "verdict"),
    [
        ([50] * 10, [None] * 10, "holds"),
        ([50] * 5 + [None] * 5, [50] * 5 + [None] * 5, "undecided"),  # just another start, on few of them
        ([50] * 10 + [None] * 10, [50] * 10 + [None] * 10, "fails"),  # the same on many
        ([None] * 10, [50] * 10, "fails"),  # mirrored starts end as they did
        ([50] * 9, [None] * 30, "undecided"),
        ([50] * 30, [None] * 9, "undecided"),
        ([], [None] * 10, "undecided"),
    ],
)
def test_who_learns_changes_sides_or_not(failing, learning, verdict):
    result = analysed([None] * len(failing) + [60] * len(learning), failing + learning)
    swapped = part(result, "luck-is-a-sign")
    assert swapped.verdict == verdict
    if failing:
        share = [sum(step is not None for step in group) / len(group) for group in (failing, learning)]
        assert swapped.effect == pytest.approx(share[0] - share[1])


def test_what_is_learned_after_step_200_does_not_count():
    result = analysed([300, 300], [300, 100], last=1000)
    assert [(row["as_drawn"], row["starts"], row["learned_mirrored"]) for row in result.tables["swaps"]] == [
        ("fails", 2, 1),
        ("learns", 0, 0),
    ]
    assert {row["step"] for row in result.tables["curves"]} == set(range(0, 201, 10))


def test_the_area_is_that_of_an_independent_test_and_decides():
    mirrored = [50, None] * 15
    noise = [0.02 + 0.0001 * ((7 * seed) % 30) for seed in range(30)]
    before = [value + (0.0007 if step else 0.0) for value, step in zip(noise, mirrored, strict=True)]
    area = known(mirrored, before)
    of_learners = [value for value, step in zip(before, mirrored, strict=True) if step]
    of_others = [value for value, step in zip(before, mirrored, strict=True) if not step]
    expected = mannwhitneyu(of_learners, of_others).statistic / 15**2
    assert area.effect == pytest.approx(expected)
    assert area.interval[0] < expected < area.interval[1]
    assert area.verdict == "undecided"
    assert known(mirrored, noise).verdict == "fails"
    apart = [0.03 if step else 0.02 for step in mirrored]
    assert known(mirrored, apart).verdict == "holds"
    turned = [0.02 if step else 0.03 for step in mirrored]
    assert known(mirrored, turned).verdict == "fails"
    few = known(mirrored[:18], apart[:18])
    assert (few.verdict, few.effect) == ("undecided", 1.0)
    assert known([50] * 3).verdict == "undecided"


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
    assert any(note.startswith(preset) for note in result.notes) == (preset != "paper")
    assert result.seeds == {"starts": list(range(len(jobs) // 2))}
    assert [row["probe_before"] for row in result.tables["runs"] if row["seed"] == 1] == [0.02, 0.03]


def test_figures_draw_each_start_in_the_panel_of_how_it_ended_as_drawn():
    figures = analysed([None, 60], [80, None], [0.031, 0.012], probe=0.25).figures
    accuracy = drawn(figures["curves"])
    for seed, panel, as_drawn, mirrored in ((0, "fail", None, 80), (1, "learn", 60, None)):
        for which, learned_at in (("as drawn", as_drawn), ("mirrored", mirrored)):
            (mark,) = at(accuracy, facet=f"starts that {panel} as drawn", color=which, detail=seed, x=100)
            assert mark["y"] == (0.5 if learned_at is None else 1.0)
    assert len(accuracy) == 4 * 21
    assert {mark["y"] for mark in drawn(figures["probe"])} == {0.25}
    before = {(mark["facet"], mark["color"]): mark for mark in drawn(figures["before"])}
    assert {key: mark["x"] for key, mark in before.items()} == {
        ("as drawn", "did not learn"): 0.5,
        ("as drawn", "learned"): 0.5,
        ("mirrored", "learned"): 0.031,
        ("mirrored", "did not learn"): 0.012,
    }


def test_where_all_starts_end_alike_the_result_says_so():
    result = analysed([None] * 3, [None] * 3)
    assert [part.detail for finding in result.findings for part in finding.parts] == [
        "All starts end alike.",
        "All mirrored starts end alike.",
    ]
    assert [row["rate"] for row in result.tables["swaps"]] == [0.0, None]

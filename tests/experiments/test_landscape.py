"""landscape and flatness: planted points, decided, tabled and drawn; and two that are really trained."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.lab.drawn import marks

from attnlab.experiments.flatness import experiment as flatness
from attnlab.experiments.flatness.experiment import Flatness
from attnlab.experiments.landscape import experiment as landscape
from attnlab.experiments.landscape.experiment import FIXED, NEWTON, SCENES, Landscape, Place, Scene, places
from attnlab.lab.claims import Part
from attnlab.lab.experiment import Experiment, Order, Record
from attnlab.lab.outcomes import Outcome
from attnlab.runs.loop import Trained, train
from attnlab.runs.store import RunStore

REDUCED = Order("reduced")
Point = dict[str, float]


def point(test: float = 0.01, gradient: float = 1e-9, lowest: float = 1e-3) -> Point:
    return {"test": test, "train": 0.1, "gradient": gradient, "lowest": lowest, "highest": 2.0, "trace": 5.0}


def planted(make: Callable[[Place, int], Point], order: Order = REDUCED) -> Landscape:
    """The story of a landscape in which every start of every place ends at the point that ``make`` gives."""
    outcomes = []
    for place in places(order.preset):
        (setting, starts) = place.setting(place.starts), place.starts
        row: dict[str, float] = {"step": place.scene.steps}
        for k in range(starts):
            row |= {f"{name}_{k}": value for name, value in make(place, k).items()}
        spec = setting.spec(0)
        outcomes.append(Outcome(setting.name, 0, Trained(spec.id, [row], place.scene.steps), spec))
    return Landscape().story(order, outcomes)


def parts_of(story: Experiment, claim: str) -> dict[str, Part]:
    (finding,) = story.findings(claim)
    return {part.name: part for part in finding.parts}


def good_with_attention(place: Place, k: int) -> Point:
    """Attention ends at 0.01 to 0.02, the baseline ten times as high; a fifth of the starts do not arrive."""
    error = 0.01 * (1 + k % 5 / 4) * (1 if place.network == "attention" else 10)
    return point(error, gradient=1e-3 if k % 5 == 4 else 1e-9, lowest=-1.0 if place.way == "sought" else 1e-3)


@pytest.fixture(scope="module")
def good() -> Landscape:
    return planted(good_with_attention)


def test_good_points_hold_and_better_minima_hold(good: Landscape) -> None:
    for claim in ("stationary-points-good", "local-minima-good", "attention-minima-better"):
        assert {part.verdict for part in parts_of(good, claim).values()} == {"holds"}
    assert set(parts_of(good, "local-minima-good")) == {scene.name for scene in SCENES}
    sought = parts_of(good, "stationary-points-good")[f"{FIXED}, saddles sought"]
    assert "48 of 48 stationary points" in sought.detail  # those that arrived, of 60
    assert parts_of(good, "attention-minima-better")[FIXED].effect == pytest.approx(np.log(10), abs=1e-9)


def test_the_other_way_round_it_fails() -> None:
    def bad(place: Place, k: int) -> Point:
        return point(0.5 if place.network == "attention" else 0.01 + 0.0001 * k)

    story = planted(bad)
    for claim in ("stationary-points-good", "local-minima-good", "attention-minima-better"):
        assert {part.verdict for part in parts_of(story, claim).values()} == {"fails"}


def test_a_bad_saddle_speaks_against_stationary_points_and_not_against_minima() -> None:
    def one_saddle(place: Place, k: int) -> Point:
        return point(0.3, lowest=-1e-3) if k == 7 and place.network == "attention" else point()

    story = planted(one_saddle)
    assert {part.verdict for part in parts_of(story, "stationary-points-good").values()} == {"fails"}
    assert {part.verdict for part in parts_of(story, "local-minima-good").values()} == {"holds"}


def test_a_bad_point_at_a_smaller_size_decides_nothing() -> None:
    def small(place: Place, _: int) -> Point:
        return point(0.9 if place.n < place.scene.sizes[-1] else 0.01)

    assert {part.verdict for part in parts_of(planted(small), "stationary-points-good").values()} == {"holds"}


def test_starts_that_miss_stationarity_are_counted_and_judge_nothing(good: Landscape) -> None:
    story = planted(lambda place, k: point(0.9, gradient=1e-5) if k % 2 else point())
    assert {part.verdict for part in parts_of(story, "stationary-points-good").values()} <= {"holds", "undecided"}
    rows = {
        (r["scene"], r["network"], r["n"], r["way"], r["tau0"], r["ridge"]): r for r in story.record.rows("summary")
    }
    first = rows[FIXED, "attention", 2000, "descent", NEWTON.tau0, NEWTON.ridge]
    assert (first["starts"], first["arrived"], first["good"]) == (200, 100, 100)
    assert "100 of 200 starts arrive" in story.summary()
    kinds = [row["point"] for row in good.record.rows("points", way="sought")]
    assert (kinds.count("saddle"), kinds.count("none"), kinds.count("minimum")) == (48, 12, 0)


def test_all_settings_and_temperatures_are_there(good: Landscape) -> None:
    tried = {(row["scene"], row["network"], row["tau0"], row["ridge"]) for row in good.record.rows("summary")}
    for scene in SCENES:
        assert {(scene.name, network, 10.0, 1e-3) for network in ("attention", "baseline")} <= tried
    assert {tau0 for _, _, tau0, _ in tried} == {2.0, 10.0, 50.0}
    assert (FIXED, "attention", 10.0, 0.0) in tried


def test_the_figure_draws_every_stationary_point(good: Landscape) -> None:
    drawn = marks(good.figures()["errors"])
    at = [mark for mark in drawn if (mark["facet"], mark["color"], mark["x"]) == (FIXED, "baseline", 200)]
    assert len(at) == 160
    assert {round(mark["y"], 6) for mark in at} == {0.1, 0.125, 0.15, 0.175}


# --- really trained


SMALL = Scene(
    FIXED,
    SCENES[0].teacher.model_copy(update={"inputs": 6, "relevant": 2, "hidden": 2, "tests": 50}),
    NEWTON.model_copy(update={"network": "known", "hidden": 3}),
    (60,),
    {"quick": 3, "reduced": 3, "paper": 3},
    80,
)


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[Place, Outcome]]:
    """Three starts with attention and three without, on a small teacher."""
    store, found = RunStore(tmp_path_factory.mktemp("store")), []
    for network in ("attention", "baseline"):
        place = Place(SMALL, network, 60, 3)
        setting = place.setting(3)
        spec = setting.spec(0)
        assert not isinstance(setting.schedule, dict)
        run = train(spec, setting.schedule, store)  # type: ignore[arg-type]
        found.append((place, Outcome(setting.name, 0, run, spec)))
    return found


def test_trained_starts_are_read_as_minima(
    trained: list[tuple[Place, Outcome]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(landscape, "places", lambda _: [place for place, _ in trained])
    story = Landscape().story(Order("quick"), [outcome for _, outcome in trained])
    rows = story.record.rows("points")
    assert [(row["network"], row["start"]) for row in rows] == [
        (n, k) for n in ("attention", "baseline") for k in range(3)
    ]
    assert {row["point"] for row in rows} == {"minimum"}
    assert all(row["lowest"] > 0 and row["trace"] >= row["highest"] > row["lowest"] for row in rows)


def test_flatness_measures_what_moving_costs(
    trained: list[tuple[Place, Outcome]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(flatness, "places", lambda _: [place for place, _ in trained])
    story = Flatness().story(Order("quick"), [outcome for _, outcome in trained])
    rows = story.record.rows("points")
    assert len(rows) == 6
    for row in rows:
        assert 0 < row["random_0.01"] < row["random_0.05"] < row["adversarial_0.05"]
        # Near a minimum the worst move costs half the largest eigenvalue times the square of its length.
        assert row["adversarial_0.05"] / row["adversarial_0.01"] == pytest.approx(25, rel=0.5)
        assert row["test_noise_0.3"] > row["test_noise_0.1"] > 0
    (table,) = [rows for name, rows in story.tables().items() if name == "flatness"]
    assert [(row["network"], row["points"]) for row in table] == [("attention", 3), ("baseline", 3)]
    drawn = marks(story.figures()["increase"])
    assert len(drawn) == 12


def test_runs_on_noisier_labels_are_read_apart(
    trained: list[tuple[Place, Outcome]], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    place, outcome = trained[0]
    noisier = replace(place, noise=0.6)
    setting = noisier.setting(3)
    run = train(setting.spec(0), setting.schedule, RunStore(tmp_path))  # type: ignore[arg-type]
    monkeypatch.setattr(flatness, "places", lambda _: [place, noisier])
    story = Flatness().story(Order("quick"), [outcome, Outcome(setting.name, 0, run, setting.spec(0))])
    (table,) = [rows for name, rows in story.tables().items() if name == "flatness"]
    assert [(row["label_noise"], row["points"]) for row in table] == [(0.3, 3), (0.6, 3)]
    assert table[0]["test"] < table[1]["test"]


def test_a_start_that_has_not_arrived_is_not_measured(trained: list[tuple[Place, Outcome]]) -> None:
    _, outcome = trained[0]
    rows = [{**outcome.run.rows[-1], "gradient_1": 1e-3}]
    moved = replace(outcome, run=replace(outcome.run, rows=rows))
    assert [row["start"] for row in flatness.measured(moved)] == [0, 2]


# --- flatness, planted


def flat(without: float, with_attention: float, starts: int = 30) -> Flatness:
    """The story of a result in which losses rise by so much, give or take."""
    rows: list[dict[str, Any]] = [
        {"scene": scene.name, "network": network, "label_noise": noise, "random_0.05": rise * (1 + k / 100)}
        for scene in flatness.CHOSEN
        for network, rise in (("attention", with_attention), ("baseline", without))
        for noise, factor in ((0.3, 1.0), (0.6, 100.0))
        for k, rise in ((k, rise * factor) for k in range(starts))
    ]
    return Flatness().retold(REDUCED, Record({"points": rows}, {}))


@pytest.mark.parametrize(
    ("without", "with_attention", "starts", "verdict"),
    [(0.2, 0.1, 30, "holds"), (0.1, 0.2, 30, "fails"), (0.1, 0.1, 30, "undecided"), (0.2, 0.1, 19, "undecided")],
)
def test_flatter_is_decided_by_the_interval(without: float, with_attention: float, starts: int, verdict: str) -> None:
    parts = parts_of(flat(without, with_attention, starts), "attention-minima-flatter")
    assert {part.verdict for part in parts.values()} == {verdict}
    if starts == 30:
        effects = [part.effect for part in parts.values()]
        assert effects == pytest.approx([np.log(without / with_attention)] * 2, abs=1e-9)


def test_flatness_shares_the_runs_of_landscape() -> None:
    of_landscape = {job.spec.id for job in Landscape().plan(REDUCED, {})}
    own = [job.spec for job in Flatness().plan(REDUCED, {})]
    assert sum(spec.id in of_landscape for spec in own) == 4
    assert {spec.task.noise for spec in own if spec.id not in of_landscape} == {0.6}  # type: ignore[union-attr]


def test_quick_decides_nothing() -> None:
    story = planted(good_with_attention, Order("quick"))
    assert {part.verdict for finding in story.findings() for part in finding.parts} == {"undecided"}

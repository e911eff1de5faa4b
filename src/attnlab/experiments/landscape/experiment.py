"""Landscape (P2 3): are all stationary points of an attention model good ones, and all its local minima?

Random starts are trained by damped Newton steps until the gradient vanishes (`attnlab.families.teacher.newton`), the
exact Hessian tells minima from saddles, and every point is judged by its distance from the teacher. P2 3.1 to 3.3:
attention known, learned, in two layers. Without a ridge there is often nothing to arrive at: pairs of hidden units
cancel each other with weights that grow without end. P2's assumptions could not be had; a small ridge is ours.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt
import numpy as np

from attnlab.families.teacher.newton import STATIONARY
from attnlab.families.teacher.spec import StudentSpec, TeacherSpec
from attnlab.lab.claims import Part, Preset, Verdict
from attnlab.lab.experiment import Experiment, Figures, Order, Setting, Table, claim
from attnlab.lab.outcomes import Outcome, Runs
from attnlab.lab.rules import LEAST, higher, missing
from attnlab.pages.charts import INK, hue, inline, rounded, titled
from attnlab.runs.optimisers import SgdSpec
from attnlab.runs.schedule import Schedule
from attnlab.runs.spec import RunSpec
from attnlab.stats.bootstrap import bootstrap_difference
from attnlab.stats.proportions import wilson

# --- settings

GOOD = 0.1
"""A test error, as a share of the variance, up to which a point predicts well."""
SADDLE = -1e-6
"""A point whose Hessian has an eigenvalue below this is no minimum."""
FEATURES = TeacherSpec(form="features", inputs=20, relevant=4, hidden=5, samples=1)
WORDS = TeacherSpec(form="words", relevance="input", inputs=6, relevant=2, size=5, hidden=5, value_size=3, samples=1)
NEWTON = StudentSpec(hidden=20, query_size=2, value_size=3, ridge=1e-3, steps="newton", precision="double")


@dataclass(frozen=True)
class Scene:
    """A teacher and the attention model of one of P2's sections. ``sizes``: n. ``steps``: updates, at most."""

    name: str
    teacher: TeacherSpec
    model: StudentSpec
    sizes: tuple[int, ...]
    starts: Mapping[Preset, int]
    steps: int


def by(quick: int, more: int) -> dict[Preset, int]:
    """How many at quick, and at the others."""
    return {"quick": quick, "reduced": more, "paper": more}


def student(**changes: Any) -> StudentSpec:
    """One trained by Newton's steps."""
    return NEWTON.model_copy(update=changes)


FIXED, BY_INPUT, LEARNED, DEEP = "known, fixed", "known, by input", "learned", "two layers"
SCENES = (
    Scene(FIXED, FEATURES, student(network="known"), (50, 200, 2000), by(20, 200), 150),
    Scene(
        BY_INPUT,
        FEATURES.model_copy(update={"relevance": "input"}),
        student(network="known"),
        (50, 200, 2000),
        by(0, 100),
        150,
    ),
    Scene(LEARNED, WORDS, student(network="attention"), (50, 200, 1000), by(4, 60), 250),
    Scene(
        DEEP,
        WORDS.model_copy(update={"layers": 2}),
        student(network="attention", layers=2),
        (200, 1000),
        by(0, 30),
        250,
    ),
)
VARIED = (2.0, 50.0)
"""Other tau0 than 10, for known attention with fixed relevance at the largest n."""
SOUGHT = by(0, 60)
SOUGHT_STEPS = 400
"""A search by the gradient's norm converges more slowly than descent."""
UNBOUND = by(0, 20)
"""Starts without a ridge."""


class Landscape(Experiment):
    """Starts trained to stationarity, with attention and without, against n."""

    name = "landscape"
    title = "Are all stationary points good ones?"
    source = "P2 1, 3"
    decides_at = ("reduced", "paper")

    def asked(self, order: Order) -> list[tuple[Setting, int]]:
        settings = []
        for place in places(order.preset):
            starts = place.starts if order.seeds is None else min(place.starts, order.seeds)
            settings += [(place.setting(starts), 0)] if starts else []
        return settings

    # --- measures

    def measure(self, runs: Runs) -> None:
        self.points: list[dict[str, Any]] = []
        for place in places(self.order.preset):
            for outcome in runs[place.name]:
                row, starts = outcome.run.rows[-1], outcome.spec.model.starts  # type: ignore[union-attr]
                for k in range(starts):
                    point = {
                        name: row[f"{name}_{k}"] for name in ("test", "train", "gradient", "lowest", "highest", "trace")
                    }
                    arrived = point["gradient"] <= STATIONARY
                    kind = "none" if not arrived else "saddle" if point["lowest"] < SADDLE else "minimum"
                    self.points.append({**place.columns(), "start": k, **point, "point": kind})

    def at(
        self, scene: str, network: str, *, way: str = "descent", kinds: Sequence[str] = ("minimum", "saddle")
    ) -> list[Mapping[str, Any]]:
        """Points of a scene at the largest n, with the ridge and tau0 of the claims."""
        found = [
            point
            for point in self.record.rows("points")
            if (point["scene"], point["network"], point["way"]) == (scene, network, way)
            and (point["tau0"], point["ridge"]) == (NEWTON.tau0, NEWTON.ridge)
        ]
        size = max((point["n"] for point in found), default=0)
        return [point for point in found if point["n"] == size and point["point"] in kinds]

    # --- rules

    @claim("stationary-points-good", reads=("points",))
    def every_stationary_point_is_good(self) -> Iterator[Part]:
        """The effect is the share of stationary points that predict well."""
        for scene in SCENES:
            yield self._all_good(scene.name, self.at(scene.name, "attention"), "stationary points")
        sought = self.at(FIXED, "attention", way="sought")
        yield self._all_good(f"{FIXED}, saddles sought", sought, "stationary points")

    @claim("local-minima-good", reads=("points",))
    def every_minimum_is_good(self) -> Iterator[Part]:
        for scene in SCENES:
            yield self._all_good(scene.name, self.at(scene.name, "attention", kinds=("minimum",)), "minima")

    @claim("attention-minima-better", reads=("points",))
    def attention_has_better_minima(self) -> Iterator[Part]:
        """The effect is the difference in mean log error."""
        for scene in SCENES:
            ours, others = (
                [float(np.log(point["test"])) for point in self.at(scene.name, network, kinds=("minimum",))]
                for network in ("attention", "baseline")
            )
            if min(len(ours), len(others)) < LEAST:
                yield missing(scene.name, "starts", f"{len(ours)} and {len(others)} minima; {LEAST} are needed.")
                continue
            interval, effect = bootstrap_difference(others, ours), float(np.mean(others) - np.mean(ours))
            detail = f"Minima without attention have {np.exp(effect):.1f} times the error of those with it."
            yield Part(scene.name, higher(interval, 0.0), effect, interval, "starts", detail)

    @staticmethod
    def _all_good(name: str, points: Sequence[Mapping[str, Any]], what: str) -> Part:
        good, n = sum(point["test"] <= GOOD for point in points), len(points)
        if not n:
            return missing(name, "starts")
        verdict: Verdict = "fails" if good < n else "holds" if n >= LEAST else "undecided"
        worst = max(point["test"] for point in points)
        detail = f"{good} of {n} {what} predict well; the worst error is {worst:.3f} of the variance."
        return Part(name, verdict, good / n, wilson(good, n), "starts", detail)

    # --- tables, figures, words

    def tables(self) -> Mapping[str, Table]:
        groups: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
        for point in self.points:
            groups.setdefault(tuple(point[key] for key in COLUMNS), []).append(point)
        return {"summary": [summarised(key, group) for key, group in groups.items()], "points": self.points}

    def run_tables(self) -> dict[str, Table]:
        return {"runs": [self.run_row(outcome) for outcome in self.runs.all()]}

    def run_row(self, outcome: Outcome) -> dict[str, Any]:
        return {"setting": outcome.setting, "run": outcome.run.id, "last_step": outcome.run.step}

    def seeds(self) -> dict[str, list[int]]:
        return {"starts": list(range(1 + max((point["start"] for point in self.points), default=-1)))}

    def figures(self) -> Figures:
        shown = [
            point for point in self.points
            if point["way"] == "descent"
            and (point["tau0"], point["ridge"]) == (NEWTON.tau0, NEWTON.ridge)
            and point["point"] != "none"
        ]  # fmt: skip
        return {"errors": scattered(shown)}

    def summary(self) -> str:
        return " ".join(map(in_words, self.tables()["summary"]))

    def notes(self) -> list[str]:
        return [
            "Sizes, teachers, noise and the ridge are ours: P2's assumptions and experiments could not be had. The "
            "preset paper is therefore the same as reduced.",
            f"Stationary: a gradient norm of at most {STATIONARY:g}. The objective is half the mean squared error plus "
            f"{NEWTON.ridge:g} / 2 times the squared norm of all parameters. Starts that miss it are counted.",
            "Features that the known f shuts out are no part of the network.",
            "sought: steps go down the gradient's norm instead of the loss, so they end at saddles as well.",
        ]


COLUMNS = ("scene", "network", "way", "n", "tau0", "ridge")


@dataclass(frozen=True)
class Place:
    """One run: a scene with attention or without, at one n."""

    scene: Scene
    network: str
    n: int
    starts: int
    way: str = "descent"
    tau0: float = 10.0
    ridge: float = 1e-3
    noise: float = 0.3

    @property
    def name(self) -> str:
        return ", ".join(
            f"{key} {value}" if key not in ("scene", "network", "way") else str(value)
            for key, value in self.columns().items()
        )

    def columns(self) -> dict[str, Any]:
        """What tells it from others, as columns of a table."""
        return {
            "scene": self.scene.name,
            "network": self.network,
            "way": self.way,
            "n": self.n,
            "tau0": self.tau0,
            "ridge": self.ridge,
        }

    def setting(self, starts: int) -> Setting:
        """Its run; it is measured once, at the end."""
        model = self.scene.model if self.network == "attention" else student(network="baseline")
        changes = {
            "starts": starts,
            "tau0": self.tau0,
            "ridge": self.ridge,
            "steps": "newton" if self.way == "descent" else "saddle",
        }
        teacher = self.scene.teacher.model_copy(update={"samples": self.n, "tau0": self.tau0, "noise": self.noise})

        def spec(seed: int) -> RunSpec:
            return RunSpec(
                task=teacher, model=model.model_copy(update=changes), optimiser=SgdSpec(learning_rate=1.0), batch=None,
                init_seed=seed, data_seed=seed,
            )  # fmt: skip

        steps = self.scene.steps if self.way == "descent" else SOUGHT_STEPS
        return Setting(
            self.name,
            spec,
            {"quick": 1, "reduced": 1, "paper": 1},
            Schedule(steps=steps, evaluations=(steps,), checkpoint_every=20),
        )


def places(preset: Preset) -> list[Place]:
    """All runs of a preset: scenes against n, tau0 varied, saddles sought, no ridge."""
    every = []
    for scene in SCENES:
        sizes = scene.sizes if preset != "quick" else scene.sizes[1:2]
        for n in sizes:
            every += [Place(scene, network, n, scene.starts[preset]) for network in ("attention", "baseline")]
    first, largest = SCENES[0], SCENES[0].sizes[-1]
    for tau0 in VARIED:
        every += [Place(first, network, largest, SOUGHT[preset], tau0=tau0) for network in ("attention", "baseline")]
    every += [Place(first, "attention", largest, SOUGHT[preset], way="sought")]
    every += [
        Place(first, network, largest, UNBOUND[preset], ridge=0.0, way="descent")
        for network in ("attention", "baseline")
    ]
    return [place for place in every if place.starts]


def summarised(key: tuple[Any, ...], points: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """How many starts arrive, where, and how good the points are."""
    there = [point for point in points if point["point"] != "none"]
    errors = np.array([point["test"] for point in there])
    return {
        **dict(zip(COLUMNS, key, strict=True)),
        "starts": len(points),
        "arrived": len(there),
        "saddles": sum(point["point"] == "saddle" for point in there),
        "good": int((errors <= GOOD).sum()),
        "best": float(errors.min()) if len(there) else None,
        "median": float(np.median(errors)) if len(there) else None,
        "worst": float(errors.max()) if len(there) else None,
        "highest_eigenvalue": float(np.median([point["highest"] for point in there])) if there else None,
    }


def in_words(row: Mapping[str, Any]) -> str:
    """A line of the summary as a sentence."""
    ridge = "" if row["ridge"] else ", no ridge"
    where = f"{row['scene']}, {row['network']}, n = {row['n']} ({row['way']}, tau0 = {row['tau0']:g}{ridge})"
    good = f"; median error {row['median']:.3f}, worst {row['worst']:.3f}" if row["arrived"] else ""
    return f"{where}: {row['arrived']} of {row['starts']} starts arrive, {row['saddles']} of them at saddles{good}."


def scattered(points: Table) -> alt.TopLevelMixin:
    """Every point's test error against n, with attention and without, a panel for each scene."""
    order = list(dict.fromkeys(point["scene"] for point in points))
    rows = [{key: point[key] for key in ("scene", "network", "n", "test", "point", "lowest")} for point in points]
    ticks = alt.Chart().mark_tick(thickness=1.5, size=22, opacity=0.6).encode(
        x=alt.X("n:O", title="samples n"),
        xOffset="network:N",
        y=alt.Y("test:Q", title="test error", scale=alt.Scale(type="log")),
        color=hue("network"),
        tooltip=["point:N", rounded("test", ".4f"), rounded("lowest", ".2g")],
    )  # fmt: skip
    mark = alt.Chart().mark_rule(strokeDash=[4, 3], color=INK).encode(y=alt.datum(GOOD))
    chart: alt.TopLevelMixin = (
        alt.layer(ticks, mark, data=inline(rows))
        .properties(width=190, height=200)
        .facet(facet=alt.Facet("scene:N", title=None, sort=order), columns=4)
        .properties(title=titled("Every stationary point reached"))
    )
    return chart

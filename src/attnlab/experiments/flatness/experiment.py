"""Flatness: are the minima that attention models reach flatter, and their predictions more robust? Ours, after P2 4.

Read at the stationary points of landscape, whose runs it shares.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import altair as alt
import numpy as np
import torch

from attnlab.experiments.landscape.experiment import SCENES, Place
from attnlab.families.registry import build_problem
from attnlab.families.teacher.newton import STATIONARY, NewtonProblem
from attnlab.lab.claims import Part, Preset
from attnlab.lab.experiment import Experiment, Figures, Order, Setting, Table, claim
from attnlab.lab.outcomes import Outcome, Runs
from attnlab.lab.rules import LEAST, higher, missing
from attnlab.pages.charts import seed_dots
from attnlab.seeds import torch_generator
from attnlab.stats.bootstrap import bootstrap_difference, bootstrap_interval

# --- settings

SIZES = (0.01, 0.05)
"""Perturbations, as a share of the norm of all parameters."""
DIRECTIONS = 20
FEATURE_NOISE = (0.1, 0.3)
NOISY_LABELS = 0.6
"""Twice the noise of landscape's samples."""
NOISY_STARTS: dict[Preset, int] = {"quick": 0, "reduced": 40, "paper": 40}
NETWORKS = ("attention", "baseline")
CHOSEN = (SCENES[0], SCENES[2])


class Flatness(Experiment):
    """Perturbations of parameters, labels and features at stationary points."""

    name = "flatness"
    title = "Are the minima of attention models flatter?"
    source = "ours, after P2 4"
    decides_at = ("reduced", "paper")

    def asked(self, order: Order) -> list[tuple[Setting, int]]:
        settings = []
        for place in places(order.preset):
            starts = place.starts if order.seeds is None else min(place.starts, order.seeds)
            settings += [(place.setting(starts), 0)] if starts else []
        return settings

    # --- measures

    def measure(self, runs: Runs) -> None:
        self.points = [
            {"scene": place.scene.name, "network": place.network, "label_noise": place.noise, **row}
            for place in places(self.order.preset)
            for outcome in runs[place.name]
            if outcome.spec is not None and outcome.spec.task.noise == place.noise  # type: ignore[attr-defined]
            for row in measured(outcome)
        ]

    # --- rules

    @claim("attention-minima-flatter", reads=("points",))
    def flatter(self) -> Iterator[Part]:
        """The effect is the difference in mean log increase."""
        for scene in CHOSEN:
            ours, others = (
                [
                    float(np.log(row["random_0.05"]))
                    for row in self.record.rows("points", scene=scene.name, network=network, label_noise=0.3)
                    if row["random_0.05"] > 0
                ]
                for network in NETWORKS
            )
            if min(len(ours), len(others)) < LEAST:
                yield missing(scene.name, "starts", f"{len(ours)} and {len(others)} points; {LEAST} are needed.")
                continue
            interval, effect = bootstrap_difference(others, ours), float(np.mean(others) - np.mean(ours))
            detail = f"{scene.name}: the loss rises {np.exp(effect):.1f} times as much without attention."
            yield Part(scene.name, higher(interval, 0.0), effect, interval, "starts", detail)

    # --- tables, figures, words

    def tables(self) -> Mapping[str, Table]:
        groups: dict[Any, list[Mapping[str, Any]]] = {}
        for row in self.points:
            groups.setdefault((row["scene"], row["network"], row["label_noise"]), []).append(row)
        table = []
        for (scene, network, noise), rows in groups.items():
            line: dict[str, Any] = {"scene": scene, "network": network, "label_noise": noise, "points": len(rows)}
            for name in rows[0]:
                if name not in ("scene", "network", "label_noise", "start"):
                    values = [row[name] for row in rows]
                    low, high = bootstrap_interval(values) or (None, None)
                    line |= {name: float(np.mean(values)), f"{name}_low": low, f"{name}_high": high}
            table.append(line)
        return {"flatness": table, "points": self.points}

    def run_tables(self) -> dict[str, Table]:
        return {"runs": [self.run_row(outcome) for outcome in self.runs.all()]}

    def run_row(self, outcome: Outcome) -> dict[str, Any]:
        return {"setting": outcome.setting, "run": outcome.run.id, "last_step": outcome.run.step}

    def seeds(self) -> dict[str, list[int]]:
        return {"starts": list(range(1 + max((row["start"] for row in self.points), default=-1)))}

    def figures(self) -> Figures:
        rows = [
            {"setting": f"{row['scene']}, {how}", "network": row["network"], "increase": row[f"{how}_0.05"]}
            for row in self.points
            if row["label_noise"] == 0.3
            for how in ("random", "adversarial")
            if row[f"{how}_0.05"] > 0
        ]
        x = alt.X("increase:Q", title="loss increase", scale=alt.Scale(type="log"))
        order = list(dict.fromkeys(row["setting"] for row in rows))
        title = "Loss increase when parameters move by 5 %"
        return {"increase": seed_dots(rows, x=x, colour="network", title=title, height=180, order=order)}

    def notes(self) -> list[str]:
        return [
            "All of it is ours: P2's section 4 could not be had.",
            "Only starts that have arrived are measured; how many do is in landscape.",
            f"Random: the mean over {DIRECTIONS} directions. Adversarial: the worse of both ways along the eigenvector "
            "of the largest eigenvalue.",
        ]


def places(preset: Preset) -> list[Place]:
    """Runs of landscape at its largest n (`quick`: those it has), and some on noisier labels."""
    every = []
    for scene in CHOSEN:
        n = scene.sizes[-1] if preset != "quick" else scene.sizes[1]
        every += [Place(scene, network, n, scene.starts[preset]) for network in NETWORKS]
    first = CHOSEN[0]
    for network in NETWORKS:
        every.append(Place(first, network, first.sizes[-1], NOISY_STARTS[preset], noise=NOISY_LABELS))
    return [place for place in every if place.starts]


@torch.no_grad()
def measured(outcome: Outcome) -> Iterator[dict[str, Any]]:
    """What happens at each start that has arrived when its parameters, or its inputs, are disturbed."""
    assert outcome.spec is not None
    problem = build_problem(outcome.spec)
    assert isinstance(problem, NewtonProblem)
    outcome.load_into(problem.model)
    flat, row = problem.flat(), outcome.run.rows[-1]
    noisy = {noise: problem.disturbed(noise) for noise in FEATURE_NOISE}
    for start in range(problem.together):
        if row[f"gradient_{start}"] > STATIONARY:
            continue
        here, which = flat[start : start + 1], torch.tensor([start])
        at = problem.derivatives(here, which, hessian=True)
        assert at.hessian is not None
        steep = problem.full(torch.linalg.eigh(at.hessian)[1][:, :, -1])
        norm = problem.in_use(here).norm()
        measures: dict[str, Any] = {"start": start}
        generator = torch_generator(start, "directions")
        used = problem.in_use(here).shape[1]
        for size in SIZES:
            drawn = torch.randn(DIRECTIONS, used, generator=generator, dtype=torch.float64)
            moves = problem.full(size * norm * drawn / drawn.norm(dim=1, keepdim=True))
            measures[f"random_{size}"] = float((_losses(problem, here + moves, which) - at.loss).mean())
            both = torch.cat([here + size * norm * steep, here - size * norm * steep])
            measures[f"adversarial_{size}"] = float((_losses(problem, both, which) - at.loss).max())
        measures |= {name: row[f"{name}_{start}"] for name in ("test", "highest", "trace")}
        yield measures | {f"test_noise_{noise}": float(errors[start]) for noise, errors in noisy.items()}


def _losses(problem: NewtonProblem, rows: torch.Tensor, which: torch.Tensor) -> torch.Tensor:
    return problem.derivatives(rows, which.expand(len(rows)), hessian=False).loss

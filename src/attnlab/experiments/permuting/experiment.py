"""Permuting (P3 6.2): lexical knowledge is the same, but attention that must jump is not learned.

Copying 40 of 60 words, and the same with the output in another order: output t is input pi(t). Under uniform attention
the bag of words is all there is, so the probe beta_uf cannot mind the order. Attention does.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import altair as alt
import numpy as np

from attnlab.experiments.copying import experiment as copying
from attnlab.experiments.permuting.figures import distance_figure, position_figure, uniform_figure
from attnlab.experiments.permuting.positions import SEQUENCES, Positions, measure_positions
from attnlab.experiments.permuting.rules import across_orders, by_position, correlations, same_probe
from attnlab.families.copying.spec import CopyingSpec, Seq2SeqSpec
from attnlab.families.copying.task import random_permutation
from attnlab.lab.claims import Finding, Preset
from attnlab.lab.experiment import Experiment, Order, Result, Table
from attnlab.lab.rates import at_end, rate_table, run_row, tell_rates
from attnlab.lab.smaller import undecided
from attnlab.lab.success import (
    EVERY,
    LEARNED,
    Outcome,
    always,
    by_setting,
    curve_table,
    never,
    two_curves,
)
from attnlab.pages.charts import COLOURS, CONTRAST, curves, panels
from attnlab.runs.engine import Job
from attnlab.runs.loop import Trained
from attnlab.runs.schedule import Schedule
from attnlab.runs.spec import RunSpec
from attnlab.seeds import numpy_generator

LENGTH = 40
STEPS: dict[Preset, int] = {"quick": 50, "reduced": 300, "paper": 300}
"""Updates within which a run must have learned."""
UNIFORM_STEPS: dict[Preset, int] = {"quick": 10, "reduced": 60, "paper": 60}
UNIFORM_SEEDS: dict[Preset, int] = {"quick": 1, "reduced": 10, "paper": 20}
RUNS_PER_ORDER = 2
"""Seeds that share a random order."""
FIRST_RANDOM = 100
"""The seed of the first random order; those of substitutions begin at 0."""

Indices = tuple[int, ...]


@dataclass(frozen=True)
class Kind:
    """A kind of order: its name, the order pi that a seed's run has, how many seeds each preset runs.

    ``order``: output t is input pi(t); None is the identity, plain copying. ``ends_when_learned``: whether runs do.
    """

    name: str
    order: Callable[[int], Indices | None]
    seeds: dict[Preset, int]
    ends_when_learned: bool = True

    def distance(self, seed: int) -> float:
        """Mean |pi(t) - t|."""
        pi = self.order(seed)
        return 0.0 if pi is None else float(np.abs(np.array(pi) - np.arange(LENGTH)).mean())


def shifted(by: int) -> Indices:
    """Output t is input t + ``by``; the last outputs are the first inputs."""
    return tuple((t + by) % LENGTH for t in range(LENGTH))


def shuffled_blocks(size: int, seed: int) -> Indices:
    """Blocks of ``size`` positions, the order inside each random and fixed by ``seed``."""
    rng = numpy_generator(seed, "blocks", size)
    blocks = np.arange(LENGTH).reshape(-1, size)
    return tuple(int(position) for position in rng.permuted(blocks, axis=1).ravel())


def random_order(seed: int) -> Indices:
    """The random order that a seed's run has; two seeds share each."""
    return random_permutation(LENGTH, FIRST_RANDOM + seed // RUNS_PER_ORDER)


_FEW: dict[Preset, int] = {"quick": 0, "reduced": 3, "paper": 8}

COPYING = Kind("copying", lambda _: None, {"quick": 1, "reduced": 20, "paper": 20})
BLOCKS = Kind("blocks of 5 shuffled", lambda seed: shuffled_blocks(5, seed), _FEW)
SHIFT = Kind("shifted by 1", lambda _: shifted(1), {**_FEW, "quick": 1})
FURTHER = Kind("shifted by 5", lambda _: shifted(5), _FEW)
RANDOM = Kind("random order", random_order, {"quick": 1, "reduced": 10, "paper": 20}, ends_when_learned=False)
REVERSAL = Kind("reversed", lambda _: tuple(reversed(range(LENGTH))), _FEW)
KINDS = (COPYING, BLOCKS, SHIFT, FURTHER, RANDOM, REVERSAL)
UNIFORM = (COPYING, RANDOM)
"""Kinds that are trained with uniform attention too."""


class Permuting(Experiment):
    """Fixed orders of positions, from the identity to random ones."""

    name = "permuting"
    title = "The same knowledge, another order: attention that must jump"
    source = "P3 6.2"

    def jobs(self, order: Order) -> list[Job]:
        learned = [make_job(kind, seed, order.preset) for kind in KINDS for seed in seeds_of(kind, order)]
        uniform = [make_uniform_job(kind, seed, order.preset) for kind in UNIFORM for seed in uniform_seeds(order)]
        return learned + uniform

    def analyse(self, order: Order, done: Mapping[str, Trained]) -> Result:
        within = STEPS[order.preset]
        outcomes = [
            Outcome(kind.name, seed, done[make_spec(kind, seed).id]) for kind in KINDS for seed in seeds_of(kind, order)
        ]
        uniform = [
            Outcome(kind.name, seed, done[make_spec(kind, seed, uniform=True).id])
            for kind in UNIFORM
            for seed in uniform_seeds(order)
        ]
        positions = {
            seed: measure_positions(make_spec(RANDOM, seed), done[make_spec(RANDOM, seed).id])
            for seed in seeds_of(RANDOM, order)
        }
        groups = by_setting(outcomes)
        success = [
            {
                **row,
                "one_after_at_end": at_end(groups[row["setting"]], "attention_one_after"),
                "distance": mean_distance(row["setting"], order),
            }
            for row in rate_table(outcomes, within)
        ]
        by_distance = correlations(positions)
        findings = decide(outcomes, uniform, positions, within)
        return Result(
            summary=tell(success, within, findings),
            tables={
                "success": success,
                "runs": [{**run_row(one, within), "distance": distance_of(one)} for one in outcomes],
                "curves": curve_table(outcomes),
                "uniform": curve_table(uniform),
                "positions": position_table(positions),
                "position_correlations": by_distance,
            },
            figures=figures(outcomes, uniform, positions, within),
            findings=undecided(findings) if order.preset == "quick" else findings,
            notes=notes(order),
            seeds={
                **{kind.name: seeds_of(kind, order) for kind in KINDS if seeds_of(kind, order)},
                "uniform attention": uniform_seeds(order),
            },
        )


def seeds_of(kind: Kind, order: Order) -> list[int]:
    """The seeds of a kind that are asked for."""
    return order.first(range(kind.seeds[order.preset]))


def uniform_seeds(order: Order) -> list[int]:
    """The seeds of the runs with uniform attention that are asked for."""
    return order.first(range(UNIFORM_SEEDS[order.preset]))


def make_spec(kind: Kind, seed: int, *, uniform: bool = False) -> RunSpec:
    """P3's network on 40 of 60 words in the order that the seed has; plain copying is the experiment copying's own."""
    task = CopyingSpec(distribution=copying.SELECTIONS.task.distribution, order=kind.order(seed))
    model = Seq2SeqSpec(attention="uniform") if uniform else Seq2SeqSpec()
    return RunSpec(task=task, model=model, init_seed=seed, data_seed=seed)


def make_job(kind: Kind, seed: int, preset: Preset) -> Job:
    """One run; those on random orders go on to the end, since their positions are compared there."""
    stop = LEARNED if kind.ends_when_learned else None
    return Job(
        f"{kind.name}, seed {seed}", make_spec(kind, seed), Schedule.every(EVERY, steps=STEPS[preset], stop_at=stop)
    )


def make_uniform_job(kind: Kind, seed: int, preset: Preset) -> Job:
    """One run with uniform attention."""
    spec = make_spec(kind, seed, uniform=True)
    return Job(f"{kind.name}, uniform, seed {seed}", spec, Schedule.every(EVERY, steps=UNIFORM_STEPS[preset]))


# --- tables


def distance_of(outcome: Outcome) -> float:
    """Mean |pi(t) - t| of the order that a run had."""
    kind = next(kind for kind in KINDS if kind.name == outcome.setting)
    return kind.distance(outcome.seed)


def mean_distance(name: str, order: Order) -> float:
    """Of a kind's runs, the mean distance."""
    kind = next(kind for kind in KINDS if kind.name == name)
    return float(np.mean([kind.distance(seed) for seed in seeds_of(kind, order)]))


def position_table(positions: Mapping[int, Positions]) -> Table:
    """A row for each output position of each run on a random order, both counted from 1."""
    return [
        {
            "order": seed // RUNS_PER_ORDER + 1,
            "seed": seed,
            "step": one.step,
            "output": t + 1,
            "input": int(one.right[t]) + 1,
            "distance": int(one.distance[t]),
            "accuracy": float(one.accuracy[t]),
            "attention": float(one.attention[t]),
            "lift": float(one.lift[t]),
        }
        for seed, one in positions.items()
        for t in range(len(one.right))
    ]


def tell(success: Table, within: int, findings: Sequence[Finding]) -> str:
    """The result in plain words."""
    told = [
        part.detail for finding in findings for part in finding.parts if part.name not in (COPYING.name, RANDOM.name)
    ]
    return " ".join([tell_rates(success, within), *told])


def notes(order: Order) -> tuple[str, ...]:
    """What a reader should know about how it was run."""
    told = [
        "Plain copying is 40 of 60 of the experiment copying, and shares its runs.",
        f"Every random order is run with {RUNS_PER_ORDER} seeds. A shift goes round: the last outputs are the first "
        "inputs. Blocks are shuffled anew for every seed.",
        "Runs on random orders go on to the end; all others end once they have learned.",
        f"Positions are measured on {SEQUENCES} fresh sequences with the weights of the end, without the end symbol.",
    ]
    if order.preset == "quick":
        told.append(
            "quick: one run of copying, of a shift by 1 and of a random order, 50 updates instead of 300; uniform "
            "attention for 10 updates."
        )
    if order.preset == "reduced":
        told.append(
            "reduced: 10 runs on 5 random orders instead of 20 on 10, three seeds of the other orders instead of "
            "eight, ten seeds with uniform attention instead of 20."
        )
    return tuple(told)


# --- claims


def decide(
    outcomes: Sequence[Outcome], uniform: Sequence[Outcome], positions: Mapping[int, Positions], within: int
) -> tuple[Finding, ...]:
    """The verdicts; `claims.toml` says the rules in words."""
    groups, probes = by_setting(outcomes), by_setting(uniform)
    plain, moved = (probes.get(kind.name, []) for kind in UNIFORM)
    of_order: dict[int, list[Positions]] = {}
    for seed, one in positions.items():
        of_order.setdefault(seed // RUNS_PER_ORDER, []).append(one)
    return (
        Finding(
            "permuting-fails",
            (
                always(COPYING.name, groups.get(COPYING.name, []), within),
                never(RANDOM.name, groups.get(RANDOM.name, []), within),
                same_probe(plain, moved),
            ),
        ),
        Finding(
            "lstm-monotonic-bias",
            (
                across_orders([(one, distance_of(one)) for one in outcomes], [kind.name for kind in KINDS], within),
                by_position(list(of_order.values())),
            ),
        ),
    )


# --- figures


def figures(
    outcomes: Sequence[Outcome], uniform: Sequence[Outcome], positions: Mapping[int, Positions], within: int
) -> dict[str, alt.TopLevelMixin]:
    """Curves of all runs, the same knowledge under uniform attention, and learning against distance."""
    steps = [(one, distance_of(one)) for one in outcomes]
    return {
        **order_figures(outcomes),
        "uniform": uniform_figure(uniform),
        "distance": distance_figure(steps, within),
        "positions": position_figure(position_table(positions)),
    }


def order_figures(outcomes: Sequence[Outcome]) -> dict[str, alt.TopLevelMixin]:
    """Curves of all runs, a panel for each kind of order."""
    table = curve_table(outcomes)
    return {
        "curves": panels(
            table,
            column="setting",
            layer=curves(x="step", y="accuracy", group="seed", x_title="updates", y_title="token accuracy"),
            title="Accuracy of every run: copying, and copying in another order",
        ),
        "knowledge": two_curves(
            table,
            {
                "lexical probe": "probe_accuracy",
                "attention": "attention_accuracy",
                "attention, one after the right position": "attention_one_after",
            },
            y_title="position is the largest",
            title="Where lexical knowledge and attention point",
            colours=(CONTRAST[0], COLOURS[2], CONTRAST[1]),
        ),
    }

"""Two fields through one run, attention and the lexical probe: when each points to the right position, and how early
or late that is against the other.

Steps are read by rank, the one scale that the two share: a field has got there once the right position is its largest
in at least half of the cases. Half heights, where each is measured against its own, stand beside it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import log
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from attnlab.runs.loop import Trained

Field = Literal["probe", "attention"]
Floats = NDArray[np.float64]

FIELDS: tuple[Field, ...] = get_args(Field)
HALF = 0.5
"""Share of the cases by which a field has got there."""
ENDED = 0.9
"""Share of its highest accuracy at which a field's rise has ended."""
NEAR_UNIFORM = 0.95
"""Entropy, as a share of its largest, above which a field counts as near uniform."""


@dataclass(frozen=True, eq=False)
class Course:
    """One seed of a setting: ``steps`` (evaluations,) and, for each field, at every evaluation

    ``top``: the share of cases in which the right position is the field's largest; ``mean``: its mean value there;
    ``entropy``: as a share of the largest one, of the probe divided by its sum over positions. ``accuracy``: the
    network's. ``chance``: what ``top`` is for a field at random.
    """

    setting: str
    seed: int
    run: str
    steps: NDArray[np.int64]
    top: Mapping[Field, Floats]
    mean: Mapping[Field, Floats]
    entropy: Mapping[Field, Floats]
    accuracy: Floats
    chance: float

    def reached(self, field: Field) -> int | None:
        """The first evaluation at which the right position is the largest in at least half of the cases."""
        return self._first(self.top[field] >= HALF)

    def half_height(self, field: Field) -> int | None:
        """The first evaluation at which the mean value at the right position is half way from its start to its highest;
        None where it never exceeds its start.
        """
        values = self.mean[field]
        start, highest = values[0], values.max()
        return None if highest <= start else self._first(values >= (start + highest) / 2)

    @property
    def lead(self) -> int | None:
        """Attention's step minus the probe's; one that does not get there counts at the last evaluation, and where
        neither does there is no lead.
        """
        probe, attention = (self.reached(field) for field in FIELDS)
        if probe is None and attention is None:
            return None
        last = int(self.steps[-1])
        return (last if attention is None else attention) - (last if probe is None else probe)

    @property
    def attention_begins(self) -> int | None:
        """The evaluation behind the last one, before attention gets there, whose accuracy is at most twice chance."""
        if (reached := self.reached("attention")) is None:
            return None
        before = self.steps < reached
        low = np.flatnonzero(before & (self.top["attention"] <= 2 * self.chance))
        return int(self.steps[low[-1] + 1]) if len(low) else int(self.steps[0])

    @property
    def probe_ends(self) -> int | None:
        """The first evaluation at which the probe's accuracy is 90 % of the highest it reaches."""
        top = self.top["probe"]
        return self._first(top >= ENDED * top.max())

    @property
    def overlap(self) -> int | None:
        """The probe's end minus attention's beginning, where both fields get there."""
        if self.reached("probe") is None or self.reached("attention") is None:
            return None
        assert self.probe_ends is not None
        assert self.attention_begins is not None
        return self.probe_ends - self.attention_begins

    @property
    def leaves_uniform(self) -> int | None:
        """The first evaluation at which attention's entropy is no longer near its largest."""
        return self._first(self.entropy["attention"] <= NEAR_UNIFORM)

    @property
    def entropy_at_knowledge(self) -> float | None:
        """Attention's entropy, as a share of its largest, when the probe gets there."""
        step = self.reached("probe")
        return None if step is None else float(self.entropy["attention"][self.steps == step][0])

    def rows(self) -> list[dict[str, object]]:
        """A line for every evaluation."""
        columns = {
            f"{field}_{name}": values[field]
            for field in FIELDS
            for name, values in (("top", self.top), ("mean", self.mean), ("entropy", self.entropy))
        }
        return [
            {
                "setting": self.setting,
                "seed": self.seed,
                "step": int(step),
                "accuracy": float(self.accuracy[at]),
                **{name: float(values[at]) for name, values in columns.items()},
            }
            for at, step in enumerate(self.steps)
        ]

    def _first(self, there: NDArray[np.bool_]) -> int | None:
        return int(self.steps[there.argmax()]) if there.any() else None


def row_course(setting: str, seed: int, run: Trained, positions: int) -> Course:
    """From a run whose task knows the right position, and whose rows say it; ``positions``: those of an input."""

    def column(name: str) -> Floats:
        return np.array([row[name] for row in run.rows], dtype=np.float64)

    return Course(
        setting,
        seed,
        run.id,
        steps=column("step").astype(np.int64),
        top={field: column(f"{field}_accuracy") for field in FIELDS},
        mean={field: column(f"{field}_mean") for field in FIELDS},
        entropy={field: column(f"{field}_entropy") / log(positions) for field in FIELDS},
        accuracy=column("accuracy"),
        chance=1 / positions,
    )


def median(values: Sequence[float | None]) -> float | None:
    """Of those that are there; None of none."""
    there = [value for value in values if value is not None]
    return float(np.median(there)) if there else None

"""The hypotheses of P3 6.1 as rules, and what they are read from: one run's log-odds, early and late."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from attnlab.lab.claims import Finding, Part, Verdict
from attnlab.lab.rules import above, within
from attnlab.protocols import Row
from attnlab.runs.loop import Trained

FEWEST = 5
"""Seeds below which nothing is decided."""
MUCH, SAME = 0.2, 0.1
"""Shares of the spread: at least so much larger is ">>", at most so far apart is "="."""
HALF = 0.5
LEFT_CHANCE = 0.6
"""Accuracy above which the network is no longer guessing."""
LINEAR = 0.9
"""Share of the variance that a good linear description explains."""

QUANTITIES = {
    "keyword": "at the keyword",
    "after": "one after it",
    "mean": "mean of all positions",
    "last": "last position",
}
"""The four of P3 6.1, by the end of their column's name, and as figures call them."""


@dataclass(frozen=True)
class Relation:
    """``first`` ">>" or "=" ``second``."""

    first: str
    sign: Literal[">>", "="]
    second: str

    def __str__(self) -> str:
        return f"{self.first} {self.sign} {self.second}"


HYPOTHESIS_1 = (Relation("keyword", ">>", "mean"), Relation("mean", ">>", "last"), Relation("last", "=", "after"))
HYPOTHESIS_2 = (Relation("keyword", ">>", "after"), Relation("after", ">>", "mean"), Relation("mean", "=", "last"))
OBSERVATION_3 = (Relation("last", ">>", "after"), Relation("after", ">>", "mean"), Relation("mean", "=", "keyword"))
STATEMENTS = {"Hypothesis 1": HYPOTHESIS_1, "Hypothesis 2": HYPOTHESIS_2, "Observation 3": OBSERVATION_3}


@dataclass(frozen=True)
class Outcome:
    """One seed of one encoder."""

    encoder: str
    seed: int
    run: Trained

    @property
    def early(self) -> Row | None:
        """The first evaluation at which the keyword has the largest probe in at least half of the positive ones."""
        return next((row for row in self.run.rows if row["probe_accuracy"] >= HALF), None)

    @property
    def last(self) -> Row:
        return self.run.rows[-1]

    @property
    def turn(self) -> int | None:
        """The first evaluation from the early one on at which the last position's log-odds exceed the keyword's."""
        if (early := self.early) is None:
            return None
        behind = (row for row in self.run.rows if row["step"] >= early["step"])
        return next((int(row["step"]) for row in behind if row["gamma_last"] > row["gamma_keyword"]), None)

    @property
    def mean_state(self) -> float | None:
        """Mean share of the mean state's variance that is linear in the mean embedding, while the network guesses."""
        guessing = []
        for row in self.run.rows:
            if row["accuracy"] > LEFT_CHANCE:
                break
            guessing.append(row["mean_state"])
        return float(np.mean(guessing)) if guessing else None


def decide(outcomes: Sequence[Outcome]) -> tuple[Finding, ...]:
    """The verdicts, from runs of one direction; `claims.toml` says the rules in words."""
    early = [row for outcome in outcomes if (row := outcome.early) is not None]
    late = [outcome.last for outcome in outcomes]
    without = len(outcomes) - len(early)
    told = f" {without} of {len(outcomes)} seeds never got there and are left out." if without else ""
    return (
        Finding(
            "probe-purely-local",
            tuple(related(f"early: {relation}", relation, early, told) for relation in HYPOTHESIS_1)
            + tuple(related(f"late: {relation}", relation, late) for relation in HYPOTHESIS_1),
        ),
        Finding("probe-local-early", tuple(related(str(one), one, early, told) for one in HYPOTHESIS_2)),
        Finding("probe-nonlocal-late", tuple(related(str(one), one, late) for one in OBSERVATION_3)),
        Finding("mean-state-is-mean-embedding", (linear_image(outcomes),)),
    )


def difference(row: Row, relation: Relation) -> float:
    """Its two log-odds' difference at one evaluation, as a share of the spread of all four."""
    values = {name: row[f"gamma_{name}"] for name in QUANTITIES}
    spread = max(values.values()) - min(values.values())
    return (values[relation.first] - values[relation.second]) / spread if spread else 0.0


def related(name: str, relation: Relation, rows: Sequence[Row], told: str = "") -> Part:
    """Whether a relation holds over seeds, each with its row of one evaluation."""
    values = [difference(row, relation) for row in rows]
    detail = f"No seed.{told}"
    if values:
        first, second = (np.mean([row[f"gamma_{one}"] for row in rows]) for one in (relation.first, relation.second))
        detail = (
            f"{first:.2f} {QUANTITIES[relation.first]}, {second:.2f} {QUANTITIES[relation.second]}: "
            f"{np.mean(values):.2f} of the spread, over {len(values)} seeds.{told}"
        )
    if relation.sign == "=":
        return within(name, values, 0.0, SAME, detail, least=FEWEST)
    part = above(name, values, 0.0, detail, least=FEWEST)
    if part.interval is None or part.effect is None or len(values) < FEWEST:
        return part
    verdict: Verdict = "undecided"
    if part.interval[0] > 0 and part.effect >= MUCH:
        verdict = "holds"
    elif part.interval[1] < MUCH:
        verdict = "fails"
    return replace(part, verdict=verdict)


def linear_image(outcomes: Sequence[Outcome]) -> Part:
    """Holds if the mean state is linear in the mean embedding while the network guesses."""
    values = [share for outcome in outcomes if (share := outcome.mean_state) is not None]
    detail = ""
    if values:
        late = np.mean([outcome.last["mean_state"] for outcome in outcomes])
        detail = (
            f"{np.mean(values):.3f} of the variance is explained before accuracy exceeds {LEFT_CHANCE}, over "
            f"{len(values)} seeds; {late:.3f} at the last evaluation."
        )
    return above("one direction", values, LINEAR, detail, least=FEWEST)

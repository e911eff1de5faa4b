"""Is the late order of P3's Observation 3 there at another size, or with another optimiser? (P3 6.1, Figure 5)

The paper does not say with which size and optimiser its Figure 5 was drawn, and at those of its text classifier the
order is not there in the end (`locality`). Here it is looked for in two by two cells. Everything else is as there.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

from attnlab.experiments.locality.experiment import (
    MUCH,
    OBSERVATION_3,
    ONE,
    SAME,
    STEPS,
    difference,
    figures,
)
from attnlab.families.texts.spec import ClassifierSpec
from attnlab.lab.claims import Part, Verdict
from attnlab.lab.experiment import Experiment, Figures, Setting, Table, by_preset, claim
from attnlab.lab.outcomes import Outcome, mean
from attnlab.protocols import Row
from attnlab.runs.optimisers import AdamSpec, OptimiserSpec, SgdSpec
from attnlab.runs.spec import RunSpec
from attnlab.stats.proportions import wilson

# --- settings

HIDDEN = (64, 256)
OPTIMISERS: Mapping[str, OptimiserSpec] = {"Adam": AdamSpec(), "plain descent": SgdSpec(learning_rate=1.0)}
"""Adam as in `locality`; descent at a rate at which the task is learned to an accuracy of 0.99, tried on another seed
by its accuracy alone.
"""
SEEDS = by_preset(1, 3, 3)
LEARNED = 0.95
"""Accuracy from which a cell's network has learned the task, so that it has a late phase at all."""


def cell(hidden: int, optimiser: str) -> Setting:
    """The encoder of one direction of `locality` at another size and with another optimiser."""

    def spec(seed: int) -> RunSpec:
        usual = ONE.spec(seed)
        assert isinstance(usual.model, ClassifierSpec)
        model = usual.model.model_copy(update={"hidden": hidden})
        return usual.model_copy(update={"model": model, "optimiser": OPTIMISERS[optimiser]})

    return replace(ONE, name=f"{hidden} hidden, {optimiser}", spec=spec, seeds=SEEDS)


CELLS = {(hidden, optimiser): cell(hidden, optimiser) for optimiser, hidden in product(OPTIMISERS, HIDDEN)}


class LateOrder(Experiment):
    """Observation 3 in two by two cells, three seeds each."""

    name = "late-order"
    title = "The late order, at other sizes and with another optimiser"
    source = "P3 6.1, Figure 5"
    settings = tuple(CELLS.values())
    recalls = True

    # --- rules

    @claim("late-order-elsewhere", reads=("runs",))
    def somewhere(self) -> Part:
        """In some cell every seed ends with the order; or no run of any cell does."""
        groups = {one.name: self.record.rows("runs", setting=one.name) for one in self.settings}
        rows = [row for group in groups.values() for row in group]
        ordered = sum(row["order_at_end"] for row in rows)
        whole = [name for name, group in groups.items() if group and all(row["order_at_end"] for row in group)]
        complete = all(sum(row["accuracy_late"] > LEARNED for row in group) >= 3 for group in groups.values())
        verdict: Verdict = "undecided"
        if complete:
            verdict = "holds" if whole else "undecided" if ordered else "fails"
        passing = [row for row in rows if row["order_evaluations"]]
        detail = f"{ordered} of {len(rows)} runs end with it; {len(passing)} have it at some evaluation."
        return Part("two by two cells", verdict, ordered / len(rows), wilson(ordered, len(rows)), "seeds", detail)

    # --- tables, figures, words

    def tables(self) -> Mapping[str, Table]:
        rows = [self.run_row(one) for one in self.runs.all()]
        return {
            "cells": [cell_row(one.name, [row for row in rows if row["setting"] == one.name]) for one in CELLS.values()]
        }

    def run_tables(self) -> dict[str, Table]:
        """``curves``: what was measured at every evaluation."""
        curves = [{"setting": one.setting, "seed": one.seed, **row} for one in self.runs.all() for row in one.run.rows]
        return {"runs": [self.run_row(one) for one in self.runs.all()], "curves": curves}

    def run_row(self, outcome: Outcome) -> dict[str, Any]:
        """How far each relation goes at the last evaluation, and at which evaluations all three were there."""
        rows = outcome.run.rows
        there = [int(row["step"]) for row in rows if ordered(row)]
        line: dict[str, Any] = {"setting": outcome.setting, "seed": outcome.seed}
        line |= {relation: difference(rows[-1], relation) for relation in OBSERVATION_3}
        line |= {"order_at_end": ordered(rows[-1]), "order_evaluations": len(there), "evaluations": len(rows)}
        line |= {"order_first_step": min(there, default=None), "order_last_step": max(there, default=None)}
        return line | {"accuracy_late": rows[-1]["accuracy"], "last_step": int(rows[-1]["step"]), "run": outcome.run.id}

    def figures(self) -> Figures:
        """Figure 5 of every cell."""
        rows = [{"encoder": one.setting, "seed": one.seed, **row} for one in self.runs.all() for row in one.run.rows]
        return {"figure5": figures(rows)["figure5"]}

    def summary(self) -> str:
        return " ".join(in_words(row) for row in self.tables()["cells"])

    def notes(self) -> list[str]:
        rate = OPTIMISERS["plain descent"].learning_rate
        return [
            f"Batches, data, embeddings and evaluations are those of locality; plain descent has a rate of {rate:g}, "
            "at which the task is learned, and no momentum.",
            "Three seeds are too few for an interval over seeds of one cell: the rule counts runs.",
            *self.at_preset(
                quick=f"quick: one seed, {STEPS['quick']} updates; it decides nothing.",
                reduced=f"reduced: {STEPS['reduced']} updates instead of {STEPS['paper']}.",
            ),
        ]


# --- one run, one cell


def ordered(row: Row) -> bool:
    """Whether all three relations of Observation 3 are there at an evaluation, by the margins of `locality`."""
    far = {relation: difference(row, relation) for relation in OBSERVATION_3}
    return all(abs(value) <= SAME if " = " in relation else value >= MUCH for relation, value in far.items())


def cell_row(name: str, rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """A cell's means over its seeds."""
    line: dict[str, Any] = {"setting": name, "seeds": len(rows)}
    line |= {relation: mean(row[relation] for row in rows) for relation in OBSERVATION_3}
    line |= {"order_at_end": sum(row["order_at_end"] for row in rows)}
    line |= {"order_somewhere": sum(row["order_evaluations"] > 0 for row in rows)}
    line["order_first_step"] = min((row["order_first_step"] for row in rows if row["order_evaluations"]), default=None)
    line["order_last_step"] = max((row["order_last_step"] for row in rows if row["order_evaluations"]), default=None)
    return line | {"accuracy_late": mean(row["accuracy_late"] for row in rows), "last_step": rows[0]["last_step"]}


def in_words(row: Mapping[str, Any]) -> str:
    """A cell as a sentence."""
    last, after, mean_keyword = (row[relation] for relation in OBSERVATION_3)
    sentence = (
        f"{row['setting']}: at step {row['last_step']} the last position is {last:+.2f} of the spread above the "
        f"keyword's neighbour, that one {after:+.2f} above the mean, and the mean {mean_keyword:+.2f} above the "
        f"keyword; {row['order_at_end']} of {row['seeds']} runs end with the late order"
    )
    if row["order_somewhere"]:
        steps = f"steps {row['order_first_step']} and {row['order_last_step']}"
        return f"{sentence}, {row['order_somewhere']} have it somewhere between {steps}."
    return f"{sentence}, none has it at any evaluation."

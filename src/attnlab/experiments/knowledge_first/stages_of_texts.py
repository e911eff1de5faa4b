"""Attention and the lexical probe through a run on labelled texts, where no position is right by itself.

What a field will say in the end stands in for it: a text's right position is where the same field of the same run is
largest at its evaluation of highest validation accuracy. So each field is measured against its own end, by one rule,
and both get there in every run; which of them had settled earlier is the question. How often the probe is already at
attention's end, and attention at the probe's, is told beside it.
"""

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from scipy.special import expit

from attnlab.experiments.knowledge_first.stages import FIELDS, HALF, Course, Field
from attnlab.families.texts.problem import relative_entropy
from attnlab.fields import ScoreField
from attnlab.lab.experiment import Table
from attnlab.measures.agreement import top_agreement
from attnlab.runs.loop import Trained

TOP_ONE = 1e-3
"""A share of positions so small that of any text it is one position."""
COLUMNS: dict[Field, str] = {"probe": "gamma", "attention": "alpha"}


def text_course(setting: str, seed: int, run: Trained) -> Course:
    """The course of a classifier's run, read from the fields that its evaluations kept."""
    assert run.run is not None
    end = ending(run)
    ends = {field: _field(run.run.fields(end), field) for field in FIELDS}
    places = {field: _highest(ends[field]) for field in FIELDS}
    top, mean, entropy = ({field: np.empty(len(run.rows)) for field in FIELDS} for _ in range(3))
    for at, row in enumerate(run.rows):
        table = run.run.fields(int(row["step"]))
        for field in FIELDS:
            now = _field(table, field)
            shares = now if field == "attention" else relevance(now)
            top[field][at] = same_top(ends[field], now)
            mean[field][at] = (now.values if field == "attention" else expit(now.values))[places[field]].mean()
            entropy[field][at] = relative_entropy(shares)
    return Course(
        setting,
        seed,
        run.id,
        steps=np.array([int(row["step"]) for row in run.rows]),
        top=top,
        mean=mean,
        entropy=entropy,
        accuracy=np.array([row["accuracy"] for row in run.rows]),
        chance=float((1 / ends["attention"].lengths).mean()),
    )


def end_table(seed: int, run: Trained) -> Table:
    """How often each field's largest position is where it, or the other one, is largest in the end."""
    assert run.run is not None
    ends = {field: _field(run.run.fields(ending(run)), field) for field in FIELDS}
    table = []
    for row in run.rows:
        kept = run.run.fields(int(row["step"]))
        line: dict[str, object] = {"seed": seed, "step": int(row["step"]), "end": ending(run)}
        for field in FIELDS:
            now = _field(kept, field)
            line |= {f"{field}_at_end_of_{other}": same_top(ends[other], now) for other in FIELDS}
        table.append(line)
    return table


def lead_table(ends: Table) -> Table:
    """For each seed and each field's end the first step at which either field is there in half of the texts.

    Here both are measured against one end, so that one that goes on moving late does not look late for that.
    """
    table = []
    for seed in dict.fromkeys(row["seed"] for row in ends):
        rows = [row for row in ends if row["seed"] == seed]
        for other in FIELDS:
            line: dict[str, object] = {"seed": seed, "end_of": other}
            for field in FIELDS:
                there = (row["step"] for row in rows if row[f"{field}_at_end_of_{other}"] >= HALF)
                line[field] = next(there, None)
            table.append(line)
    return table


def ending(run: Trained) -> int:
    """The first evaluation of highest validation accuracy."""
    return int(max(run.rows, key=lambda row: row["accuracy"])["step"])


def same_top(end: ScoreField, now: ScoreField) -> float:
    """The share of texts in which both are largest at one position; positions that tie share the hit."""
    return float(top_agreement(end, now, TOP_ONE).expected.mean())


def relevance(gamma: ScoreField) -> ScoreField:
    """beta divided by its sum over a text's positions, from its log-odds."""
    beta = expit(gamma.values)
    sums = np.add.reduceat(beta, gamma.offsets[:-1])
    return ScoreField(beta / np.repeat(sums, gamma.lengths), gamma.offsets)


def _highest(field: ScoreField) -> NDArray[np.int64]:
    """Where in the flat values each text's first largest one stands: (texts,)."""
    return np.array([start + field.row(k).argmax() for k, start in enumerate(field.offsets[:-1])], dtype=np.int64)


def _field(table: pa.Table, field: Field) -> ScoreField:
    """The validation texts' part of an evaluation's fields."""
    valid = np.asarray(table["split"].combine_chunks().dictionary_decode()) == "valid"
    column = table[COLUMNS[field]].combine_chunks().filter(valid)
    offsets = np.asarray(column.offsets, dtype=np.int64)
    return ScoreField(np.asarray(column.flatten(), dtype=np.float64), offsets - offsets[0])

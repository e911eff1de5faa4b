"""What is read of each network of an audit: attention, probes, influence, leave-one-out, words taken out."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from torch import nn

from attnlab.data.batch import Bags
from attnlab.errors import AttnlabError
from attnlab.fields import ScoreField
from attnlab.files import write_atomically
from attnlab.probes.erasure import erasure, random_field
from attnlab.probes.influence import text_influence
from attnlab.probes.leave_one_out import leave_one_out
from attnlab.probes.view import View
from attnlab.runs import tables

Floats = NDArray[np.float64]
SHARE = 0.2
"""Of a text's words that are taken out."""
ERASED = ("comprehensiveness", "sufficiency", "random_comprehensiveness", "random_sufficiency")


@dataclass(frozen=True, eq=False)
class NetworkFields:
    """Of one network: ``alpha``, ``gamma`` (log-odds of beta) and ``delta`` over all texts, ``loo`` over the sample,
    ``log_probabilities`` (texts, classes), and what is lost when words are taken out, by attention and at random.
    """

    alpha: ScoreField
    gamma: ScoreField
    delta: ScoreField
    loo: ScoreField
    log_probabilities: Floats
    erased: dict[str, Floats]


def read_network(model: nn.Module, texts: Bags, sample: NDArray[np.int64], view: View | None = None) -> NetworkFields:
    """All fields of a network on ``texts``; words are left out of, and taken out of, the rows ``sample``."""
    import torch

    fields, delta = text_influence(model, texts, view)
    drawn = texts.select(torch.from_numpy(sample))
    by_attention = erasure(model, drawn, fields.alpha.select(sample), view, share=SHARE)
    at_random = erasure(model, drawn, random_field(drawn), view, share=SHARE)
    values = (
        by_attention.comprehensiveness,
        by_attention.sufficiency,
        at_random.comprehensiveness,
        at_random.sufficiency,
    )
    return NetworkFields(
        fields.alpha,
        fields.gamma,
        delta,
        leave_one_out(model, drawn, view),
        fields.log_probabilities,
        dict(zip(ERASED, values, strict=True)),
    )


def write_fields(path: Path, made: NetworkFields, sample: NDArray[np.int64], run: str, step: int) -> None:
    """Write one Parquet file, a row for each text, bound to its run and step; the same fields give the same bytes."""
    size = len(made.alpha)
    place = {int(row): number for number, row in enumerate(sample)}
    columns: dict[str, pa.Array] = {
        name: pa.array([field.row(k) for k in range(size)], pa.list_(pa.float64()))
        for name, field in (("alpha", made.alpha), ("gamma", made.gamma), ("delta", made.delta))
    }
    loo = [made.loo.row(place[k]) if k in place else None for k in range(size)]
    columns["loo"] = pa.array(loo, pa.list_(pa.float64()))
    columns["log_probabilities"] = pa.array(list(made.log_probabilities), pa.list_(pa.float64()))
    for name, values in made.erased.items():
        columns[name] = pa.array([float(values[place[k]]) if k in place else None for k in range(size)], pa.float64())
    write_atomically(path, tables.to_parquet(pa.table(columns), tables.owner(run, step)))


def stored_fields(path: Path, sample: NDArray[np.int64], run: str, step: int) -> NetworkFields | None:
    """What `write_fields` wrote for this run and step, or None where there is no such file, or not a whole one."""
    try:
        table, _ = tables.read_table(path, run, step)
        fields = {name: ScoreField.from_rows(table[name].to_pylist()) for name in ("alpha", "gamma", "delta")}
        rows = table["loo"].to_pylist()
        loo = ScoreField.from_rows([rows[k] for k in sample])
        if sum(row is not None for row in rows) != len(sample):
            return None
        log_probabilities = np.array(table["log_probabilities"].to_pylist(), dtype=np.float64)
        erased = {name: np.array(table[name].to_pylist(), dtype=np.float64)[sample] for name in ERASED}
        return NetworkFields(**fields, loo=loo, log_probabilities=log_probabilities, erased=erased)
    except (AttnlabError, KeyError, ValueError, TypeError, IndexError):
        return None

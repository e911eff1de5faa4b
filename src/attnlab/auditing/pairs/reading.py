"""What is read of each translator of an audit: attention, lexical probe, influence, and what words taken out are worth.

A field has a row for each output word of the pairs, end marks included.
"""

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from attnlab.auditing.reading import ERASED, SHARE
from attnlab.data.bitext import PieceSplit
from attnlab.errors import AttnlabError
from attnlab.families.translation.problem import ragged
from attnlab.fields import ScoreField
from attnlab.files import write_atomically
from attnlab.models.translator import Translator
from attnlab.probes.erasure import top_words
from attnlab.probes.translation import translation_fields
from attnlab.runs import tables
from attnlab.seeds import numpy_generator

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
FIELDS = ("alpha", "gamma", "delta")


@dataclass(frozen=True, eq=False)
class TranslatorFields:
    """Of one translator: ``alpha``, ``gamma`` (log beta) and ``delta`` of every output word, the likeliest word in its
    place (``predicted`` (words,)), and what the right word loses when input pieces are taken out (``erased``, by name
    (sample,)), those that attention values most and as many drawn at random.
    """

    alpha: ScoreField
    gamma: ScoreField
    delta: ScoreField
    predicted: NDArray[np.int32]
    erased: dict[str, Floats]


def sample_words(pairs: PieceSplit, most: int) -> Ints:
    """One output word of each of at most ``most`` pairs whose input has two pieces or more, as rows of a field."""
    several = np.flatnonzero(pairs.source.lengths > 1)[:most]
    outputs = pairs.target.lengths + 1
    starts = np.append(0, outputs.cumsum())[:-1]
    drawn = numpy_generator(0, "output words to take input from").random(len(several))
    return np.asarray(starts[several] + (drawn * outputs[several]).astype(np.int64))


def read_translator(model: Translator, pairs: PieceSplit, sample: Ints) -> TranslatorFields:
    """All fields of a translator on ``pairs``; input pieces are taken out for the output words ``sample``."""
    fields = translation_fields(model, pairs, influence=True)
    assert fields.delta is not None
    drawn = fields.alpha.select(sample)
    at_random = ScoreField(numpy_generator(0, "random field").random(len(drawn.values)), drawn.offsets)
    erased = [
        one
        for field in (drawn, at_random)
        for one in taken_out(model, pairs, field, fields.pair[sample], sample, fields.log_p[sample])
    ]
    return TranslatorFields(
        fields.alpha, fields.log_beta, fields.delta, fields.predicted, dict(zip(ERASED, erased, strict=True))
    )


def taken_out(
    model: Translator, pairs: PieceSplit, field: ScoreField, pair: NDArray[np.int32], sample: Ints, log_p: Floats
) -> tuple[Floats, Floats]:
    """By how much the right word's probability falls without the fifth of the input's pieces that ``field`` values most
    (comprehensiveness), and with these alone (sufficiency): (sample,) each.

    ``field``: a row for each word of the sample, marks included; marks are never taken out. ``pair``, ``log_p``
    (sample,): whose output each word is in, and its log-probability with the whole input.
    """
    chosen = pairs.select(pair.astype(np.int64))
    inner = np.ones(len(field.values), dtype=np.bool_)  # without the marks
    inner[field.offsets[:-1]] = inner[field.offsets[1:] - 1] = False
    plain = ScoreField(field.values[inner], chosen.source.offsets)
    top = top_words(plain, SHARE)
    outputs = pairs.target.lengths + 1
    place = sample - np.append(0, outputs.cumsum())[pair]  # t of each word
    rows = np.append(0, (chosen.target.lengths + 1).cumsum())[:-1] + place
    whole, lost = np.exp(log_p), []
    for kept in (~top, top):
        left = translation_fields(model, _shortened(chosen, kept)).log_p[rows]
        lost.append(whole - np.exp(left))
    return lost[0], lost[1]


def _shortened(pairs: PieceSplit, kept: NDArray[np.bool_]) -> PieceSplit:
    """The pairs with the input pieces ``kept`` (pieces,) alone."""
    source = pairs.source
    lengths = np.add.reduceat(kept, source.offsets[:-1]).astype(np.int64)
    offsets = np.append(0, lengths.cumsum()).astype(np.int64)
    return replace(pairs, source=replace(source, values=source.values[kept], offsets=offsets))


def write_fields(path: Path, made: TranslatorFields, sample: Ints, run: str, step: int) -> None:
    """Write one Parquet file, a row for each output word, bound to its run and step."""
    columns: dict[str, pa.Array] = {name: ragged(getattr(made, name)) for name in FIELDS}
    columns["predicted"] = pa.array(made.predicted)
    place = {int(row): number for number, row in enumerate(sample)}
    for name, values in made.erased.items():
        cells = [float(values[place[k]]) if k in place else None for k in range(len(made.alpha))]
        columns[name] = pa.array(cells, pa.float64())
    write_atomically(path, tables.to_parquet(pa.table(columns), tables.owner(run, step)))


def stored_fields(path: Path, sample: Ints, run: str, step: int) -> TranslatorFields | None:
    """What `write_fields` wrote for this run and step, or None where there is no such file, or not a whole one."""
    try:
        table, _ = tables.read_table(path, run, step)
        fields = {name: ScoreField.from_rows(table[name].to_pylist()) for name in FIELDS}
        predicted = np.array(table["predicted"].to_pylist(), dtype=np.int32)
        erased = {name: np.array(table[name].to_pylist(), dtype=np.float64)[sample] for name in ERASED}
        return TranslatorFields(**fields, predicted=predicted, erased=erased)
    except (AttnlabError, KeyError, ValueError, TypeError, IndexError):
        return None

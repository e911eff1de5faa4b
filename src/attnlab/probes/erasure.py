"""Words taken out by a field's order: comprehensiveness and sufficiency (DeYoung et al. 2020, ERASER).

    comprehensiveness = p(y | x) - p(y | x without its top words)        high: these words were needed
    sufficiency       = p(y | x) - p(y | its top words alone)            low: these words are enough

y is the class that the model predicts for the whole text; taking a word out shortens the text.
"""

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from attnlab.data.batch import POSITIONS, Bags
from attnlab.errors import UsageError
from attnlab.fields import ScoreField
from attnlab.probes.reading import frozen, only_texts, prepared, text_batches
from attnlab.probes.view import View, see
from attnlab.seeds import numpy_generator

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Erasure:
    """Both measures of each text, (texts,); NaN for a text of one word, which has no part to take out."""

    comprehensiveness: Floats
    sufficiency: Floats


def erasure(
    model: nn.Module,
    texts: Bags,
    field: ScoreField,
    view: View | None = None,
    *,
    share: float = 0.2,
    positions: int = POSITIONS,
) -> Erasure:
    """What is lost without the ``share`` of each text's words (at least one, not all) that ``field`` values most, and
    with these alone. Of equal values the earlier word counts as higher.

    >>> from attnlab.models.classifier import Classifier
    >>> texts = Bags(torch.tensor([1, 2, 3, 4]), torch.tensor([0, 3, 4]), torch.tensor([0, 1]))
    >>> done = erasure(Classifier(6, embedding_size=4, hidden=3), texts, ScoreField.from_rows([[3, 1, 2], [1]]))
    >>> np.isnan(done.sufficiency).tolist()
    [False, True]
    """
    view = prepared(model, texts, view)
    only_texts(texts, "Erasures")
    if not 0 < share < 1:
        raise UsageError(f"The share of words to take out lies between 0 and 1; {share} does not.")
    if len(field) != len(texts) or (field.lengths != texts.lengths.numpy()).any():
        raise UsageError("The field that words are taken out by has a value for each word of each text.")
    several = np.flatnonzero(field.lengths > 1)
    measured = {name: np.full(len(texts), np.nan) for name in ("comprehensiveness", "sufficiency")}
    if not len(several):
        return Erasure(**measured)
    chosen, kept = texts.select(torch.from_numpy(several)), field.select(several)
    top = top_words(kept, share)
    with frozen(model), torch.no_grad():
        whole = _predicted(model, chosen, view, positions)
        label = whole.argmax(1)
        for name, part in (("comprehensiveness", ~top), ("sufficiency", top)):
            left = _predicted(model, _shortened(chosen, part), view, positions)
            lost = whole.gather(1, label[:, None]) - left.gather(1, label[:, None])
            measured[name][several] = lost.squeeze(1).numpy()
    return Erasure(**measured)


def top_words(field: ScoreField, share: float) -> NDArray[np.bool_]:
    """Which words of rows of two or more are the top ``share`` of their row: at least one, not all; (words,)."""
    row = np.repeat(np.arange(len(field)), field.lengths)
    order = np.lexsort((np.arange(len(row)), -field.values, row))  # row by row, from the highest
    rank = np.empty(len(row), np.int64)
    rank[order] = np.arange(len(row)) - field.offsets[:-1][row[order]]
    count = np.clip(np.round(share * field.lengths), 1, field.lengths - 1)
    return np.asarray(rank < count[row])


def random_field(texts: Bags, seed: int = 0) -> ScoreField:
    """Values drawn at random: what taking out any words does."""
    generator = numpy_generator(seed, "random field")
    return ScoreField(generator.random(len(texts.words)), texts.offsets.numpy())


def _shortened(texts: Bags, kept: NDArray[np.bool_]) -> Bags:
    """The texts with the words ``kept`` (words,) alone."""
    there = torch.from_numpy(kept)
    lengths = torch.zeros(len(texts), dtype=torch.int64).index_add(0, texts.sentence, there.long())
    return Bags(texts.words[there], torch.cat([lengths.new_zeros(1), lengths.cumsum(0)]), texts.labels)


def _predicted(model: nn.Module, texts: Bags, view: View, positions: int) -> Tensor:
    """Probabilities (texts, classes)."""
    parts, places = [], []
    for rows, batch in text_batches(model, texts, positions):
        parts.append(see(view, model, batch).log_probabilities.double().exp().cpu())
        places.append(rows)
    return torch.cat(parts)[torch.cat(places).argsort()]

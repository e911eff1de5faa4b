"""What the proxy's table theta says about the words of a vocabulary that falls into sets of one size.

beta_px_{t,l} = theta(y_t | x_l) depends on the two words alone, so the probe is read from the table itself: over all
pairs of words, instead of over the positions of drawn sequences.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from attnlab.errors import UsageError

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class SetMeasures:
    """The probe theta(o|i) of a trained proxy, averaged over output words o.

    ``own``: at o's own word. ``same_set``: at the other words of its set. ``set_mean``: at all words of its set.
    ``other_set``: at the words of other sets, None if there is one set. ``spread_start`` and ``spread``: standard
    deviation over the words of o's set by their mean, before and after training. ``added``: the same of what training
    added, theta at the end minus theta at the start. ``reshaped``: the same of theta by its mean over the set, at the
    end minus at the start: what training did besides raising or lowering all words of a set alike. ``top``: share of
    output words whose own word has the largest theta of its set.
    """

    own: float
    same_set: float
    set_mean: float
    other_set: float | None
    spread_start: float
    spread: float
    added: float
    reshaped: float
    top: float

    @property
    def right(self) -> float:
        """How far the probe at o's own word is from its mean over the set, by that mean."""
        return self.own / self.set_mean - 1

    @property
    def separation(self) -> float | None:
        """How much higher the probe is at words of o's set than of other sets; None if there is one set."""
        return None if self.other_set is None else self.set_mean - self.other_set


def measure_sets(start: Floats, end: Floats, sets: int) -> SetMeasures:
    """Measures of theta (words, words) before and after training; words are in ``sets`` sets, one after the other."""
    words = len(end)
    if start.shape != end.shape or end.shape != (words, words) or words % sets or words < 2 * sets:
        raise UsageError(
            f"Tables over {sets} sets of words are square, of one shape, and their words fall evenly into sets of at "
            f"least two; these are {start.shape} and {end.shape}."
        )
    before, after = (_inside(table, sets) for table in (start, end))  # (sets, input words of a set, output words of it)
    mean = after.mean(1)  # (sets, output words)
    diagonal = np.diagonal(after, axis1=1, axis2=2)  # (sets, words of a set)
    size = words // sets
    largest = after == after.max(1, keepdims=True)
    hit = np.diagonal(largest, axis1=1, axis2=2) / largest.sum(1)
    elsewhere = (end.sum() - after.sum()) / (words * (words - size)) if sets > 1 else None
    return SetMeasures(
        own=float(diagonal.mean()),
        same_set=float((after.sum() - diagonal.sum()) / (words * (size - 1))),
        set_mean=float(mean.mean()),
        other_set=None if elsewhere is None else float(elsewhere),
        spread_start=float((before.std(1) / before.mean(1)).mean()),
        spread=float((after.std(1) / mean).mean()),
        added=float(((after - before).std(1) / mean).mean()),
        reshaped=float((after / mean[:, None] - before / before.mean(1, keepdims=True)).std(1).mean()),
        top=float(hit.mean()),
    )


def _inside(table: Floats, sets: int) -> Floats:
    """The blocks of the table inside the sets: (sets, size, size)."""
    size = len(table) // sets
    blocks = table.reshape(sets, size, sets, size)
    chosen = np.arange(sets)
    return blocks[chosen, :, chosen, :]

"""xi: agreements read as the performance of a model whose attention is as far along (P3 3.1)."""

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from attnlab.experiments.texts.text_agreement import Agreements
from attnlab.experiments.texts.text_runs import Floats
from attnlab.measures.xi import xi
from attnlab.seeds import numpy_generator

IN_CONTEXT = ("alpha, beta_uf", "beta_uf, beta_px", "delta, beta_uf", "alpha, beta")
"""The agreements that the paper reads so: its columns."""

RESAMPLES = 1000


class Context:
    """An agreement read as performance: ``performance`` None where no evaluation agrees more ("never").

    ``interval``: over comparison runs, with "never" counted as the best performance. A single run has none over seeds:
    its interval is over examples, which are drawn again for both agreements together, while a step's performance stays
    the one measured. None where there is a single text as well.
    """

    def __init__(self, agreements: Agreements, name: str, measured: str, best: float) -> None:
        series = agreements.series[name]
        steps = agreements.series["alpha, alpha(step)"].steps
        agree, performance = agreements.seeds_agree[measured], agreements.accuracy
        level = series.value(measured)
        found = xi(steps, agree, performance, level)
        self.performance = None if found is None else found.performance
        self.step = None if found is None else found.step
        self.read = best if found is None else found.performance
        self.over: Literal["comparison seeds", "examples"] = "comparison seeds" if len(agree) > 1 else "examples"
        self.interval: tuple[float, float] | None = None
        levels = series.at_best(measured)
        if self.over == "comparison seeds":
            generator = numpy_generator(0, "xi", name)
            drawn = generator.integers(len(agree), size=(RESAMPLES, len(agree)))
            again = [xi(steps, agree[rows], performance[rows], level) for rows in drawn]
        elif len(levels) > 1:
            texts = drawn_texts(len(levels), name)
            curves, reached = mean_of_drawn(agreements.followed(measured), texts), mean_of_drawn(levels, texts)
            again = [xi(steps, curve, performance, at) for curve, at in zip(curves, reached, strict=True)]
        else:
            return
        low, high = np.quantile([best if one is None else one.performance for one in again], [0.025, 0.975])
        self.interval = (float(low), float(high))


def drawn_texts(texts: int, name: str) -> NDArray[np.int64]:
    """How often each text is drawn in every resample: (resamples, texts)."""
    return numpy_generator(0, "xi over examples", name).multinomial(texts, np.full(texts, 1 / texts), size=RESAMPLES)


def mean_of_drawn(values: Floats, drawn: NDArray[np.int64]) -> Floats:
    """Mean over the drawn texts: ``values (..., texts)`` to (resamples, ...). What is undefined (NaN) is left out."""
    defined = ~np.isnan(values)
    weights = drawn.astype(np.float64)
    mean: Floats = (weights @ np.where(defined, values, 0).T) / (weights @ defined.T)
    return mean


def contexts_of(agreements: Agreements, measured: str, best: float) -> dict[str, Context]:
    """xi of every agreement that the paper reads so."""
    return {name: Context(agreements, name, measured, best) for name in IN_CONTEXT}

"""xi: agreements read as the performance of a model whose attention is as far along (P3 3.1)."""

import numpy as np

from attnlab.agreement.xi import xi
from attnlab.experiments.texts.text_agreement import Agreements
from attnlab.seeds import numpy_generator

IN_CONTEXT = ("alpha, beta_uf", "beta_uf, beta_px", "delta, beta_uf", "alpha, beta")
"""The agreements that the paper reads so: its columns."""

RESAMPLES = 1000


class Context:
    """An agreement read as performance: ``performance`` None where no evaluation agrees more ("never").

    ``interval``: over comparison runs, with "never" counted as the best performance; None for a single run.
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
        self.interval: tuple[float, float] | None = None
        if len(agree) > 1:
            generator = numpy_generator(0, "xi", name)
            drawn = generator.integers(len(agree), size=(RESAMPLES, len(agree)))
            read = [xi(steps, agree[rows], performance[rows], level) for rows in drawn]
            values = [best if one is None else one.performance for one in read]
            low, high = np.quantile(values, [0.025, 0.975])
            self.interval = (float(low), float(high))


def contexts_of(agreements: Agreements, measured: str, best: float) -> dict[str, Context]:
    """xi of every agreement that the paper reads so."""
    return {name: Context(agreements, name, measured, best) for name in IN_CONTEXT}

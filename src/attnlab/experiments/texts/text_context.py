"""xi: agreements read as the performance of a model whose attention is as far along (P3 3.1)."""

from typing import Literal

from attnlab.experiments.texts.text_agreement import Agreements
from attnlab.measures.xi import xi
from attnlab.stats.bootstrap import Floats, drawn_counts, drawn_rows, means_of_drawn, percentiles

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
            drawn = drawn_rows(len(agree), "xi", name, resamples=RESAMPLES)[1:]
            again = [xi(steps, agree[rows], performance[rows], level) for rows in drawn]
        elif len(levels) > 1:
            texts = drawn_texts(len(levels), name)
            curves, reached = means_of_drawn(agreements.followed(measured), texts), means_of_drawn(levels, texts)
            again = [xi(steps, curve, performance, at) for curve, at in zip(curves, reached, strict=True)]
        else:
            return
        self.interval = percentiles([best if one is None else one.performance for one in again])


def drawn_texts(texts: int, name: str) -> Floats:
    """How often each text is drawn in every resample: (resamples, texts)."""
    return drawn_counts(texts, "xi over examples", name, resamples=RESAMPLES)


def contexts_of(agreements: Agreements, measured: str, best: float) -> dict[str, Context]:
    """xi of every agreement that the paper reads so."""
    return {name: Context(agreements, name, measured, best) for name in IN_CONTEXT}

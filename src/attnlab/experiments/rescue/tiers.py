"""One remedy against another on the same failing starts: paired exact tests, the tiers they give, and their figure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import altair as alt
import numpy as np

from attnlab.families.copying.starts import FRESH_ATTENTION, FRESH_START, NO_CHANGE
from attnlab.families.copying.success import WITHIN
from attnlab.lab.experiment import Table
from attnlab.pages.charts import COLOURS, INK, headed, hue, inline
from attnlab.stats.proportions import holm, mcnemar, newcombe

FRESH_LATER = "fresh start at step 100"
"""Put together from two runs: no change up to step 100, then the fresh start's."""
CONTROLS = (NO_CHANGE, FRESH_START, FRESH_LATER)
TIERS = {
    1: "better than a fresh start",
    2: "better than no change, not told apart from a fresh start",
    3: "better than no change, worse than a fresh start",
    4: "not told apart from no change",
}
LEVEL = 0.05

Learned = Mapping[str, Sequence[bool]]
"""For each remedy and control whether each start learned in time, the starts in one order."""


@dataclass(frozen=True)
class Compared:
    """A remedy against a control, both on the same starts.

    ``difference`` of the success rates, its Newcombe ``interval``, which takes no notice of the pairing, and ``p`` of
    the paired exact test, corrected for all remedies that are compared with such a control.
    """

    against: str
    difference: float
    interval: tuple[float, float]
    p: float

    @property
    def sign(self) -> int:
        """Whether the remedy succeeds more often (1) or less often (-1) than chance explains, or neither (0)."""
        return int(np.sign(self.difference)) if self.p < LEVEL else 0


def against_no_change(learned: Learned) -> dict[str, Compared]:
    """All remedies and fresh starts against no change."""
    return _compared(learned, {name: NO_CHANGE for name in learned if name != NO_CHANGE})


def against_fresh_start(learned: Learned) -> dict[str, Compared]:
    """All remedies against a fresh start; fresh attention at step 100 against a fresh start at step 100."""
    return _compared(
        learned,
        {name: FRESH_LATER if name == FRESH_ATTENTION else FRESH_START for name in learned if name not in CONTROLS},
    )


def _compared(learned: Learned, against: Mapping[str, str]) -> dict[str, Compared]:
    p_values = holm({name: mcnemar(learned[name], learned[other]) for name, other in against.items()})
    compared = {}
    for name, other in against.items():
        ours, theirs, n = sum(learned[name]), sum(learned[other]), len(learned[name])
        compared[name] = Compared(other, (ours - theirs) / n, newcombe((ours, n), (theirs, n)), p_values[name])
    return compared


def tier(unchanged: Compared | None, fresh: Compared | None) -> int | None:
    """The tier of a remedy, or of a fresh start, from both comparisons; none for no change itself."""
    if unchanged is None:
        return None
    if unchanged.sign <= 0:
        return 4
    return 2 if fresh is None else {1: 1, 0: 2, -1: 3}[fresh.sign]


def rates(table: Table) -> alt.TopLevelMixin:
    """The share of starts that learned with each remedy, with its interval, coloured by tier.

    A ring: the share that learned and attends to the right position.
    """
    tiers = {number: f"tier {number}: {words}" for number, words in TIERS.items()}
    control = "what all are compared with"
    rows = [
        {"remedy": row["remedy"], "tier": tiers.get(row["tier"], control)}
        | {name: row[f"{name}_{WITHIN}"] for name in ("rate", "low", "high")}
        | {"attending": row[f"attending_{WITHIN}"] / row[f"starts_{WITHIN}"]}
        for row in table
    ]
    colours = [COLOURS[2], COLOURS[1], COLOURS[4], COLOURS[0], INK]
    base = alt.Chart(inline(rows)).encode(
        y=alt.Y("remedy:N", title=None, sort=[row["remedy"] for row in table], axis=alt.Axis(labelLimit=260)),
        color=hue("tier", colours, domain=[*tiers.values(), control], orient="bottom", columns=1, labelLimit=420),
    )
    x_title = f"share of the failing starts that learn within {WITHIN} updates"
    # Beyond 0 and 1 there is room for the dots there, which are the point: on the edge they would be cut.
    scale, ticks = alt.Scale(domain=[-0.04, 1.04], nice=False), alt.Axis(values=[0, 0.2, 0.4, 0.6, 0.8, 1])
    low = alt.X("low:Q", scale=scale, axis=ticks, title=x_title)
    bars = base.mark_rule(strokeWidth=2).encode(x=low, x2="high:Q")
    points = base.mark_point(filled=True, size=70).encode(x="rate:Q", tooltip=["remedy:N", "rate:Q", "low:Q", "high:Q"])
    rings = base.mark_point(filled=False, size=190, strokeWidth=1.5).encode(x="attending:Q")
    title = "What makes failing starts learn (dot, 95 % interval) and attend to the right position (ring)"
    return headed(bars + points + rings, title, width=460, height=26 * len(rows))

"""Failing starts with one remedy against another: paired exact tests, tiers, and the claims decided by them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from attnlab.experiments.rescue.remedies import (
    BATCH,
    FRESH_ATTENTION,
    FRESH_LATER,
    FRESH_START,
    HEADS,
    IBM_FEWER,
    IBM_OWN,
    NO_CHANGE,
    WARM_START,
    WARM_UP,
)
from attnlab.lab.claims import Finding, Part, Verdict
from attnlab.lab.success import ALWAYS
from attnlab.stats.multiple import holm
from attnlab.stats.rates import mcnemar, newcombe, wilson

Tier = Literal[1, 2, 3, 4]
TIERS: dict[Tier, str] = {
    1: "better than a fresh start",
    2: "better than no change, not told apart from a fresh start",
    3: "better than no change, worse than a fresh start",
    4: "not told apart from no change",
}
CONTROLS = (NO_CHANGE, FRESH_START, FRESH_LATER)
LEVEL = 0.05

Learned = Mapping[str, Sequence[bool]]
"""For each remedy and control whether each start learned within 200 updates, the starts in one order."""


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
    def better(self) -> bool:
        """Whether the remedy succeeds more often, told apart from chance."""
        return self.p < LEVEL and self.difference > 0

    @property
    def worse(self) -> bool:
        """Whether it succeeds less often, told apart from chance."""
        return self.p < LEVEL and self.difference < 0


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
    found = {}
    for name, other in against.items():
        ours, theirs, n = sum(learned[name]), sum(learned[other]), len(learned[name])
        found[name] = Compared(other, (ours - theirs) / n, newcombe((ours, n), (theirs, n)), p_values[name])
    return found


def tiers(learned: Learned) -> dict[str, Tier]:
    """The tier of each remedy, and of a fresh start; see `TIERS`. No change is what they are compared with."""
    unchanged, fresh = against_no_change(learned), against_fresh_start(learned)
    found: dict[str, Tier] = {}
    for name, compared in unchanged.items():
        if not compared.better:
            found[name] = 4
        elif name in fresh and fresh[name].better:
            found[name] = 1
        else:
            found[name] = 3 if name in fresh and fresh[name].worse else 2
    return found


# --- claims


def decide(learned: Learned) -> tuple[Finding, ...]:
    """The verdicts; `claims.toml` says the rules in words."""
    fresh = against_fresh_start(learned)
    enough = len(learned[NO_CHANGE]) >= ALWAYS
    return (
        Finding(
            "rescue-informative-data", tuple(_more(name, fresh, learned, enough) for name in (WARM_START, IBM_FEWER))
        ),
        Finding("rescue-blind-alignment", (_none(IBM_OWN, learned),)),
        Finding("rescue-more-heads", (_more(HEADS, fresh, learned, enough),)),
        Finding("rescue-optimiser", tuple(_less(name, fresh, learned, enough) for name in (BATCH, WARM_UP))),
        Finding("rescue-fresh-attention", (_less(FRESH_ATTENTION, fresh, learned, enough),)),
    )


def _more(name: str, fresh: Mapping[str, Compared], learned: Learned, enough: bool) -> Part:
    """Holds if the remedy rescues more starts than a fresh start does, by the corrected test; fails if fewer."""
    found = fresh[name]
    verdict: Verdict = "undecided"
    if enough:
        verdict = "holds" if found.better else "fails" if found.worse else "undecided"
    return _part(name, verdict, found, learned)


def _less(name: str, fresh: Mapping[str, Compared], learned: Learned, enough: bool) -> Part:
    """The other way round."""
    found = fresh[name]
    verdict: Verdict = "undecided"
    if enough:
        verdict = "holds" if found.worse else "fails" if found.better else "undecided"
    return _part(name, verdict, found, learned)


def _part(name: str, verdict: Verdict, found: Compared, learned: Learned) -> Part:
    ours, theirs = sum(learned[name]), sum(learned[found.against])
    detail = (
        f"{ours} of {len(learned[name])} starts learned, {theirs} with a {found.against} "
        f"(paired exact test, corrected: p = {found.p:.2g})."
    )
    return Part(name, verdict, found.difference, found.interval, "starts", detail)


def _none(name: str, learned: Learned) -> Part:
    """Holds if none of at least 20 starts learns; one that does refutes it."""
    count, n = sum(learned[name]), len(learned[name])
    verdict: Verdict = "fails" if count else "holds" if n >= ALWAYS else "undecided"
    return Part(name, verdict, count / n, wilson(count, n), "starts", f"{count} of {n} starts learned.")

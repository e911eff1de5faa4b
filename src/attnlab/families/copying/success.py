"""When a run on copying counts as learned."""

from collections.abc import Iterable, Mapping

LEARNED = 0.95
"""A run has learned when its token accuracy exceeds this."""
WITHIN = 200
"""... at an evaluation within so many updates."""
EVERY = 10
"""Updates between evaluations."""


def first_learned(rows: Iterable[Mapping[str, float]], within: int = WITHIN) -> int | None:
    """The first evaluated step up to ``within`` whose accuracy exceeds 0.95, or None.

    >>> first_learned([{"step": 0, "accuracy": 0.1}, {"step": 10, "accuracy": 0.99}])
    10
    """
    return next((int(row["step"]) for row in rows if row["step"] <= within and row["accuracy"] > LEARNED), None)

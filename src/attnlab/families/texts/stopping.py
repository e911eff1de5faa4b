"""When training on texts ends: once validation no longer improves."""

from collections.abc import Mapping
from math import inf
from typing import Literal

from attnlab.protocols import Row
from attnlab.records import Count, Spec


class NoImprovement(Spec):
    """Ends a run at the first evaluation that is the ``patience``-th in a row without a new lowest ``metric``.

    >>> rows = {0: {"loss": 0.7}, 10: {"loss": 0.5}, 20: {"loss": 0.6}, 30: {"loss": 0.5}, 40: {"loss": 0.4}}
    >>> NoImprovement(patience=2).stops_at(rows), NoImprovement(patience=3).stops_at(rows)
    (30, None)
    """

    kind: Literal["no-improvement"] = "no-improvement"
    metric: str = "loss"
    patience: Count = 4

    @property
    def reason(self) -> str:
        """The rest of a sentence."""
        return f"{self.metric} on the validation texts had not improved for {self.patience} evaluations"

    def stops_at(self, rows: Mapping[int, Row]) -> int | None:
        """The step at which a run with these ``rows`` ends."""
        best, waited = inf, 0
        for step in sorted(rows):
            waited = 0 if rows[step][self.metric] < best else waited + 1
            best = min(best, rows[step][self.metric])
            if waited == self.patience:
                return step
        return None

    def chance(self, rows: Mapping[int, Row], step: int) -> float | None:
        """Nothing: whether a run will succeed is not its question."""

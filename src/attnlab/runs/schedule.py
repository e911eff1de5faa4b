"""How long a run goes on and when it is measured: everything about a run that does not change its trajectory."""

from typing import Annotated, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from attnlab.errors import UsageError
from attnlab.records import Count, Record, Share

Step = Annotated[int, Field(ge=0)]
Keep = bool | Literal["best"]


class Chance(Record):
    """What guessing is on a copying task: at one of so many ``positions``, one of so many ``words``."""

    positions: Annotated[int, Field(ge=2)]
    words: Annotated[int, Field(ge=2)]


class Schedule(Record):
    """Train for ``steps`` updates, evaluate after each number of updates in ``evaluations``.

    ``stop_at``: end at the first evaluation whose accuracy exceeds it. ``checkpoint_every``: the most updates a kill
    can cost. ``keep``: keep the weights of every evaluation, or those of the ``best`` one (the first of highest
    accuracy), not only of the last two checkpoints. ``give_up``: end where
    `attnlab.families.copying.early_verdict` finds the run hopeless; what it is told is what guessing is on the task.

    >>> Schedule.every(10, steps=25).evaluations
    (0, 10, 20, 25)
    """

    steps: Step
    evaluations: tuple[Step, ...]
    stop_at: Share | None = None
    checkpoint_every: Count = 100
    keep: Keep = False
    give_up: Chance | None = None

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if list(self.evaluations) != sorted(set(self.evaluations)):
            raise ValueError("evaluations are different steps in rising order")
        if self.evaluations and self.evaluations[-1] > self.steps:
            raise ValueError(f"evaluation at step {self.evaluations[-1]} is after the last step {self.steps}")
        return self

    @classmethod
    def every(
        cls,
        interval: int,
        *,
        steps: int,
        stop_at: float | None = None,
        checkpoint_every: int = 100,
        keep: Keep = False,
        give_up: Chance | None = None,
    ) -> "Schedule":
        """Evaluate at the start, every ``interval`` steps and at the end."""
        if not isinstance(interval, int | np.integer) or interval < 1:
            raise UsageError(f"interval: evaluations are a whole number of steps apart, 1 or more, not {interval!r}.")
        return cls(
            steps=steps,
            evaluations=tuple(sorted({*range(0, steps + 1, interval), steps})),
            stop_at=stop_at,
            checkpoint_every=checkpoint_every,
            keep=keep,
            give_up=give_up,
        )

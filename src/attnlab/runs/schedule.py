"""How long a run goes on and when it is measured: everything about a run that does not change its trajectory."""

from collections.abc import Mapping
from functools import cached_property
from numbers import Integral, Real
from typing import Annotated, Any, Literal, Self

import numpy as np
from pydantic import Field, PlainValidator, model_validator

from attnlab.errors import UsageError
from attnlab.families import registry
from attnlab.own import make_own
from attnlab.protocols import Row, StopRule
from attnlab.records import Count, Record, Share, Spec

Step = Annotated[int, Field(ge=0)]
Keep = bool | Literal["best"]


MOST = 10**6
"""Evaluations of one schedule."""


class OwnStopRule(Spec):
    """A stop rule of the user's own: ``rule`` names its class as ``module:Class``, ``settings`` its arguments.

    What the class makes fulfils `attnlab.protocols.StopRule`. Worker processes import the module by its name.
    """

    kind: Literal["own"] = "own"
    rule: str
    settings: dict[str, bool | int | float | str] = {}  # noqa: RUF012 (a copy for each record)

    @model_validator(mode="after")
    def _fulfilled(self) -> Self:
        _ = self._made
        return self

    @cached_property
    def _made(self) -> StopRule:
        made: StopRule = make_own(self.rule, self.settings, "stop rule", ("reason", "stops_at", "chance"))
        return made

    @property
    def reason(self) -> str:
        return str(self._made.reason)

    def stops_at(self, rows: Mapping[int, Row]) -> int | None:
        answer: int | None = self._asked("stops_at", Integral, rows)
        return answer

    def chance(self, rows: Mapping[int, Row], step: int) -> float | None:
        answer: float | None = self._asked("chance", Real, rows, step)
        return answer

    def _asked(self, question: str, kind: type, *arguments: Any) -> Any:
        try:
            answer = getattr(self._made, question)(*arguments)
        except Exception as error:
            raise UsageError(f"{self.rule}: {question} fails ({type(error).__name__}: {error}).") from None
        if answer is not None and not isinstance(answer, kind):
            raise UsageError(f"{self.rule}: {question} answers {answer!r:.60}; a number or None is right.")
        return answer


def read_rule(value: Any) -> Any:
    """A stop rule from its record, the record's values, or the name ``module:Class`` of one of the user's own."""
    if value is None or isinstance(value, OwnStopRule):
        return value
    if isinstance(value, str):
        return OwnStopRule.model_validate({"rule": value})
    if isinstance(value, dict) and value.get("kind") == "own":
        return OwnStopRule.model_validate(value)
    return registry.read_spec("stop rule", value)


class Schedule(Record):
    """Train for ``steps`` updates, evaluate after each number of updates in ``evaluations``.

    ``stop_at``: end at the first evaluation whose accuracy exceeds it. ``checkpoint_every``: the most updates a kill
    can cost. ``keep``: keep the weights of every evaluation, or those of the ``best`` one (the first of highest
    accuracy), not only of the last two checkpoints. ``give_up``: a stop rule that may end the run earlier, a family's
    record such as `attnlab.families.copying.early_verdict.EarlyVerdict` or ``module:Class`` of the user's own.
    ``watch``: keep attention and lexical probe of one example at every evaluation, to show how they grow: ``()`` takes
    one that a synthetic task draws; elsewhere it is a text and its class, or a sentence and its translation.

    >>> Schedule.every(10, steps=25).evaluations
    (0, 10, 20, 25)
    """

    steps: Step
    evaluations: tuple[Step, ...]
    stop_at: Share | None = None
    checkpoint_every: Count = 100
    keep: Keep = False
    give_up: Annotated[StopRule | None, PlainValidator(read_rule)] = None
    watch: tuple[str, ...] | None = None

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if list(self.evaluations) != sorted(set(self.evaluations)):
            raise ValueError("evaluations are different steps in rising order")
        if self.evaluations and self.evaluations[-1] > self.steps:
            raise ValueError(f"evaluation at step {self.evaluations[-1]} is after the last step {self.steps}")
        return self

    @classmethod
    def every(cls, interval: int, *, steps: int, **settings: Any) -> "Schedule":
        """Evaluate at the start, every ``interval`` steps and at the end; ``settings``: any others of a schedule."""
        if not isinstance(interval, int | np.integer) or interval < 1:
            raise UsageError(f"interval: evaluations are a whole number of steps apart, 1 or more, not {interval!r}.")
        if isinstance(steps, int) and steps // interval > MOST:
            raise UsageError(f"steps: {steps:.4g} updates are too many to plan; {MOST * interval} at most are right.")
        return cls(steps=steps, evaluations=tuple(sorted({*range(0, steps + 1, interval), steps})), **settings)

"""One case of the campaign: a part, a seed and a number, which together decide all that is drawn for it."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from random import Random

ROOT = Path(__file__).parents[2]
FIXED = "fixed"
"""The seed of the slices that the tests run."""


@dataclass(frozen=True)
class Case:
    """``python -m tests.campaign --part PART --seed SEED --case NUMBER`` repeats it."""

    part: str
    seed: str
    number: int

    @property
    def random(self) -> Random:
        """A generator of its own: no case depends on which others are played."""
        return Random(f"{self.seed}/{self.part}/{self.number}")

    @property
    def again(self) -> str:
        """The command that repeats it."""
        return f"python -m tests.campaign --part {self.part} --seed {self.seed} --case {self.number}"


@dataclass(frozen=True)
class Outcome:
    """What was done, in words; how it was met (refused, repaired, ...); what was wrong with that, or nothing."""

    what: str
    met: str
    wrong: str = ""
    count: int = 1
    """What it counts for: a case of kills may have had several."""


Play = Callable[[Case, Path], Outcome]
"""Plays one case in an empty folder of its own."""


def patience() -> float:
    """How many seconds a case may take before it is a hang; machines differ, and some are busy."""
    return float(os.environ.get("ATTNLAB_CAMPAIGN_LIMIT", "60"))

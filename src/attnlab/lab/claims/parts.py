"""What an experiment says about a claim: parts, each with the answers of its rules, and findings made of parts."""

import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal, get_args

from pydantic import TypeAdapter, ValidationError

from attnlab.errors import UsageError

Verdict = Literal["holds", "fails", "undecided"]
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)


@dataclass(frozen=True)
class Part:
    """One scope of a claim, such as a corpus or a setting, decided by one experiment.

    ``verdict`` answers the whole rule, our margin included; ``direction`` what the text's own words ask for, and is
    None where the rule has no margin of ours. ``over`` says what the interval is over ("seeds", "examples");
    ``detail`` is a sentence with the numbers. ``runs``: how many trained runs an interval over examples is of.
    """

    name: str
    verdict: Verdict
    effect: float | None
    interval: tuple[float, float] | None
    over: str
    detail: str
    direction: Verdict | None = None
    runs: int | None = None

    def __post_init__(self) -> None:
        for verdict in (self.verdict, self.directed):
            if verdict not in VERDICTS:
                raise UsageError(f"Part {self.name!r} has no verdict {verdict!r}; verdicts are {', '.join(VERDICTS)}.")
        if self.verdict == "holds" and self.directed != "holds":
            raise UsageError(f"Part {self.name!r} holds with our margin, but not in its direction; that cannot be.")
        numbers = [] if self.effect is None else [self.effect]
        numbers += self.interval or ()
        if not all(map(math.isfinite, numbers)):
            raise UsageError(
                f"Part {self.name!r} has an effect or interval that is no finite number; use None instead."
            )
        if self.interval and self.interval[0] > self.interval[1]:
            raise UsageError(f"Part {self.name!r} has an interval {self.interval} that ends before it begins.")

    @property
    def directed(self) -> Verdict:
        """The verdict of the direction alone; the whole rule's where that has no margin of ours."""
        return self.verdict if self.direction is None else self.direction

    @property
    def one_run(self) -> bool:
        """Whether its interval is over the texts of a single run, and knows nothing of other starts."""
        return self.runs == 1


def verdict_of(parts: Iterable[Part]) -> Verdict:
    """A whole holds if all its parts hold, fails if any fails, else is undecided; without parts it is undecided."""
    return _whole({part.verdict for part in parts})


def direction_of(parts: Iterable[Part]) -> Verdict:
    """The same for the direction alone."""
    return _whole({part.directed for part in parts})


def _whole(verdicts: set[Verdict]) -> Verdict:
    if "fails" in verdicts:
        return "fails"
    return "holds" if verdicts == {"holds"} else "undecided"


@dataclass(frozen=True)
class Finding:
    """What one experiment says about one claim."""

    claim: str
    parts: tuple[Part, ...]

    @property
    def verdict(self) -> Verdict:
        """The verdict over all parts."""
        return verdict_of(self.parts)

    def undecided(self) -> "Finding":
        """The same numbers with every verdict taken back: for presets that run a smaller task than the claim's."""
        parts = [replace(part, verdict="undecided", direction=part.direction and "undecided") for part in self.parts]
        return Finding(self.claim, tuple(parts))

    def to_json(self) -> dict[str, Any]:
        """The entry of ``result.json``: ``{"claim": id, "parts": [...]}``; what a part does not have is left out."""
        return {"claim": self.claim, "parts": [part_to_json(part) for part in self.parts]}

    @classmethod
    def from_json(cls, entry: object) -> "Finding":
        """The inverse of ``to_json``; a UsageError says what is wrong with the entry."""
        try:
            return TypeAdapter(cls).validate_json(json.dumps(entry), strict=True)
        except ValidationError as error:
            raise UsageError(f"This is no finding: {first_mistake(error)}.") from None


def part_to_json(part: Part) -> dict[str, Any]:
    """A part as results and ``attnlab claims --json`` have it."""
    optional = ("direction", "runs")
    return {key: value for key, value in asdict(part).items() if key not in optional or value is not None}


def differing(parts: Sequence[Part]) -> str:
    """How many parts of a verdict have which, where they differ; "" where they do not.

    >>> differing([Part(name, verdict, None, None, "seeds", "") for name, verdict in (("a", "holds"), ("b", "fails"))])
    'of 2 parts 1 holds, 1 fails'
    """
    counts = {verdict: sum(part.verdict == verdict for part in parts) for verdict in VERDICTS}
    if sum(count > 0 for count in counts.values()) < 2:
        return ""
    plural: dict[Verdict, str] = {"holds": "hold", "fails": "fail", "undecided": "are undecided"}
    single: dict[Verdict, str] = {"holds": "holds", "fails": "fails", "undecided": "is undecided"}
    each = [f"{count} {(single if count == 1 else plural)[verdict]}" for verdict, count in counts.items() if count]
    return f"of {len(parts)} parts {', '.join(each)}"


def first_mistake(error: ValidationError) -> str:
    """Where the first mistake is and what it is."""
    first = error.errors(include_url=False)[0]
    place = ".".join(map(str, first["loc"]))
    return f"{place}: {first['msg']}" if place else first["msg"]

"""Claims of the papers: what they say, how each is decided, and how each stands.

A claim is written in the ``claims.toml`` of the experiment that decides it; those whose experiment is not built yet are
in ``awaiting.toml``, and ``order.toml`` says in which order they are listed. An experiment reports a ``Finding`` for
each of its claims in its ``result.json``; ``decide`` reads these and says how every claim stands. A claim that nothing
has been run for is undecided.
"""

import difflib
import json
import math
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

from pydantic import TypeAdapter, ValidationError

from attnlab.errors import UsageError
from attnlab.files import SEAL, fault_in_seal, read_inside

Verdict = Literal["holds", "fails", "undecided"]
Preset = Literal["quick", "reduced", "paper"]
By = Literal["paper", "ours", "neighbour"]

VERDICTS: tuple[Verdict, ...] = get_args(Verdict)
LARGEST = 64_000_000
"""Bytes of the largest file of a result that is read."""
PRESETS: tuple[Preset, ...] = get_args(Preset)  # from the weakest evidence to the strongest


@dataclass(frozen=True)
class Claim:
    """One statement, of a paper or of our own, and the rule that decides it.

    ``by``: whose it is: one of the five ``paper`` texts', ``ours``, or that of a ``neighbour``, another paper.
    ``experiments``: those that decide it, the one it is written with first.
    """

    id: str
    source: str
    statement: str
    rule: str
    experiments: tuple[str, ...]
    by: By = "paper"


@dataclass(frozen=True)
class Part:
    """One scope of a claim, such as a corpus or a setting, decided by one experiment.

    ``over`` says what the interval is over ("seeds", "examples"); ``detail`` is a sentence with the numbers.
    """

    name: str
    verdict: Verdict
    effect: float | None
    interval: tuple[float, float] | None
    over: str
    detail: str

    def __post_init__(self) -> None:
        if self.verdict not in VERDICTS:
            raise UsageError(f"Part {self.name!r} has no verdict {self.verdict!r}; verdicts are {', '.join(VERDICTS)}.")
        numbers = [] if self.effect is None else [self.effect]
        numbers += self.interval or ()
        if not all(map(math.isfinite, numbers)):
            raise UsageError(
                f"Part {self.name!r} has an effect or interval that is no finite number; use None instead."
            )
        if self.interval and self.interval[0] > self.interval[1]:
            raise UsageError(f"Part {self.name!r} has an interval {self.interval} that ends before it begins.")


def verdict_of(parts: Iterable[Part]) -> Verdict:
    """A whole holds if all its parts hold, fails if any fails, else is undecided; without parts it is undecided."""
    verdicts = {part.verdict for part in parts}
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
        return Finding(self.claim, tuple(replace(part, verdict="undecided") for part in self.parts))

    def to_json(self) -> dict[str, Any]:
        """The entry of ``result.json``: ``{"claim": id, "parts": [...]}``."""
        return {"claim": self.claim, "parts": [asdict(part) for part in self.parts]}

    @classmethod
    def from_json(cls, entry: object) -> "Finding":
        """The inverse of ``to_json``; a UsageError says what is wrong with the entry."""
        try:
            return TypeAdapter(cls).validate_json(json.dumps(entry), strict=True)
        except ValidationError as error:
            raise UsageError(f"This is no finding: {first_mistake(error)}.") from None


@dataclass(frozen=True)
class Decision:
    """A claim as it stands.

    ``effect`` and ``interval`` are those of the deciding part: the first one with the claim's own verdict, or the first
    of all where none has it. ``preset`` is the weakest one that the evidence comes from, None where there is none.
    ``rows``: the corpora it was decided on, where its experiment has a row for each.
    """

    id: str
    source: str
    statement: str
    experiment: str
    verdict: Verdict
    effect: float | None
    interval: tuple[float, float] | None
    preset: Preset | None
    parts: tuple[Part, ...]
    rows: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """The object that ``attnlab claims --json`` prints."""
        return asdict(self)


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


@cache
def load_claims() -> tuple[Claim, ...]:
    """Every claim, in the order of ``order.toml``; claims it does not name come last.

    >>> sum(claim.by == "paper" for claim in load_claims())
    71
    """
    here, experiments = resources.files(__name__), resources.files("attnlab.experiments")
    claims = list(read_claims(here.joinpath("awaiting.toml").read_text(encoding="utf-8")))
    for folder in sorted(experiments.iterdir(), key=lambda folder: folder.name):
        if (file := folder.joinpath("claims.toml")).is_file():
            claims += read_claims(file.read_text(encoding="utf-8"), folder.name.replace("_", "-"))
    for one in claims:
        if sum(other.id == one.id for other in claims) > 1:
            raise UsageError(f"Two claims have the id {one.id!r}; an id names one claim.")
    order = tomllib.loads(here.joinpath("order.toml").read_text(encoding="utf-8"))["order"]
    return tuple(sorted(claims, key=lambda one: order.index(one.id) if one.id in order else len(order)))


def read_claims(text: str, experiment: str = "") -> tuple[Claim, ...]:
    """The claims of one TOML file; ``experiment``: the one whose folder it is in, which decides them unless they say
    otherwise. No field is empty.
    """
    where = f"claims.toml of {experiment}" if experiment else "awaiting.toml"
    try:
        entries = tomllib.loads(text).get("claim", ())
        if experiment:
            entries = [{"experiments": (experiment,), **entry} for entry in entries]
        claims = TypeAdapter(tuple[Claim, ...]).validate_python(entries)
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"The {where} is not TOML: {error}.") from None
    except ValidationError as error:
        raise UsageError(f"The {where} is wrong at {first_mistake(error)}.") from None
    for claim in claims:
        for field, value in vars(claim).items():
            texts = (value,) if isinstance(value, str) else value
            if not texts or not all(text.strip() for text in texts):
                raise UsageError(f"The claim {claim.id!r} in the {where} has an empty {field}.")
    return claims


def claim(id: str) -> Claim:
    """The claim with this id.

    >>> claim("copy-k-of-n-learns").statement
    '40 of 60 is learned by every seed'
    """
    known = {known.id: known for known in load_claims()}
    if id not in known:
        close = difflib.get_close_matches(id, known)
        hint = f"close to it are {', '.join(close)}" if close else f"claims are {', '.join(known)}"
        raise UsageError(f"There is no claim {id!r}; {hint}.")
    return known[id]


@dataclass(frozen=True)
class _Result:
    """The part of ``result.json`` that decides claims; its other keys are for readers of one experiment."""

    experiment: str
    preset: Preset
    claims: tuple[Finding, ...]


# Row of an experiment ("" for an experiment without rows) -> preset -> claim id -> parts.
_Evidence: TypeAlias = dict[str, dict[Preset, dict[str, tuple[Part, ...]]]]


def decide(results_root: Path) -> list[Decision]:
    """How every claim stands after the results in ``<root>/<experiment>/<preset>[/<row>]/result.json``.

    Each row of an experiment counts at its strongest preset (paper, then reduced, then quick), and quick ones count
    only where nothing stronger speaks. Where rows speak about a claim they decide it, and the experiment's own
    ``result.json`` does not. A claim of two experiments holds only once both have spoken. A folder that does not exist
    decides nothing.
    """
    names = dict.fromkeys(name for claim in load_claims() for name in claim.experiments)
    evidence = {name: _read_experiment(results_root / name) for name in names}
    return [_decide_claim(claim, evidence) for claim in load_claims()]


def _decide_claim(claim: Claim, evidence: dict[str, _Evidence]) -> Decision:
    spoken = [list(_strongest(claim.id, evidence[name])) for name in claim.experiments]
    parts = tuple(part for parts in spoken for _, _, part in parts)
    verdict = verdict_of(parts)
    if verdict == "holds" and not all(spoken):
        verdict = "undecided"
    deciding = next((part for part in parts if part.verdict == verdict), parts[0] if parts else None)
    return Decision(
        id=claim.id,
        source=claim.source,
        statement=claim.statement,
        experiment=", ".join(claim.experiments),
        verdict=verdict,
        effect=deciding.effect if deciding else None,
        interval=deciding.interval if deciding else None,
        preset=min((preset for parts in spoken for _, preset, _ in parts), key=PRESETS.index, default=None),
        parts=parts,
        rows=tuple(dict.fromkeys(row for parts in spoken for row, _, _ in parts if row)),
    )


def _strongest(id: str, evidence: _Evidence) -> Iterator[tuple[str, Preset, Part]]:
    """The parts of one claim by one experiment that count, each with the row and the preset it comes from."""
    rows = [
        (row, next(preset for preset in reversed(PRESETS) if presets.get(preset, {}).get(id)))
        for row, presets in sorted(evidence.items())
        if any(claims.get(id) for claims in presets.values())
    ]
    if any(row for row, _ in rows):
        rows = [(row, preset) for row, preset in rows if row]
    if any(preset != "quick" for _, preset in rows):
        rows = [(row, preset) for row, preset in rows if preset != "quick"]
    for row, preset in rows:
        for part in evidence[row][preset][id]:
            yield row, preset, part


def _read_experiment(folder: Path) -> _Evidence:
    evidence: _Evidence = {}
    for preset in PRESETS:
        for path in [folder / preset / "result.json", *sorted(folder.glob(f"{preset}/[!.]*/result.json"))]:
            if path.is_file():
                row = "" if path.parent.name == preset else path.parent.name
                findings = _read_result(path, folder.name, preset)
                evidence.setdefault(row, {})[preset] = {f.claim: _named(row, f.parts) for f in findings}
    return evidence


def _named(row: str, parts: tuple[Part, ...]) -> tuple[Part, ...]:
    """The parts with their row's name in front, so that parts of several rows can be told apart."""
    return tuple(
        part if part.name == row or not row else Part(**(vars(part) | {"name": f"{row}: {part.name}"}))
        for part in parts
    )


def _read_result(path: Path, experiment: str, preset: Preset) -> tuple[Finding, ...]:
    try:
        result = TypeAdapter(_Result).validate_json(read_whole(path), strict=True)
    except ValidationError as error:
        raise UsageError(f"{path} is no whole result ({first_mistake(error)}); run the experiment again.") from None
    if (result.experiment, result.preset) != (experiment, preset):
        raise UsageError(f"{path} is a result of {result.experiment} at {result.preset}; it stands in the wrong place.")
    own = [claim.id for claim in load_claims() if experiment in claim.experiments]
    for finding in result.claims:
        if finding.claim not in own:
            raise UsageError(f"{path} decides {finding.claim!r}; claims of {experiment} are {', '.join(own)}.")
    return result.claims


def read_whole(path: Path) -> bytes:
    """The bytes of a ``result.json``; one that is sealed, as those of before are not, and altered since is refused."""
    data = read_inside(path.parent, path.name, LARGEST)
    if (b'"seal"' in data or SEAL.encode() in data) and (wrong := fault_in_seal(data)):
        raise UsageError(f"{path} {wrong}; run the experiment again.")
    return data


def first_mistake(error: ValidationError) -> str:
    """Where the first mistake is and what it is."""
    first = error.errors(include_url=False)[0]
    place = ".".join(map(str, first["loc"]))
    return f"{place}: {first['msg']}" if place else first["msg"]

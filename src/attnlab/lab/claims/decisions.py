"""How every claim stands after the results in a folder.

Three questions instead of one word: what the text says of the statement (its stance), whether the direction it names is
there, and whether it is there with our margin. The outcome says whether that is as the text says.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

from pydantic import TypeAdapter, ValidationError

from attnlab.errors import UsageError
from attnlab.files import SEAL, fault_in_seal, read_inside
from attnlab.lab.claims.parts import Finding, Part, Verdict, direction_of, first_mistake, part_to_json, verdict_of
from attnlab.lab.claims.registry import PRESETS, Claim, Preset, Stance, departing, load_claims

ClaimOutcome = Literal["as the paper says", "differs", "open", "not run"]
OUTCOMES: tuple[ClaimOutcome, ...] = get_args(ClaimOutcome)
REPORT = "report.html"
"""An experiment's page, beside its results."""
PARTS = ("tables", "figures", "replays")
"""Folders in a result's."""
OF_OURS: dict[ClaimOutcome, str] = {"as the paper says": "holds", "differs": "fails"}
"""What an outcome is called where the statement is ours and no paper says it."""
LARGEST = 64_000_000
"""Bytes of the largest file of a result that is read."""


def outcome_of(stance: Stance, parts: Sequence[Part], complete: bool = True) -> tuple[ClaimOutcome, bool]:
    """Whether ``parts`` come out as the text says, and whether only weakly: in direction, but not with our margin.

    A text that rejects a statement agrees with us where it fails; weakly where it fails with the margin alone.
    ``complete``: whether all that a claim asks for was run; without it nothing is as the paper says yet.

    >>> part = Part("SST", "fails", 0.17, (0.16, 0.18), "examples", "", direction="holds")
    >>> outcome_of("affirms", [part]), outcome_of("rejects", [part])
    (('as the paper says', True), ('as the paper says', True))
    """
    if not parts:
        return "not run", False
    whole, direction = verdict_of(parts), direction_of(parts)
    if stance == "rejects":
        if "fails" in (whole, direction):
            return "as the paper says", direction != "fails"
        return ("differs" if direction == "holds" and complete else "open"), False
    if direction == "fails":
        return "differs", False
    if direction == "holds" and complete:
        return "as the paper says", whole != "holds"
    return "open", False


@dataclass(frozen=True)
class Decision:
    """A claim as it stands.

    ``verdict`` and ``direction`` are those over all parts. ``effect`` and ``interval`` are those of the deciding part:
    the first one that stands as the claim does, or the first of all where none does. ``preset`` is the weakest one that
    the evidence comes from, None where there is none. ``rows``: the corpora it was decided on, where its experiment has
    a row for each; ``missing``: what it asks for and was not run. ``departs``: what the preset `paper` left out.
    """

    claim: Claim
    verdict: Verdict
    direction: Verdict
    outcome: ClaimOutcome
    weakly: bool
    deciding: Part | None
    preset: Preset | None
    parts: tuple[Part, ...]
    rows: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    departs: tuple[str, ...] = ()

    @property
    def id(self) -> str:
        """The claim's."""
        return self.claim.id

    @property
    def experiment(self) -> str:
        """Those that decide it."""
        return ", ".join(self.claim.experiments)

    @property
    def effect(self) -> float | None:
        """Of the deciding part."""
        return self.deciding.effect if self.deciding else None

    @property
    def interval(self) -> tuple[float, float] | None:
        """Of the deciding part."""
        return self.deciding.interval if self.deciding else None

    @property
    def unit(self) -> str:
        """Of the deciding part's effect."""
        return self.claim.unit_of(self.deciding.name) if self.deciding else self.claim.unit

    @property
    def one_run(self) -> tuple[str, ...]:
        """Its parts whose interval is over the texts of one run."""
        return tuple(part.name for part in self.parts if part.one_run)

    @property
    def words(self) -> str:
        """The outcome in words: what a paper says, or whether what we say holds."""
        said = OF_OURS.get(self.outcome, self.outcome) if self.claim.by == "ours" else self.outcome
        return f"weakly {said}" if self.weakly else said

    def to_json(self) -> dict[str, Any]:
        """The object that ``attnlab claims --json`` prints."""
        claim = self.claim
        strength = {"rule": claim.strength, "verdict": self.verdict} if claim.strength else None
        return {
            "id": claim.id,
            "by": claim.by,
            "source": claim.source,
            "statement": claim.statement,
            "stance": claim.stance,
            "outcome": self.outcome,
            "weakly": self.weakly,
            "direction": {"rule": claim.direction, "verdict": self.direction},
            "strength": strength,
            "verdict": self.verdict,
            "effect": self.effect,
            "unit": self.unit,
            "interval": self.interval,
            "experiment": self.experiment,
            "preset": self.preset,
            "departs": self.departs,
            "rows": self.rows,
            "missing": self.missing,
            "one_run": self.one_run,
            "authors": claim.authors,
            "reason": claim.reason,
            "earlier": [{**asdict(one), "date": str(one.date)} for one in claim.earlier],
            "parts": [part_to_json(part) for part in self.parts],
        }


@dataclass(frozen=True)
class _Result:
    """The part of ``result.json`` that decides claims; its other keys are for readers of one experiment."""

    experiment: str
    preset: Preset
    claims: tuple[Finding, ...]


# Row of an experiment ("" for an experiment without rows) -> preset -> claim id -> parts.
_Evidence: TypeAlias = dict[str, dict[Preset, dict[str, tuple[Part, ...]]]]


def decide(results_root: Path, *others: Path) -> list[Decision]:
    """How every claim stands after the results in ``<root>/<experiment>/<preset>[/<row>]/result.json``; in ``others``
    as far as no folder before them has a result in the same place.

    Each row of an experiment counts at its strongest preset (paper, then reduced, then quick), and quick ones count
    only where nothing stronger speaks. Where rows speak about a claim they decide it, and the experiment's own
    ``result.json`` does not. A claim of two experiments holds only once both have spoken. A folder that does not exist
    decides nothing.
    """
    names = dict.fromkeys(name for claim in load_claims() for name in claim.experiments)
    evidence = {name: _joined([_read_experiment(root / name) for root in (results_root, *others)]) for name in names}
    return [_decide_claim(claim, evidence) for claim in load_claims()]


def _decide_claim(claim: Claim, evidence: dict[str, _Evidence]) -> Decision:
    spoken = {name: list(_strongest(claim.id, evidence[name])) for name in claim.experiments}
    said = [(name, *one) for name, of_one in spoken.items() for one in of_one]
    names = {part.name for *_, part in said}
    counted = [one for one in said if claim.counts(one[-1].name, names)]
    parts = tuple(part for *_, part in counted)
    rows = tuple(dict.fromkeys(row for _, row, _, _ in counted if row))
    missing = [name for name, of_one in spoken.items() if parts and not of_one]
    missing += [row for row in claim.awaits if parts and not any(one.startswith(row) for one in rows)]
    verdict, direction = verdict_of(parts), direction_of(parts)
    if missing:
        verdict = "undecided" if verdict == "holds" else verdict
        direction = "undecided" if direction == "holds" else direction
    outcome, weakly = outcome_of(claim.stance, parts, not missing)
    return Decision(
        claim=claim,
        verdict=verdict,
        direction=direction,
        outcome=outcome,
        weakly=weakly,
        deciding=_deciding(parts, verdict, direction, outcome),
        preset=min((preset for _, _, preset, _ in counted), key=PRESETS.index, default=None),
        parts=parts,
        rows=rows,
        missing=tuple(missing),
        departs=tuple(dict.fromkeys(_departures(counted))),
    )


def _deciding(parts: Sequence[Part], verdict: Verdict, direction: Verdict, outcome: ClaimOutcome) -> Part | None:
    """The part whose numbers are shown: the first that stands as the whole does, or the first of all."""
    if outcome == "as the paper says":
        alike = [part for part in parts if part.verdict == verdict]
    else:
        alike = [part for part in parts if part.directed == direction]
    return next(iter([*alike, *parts]), None)


def _departures(counted: Iterable[tuple[str, str, Preset, Part]]) -> Iterator[str]:
    for name, row, preset, _ in counted:
        if words := departing(name, preset, row):
            yield f"{row}: {words}" if row else words


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
    inside = {path.name for path in folder.glob("[!.]*")} - {REPORT}
    if inside and not inside & {*PRESETS}:
        raise UsageError(f"{folder} holds something else than results; move that away, or run the experiment again.")
    for preset in PRESETS:
        rows = [place for place in sorted(folder.glob(f"{preset}/[!.]*")) if place.is_dir() and place.name not in PARTS]
        for place in (folder / preset, *rows):
            if holds_result(place):
                row = "" if place.name == preset else place.name
                findings = _read_result(place / "result.json", folder.name, preset)
                evidence.setdefault(row, {})[preset] = {f.claim: _named(row, f.parts) for f in findings}
    return evidence


def _joined(pieces: Sequence[_Evidence]) -> _Evidence:
    """What is there first counts."""
    joined: _Evidence = {}
    for evidence in reversed(pieces):
        for row, presets in evidence.items():
            joined.setdefault(row, {}).update(presets)
    return joined


def _named(row: str, parts: tuple[Part, ...]) -> tuple[Part, ...]:
    """The parts with their row's name in front, so that parts of several rows have different names."""
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


def holds_result(folder: Path) -> bool:
    """Whether there is a result in a folder. Refused is one that has something else, and no row with a result either:
    whoever lost a result.json, or put another folder in its place, wants to hear of it.
    """
    if (folder / "result.json").is_file():
        return True
    again = "run the experiment again, or remove the folder."
    if left := next((name for name in PARTS if (folder / name).is_dir()), None):
        raise UsageError(f"{folder} has {left} of a result but no file result.json; {again}")
    inside = [*folder.glob("[!.]*")]
    if inside and not any(holds_result(row) for row in inside if row.is_dir()):
        raise UsageError(f"{folder} holds no result; {again}")
    return False


def read_whole(path: Path) -> bytes:
    """The bytes of a ``result.json``; one that is sealed, as those of before are not, and altered since is refused."""
    data = read_inside(path.parent, path.name, LARGEST)
    if (b'"seal"' in data or SEAL.encode() in data) and (wrong := fault_in_seal(data)):
        raise UsageError(f"{path} {wrong}; run the experiment again.")
    return data

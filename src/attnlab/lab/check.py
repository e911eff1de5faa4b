"""``attnlab claims --check``: decide every claim again from what its results keep, and compare.

A rule that reads tables alone is applied to the tables as they are written; one that reads what its runs measured, to
the curves that the result keeps of them. A result that needed no training is worked out again. What none of these can
give is listed with the reason.
"""

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from altair.utils.schemapi import debug_mode

from attnlab.errors import UsageError
from attnlab.lab.claims import PRESETS, Finding, Part
from attnlab.lab.experiment import Experiment, Order, Record
from attnlab.lab.recall import runs_of
from attnlab.lab.registry import CLASSES, EXPERIMENTS
from attnlab.lab.result import read_result, read_table
from attnlab.runs.loop import Trained, measured

NEAR = 1e-6
"""Relative: other processors add in another order."""
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
RENAMED = {"runs": "seeds"}
"""Tables that older results have under another name."""


@dataclass(frozen=True)
class Checked:
    """One claim of one result. ``same``: whether it came out as it is kept; None where it could not be decided again,
    and ``said`` is why. Where it came out otherwise, ``said`` is how.
    """

    result: str
    claim: str
    same: bool | None
    said: str = ""


def check_claims(results: Path, experiment: str | None = None, compute: bool = True) -> Iterator[Checked]:
    """Decide the claims of all results below ``results`` again, or of those of one ``experiment``.

    ``compute``: also those of results that needed no training, which takes minutes.
    """
    for name in CLASSES:
        if experiment in (None, name):
            for preset in PRESETS:
                for path in sorted((results / name / preset).glob("**/result.json")):
                    yield from _check(EXPERIMENTS[name], path.parent, compute)


def _check(experiment: Experiment, folder: Path, compute: bool) -> Iterator[Checked]:
    document = read_result(folder)
    order = Order(document["preset"], row=document.get("row", ""))
    place = "/".join(filter(None, (experiment.name, order.preset, order.row)))
    kept = [Finding.from_json(entry) for entry in document["claims"]]
    if not experiment.trains and not compute:
        yield from (Checked(place, finding.claim, None, "it was not to be worked out") for finding in kept)
        return
    story = experiment.retold(order, written_record(folder, document))
    measured_again, why = None, experiment.not_kept or "its rule reads more than tables"
    try:
        measured_again = remeasured(experiment, order, folder)
    except UsageError as missing:  # a corpus that is not here
        why = str(missing)
    for finding in kept:
        if measured_again is not None:
            story = measured_again
        elif not getattr(experiment.rules()[finding.claim], "reads", ()):
            yield Checked(place, finding.claim, None, why)
            continue
        try:
            (again,) = story.findings(finding.claim)
        except KeyError as column:
            yield Checked(place, finding.claim, None, f"its tables are older than its rule, which reads {column}")
            continue
        differences = list(differing_parts(finding, again))
        yield Checked(place, finding.claim, not differences, "; ".join(differences))


def remeasured(experiment: Experiment, order: Order, folder: Path) -> Experiment | None:
    """An experiment that has no runs, or reads no more of them than curves keep, measured again; else None."""
    if experiment.trains and not experiment.recalls:
        return None
    if not experiment.trains and (folder / "tables" / "runs.csv").is_file():
        return None  # beside what needs no training there is a trained network, whose weights are gone
    rows = runs_of(folder) if experiment.trains else {}
    done: dict[str, Trained] = {}
    while True:
        jobs = experiment.plan(order, done)
        recalled = {job.spec.id: measured(job.spec, job.schedule, rows) for job in jobs}
        known = {id: run for id, run in recalled.items() if run is not None}
        if len(known) < len(recalled):
            return None
        if known.keys() == done.keys():
            break
        done = known
    with debug_mode(False):
        return experiment.story(order, experiment.outcomes(order, done))


def written_record(folder: Path, document: Mapping[str, Any]) -> Record:
    """What a written result keeps, with numbers as numbers."""
    tables = {
        name: [{column: value_of(cell) for column, cell in cells.items()} for _, cells in read_table(folder, name)]
        for name in document["tables"]
    }
    for name, older in RENAMED.items():
        if name not in tables and older in tables:
            tables[name] = tables[older]
    return Record(tables, document["seeds"])


def value_of(cell: str) -> Any:
    """What a cell of a table was before it was written.

    >>> value_of(""), value_of("3"), value_of("0.5"), value_of("True"), value_of("40 of 60")
    (None, 3, 0.5, True, '40 of 60')
    """
    if cell == "":
        return None
    if cell in ("True", "False"):
        return cell == "True"
    if NUMBER.fullmatch(cell):
        return int(cell) if re.fullmatch(r"[+-]?\d+", cell) else float(cell)
    return cell


def differing_parts(kept: Finding, again: Finding) -> Iterator[str]:
    """In which parts a finding differs from the one that is kept; sentences may differ."""
    names = [part.name for part in kept.parts], [part.name for part in again.parts]
    if names[0] != names[1]:
        yield f"its parts are {', '.join(names[1])}, not {', '.join(names[0])}"
        return
    for ours, theirs in zip(again.parts, kept.parts, strict=True):
        for name, mine, other in _answers(ours, theirs):
            if not (mine == other or _near(mine, other)):
                yield f"{ours.name}: {name} is {mine}, not {other}"


def _answers(ours: Part, theirs: Part) -> Iterator[tuple[str, Any, Any]]:
    yield "verdict", ours.verdict, theirs.verdict
    yield "direction", ours.directed, theirs.directed
    yield "effect", ours.effect, theirs.effect
    yield "runs", ours.runs, theirs.runs
    none = (None, None)
    yield from zip(("low", "high"), ours.interval or none, theirs.interval or none, strict=True)


def _near(mine: Any, other: Any) -> bool:
    numbers = isinstance(mine, int | float) and isinstance(other, int | float)
    return numbers and math.isclose(mine, other, rel_tol=NEAR, abs_tol=NEAR * 1e-3)

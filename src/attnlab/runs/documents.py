"""A run's documents: sealed JSON objects that name their run, checked before anything relies on them.

``spec.json`` names no run: its content is what the run's id is a hash of (`attnlab.runs.spec.describes`).
"""

import math
from collections.abc import Callable, Mapping
from pathlib import Path

from attnlab import files
from attnlab.errors import ForeignFile, StoreError

SPEC, ENVIRONMENT, STATUS, TIMING = "spec.json", "environment.json", "status.json", "timing.json"
RUN, LOST = "run", "lost"
"""Keys beside a document's own: its run's id, and whether the environment a run began in is no longer known."""


def check_owner(path: Path, owner: object, run: str | None) -> None:
    """A ForeignFile if the file names another run; a file that names none, or a caller that wants none, passes."""
    if owner is not None and run is not None and owner != run:
        raise ForeignFile(f"{path} belongs to run {str(owner)[:64]!r}, not to {run}: it was copied; delete it here.")


def read(path: Path, run: str) -> dict[str, files.Json] | None:
    """A document with the keys beside its own, None if there is no file; a StoreError if it is not as written."""
    document = files.read_document(path)
    if document is None or path.name == SPEC:
        return document
    check_owner(path, document.get(RUN), run)
    if path.name in _CHECKS and not _CHECKS[path.name](document):
        raise StoreError(f"{path} does not hold what a run's {path.stem} holds.")
    return document


def to_bytes(name: str, document: Mapping[str, files.Json], run: str) -> bytes:
    """The document's file, which names its run."""
    return files.to_sealed_json(dict(document) if name == SPEC else {**document, RUN: run})


def own_part(document: Mapping[str, files.Json]) -> dict[str, files.Json]:
    """The document without the keys beside its own."""
    return {key: value for key, value in document.items() if key not in (RUN, LOST)}


def names_alike(known: files.Json, asked: files.Json) -> bool:
    """Whether all that ``known`` names has the same value in ``asked``."""
    if isinstance(known, dict) and isinstance(asked, dict):
        return all(name in asked and names_alike(value, asked[name]) for name, value in known.items())
    return files.to_json(known) == files.to_json(asked)


def is_number(value: object) -> bool:
    """Whether a value of JSON is a number that fits into 64 bits."""
    return isinstance(value, float) or (isinstance(value, int) and -(2**63) <= value < 2**63)


def is_step(value: object) -> bool:
    """Whether a value of JSON counts updates."""
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**63


def _is_status(document: dict[str, files.Json]) -> bool:
    known = document.get("status") in ["running", "finished", "failed"]
    return known and is_step(document.get("step")) and isinstance(document.get("message"), str)


def _is_timing(document: dict[str, files.Json]) -> bool:
    return all(is_number(value) and math.isfinite(value) for value in own_part(document).values())


def _is_environment(document: dict[str, files.Json]) -> bool:
    return all(isinstance(value, str | int) for value in document.values())


_CHECKS: dict[str, Callable[[dict[str, files.Json]], bool]] = {
    ENVIRONMENT: _is_environment,
    STATUS: _is_status,
    TIMING: _is_timing,
}

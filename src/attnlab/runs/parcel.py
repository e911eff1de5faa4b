"""A run's folder as bytes, to be sent to a machine that does not see the store, and to come back.

A parcel is a line, the length of a sealed header, the header, and the files one after the other. The header has the
run's id, the name, size and sha256 of each file, and the steps of all checkpoints that the sender has. A name is one of
those that a run's folder can hold, so that no file leaves it. What arrives is read by the rules of the store, every
seal and manifest, and then written by them: a parcel that is damaged or another run's changes nothing.
"""

import re
import tempfile
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

from attnlab import files
from attnlab.errors import StoreError
from attnlab.runs import documents, tables
from attnlab.runs.documents import ENVIRONMENT, SPEC, STATUS, TIMING
from attnlab.runs.store import Run, RunStore
from attnlab.runs.verify import CHECKPOINT, CHECKPOINTS, FIELDS, METRICS, STEP

MARK = b"attnlab parcel 1\n"
MOST_HEADER = 2**26
_DOCUMENTS = (SPEC, ENVIRONMENT, STATUS, TIMING, METRICS)
_NAMES = re.compile(
    "|".join(
        (
            *map(re.escape, _DOCUMENTS),
            f"{CHECKPOINTS}/{STEP}/({CHECKPOINT})",
            f"{FIELDS}/{STEP}[.]parquet",
        )
    )
)
Seen = dict[str, tuple[int, int, int]]
"""By name, what tells one version of a file from another: its number on the disk, size and time of change."""


@dataclass(frozen=True)
class Parcel:
    """Files of a run by name, and the steps of all checkpoints that the sender has, those not sent here included."""

    run: str
    files: Mapping[str, bytes]
    steps: tuple[int, ...]


def pack(parcel: Parcel) -> bytes:
    """The bytes of a parcel.

    >>> unpack(pack(Parcel("0123456789abcdef", {"spec.json": b"{}"}, (0, 5)))).steps
    (0, 5)
    """
    listed = [[name, len(data), files.sha256(data)] for name, data in parcel.files.items()]
    header = files.to_sealed_json({"run": parcel.run, "files": listed, "steps": list(parcel.steps)})
    return b"".join([MARK, len(header).to_bytes(8, "big"), header, *parcel.files.values()])


def unpack(data: bytes) -> Parcel:
    """What `pack` was given; a StoreError where these bytes are no whole parcel, or a name would leave its folder."""
    begin = len(MARK) + 8
    size = int.from_bytes(data[len(MARK) : begin], "big")
    if not data.startswith(MARK) or size > min(MOST_HEADER, len(data) - begin):
        raise StoreError("What came from a worker is no parcel of a run.")
    header = data[begin : begin + size]
    if wrong := files.fault_in_seal(header):
        raise StoreError(f"The header of a parcel from a worker {wrong}.")
    document = files.parse(header, Path("the header of a parcel"))
    try:
        run, steps = files.check_run_id(document["run"]), tuple(int(step) for step in document["steps"])
        listed = [(str(name), int(length), str(digest)) for name, length, digest in document["files"]]
    except (KeyError, TypeError, ValueError):
        raise StoreError("The header of a parcel from a worker does not say what is in it.") from None
    place, contents = begin + size, {}
    for name, length, digest in listed:
        if not _NAMES.fullmatch(name) or name in contents:
            raise StoreError(f"A parcel of run {run} holds {name[:80]!r}, which is no file of a run.")
        contents[name] = data[place : place + length] if length >= 0 else b""
        if len(contents[name]) != length or files.sha256(contents[name]) != digest:
            raise StoreError(f"A parcel of run {run} was altered on its way: see its {name}.")
        place += length
    if place != len(data):
        raise StoreError(f"A parcel of run {run} has bytes after its last file.")
    return Parcel(run, contents, steps)


def collect(run: Run, seen: Seen | None = None, only: str = "") -> Parcel:
    """The files of a run whose names begin with ``only``, without those that ``seen`` has; it is brought up to date.

    Needs the run's lock, or a run that nobody writes.
    """
    names = [*_DOCUMENTS]
    steps = run.steps()
    for step in steps:
        folder = f"{CHECKPOINTS}/{step}"
        names += [f"{folder}/{name}" for name in files.names_in(run.path / folder) if re.fullmatch(CHECKPOINT, name)]
    names += [f"{FIELDS}/{step}.parquet" for step in run.field_steps()]
    contents, seen = {}, {} if seen is None else seen
    for name in names:
        path = run.path / name
        if not name.startswith(only) or not files.is_there(path):
            continue
        about = path.lstat()
        version = (about.st_ino, about.st_size, about.st_mtime_ns)
        if seen.get(name) != version:
            seen[name] = version
            contents[name] = files.read_plain(path, 2**34)
    return Parcel(run.id, contents, tuple(steps))


def lay_out(parcel: Parcel, root: Path) -> Run:
    """The run in a store of its own at ``root``, where nobody else writes; training reads it with all checks."""
    run = RunStore(root).run(parcel.run)
    for name, data in parcel.files.items():
        path = run.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return run


def receive(parcel: Parcel, store: RunStore) -> None:
    """Write what came into the run's folder: all is read as the store reads, before any of it is written as the store
    writes. Needs the run's lock. Checkpoints that the sender has dropped are dropped.
    """
    home = store.run(parcel.run)
    with tempfile.TemporaryDirectory(prefix="attnlab-") as folder:
        came = lay_out(parcel, Path(folder))
        for name in parcel.files.keys() & {*_DOCUMENTS} - {METRICS}:
            documents.read(came.path / name, came.id)
        if METRICS in parcel.files:
            tables.read_rows(came.path / METRICS, came.id)
        checkpoints = [came.load(step) for step in _steps(parcel, CHECKPOINTS)]
        fields = _steps(parcel, FIELDS)
        for step in fields:
            came.fields(step)
        measured = came.measured() if METRICS in parcel.files else None
        timing, status = came.timing(), came.status()
        if SPEC in parcel.files:
            home.begin(came.spec(), came.environment())
    for step in fields:  # in the order of training: a row that is there has its fields
        home.take_fields(step, parcel.files[f"{FIELDS}/{step}.parquet"])
    if measured is not None:
        home.write_metrics(measured.rows, measured.fields, inexact=measured.inexact)
    for checkpoint in checkpoints:
        home.save(checkpoint, pinned=parcel.steps)
    if timing:
        home.write_timing(timing)
    if status is not None:
        home.set_status(status["status"], status["step"], status["message"])


def _steps(parcel: Parcel, folder: str) -> Collection[int]:
    steps = {re.split("[/.]", name)[1] for name in parcel.files if name.startswith(f"{folder}/")}
    return sorted(map(int, steps))

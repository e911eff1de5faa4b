"""A run's whole state at a step, as a folder that is there whole or not at all.

``tensors.safetensors`` and ``record.json`` hold the state; ``manifest.json``, written last, holds their sizes and
sha256 and which run and step they are of, and is sealed itself. The folder is filled under a temporary name and then
renamed, so a process killed at any moment leaves the earlier checkpoints as they were.
"""

import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import safetensors.torch
from safetensors import SafetensorError
from torch import Size, Tensor, float32

from attnlab import files
from attnlab.errors import DamagedCheckpoint, StoreError, UsageError
from attnlab.runs.documents import check_owner, is_step
from attnlab.runs.tables import are_rows

TENSORS, RECORD, MANIFEST = "tensors.safetensors", "record.json", "manifest.json"
FORMAT = 1
LARGEST = 2**34
"""The most bytes that are read of one file."""


@dataclass(frozen=True)
class Checkpoint:
    """All that decides how a run goes on from ``step``."""

    step: int
    tensors: dict[str, Tensor]
    """Of the model and the optimiser, by flat names such as ``model.embedding.weight``; loaded ones are on the CPU."""
    record: dict[str, files.Json]
    """Everything else: metric rows so far, the generators' states, the position in the data."""

    @property
    def weights(self) -> dict[str, Tensor]:
        """The network's, by its own names."""
        return {name.removeprefix("model."): value for name, value in self.tensors.items() if name.startswith("model.")}


def save_checkpoint(folder: Path, checkpoint: Checkpoint, run: str | None = None) -> None:
    """Write ``folder/<step>`` of the run named ``run``. Needs its lock: temporary names are fixed, so left-overs cannot
    pile up.
    """
    if checkpoint.step < 0:
        raise UsageError(f"A checkpoint's step is {checkpoint.step}, but steps count from 0.")
    place = folder / str(checkpoint.step)
    state = {TENSORS: tensors_to_bytes(checkpoint.tensors), RECORD: files.to_json(checkpoint.record)}
    sizes = {name: {"bytes": len(data), "sha256": files.sha256(data)} for name, data in state.items()}
    manifest = _sealed_manifest(checkpoint.step, sizes, run)
    with suppress(OSError, StoreError):
        if files.read_plain(place / MANIFEST, files.DOCUMENT) == manifest and not faults_in_checkpoint(place):
            return  # the very same state: a resumed run repeats its steps bit for bit
    fresh = folder / f"{files.NEW}{checkpoint.step}"
    with files.explained(place):
        try:
            files.delete(fresh)
            fresh.mkdir(parents=True)
            for name, data in (*state.items(), (MANIFEST, manifest)):
                files.write_through(fresh / name, data)
            files.sync_folder(fresh)
            discard_checkpoint(place, then=fresh)
            files.sync_folder(folder)
        except BaseException:
            files.delete(fresh)
            raise


def discard_checkpoint(place: Path, then: Path | None = None) -> None:
    """Take the folder ``place`` away, if it is there, in one rename; move ``then`` into its place; delete."""
    stale = place.with_name(files.OLD + place.name)
    files.delete(stale)
    with suppress(FileNotFoundError):
        files.move(place, stale)
    if then is not None:
        files.move(then, place)
    files.delete(stale)


def recover_checkpoints(folder: Path, run: str | None = None) -> None:
    """Clear what a killed process left in ``folder``. Needs the run's lock.

    A process killed while it put one whole checkpoint in another's place leaves both under temporary names: the new
    one goes into the empty place. Anything else is deleted.
    """
    for prefix in (files.NEW, files.OLD):
        for name in files.names_in(folder):
            step = name.removeprefix(prefix)
            if step == name:
                continue
            if not files.is_there(folder / step) and not faults_in_checkpoint(folder / name, run, step):
                files.move(folder / name, folder / step)
            else:
                files.delete(folder / name)


def places_in(folder: Path) -> list[Path]:
    """The checkpoints' folders by step, whole or not."""
    steps = sorted(int(name) for name in files.names_in(folder) if name.isdecimal() and name == str(int(name)))
    return [folder / str(step) for step in steps]


def load_checkpoint(place: Path, run: str | None = None) -> Checkpoint:
    """Read and verify one checkpoint of ``run`` (None: of any); a DamagedCheckpoint names the file and what is wrong
    with it, a ForeignFile whose it is.
    """
    listed = _manifest(place, run)
    return Checkpoint(int(place.name), _tensors(place / TENSORS, *listed[TENSORS]), _record(place, listed, place.name))


def newest_record(folder: Path, run: str) -> tuple[Path, dict[str, files.Json]]:
    """The record alone of the newest checkpoint that looks whole, and its path; an empty one if there is none."""
    for place in places_in(folder)[::-1]:
        if looks_whole(place, run):
            with suppress(DamagedCheckpoint):  # whoever reads the tensors says so
                return place / RECORD, _record(place, _manifest(place, run), place.name)
    return folder, {}


def faults_in_checkpoint(place: Path, run: str | None = None, step: str | None = None) -> list[tuple[Path, str]]:
    """The damaged files, each with a sentence. ``step`` is given where the folder does not bear its name yet."""
    faults: list[tuple[Path, str]] = []
    try:
        listed = _manifest(place, run, step)
    except StoreError as fault:
        return [(place / MANIFEST, str(fault))]
    try:
        _tensors(place / TENSORS, *listed[TENSORS])
    except DamagedCheckpoint as fault:
        faults.append((place / TENSORS, str(fault)))
    try:
        _record(place, listed, step or place.name)
    except DamagedCheckpoint as fault:
        faults.append((place / RECORD, str(fault)))
    return faults


def looks_whole(place: Path, run: str | None = None) -> bool:
    """Whether the manifest is sound and its files have the right sizes: quick, since nothing large is read."""
    try:
        return all((place / name).lstat().st_size == size for name, (size, _) in _manifest(place, run).items())
    except (StoreError, OSError):
        return False


def is_bound(place: Path) -> bool:
    """Whether a checkpoint says which run it is of; those of earlier versions do not."""
    return "run" in (files.read_document(place / MANIFEST) or {})


def bind_checkpoint(place: Path, run: str) -> None:
    """Write into a whole checkpoint's manifest which run it is of. Needs the run's lock."""
    manifest = files.read_document(place / MANIFEST) or {}
    files.write_atomically(place / MANIFEST, _sealed_manifest(manifest["step"], manifest["files"], run))


def fault_in_tensors(
    tensors: Mapping[str, Tensor],
    model: Mapping[str, Tensor],
    trained: Mapping[str, Tensor],
    state: Mapping[str, bool],
    owner: str = "model.",
) -> str | None:
    """The first of a checkpoint's tensors that does not fit the network, by its name, or None.

    ``state``: what the optimiser keeps of each parameter that it has changed, by name, and whether in its shape.
    ``owner``: what names of the network's own tensors begin with.
    """
    wanted = {f"{owner}{name}": (value.shape, value.dtype) for name, value in model.items()}
    for name, value in trained.items():
        for key, shaped in state.items():
            if any(f"optimiser.{other}.{name}" in tensors for other in state):
                wanted[f"optimiser.{key}.{name}"] = (value.shape, value.dtype) if shaped else (Size(), float32)
    stored = {name: (value.shape, value.dtype) for name, value in tensors.items()}
    return next((name for name in sorted(stored.keys() | wanted.keys()) if stored.get(name) != wanted.get(name)), None)


def unfitting(path: Path, run: str, tensor: str) -> str:
    """The sentence on a tensor, found by `fault_in_tensors` in the file ``path``."""
    return f"{path} does not fit the network of run {run}: see its tensor {tensor[:80]!r}."


def tensors_to_bytes(tensors: dict[str, Tensor]) -> bytes:
    """The safetensors form. Tensors that share memory, which it refuses, are written as copies of their own."""
    plain: dict[str, Tensor] = {}
    storages: set[int] = set()
    for name, tensor in tensors.items():
        dense = tensor.detach().cpu().resolve_conj().resolve_neg().contiguous()
        storage = dense.untyped_storage().data_ptr()
        plain[name] = dense.clone() if storage in storages else dense
        storages.add(storage)
    return safetensors.torch.save(plain)


def _sealed_manifest(step: int, sizes: dict[str, Any], run: str | None) -> bytes:
    owner = {} if run is None else {"run": run}
    return files.to_sealed_json({"format": FORMAT, "step": step, "files": sizes, **owner})


def _manifest(place: Path, run: str | None = None, step: str | None = None) -> dict[str, tuple[int, str]]:
    """Size and sha256 of each file, by its name."""
    path = place / MANIFEST
    if os.path.islink(place):  # noqa: PTH114 (a Path's own raises errors)
        raise DamagedCheckpoint(f"{place} is a link, and is not read.")
    try:
        manifest = files.read_document(path)
    except StoreError as fault:
        raise DamagedCheckpoint(str(fault)) from fault
    if manifest is None:
        raise DamagedCheckpoint(f"{path} is missing.")
    if manifest.get("format", FORMAT) != FORMAT:
        raise DamagedCheckpoint(f"{path} is of format {manifest['format']}, but this version reads format {FORMAT}.")
    try:
        owner, belongs = manifest.get("run"), manifest["step"]
        listed = {
            name: (manifest["files"][name]["bytes"], manifest["files"][name]["sha256"]) for name in (TENSORS, RECORD)
        }
    except (KeyError, TypeError):
        owner, belongs, listed = None, None, {}
    if not is_step(belongs) or not all(is_step(size) and isinstance(digest, str) for size, digest in listed.values()):
        raise DamagedCheckpoint(f"{path} is no manifest of a checkpoint.")
    if str(belongs) != (step or place.name):
        raise DamagedCheckpoint(f"{path} belongs to step {belongs}: the folder was renamed.")
    check_owner(path, owner, run)
    return listed


def _tensors(path: Path, size: int, digest: str) -> dict[str, Tensor]:
    data = _read(path, size, digest)
    try:
        # Clones are aligned as any new tensor is, so arithmetic on them goes as in a run that was never killed.
        return {name: tensor.clone() for name, tensor in safetensors.torch.load(data).items()}
    except (SafetensorError, ValueError, TypeError, KeyError, AssertionError, RuntimeError, OverflowError) as fault:
        reason = str(fault).splitlines()[0][:80] if str(fault) else type(fault).__name__
        raise DamagedCheckpoint(f"{path} holds no tensors that can be read ({reason}).") from None


def _record(place: Path, listed: dict[str, tuple[int, str]], step: str) -> dict[str, files.Json]:
    path = place / RECORD
    data = _read(path, *listed[RECORD])
    try:
        record = files.parse(data, path)
    except StoreError as fault:
        raise DamagedCheckpoint(str(fault)) from fault
    if not isinstance(record, dict) or not are_rows(record.get("metrics", [])):
        raise DamagedCheckpoint(f"{path} is no record of a checkpoint: an object whose metrics are rows of numbers.")
    if any(row["step"] > int(step) for row in record.get("metrics", [])):
        raise DamagedCheckpoint(f"{path} has metrics of steps after its own, {step}.")
    return record


def _read(path: Path, size: int, digest: str) -> bytes:
    try:
        data = files.read_plain(path, min(size, LARGEST))
    except FileNotFoundError as fault:
        raise DamagedCheckpoint(f"{path} is missing.") from fault
    except StoreError as fault:
        raise DamagedCheckpoint(str(fault)) from fault
    if len(data) != size:
        raise DamagedCheckpoint(f"{path} has {len(data)} bytes where {size} were written.")
    if files.sha256(data) != digest:
        raise DamagedCheckpoint(f"{path} is altered (its sha256 does not agree with the manifest).")
    return data

"""A run's whole state at a step, as a folder that is there whole or not at all.

``tensors.safetensors`` and ``record.json`` hold the state; ``manifest.json``, written last, holds their sizes and
sha256 and is sealed itself. The folder is filled under a temporary name and then renamed, so a process killed at any
moment leaves the earlier checkpoints as they were.
"""

import shutil
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import safetensors.torch
from torch import Tensor

from attnlab import files
from attnlab.errors import DamagedCheckpoint, StoreError, UsageError

TENSORS, RECORD, MANIFEST = "tensors.safetensors", "record.json", "manifest.json"
FORMAT = 1


@dataclass(frozen=True)
class Checkpoint:
    """All that decides how a run goes on from ``step``."""

    step: int
    tensors: dict[str, Tensor]
    """Of the model and the optimiser, by flat names such as ``model.embedding.weight``; loaded ones are on the CPU."""
    record: dict[str, files.Json]
    """Everything else: metric rows so far, the generators' states, the position in the data."""


def save_checkpoint(folder: Path, checkpoint: Checkpoint) -> None:
    """Write ``folder/<step>``. Needs the run's lock: temporary names are fixed, so left-overs cannot pile up."""
    if checkpoint.step < 0:
        raise UsageError(f"A checkpoint's step is {checkpoint.step}, but steps count from 0.")
    place = folder / str(checkpoint.step)
    state = {TENSORS: tensors_to_bytes(checkpoint.tensors), RECORD: files.to_json(checkpoint.record)}
    sizes = {name: {"bytes": len(data), "sha256": files.sha256(data)} for name, data in state.items()}
    manifest = files.to_sealed_json({"format": FORMAT, "step": checkpoint.step, "files": sizes})
    if not faults_in_checkpoint(place) and (place / MANIFEST).read_bytes() == manifest:
        return  # the very same state: a resumed run repeats its steps bit for bit
    fresh = folder / f"{files.NEW}{checkpoint.step}"
    with files.explained(place):
        try:
            fresh.mkdir(parents=True)
            for name, data in (*state.items(), (MANIFEST, manifest)):
                files.write_through(fresh / name, data)
            files.sync_folder(fresh)
            discard_checkpoint(place, then=fresh)
            files.sync_folder(folder)
        except BaseException:
            shutil.rmtree(fresh, ignore_errors=True)
            raise


def discard_checkpoint(place: Path, then: Path | None = None) -> None:
    """Take the folder ``place`` away, if it is there, in one rename; move ``then`` into its place; delete."""
    stale = place.with_name(files.OLD + place.name)
    with suppress(FileNotFoundError):
        files.move(place, stale)
    if then is not None:
        files.move(then, place)
    shutil.rmtree(stale, ignore_errors=True)


def recover_checkpoints(folder: Path) -> None:
    """Clear what a killed process left in ``folder``. Needs the run's lock.

    A process killed while it put one whole checkpoint in another's place leaves both under temporary names: the new
    one goes into the empty place. Anything else is deleted.
    """
    for prefix in (files.NEW, files.OLD):
        for leftover in folder.glob(prefix + "*"):
            place = folder / leftover.name.removeprefix(prefix)
            if not place.exists() and not faults_in_checkpoint(leftover, step=place.name):
                files.move(leftover, place)
            else:
                shutil.rmtree(leftover, ignore_errors=True)


def load_checkpoint(place: Path) -> Checkpoint:
    """Read and verify one checkpoint; a DamagedCheckpoint names the file and what is wrong with it."""
    state = {name: _read(place / name, size, digest) for name, (size, digest) in _manifest(place).items()}
    # Clones are aligned as any new tensor is, so arithmetic on them goes as in a run that was never killed.
    tensors = {name: tensor.clone() for name, tensor in safetensors.torch.load(state[TENSORS]).items()}
    return Checkpoint(int(place.name), tensors, files.from_json(state[RECORD]))


def faults_in_checkpoint(place: Path, step: str | None = None) -> list[tuple[Path, str]]:
    """The damaged files, each with a sentence. ``step`` is given where the folder does not bear its name yet."""
    faults: list[tuple[Path, str]] = []
    try:
        listed = _manifest(place, step)
    except DamagedCheckpoint as fault:
        return [(place / MANIFEST, str(fault))]
    for name, (size, digest) in listed.items():
        try:
            _read(place / name, size, digest)
        except DamagedCheckpoint as fault:
            faults.append((place / name, str(fault)))
    return faults


def looks_whole(place: Path) -> bool:
    """Whether the manifest is sound and its files have the right sizes: quick, since nothing large is read."""
    try:
        return all((place / name).stat().st_size == size for name, (size, _) in _manifest(place).items())
    except (DamagedCheckpoint, OSError):
        return False


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


def _manifest(place: Path, step: str | None = None) -> dict[str, tuple[int, str]]:
    """Size and sha256 of each file, by its name."""
    path = place / MANIFEST
    try:
        manifest = files.from_sealed_json(files.need_sealed(path))
    except StoreError as fault:
        raise DamagedCheckpoint(str(fault)) from fault
    if manifest["format"] != FORMAT:
        raise DamagedCheckpoint(f"{path} is of format {manifest['format']}, but this version reads format {FORMAT}.")
    if str(manifest["step"]) != (step or place.name):
        raise DamagedCheckpoint(f"{path} belongs to step {manifest['step']}: the folder was renamed.")
    sizes = manifest["files"]
    return {name: (sizes[name]["bytes"], sizes[name]["sha256"]) for name in (TENSORS, RECORD)}


def _read(path: Path, size: int, digest: str) -> bytes:
    try:
        data = path.read_bytes()
    except FileNotFoundError as fault:
        raise DamagedCheckpoint(f"{path} is missing.") from fault
    except OSError as fault:
        raise DamagedCheckpoint(f"{path} cannot be read ({fault.strerror or fault}).") from fault
    if len(data) != size:
        raise DamagedCheckpoint(f"{path} has {len(data)} bytes where {size} were written.")
    if files.sha256(data) != digest:
        raise DamagedCheckpoint(f"{path} is altered (its sha256 does not agree with the manifest).")
    return data

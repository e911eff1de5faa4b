"""Files that are either whole or not there: canonical JSON, seals, atomic writes, and faults in one sentence.

A *sealed* file carries the sha256 of its own bytes, taken with zeros where the digest stands. So one altered bit
anywhere is noticed, and no second file has to be kept in step with the first.
"""

import ctypes
import errno
import hashlib
import json
import math
import os
import re
import shutil
import stat
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeAlias

from attnlab.errors import StoreError, UsageError

Json: TypeAlias = Any
"""A value of JSON: an object with string keys, an array, a string, a number, a truth value or null."""

NEW, OLD = ".new-", ".old-"
"""Prefixes of temporary names: what is being written, and what is being taken away."""

SEAL = "attnlab-sha256:"
BLANK_SEAL = SEAL + 64 * "0"
_SEAL_PATTERN = re.compile(SEAL.encode() + rb"([0-9a-f]{64})")

DOCUMENT = 2**24
"""The most bytes that are read of a document."""
DEEPEST = 64
"""The most arrays and objects inside one another that a document may have."""

_RUN_ID = re.compile(r"[a-z0-9][a-z0-9-]{0,63}")
_WINDOWS_DEVICES = re.compile(r"con|prn|aux|nul|(com|lpt)[0-9]")


def as_path(value: object, what: str = "A path") -> Path:
    """``value`` as a path; what is none is refused in a sentence that begins with ``what`` it should be.

    >>> as_path("runs").name
    'runs'
    """
    if isinstance(value, str | os.PathLike):
        return Path(os.fspath(value))
    raise UsageError(f"{what} is given as text or a Path, not as {type(value).__name__} {value!r:.60}.")


def is_run_id(name: str) -> bool:
    """Whether ``name`` is safe as a folder's name on every system: it cannot leave the folder it is put in."""
    return bool(_RUN_ID.fullmatch(name)) and not _WINDOWS_DEVICES.fullmatch(name)


def check_run_id(name: str) -> str:
    """``name`` if it is a run id, else a UsageError."""
    if not is_run_id(name):
        raise UsageError(
            f"{name!r} is not a run id: 1 to 64 lower-case letters, digits and hyphens, beginning with a letter or "
            "a digit, and no device name of Windows such as 'con'."
        )
    return name


def check_outputs(outputs: Sequence[Path | None], inputs: Sequence[Path | None] = ()) -> None:
    """Refuse, before any work, files that could not be written after it or would replace what they must not.

    Those are devices, folders, links, one of the ``inputs``, one file for two outputs, and places where nothing can be
    put. A link is not followed, since a stranger's folder may hold one to a file of the user's; nor is it replaced,
    since whoever made it wants it to be there.
    """
    wanted = [path for path in outputs if path is not None]
    for place, path in enumerate(wanted):
        try:
            _check_place(path)
            for others, what in ((inputs, "it is read, too"), (wanted[:place], "it is named for two outputs")):
                if any(other is not None and _same(path, other) for other in others):
                    raise UsageError(f"{path} cannot be written: {what}; name another file.")
        except (OSError, RuntimeError) as fault:  # links in a circle are a RuntimeError
            raise UsageError(f"{path} cannot be written: {getattr(fault, 'strerror', None) or fault}.") from None


def _check_place(path: Path) -> None:
    check_no_device(path)
    if path.is_dir():
        raise UsageError(f"{path} cannot be written: it is a folder; name a file.")
    if path.is_symlink():
        raise UsageError(f"{path} cannot be written: it is a link to {path.readlink()}; name the file itself.")
    missing, folder = [path.name], path.parent
    while not folder.exists():
        if folder.is_symlink():
            raise UsageError(f"{path} cannot be written: {folder} is a link that leads nowhere; name a folder.")
        missing.append(folder.name)
        folder = folder.parent
    if not folder.is_dir():
        raise UsageError(f"{path} cannot be written: {folder} is a file, and a folder is needed there.")
    for name in (NEW + path.name, *missing):
        with suppress(FileNotFoundError):
            os.lstat(folder / name)  # an OSError if the name is too long
    if not os.access(folder, os.W_OK | os.X_OK):
        raise UsageError(f"{path} cannot be written: the folder {folder.absolute()} may not be written to.")


def _same(one: Path, other: Path) -> bool:
    with suppress(FileNotFoundError, NotADirectoryError):
        return one.samefile(other)
    return one.resolve() == other.resolve()


def check_no_device(path: Path) -> None:
    """Refuse a device, a pipe, or a link of the system's to one: renaming a file onto it would take it away."""
    place = path.parent.resolve() / path.name
    standard = place.is_symlink() and place.parts[1] in ("dev", "proc")  # /dev/stdout, wherever it leads
    if standard or (path.exists() and not path.is_file() and not path.is_dir()):
        raise UsageError(f"{path} cannot be written: it is a device or a pipe; name a file.")


# --- JSON ---------------------------------------------------------------------------------------------------------


def to_json(value: Json, indent: int | None = None) -> bytes:
    """Canonical JSON: sorted keys, floats by their shortest exact form, ASCII only, a newline at the end.

    JSON has no numbers that are not finite; they are written as ``{"$float": "nan"}``, ``"inf"`` or ``"-inf"``.
    """

    def dumps(value: Json) -> bytes:
        separators = (",", ":") if indent is None else (",", ": ")
        text = json.dumps(value, sort_keys=True, allow_nan=False, indent=indent, separators=separators)
        return text.encode() + b"\n"

    try:
        return dumps(value)
    except ValueError:  # a number that is not finite: rare, so the value is walked only then
        return dumps(_spell_out(value))


def from_json(data: bytes) -> Json:
    """The value ``to_json`` wrote."""
    return json.loads(data, object_hook=_read_float)


def _spell_out(value: Json) -> Json:
    if isinstance(value, float) and not math.isfinite(value):
        return {"$float": repr(value)}
    if isinstance(value, dict):
        return {key: _spell_out(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_spell_out(item) for item in value]
    return value


def _read_float(document: dict[str, Json]) -> Json:
    return float(document["$float"]) if document.keys() == {"$float"} else document


# --- Seals --------------------------------------------------------------------------------------------------------


def sha256(data: bytes) -> str:
    """In hexadecimal."""
    return hashlib.sha256(data).hexdigest()


def seal(data: bytes) -> bytes:
    """``data``, which contains ``BLANK_SEAL`` once, with the digest of its bytes in the place of the zeros."""
    if data.count(SEAL.encode()) != 1:
        raise UsageError(f"A stored document must not contain the text {SEAL!r}: it marks where the checksum stands.")
    return data.replace(BLANK_SEAL.encode(), (SEAL + sha256(data)).encode())


def fault_in_seal(data: bytes) -> str | None:
    """What is wrong with a sealed file's bytes, as the end of a sentence, or None."""
    if not data:
        return "is empty"
    seals = list(_SEAL_PATTERN.finditer(data))
    if len(seals) != 1:
        return "is cut off or altered (its checksum is gone)"
    start, end = seals[0].span(1)
    blank = data[:start] + 64 * b"0" + data[end:]
    return None if sha256(blank).encode() == data[start:end] else "is altered (its checksum does not agree)"


def to_sealed_json(document: dict[str, Json]) -> bytes:
    """A JSON object for people's eyes too, sealed under the key ``seal``."""
    if "seal" in document:
        raise UsageError("A stored document must not have the key 'seal': its checksum stands there.")
    return seal(to_json({**document, "seal": BLANK_SEAL}, indent=2))


def parse(data: bytes, path: Path) -> Json:
    """The value in a JSON file's bytes; a StoreError that names the file where a stranger's bytes hold none."""
    try:
        value = from_json(data)
    except (ValueError, TypeError, RecursionError) as fault:
        raise StoreError(f"{path} is no JSON that can be read ({str(fault)[:80]}).") from None
    level = [value]
    for _ in range(DEEPEST):
        level = [item for one in level for item in _items(one)]
    if level:
        raise StoreError(f"{path} is nested more than {DEEPEST} levels deep.")
    return value


def _items(value: Json) -> Iterable[Json]:
    return value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()


def read_document(path: Path) -> dict[str, Json] | None:
    """The object ``to_sealed_json`` was given, None if there is no file; a StoreError if it is anything else."""
    data = read_sealed(path, DOCUMENT)
    document = {} if data is None else parse(data, path)
    if data is not None and (not isinstance(document, dict) or "seal" not in document):
        raise StoreError(f"{path} is no sealed document: a JSON object with its checksum under the key 'seal'.")
    document.pop("seal", None)
    return None if data is None else document


def read_plain(path: Path, most: int) -> bytes:
    """A plain file's bytes: no link is followed, no device or pipe opened, no more than ``most`` bytes are read.

    A missing file is a FileNotFoundError, anything else that is wrong a StoreError.
    """
    try:
        kind, size = path.lstat().st_mode, path.lstat().st_size
        if not stat.S_ISREG(kind):
            raise StoreError(f"{path} is {'a link' if stat.S_ISLNK(kind) else 'no plain file'}, and is not read.")
        if size > most:
            raise StoreError(f"{path} has {size} bytes, where at most {most} are expected.")
        plainly = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
        with open(os.open(path, os.O_RDONLY | plainly), "rb") as file:  # noqa: PTH123 (flags, which a Path lacks)
            return file.read(size)
    except FileNotFoundError:
        raise
    except (OSError, MemoryError) as fault:
        raise StoreError(f"{path} cannot be read ({getattr(fault, 'strerror', None) or fault}).") from fault


def read_sealed(path: Path, most: int = 2**31) -> bytes | None:
    """A sealed file's bytes, None if there is no file; a StoreError if it cannot be read or is not as written."""
    try:
        data = read_plain(path, most)
    except FileNotFoundError:
        return None
    if wrong := fault_in_seal(data):
        raise StoreError(f"{path} {wrong}.")
    return data


def is_there(path: Path) -> bool:
    """Whether there is anything of this name, be it a link or a file that may not be looked at."""
    try:
        path.lstat()
    except OSError as fault:
        return not isinstance(fault, FileNotFoundError)
    return True


def names_in(folder: Path) -> list[str]:
    """The names in a folder, none if it is not there; a StoreError if it cannot be read."""
    try:
        return sorted(path.name for path in folder.iterdir())
    except FileNotFoundError:
        return []
    except OSError as fault:
        kind = UsageError if fault.errno == errno.ELOOP else StoreError  # links in a circle stay as they are
        raise kind(f"{folder} cannot be read ({fault.strerror or fault}).") from fault


def read_inside(folder: Path, name: str, most: int) -> bytes:
    """A file's bytes in a folder that may be a stranger's: a UsageError where it is no plain file of at most ``most``
    bytes, or a link leads out of the folder.
    """
    path = folder / name
    try:
        if not path.resolve(strict=True).is_relative_to(folder.resolve()):
            raise UsageError(f"{path} is a link that leaves its folder, and is not read.")
        if not path.is_file():
            raise UsageError(f"{path} is no plain file, and is not read.")
        if (size := path.stat().st_size) > most:
            raise UsageError(f"{path} has {size:,} bytes, where at most {most:,} are expected.")
        return path.read_bytes()
    except (OSError, RuntimeError) as fault:  # links in a circle are a RuntimeError
        raise UsageError(f"{path} cannot be read: {getattr(fault, 'strerror', None) or fault}.") from None


# --- Writing ------------------------------------------------------------------------------------------------------


@contextmanager
def explained(path: Path) -> Iterator[None]:
    """Turn what the system says while ``path`` is written into one sentence a user can act on."""
    try:
        yield
    except OSError as fault:
        if fault.errno in (errno.ENOSPC, errno.EDQUOT):
            sentence = f"The disk is full, so {path} was not written; free some space, or choose a store elsewhere."
        elif fault.errno in (errno.EACCES, errno.EROFS, errno.EPERM):
            sentence = f"{path} may not be written; allow it, or choose a store in a folder of yours."
        else:
            sentence = f"{path} could not be written: {fault.strerror or fault}."
        raise StoreError(sentence) from fault


def write_through(path: Path, data: bytes) -> None:
    """Write a new file, through no link, and wait until the disk has it."""
    with path.open("xb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def sync_folder(path: Path) -> None:
    """Wait until the disk has the folder's list of names. Windows has no such call and needs none."""
    if os.name == "nt":
        return
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def move(source: Path, target: Path) -> None:
    """Rename, replacing a file that is there. On Windows a reader's open file stands in the way for a moment."""
    for patience in (0.01, 0.03, 0.1, 0.3) if os.name == "nt" else ():
        try:
            source.replace(target)
            return
        except PermissionError:
            time.sleep(patience)
    source.replace(target)


def delete(path: Path) -> None:
    """Delete a file, a link or a folder with all that is in it, as far as the system lets us; where a link leads to
    stays as it is.
    """
    if os.path.isdir(path) and not os.path.islink(path):  # noqa: PTH112, PTH114 (a Path's own raise errors)
        shutil.rmtree(path, ignore_errors=True)
    else:
        with suppress(OSError):
            path.unlink()


def write_atomically(path: Path, data: bytes) -> None:
    """Put ``data`` at ``path``: whoever reads, and whatever is killed, finds the old bytes or the new ones."""
    temporary = path.with_name(NEW + path.name)
    with explained(path):
        check_no_device(path)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            temporary.unlink(missing_ok=True)
            write_through(temporary, data)
            move(temporary, path)
            sync_folder(path.parent)
        except BaseException:
            with suppress(OSError):
                temporary.unlink()
            raise


def replace_folder(fresh: Path, folder: Path) -> None:
    """Put the folder ``fresh`` at ``folder``; what was there before is then at ``fresh``, or gone.

    Where the system can exchange two names, whoever reads, and whatever is killed, finds the old folder or the new
    one. Elsewhere the old one is aside for a moment, where `recover_folder` finds it.
    """
    if not folder.exists() or not _exchanged(fresh, folder):
        aside = folder.with_name(OLD + folder.name)
        try:
            if folder.exists():
                move(folder, aside)
            move(fresh, folder)
        finally:
            recover_folder(folder)


def recover_folder(folder: Path) -> None:
    """Bring back what a killed `replace_folder` has put aside, or remove it if it was replaced."""
    aside = folder.with_name(OLD + folder.name)
    if aside.exists() and not folder.exists():
        move(aside, folder)
    shutil.rmtree(aside, ignore_errors=True)


def _exchanged(one: Path, other: Path) -> bool:
    """Whether the two names were exchanged, in one step; not every system and file system can."""
    if sys.platform != "linux":
        return False
    here, exchange = -100, 2  # AT_FDCWD and RENAME_EXCHANGE of Linux
    renameat2 = getattr(ctypes.CDLL(None), "renameat2", None)
    return renameat2 is not None and renameat2(here, os.fsencode(one), here, os.fsencode(other), exchange) == 0

"""Text files as they come: plain, gzip or xz, UTF-8, with or without a byte order mark and carriage returns.

Lines end with a newline and nothing else, as other tools count them: a form feed or a line separator inside a line does
not start a new one.
"""

import gzip
import lzma
import os
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from attnlab.errors import UsageError

_BOM = b"\xef\xbb\xbf"
_SAVE = "; save its content as text"
_KINDS = {
    b"\xff\xfe\0\0": "text in UTF-32; convert it with `iconv -f utf-32 -t utf-8`",
    b"\0\0\xfe\xff": "text in UTF-32; convert it with `iconv -f utf-32 -t utf-8`",
    b"\xff\xfe": "text in UTF-16; convert it with `iconv -f utf-16 -t utf-8`",
    b"\xfe\xff": "text in UTF-16; convert it with `iconv -f utf-16 -t utf-8`",
    b"\x1f\x8b": "packed by gzip; unpack it, or let its name end with .gz",
    b"\xfd7zXZ\0": "packed by xz; unpack it, or let its name end with .xz",
    b"BZh": "packed by bzip2; unpack it",
    b"(\xb5/\xfd": "packed by zstd; unpack it",
    b"PK\x03\x04": f"a zip archive or an office document{_SAVE}",
    b"\xd0\xcf\x11\xe0": f"an office document{_SAVE}",
    b"%PDF-": f"a PDF document{_SAVE}",
    b"PAR1": "a Parquet table; the name of a table in Parquet ends with .parquet",
    b"\x89PNG": "a picture; a text is needed",
    b"\xff\xd8\xff": "a picture; a text is needed",
    b"GIF8": "a picture; a text is needed",
}
"""What a file is that begins with these bytes, whatever its name says."""
_OPEN: dict[str, Any] = {".gz": gzip.open, ".xz": lzma.open}


@contextmanager
def readable(path: Path, needed: str = "a file is needed") -> Iterator[None]:
    """Say in one sentence what goes wrong while ``path`` is read; where it is a folder, what is ``needed``."""
    try:
        if path.is_char_device() or path.is_block_device():
            raise UsageError(f"{path} is a device; {needed}.")
        if path.is_fifo() and path.absolute().parts[1] not in ("dev", "proc"):  # where a shell puts its own, and writes
            raise UsageError(f"{path} is a pipe, which nobody may ever write to; {needed}.")
        yield
    except FileNotFoundError:
        raise UsageError(f"There is no file {path}.") from None
    except (gzip.BadGzipFile, lzma.LZMAError, zlib.error, EOFError) as fault:
        raise UsageError(f"{path} is no whole {path.suffix} archive ({fault}).") from None
    except OSError as fault:
        folder = os.path.isdir(path)  # noqa: PTH112 (Path.is_dir raises where a name is too long)
        what = f"is a folder; {needed}" if folder else f"cannot be read: {fault.strerror or fault}"
        raise UsageError(f"{path} {what}.") from None


@contextmanager
def opened(path: Path, needed: str = "a file is needed") -> Iterator[IO[bytes]]:
    """The file's bytes, unpacked: for those too large for the memory, or not in UTF-8. What is no text is refused."""
    with readable(path, needed), _OPEN.get(path.suffix.lower(), Path.open)(path, "rb") as stream:
        first = stream.peek(8)[:8]
        if kind := next((kind for start, kind in _KINDS.items() if first.startswith(start)), None):
            raise UsageError(f"{path} is {kind}.")
        if b"\0" in first[:2]:  # as every letter of English has it there
            raise UsageError(f"{path} looks like text in UTF-16; convert it with `iconv -f utf-16le -t utf-8`.")
        yield stream


def read_utf8(path: Path) -> bytes:
    """A file's text as UTF-8 bytes that are known to be valid, without a byte order mark."""
    path = Path(path)
    with opened(path, "a text file is needed, plain, .gz or .xz") as stream:
        data = stream.read().removeprefix(_BOM)
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as fault:
        line = data.count(b"\n", 0, fault.start) + 1
        raise UsageError(
            f"{path}, line {line} is not UTF-8 (byte 0x{data[fault.start]:02x}); convert the file, "
            "for example with `iconv -f latin1 -t utf-8`."
        ) from None
    return data


def read_lines(path: Path) -> list[str]:
    """The lines of a file; line number n of an editor is entry n - 1. A last line without a newline counts too."""
    lines = read_utf8(path).decode("utf-8").split("\n")
    if lines[-1] == "":
        lines.pop()
    return [line.removesuffix("\r") for line in lines]


def absolute_name(path: Path) -> str:
    """A file's name that is found again from whichever folder one is in, and can be kept as text."""
    name = str(Path(path).absolute())
    try:
        name.encode()
    except UnicodeEncodeError:
        raise UsageError(f"{name!r}: the name of a file to train on is text in UTF-8; rename it.") from None
    return name

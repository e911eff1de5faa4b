"""Files read piece by piece, plain, gzip or xz: those too large for the memory, and those that are not UTF-8."""

import gzip
import lzma
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, cast

from attnlab.errors import UsageError


@contextmanager
def opened(path: Path) -> Iterator[IO[bytes]]:
    """The file's bytes, unpacked; a fault while it is open is told in one sentence."""
    try:
        with _open(path) as stream:
            yield stream
    except FileNotFoundError:
        raise UsageError(f"There is no file {path}.") from None
    except (gzip.BadGzipFile, lzma.LZMAError, zlib.error, EOFError) as fault:
        raise UsageError(f"{path} is no whole {path.suffix} archive ({fault}).") from None
    except OSError as fault:
        what = "is a folder; a file is needed" if path.is_dir() else f"cannot be read: {fault.strerror or fault}"
        raise UsageError(f"{path} {what}.") from None


def _open(path: Path) -> IO[bytes]:
    if path.suffix.lower() == ".gz":
        return cast(IO[bytes], gzip.open(path, "rb"))
    if path.suffix.lower() == ".xz":
        return lzma.open(path, "rb")
    return path.open("rb")


def read_bytes(path: Path) -> bytes:
    """The whole file, unpacked."""
    with opened(path) as stream:
        return stream.read()

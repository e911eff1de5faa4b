"""Files of the data folder for machines that have none: kept in the cache as one, and laid out there as they were.

Most corpora travel preprocessed. What is read by its files alone, such as word vectors, travels as it is.
"""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory

import numpy as np

from attnlab.data.cache import content_key, read_cached, write_cached
from attnlab.data.reading import readable
from attnlab.errors import UsageError

PREFIX = "files-"
VARIABLE = "ATTNLAB_DATA"


def keep_files(paths: Sequence[Path]) -> str:
    """Keep these files, by their names below the data folder; the name of what is kept. One that is elsewhere is kept
    by its own name.
    """
    root = Path(os.environ.get(VARIABLE) or ".").absolute()
    arrays = {}
    for path in paths:
        inside = path.absolute().is_relative_to(root)
        name = path.absolute().relative_to(root).as_posix() if inside else path.name
        with readable(path):
            arrays[name] = np.frombuffer(path.read_bytes(), np.uint8)
    key = PREFIX + content_key(paths, *sorted(arrays))
    if read_cached(key) is None:
        write_cached(key, arrays, None)
    return key


@contextmanager
def data_from(keys: Sequence[str]) -> Iterator[None]:
    """Within the block, the data folder holds the files kept under these names and nothing else; without any such name
    it is the machine's own.
    """
    wanted = [key for key in keys if key.startswith(PREFIX)]
    if not wanted:
        yield
        return
    before = os.environ.get(VARIABLE)
    with TemporaryDirectory(prefix="attnlab-data-") as folder:
        for key in wanted:
            _lay_out(key, Path(folder))
        os.environ[VARIABLE] = folder
        try:
            yield
        finally:
            os.environ.pop(VARIABLE)
            if before is not None:
                os.environ[VARIABLE] = before


def _lay_out(key: str, folder: Path) -> None:
    stored = read_cached(key)
    if stored is None:
        raise UsageError("Files that were sent to this machine are not whole in its cache.")
    for name, content in stored[0].items():
        plain = PurePosixPath(name)
        if plain.is_absolute() or ".." in plain.parts or not plain.parts:
            raise UsageError(f"A file that was sent to this machine has the name {name[:80]!r}, which leads elsewhere.")
        path = folder / plain
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.tobytes())

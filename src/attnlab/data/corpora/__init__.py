"""The corpora that are known by name, one file each: where their files are, how they are read, what the paper says.

``corpus`` has the records they share, ``hub`` the way through the network.
"""

import difflib
import os
from contextlib import suppress
from pathlib import Path

from attnlab.data.corpora import ag_news, amazon, imdb, newsgroups, sms, sst, yelp
from attnlab.data.corpora.corpus import Known
from attnlab.errors import UsageError

KNOWN: dict[str, Known] = {
    module.KNOWN.name: module.KNOWN for module in (imdb, ag_news, newsgroups, sst, amazon, yelp, sms)
}

OTHERWISE: dict[str, Known] = {newsgroups.BODIES.name: newsgroups.BODIES}
"""Corpora from the same files as a known one, read otherwise, for experiments on what that changes."""


def known_corpus(name: str) -> Known:
    """What is known of a corpus; a UsageError that lists the names if it is none."""
    if name in OTHERWISE:
        return OTHERWISE[name]
    if name not in KNOWN:
        close = difflib.get_close_matches(name, KNOWN, n=1)
        hint = f" Did you mean {close[0]!r}?" if close else ""
        raise UsageError(f"There is no corpus {name!r}; the corpora are {', '.join(KNOWN)}.{hint}")
    return KNOWN[name]


def data_folder(root: Path | None) -> Path:
    """``root``, else the folder that ATTNLAB_DATA names; a UsageError if there is none."""
    named = root or os.environ.get("ATTNLAB_DATA")
    if not named:
        raise UsageError("No data folder is given: name one, or set ATTNLAB_DATA to a folder that holds the corpora.")
    folder = Path(named)
    with suppress(OSError):  # a name may be too long
        if folder.is_dir():
            return folder
    raise UsageError(f"The data folder {folder} is not there.")

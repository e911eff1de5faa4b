"""20 Newsgroups, baseball against hockey, split by date.

The mail headers stay, as they are in the files (the paper's source is not known), but for those that name the group:
the by-date archive is without them already, other versions are not. `BODIES` are the same messages without any header.
"""

import re
from dataclasses import replace
from pathlib import Path

from attnlab.data.corpora.corpus import Found, HubSource, Known, PaperSizes, Part, Raw, find_files, find_folders
from attnlab.data.labelled_file import read_columns
from attnlab.data.reading import opened
from attnlab.data.tokens import TokenRule

GROUPS = ("rec.sport.baseball", "rec.sport.hockey")
FOLDERS = ("20newsgroups", "20news-bydate", "20newsgroups/20news-bydate", ".")
TRAIN, TEST = "20news-bydate-train", "20news-bydate-test"
_NAMING = re.compile(r"^(Newsgroups|Path|Xref|Followup-To):.*(\n[ \t]+.*)*\n?", re.IGNORECASE | re.MULTILINE)


def read_bodies(found: Found) -> Raw:
    """Both splits without mail headers: of every message what follows its first empty line."""
    raw = read(found)
    assert raw.test is not None  # it is split by date
    train, test = (
        replace(part, texts=[text.partition("\n\n")[2] for text in part.texts]) for part in (raw.train, raw.test)
    )
    return Raw(train, test, ("All mail headers are left out, the lines with sender and subject too.", *raw.notes[1:]))


def read(found: Found) -> Raw:
    """Both splits."""
    folders = found.form == "folders"
    part = _folder if folders else _table
    (train, first_lines, first_count), (test, more_lines, more_count) = part(found.train), part(found.test)
    naming = first_lines + more_lines
    notes = ["The mail headers stay; none of them names the newsgroup."]
    if naming:
        notes = [f"{naming} header lines that name the newsgroup are left out; all other mail headers stay."]
    if folders and first_count + more_count:
        notes.append(f"{first_count + more_count} messages with bytes beyond ASCII are read as Latin-1.")
    if not folders and first_count + more_count:
        notes.append(f"{first_count} training and {more_count} test messages of other groups are left out.")
    return Raw(train, test, tuple(notes))


def _folder(files: tuple[Path, ...]) -> tuple[Part, int, int]:
    """Messages are of 1993, in Latin-1, in which every byte is a character. The last number: how many are not ASCII."""
    texts = []
    for path in files:
        with opened(path) as stream:
            texts.append(stream.read().decode("latin-1"))
    beyond = sum(not text.isascii() for text in texts)
    return *_without_naming(texts, [GROUPS.index(path.parent.name) for path in files]), beyond


def _table(files: tuple[Path, ...]) -> tuple[Part, int, int]:
    """The last number: how many messages are of other groups. An empty line is no message."""
    texts, groups = (column.to_pylist() for column in read_columns(files[0], ["text", "group"]))
    rows = [row for row, group in enumerate(groups) if group in GROUPS]
    others = sum(bool(text or group) for text, group in zip(texts, groups, strict=True)) - len(rows)
    return *_without_naming([texts[row] for row in rows], [GROUPS.index(groups[row]) for row in rows]), others


def _without_naming(texts: list[str], labels: list[int]) -> tuple[Part, int]:
    """The texts without the header lines that name the group, and how many lines those were."""
    clean, removed = [], 0
    for text in texts:
        head, blank, body = text.replace("\r\n", "\n").partition("\n\n")
        head, count = _NAMING.subn("", head)
        clean.append(head + blank + body)
        removed += count
    return Part(clean, labels), removed


KNOWN = Known(
    name="20newsgroups",
    title="20 Newsgroups, baseball against hockey",
    classes=("baseball", "hockey"),
    find=lambda root: (
        find_folders(root, FOLDERS, (TRAIN, TEST), GROUPS)
        or find_files(root, FOLDERS, ("JSON lines", [f"{TRAIN}.jsonl"], [f"{TEST}.jsonl"]))
    ),
    read=read,
    get="the by-date version of 20 Newsgroups (qwone.com/~jason/20Newsgroups): "
    "the folders 20news-bydate-train and 20news-bydate-test",
    rule=TokenRule(underscores=True, numbers=True),
    paper=PaperSizes(vocabulary=12488),
    hub=HubSource("SetFit/20_newsgroups", ("text",), "label_text", {"rec.sport.baseball": 0, "rec.sport.hockey": 1}),
)

BODIES = replace(
    KNOWN,
    name="20newsgroups-bodies",
    title="20 Newsgroups, baseball against hockey, without mail headers",
    read=read_bodies,
    paper=PaperSizes(),
    hub=None,
)

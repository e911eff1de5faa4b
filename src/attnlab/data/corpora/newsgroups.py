"""20 Newsgroups, baseball against hockey, split by date.

The mail headers stay, as they stand in the files (the paper's source is not known), but for those that name the group:
the by-date archive is without them already, other versions are not.
"""

import re
from pathlib import Path

from attnlab.data.corpora.corpus import Found, HubSource, Known, PaperSizes, Part, Raw, first
from attnlab.data.labelled_file import read_columns
from attnlab.data.opening import read_bytes
from attnlab.data.tokens import TokenRule

GROUPS = ("rec.sport.baseball", "rec.sport.hockey")
TRAIN, TEST = "20news-bydate-train", "20news-bydate-test"
_TELLING = re.compile(r"^(Newsgroups|Path|Xref|Followup-To):.*(\n[ \t]+.*)*\n?", re.IGNORECASE | re.MULTILINE)


def find(root: Path) -> Found | None:
    """The archive's folders ``20news-bydate-{train,test}``; or files of those names in JSON lines."""
    for folder in (root / "20newsgroups", root / "20news-bydate", root / "20newsgroups" / "20news-bydate", root):
        if all((folder / part / group).is_dir() for part in (TRAIN, TEST) for group in GROUPS):
            return Found("folders", _messages(folder / TRAIN), _messages(folder / TEST))
        train, test = first(folder, f"{TRAIN}.jsonl"), first(folder, f"{TEST}.jsonl")
        if train and test:
            return Found("JSON lines", (train,), (test,))
    return None


def _messages(folder: Path) -> tuple[Path, ...]:
    return tuple(path for group in GROUPS for path in sorted((folder / group).iterdir()) if path.is_file())


def read(found: Found) -> Raw:
    """Both splits."""
    folders = found.form == "folders"
    part = _folder if folders else _table
    (train, first_lines, first_count), (test, more_lines, more_count) = part(found.train), part(found.test)
    telling = first_lines + more_lines
    notes = ["The mail headers stay; none of them names the newsgroup."]
    if telling:
        notes = [f"{telling} header lines that name the newsgroup are left out; all other mail headers stay."]
    if folders and first_count + more_count:
        notes.append(f"{first_count + more_count} messages with bytes beyond ASCII are read as Latin-1.")
    if not folders and first_count + more_count:
        notes.append(f"{first_count} training and {more_count} test messages of other groups are left out.")
    return Raw(train, test, tuple(notes))


def _folder(files: tuple[Path, ...]) -> tuple[Part, int, int]:
    """Messages are of 1993, in Latin-1, in which every byte is a character. The last number: how many are not ASCII."""
    texts = [read_bytes(path).decode("latin-1") for path in files]
    beyond = sum(not text.isascii() for text in texts)
    return *_without_telling(texts, [GROUPS.index(path.parent.name) for path in files]), beyond


def _table(files: tuple[Path, ...]) -> tuple[Part, int, int]:
    """The last number: how many messages are of other groups. An empty line is no message."""
    texts, groups = (column.to_pylist() for column in read_columns(files[0], ["text", "group"]))
    rows = [row for row, group in enumerate(groups) if group in GROUPS]
    others = sum(bool(text or group) for text, group in zip(texts, groups, strict=True)) - len(rows)
    return *_without_telling([texts[row] for row in rows], [GROUPS.index(groups[row]) for row in rows]), others


def _without_telling(texts: list[str], labels: list[int]) -> tuple[Part, int]:
    """The texts without the header lines that name the group, and how many lines those were."""
    clean, removed = [], 0
    for text in texts:
        head, blank, body = text.replace("\r\n", "\n").partition("\n\n")
        head, count = _TELLING.subn("", head)
        clean.append(head + blank + body)
        removed += count
    return Part(clean, labels), removed


KNOWN = Known(
    name="20newsgroups",
    title="20 Newsgroups, baseball against hockey",
    classes=("baseball", "hockey"),
    find=find,
    read=read,
    get="the by-date version of 20 Newsgroups (qwone.com/~jason/20Newsgroups): "
    "the folders 20news-bydate-train and 20news-bydate-test",
    rule=TokenRule(underscores=True, numbers=True),
    paper=PaperSizes(vocabulary=12488),
    hub=HubSource("SetFit/20_newsgroups", ("text",), "label_text", {"rec.sport.baseball": 0, "rec.sport.hockey": 1}),
)

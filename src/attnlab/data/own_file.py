"""A user's own labelled texts: which labels make which class, which rows cannot be used, what is held out."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from attnlab.data.corpora.corpus import Part, Raw
from attnlab.data.labelled_file import has_header, read_columns
from attnlab.errors import UsageError
from attnlab.seeds import numpy_generator

SHOWN = 5
"""Rows and labels that a sentence names; of more it says how many."""


def given_labels(column: pa.Array) -> pa.Array:
    """The labels without blanks around them, and empty where there is none: ``nan`` is how a missing one is saved.

    >>> given_labels(pa.array(["NaN", " good", ""], pa.large_string())).to_pylist()
    ['', 'good', '']
    """
    labels = pc.utf8_trim_whitespace(column)
    return pc.if_else(pc.equal(pc.utf8_lower(labels), "nan"), pa.scalar("", labels.type), labels)


def id_like(labels: int, rows: int) -> str:
    """A sentence's beginning, if there are nearly as many different labels as rows with one; else an empty text.

    >>> id_like(950, 1000)
    '950 different labels in 1000 rows look like ids or measurements, not like classes'
    """
    few_rows = rows < 10  # where every label may be new by chance
    if few_rows or labels < 0.9 * rows:
        return ""
    return f"{labels} different labels in {rows} rows look like ids or measurements, not like classes"


def parse_groups(groups: str | Mapping[str, str] | None) -> dict[str, str] | None:
    """Label -> class, from a text such as ``"1,2=neg 4,5=pos"``; the classes keep its order.

    >>> parse_groups("1,2=neg 4,5=pos")
    {'1': 'neg', '2': 'neg', '4': 'pos', '5': 'pos'}
    """
    if groups is None:
        return None
    if not isinstance(groups, str):
        pairs = [(str(label), str(name)) for label, name in groups.items()]
    else:
        pairs = []
        for group in groups.split():
            labels, equals, name = group.partition("=")
            if not equals or not name or "=" in name or not all(labels.split(",")):
                raise UsageError(f"{group!r} is no group of labels; write groups as in '1,2=neg 4,5=pos'.")
            pairs += [(label, name) for label in labels.split(",")]
    if twice := [label for label, count in Counter(label for label, _ in pairs).items() if count > 1]:
        raise UsageError(f"The label {twice[0]!r} is named twice in the groups; each belongs to one class.")
    if len({name for _, name in pairs}) < 2:
        raise UsageError(f"The groups of labels {groups!r} must make two or more classes, as '1,2=neg 4,5=pos' does.")
    return dict(pairs)


def check_groups(path: Path, column: str, grouping: Mapping[str, str], there: set[str]) -> None:
    """Refuse a label in the groups that is not ``there``."""
    if missing := [one for one in grouping if one not in there]:
        raise UsageError(f"{path} has no label {missing[0]!r} in its column {column!r}; its labels are {few(there)}.")


def read_own(
    path: Path, text: str, label: str, grouping: Mapping[str, str] | None, valid: Path | None
) -> tuple[tuple[str, ...], Raw]:
    """The classes' names, and the texts with a label that belongs to one of them."""
    texts, labels = _columns(path, text, label)
    there = set(labels) - {""}
    if len(there) < 2:
        what = f"has only the label {few(there)}" if there else "has no label"
        raise UsageError(f"{path} {what} in its column {label!r}; two or more classes are needed.")
    if grouping is None:
        if why := id_like(len(there), len(labels) - labels.count("")):
            raise UsageError(f"{path}: {why}; name another column than {label!r}, or map labels to classes.")
        grouping = {one: one for one in _in_order(there)}
    check_groups(path, label, grouping, there)
    classes = tuple(dict.fromkeys(grouping.values()))
    train, notes = _part(path, texts, labels, classes, grouping)
    if valid is None:
        return classes, Raw(train, None, tuple(notes))
    texts, labels = _columns(valid, text, label)
    for row, one in enumerate(labels, 1):
        if one and one not in there and one not in grouping:
            raise UsageError(
                f"{valid}, row {row}: the label {one[:40]!r} is not in {path}, whose labels are {few(there)}."
            )
    held_out, more = _part(valid, texts, labels, classes, grouping)
    return classes, Raw(train, held_out, (*notes, *more))


def check_classes(raw: Raw, classes: Sequence[str], keep: NDArray[np.bool_], longest: int | None) -> None:
    """Refuse a class with too few texts, by its rows. ``keep``: (texts,) those of both parts that are not left out.

    Without a file to validate on, each class needs a text for either part.
    """
    border = len(raw.train.texts)
    if raw.test is None:
        _check_part(raw.train, classes, keep, 2, "to train and one to validate on", longest)
    else:
        _check_part(raw.train, classes, keep[:border], 1, "to train on", longest)
        _check_part(raw.test, classes, keep[border:], 1, "to validate on", longest)


def _check_part(
    part: Part, classes: Sequence[str], keep: NDArray[np.bool_], fewest: int, purpose: str, longest: int | None
) -> None:
    labels, rows = np.asarray(part.labels, np.int64), np.asarray(part.rows)
    short = np.flatnonzero(np.bincount(labels[keep], minlength=len(classes)) < fewest)
    if not len(short):
        return
    name = f"the class {classes[short[0]][:40]!r}"
    left, lost = (rows[(labels == short[0]) & chosen] for chosen in (keep, ~keep))
    why = "no word" if longest is None else f"no word or more than {longest}"
    lost_rows = f" ({_named_rows(lost)} {'has' if len(lost) == 1 else 'have'} {why})" if len(lost) else ""
    if fewest == 1:
        raise UsageError(f"{part.path} has no text of {name} {purpose}{lost_rows}; each class needs one.")
    where = f"{part.path}, row {left[0]}: no other text" if len(left) else f"{part.path}: no text"
    what = f"of {name} can be used{lost_rows}" if lost_rows else f"is of {name}"
    raise UsageError(f"{where} {what}; each class needs two texts, one {purpose}. A map of labels can leave it out.")


def hold_out_fifth(labels: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which texts are held out, (texts,): a fifth of each class, or less so that all together are about 4000.

    At least one of each class is held out, and at least one is not.
    """
    share = min(1 / 5, 4000 / max(len(labels), 1))
    held_out = np.zeros(len(labels), bool)
    generator = numpy_generator(0, "split", "own file")
    for label in np.unique(labels):
        rows = np.flatnonzero(labels == label)
        size = min(max(int(share * len(rows)), 1), len(rows) - 1)
        held_out[generator.permutation(rows)[:size]] = True
    return held_out


def count_rows(places: NDArray[np.int64], rows: Sequence[int] | None, what: str, which: str) -> str:
    """A sentence on texts that are left out.

    >>> count_rows(np.array([0, 2]), [1, 2, 3], "text", "without a word")
    '2 texts without a word are left out (rows 1, 3).'
    """
    count = len(places)
    named = ""
    if rows is not None:
        named = f" ({_named_rows([rows[place] for place in places[: SHOWN + 1]])})"
    return f"{count} {what}{'s' * (count > 1)} {which} {'is' if count == 1 else 'are'} left out{named}."


def _named_rows(rows: Sequence[int] | NDArray[np.int64]) -> str:
    first = ", ".join(map(str, rows[:SHOWN]))
    return f"row{'s' * (len(rows) > 1)} {first}{', ...' * (len(rows) > SHOWN)}"


def explain_rows(notes: Sequence[str], *files: Path | None) -> tuple[str, ...]:
    """The notes, and once after them how rows are counted, where they name rows and a file has a header.

    >>> explain_rows(["a.csv: 1 text without a word is left out (row 3)."], Path("a.csv"))[1]
    'Rows are counted without the header: row 1 is the first below it.'
    """
    named = any(re.search(r"\brows? \d", note) for note in notes)
    if not named or not any(path is not None and has_header(path) for path in files):
        return tuple(notes)
    return (*notes, "Rows are counted without the header: row 1 is the first below it.")


def few(labels: set[str]) -> str:
    """Some labels, as a sentence names them."""
    ordered = _in_order(labels)
    return ", ".join(repr(one[:40]) for one in ordered[:20]) + (", ..." if len(ordered) > 20 else "")


def _columns(path: Path, text: str, label: str) -> tuple[list[str], list[str]]:
    texts, labels = read_columns(path, [text, label])
    return texts.to_pylist(), [one.strip() for one in given_labels(labels).to_pylist()]


def _in_order(labels: set[str]) -> tuple[str, ...]:
    """By value if all are numbers, else alphabetically."""
    try:
        return tuple(sorted(labels, key=lambda one: (float(one), one)))
    except ValueError:
        return tuple(sorted(labels))


def _part(
    path: Path, texts: list[str], labels: list[str], classes: tuple[str, ...], grouping: Mapping[str, str]
) -> tuple[Part, list[str]]:
    """The rows whose label belongs to a class, and a sentence on each kind of row that has none."""
    places = {label: classes.index(name) for label, name in grouping.items()}
    chosen = [row for row, label in enumerate(labels) if label in places]
    notes = []
    every = range(1, len(labels) + 1)
    if missing := [row for row, label in enumerate(labels) if not label]:
        notes.append(f"{path.name}: " + count_rows(np.array(missing), every, "row", "without a label"))
    others = Counter(label for label in labels if label and label not in places)
    notes += [
        f"{path.name}: " + count_rows(np.arange(count), None, "row", f"with the label {other[:40]!r}")
        for other, count in others.most_common(SHOWN)
    ]
    if len(others) > SHOWN:
        rest = sum(others.values()) - sum(count for _, count in others.most_common(SHOWN))
        notes.append(f"{path.name}: {rest} rows with {len(others) - SHOWN} other labels are left out.")
    rows = [row + 1 for row in chosen]
    return Part([texts[row] for row in chosen], [places[labels[row]] for row in chosen], rows, path), notes

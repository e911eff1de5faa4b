"""Yelp reviews: 4 and 5 stars against 1 and 2; 3 stars are left out. There is no official split.

The paper took 20,000 reviews and does not say which: of the academic dataset's JSON lines, which are several gigabytes,
the first 20,000 that have not 3 stars are read, and no more.
"""

import json
from collections.abc import Iterator
from pathlib import Path

from attnlab.data.corpora.corpus import Found, HubSource, Known, PaperSizes, Part, Raw, find_files
from attnlab.data.labelled_file import read_columns
from attnlab.data.reading import opened
from attnlab.errors import UsageError

MOST = 20_000


def read(found: Found) -> Raw:
    """Reviews and which side of 3 stars they are on."""
    path = found.train[0]
    reviews = _table(path) if found.form == "CSV" else _json_lines(path)
    texts, labels, middle, empty = [], [], 0, 0
    for where, text, stars in reviews:
        if stars is None:
            empty += 1
            continue
        if not 1 <= stars <= 5:
            raise UsageError(f"{path}, {where}: a review has 1 to 5 stars, not {stars:g}.")
        if 2 < stars < 4:
            middle += 1
            continue
        texts.append(text)
        labels.append(int(stars >= 4))
        if len(texts) == MOST and found.form != "CSV":
            break
    notes = [f"{middle} reviews with 3 stars are left out."]
    if empty:
        notes.append(f"{empty} row{'s' * (empty > 1)} without text and stars {'is' if empty == 1 else 'are'} left out.")
    return Raw(Part(texts, labels), None, tuple(notes))


def _table(path: Path) -> Iterator[tuple[str, str, float | None]]:
    """Where each review is, its text and its stars; None for the stars of a row with neither, as an empty line."""
    texts, stars = (column.to_pylist() for column in read_columns(path, ["text", "stars"]))
    for row, (text, number) in enumerate(zip(texts, stars, strict=True), 1):
        try:
            yield f"row {row}", text, float(number) if text or number else None
        except ValueError:
            raise UsageError(f"{path}, row {row}: a number of stars is expected, not {number[:40]!r}.") from None


def _json_lines(path: Path) -> Iterator[tuple[str, str, float]]:
    with opened(path) as lines:
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            try:
                review = json.loads(line)
                text, stars = review["text"], float(review["stars"])
            except (ValueError, KeyError, TypeError, RecursionError):
                text = None
            if not isinstance(text, str):
                raise UsageError(f'{path}, line {number} is no review such as {{"stars": 4, "text": "..."}}.')
            yield f"line {number}", text, stars


KNOWN = Known(
    name="yelp",
    title="Yelp reviews",
    classes=("negative", "positive"),
    find=lambda root: find_files(
        root,
        ("yelp", "yelp_dataset", "."),
        ("JSON lines", ["yelp_academic_dataset_review.json"], []),
        ("CSV", ["yelp_10k_stars.csv"], []),
    ),
    read=read,
    get="the Yelp Open Dataset (www.yelp.com/dataset): yelp/yelp_academic_dataset_review.json; "
    "or a table yelp/yelp_10k_stars.csv with the columns stars and text",
    paper=PaperSizes(vocabulary=41368),
    hub=HubSource("Yelp/yelp_review_full", ("text",), "label", {0: 0, 1: 0, 3: 1, 4: 1}, test=None, most=MOST),
)

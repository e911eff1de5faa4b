"""Yelp reviews: 4 and 5 stars against 1 and 2; 3 stars are left out. There is no official split.

The paper took 20,000 reviews and does not say which: of the academic dataset's JSON lines, which are several gigabytes,
the first 20,000 that have not 3 stars are read, and no more.
"""

import json
from pathlib import Path

from attnlab.errors import UsageError
from attnlab.tasks.corpora.corpus import Found, HubSource, Known, PaperSizes, Part, Raw, as_numbers, first
from attnlab.tasks.labelled_file import read_columns
from attnlab.tasks.opening import opened

MOST = 20_000
JSON_FILE, TABLE = "yelp_academic_dataset_review.json", "yelp_10k_stars.csv"


def find(root: Path) -> Found | None:
    """The academic dataset's reviews in JSON lines, or a table with the columns stars and text."""
    for folder in (root / "yelp", root / "yelp_dataset", root):
        if path := first(folder, JSON_FILE, "review.json"):
            return Found("JSON lines", (path,))
        if path := first(folder, TABLE, "yelp.csv"):
            return Found("CSV", (path,))
    return None


def read(found: Found) -> Raw:
    """Reviews and which side of 3 stars they are on."""
    path = found.train[0]
    if found.form == "CSV":
        texts, stars = _table(path)
    else:
        texts, stars = _json_lines(path)
    rows = [row for row, number in enumerate(stars) if number != 3]
    middle = len(stars) - len(rows)
    part = Part([texts[row] for row in rows], [int(stars[row] > 3) for row in rows])
    return Raw(part, None, (f"{middle} reviews with 3 stars are left out.",))


def _table(path: Path) -> tuple[list[str], list[float]]:
    texts, stars = read_columns(path, ["text", "stars"])
    return texts.to_pylist(), as_numbers(path, stars.to_pylist())


def _json_lines(path: Path) -> tuple[list[str], list[float]]:
    """Reviews up to the last of the first 20,000 that have not 3 stars."""
    texts: list[str] = []
    stars: list[float] = []
    fitting = 0
    with opened(path) as lines:
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            try:
                review = json.loads(line)
                text, star = review["text"], float(review["stars"])
            except (ValueError, KeyError, TypeError):
                raise UsageError(f'{path}, line {number} is no review such as {{"stars": 4, "text": "..."}}.') from None
            texts.append(str(text))
            stars.append(star)
            fitting += star != 3
            if fitting == MOST:
                break
    return texts, stars


KNOWN = Known(
    name="yelp",
    title="Yelp reviews",
    classes=("negative", "positive"),
    find=find,
    read=read,
    get="the Yelp Open Dataset (www.yelp.com/dataset): yelp/yelp_academic_dataset_review.json; "
    "or a table yelp/yelp_10k_stars.csv with the columns stars and text",
    paper=PaperSizes(vocabulary=41368),
    hub=HubSource("Yelp/yelp_review_full", ("text",), "label", {0: 0, 1: 0, 3: 1, 4: 1}),
)

"""Amazon reviews below 400 words, of the multi-domain sentiment set (Blitzer, Dredze and Pereira 2007).

Its labels are those of its files: positive is more than three stars, negative fewer. There is no official split.
"""

import re

from attnlab.data.corpora.corpus import Found, Known, PaperSizes, Part, Raw, find_files
from attnlab.data.reading import opened
from attnlab.errors import UsageError

LABELS = ("negative", "positive")
FILES = [f"{domain}/{label}.review" for domain in ("books", "dvd", "electronics", "kitchen") for label in LABELS]
_TEXT = re.compile(r"<review_text>(.*?)</review_text>", re.DOTALL)


def read(found: Found) -> Raw:
    """The texts between ``<review_text>`` and its end; the files look like XML and are none."""
    texts: list[str] = []
    labels: list[int] = []
    latin: list[int] = []
    for path in found.train:
        with opened(path) as stream:
            data, is_utf8 = _decoded(stream.read())
        reviews, begun = _TEXT.findall(data), data.count("<review_text>")
        if not reviews or len(reviews) != begun:
            raise UsageError(
                f"{path} has {begun} times <review_text> and {len(reviews)} whole reviews; as many are expected."
            )
        texts += reviews
        labels += [int("positive" in path.name)] * len(reviews)
        if not is_utf8:
            latin.append(sum(not review.isascii() for review in reviews))
    be = "is" if len(latin) == 1 else "are"
    note = (
        f"{len(latin)} of {len(found.train)} files {be} not UTF-8 and {be} read as Latin-1, "
        f"{sum(latin)} texts with letters beyond ASCII among them."
    )
    return Raw(Part(texts, labels), None, (note,) if latin else ())


def _decoded(data: bytes) -> tuple[str, bool]:
    """The text, and whether it is UTF-8.

    The archive does not say its encoding: UTF-8 where the bytes are, else Latin-1, which takes every byte.
    """
    try:
        return data.decode("utf-8"), True
    except UnicodeDecodeError:
        return data.decode("latin-1"), False


KNOWN = Known(
    name="amazon",
    title="Amazon reviews below 400 words",
    classes=LABELS,
    find=lambda root: find_files(
        root,
        ("amazon_blitzer", "sorted_data_acl", "amazon_blitzer/sorted_data_acl"),
        ("positive.review and negative.review", FILES, []),  # as the archive unpacks, or books.positive.review
        ("positive.review and negative.review", [name.replace("/", ".") for name in FILES], []),
    ),
    read=read,
    get="the Multi-Domain Sentiment Dataset (Blitzer, Dredze and Pereira 2007), its four labelled domains: "
    "sorted_data_acl/books/positive.review and so on",
    longest=399,
    paper=PaperSizes(valid=4000, vocabulary=37110),
)

"""News Commentary v14: two columns between a tab, split 90-10 as in P3, pairs of numbers alone left out."""

import re
from pathlib import Path

import numpy as np

from attnlab.data.bitexts.pairs import KnownBitext, RawBitext, hold_out_tenth, read_tabbed
from attnlab.data.corpora.corpus import first

_LETTER = re.compile(r"[^\W\d_]")


def find(root: Path, source: str, target: str) -> tuple[Path, ...] | None:
    """The official file of these languages."""
    for folder in ("news_commentary", "news-commentary", "news-commentary-v14"):
        if path := first(root / folder, f"news-commentary-v14.{source}-{target}.tsv"):
            return (path,)
    return None


def read(files: tuple[Path, ...], source: str, target: str) -> RawBitext:
    """Nine tenths to train on, one to validate on. Lines without text, between articles, are no pairs."""
    pairs = read_tabbed(files[0])
    texts = np.array([bool(a.strip() or b.strip()) for a, b in zip(pairs.source, pairs.target, strict=True)], bool)
    letters = [_LETTER.search(a + b) is not None for a, b in zip(pairs.source, pairs.target, strict=True)]
    numbers = texts & ~np.array(letters, bool)
    notes = (f"{numbers.sum()} pairs of numbers alone are left out.",) if numbers.any() else ()
    kept = pairs.select(np.flatnonzero(texts & ~numbers))
    return RawBitext(*hold_out_tenth(kept, f"news-commentary/{source}-{target}"), notes=notes)


KNOWN = KnownBitext(
    name="news-commentary",
    title="News Commentary v14",
    pairs=(("en", "nl"), ("en", "pt"), ("it", "pt"), ("en", "it"), ("de", "en"), ("en", "fr"), ("en", "es")),
    find=find,
    read=read,
    get="News Commentary v14 of WMT (the two-column TSV of two languages): "
    "news_commentary/news-commentary-v14.en-nl.tsv.gz",
    scored={("en", "nl"): 107_361},
)

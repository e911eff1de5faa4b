"""The texts on which the intervals of `attnlab samples` are tried: of corpora its curves were not chosen on."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from os import environ
from pathlib import Path

import numpy as np

from attnlab.data.corpora import KNOWN
from attnlab.data.corpora.corpus import Found, Part
from attnlab.data.sentence_pairs import SentencePairs
from attnlab.data.texts import LabelledTexts, read_texts
from attnlab.data.tokens import TokenRule
from attnlab.lab.claims import Preset
from attnlab.seeds import numpy_generator

MOST = 5000
"""Texts of a task, drawn at random from a larger corpus."""
DOMAINS = ("books", "dvd", "electronics", "kitchen")
GROUPS = {
    "baseball, hockey": "rec.sport.baseball=baseball rec.sport.hockey=hockey",
    "medicine, space": "sci.med=medicine sci.space=space",
    "PC, Mac": "comp.sys.ibm.pc.hardware=PC comp.sys.mac.hardware=Mac",
    "atheism, Christianity": "alt.atheism=atheism soc.religion.christian=Christianity",
}
"""Pairs of newsgroups, from easy to hard."""
SMALLEST = ("Amazon kitchen", "20 Newsgroups: baseball, hockey")
"""The tasks of `quick`."""

Reader = Callable[[Found], LabelledTexts]


def of_part(part: Part, classes: Sequence[str], rule: TokenRule, path: Path) -> LabelledTexts:
    """Texts that a known corpus has read; those without words are left out."""
    words = [rule.words(text) for text in part.texts]
    kept = [k for k, one in enumerate(words) if one]
    labels = [[classes[part.labels[k]]] for k in kept]
    left_out = tuple(k + 1 for k, one in enumerate(words) if not one)
    return LabelledTexts(SentencePairs.from_tokens([words[k] for k in kept], labels), left_out, path)


def whole(corpus: str, found: Found) -> LabelledTexts:
    """The training texts of a known corpus, with its classes."""
    known = KNOWN[corpus]
    return of_part(known.read(found).train, known.classes, known.rule, found.train[0])


def amazon_domain(domain: str, found: Found) -> LabelledTexts:
    """The reviews of one domain."""
    files = tuple(path for path in found.train if domain in (path.parent.name, path.name.split(".")[0]))
    return whole("amazon", replace(found, train=files))


def yelp_stars(found: Found) -> LabelledTexts:
    """Reviews by their stars, five classes."""
    return read_texts(found.train[0], text="text", label="stars")


def newsgroup_pair(groups: str, found: Found) -> LabelledTexts:
    """Messages of two groups, of the training half by date."""
    return read_texts(found.train[0], text="text", label="group", map=groups)


READERS: dict[str, tuple[str, str, Reader]] = {
    "IMDB": ("imdb", "", partial(whole, "imdb")),
    "Yelp": ("yelp", "", partial(whole, "yelp")),
    "Yelp, five stars": ("yelp", "CSV", yelp_stars),
    **{f"Amazon {domain}": ("amazon", "", partial(amazon_domain, domain)) for domain in DOMAINS},
    **{
        f"20 Newsgroups: {name}": ("20newsgroups", "JSON lines", partial(newsgroup_pair, groups))
        for name, groups in GROUPS.items()
    },
}
"""Each task's corpus, the form its files must have (any, where empty), and how it is read."""


def tasks(preset: Preset) -> dict[str, Callable[[], LabelledTexts]]:
    """Those whose files are there."""
    root, readers = environ.get("ATTNLAB_DATA"), dict[str, Callable[[], LabelledTexts]]()
    if root and Path(root).is_dir():
        for name, (corpus, form, read) in READERS.items():
            files = KNOWN[corpus].find(Path(root))
            if files is not None and form in ("", files.form) and (preset != "quick" or name in SMALLEST):
                readers[name] = partial(read, files)
    return readers


def some(texts: LabelledTexts, most: int = MOST) -> LabelledTexts:
    """At most so many of the texts, drawn at random, in their order."""
    if len(texts) <= most:
        return texts
    rows = np.sort(numpy_generator(0, "samples ahead").permutation(len(texts))[:most])
    return replace(texts, pairs=texts.pairs.select(rows), texts=None, left_out=(), unmapped=())

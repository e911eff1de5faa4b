"""The parallel corpora that are known by name, one file each: where their files are and how they are read.

A bitext's name is the corpus and the direction: ``multi30k/en-de`` translates English to German. ``pairs`` has what
they share, ``own`` reads a user's own files.
"""

import difflib

from attnlab.data.bitexts import europarl, hansards, iwslt14, libreoffice, multi30k, news_commentary, tatoeba
from attnlab.data.bitexts.pairs import KnownBitext
from attnlab.errors import UsageError

KNOWN: dict[str, KnownBitext] = {
    module.KNOWN.name: module.KNOWN
    for module in (multi30k, iwslt14, news_commentary, libreoffice, tatoeba, hansards, europarl)
}


def bitext_names() -> list[str]:
    """Every name there is, each corpus' usual direction of a pair before the other."""
    return [
        f"{known.name}/{source}-{target}"
        for known in KNOWN.values()
        for pair in known.pairs
        for source, target in (pair, pair[::-1])
    ]


def known_bitext(name: str) -> tuple[KnownBitext, str, str]:
    """A bitext's corpus, source and target language by its name; a UsageError that lists the names if it is none."""
    corpus, slash, languages = name.partition("/")
    source, _, target = languages.partition("-")
    if corpus not in KNOWN:
        close = difflib.get_close_matches(corpus, KNOWN, n=1)
        hint = f" Did you mean {close[0]!r}?" if close else ""
        raise UsageError(f"There is no bitext {name!r}; the corpora are {', '.join(KNOWN)}.{hint}")
    known = KNOWN[corpus]
    if (source, target) not in known.pairs and (target, source) not in known.pairs:
        pairs = ", ".join(f"{corpus}/{one}-{other}" for one, other in known.pairs)
        what = f"{corpus} has no languages {languages!r}" if slash else f"{corpus!r} is a corpus of several directions"
        raise UsageError(f"{what}; name one of {pairs}, or the same the other way round.")
    return known, source, target

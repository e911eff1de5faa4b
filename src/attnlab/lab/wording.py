"""How pages word what results keep for programs: where a claim is from, presets, seeds, times, summaries, corpora."""

import re
from collections.abc import Sequence

from attnlab.lab.claims import Part

CORPORA = {
    "imdb": "IMDB",
    "ag_news": "AG News",
    "20newsgroups": "20 Newsgroups",
    "20newsgroups-bodies": "20 Newsgroups without mail headers",
    "sst": "SST",
    "amazon": "Amazon",
    "yelp": "Yelp",
    "sms": "SMS",
    "multi30k": "Multi30k",
    "multi30k-de-en": "Multi30k, German to English",
    "iwslt14": "IWSLT'14",
    "libreoffice-en-nl": "LibreOffice, English to Dutch",
    "libreoffice-en-pt": "LibreOffice, English to Portuguese",
    "libreoffice-it-pt": "LibreOffice, Italian to Portuguese",
}
"""Corpora as people call them, by the names that commands take."""
RUN = {"paper": "Run in full", "reduced": "Run at reduced size", "quick": "A quick look"}
MANY = 8
"""More sentences than these of a summary are closed at first."""
_BEGINS = re.compile(r"(?<=[.!?]) (?=(?:[^.:;]|\.(?=\d)){2,120}: )")
"""Where a sentence begins that names what it is about before a colon."""


def corpus_called(name: str) -> str:
    """A corpus as people call it; another row's name as it is."""
    return CORPORA.get(name, name)


def with_corpus(text: str, name: str) -> str:
    """A sentence about the corpus ``name`` with its name as people write it.

    >>> with_corpus("On imdb (4000 texts) it holds.", "imdb")
    'On IMDB (4000 texts) it holds.'
    """
    return re.sub(rf"(?<![\w/-]){re.escape(name)}(?![\w/-])", corpus_called(name), text) if name else text


def source_called(source: str) -> str:
    """Where something is from.

    >>> source_called("attnlab (ours), after P3 3.3")
    'ours, after P3 3.3'
    """
    return source.replace("attnlab (ours)", "ours")


def origin(source: str, preset: str, departs: str) -> str:
    """Where an experiment is from, and how it was run; ``departs``: what its preset left out.

    >>> origin("P3 3.3; blog", "paper", "one query")
    'P3 3.3; blog. Run in full (preset paper; but one query).'
    """
    left_out = f"; but {departs}" if departs else ""
    return f"{begun(source)}{RUN[preset]} (preset {preset}{left_out})."


def begun(source: str) -> str:
    """Where something is from, as a sentence with others after it; "" where nothing is said.

    >>> begun("ours, after P2 4")
    'Ours, after P2 4. '
    """
    said = source_called(source)
    return f"{said[0].upper()}{said[1:]}. " if said else ""


def ranges(numbers: Sequence[int]) -> str:
    """Whole numbers with those that follow each other taken together.

    >>> ranges([0, 1, 2, 3, 7, 8, 20])
    '0 to 3, 7, 8, 20'
    """
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    said = [f"{run[0]} to {run[-1]}" if len(run) > 2 else ", ".join(map(str, run)) for run in runs]
    return ", ".join(said)


def seeds_in_words(seeds: dict[str, list[int]]) -> str:
    """The seeds of each role, roles with the same ones together.

    >>> seeds_in_words({"40 of 60": [0, 1, 2], "40 of 80": [0, 1, 2], "proxy": [20]})
    '0 to 2 (40 of 60; 40 of 80); 20 (proxy)'
    """
    roles: dict[str, list[str]] = {}
    for role, values in seeds.items():
        roles.setdefault(ranges(values), []).append(role)
    return "; ".join(f"{values} ({'; '.join(names)})" for values, names in roles.items()) or "none"


def duration(seconds: float) -> str:
    """A time in the units that people use.

    >>> duration(0), duration(42.4), duration(456), duration(19016)
    ('no training', '42 seconds of training', '8 minutes of training', '5.3 hours of training')
    """
    if seconds < 1:
        return "no training"
    if seconds < 90:
        return f"{seconds:.0f} seconds of training"
    return f"{seconds / 60:.0f} minutes of training" if seconds < 5400 else f"{seconds / 3600:.1f} hours of training"


def itemised(summary: str, parts: Sequence[Part] = ()) -> list[str]:
    """A summary as a list: a line for each sentence that names what it is about. One that only strings the parts'
    own words together has a line for each part, with its name.

    >>> itemised("All ran. 40 of 60: 20 of 20. It is so. 0.1 % of 41: none.")
    ['All ran.', '40 of 60: 20 of 20. It is so.', '0.1 % of 41: none.']
    """
    if parts and " ".join(part.detail for part in parts) == summary:
        return [part.detail if ":" in part.detail[:60] else f"{part.name}: {part.detail}" for part in parts]
    return _BEGINS.split(summary)

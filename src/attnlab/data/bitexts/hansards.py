"""The Canadian Hansards, brought to the conventions of their hand alignments (NAACL 2003), which they validate on.

The training text is cased, untokenised and without accents; the aligned sentences are lower-cased, tokenised, accented,
with "de les" for "des". Both lose their accents here, and the training text gets the rest.
"""

from pathlib import Path

import numpy as np

from attnlab.data.bitexts.pairs import KnownBitext, RawBitext, RawPairs, read_two
from attnlab.data.conventions import Conventions
from attnlab.data.corpora.corpus import first
from attnlab.seeds import numpy_generator

ENGLISH = Conventions(lower=True, strip_accents=True, tokenise=True)
FRENCH = Conventions(lower=True, strip_accents=True, tokenise=True, split_contractions=True)
TEST = 1000
"""Pairs of the official testing text that are drawn for the test split."""


def find(root: Path, source: str, target: str) -> tuple[Path, ...] | None:
    """Training and testing text, and the sentences aligned by hand."""
    text, gold = root / "hansards_enfr", root / "alignment_gold" / "hansards_naacl2003"
    names = [(text, f"{part}.{side}") for part in ("training", "testing") for side in (source, target)]
    paths = [path for folder, name in (*names, (gold, "test.e"), (gold, "test.f")) if (path := first(folder, name))]
    return tuple(paths) if len(paths) == len(names) + 2 else None


def read(files: tuple[Path, ...], source: str, target: str) -> RawBitext:  # noqa: ARG001 (the files say it)
    """All of the training text; validation is on the text of the hand alignments, every word in its place."""
    rules = ENGLISH, FRENCH
    train, held_out = read_two(files[0], files[1], rules), read_two(files[2], files[3])
    drawn = numpy_generator(0, "test", "hansards").permutation(len(held_out))[:TEST]
    test = _normalised(held_out.select(np.sort(drawn)), rules)
    gold = read_two(files[4], files[5], (ENGLISH.keeping_positions(), FRENCH.keeping_positions()))
    return RawBitext(train, gold, test, (coverage_note(train, gold),))


def _normalised(pairs: RawPairs, rules: tuple[Conventions, Conventions]) -> RawPairs:
    source, target = (
        [rule.apply(text) for text in side] for side, rule in zip((pairs.source, pairs.target), rules, strict=True)
    )
    return RawPairs(source, target, pairs.rows, pairs.files)


def coverage_note(train: RawPairs, gold: RawPairs) -> str:
    """How many of the words of the sentences aligned by hand occur in the training text."""
    shares = []
    for known, wanted in ((train.source, gold.source), (train.target, gold.target)):
        words = {word for text in known for word in text.split()}
        tokens = [word for text in wanted for word in text.split()]
        shares.append(sum(word in words for word in tokens) / len(tokens))
    percent = f"{shares[0]:.1%} and {shares[1]:.1%}"
    return f"Of the words of {gold.files}, aligned by hand, {percent} occur in the training text."


KNOWN = KnownBitext(
    name="hansards",
    title="Canadian Hansards",
    pairs=(("en", "fr"),),
    find=find,
    read=read,
    gold="alignment_gold/hansards_naacl2003/test.wa.nonullalign",
    get="the aligned Hansards of the 36th Parliament of Canada and the hand alignments of the NAACL 2003 workshop: "
    "hansards_enfr/{training,testing}.{en,fr} and alignment_gold/hansards_naacl2003/test.{e,f,wa.nonullalign}",
)

"""Tatoeba: short sentences of learners. One English sentence has several translations, so it is split by English."""

from pathlib import Path

from attnlab.data.bitexts.pairs import KnownBitext, RawBitext, hold_out_tenth, read_tabbed
from attnlab.data.corpora.corpus import first


def find(root: Path, source: str, target: str) -> tuple[Path, ...] | None:  # noqa: ARG001 (there is one file)
    """The file of English and German."""
    path = first(root / "tatoeba", "deu-eng.txt", "deu.txt")
    return (path,) if path else None


def read(files: tuple[Path, ...], source: str, target: str) -> RawBitext:
    """English, German and perhaps an attribution; no English sentence is both trained and validated on."""
    pairs = read_tabbed(files[0], columns=None)
    return RawBitext(*hold_out_tenth(pairs, f"tatoeba/{source}-{target}", pairs.source))


KNOWN = KnownBitext(
    name="tatoeba",
    title="Tatoeba",
    pairs=(("en", "de"),),
    find=find,
    read=read,
    get="the English-German sentences of Tatoeba, English first, between tabs: tatoeba/deu-eng.txt",
)

"""Help texts of LibreOffice: a stand-in for News Commentary v14 in the same languages, help instead of news."""

from pathlib import Path

from attnlab.data.bitexts.pairs import KnownBitext, RawBitext, hold_out_tenth, read_tabbed
from attnlab.data.corpora.corpus import first


def find(root: Path, source: str, target: str) -> tuple[Path, ...] | None:
    """The file of these languages, two columns between a tab."""
    path = first(root / "libreoffice_help", f"{source}-{target}.tsv")
    return (path,) if path else None


def read(files: tuple[Path, ...], source: str, target: str) -> RawBitext:
    """Nine tenths to train on, one to validate on; pairs with the same first side are on one side of the split."""
    pairs = read_tabbed(files[0])
    return RawBitext(*hold_out_tenth(pairs, f"libreoffice/{source}-{target}", pairs.source))


KNOWN = KnownBitext(
    name="libreoffice",
    title="LibreOffice help",
    pairs=(("en", "nl"), ("en", "pt"), ("it", "pt"), ("en", "it")),
    find=find,
    read=read,
    get="the translated help texts of LibreOffice, two columns between a tab: libreoffice_help/en-nl.tsv and so on",
)

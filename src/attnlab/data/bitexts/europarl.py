"""A sample of Europarl, English and Spanish, with 200 sentences aligned by hand, which are the validation split."""

from pathlib import Path

from attnlab.data.bitexts.hansards import coverage_note
from attnlab.data.bitexts.pairs import KnownBitext, RawBitext, read_two
from attnlab.data.corpora.corpus import first


def find(root: Path, source: str, target: str) -> tuple[Path, ...] | None:
    """Both sides of the corpus and of the sentences aligned by hand."""
    folder = root / "alignment_gold" / "europarl_enes_collins"
    names = [f"{part}.{language}" for part in ("corpus", "dev") for language in (source, target)]
    paths = [path for name in names if (path := first(folder, name))]
    return tuple(paths) if len(paths) == len(names) else None


def read(files: tuple[Path, ...], source: str, target: str) -> RawBitext:  # noqa: ARG001 (the files say it)
    """5401 pairs to train on; text and hand alignments follow the same conventions."""
    train, gold = read_two(files[0], files[1]), read_two(files[2], files[3])
    return RawBitext(train, gold, None, (coverage_note(train, gold),))


KNOWN = KnownBitext(
    name="europarl",
    title="Europarl, a sample with hand alignments",
    pairs=(("en", "es"),),
    find=find,
    read=read,
    gold="alignment_gold/europarl_enes_collins/dev.key",
    get="the English-Spanish sample of Collins' course, with its hand alignments: "
    "alignment_gold/europarl_enes_collins/{corpus,dev}.{en,es} and dev.key",
)

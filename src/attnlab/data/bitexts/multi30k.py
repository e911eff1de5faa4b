"""Multi30k: captions of pictures in English, German, French and Czech, with its official splits."""

from itertools import combinations
from pathlib import Path

from attnlab.data.bitexts.pairs import KnownBitext, RawBitext, read_two
from attnlab.data.corpora.corpus import first

LANGUAGES = ("en", "de", "fr", "cs")
SPLITS = ("train", "val", "test_2016_flickr")


def find(root: Path, source: str, target: str) -> tuple[Path, ...] | None:
    """Both sides of all three splits, plain or packed."""
    names = [f"{split}.{language}" for split in SPLITS for language in (source, target)]
    paths = [path for name in names if (path := first(root / "multi30k", name))]
    return tuple(paths) if len(paths) == len(names) else None


def read(files: tuple[Path, ...], source: str, target: str) -> RawBitext:  # noqa: ARG001 (the files say it)
    """29,000 pairs to train on, 1014 to validate on, and the test set of 2016, 1000 pairs."""
    train, validation, test = (read_two(files[k], files[k + 1]) for k in (0, 2, 4))
    return RawBitext(train, validation, test)


KNOWN = KnownBitext(
    name="multi30k",
    title="Multi30k",
    pairs=tuple(combinations(LANGUAGES, 2)),
    find=find,
    read=read,
    get="the Multi30k dataset (Elliott et al. 2016), task 1, raw: multi30k/{train,val,test_2016_flickr}.{en,de,fr,cs}",
    scored={("en", "de"): 16_180},
)

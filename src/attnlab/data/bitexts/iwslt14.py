"""IWSLT'14, talks in German and English, as its usual preparation leaves it: tokenised, lower-cased, split."""

from itertools import product
from pathlib import Path

from attnlab.data.bitexts.pairs import KnownBitext, RawBitext, read_two
from attnlab.data.corpora.corpus import first

FOLDERS = ("iwslt14_deen", "iwslt14.tokenized.de-en", "iwslt14")
PART = "train_subset"


def find(root: Path, source: str, target: str) -> tuple[Path, ...] | None:
    """The whole corpus if it is there, else the part of it that is called train_subset."""
    for folder, training in product(FOLDERS, ("train", PART)):
        names = [f"{split}.{language}" for split in (training, "valid", "test") for language in (source, target)]
        paths = [path for name in names if (path := first(root / folder, name))]
        if len(paths) == len(names):
            return tuple(paths)
    return None


def read(files: tuple[Path, ...], source: str, target: str) -> RawBitext:  # noqa: ARG001 (the files say it)
    """All three splits."""
    part = files[0].name.startswith(PART)
    notes = (f"{files[0].name} is a part of the official training set: compare its BLEU with nobody's.",) * part
    train, validation, test = (read_two(files[k], files[k + 1]) for k in (0, 2, 4))
    return RawBitext(train, validation, test, notes)


KNOWN = KnownBitext(
    name="iwslt14",
    title="IWSLT'14",
    pairs=(("de", "en"),),
    find=find,
    read=read,
    get="the German-English talks of IWSLT 2014 (Cettolo et al. 2014), tokenised, lower-cased and split as is usual: "
    "iwslt14.tokenized.de-en/{train,valid,test}.{de,en}",
    scored={("de", "en"): 217_790},
)

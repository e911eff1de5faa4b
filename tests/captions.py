"""A data folder with little parallel corpora of our own sentences, in the official forms of Multi30k and Europarl."""

from pathlib import Path

import numpy as np

WHO = {"a dog": "ein Hund", "two men": "zwei Männer", "a girl": "ein Mädchen", "the child": "das Kind"}
DOES = {"sees": "sieht", "likes": "mag", "finds": "findet", "takes": "nimmt"}
WHAT = {"a red ball": "einen roten Ball", "an old house": "ein altes Haus", "the small bird": "den kleinen Vogel"}
WHERE = {"today": "heute", "in the street": "auf der Straße", "near the water": "am Wasser", "again": "wieder"}


def captions(count: int, seed: int) -> list[tuple[str, str]]:
    """Captions in English and in German, where a place at the beginning turns verb and subject round."""
    rng = np.random.default_rng(seed)
    pairs = []
    for _ in range(count):
        who, does, what, where = (list(part.items())[rng.integers(len(part))] for part in (WHO, DOES, WHAT, WHERE))
        english = f"{who[0]} {does[0]} {what[0]} {where[0]}."
        german = (f"{who[1]} {does[1]} {what[1]} {where[1]}.", f"{where[1]} {does[1]} {who[1]} {what[1]}.")
        pairs.append((english, german[int(rng.integers(2))]))
    return pairs


def write_captions(root: Path, train: int = 60, valid: int = 12) -> Path:
    """The folder to be named as ATTNLAB_DATA, with Multi30k's files."""
    folder = root / "multi30k"
    folder.mkdir(parents=True)
    for seed, (name, count) in enumerate((("train", train), ("val", valid), ("test_2016_flickr", valid))):
        pairs = captions(count, seed)
        for language, side in (("en", 0), ("de", 1)):
            lines = "".join(f"{pair[side]}\n" for pair in pairs)
            (folder / f"{name}.{language}").write_text(lines, encoding="utf-8")
    return root


def write_aligned(root: Path, train: int = 60, gold: int = 8) -> Path:
    """The same with Europarl's files: words in German order, each linked to the one it stands for, or near it."""
    folder = root / "alignment_gold" / "europarl_enes_collins"
    folder.mkdir(parents=True)
    links = []
    for seed, (name, count) in enumerate((("corpus", train), ("dev", gold))):
        pairs = captions(count, seed)
        for language, side in (("en", 0), ("es", 1)):
            lines = "".join(f"{pair[side]}\n" for pair in pairs)
            (folder / f"{name}.{language}").write_text(lines, encoding="utf-8")
    for number, (english, other) in enumerate(pairs, 1):
        words = len(english.split()), len(other.split())
        links += [f"{number} {k + 1} {k + 1}\n" for k in range(min(words))]
    (folder / "dev.key").write_text("".join(links), encoding="utf-8")
    return root

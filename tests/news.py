"""A data folder with a little news corpus of our own sentences, in AG News' official form."""

import csv
from pathlib import Path

import numpy as np

WORLD = ("minister", "war", "vote", "border", "peace")
BUSINESS = ("market", "bank", "shares", "profit", "oil")
OTHERS = ("the", "of", "today", "again", "report", "says", "new", "over")


def write_news(root: Path, train: int = 60, test: int = 24, seed: int = 0) -> Path:
    """Sentences of common words with a word or two that tell the class; the folder to be named as ATTNLAB_DATA."""
    rng = np.random.default_rng(seed)
    folder = root / "ag_news"
    folder.mkdir(parents=True)
    for name, count in (("train.csv", train), ("test.csv", test)):
        with (folder / name).open("w", newline="", encoding="utf-8") as lines:
            writer = csv.writer(lines, quoting=csv.QUOTE_ALL)
            for number in range(count):
                words = WORLD if number % 2 else BUSINESS
                told = [*rng.choice(words, rng.integers(1, 3)), *rng.choice(OTHERS, rng.integers(2, 9))]
                writer.writerow(["1" if number % 2 else "3", rng.permutation(told)[0], " ".join(rng.permutation(told))])
    return root

"""A little parallel corpus of our own: numbers in English and German, the German ones in another order."""

from pathlib import Path

import numpy as np

ENGLISH = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
GERMAN = ("eins", "zwei", "drei", "vier", "fünf", "sechs", "sieben", "acht", "neun", "zehn")


def write_numbers(folder: Path, pairs: int = 120, seed: int = 0) -> tuple[str, str]:
    """Two files of as many lines; the first word of a line comes last on the other side."""
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(seed)
    drawn = [rng.integers(0, 10, rng.integers(1, 6)).tolist() for _ in range(pairs)]
    sides = (
        [" ".join(ENGLISH[k] for k in line) for line in drawn],
        [" ".join(GERMAN[k] for k in [*line[1:], line[0]]) for line in drawn],
    )
    names = ("numbers.en", "numbers.de")
    for name, lines in zip(names, sides, strict=True):
        (folder / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
    return str(folder / names[0]), str(folder / names[1])

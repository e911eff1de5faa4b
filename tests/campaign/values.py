"""Hostile words of a command line, by what the place takes; a new kind of value is one line here."""

from collections.abc import Callable
from pathlib import Path
from random import Random

from tests.campaign.contents import CONTENTS, ENDINGS, KINDS, mutated

NUMBERS = [
    "-1", "0", "2147483648", "9223372036854775807", "9223372036854775808", "1" + "0" * 30, "9" * 5000, "-" + "9" * 400,
    "1e3", "0x10", "", " ", " 1", "1 ", "+1", "-0", "1_000", "١", "nan", "inf", "-inf", "1e400", "1,5", "one", "1.5",
]  # fmt: skip
TEXTS = [
    "", " ", "-", "--", ".", "..", "/", "~", "*", "\\", "%s%n%x", "{{7*7}}", "[bold]", "$(id)", "'; --", "None", "null",
    "\x1b[31mred", "\x07", "\u202egnorw", "\n", "a\nb", "\udcff\udcfe", "😀", "É", "a" * 300, "b" * 100_000,
    "../../etc/passwd", "os:system", "os:", ":", "::", "sys:exit", "attnlab:nothing", "no.such:Thing",
    "json:JSONDecodeError", "a=b", "a,b=c", "1=a 1=b", "=", "quick", "QUICK", "copying", "Copying", "text", "label",
    "0", "-1", "nan", "source", "union", "cuda", "meta",
]  # fmt: skip
"""Most are names of nothing; some are right in one place and wrong in the others."""

NAMES = [
    "plain",
    "a b",
    "-dash",
    "\x1b[31m",
    "new\nline",
    "\u202e",
    "\udcff",
    "é" * 20,
    "n" * 250,
    "x" * 300,
    "😀",
    ".hidden",
]
PLACES = [
    "", ".", "..", "/", "~", "nowhere", "nowhere/deeper/file.csv", "precious.txt/below", "/dev/null", "/dev/zero",
    "/dev/full", "/dev/stdin", "/dev/stdout", "/dev/fd/99", "/proc/self/mem", "/proc/self/environ",
    "/proc/self/root/none", "/" + "d/" * 2000, "n" * 5000, "runs", "results", "empty", "precious.txt", "texts.csv",
    "texts.jsonl", "source.txt", "target.txt", "gold.txt", "joined.txt", "table.parquet", "home", "../outside",
    "\udcff", "http://localhost/x", "cache",
]  # fmt: skip
"""Paths that are there, or cannot be, whatever is asked for."""
CORPORA = [
    "sms/SMSSpamCollection", "SMSSpamCollection", "aclImdb_v1.tar.gz", "imdb/train.parquet", "sst/train.txt",
    "sst/train.tsv", "glove/glove.6B.50d.txt", "glove.6B.100d.txt", "ag_news/train.csv", "yelp/review.json",
    "amazon/train.ft.txt", "20news-bydate.tar.gz", "newsgroups/20news.tar.gz", "multi30k/train.de",
]  # fmt: skip
"""Names under which corpora may be looked for in a data folder."""


def number(random: Random, folder: Path) -> str:
    return random.choice(NUMBERS)


def text(random: Random, folder: Path) -> str:
    return path(random, folder) if random.random() < 0.3 else random.choice(TEXTS)


def path(random: Random, folder: Path) -> str:
    """A path that is there already, or a file or folder made for it."""
    way = random.random()
    if way < 0.25:
        return random.choice(PLACES)
    name = random.choice(NAMES) if random.random() < 0.3 else "hostile"
    place = folder / (name + random.choice(ENDINGS))
    try:
        if place.exists() or place.is_symlink():
            return place.name
        if way < 0.4:
            random.choice(list(KINDS.values()))(place, random)
        elif way < 0.5:
            _junk(place, random)
        elif way < 0.65:
            whole = random.choice(
                [one for one in sorted(folder.iterdir()) if one.is_file() and one.stat().st_size < 10**6]
            )
            place = place.with_name("mutated" + "".join(whole.suffixes))
            place.write_bytes(mutated(whole.read_bytes(), random))
        else:
            place.write_bytes(random.choice(list(CONTENTS.values()))(random))
    except OSError:  # a name too long for any file
        pass
    return place.name


def _junk(folder: Path, random: Random) -> None:
    """A folder of odd files under names that are looked for."""
    for _ in range(random.randint(1, 6)):
        file = folder / random.choice(
            [*CORPORA, "copying/quick/result.json", "abcd/spec.json", ".locks", "metrics.parquet"]
        )
        if not file.exists() and not any(parent.is_file() for parent in file.parents):
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(random.choice(list(CONTENTS.values()))(random))


VALUES: dict[type, Callable[[Random, Path], str]] = {int: number, float: number, str: text, Path: path}
"""Flags have no values; they are given where they do not belong."""

SURROUNDINGS: dict[str, list[str]] = {
    "COLUMNS": ["0", "1", "-5", "99999", "x", ""],
    "PYTHONIOENCODING": ["ascii", "latin1", "utf-16", "cp1252"],
    "ATTNLAB_CACHE": ["precious.txt", "/dev/null/x", "nowhere/deeper", "\x1b[31m", "/proc/none"],
    "ATTNLAB_DATA": ["precious.txt", "nowhere", "/dev/zero", "empty", ""],
    "ATTNLAB_STORE": ["precious.txt", "/dev/full", "nowhere", ""],
    "HOME": ["/nowhere", "precious.txt", ""],
    "TMPDIR": ["/nowhere"],
    "TERM": ["dumb", "xterm", "\x1b[31m"],
    "LC_ALL": ["C", "POSIX", "no_SUCH"],
    "OMP_NUM_THREADS": ["0", "x"],
}
"""Variables of the environment, and odd values of them."""
STREAMS = ["/dev/full", "/dev/null"]
"""Where standard output may lead."""

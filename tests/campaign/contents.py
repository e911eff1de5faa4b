"""Hostile contents of files: each draws the bytes, or whatever else stands under the name."""

import gzip
import io
import json
import lzma
import os
import zipfile
from collections.abc import Callable
from pathlib import Path
from random import Random

import pyarrow as pa
import pyarrow.parquet as pq

Draw = Callable[[Random], bytes]

WORDS = [
    "film",
    "good",
    "\x1b[31mred",
    "\u202eright",
    "😀",
    "é",
    "Ω",
    "",
    " ",
    "nan",
    "a" * 400,
    "0",
    "-1",
    '"',
    "'",
    "|||",
]


def some(random: Random, most: int = 60) -> list[str]:
    return [random.choice(WORDS) for _ in range(random.randint(1, most))]


def table(random: Random) -> list[dict[str, object]]:
    """Rows in which text and label are of any kind."""
    odd = [None, True, 0, -1, 10**30, 1.5, float("nan"), [], ["a"], {}, {"a": 1}, "", "x", "\0", "\ud800", "😀", "a\nb"]
    rows = []
    for _ in range(random.choice([0, 1, 2, 40])):
        row = {"text": " ".join(some(random, 8)), "label": random.choice(["good", "bad"])}
        if random.random() < 0.5:
            row[random.choice(["text", "label", "more"])] = random.choice(odd)
        if random.random() < 0.2:
            row.pop(random.choice(list(row)))
        rows.append(row)
    return rows


def parquet(random: Random) -> bytes:
    columns = [
        pa.array(["a b", "c d"] * 10),
        pa.array([1, None] * 10),
        pa.array([float("nan"), 1.0] * 10),
        pa.array([["a"], []] * 10),
        pa.array([{"a": 1}, None] * 10),
        pa.array([b"\xff", b"b"] * 10),
        pa.array([None] * 20),
        pa.array(["good", "bad"] * 10).dictionary_encode(),
        pa.array([0, 1] * 10, pa.timestamp("s")),
        pa.array([True, False] * 10),
    ]
    names = random.choice([["text", "label"], ["text", "text"], ["label"], ["source", "target"], ["", "\x1b[0m"], []])
    sink = io.BytesIO()
    made = pa.Table.from_arrays([random.choice(columns) for _ in names], names)
    pq.write_table(made.slice(0, random.choice([0, 1, 20])), sink)
    return sink.getvalue()


def zipped(data: bytes) -> bytes:
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w") as archive:
        archive.writestr("inner.csv", data)
    return sink.getvalue()


def text_of(random: Random) -> bytes:
    lines = [random.choice([",", "\t", ";", " ", " ||| ", "|"]).join(some(random, 5)) for _ in range(40)]
    return random.choice(["\n", "\r\n", "\r", "\v", "\u2028"]).join(lines).encode()


def csv_of(random: Random) -> bytes:
    """Comma-separated values: headings and rows of random lengths, quotes that may not close."""
    heading = random.choice(
        ["text,label", "label,text", "text,text", "text", "Text,Label", "", "text;label", '"text,label']
    )
    rows = [
        random.choice(["good film,good", "bad,bad", ",", '"', "a,b,c,d", "😀😀,good", "x,nan", "\0,\0"])
        for _ in range(30)
    ]
    return "\n".join([heading, *rows]).encode()


def ids(random: Random) -> bytes:
    return b"text,label\n" + b"".join(b"word %d,%d\n" % (n, n) for n in range(random.choice([3, 40, 400])))


def one_label(random: Random) -> bytes:
    label = random.choice(["good", "", "nan", "\x1b[2J", "a" * 5000])
    return f"text,label\n{''.join(f'a text {n},{label}{chr(10)}' for n in range(20))}".encode()


def links(random: Random) -> bytes:
    odd = ["0-0", "1-1", "-1-0", "0--1", "9" * 30 + "-0", "0?1", "x", "", "0-0-0", "1e3-1", "٣-٤", "4294967296-1"]
    return "\n".join(" ".join(random.choices(odd, k=3)) for _ in range(random.choice([1, 20, 21]))).encode()


CONTENTS: dict[str, Draw] = {
    "nothing": lambda random: b"",
    "one newline": lambda random: b"\n",
    "blanks": lambda random: b" \t\r\n" * random.randint(1, 50),
    "zeros": lambda random: bytes(random.choice([1, 100, 4096])),
    "any bytes": lambda random: random.randbytes(random.choice([1, 9, 1000])),
    "UTF-16": lambda random: text_of(random).decode().encode(random.choice(["utf-16", "utf-16-le", "utf-16-be"])),
    "UTF-32": lambda random: text_of(random).decode().encode("utf-32"),
    "Latin-1": lambda random: b"text,label\ncaf\xe9,good\nna\xefve,bad\n" * random.randint(1, 9),
    "a mark, and text": lambda random: b"\xef\xbb\xbf" + text_of(random),
    "odd lines": text_of,
    "odd columns": csv_of,
    "ids as labels": ids,
    "one label": one_label,
    "odd links": links,
    "emoji alone": lambda random: b"text,label\n" + "😀,good\n👍👍,bad\n".encode() * random.randint(1, 20),
    "a long word": lambda random: b"text,label\n" + b"a" * random.choice([10**4, 10**6]) + b",good\nb,bad\n",
    "a long line": lambda random: b"a b " * random.choice([10**3, 10**5]),
    "many columns": lambda random: b",".join(b"c%d" % n for n in range(random.choice([300, 70_000]))) + b"\n",
    "deep brackets": lambda random: random.choice([b"[", b'{"a":', b'[{"text":']) * random.choice([100, 10**5]),
    "odd JSON": lambda random: json.dumps(random.choice([table(random), {"a": table(random)}, 1, "x", []])).encode(),
    "odd JSON lines": lambda random: "\n".join(map(json.dumps, table(random))).encode(),
    "wrong JSON": lambda random: random.choice([b'{"text": NaN}', b"{'a': 1}", b'{"text":', b"[1,]", b"\xff{}"]),
    "odd Parquet": parquet,
    "half a Parquet": lambda random: parquet(random)[: random.randint(4, 200)],
    "gzip": lambda random: gzip.compress(text_of(random)),
    "half a gzip": lambda random: gzip.compress(text_of(random))[:-9],
    "xz": lambda random: lzma.compress(text_of(random)),
    "half an xz": lambda random: lzma.compress(text_of(random))[:-9],
    "zip": lambda random: zipped(text_of(random)),
    "a bomb": lambda random: gzip.compress(bytes(3 * 10**7)),
    "a picture": lambda random: b"\x89PNG\r\n\x1a\n" + random.randbytes(50),
    "a pickle": lambda random: b"\x80\x04\x95" + random.randbytes(50),
    "a program": lambda random: b"\x7fELF" + random.randbytes(50),
    "a page": lambda random: b"<!doctype html><script>alert(1)</script>" * random.randint(1, 9),
}  # fmt: skip

ENDINGS = ["", ".txt", ".csv", ".tsv", ".json", ".jsonl", ".parquet", ".csv.gz", ".txt.gz", ".txt.xz", ".CSV", ".html"]

KINDS: dict[str, Callable[[Path, Random], object]] = {
    "a folder": lambda path, random: path.mkdir(),
    "a pipe": lambda path, random: os.mkfifo(path),
    "a link to nothing": lambda path, random: path.symlink_to("nowhere"),
    "a link to itself": lambda path, random: path.symlink_to(path.name),
    "a link to a device": lambda path, random: path.symlink_to(random.choice(["/dev/zero", "/dev/full", "/dev/null"])),
    "a link to a file": lambda path, random: path.symlink_to("precious.txt"),
    "a huge hole": lambda path, random: sparse(path, random.choice([2**33, 2**40])),
}
"""What may stand under a name and be no plain file of a usual size."""


def sparse(path: Path, size: int) -> None:
    """A file that takes no room on the disk."""
    with path.open("wb") as file:
        file.truncate(size)


def mutated(data: bytes, random: Random) -> bytes:
    """The same bytes but for a few: flipped, cut, doubled, moved, overwritten."""
    changed = bytearray(data or b"\0")
    for _ in range(random.choice([1, 1, 1, 3, 20])):
        start = random.randrange(len(changed))
        length = random.choice([1, 1, 4, 64, len(changed)])
        part = changed[start : start + length]
        way = random.randrange(6)
        if way == 0:
            changed[start] ^= 1 << random.randrange(8)
        elif way == 1 and len(changed) > length:
            del changed[start : start + length]
        elif way == 2:
            changed[start:start] = part
        elif way == 3:
            changed[start : start + length] = random.randbytes(len(part))
        elif way == 4:
            changed[start : start + length] = bytes(len(part))
        elif way == 5 and start:
            del changed[start:]
    return bytes(changed)

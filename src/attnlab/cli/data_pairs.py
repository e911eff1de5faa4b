"""``attnlab data`` for parallel corpora: what is known and here, and Table 8 of one of them."""

import re
from contextlib import suppress
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from rich.table import Table
from rich.text import Text
from typer import Option

from attnlab.cli.options import Screen, harmless, listing, print_json
from attnlab.errors import UsageError

if TYPE_CHECKING:
    from attnlab.data.bitext import Bitext
    from attnlab.data.bitext_sizes import SplitSizes


_pairs = partial(Option, rich_help_panel="Sentence pairs")
LongestOption = Annotated[
    int | None,
    Option(
        "--longest",
        min=1,
        rich_help_panel="A file of your own",
        help="Leave out texts of more words; cut sentences of pairs to as many pieces.",
    ),
]
PairsOption = Annotated[bool, _pairs("--pairs", help="FILE has lines `source TAB target` or `source ||| target`.")]
ColumnsOption = Annotated[
    str | None, _pairs("--columns", help="Its columns of pairs, such as en,de.", show_default=False)
]
PiecesOption = Annotated[
    int | None, _pairs("--pieces", min=1, help="Pieces that both sides share.", show_default="8000")
]
_NAME = re.compile(r"[\w-]+/[a-z]{2,3}-[a-z]{2,3}")


def is_bitext(name: str) -> bool:
    """Whether a name is that of a parallel corpus, or looks like one: ``corpus/en-de``."""
    from attnlab.data.bitexts import KNOWN

    with suppress(OSError):  # a name may be too long
        if Path(name).exists():
            return False
    return name.partition("/")[0] in KNOWN or _NAME.fullmatch(name) is not None


def asks_for_pairs(name: str, target: Path | None, pairs: bool, columns: str | None, pieces: int | None) -> bool:
    """Whether a command is about sentence pairs and not about labelled texts."""
    return pairs or any(one is not None for one in (target, columns, pieces)) or is_bitext(name)


def refuse_labels(name: str, given: dict[str, Any]) -> None:
    """Refuse options that are for labelled texts where sentence pairs are asked for."""
    for option, value in given.items():
        if value is not None:
            raise UsageError(f"--{option} is for labelled texts; {name} has sentence pairs.")


def listed_bitexts(root: Path | None) -> list[dict[str, Any]]:
    """What is known of each parallel corpus, and which of its directions are in the folder ``root``."""
    from attnlab.data.bitexts import KNOWN

    rows = []
    for known in KNOWN.values():
        files: list[Path] = []
        there = []
        for source, target in known.pairs:
            located = None if root is None else known.locate(root, source, target)
            if located:
                files += [path for path in located if path not in files]
                there += [f"{known.name}/{source}-{target}", f"{known.name}/{target}-{source}"]
        home = files[0].parent if files else None
        rows.append(
            {
                "name": known.name,
                "title": known.title,
                "found": str(home.relative_to(root)) if home and root else "",
                "directions": there,
                "files": len(files),
                "bytes": sum(path.stat().st_size for path in files),
                "get": known.get,
            }
        )
    return rows


def load_pairs(
    name: str, target: Path | None, columns: str | None, data: Path | None, pieces: int | None, longest: int | None
) -> "Bitext":
    """A parallel corpus by its name, or of one's own files."""
    from attnlab.data.bitext import load_bitext, load_bitext_files

    sizes: dict[str, Any] = {
        key: value for key, value in (("pieces", pieces), ("longest", longest)) if value is not None
    }
    if target is None and columns is None and is_bitext(name):
        return load_bitext(name, root=data, **sizes)
    return load_bitext_files(name, target, columns=named_columns(columns), **sizes)


def named_columns(columns: str | None) -> tuple[str, str] | None:
    """``en,de`` as two names."""
    if columns is None:
        return None
    source, _, target = columns.partition(",")
    if not source or not target or "," in target:
        raise UsageError(f"--columns names the source column and the target column, as in en,de, not {columns!r}.")
    return source, target


def show_pairs(bitext: "Bitext", samples: int, as_json: bool) -> None:
    """Print Table 8's lengths, notes and a few sentences as a model reads them."""
    from attnlab.data.bitext_sizes import bitext_sizes, count_sentence
    from attnlab.data.bitexts import KNOWN

    sizes = bitext_sizes(bitext)
    known = KNOWN.get(bitext.name.partition("/")[0])
    pair = bitext.source_language, bitext.target_language
    scored = known.scored.get(pair, known.scored.get(pair[::-1])) if known else None
    drawn = _samples(bitext, samples)
    if as_json:
        document = {
            "name": bitext.name,
            "languages": pair,
            "pieces": len(bitext.pieces),
            "sizes": {name: asdict(size) for name, size in sizes.items()},
            "paper": {"validation target pieces": scored},
            "notes": bitext.notes,
            "content": bitext.content,
            **({"samples": drawn} if drawn else {}),
        }
        print_json(document)
        return
    screen = Screen()
    screen.print(_lengths(bitext, sizes))
    screen.print(f"{len(bitext.pieces):,} pieces, shared by both sides. Content {bitext.content}.")
    for note in (*bitext.notes, *([count_sentence(bitext, scored)] if scored else [])):
        screen.print(Text(harmless(note)), soft_wrap=True)
    for source, target in drawn:
        screen.print(Text(f"\n{harmless(source)}\n  → {harmless(target)}"), soft_wrap=True)


def _lengths(bitext: "Bitext", sizes: "dict[Any, SplitSizes]") -> Table:
    title = f"{bitext.name}: pieces of a sentence"
    table = listing("split", title=title)
    for heading in ("pairs", "side", "mean", "median", "longest", "all with </s>", "unknown"):
        table.add_column(heading, justify="left" if heading == "side" else "right")
    for name, size in sizes.items():
        for first, language, side in (
            (True, bitext.source_language, size.source),
            (False, bitext.target_language, size.target),
        ):
            lengths = f"{side.mean:.1f}", f"{side.median:g}", f"{side.longest:,}"
            begin = (name, f"{size.pairs:,}") if first else ("", "")
            table.add_row(*begin, Text(harmless(language)), *lengths, f"{side.scored:,}", f"{side.unknown:.2%}")
    return table


def _samples(bitext: "Bitext", number: int) -> list[tuple[str, str]]:
    """Training pairs that a fixed seed draws, their pieces apart, ``▁`` where a word begins."""
    from attnlab.seeds import numpy_generator

    names, train = bitext.pieces.names, bitext.train
    rows = numpy_generator(0, "samples").permutation(len(train))[:number].tolist()
    return [
        (
            " ".join(names[piece] for piece in train.source.sentence(row)[:60].tolist()),
            " ".join(names[piece] for piece in train.target.sentence(row)[:60].tolist()),
        )
        for row in rows
    ]

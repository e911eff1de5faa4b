"""``attnlab data``: which corpora are known, which are here, and what is in them."""

import os
from contextlib import suppress
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.filesize import decimal
from rich.table import Table
from rich.text import Text
from typer import Argument, Option

from attnlab.cli.data_pairs import (
    ColumnsOption,
    LongestOption,
    PairsOption,
    PiecesOption,
    asks_for_pairs,
    listed_bitexts,
    load_pairs,
    refuse_labels,
    show_pairs,
)
from attnlab.cli.options import File, JsonOption, Screen, harmless, listing, print_json, settings
from attnlab.errors import UsageError

if TYPE_CHECKING:
    from attnlab.data.corpora.corpus import PaperSizes
    from attnlab.data.labelled_text import Corpus, Sizes

app = typer.Typer(help="Labelled texts and parallel corpora: what is known, what is here, what is in it.")

DataOption = Annotated[File, Option("--data", help="Folder of the corpora.", envvar="ATTNLAB_DATA", show_default=False)]
_own = partial(Option, rich_help_panel="A file of your own")
NOT_KNOWN = "not known"
CUT = 60
"""Words of a sample that are printed."""


@app.callback(invoke_without_command=True)
def data(context: typer.Context, data: DataOption = None, as_json: JsonOption = False) -> None:
    """List the corpora that are known: where each was found, or how to get it."""
    context.obj = data
    if context.invoked_subcommand is not None:
        return
    rows = _listed(data)
    bitexts = listed_bitexts(_root(data))
    if as_json:
        print_json({"data": None if data is None else str(data), "corpora": rows, "bitexts": bitexts})
        return
    screen = Screen()
    for heading, kind in (("corpus", rows), ("parallel corpus", bitexts)):
        table = listing("name", heading, "found", "size")
        for row in kind:
            names = row.get("directions", [])[::2]
            found = f"{row['found']} ({', '.join(one.partition('/')[2] for one in names)})" if names else row["found"]
            where = Text(harmless(found), "green") if found else Text("missing", "yellow")
            table.add_row(row["name"], row["title"], where, decimal(row["bytes"]) if found else "")
        screen.print(table)
    if data is None:
        screen.print("No data folder is given: name one by --data or ATTNLAB_DATA.")
    if settings.quiet:
        return
    for row in [*rows, *bitexts]:
        if not row["found"]:
            screen.print(Text(f"{row['name']}: get {row['get']}."), soft_wrap=True)


@app.command()
def show(
    context: typer.Context,
    corpus: Annotated[str, Argument(metavar="NAME|FILE", help="A corpus' name, or a file of labelled texts or pairs.")],
    target: Annotated[File, Argument(help="The translations of FILE, line by line.", show_default=False)] = None,
    data: DataOption = None,
    vocabulary: Annotated[
        str, Option(help="Words with an id: text (count of 3 or more) or released (also those in GloVe).")
    ] = "text",
    hub: Annotated[bool, Option("--hub", help="Load NAME from a hub of datasets, through the network.")] = False,
    samples: Annotated[int, Option(min=0, help="Texts of each class to print.")] = 2,
    no_texts: Annotated[bool, Option("--no-texts", help="Statistics alone, no texts.")] = False,
    text: Annotated[str | None, _own(help="The column of the texts.")] = None,
    label: Annotated[str | None, _own(help="The column of the labels.")] = None,
    groups: Annotated[str | None, _own("--map", help="Which labels make which class: '1,2=neg 4,5=pos'.")] = None,
    valid: Annotated[File, _own(help="Another file, to validate on.")] = None,
    longest: LongestOption = None,
    pairs: PairsOption = False,
    columns: ColumnsOption = None,
    pieces: PiecesOption = None,
    as_json: JsonOption = False,
) -> None:
    """Print samples and statistics of a corpus, beside what is known of the paper's."""
    from attnlab.data.corpora import KNOWN
    from attnlab.data.labelled_text import sizes

    if asks_for_pairs(corpus, target, pairs, columns, pieces):
        refuse_labels(corpus, {"text": text, "label": label, "map": groups, "valid": valid, "hub": hub or None})
        loaded_pairs = load_pairs(corpus, target, columns, data or context.obj, pieces, longest)
        show_pairs(loaded_pairs, 0 if no_texts else samples, as_json)
        return
    own = {"text": text, "label": label, "groups": groups, "valid": valid, "longest": longest}
    given = {name: value for name, value in own.items() if value is not None}
    loaded = _load(corpus, data or context.obj, vocabulary, hub, given)
    size, paper = sizes(loaded), KNOWN[corpus].paper if corpus in KNOWN else None
    texts = [] if no_texts else _samples(loaded, samples)
    if as_json:
        document = {
            "name": loaded.name,
            "classes": loaded.classes,
            "sizes": asdict(size),
            "paper": asdict(paper) if paper else None,
            "notes": loaded.notes,
            "content": loaded.content,
            **({} if no_texts else {"samples": texts}),
        }
        print_json(document)
        return
    screen = Screen()
    title = KNOWN[corpus].title if corpus in KNOWN else loaded.name
    screen.print(_statistics(title, size, paper), _classes(loaded, size))
    for note in loaded.notes:
        screen.print(Text(harmless(note)))
    for sample in texts:
        screen.print(Text(f"\n{harmless(sample['class'])}: ", "bold"), Text(harmless(sample["text"])), sep="")


def _root(data: Path | None) -> Path | None:
    from attnlab.data.corpora import data_folder

    return None if data is None else data_folder(data)


def _listed(data: Path | None) -> list[dict[str, Any]]:
    """What is known of each corpus, and of GloVe's table, in the folder ``data``."""
    from attnlab.data.corpora import KNOWN
    from attnlab.data.vectors import GET_VECTORS, vector_files

    root = _root(data)
    rows = []
    for known in KNOWN.values():
        found = known.find(root) if root is not None else None
        rows.append((known.name, known.title, found.files if found else (), found.form if found else "", known.get))
    tables = tuple(vector_files(root)[:1]) if root is not None else ()
    rows.append(("glove", "GloVe word vectors", tables, "word vectors" if tables else "", GET_VECTORS))
    return [
        {
            "name": name,
            "title": title,
            "found": f"{Path(os.path.commonpath(files)).relative_to(root)} ({form})" if files and root else "",
            "files": len(files),
            "bytes": sum(path.stat().st_size for path in files),
            "get": get,
        }
        for name, title, files, form, get in rows
    ]


def _load(name: str, data: File, vocabulary: str, hub: bool, own: dict[str, Any]) -> "Corpus":
    """A corpus by name, or a file of one's own, which alone takes the options ``own``."""
    from attnlab.data.corpora import KNOWN
    from attnlab.data.labelled_file import is_table
    from attnlab.data.labelled_text import load_corpus, load_file
    from attnlab.data.tokens import check_vocabulary_rule

    rule = check_vocabulary_rule(vocabulary)
    there = is_table(Path(name))
    with suppress(OSError):  # a name may be too long
        there = there or Path(name).exists()
    if name in KNOWN or not there:
        if own and name in KNOWN:
            option = {"groups": "map"}.get(next(iter(own)), next(iter(own)))
            raise UsageError(f"--{option} is for a file of your own; the columns and classes of {name} are known.")
        return load_corpus(name, root=data, vocabulary=rule, hub=hub)
    if hub:
        raise UsageError(f"--hub is for a corpus known by name ({', '.join(KNOWN)}), not for the file {name!r}.")
    return load_file(Path(name), root=data, vocabulary=rule, **own)


def _samples(corpus: "Corpus", number: int) -> list[dict[str, str]]:
    """The training texts of each class that a fixed seed draws, as the model reads them, cut to ``CUT`` words."""
    from attnlab.seeds import numpy_generator

    drawn = []
    generator = numpy_generator(0, "samples")
    for label, name in enumerate(corpus.classes):
        rows = (corpus.train.labels == label).nonzero().squeeze(1).numpy()
        for row in generator.permutation(rows)[:number].tolist():
            start, end = corpus.train.offsets[row : row + 2].tolist()
            words = [corpus.words[word] for word in corpus.train.words[start : min(end, start + CUT)].tolist()]
            drawn.append({"class": name, "text": " ".join(words) + (" ..." if end - start > CUT else "")})
    return drawn


def _statistics(title: str, size: "Sizes", paper: "PaperSizes | None") -> Table:
    """Table 8, ours beside the paper's."""
    from attnlab.data.corpora.corpus import PaperSizes

    known = paper or PaperSizes()
    table = listing(title=title)
    for heading in ("", "here", *(["the paper"] if paper else [])):
        table.add_column(heading, justify="right" if heading else "left")
    rows: list[tuple[str, str, int | None]] = [
        ("training texts", f"{size.train:,}", known.train),
        ("validation texts", f"{size.valid:,}", known.valid),
        ("median length (words), training", f"{size.median_length:g}", known.median_length),
        ("longest (words), training", f"{size.longest:,}", None),
        ("longest (words), validation", f"{size.valid_longest:,}", None),
        ("vocabulary, training", f"{size.vocabulary:,}", known.vocabulary),
        ("unknown words, training", f"{size.unknown[0]:.1%}", None),
        ("unknown words, validation", f"{size.unknown[1]:.1%}", None),
    ]
    for name, ours, theirs in rows:
        papers = NOT_KNOWN if theirs is None else f"{theirs:,}"
        table.add_row(name, ours, *([papers] if paper else []))
    return table


def _classes(corpus: "Corpus", size: "Sizes") -> Table:
    table = listing("class", title="Texts of each class")
    for heading in ("training", "share", "validation", "share"):
        table.add_column(heading, justify="right")
    for name, train, valid in zip(corpus.classes, size.train_classes, size.valid_classes, strict=True):
        shares = (f"{train:,}", f"{train / size.train:.1%}", f"{valid:,}", f"{valid / size.valid:.1%}")
        table.add_row(Text(harmless(name)), *shares)
    return table

"""``attnlab forecast``: will attention be learned on this data? From co-occurrence alone."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from threading import Timer
from typing import TYPE_CHECKING, Annotated

from rich.table import Table
from rich.text import Text
from typer import Argument, Option

from attnlab.cli.options import (
    AddressOption,
    EngineOption,
    File,
    JsonOption,
    Screen,
    check_engine,
    console,
    listing,
    print_json,
    say,
    settings,
)
from attnlab.errors import UsageError

if TYPE_CHECKING:
    from attnlab.data.sentence_pairs import SentencePairs
    from attnlab.data.texts import LabelledTexts
    from attnlab.theory.forecast import Forecast
    from attnlab.theory.gain import Reader, Watch
    from attnlab.theory.words import Picture

_parallel, _labelled = (partial(Option, rich_help_panel=panel) for panel in ("A parallel corpus", "Labelled texts"))
SHOWN = 8
"""Rows and columns of the picture, and words of each kind, that a terminal has room for."""

PATIENCE = 5.0
"""Seconds after which people want to see what is going on."""


def forecast(
    file: Annotated[
        Path | None,
        Argument(help="Labelled texts: .csv, .tsv, .json, .jsonl (also .gz, .xz) or .parquet.", show_default=False),
    ] = None,
    text: Annotated[str, _labelled(help="The column of FILE that holds the texts.")] = "text",
    label: Annotated[str, _labelled(help="The column of FILE that holds the labels.")] = "label",
    source: Annotated[
        list[str] | None,
        _parallel(help="Source sentences, one a line; plain, .gz or .xz; several times, or as a pattern in quotes."),
    ] = None,
    target: Annotated[list[str] | None, _parallel(help="Target sentences, line by line their translations.")] = None,
    out: Annotated[File, Option(help="Folder for a page, forecast.html, and all numbers, forecast.json.")] = None,
    engine: EngineOption = "local",
    address: AddressOption = None,
    workers: Annotated[
        int | None,
        Option(min=1, help="Workers that read.", rich_help_panel="Beyond one machine", show_default="as there is room"),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Say from data alone whether attention has a reason to learn which word comes from which. Trains nothing."""
    from attnlab.data.many_files import expand, paired, read_many
    from attnlab.files import check_outputs

    source, target = source or None, target or None
    if (file is None) == (source is None and target is None) or (source is None) != (target is None):
        raise UsageError("Name either a FILE of labelled texts, or a parallel corpus by --source and --target.")
    sides = paired(expand(source or [], "source"), expand(target or [], "target"))
    if out is not None:
        read = [file, *(path for one in sides for path in one)]
        check_outputs([out / name for name in ("forecast.html", "forecast.json")], read)
    check_engine(engine, address)
    with _reader(engine, address, workers) as reader, progress() as watch:
        if file is not None:
            from attnlab.data.texts import read_texts

            watch(f"reading {file.name}")
            texts = read_texts(file, text=text, label=label)
            labels = texts.pairs.target_words
            if len(labels) == 1:
                raise UsageError(
                    f"{file}: all texts with a word have the label {labels[0][:40]!r} in the column {label!r}; a "
                    "forecast needs two."
                )
            result, name = _named(file, texts, watch, reader), file.name
        else:
            from attnlab.data.sentence_pairs import read_pairs

            name = f"{sides[0][0].name} and {sides[0][1].name}"
            name += f" and {len(sides) - 1} more pairs of files" if len(sides) > 1 else ""
            watch(f"reading {name}")
            pairs = read_pairs(*sides[0]) if len(sides) == 1 else read_many(sides)
            result = _named(sides[0][0], pairs, watch, reader)
    for note in result.notes:
        console().print(Text(note, "yellow"))
    written = []
    if out is not None:
        from attnlab.pages.forecast import write_forecast

        written = write_forecast(out, result, name)
    if as_json:
        print_json({"data": name, **result.to_json()})
        return
    if settings.quiet:
        say(result.sentence)
    else:
        _print(result)
    for path in written:
        say(str(path))


@contextmanager
def _reader(engine: str, address: str | None, workers: int | None) -> "Iterator[Reader | None]":
    """The workers of a cluster, or None: this process."""
    if engine == "local":
        yield None
        return
    from attnlab.cluster.crew import RayCrew
    from attnlab.cluster.gains import ReadByCrew
    from attnlab.theory.gain_shards import GainShard

    with RayCrew(GainShard, workers, address) as crew:
        yield ReadByCrew(crew)


def _named(file: Path, data: "LabelledTexts | SentencePairs", watch: "Watch", reader: "Reader | None") -> "Forecast":
    """The forecast; what is wrong with the data is said of its file."""
    from attnlab.theory.forecast import forecast

    try:
        return forecast(data, watch=watch, reader=reader)
    except UsageError as error:
        raise UsageError(f"{file}: {error}") from None


@contextmanager
def progress() -> "Iterator[Watch]":
    """What is being done, shown to people who wait for more than a few seconds."""
    screen = console()
    status = screen.status("")
    timer = Timer(PATIENCE, status.start)
    timer.daemon = True
    if screen.is_terminal and not settings.quiet:
        timer.start()
    try:
        yield lambda stage: status.update(Text(f"{stage} ..."))
    finally:
        timer.cancel()
        if timer.is_alive():
            timer.join()  # a status that is just starting must be stopped too
        status.stop()


def _print(result: "Forecast", screen: Screen | None = None) -> None:
    from attnlab.pages.forecast import label_rows, measures, word_rows

    screen = screen or Screen()
    colour = {"likely to be learned": "green", "may be learned": "yellow", "no reason to be learned": "red"}
    screen.print(Text(result.sentence, f"bold {colour.get(result.verdict, 'magenta')}"))
    numbers = listing("", "")
    numbers.show_header = False
    for name, value in measures(result):
        numbers.add_row(name, value)
    screen.print(numbers)
    tables = (
        ("Each label", label_rows(result)),
        ("The strongest words", word_rows(result.strongest, result)),
        ("The hopeless words", word_rows(result.hopeless, result)),
    )
    for title, rows in tables:
        if rows:
            table = listing(*rows[0], title=title)
            for row in rows[:SHOWN]:
                table.add_row(*(str(value) for value in row.values()))
            screen.print(table)
    if result.picture.inputs:
        screen.print(_drawn(result.picture))


def _drawn(picture: "Picture") -> Table:
    """The table's picture for a terminal: orange for more than usual, blue for less, with the numbers."""
    table = listing(title="log2 of Trans(output | input) over the output's share")
    table.add_column("")
    for output in picture.outputs[:SHOWN]:
        table.add_column(output, justify="right")
    for name, values in list(zip(picture.inputs, picture.values, strict=True))[:SHOWN]:
        cells = [
            Text(f"{value:.1f}", style="black on orange1" if value > 1 else "black on sky_blue1" if value < -1 else "")
            for value in values[:SHOWN]
        ]
        table.add_row(name, *cells)
    return table

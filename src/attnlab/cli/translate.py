"""``attnlab translate RUN``: lines in, translations out, and where the network looked."""

import sys
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from rich.text import Text
from typer import Argument, Option

from attnlab.cli import options
from attnlab.cli.options import File
from attnlab.errors import UsageError

if TYPE_CHECKING:
    from attnlab.auditing.translating import Translation

AT_ONCE = 256
"""Lines that are read before the first is translated; from a terminal it is one."""


def translate(
    run: Annotated[str, Argument(help="A run's id or its first characters: see `attnlab store list`.")],
    file: Annotated[
        File, Argument(help="Sentences, one a line; plain, .gz or .xz.", show_default="standard input")
    ] = None,
    beam: Annotated[int, Option(min=1, help="Hypotheses of the beam search; 1 is greedy.")] = 5,
    step: Annotated[
        int | None, Option(min=0, help="Whose weights, in updates.", show_default="the best that were kept")
    ] = None,
    attention: Annotated[bool, Option("--attention", help="Show on the terminal where the network looked.")] = False,
    svg: Annotated[
        File, Option(help="File for the picture of it, .svg; line n of several is written to NAME-n.svg.")
    ] = None,
    store: options.StoreOption = Path("runs"),
    as_json: options.JsonOption = False,
) -> None:
    """Translate sentences by a trained run: a line of standard output for each line read."""
    from attnlab.auditing.translating import load_translator
    from attnlab.files import check_outputs
    from attnlab.runs.store import RunStore

    if svg is not None:
        if svg.suffix.lower() != ".svg":
            raise UsageError(f"--svg {svg}: the picture is written as .svg.")
        check_outputs([svg], [file])
    translator = load_translator(RunStore(store).existing(run), step)
    screen = options.console()
    documents = []
    number = 0
    for lines in _chunks(_lines(file), 1 if file is None and sys.stdin.isatty() else AT_ONCE):
        for made in translator.translate(lines, beam=beam, attention=attention or svg is not None):
            number += 1
            if as_json:
                documents.append(_document(made, attention))
            else:
                options.say(made.text)
            for note in made.notes:
                screen.print(Text(f"Line {number}: {note}.", "yellow"))
            if attention and made.source and not as_json:
                _print(made)
            if svg is not None and made.source:
                _draw(made, svg if number == 1 else svg.with_name(f"{svg.stem}-{number}.svg"))
    if as_json:
        options.print_json({"run": translator.run.id, "step": translator.step, "translations": documents})
    elif not number:
        screen.print(Text("There was no line to translate.", "yellow"))


def _lines(file: Path | None) -> Iterator[str]:
    if file is not None:
        from attnlab.data.reading import read_lines

        yield from read_lines(file)
        return
    for number, line in enumerate(sys.stdin.buffer, 1):
        try:
            yield line.decode("utf-8").rstrip("\r\n")
        except UnicodeDecodeError:
            raise UsageError(f"Line {number} of standard input is not UTF-8; convert it, as by iconv.") from None


def _chunks(lines: Iterable[str], size: int) -> Iterator[list[str]]:
    left = iter(lines)
    while chunk := list(islice(left, size)):
        yield chunk


def _document(made: "Translation", attention: bool) -> dict[str, object]:
    document: dict[str, object] = {"sentence": made.sentence, "translation": made.text, "notes": made.notes}
    if attention:
        document |= {"source": made.source, "target": made.target}
        document["attention"] = [[round(float(share), 4) for share in row] for row in made.alpha]
    return document


def _print(made: "Translation") -> None:
    """The picture, on standard error: standard output has the translations alone."""
    from attnlab.pages.attention_map import attention_lines, piece_labels

    screen = options.console()
    for line in attention_lines(made.alpha, piece_labels(made.source), piece_labels(made.target)):
        screen.print(Text(options.harmless(line)), soft_wrap=True)


def _draw(made: "Translation", path: Path) -> None:
    from attnlab.pages.attention_map import attention_map, piece_labels, save_map

    save_map(attention_map(made.alpha, piece_labels(made.source), piece_labels(made.target)), path)

"""``attnlab samples``: how much data does attention need here, and does it pay?"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from rich.text import Text
from typer import Argument, Option

from attnlab.cli.forecast import progress
from attnlab.cli.options import (
    AddressOption,
    CpusOption,
    EngineOption,
    File,
    JobsOption,
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
    from attnlab.measures.samples import SampleCurves


def samples(
    file: Annotated[
        Path,
        Argument(help="Labelled texts: .csv, .tsv, .json, .jsonl (also .gz, .xz) or .parquet.", show_default=False),
    ],
    text: Annotated[str, Option(help="The column of FILE that holds the texts.")] = "text",
    label: Annotated[str, Option(help="The column of FILE that holds the labels.")] = "label",
    size: Annotated[
        list[int] | None,
        Option(help="A number of training texts to try; give it several times.", show_default="halves of all"),
    ] = None,
    repeats: Annotated[int, Option(min=2, help="Trainings at each size, each on a subsample of its own.")] = 5,
    jobs: JobsOption = None,
    engine: EngineOption = "local",
    address: AddressOption = None,
    cpus_per_run: CpusOption = None,
    out: Annotated[File, Option(help="Folder for a page, samples.html, and all numbers, samples.json.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Train with attention and without on more and more of your texts, and say from how many on attention pays."""
    from attnlab.data.texts import read_texts
    from attnlab.files import check_outputs
    from attnlab.measures.samples import Trainer, train_here
    from attnlab.measures.samples import samples as measured

    if out is not None:
        check_outputs([out / name for name in ("samples.html", "samples.json")], [file])
    if size is not None and min(size) < 2:
        raise UsageError(f"--size {min(size)} leaves nothing to train on; 2 is the least.")
    check_engine(engine, address, cpus_per_run)
    trainer: Trainer = train_here
    if engine == "ray":
        from attnlab.cluster.connection import Need
        from attnlab.cluster.samples import TrainOnRay

        trainer = TrainOnRay(address, jobs, Need(1.0 if cpus_per_run is None else cpus_per_run))
    elif jobs is not None:
        raise UsageError("--jobs is for --engine ray here; without it one training follows the other.")
    with progress() as watch:
        watch(f"reading {file.name}")
        texts, sizes = read_texts(file, text=text, label=label), sorted(set(size)) if size else None
        curves = measured(texts, repeats=repeats, watch=watch, sizes=sizes, trainer=trainer)
    for note in curves.notes:
        console().print(Text(note, "yellow"))
    written = []
    if out is not None:
        from attnlab.pages.samples import write_samples

        written = write_samples(out, curves, file.name)
    if as_json:
        print_json({"data": file.name, **curves.to_json()})
        return
    if settings.quiet:
        say(curves.sentence)
    else:
        _print(curves)
    for path in written:
        say(str(path))


def _print(curves: "SampleCurves") -> None:
    from attnlab.measures.samples import MODELS
    from attnlab.pages.samples import expected_sentence

    screen = Screen()
    screen.print(Text(curves.sentence, "bold green" if curves.pays_from is not None else "bold yellow"))
    table = listing("texts", *MODELS, title="Accuracy")
    rows = {(row["model"], row["n"]): row for row in curves.rows()}
    for n in sorted(curves.errors["attention"]):
        cells = [rows[model, n] for model in MODELS]
        shown = [
            f"{row['accuracy']:.1%}" + ("" if row["low"] is None else f" ({row['low']:.1%} to {row['high']:.1%})")
            for row in cells
        ]
        table.add_row(str(n), *shown)
    screen.print(table)
    for model in MODELS:
        screen.print(Text(expected_sentence(curves, model)))

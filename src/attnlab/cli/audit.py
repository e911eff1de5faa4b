"""``attnlab audit``: may attention on this data be trusted?"""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from rich.text import Text
from typer import Argument, Option

from attnlab.cli import options
from attnlab.cli.data_pairs import refuse_labels
from attnlab.cli.options import File, Screen
from attnlab.cli.train import LabelOption, MapOption, TextOption
from attnlab.errors import UsageError

if TYPE_CHECKING:
    from attnlab.auditing.result import Audit

_parallel = partial(Option, rich_help_panel="A parallel corpus")
COLOURS = {"good": "green", "mixed": "yellow", "poor": "red", "unknown": "magenta"}


def audit(
    file: Annotated[
        Path | None,
        Argument(help="Labelled texts: .csv, .tsv, .json, .jsonl (also .gz, .xz) or .parquet.", show_default=False),
    ] = None,
    text: TextOption = None,
    label: LabelOption = None,
    groups: MapOption = None,
    source: Annotated[File, _parallel(help="Source sentences, one a line; plain, .gz or .xz.")] = None,
    target: Annotated[File, _parallel(help="Target sentences, line by line their translations.")] = None,
    seeds: Annotated[int, Option(min=1, max=10, help="Networks with attention to train.")] = 3,
    budget: Annotated[str, Option(help="small (minutes), normal or large (the papers' sizes).")] = "small",
    out: Annotated[Path, Option(help="Folder for the page, audit.html, and all results.")] = Path("audit"),
    no_texts: Annotated[bool, Option("--no-texts", help="No texts of yours on the page.")] = False,
    jobs: options.JobsOption = None,
    engine: options.EngineOption = "local",
    address: options.AddressOption = None,
    cpus_per_run: options.CpusOption = None,
    gpus_per_run: options.GpusOption = None,
    store: options.StoreOption = Path("runs"),
    as_json: options.JsonOption = False,
) -> None:
    """Say how far attention on your texts or sentence pairs may be trusted: train, compare with influence, other seeds
    and deceptive twins.
    """
    from attnlab.auditing.audit import audit
    from attnlab.auditing.budget import budget_of
    from attnlab.auditing.result import FILES
    from attnlab.data.texts import read_texts
    from attnlab.files import check_outputs
    from attnlab.runs.progress import watching

    budget_of(budget)
    if (file is None) == (source is None and target is None) or (source is None) != (target is None):
        raise UsageError("Name either a FILE of labelled texts, or a parallel corpus by --source and --target.")
    check_outputs([out / name for name in FILES], [file, source, target])
    where = options.make_engine(engine, jobs, address, cpus_per_run, gpus_per_run)
    screen = options.console()
    data: dict[str, Any] = {"source": source, "target": target}
    if file is None:
        refuse_labels(f"{source} and {target}", {"text": text, "label": label, "map": groups})
    else:
        label = label or "label"
        texts = read_texts(file, text=text or "text", label=label, map=groups)
        if len(texts.pairs.target_words) < 2:
            raise UsageError(
                f"{file}: all texts with a word have one label in the column {label!r}; an audit needs two."
            )
        for note in texts.notes:
            screen.print(Text(note, "yellow"))
        data = {"texts": texts}
    options.settings.kept = f"What was trained is kept in {store}; the same command goes on from there."
    made = audit(
        **data,
        budget=budget,
        seeds=seeds,
        store=store,
        out=out,
        examples=not no_texts,
        engine=where,
        watching=lambda: watching(screen, options.workers(jobs)),
        say=lambda what: screen.print(Text(f"{what} ...", "dim")),
    )
    written = made.write(out)
    if as_json:
        options.print_json(made.to_json())
        return
    options.say(made.card.headline)
    if not options.settings.quiet:
        _print(made)
    for path in written:
        options.say(str(path))


def _print(made: "Audit") -> None:
    screen = Screen()
    table = options.listing("question", "grade", "number", "what it means", roomy=True)
    for answer in made.card.answers:
        grade = Text(answer.grade, COLOURS[answer.grade])
        number = "" if answer.number.value is None else str(answer.number)
        table.add_row(answer.question, grade, number, answer.says)
    screen.print(table)
    for remark in made.card.remarks:
        screen.print(Text(remark))

"""``attnlab audit``: may attention on this data be trusted?"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from rich.text import Text
from typer import Argument, Option

from attnlab.cli import options
from attnlab.cli.options import Screen
from attnlab.cli.train import own_file
from attnlab.errors import UsageError

if TYPE_CHECKING:
    from attnlab.auditing.result import Audit

COLOURS = {"good": "green", "mixed": "yellow", "poor": "red", "unknown": "magenta"}


def audit(
    file: Annotated[
        Path,
        Argument(help="Labelled texts: .csv, .tsv, .json, .jsonl (also .gz, .xz) or .parquet.", show_default=False),
    ],
    text: Annotated[str, own_file(help="The column of the texts.")] = "text",
    label: Annotated[str, own_file(help="The column of the labels.")] = "label",
    groups: Annotated[str | None, own_file("--map", help="Which labels make which class: '1,2=neg 4,5=pos'.")] = None,
    seeds: Annotated[int, Option(min=1, max=10, help="Networks with attention to train.")] = 3,
    budget: Annotated[str, Option(help="small (minutes), normal or large (the papers' sizes).")] = "small",
    out: Annotated[Path, Option(help="Folder for the page, audit.html, and all results.")] = Path("audit"),
    no_texts: Annotated[bool, Option("--no-texts", help="No texts of yours on the page.")] = False,
    jobs: options.JobsOption = None,
    store: options.StoreOption = Path("runs"),
    as_json: options.JsonOption = False,
) -> None:
    """Say how far attention on your texts may be trusted: train, compare with influence, seeds and deceptive twins."""
    from attnlab.auditing.audit import audit
    from attnlab.auditing.budget import budget_of
    from attnlab.auditing.result import FILES
    from attnlab.data.texts import read_texts
    from attnlab.files import check_outputs
    from attnlab.runs.engine import LocalEngine
    from attnlab.runs.progress import watching

    budget_of(budget)
    check_outputs([out / name for name in FILES], [file])
    device = options.check_device(options.settings.device)
    screen = options.console()
    texts = read_texts(file, text=text, label=label, map=groups)
    if len(texts.pairs.target_words) < 2:
        raise UsageError(f"{file}: all texts with a word have one label in the column {label!r}; an audit needs two.")
    for note in texts.notes:
        screen.print(Text(note, "yellow"))
    options.settings.kept = f"What was trained is kept in {store}; the same command goes on from there."
    made = audit(
        texts,
        budget=budget,
        seeds=seeds,
        store=store,
        out=out,
        examples=not no_texts,
        engine=LocalEngine(options.workers(jobs), device),
        watching=lambda: watching(screen),
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

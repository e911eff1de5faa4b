"""``attnlab train``: the papers' classifier on one's own texts, or their translator on one's own sentence pairs."""

from functools import partial
from pathlib import Path
from typing import Annotated, Any

from rich.text import Text
from typer import Argument, Option

from attnlab.cli import options
from attnlab.cli.data_pairs import (
    ColumnsOption,
    LongestOption,
    PairsOption,
    PiecesOption,
    asks_for_pairs,
    refuse_labels,
)
from attnlab.cli.options import File
from attnlab.cli.train_pairs import train_pairs
from attnlab.cli.train_seeds import Seeds, print_seeds, train_seeds
from attnlab.errors import UsageError

own_file = partial(Option, rich_help_panel="A file of your own")
TextOption = Annotated[str | None, own_file("--text", help="The column of the texts.", show_default="text")]
LabelOption = Annotated[str | None, own_file("--label", help="The column of the labels.", show_default="label")]
MapOption = Annotated[str | None, own_file("--map", help="Which labels make which class: '1,2=neg 4,5=pos'.")]
ValidOption = Annotated[File, own_file("--valid", help="Another file, to validate on.", show_default="a fifth")]


def train(
    file: Annotated[
        str,
        Argument(
            metavar="FILE|NAME",
            help="Labelled texts or pairs: .csv, .tsv, .json, .jsonl (also .gz, .xz) or .parquet; or a corpus' name.",
            show_default=False,
        ),
    ],
    target: Annotated[File, Argument(help="The translations of FILE, line by line.", show_default=False)] = None,
    text: TextOption = None,
    label: LabelOption = None,
    groups: MapOption = None,
    valid: ValidOption = None,
    longest: LongestOption = None,
    pairs: PairsOption = False,
    columns: ColumnsOption = None,
    pieces: PiecesOption = None,
    attention: Annotated[str, Option(help="learned, or uniform: the same share for every word.")] = "learned",
    steps: Annotated[int, Option(min=1, help="Updates at most.")] = 2000,
    patience: Annotated[int, Option(min=1, help="Evaluations without a lower validation loss that end it.")] = 4,
    seed: Annotated[int, Option(min=0, help="Of the starting weights and the order of the texts.")] = 0,
    seeds: Annotated[int, Option(min=1, max=10_000, help="Seeds to train, from --seed on.")] = 1,
    jobs: options.JobsOption = None,
    engine: options.EngineOption = "local",
    address: options.AddressOption = None,
    cpus_per_run: options.CpusOption = None,
    gpus_per_run: options.GpusOption = None,
    store: options.StoreOption = Path("runs"),
    as_json: options.JsonOption = False,
) -> None:
    """Train the papers' classifier on your texts, or their translator on your sentence pairs; the run is kept."""
    from attnlab.auditing.network import best_kept_step
    from attnlab.auditing.training import classifier_spec, text_task, until_no_improvement
    from attnlab.data.corpora import KNOWN
    from attnlab.runs.loop import train
    from attnlab.runs.progress import run_progress
    from attnlab.runs.store import RunStore

    if attention not in ("learned", "uniform"):
        raise UsageError(f"--attention {attention}: attention is learned or uniform.")
    where = Seeds(seed, seeds, options.make_engine(engine, jobs, address, cpus_per_run, gpus_per_run))
    if asks_for_pairs(file, target, pairs, columns, pieces):
        refuse_labels(file, {"text": text, "label": label, "map": groups, "valid": valid})
        sizes = {name: value for name, value in (("pieces", pieces), ("longest", longest)) if value is not None}
        how: Any = {"attention": attention, "steps": steps, "patience": patience, "seeds": where, **sizes}
        train_pairs(file, target, columns, store=store, as_json=as_json, **how)
        return
    named = {"text": text, "label": label, "groups": groups, "valid": valid, "longest": longest}
    own: dict[str, Any] = {name: value for name, value in named.items() if value is not None}
    if own and file in KNOWN:
        option = {"groups": "map"}.get(next(iter(own)), next(iter(own)))
        raise UsageError(f"--{option} is for a file of your own; the columns and classes of {file} are known.")
    task, corpus = text_task(file, **own)
    screen = options.console()
    for note in corpus.notes:
        screen.print(Text(note, "yellow"))
    make_spec = partial(classifier_spec, task, attention="uniform" if attention == "uniform" else "learned")
    spec = make_spec(seed=seed)
    schedule = until_no_improvement(len(corpus.train), steps, patience=patience)
    options.settings.kept = f"What was trained is kept in {store}; the same command goes on from there."
    if where.several:
        made = train_seeds(lambda number: make_spec(seed=number), schedule, where, store)
        print_seeds(made, as_json, content=task.content, classes=corpus.classes, notes=corpus.notes)
        return
    home = RunStore(store)
    with run_progress(schedule, screen) as observe:
        done = train(spec, schedule, home, observe=observe, device=options.settings.device)
    step = best_kept_step(home.run(done.id))
    row = next(row for row in done.rows if row["step"] == step)
    labels = corpus.valid.labels.bincount(minlength=len(corpus.classes))
    majority = float(labels.max()) / len(corpus.valid)
    if as_json:
        result = {"run": done.id, "content": task.content, "steps": done.step, "best_step": step, **row}
        options.print_json({**result, "majority": majority, "classes": corpus.classes, "notes": corpus.notes})
        return
    best = f"accuracy {row['accuracy']:.1%} on {min(len(corpus.valid), spec.evaluation_batch)} validation texts"
    options.say(f"Run {done.id}: {best} after {step} updates (the commonest class alone: {majority:.1%}).")
    if not options.settings.quiet:
        where = "" if str(store) == "runs" else f" --store {store}"
        options.say(f'What it looks at: attnlab explain {done.id} "a sentence"{where}')

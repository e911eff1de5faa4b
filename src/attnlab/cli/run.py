"""``attnlab run NAME``: carry out an experiment, or say what it would cost."""

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from rich.table import Table
from rich.text import Text
from typer import Argument, Option

from attnlab.cli import options
from attnlab.cli.options import File

if TYPE_CHECKING:
    from attnlab.lab.conduct import Estimate
    from attnlab.lab.experiment import Order


def _names(incomplete: str) -> list[str]:
    from attnlab.lab.registry import EXPERIMENTS

    return [name for name in EXPERIMENTS if name.startswith(incomplete)]


def run(
    name: Annotated[
        str,
        Argument(
            help="Experiment: see `attnlab experiments`; or your own as module:Class.",
            autocompletion=_names,
            show_default=False,
        ),
    ],
    preset: Annotated[
        str, Option(help="quick (about two minutes), reduced (fewer seeds or steps) or paper (its own settings).")
    ] = "quick",
    plan: Annotated[bool, Option("--plan", help="Say what it would cost and train nothing.")] = False,
    seeds: Annotated[
        int | None, Option(help="Only the first N of the experiment's seeds.", show_default="all of the preset")
    ] = None,
    only: Annotated[
        list[str] | None,
        Option(help="Only these rows (corpora) of an experiment that has rows.", show_default="those found"),
    ] = None,
    data: Annotated[File, Option(help="Folder of the corpora.", envvar="ATTNLAB_DATA", show_default=False)] = None,
    stop_hopeless: options.StopHopelessOption = False,
    recall: Annotated[
        File,
        Option(
            help="Reuse copying runs already measured in this results folder instead of training them.",
            show_default=False,
        ),
    ] = None,
    jobs: options.JobsOption = None,
    engine: options.EngineOption = "local",
    address: options.AddressOption = None,
    cpus_per_run: options.CpusOption = None,
    gpus_per_run: options.GpusOption = None,
    store: options.StoreOption = Path("runs"),
    out: Annotated[Path, Option(help="Folder that results are written into.")] = Path("results"),
    as_json: options.JsonOption = False,
) -> None:
    """Run an experiment of the papers: train what is missing, decide its claims, write tables and figures."""
    from attnlab.files import check_outputs
    from attnlab.lab.conduct import conduct, estimate
    from attnlab.lab.experiment import check_order, chosen_rows
    from attnlab.lab.recall import check_recalling
    from attnlab.lab.recall import recall as recall_runs
    from attnlab.lab.registry import find_experiment
    from attnlab.lab.stopping import check_stoppable
    from attnlab.runs.progress import watching
    from attnlab.runs.store import RunStore

    if data is not None:
        os.environ["ATTNLAB_DATA"] = str(data)  # the worker processes read the corpora too
    experiment, order = find_experiment(name), replace(check_order(preset, seeds), stop_hopeless=stop_hopeless)
    if stop_hopeless:
        check_stoppable(experiment, order)
    if recall is not None:
        check_recalling(experiment)
    recalled = None if recall is None else recall_runs(recall)
    orders = [replace(order, row=row) for row in chosen_rows(experiment, order.preset, only or ())]
    check_outputs([out / experiment.name / "result.json"])
    where = options.make_engine(engine, jobs, address, cpus_per_run, gpus_per_run)
    runs = RunStore(store)
    if plan:
        costs = [(order, estimate(experiment, order, runs, recalled)) for order in orders]
        _plan(costs, experiment.name, options.workers(jobs), as_json)
        return
    options.settings.kept = f"What was trained is kept in {store}; the same command goes on from there."
    screen, documents = options.console(), []
    for order in orders:
        # What repeats the result; where runs and results lie, and how many workers made them, decides nothing.
        command = f"attnlab run {experiment.name} --preset {order.preset}"
        command += (f" --only {order.row}" if order.row else "") + (f" --seeds {seeds}" if seeds else "")
        command += " --stop-hopeless" * stop_hopeless + (" --recall results" if recall else "")
        with watching(screen) as watch:
            done = conduct(experiment, order, runs, where, out, command=command, watch=watch, recalled=recalled)
        documents.append(json.loads((done.folder / "result.json").read_text(encoding="utf-8")))
        if not as_json:
            if not options.settings.quiet:
                _print(done.result)
            options.say(str(done.folder))
    if not stop_hopeless:  # such results are kept apart, where they decide nothing
        page = experiment.report(out / experiment.name)
        if not as_json:
            options.say(str(page))
    if as_json:
        options.print_json(documents[0] if len(documents) == 1 else documents)


def _plan(costs: "list[tuple[Order, Estimate]]", name: str, workers: int, as_json: bool) -> None:
    if as_json:
        rows = [vars(cost) | ({"row": order.row} if order.row else {}) for order, cost in costs]
        options.print_json(rows[0] if len(rows) == 1 else rows)
        return
    for order, cost in costs:
        asked = f"{name} at {order.preset}" + (f", row {order.row}" if order.row else "")
        if not cost.to_train:
            left = f"all {cost.runs} runs are there; only their analysis is left" if cost.runs else "nothing to train"
            options.Screen().print(f"{asked}: {left}.")
            continue
        options.Screen().print(
            f"{asked}: {cost.runs} runs, {cost.to_train} of them still to be trained "
            f"(at most {cost.updates} updates).\nAt most {cost.cpu_hours:.2f} CPU hours, "
            f"{cost.cpu_hours / workers * 60:.0f} minutes with {workers} workers, "
            f"and {cost.bytes / 1e6:.0f} MB of disk."
        )


def _print(result: Any) -> None:
    screen = options.Screen()
    screen.print(result.summary)
    table = Table("claim", "part", "direction", "with our margin", "effect", "95 % interval", "numbers")
    colours = {"holds": "green", "fails": "red", "undecided": "yellow"}
    for finding in result.findings:
        for part in finding.parts:
            table.add_row(
                finding.claim,
                part.name,
                Text(part.directed, colours[part.directed]),
                Text(part.verdict, colours[part.verdict]) if part.direction else "",
                "" if part.effect is None else f"{part.effect:.3g}",
                "" if part.interval is None else f"{part.interval[0]:.3g} to {part.interval[1]:.3g}",
                part.detail,
            )
    if result.findings:
        screen.print(table)
    for note in result.notes:
        screen.print(f"Note: {note}", style="dim")

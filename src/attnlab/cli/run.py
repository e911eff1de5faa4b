"""``attnlab run NAME``: carry out an experiment, or say what it would cost."""

import json
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from attnlab.cli.options import JobsOption, JsonOption, StoreOption, check_device, console, settings, workers


def _names(incomplete: str) -> list[str]:
    from attnlab.experiments.registry import EXPERIMENTS

    return [name for name in EXPERIMENTS if name.startswith(incomplete)]


def run(
    name: Annotated[
        str, typer.Argument(help="Experiment: see `attnlab experiments`.", autocompletion=_names, show_default=False)
    ],
    preset: Annotated[
        str, typer.Option(help="quick (about two minutes), reduced (at most 2 CPU hours) or paper (its own settings).")
    ] = "quick",
    plan: Annotated[bool, typer.Option("--plan", help="Say what it would cost and train nothing.")] = False,
    seeds: Annotated[
        int | None, typer.Option(help="Only the first N of the experiment's seeds.", show_default="all of the preset")
    ] = None,
    jobs: JobsOption = None,
    store: StoreOption = Path("runs"),
    out: Annotated[Path, typer.Option(help="Folder that results are written into.")] = Path("results"),
    as_json: JsonOption = False,
) -> None:
    """Run an experiment of the papers: train what is missing, decide its claims, write tables and figures."""
    from attnlab.experiments.conduct import conduct, estimate
    from attnlab.experiments.experiment import check_order
    from attnlab.experiments.registry import find_experiment
    from attnlab.training.engine import LocalEngine
    from attnlab.training.progress import watching
    from attnlab.training.store import RunStore

    experiment, order = find_experiment(name), check_order(preset, seeds)
    engine = LocalEngine(workers(jobs), check_device(settings.device))
    runs = RunStore(store)
    if plan:
        cost = estimate(experiment, order, runs)
        if as_json:
            typer.echo(json.dumps(vars(cost), indent=2))
            return
        hours = cost.cpu_hours / engine.workers
        Console().print(
            f"{experiment.name} at {order.preset}: {cost.runs} runs, {cost.to_train} of them still to be trained "
            f"(at most {cost.updates} updates).\nAt most {cost.cpu_hours:.2f} CPU hours, {hours * 60:.0f} minutes with "
            f"{engine.workers} workers, and {cost.bytes / 1e6:.0f} MB of disk.",
            highlight=False,
        )
        return
    screen = console()
    # What repeats the result; where runs and results lie, and how many workers made them, decides nothing.
    command = f"attnlab run {experiment.name} --preset {order.preset}" + (f" --seeds {seeds}" if seeds else "")
    with watching(screen) as watch:
        done = conduct(experiment, order, runs, engine, out, command=command, watch=watch)
    if as_json:
        typer.echo((done.folder / "result.json").read_text(encoding="utf-8"), nl=False)
        return
    if not settings.quiet:
        _print(done.result)
    typer.echo(str(done.folder))


def _print(result: Any) -> None:
    screen = Console()
    screen.print(result.summary, highlight=False)
    table = Table("claim", "part", "verdict", "effect", "95 % interval", "numbers")
    colours = {"holds": "green", "fails": "red", "undecided": "yellow"}
    for finding in result.findings:
        for part in finding.parts:
            table.add_row(
                finding.claim,
                part.name,
                f"[{colours[part.verdict]}]{part.verdict}",
                "" if part.effect is None else f"{part.effect:.3g}",
                "" if part.interval is None else f"{part.interval[0]:.3g} to {part.interval[1]:.3g}",
                part.detail,
            )
    if result.findings:
        screen.print(table)
    for note in result.notes:
        screen.print(f"Note: {note}", style="dim", highlight=False)

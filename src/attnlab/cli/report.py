"""``attnlab report NAME``: the page of results that are there."""

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from attnlab.cli.options import say


def report(
    names: Annotated[list[str], Argument(help="Experiments: see `attnlab experiments`.", show_default=False)],
    results: Annotated[Path, Option(help="Folder that results were written into.")] = Path("results"),
) -> None:
    """Write the page of an experiment's results again, from what lies on disk. Trains nothing."""
    from attnlab.lab.registry import find_experiment

    for experiment in [find_experiment(name) for name in names]:
        say(str(experiment.report(results / experiment.name)))

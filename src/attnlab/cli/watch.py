"""``attnlab watch NAME``: add attention through training to a result that is there."""

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from attnlab.cli import options


def watch(
    name: Annotated[str, Argument(help="Experiment: see `attnlab experiments`.", show_default=False)],
    results: Annotated[Path, Option(help="Folder that results were written into.")] = Path("results"),
    jobs: options.JobsOption = None,
    store: options.StoreOption = Path("runs"),
) -> None:
    """Train the two or three runs whose attention an experiment's page shows, and add them to its result."""
    from attnlab.lab.conduct import train_all
    from attnlab.lab.registry import find_experiment
    from attnlab.lab.replays import add_replay, wanted
    from attnlab.runs.engine import LocalEngine
    from attnlab.runs.progress import watching
    from attnlab.runs.store import RunStore

    experiment = find_experiment(name)
    all_wanted = wanted(experiment, results)
    options.settings.kept = f"What was trained is kept in {store}; the same command goes on from there."
    engine = LocalEngine(options.workers(jobs), options.check_device(options.settings.device))
    for one in all_wanted:
        with watching(options.console(), engine.workers) as observed:
            done = train_all(one.jobs, RunStore(store), engine, observed)
        options.say(str(add_replay(experiment, one, done)))

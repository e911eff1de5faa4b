"""The laboratory from Python: `run` an experiment, see how all `claims` stand."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from attnlab.errors import UsageError
from attnlab.files import as_path
from attnlab.lab.claims import Decision, decide
from attnlab.lab.claims.committed import places_of_results
from attnlab.lab.conduct import Conducted, conduct
from attnlab.lab.experiment import Experiment, Order, check_order, chosen_rows
from attnlab.lab.registry import find_experiment
from attnlab.lab.replays import film_of
from attnlab.pages.replay import CAPTION, Replay
from attnlab.runs.engine import LocalEngine
from attnlab.runs.environment import cores
from attnlab.runs.loop import Trained
from attnlab.runs.store import RunStore


def run(
    experiment: str | Experiment,
    preset: str = "quick",
    *,
    row: str = "",
    seeds: int | None = None,
    store: Path | str = "runs",
    out: Path | str = "results",
    workers: int | None = None,
) -> Conducted:
    """Run an experiment as ``attnlab run`` does: train what the store lacks, decide its claims, write its result.

    ``row``: which corpus, for an experiment that has several. Returns the result, its folder and how long it took.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     done = run("gated-toy", store=f"{folder}/runs", out=folder)
    >>> done.result.findings[0].verdict
    'holds'
    """
    chosen = find_experiment(experiment) if isinstance(experiment, str) else experiment
    if not isinstance(chosen, Experiment):
        raise UsageError(f"An experiment is named, or made from attnlab.lab.Experiment; this is {experiment!r:.60}.")
    order = check_order(preset, seeds)
    (one,) = _rows(chosen, order, row)
    command = f"attnlab.run({chosen.name!r}, preset={preset!r}" + (f", row={one!r})" if one else ")")
    results = as_path(out, "The folder of results")
    engine = LocalEngine(cores() if workers is None else workers)
    return conduct(chosen, replace(order, row=one), RunStore(store), engine, results, command=command)


def _rows(experiment: Experiment, order: Order, row: str) -> Sequence[str]:
    rows = chosen_rows(experiment, order.preset, [row] if row else [])
    if len(rows) != 1:
        raise UsageError(f"The experiment {experiment.name} has the rows {', '.join(rows)} here; name one as row=.")
    return rows


def replay(runs: Mapping[str, Trained], *, example: Sequence[str] = (), title: str = "", caption: str = "") -> Replay:
    """What finished ``runs``, by name, looked at through training: a page with a slider, by its method ``save``.

    Their schedule must have had ``watch``, and ``example`` is what it named.

    >>> import tempfile, attnlab as al
    >>> from attnlab import specs
    >>> task = specs.CopyingSpec(distribution=specs.SelectionsSpec(length=4, words=6))
    >>> spec = specs.RunSpec(task=task, model=specs.Seq2SeqSpec(hidden=16), batch=8, init_seed=0, data_seed=0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     run = al.train(spec, specs.Schedule.every(5, steps=10, watch=()), al.RunStore(folder))
    ...     shown = al.replay({"a small one": run}, title="Copying")
    ...     shown.save(f"{folder}/copying.html").name, shown.steps
    ('copying.html', (0, 5, 10))
    """
    if not isinstance(runs, Mapping) or not runs or not all(isinstance(run, Trained) for run in runs.values()):
        raise UsageError(f"To replay takes finished runs by name, such as {{'seed 0': run}}; this is {runs!r:.60}.")
    films = [film_of(name, run, tuple(example)) for name, run in runs.items()]
    return Replay(title or "Attention through training", tuple(films), caption or CAPTION)


def claims(results: Path | str | None = None) -> list[Decision]:
    """How every claim stands after the results in a folder; None: in ``results`` and in attnlab's own.

    >>> len(claims("no such folder"))
    117
    """
    return decide(*places_of_results(None if results is None else as_path(results, "The folder of results")))

"""Attention through training, for a result's page: which runs are watched, and what is kept of them.

An experiment names two or three runs as `Watched`. Where it is carried out, their schedules keep attention and lexical
probe of one example at every evaluation; that changes neither a run's id nor what is measured of it. `add_replay` adds
the same to a result that was written before, from runs that are trained for it alone.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from attnlab.errors import UsageError
from attnlab.files import write_atomically
from attnlab.lab.claims import PRESETS, Preset
from attnlab.lab.experiment import Experiment, Order, Watched
from attnlab.lab.recall import runs_of
from attnlab.lab.result import REPLAYS, read_result, write_document
from attnlab.lab.written import WrittenResult
from attnlab.pages.page import Section
from attnlab.pages.replay import Film, Replay, Shown, matrix_field, shares, signed, thinned
from attnlab.pages.replay_component import replay_component
from attnlab.protocols import Row
from attnlab.runs.engine import Job
from attnlab.runs.loop import Trained
from attnlab.runs.schedule import Schedule

ATTENTION, PROBE = "attention", "lexical probe"
NUMBERS = {"accuracy": "accuracy", "attention right": "attention_accuracy", "probe right": "probe_accuracy"}
"""What is said beside a film, and the metrics it is read from."""
NAME = "attention"
"""The file of an experiment's replay."""
APART = 0.05
"""How far the numbers of a run that was trained again may be from those that its result keeps: other processors add in
another order, and late in training one word of two thousand may come out otherwise."""


def watching(jobs: Sequence[Job], experiment: Experiment, order: Order) -> list[Job]:
    """The jobs, those of watched runs with a schedule that watches."""
    examples = {one.label: one.example for one in chosen(experiment, order.preset, order.row)}
    return [
        replace(job, schedule=watched_schedule(job.schedule, examples[job.label])) if job.label in examples else job
        for job in jobs
    ]


def chosen(experiment: Experiment, preset: str, row: str) -> list[Watched]:
    """The runs that are watched at a preset, of a row."""
    return [one for one in experiment.watched if preset in one.presets and one.row in ("", row)]


def watched_schedule(schedule: Schedule, example: tuple[str, ...]) -> Schedule:
    """The same schedule, watching."""
    return schedule.model_copy(update={"watch": example})


def replay_of(experiment: Experiment, order: Order, done: Mapping[str, Trained]) -> Replay | None:
    """The films of watched runs that are there; None of none. Runs that were recalled have nothing to show."""
    films = []
    for one in chosen(experiment, order.preset, order.row):
        run = None
        with suppress(UsageError):  # its corpus is not there, so it was not run
            run = done.get(one.setting.spec(one.seed).id)
        if run is not None and run.run is not None and run.run.watched(one.example):
            films.append(film_of(one.name, run, one.example, one.caption))
    return Replay(experiment.replay_title, tuple(films), experiment.replay_caption) if films else None


def film_of(name: str, trained: Trained, example: tuple[str, ...] = (), caption: str = "") -> Film:
    """What a finished run looked at, at about twenty of its evaluations."""
    assert trained.run is not None
    tables, rows = trained.run.watched(example), {int(row["step"]): row for row in trained.rows}
    steps = thinned([step for step in sorted(tables) if step in rows])
    if not steps:
        raise UsageError(f"Run {trained.id} was not watched; train it with a schedule that has watch={example!r}.")
    alpha, beta = (np.array([tables[step][name].to_pylist() for step in steps]) for name in ("alpha", "beta"))
    first: pa.Table = tables[steps[0]]
    inputs, outputs = (_labels(words) for words in (first["inputs"][0].as_py(), first["output"].to_pylist()))
    numbers = {
        said: tuple(round(float(rows[step][metric]), 4) for step in steps)
        for said, metric in NUMBERS.items()
        if metric in rows[steps[0]]
    }
    if len(outputs) == 1:  # a text and its class
        probe = Shown(f"{PROBE} of {outputs[0]}", signed(2 * beta[:, 0] - 1), signed=True)
        fields: tuple[Shown, ...] = (Shown(ATTENTION, shares(alpha[:, 0])), probe)
        return Film(name, "texts", tuple(steps), (inputs,), outputs, fields, caption, numbers)
    share = beta / np.maximum(beta.sum(-1, keepdims=True), 1e-30)
    fields = (matrix_field(ATTENTION, alpha), matrix_field(PROBE, share))
    return Film(name, "matrix", tuple(steps), (inputs,), outputs, fields, caption, numbers)


def _labels(words: Sequence[str]) -> tuple[str, ...]:
    """Pieces as people read them; other words as they are."""
    from attnlab.pages.attention_map import piece_labels

    return tuple(piece_labels(words)) if any("\u2581" in word for word in words) else tuple(words)


def replay_sections(result: WrittenResult) -> list[Section]:
    """What a result's page shows of its watched runs."""
    return [
        Section(replay.title, component=replay_component(replay, f"replay-{result.row or result.preset}-{k}"))
        for k, replay in enumerate(result.replays())
    ]


# --- for a result that is there


@dataclass(frozen=True)
class Wanted:
    """A result, and the runs to be watched for it."""

    folder: Path
    order: Order
    jobs: tuple[Job, ...]


def wanted(experiment: Experiment, results: Path) -> list[Wanted]:
    """Results of ``experiment`` below ``results`` at their strongest preset, with the runs that they show."""
    if not experiment.watched:
        raise UsageError(f"The experiment {experiment.name} names no run to watch.")
    every = []
    for row in experiment.rows or ("",):
        order = next((order for order in _orders(row) if (results / place(experiment, order)).is_file()), None)
        if order is None:
            continue
        folder = (results / place(experiment, order)).parent
        watched = chosen(experiment, order.preset, row)
        if watched:
            every.append(Wanted(folder, order, tuple(_job(one, order.preset) for one in watched)))
    if not every:
        raise UsageError(
            f"{results / experiment.name} has no result that shows a watched run; run the experiment first."
        )
    return every


def _orders(row: str) -> Iterator[Order]:
    return (Order(preset, row=row) for preset in reversed(PRESETS))


def place(experiment: Experiment, order: Order) -> Path:
    """Where the document of an order's result is, below the folder of results."""
    return Path(experiment.name, order.folder, order.row, "result.json")


def _job(one: Watched, preset: Preset) -> Job:
    """A watched run to the end that its film has."""
    job = one.setting.job(one.seed, preset)
    steps = one.steps or tuple(thinned(job.schedule.evaluations))
    return replace(job, schedule=Schedule(steps=steps[-1], evaluations=steps, watch=one.example))


def add_replay(experiment: Experiment, wanted: Wanted, done: Mapping[str, Trained]) -> Path:
    """Write the replay into the result's folder and seal it again; where it is.

    The runs must be those of the result: where it keeps their curves, the numbers must be the same, up to `APART`.
    """
    document = read_result(wanted.folder)
    kept, apart = runs_of(wanted.folder), 0.0
    for job in wanted.jobs:
        if of_run := kept.get(job.spec.id):
            apart = max(apart, *_differences(done[job.spec.id].rows, of_run))
    if apart > APART:
        raise UsageError(f"{wanted.folder} keeps other runs: a number differs by {apart:.3g} after the same updates.")
    replay = replay_of(experiment, wanted.order, done)
    assert replay is not None
    path = wanted.folder / REPLAYS / f"{NAME}.json"
    path.parent.mkdir(exist_ok=True)
    write_atomically(path, replay.to_bytes())
    document = {key: value for key, value in document.items() if key not in ("files", "seal")}
    document[REPLAYS] = [NAME]
    document["watched_runs"] = {"runs": [job.spec.id for job in wanted.jobs], "largest_difference": round(apart, 6)}
    write_document(wanted.folder, document)
    return path


def _differences(rows: Sequence[Row], kept: Mapping[int, Row]) -> Iterator[float]:
    names = set(NUMBERS.values())
    yield 0.0
    for row in rows:
        old: Mapping[str, Any] = kept.get(int(row["step"]), {})
        yield from (abs(row[name] - old[name]) for name in names & row.keys() & old.keys())

"""The training loop: plain, resumable, the same to the last bit whether or not it was interrupted."""

import math
import time
import warnings
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from attnlab.errors import RunFailed, StoreError, UsageError
from attnlab.families.registry import build_problem
from attnlab.protocols import Optimiser, Problem, Row, Watchable
from attnlab.runs.checkpoint import TENSORS, Checkpoint, fault_in_tensors, unfitting
from attnlab.runs.documents import names_alike
from attnlab.runs.environment import environment, threads
from attnlab.runs.schedule import Schedule
from attnlab.runs.spec import RunSpec, read_stored
from attnlab.runs.store import Run, RunStore, StoreWarning

if TYPE_CHECKING:
    import pyarrow as pa

Observer = Callable[[int, Row | None], None]
"""Called after every update and evaluation with the step and, at an evaluation, its row."""


METRICS_INTERVAL = 1.0
"""Seconds between writings of a running run's metrics; a checkpoint is always preceded by one."""
INEXACT = "inexact: it went on in another environment than it began in"
"""The message in the status of such a run."""
ENDED_EARLY = "ended early: "
"""Before the stop rule's reason, in the status of a run that it ended; it goes on once a schedule wants more of it."""


class Interrupted(Exception):
    """The caller asked the loop to stop; a checkpoint was written first."""


@dataclass(frozen=True)
class Trained:
    """A finished run: its id, its metrics rows in order of steps, the step it ended at, its folder."""

    id: str
    rows: list[Row]
    step: int
    run: Run | None = field(default=None, compare=False)


def train(
    spec: RunSpec,
    schedule: Schedule,
    store: RunStore,
    *,
    observe: Observer | None = None,
    interrupted: Callable[[], bool] | None = None,
    device: str = "cpu",
    thread_count: int = 1,
    wait: float | None = None,
) -> Trained:
    """Train ``spec`` until ``schedule`` is fulfilled, going on from what the store already has.

    The run's last whole checkpoint before the first evaluation that is still missing is where training goes on; a run
    with nothing missing is not trained. All that is there is read first, and what is damaged is made again. Another
    process at work on the same run is waited for (``wait`` seconds at most; None: as long as it takes). ``interrupted``
    is asked before every update.

    >>> import tempfile
    >>> from attnlab.families.topics.spec import TopicModelSpec, TopicsSpec
    >>> spec = RunSpec(task=TopicsSpec(sentences=50), model=TopicModelSpec(), batch=None, init_seed=0, data_seed=0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     train(spec, Schedule.every(5, steps=10), RunStore(folder)).step
    10
    """
    for value, kind in ((spec, RunSpec), (schedule, Schedule), (store, RunStore)):
        if not isinstance(value, kind):
            raise UsageError(
                f"To train takes a RunSpec, a Schedule and a RunStore; {value!r:.60} is no {kind.__name__}."
            )
    run = store.run(spec.id)
    with threads(thread_count), run.locked(wait):
        run.mend()
        return _finished(run, spec, schedule, held=True) or _Training(run, spec, schedule, device, store).go(
            observe, interrupted
        )


def finished(spec: RunSpec, schedule: Schedule, store: RunStore) -> Trained | None:
    """The run if the store has all that ``schedule`` wants of it, else None, and to train it says what is wrong."""
    try:
        return _finished(store.run(spec.id), spec, schedule)
    except StoreError:
        return None


def measured(spec: RunSpec, schedule: Schedule, rows_of: Mapping[str, Mapping[int, Row]]) -> Trained | None:
    """The run without its folder, if ``rows_of`` its id, by step, are all that ``schedule`` wants of it; else None.

    What was measured under an earlier arithmetic counts too: the run that is returned has the id of that time.
    """
    for id in spec.ids:
        rows = rows_of.get(id)
        if rows and not _missing(rows, (), schedule):
            return Trained(id, _wanted(rows, schedule), _last_step(rows, schedule))
    return None


def _finished(run: Run, spec: RunSpec, schedule: Schedule, held: bool = False) -> Trained | None:
    """``held``: by this process, so that a run which says that it is running was killed."""
    status = run.status() if run.exists() else None
    if status is None or (status["status"] == "running" and (held or not run.is_locked())):
        return None
    measured, steps = run.measured(), run.steps()
    rows = _by_step(measured.rows)
    try:
        last = _last_step(rows, schedule)
        missing = _missing(rows, steps, schedule, measured.lacking | _unwatched(rows, run, schedule))
    except KeyError as fault:
        raise StoreError(
            f"{run.path / 'metrics.parquet'} does not say the {fault} that the schedule asks for."
        ) from None
    if missing or max(steps, default=-1) < last or not _describes(run, spec):
        return None
    return Trained(run.id, _wanted(rows, schedule), last, run)


def _describes(run: Run, spec: RunSpec) -> bool:
    """Whether the spec in the run's folder is ``spec``, or of before some of its settings existed, or differs only in
    what decides nothing, such as the place of a file.
    """
    try:
        stored = run.spec()
    except StoreError:
        return False
    asked = spec.model_dump(mode="json")
    older = stored.keys() >= {"task", "init_seed", "data_seed"} and names_alike(stored, asked)
    return stored == asked or older or read_stored(stored, run.id) is not None


def gave_up(rows: Iterable[Row], schedule: Schedule) -> int | None:
    """The step at which the stop rule of ``schedule`` ends a run with these rows, or None."""
    if schedule.give_up is None:
        return None
    return schedule.give_up.stops_at({int(row["step"]): row for row in rows if row["step"] in schedule.evaluations})


class _Training:
    """One call of `train` that has work to do."""

    def __init__(self, run: Run, spec: RunSpec, schedule: Schedule, device: str, store: RunStore) -> None:
        self.run, self.spec, self.schedule = run, spec, schedule
        status, measured = run.status(), run.measured()
        self.rows, self.fields = _by_step(measured.rows), measured.fields
        self.watched = {} if schedule.watch is None else run.watched(schedule.watch)
        self.lacking = measured.lacking | _unwatched(self.rows, run, schedule)
        known = run.exists() and _describes(run, spec)
        run.begin(run.spec() if known else spec.model_dump(mode="json"), {**environment(device)})
        if not _describes(run, spec):
            raise StoreError(f"{run.path / 'spec.json'} describes another run than the one asked for.")
        self.step, self.seconds, self.updates = 0, 0.0, 0
        self.rows_written, self.metrics_time = -1, -math.inf
        self.timing_before = run.timing()
        newest = run.latest()
        self.reached = newest.step if newest else -1
        self.stored = set(run.steps())
        if newest is not None:
            self._take_rows(newest)
        # What was inexact stays so, whichever of these files is lost.
        marks = (
            measured.inexact,
            newest and newest.record.get("inexact"),
            INEXACT in (status or {}).get("message", ""),
        )
        self.inexact = any(marks)
        last, missing = _last_step(self.rows, schedule), self._missing()
        if missing or self.reached < last:  # else a run that was killed just before it ended, or lost its status
            self.inexact = _environment_changed(run, device) or self.inexact
        self.problem: Problem = build_problem(spec, device, store.weights)
        self.optimiser: Optimiser = spec.optimiser.build(list(self.problem.trained_parameters().values()))
        # Evaluations after what was reached go on from the newest checkpoint; earlier ones are replayed from before.
        begin = missing[0] if missing else last
        checkpoint = newest if newest and newest.step <= begin else run.latest(at_most=begin)
        if checkpoint is not None:
            self._restore(checkpoint)

    def _missing(self) -> list[int]:
        return _missing(self.rows, self.stored, self.schedule, self.lacking)

    def go(self, observe: Observer | None, interrupted: Callable[[], bool] | None) -> Trained:
        self.run.set_status("running", self.step)
        try:
            self._train(observe, interrupted)
        finally:
            self._write_metrics()
        self.run.write_timing(self._timing())
        messages = [INEXACT] * self.inexact
        if self.schedule.give_up and gave_up(self.rows.values(), self.schedule) == self.reached:
            messages.append(ENDED_EARLY + self.schedule.give_up.reason)
        self.run.set_status("finished", self.reached, "; ".join(messages))
        return Trained(self.run.id, _wanted(self.rows, self.schedule), _last_step(self.rows, self.schedule), self.run)

    def _train(self, observe: Observer | None, interrupted: Callable[[], bool] | None) -> None:
        run, schedule = self.run, self.schedule
        while True:
            started = time.process_time()  # not the clock: a busy machine makes no run dearer
            if self.step in schedule.evaluations and (self.step not in self.rows or self.step in self.lacking):
                row = {"step": self.step, **self.problem.evaluate(self.step)}
                self.fields.discard(self.step)
                if (fields := self.problem.fields()) is not None:
                    run.write_fields(self.step, fields)  # before the row: a row that is there has its fields
                    self.fields.add(self.step)
                if schedule.watch is not None:
                    self.watched[self.step] = _look(self.problem, self.spec, schedule.watch)
                    run.write_watched(self.watched, schedule.watch)
                self.lacking.discard(self.step)
                self.rows.setdefault(self.step, row)
                if time.monotonic() - self.metrics_time >= METRICS_INTERVAL:
                    self._write_metrics()
                if observe:
                    observe(self.step, self.rows[self.step])
            last = _last_step(self.rows, schedule)
            done = self.step >= last or (self.reached >= last and not self._missing())
            stopped = not done and interrupted is not None and interrupted()
            pinned = self.step in _kept(self.rows, schedule)
            if done or stopped or pinned or (self.step and self.step % schedule.checkpoint_every == 0):
                self._write_metrics()  # first: what was measured before a checkpoint is not measured again
                self._save(pinned)
            if stopped:
                raise Interrupted(f"Run {run.id} stopped at step {self.step}; it can go on from there.")
            if done:
                return
            self._update()
            self.seconds += time.process_time() - started
            if observe:
                observe(self.step, None)

    def _write_metrics(self) -> None:
        if len(self.rows) != self.rows_written:
            self.run.write_metrics(_ordered(self.rows), self.fields, inexact=self.inexact)
            self.rows_written, self.metrics_time = len(self.rows), time.monotonic()

    def _update(self) -> None:
        self.optimiser.zero_grad(set_to_none=True)
        self.problem.before_update(self.step, self.optimiser)
        loss = self.problem.loss(self.step)
        value = float(loss.detach())
        if not math.isfinite(value):
            sentence = (
                f"Run {self.run.id} failed: the loss at step {self.step} is {value} with learning rate "
                f"{self.spec.optimiser.learning_rate}; a smaller rate may help."
            )
            self.run.set_status("failed", self.step, sentence)
            raise RunFailed(sentence)
        loss.backward()
        self.optimiser.step()
        self.step, self.updates = self.step + 1, self.updates + 1

    def _save(self, pinned: bool) -> None:
        """Write a checkpoint, unless the store already has this step or a later one (and it is not one to keep)."""
        if self.step <= self.reached and not (pinned and self.step not in self.stored):
            return
        tensors = {f"model.{name}": value for name, value in self.problem.model.state_dict().items()}
        for name, parameter in self.problem.trained_parameters().items():
            for key, value in self.optimiser.state.get(parameter, {}).items():
                tensors[f"optimiser.{key}.{name}"] = value
        rows = _ordered({step: row for step, row in self.rows.items() if step <= self.step})
        record = {"metrics": rows, "inexact": self.inexact}
        self.run.save(Checkpoint(self.step, tensors, record), pinned=_kept(self.rows, self.schedule))
        self.run.write_timing(self._timing())
        self.reached = max(self.reached, self.step)
        self.stored.add(self.step)

    def _restore(self, checkpoint: Checkpoint) -> None:
        parameters, network = self.problem.trained_parameters(), self.problem.model.state_dict()
        if wrong := fault_in_tensors(checkpoint.tensors, network, parameters, self.spec.optimiser.STATE):
            path = self.run.path / "checkpoints" / str(checkpoint.step) / TENSORS
            raise StoreError(unfitting(path, self.run.id, wrong))
        weights = {}
        for full_name, value in checkpoint.tensors.items():
            owner, _, name = full_name.partition(".")
            if owner == "model":
                weights[name] = value
            else:
                key, _, name = name.partition(".")  # optimiser.exp_avg.NAME
                self.optimiser.state[parameters[name]][key] = value.to(parameters[name].device)
        self.problem.model.load_state_dict(weights)
        self._take_rows(checkpoint)
        self.step = checkpoint.step

    def _take_rows(self, checkpoint: Checkpoint) -> None:
        for row in checkpoint.record.get("metrics", []):
            self.rows.setdefault(int(row["step"]), row)

    def _timing(self) -> dict[str, float]:
        """Updates made and the CPU seconds they took (evaluations and checkpoints included), over all calls."""
        updates, seconds = self.timing_before.get("updates", 0), self.timing_before.get("seconds", 0.0)
        return {"updates": updates + self.updates, "seconds": seconds + self.seconds}


def _by_step(rows: Iterable[Row]) -> dict[int, Row]:
    return {int(row["step"]): row for row in rows}


def _ordered(rows: dict[int, Row]) -> list[Row]:
    return [rows[step] for step in sorted(rows)]


def _last_step(rows: Mapping[int, Row], schedule: Schedule) -> int:
    """Where the schedule ends: at its last step, where its stop rule ends it, or where it first passes ``stop_at``."""
    ended = gave_up(rows.values(), schedule)
    last = schedule.steps if ended is None else ended
    if schedule.stop_at is not None:
        for step in schedule.evaluations:
            if step in rows and step < last and rows[step].get("accuracy", 0.0) > schedule.stop_at:
                return step
    return last


def _missing(
    rows: Mapping[int, Row], stored: Collection[int], schedule: Schedule, lacking: Collection[int] = ()
) -> list[int]:
    """Steps of evaluations the schedule still wants: not measured yet, ``lacking`` their fields, or their weights to be
    kept and not there.
    """
    last = _last_step(rows, schedule)
    wanted = [step for step in schedule.evaluations if step <= last]
    kept = _kept(rows, schedule)
    return [step for step in wanted if step not in rows or step in lacking or (step in kept and step not in stored)]


def _unwatched(rows: Collection[int], run: Run, schedule: Schedule) -> set[int]:
    """Steps that were measured while nobody watched the example that the schedule wants."""
    return set() if schedule.watch is None else set(rows) - run.watched(schedule.watch).keys()


def _look(problem: Problem, spec: RunSpec, example: tuple[str, ...]) -> "pa.Table":
    if not isinstance(problem, Watchable):
        raise UsageError(
            f"A {spec.model.kind} on the task {spec.task.kind} cannot be watched; runs on copying, classifiers of "
            "labelled texts and translators can."
        )
    return problem.watched(example)


def _kept(rows: Mapping[int, Row], schedule: Schedule) -> Collection[int]:
    """Steps whose weights are to be kept, as far as ``rows`` says."""
    if schedule.keep == "best":
        measured = [step for step in schedule.evaluations if step in rows]
        return [max(measured, key=lambda step: rows[step]["accuracy"])] if measured else []
    return schedule.evaluations if schedule.keep else ()


def _wanted(rows: Mapping[int, Row], schedule: Schedule) -> list[Row]:
    last = _last_step(rows, schedule)
    return [rows[step] for step in schedule.evaluations if step <= last]


def _environment_changed(run: Run, device: str) -> bool:
    """Warn where the run began under other versions, another processor or thread count, or nobody knows under which."""
    before, now = run.began_in(), environment(device)
    if before is None:
        warnings.warn(f"Run {run.id} lost its environment.json; it goes on and is marked inexact.", StoreWarning, 2)
        return True
    changed = sorted(key for key in now if before.get(key) != now[key])
    if changed:
        named = ", ".join(f"{key} {before.get(key)} -> {now[key]}" for key in changed)
        warnings.warn(f"Run {run.id} goes on in another environment and is marked inexact: {named}.", StoreWarning, 2)
    return bool(changed)

"""``attnlab train`` with several seeds: a sweep, here or on a cluster."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attnlab.cli import options
from attnlab.errors import RunFailed

if TYPE_CHECKING:
    from attnlab.runs.engine import Engine
    from attnlab.runs.loop import Trained
    from attnlab.runs.schedule import Schedule
    from attnlab.runs.spec import RunSpec


@dataclass(frozen=True)
class Seeds:
    """Which seeds are trained, and where."""

    first: int
    count: int
    engine: "Engine"

    @property
    def several(self) -> bool:
        from attnlab.runs.engine import LocalEngine

        return self.count > 1 or not isinstance(self.engine, LocalEngine)


def train_seeds(
    make_spec: "Callable[[int], RunSpec]", schedule: "Schedule", seeds: Seeds, store: Path
) -> "list[tuple[int, Trained, Mapping[str, Any]]]":
    """Train all seeds: of each its number, its run, and the row of its best evaluation. One that fails is named after
    the others have finished.
    """
    from attnlab.auditing.network import best_kept_step
    from attnlab.runs.engine import Job
    from attnlab.runs.progress import watching
    from attnlab.runs.store import RunStore
    from attnlab.runs.sweep import pending, sweep

    numbers = range(seeds.first, seeds.first + seeds.count)
    jobs = [Job(f"seed {number}", make_spec(number), schedule) for number in numbers]
    home = RunStore(store)
    with watching(options.console()) as watch:
        swept = sweep(jobs, home, seeds.engine, watch(pending(jobs, home)))
    if swept.failed:
        reasons = " ".join(f"{label}: {reason}" for label, reason in swept.failed.items())
        raise RunFailed(f"{len(swept.failed)} of {len(jobs)} runs failed; the others are kept in {store}. {reasons}")
    made = []
    for number, job in zip(numbers, jobs, strict=True):
        done = swept.finished[job.spec.id]
        step = best_kept_step(home.run(done.id))
        made.append((number, done, next(row for row in done.rows if row["step"] == step)))
    return made


def print_seeds(made: "Sequence[tuple[int, Trained, Mapping[str, Any]]]", as_json: bool, **common: Any) -> None:
    """A line for each seed, or all in JSON together with what is ``common`` to them."""
    if as_json:
        runs = [{"seed": seed, "run": run.id, "steps": run.step, **row} for seed, run, row in made]
        options.print_json({**common, "runs": runs})
        return
    for seed, run, row in made:
        options.say(f"Run {run.id}, seed {seed}: accuracy {row['accuracy']:.1%} after {row['step']} updates.")
    values = [row["accuracy"] for _, _, row in made]
    options.say(
        f"{len(made)} seeds: accuracy {min(values):.1%} to {max(values):.1%}, mean {sum(values) / len(values):.1%}."
    )

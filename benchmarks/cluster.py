"""What Ray costs and what it gives: a sweep against the local engine's, and IBM Model 1 over two workers against one.

The corpus is copies of the Hansards, the words of each renamed, so that the table grows with it. Times are by the
clock, workers warm; the processor time of the busiest worker is beside them, since other work on the machine disturbs
it less. Peaks of memory are the kernel's marks, less those of the same process before it had any text.

As a program it measures these rows alone, prints them with all numbers and with the sentences of docs/cluster.md that
follow from them; ``--save`` puts the rows into results.json. Small numbers try it out:
``python benchmarks/cluster.py --runs 2 --steps 2 --copies 2 --lines 500``.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from alignment import Figure
from memory import peak_gigabytes

from attnlab.cluster.connection import connect
from attnlab.cluster.crew import HereCrew, RayCrew
from attnlab.cluster.sharded import ShardedCorpus
from attnlab.data.many_files import blocks, read_many
from attnlab.data.reading import read_utf8
from attnlab.families.copying.spec import CopyingSpec, PermutationsSpec
from attnlab.runs.engine import Engine, Job, LocalEngine
from attnlab.runs.environment import keep_memory
from attnlab.runs.loop import train
from attnlab.runs.ray_engine import RayEngine
from attnlab.runs.schedule import Schedule
from attnlab.runs.spec import RunSpec
from attnlab.runs.store import RunStore
from attnlab.runs.sweep import sweep
from attnlab.theory.ibm1 import train_ibm1
from attnlab.theory.shards import Shard

WORKERS = 2
MANY = 8
"""Workers between which bytes are counted."""
ROUNDS = 2
PAPER = Path(__file__).parents[1] / "results" / "copying" / "paper"
MINE = re.compile(
    r"\d+ copying runs of \d+ steps on Ray.*|IBM-1 on \d+ pairs over \d+ workers.*|the same, peak of a worker"
)
"""Names of the rows."""
Files = list[tuple[Path, Path]]


@dataclass(frozen=True)
class Size:
    """What is measured. ``lines``: of each copy, None for all."""

    runs: int = 20
    steps: int = 60
    copies: int = 10
    iterations: int = 5
    lines: int | None = None


@dataclass(frozen=True)
class Spread:
    """IBM-1 on ``pairs`` pairs over ``workers`` workers. ``reading``: seconds until all have their sentences;
    ``seconds``: of training, by the clock; ``busiest``: processor seconds of training of the worker that has most;
    ``gigabytes``: the largest peak of one above its idle one.
    """

    pairs: int
    workers: int
    reading: float
    seconds: float
    busiest: float
    gigabytes: float
    log_likelihood: float


@dataclass(frozen=True)
class Tables:
    """``alone``: one process without Ray. ``exchanged``: bytes that go between `MANY` workers in an iteration, of one
    copy, in which they share words as parts of a real corpus do. ``run_gigabytes``: the peak of a process that trains
    one copying run.
    """

    alone: dict[str, float]
    one: Spread
    two: Spread
    exchanged: int
    exchanged_pairs: int
    run_gigabytes: float


def measure() -> tuple[list[Figure], list[str]]:
    """The figures that can be had here, and a sentence for each that cannot."""
    figures, left_out, _ = measured(Size())
    return figures, left_out


def measured(size: Size) -> tuple[list[Figure], list[str], Tables | None]:
    """The figures, why some are left out, and all numbers of the tables."""
    figures = [sweeping(size)]
    root = os.environ.get("ATTNLAB_DATA")
    if not root or not (Path(root) / "hansards_enfr").is_dir():
        return figures, ["IBM-1 over workers: set ATTNLAB_DATA to a folder that holds hansards_enfr."], None
    with tempfile.TemporaryDirectory() as folder:
        found = tables(Path(root), Path(folder), size)
    one, two, alone = found.one, found.two, found.alone["gigabytes"]
    whole = (one.reading + one.seconds) / (two.reading + two.seconds)
    name = (
        f"IBM-1 on {two.pairs} pairs over {two.workers} workers, without reading "
        f"({whole:.2f} with it, {one.busiest / two.busiest:.2f} by processor time)"
    )
    return (
        [
            *figures,
            Figure(name, one.seconds / two.seconds, 1.5, "times as fast as one worker", "at least"),
            Figure(
                "the same, peak of a worker", two.gigabytes / alone, 0.6, f"of one process' {alone:.2f} GB", "at most"
            ),
        ],
        [],
        found,
    )


# --- a sweep


def sweeping(size: Size) -> Figure:
    """Copying runs on Ray, its workers warm, against the local engine with as many: the least times of some rounds."""
    engine = RayEngine(workers=WORKERS)
    swept(engine, 2 * WORKERS, min(10, size.steps))  # so that each worker has had a run
    least = {"local": float("inf"), "ray": float("inf")}
    for _ in range(ROUNDS):
        least["local"] = min(least["local"], swept(LocalEngine(WORKERS), size.runs, size.steps))
        least["ray"] = min(least["ray"], swept(engine, size.runs, size.steps))
    name = f"{size.runs} copying runs of {size.steps} steps on Ray, {WORKERS} workers ({least['local']:.0f} s without)"
    return Figure(name, least["ray"] / least["local"], 1.1, "times the local engine's time", "at most")


def jobs_of(runs: int, steps: int) -> list[Job]:
    """Runs on permutations of 40 words."""
    task = CopyingSpec(distribution=PermutationsSpec(words=40))
    schedule = Schedule.every(20, steps=steps)
    return [Job(f"seed {seed}", RunSpec(task=task, init_seed=seed, data_seed=seed), schedule) for seed in range(runs)]


def swept(engine: Engine, runs: int, steps: int) -> float:
    """Seconds of a sweep into a new store."""
    jobs = jobs_of(runs, steps)
    with tempfile.TemporaryDirectory() as folder:
        started = time.perf_counter()
        failed = sweep(jobs, RunStore(folder), engine).failed
        if failed:
            sys.exit(f"A run of the sweep failed: {failed}")
        return time.perf_counter() - started


def one_run(steps: int) -> float:
    """Gigabytes that this process has had at most once it has trained a run, as a worker does."""
    keep_memory()
    (job,) = jobs_of(1, steps)
    with tempfile.TemporaryDirectory() as folder:
        train(job.spec, job.schedule, RunStore(folder))
    return peak_gigabytes()


# --- tables


def tables(root: Path, folder: Path, size: Size) -> Tables:
    """IBM-1 over one worker, over two, and in one process without Ray."""
    files = copied(root, folder, size)
    alone = apart("--alone", folder, "--iterations", size.iterations)
    connect(None, WORKERS)
    one, two = (spread(files, workers, size.iterations) for workers in (1, WORKERS))
    for made in (one, two):
        if abs(made.log_likelihood / alone["log_likelihood"] - 1) > 1e-9:
            sys.exit("The spread table is another one: its times cannot be compared.")
    crew = Counting(Shard, MANY)
    corpus = ShardedCorpus(crew, lambda: blocks(files[:1]))
    corpus.train("forward", iterations=2, null=True, tolerance=None, keep=False, watch=None)
    each = sum(crew.bytes[name] for name in ("sums_out", "values_out")) // 2
    return Tables(alone, one, two, each, corpus.pairs, apart("--one-run", "--steps", size.steps)["gigabytes"])


def apart(*words: object) -> dict[str, float]:
    """What this program prints in a process of its own."""
    command = [sys.executable, __file__, *map(str, words)]
    made: dict[str, float] = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    return made


def copied(root: Path, folder: Path, size: Size) -> Files:
    """A pair of files for each copy, its words renamed."""
    files = []
    names = [root / "hansards_enfr" / f"training.{side}.xz" for side in ("en", "fr")]
    texts = [read_utf8(name).rstrip(b"\n").split(b"\n")[: size.lines] for name in names]
    for copy in range(size.copies):
        mark = b"~%d" % copy
        sides = [folder / f"copy-{copy:02}.{side}" for side in ("en", "fr")]
        for name, lines in zip(sides, texts, strict=True):
            name.write_bytes(b"".join(b" ".join(word + mark for word in line.split()) + b"\n" for line in lines))
        files.append((sides[0], sides[1]))
    return files


def spread(files: Files, workers: int, iterations: int) -> Spread:
    """Forward, with NULL, over so many workers of a local Ray."""
    with RayCrew(Shard, workers) as crew:
        idle, began = crew.ask("memory"), time.perf_counter()
        corpus = ShardedCorpus(crew, lambda: blocks(files))
        before, started = crew.ask("spent"), time.perf_counter()
        history, _ = corpus.train("forward", iterations=iterations, null=True, tolerance=None, keep=False, watch=None)
        seconds = time.perf_counter() - started
        busiest = max(after - then for after, then in zip(crew.ask("spent"), before, strict=True))
        peak = max(after - then for after, then in zip(crew.ask("memory"), idle, strict=True)) / 1e9
    return Spread(corpus.pairs, workers, started - began, seconds, busiest, peak, history[-1])


class Counting(HereCrew):
    """Workers within this process, and how many bytes each exchange brings from one to another."""

    def __init__(self, kind: type, size: int) -> None:
        super().__init__(kind, size)
        self.bytes: dict[str, int] = {}

    def exchange(self, out: str, into: str, *values: Any) -> list[Any]:
        made = self.ask(out, *values)
        away = sum(len(part) for at, parts in enumerate(made) for to, part in enumerate(parts) if to != at)
        self.bytes[out] = self.bytes.get(out, 0) + away
        return self.ask(into, each=[[parts[to] for parts in made] for to in range(self.size)])


def alone(folder: Path, iterations: int) -> dict[str, float]:
    """The same in this process."""
    idle = peak_gigabytes()
    pairs = read_many([(name, name.with_suffix(".fr")) for name in sorted(folder.glob("copy-*.en"))])
    started, spent = time.perf_counter(), time.process_time()
    model = train_ibm1(pairs, iterations=iterations, null=True, positions=True)
    return {
        "pairs": len(pairs),
        "seconds": time.perf_counter() - started,
        "processor": time.process_time() - spent,
        "gigabytes": peak_gigabytes() - idle,
        "log_likelihood": model.log_likelihoods[-1],
        "entries": len(model.table.values),
    }


# --- what follows from it


def sizing(found: Tables, ratio: float, gflops: float) -> list[str]:
    """The sentences of docs/cluster.md, section "How large a cluster", with the numbers that were measured."""
    result = json.loads((PAPER / "result.json").read_text(encoding="utf-8"))
    run = result["training_seconds"] / sum(map(len, result["seeds"].values()))
    millions = found.one.pairs / 1e6
    read, train, memory = (
        value / millions for value in (found.one.reading, found.alone["processor"], found.alone["gigabytes"])
    )
    moved = found.exchanged / found.exchanged_pairs / 1e3  # GB for a million pairs
    hours = 10_000 * run * ratio / 3600
    return [
        f"Measured on one core ({gflops:.0f} GFLOP/s): a run of `copying --preset paper` takes {run:.0f} s; a sweep on "
        f"Ray takes {ratio:.2f} times the local engine's time. For a million Hansards pairs, one direction, IBM-1 "
        f"takes {train:.1f} s and {memory:.1f} GB, reading {read:.1f} s; an iteration moves {moved:.2f} GB between "
        f"{MANY} workers.",
        f"10,000 runs: {hours:.0f} core hours, {hours / 32:.0f} nodes of 32 cores and "
        f"{32 * found.run_gigabytes:.0f} GB for an hour.",
        f"A billion pairs: {train * 1000 / 3600:.1f} core hours a direction, {train * 1000 / 64 / 60:.0f} minutes on "
        f"64 workers; at most {memory:.1f} TB in all, {memory * 1000 / 64:.0f} GB a worker; {moved:.1f} TB an "
        f"iteration over the network at most; the command reads for {read * 1000 / 3600:.1f} hours.",
    ]


def main() -> int:
    """Measure these rows alone."""
    parser = argparse.ArgumentParser(description="Measure what Ray costs and gives.")
    for name, value in asdict(Size()).items():
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--save", action="store_true", help="put the rows into results.json")
    parser.add_argument("--alone", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--one-run", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one_run:
        print(json.dumps({"gigabytes": one_run(given.steps)}))
        return 0
    if given.alone:
        import warnings

        warnings.simplefilter("ignore")  # of empty lines
        print(json.dumps(alone(given.alone, given.iterations)))
        return 0
    import run  # which imports this file

    size = Size(given.runs, given.steps, given.copies, given.iterations, given.lines)
    (seconds,) = run.least_seconds(run.matrix_product(), rounds=15)
    figures, left_out, found = measured(size)
    rows = [run.Row(**asdict(figure), gflops=run.rate(seconds)) for figure in figures]
    run.show(rows, left_out)
    if found is not None:
        print(json.dumps(asdict(found), indent=2))
        print("\n".join(sizing(found, figures[0].value, rows[0].gflops)))
    if given.save:
        kept = [row for row in json.loads(run.RESULTS.read_text(encoding="utf-8")) if not MINE.fullmatch(row["name"])]
        run.RESULTS.write_text(json.dumps([*kept, *map(asdict, rows)], indent=2) + "\n", encoding="utf-8")
    return 0 if all(row.reached for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())

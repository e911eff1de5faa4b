"""What Ray costs and what it gives: a sweep against the local engine's, and IBM Model 1 over two workers against one.

The corpus is copies of the Hansards, the words of each renamed, so that the table grows with it. Times are by the
clock, workers warm; the processor time of the busiest worker is beside them, since other work on the machine disturbs
it less. Peaks of memory are the kernel's marks, less those of the same process before it had any text.

As a program: ``python benchmarks/cluster.py [COPIES [ITERATIONS]]`` measures IBM-1 alone and prints all numbers.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from alignment import Figure
from memory import peak_gigabytes

from attnlab.cluster.connection import connect
from attnlab.cluster.crew import RayCrew
from attnlab.cluster.sharded import ShardedCorpus
from attnlab.data.many_files import blocks, read_many
from attnlab.data.reading import read_utf8
from attnlab.families.copying.spec import CopyingSpec, PermutationsSpec
from attnlab.runs.engine import Engine, Job, LocalEngine
from attnlab.runs.ray_engine import RayEngine
from attnlab.runs.schedule import Schedule
from attnlab.runs.spec import RunSpec
from attnlab.runs.store import RunStore
from attnlab.runs.sweep import sweep
from attnlab.theory.ibm1 import train_ibm1
from attnlab.theory.shards import Shard

COPIES, ITERATIONS = 10, 5
RUNS, STEPS, WORKERS = 20, 60, 2


@dataclass(frozen=True)
class Spread:
    """IBM-1 on ``pairs`` pairs over ``workers`` workers. ``seconds``: by the clock, without reading; ``busiest``:
    processor seconds of the worker that has most; ``gigabytes``: the largest peak of one above its idle one.
    """

    pairs: int
    workers: int
    seconds: float
    busiest: float
    gigabytes: float
    log_likelihood: float


def measure() -> tuple[list[Figure], list[str]]:
    """The figures that can be had here, and a sentence for each that cannot."""
    figures = [sweeping()]
    root = os.environ.get("ATTNLAB_DATA")
    if not root or not (Path(root) / "hansards_enfr").is_dir():
        return figures, ["IBM-1 over workers: set ATTNLAB_DATA to a folder that holds hansards_enfr."]
    with tempfile.TemporaryDirectory() as folder:
        one, two, alone = tables(Path(root), Path(folder), COPIES, ITERATIONS)
    name = f"IBM-1 on {two.pairs} pairs, {two.workers} workers ({one.busiest / two.busiest:.2f} by processor time)"
    share = two.gigabytes / alone
    return [
        *figures,
        Figure(name, one.seconds / two.seconds, 1.5, "times as fast as one worker", "at least"),
        Figure("the same, peak of a worker", share, 0.6, f"of one process' {alone:.2f} GB", "at most"),
    ], []


# --- a sweep


def sweeping() -> Figure:
    """Copying runs on Ray, its workers warm, against the local engine."""
    engine = RayEngine(workers=WORKERS)
    swept(engine, WORKERS, 1)
    least = {"local": float("inf"), "ray": float("inf")}
    for _ in range(2):
        least["local"] = min(least["local"], swept(LocalEngine(WORKERS), RUNS, STEPS))
        least["ray"] = min(least["ray"], swept(engine, RUNS, STEPS))
    name = f"{RUNS} copying runs of {STEPS} steps on Ray"
    return Figure(name, least["ray"] / least["local"], 1.1, "times the local engine's time", "at most")


def swept(engine: Engine, runs: int, steps: int) -> float:
    """Seconds of a sweep into a new store."""
    task = CopyingSpec(distribution=PermutationsSpec(words=40))
    schedule = Schedule.every(20, steps=steps)
    jobs = [Job(f"seed {seed}", RunSpec(task=task, init_seed=seed, data_seed=seed), schedule) for seed in range(runs)]
    with tempfile.TemporaryDirectory() as folder:
        started = time.perf_counter()
        failed = sweep(jobs, RunStore(folder), engine).failed
        if failed:
            sys.exit(f"A run of the sweep failed: {failed}")
        return time.perf_counter() - started


# --- tables


def tables(root: Path, folder: Path, copies: int, iterations: int) -> tuple[Spread, Spread, float]:
    """IBM-1 over one worker, over two, and the peak of one process without Ray."""
    files = copied(root, folder, copies)
    done = subprocess.run(
        [sys.executable, __file__, "alone", str(folder), str(iterations)], capture_output=True, text=True, check=True
    )
    alone = json.loads(done.stdout)
    connect(None, WORKERS)
    one, two = (spread(files, workers, iterations) for workers in (1, WORKERS))
    for made in (one, two):
        if abs(made.log_likelihood / alone["log_likelihood"] - 1) > 1e-9:
            sys.exit("The spread table is another one: its times cannot be compared.")
    return one, two, alone["gigabytes"]


def copied(root: Path, folder: Path, copies: int) -> list[tuple[Path, Path]]:
    """A pair of files for each copy, its words renamed."""
    files = []
    texts = [read_utf8(root / "hansards_enfr" / f"training.{side}.xz").split(b"\n") for side in ("en", "fr")]
    for copy in range(copies):
        mark = b"~%d" % copy
        names = [folder / f"copy-{copy:02}.{side}" for side in ("en", "fr")]
        for name, lines in zip(names, texts, strict=True):
            name.write_bytes(b"\n".join(b" ".join(word + mark for word in line.split()) for line in lines))
        files.append((names[0], names[1]))
    return files


def spread(files: list[tuple[Path, Path]], workers: int, iterations: int) -> Spread:
    """Forward, with NULL, over so many workers of a local Ray."""
    crew = RayCrew(Shard, workers)
    idle = crew.ask("memory")
    corpus = ShardedCorpus(crew, lambda: blocks(files))
    before, started = crew.ask("spent"), time.perf_counter()
    how = {"iterations": iterations, "null": True, "tolerance": None, "keep": False, "watch": None}
    history, _ = corpus.train("forward", **how)
    seconds = time.perf_counter() - started
    busiest = max(after - then for after, then in zip(crew.ask("spent"), before, strict=True))
    peak = max(after - then for after, then in zip(crew.ask("memory"), idle, strict=True)) / 1e9
    crew.close()
    return Spread(corpus.pairs, workers, seconds, busiest, peak, history[-1])


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


def main() -> None:
    """IBM-1 alone, with all numbers."""
    if sys.argv[1:2] == ["alone"]:
        import warnings

        warnings.simplefilter("ignore")  # of empty lines
        print(json.dumps(alone(Path(sys.argv[2]), int(sys.argv[3]))))
        return
    given = [int(word) for word in sys.argv[1:3]]
    copies, iterations = [*given, *(COPIES, ITERATIONS)[len(given) :]]
    with tempfile.TemporaryDirectory() as folder:
        one, two, gigabytes = tables(Path(os.environ["ATTNLAB_DATA"]), Path(folder), copies, iterations)
    print(json.dumps({"one": asdict(one), "two": asdict(two), "alone, gigabytes": gigabytes}, indent=2))


if __name__ == "__main__":
    main()

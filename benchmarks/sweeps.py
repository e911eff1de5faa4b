"""Seeds side by side on all cores: what an update of one loses against a run that has the machine to itself.

Cores may share more than memory: two processes that only multiply matrices are measured in the same turns, so that a
reader can tell what the sweep loses from what the machine does.
"""

import os
import subprocess
import sys
import tempfile

from attnlab.families.copying.spec import CopyingSpec, PermutationsSpec
from attnlab.runs.engine import Job, LocalEngine
from attnlab.runs.schedule import Schedule
from attnlab.runs.spec import RunSpec
from attnlab.runs.store import RunStore
from attnlab.runs.sweep import sweep

UPDATES = 30
TURNS = 3
PRODUCTS = """
import time, torch
torch.set_num_threads(1)
a, b, c = (torch.ones(1024, 1024) for _ in range(3))
torch.mm(a, b, out=c)
started = time.perf_counter()
for _ in range(150):
    torch.mm(a, b, out=c)
print(time.perf_counter() - started)
"""


def seconds(seeds: int) -> float:
    """The longest time of ``UPDATES`` updates of copying among so many runs at once, each in a worker of its own."""
    schedule = Schedule(steps=UPDATES, evaluations=())
    task = CopyingSpec(distribution=PermutationsSpec(words=40))
    jobs = [Job(f"seed {seed}", RunSpec(task=task, init_seed=seed, data_seed=seed), schedule) for seed in range(seeds)]
    with tempfile.TemporaryDirectory() as folder:
        store = RunStore(folder)
        sweep(jobs, store, LocalEngine(seeds), lambda *_: None)
        return max(store.run(job.spec.id).timing()["seconds"] for job in jobs)


def product_seconds(processes: int) -> float:
    """The longest time of 150 matrix products among so many processes at once."""
    started = [
        subprocess.Popen([sys.executable, "-c", PRODUCTS], stdout=subprocess.PIPE, text=True) for _ in range(processes)
    ]
    return max(float(process.communicate()[0]) for process in started)


def side_by_side() -> tuple[int, float, float]:
    """How many seeds; how many times as long an update takes among them as alone; the same of matrix products."""
    count = os.cpu_count() or 1
    least = dict.fromkeys(("alone", "together", "product alone", "products"), float("inf"))
    for _ in range(TURNS):
        for name, work, processes in (
            ("alone", seconds, 1),
            ("together", seconds, count),
            ("product alone", product_seconds, 1),
            ("products", product_seconds, count),
        ):
            least[name] = min(least[name], work(processes))
    return count, least["together"] / least["alone"], least["products"] / least["product alone"]

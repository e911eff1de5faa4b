"""The classifier on real texts: minutes of training, seconds and memory of reading all fields of a checkpoint.

These are times, not ratios: a laptop's owner asks how long it will take. They are measured by processor time on one
thread, on batches spread over a pass, and reckoned up; the machine's GFLOP/s stand beside them.
"""

import json
import os
import resource
import subprocess
import sys
import time
from pathlib import Path

import torch
from alignment import Figure

from attnlab.probes.influence import text_influence
from attnlab.tasks.labelled_text import load_corpus
from attnlab.training.model_spec import ClassifierSpec
from attnlab.training.problem import build_problem
from attnlab.training.spec import RunSpec
from attnlab.training.task_spec import LabelledTextSpec

STEPS = 4000
REVIEWS = 4000


def measure() -> tuple[list[Figure], list[str]]:
    """The figures that can be had here, and a sentence for each that cannot."""
    root = os.environ.get("ATTNLAB_DATA")
    missing = [name for name in ("imdb", "sst") if not root or not (Path(root) / name).is_dir()]
    if missing:
        return [], [f"Training on texts: set ATTNLAB_DATA to a folder that holds {' and '.join(missing)}."]
    seconds, gigabytes = evaluation()
    return [
        Figure("4000 steps on IMDB", training("imdb", 12), 75.0, "minutes on one core", "at most"),
        Figure("4000 steps on SST", training("sst", 60), 6.0, "minutes on one core", "at most"),
        Figure("alpha, beta and delta of 4000 IMDB reviews", seconds, 120.0, "seconds on one core", "at most"),
        Figure("the same, memory", gigabytes, 4.0, "GB", "at most"),
    ], []


def training(name: str, steps: int) -> float:
    """Minutes of `STEPS` updates of the paper's classifier, from ``steps`` of them spread over a pass."""
    corpus = load_corpus(name)
    task = LabelledTextSpec(corpus=name, content=corpus.content)
    spec = RunSpec(task=task, model=ClassifierSpec(), batch=32, evaluation_batch=1, init_seed=0, data_seed=0)
    problem = build_problem(spec)
    optimiser = spec.optimiser.build(list(problem.trained_parameters().values()))
    a_pass = len(corpus.train) // 32

    def update(step: int) -> None:
        optimiser.zero_grad(set_to_none=True)
        problem.loss(step).backward()
        optimiser.step()

    update(0)
    started = time.process_time()
    for number in range(steps):
        update(number * a_pass // steps)
    return (time.process_time() - started) / steps * STEPS / 60


def evaluation() -> tuple[float, float]:
    """Seconds and gigabytes of reading all fields of `REVIEWS` reviews, in a process of its own."""
    done = subprocess.run(
        [sys.executable, str(Path(__file__))], capture_output=True, text=True, check=True, env={**os.environ}
    )
    seconds, gigabytes = json.loads(done.stdout)
    return seconds, gigabytes


def _evaluate(every: int = 10) -> None:
    """Read every tenth review, from the longest to the shortest, and reckon up; memory is that of the longest ones."""
    torch.set_num_threads(1)
    corpus = load_corpus("imdb")
    network = ClassifierSpec().build(corpus.words, len(corpus.classes), seed=0)
    chosen = corpus.valid.lengths.argsort(descending=True)[:REVIEWS:every]
    texts = corpus.valid.select(chosen)
    text_influence(network, corpus.valid.select(chosen[-4:]))  # what is done once
    started = time.process_time()
    text_influence(network, texts)
    seconds = (time.process_time() - started) * every
    print(json.dumps([seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6]))


if __name__ == "__main__":
    _evaluate()

"""The classifier on real texts: minutes of training, seconds and memory of reading all fields of a checkpoint.

These are times, not ratios: a laptop's owner asks how long it will take. They are measured by processor time on one
thread, each in a process of its own, on batches spread over a pass, and reckoned up; the machine's GFLOP/s stand beside
them. One ratio is among them: what it brings that a sweep's workers keep their memory.
"""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import torch
from alignment import Figure
from memory import peak_gigabytes

from attnlab.data.labelled_text import load_corpus
from attnlab.families.registry import build_problem
from attnlab.families.texts.spec import ClassifierSpec, LabelledTextSpec
from attnlab.probes.influence import text_influence
from attnlab.runs.environment import keep_memory
from attnlab.runs.spec import RunSpec

STEPS = 4000
REVIEWS = 4000
TURNS = 2


def measure() -> tuple[list[Figure], list[str]]:
    """The figures that can be had here, and a sentence for each that cannot."""
    root = os.environ.get("ATTNLAB_DATA")
    missing = [name for name in ("imdb", "sst") if not root or not (Path(root) / name).is_dir()]
    if missing:
        return [], [f"Training on texts: set ATTNLAB_DATA to a folder that holds {' and '.join(missing)}."]
    (sst,) = measured("training", "sst", "60", "kept")
    kept, returned = (min(turn) for turn in zip(*(both_ways() for _ in range(TURNS)), strict=True))
    seconds, gigabytes = measured("evaluation")
    return [
        Figure("4000 steps on IMDB", kept, 75.0, "minutes on one core", "at most"),
        Figure("IMDB step, memory kept", returned / kept, 1.05, "times as fast as with memory returned", "at least"),
        Figure("4000 steps on SST", sst, 6.0, "minutes on one core", "at most"),
        Figure("alpha, beta and delta of 4000 IMDB reviews", seconds, 120.0, "seconds on one core", "at most"),
        Figure("the same, memory", gigabytes, 4.0, "GB", "at most"),
    ], []


def both_ways() -> tuple[float, float]:
    """Minutes of `STEPS` updates on IMDB where memory is kept, as a sweep's worker keeps it, and where it is not."""
    (kept,), (returned,) = (measured("training", "imdb", "12", memory) for memory in ("kept", "returned"))
    return kept, returned


def measured(*arguments: str) -> list[float]:
    """What this file prints when it is run with these arguments."""
    command = [sys.executable, str(Path(__file__)), *arguments]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def training(name: str, steps: str, memory: str) -> list[float]:
    """Minutes of `STEPS` updates of the paper's classifier, from ``steps`` of them spread over a pass."""
    if memory == "kept":
        keep_memory()
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
    for number in range(int(steps)):
        update(number * a_pass // int(steps))
    return [(time.process_time() - started) / int(steps) * STEPS / 60]


def evaluation(every: int = 10) -> list[float]:
    """Seconds and gigabytes of reading all fields of `REVIEWS` reviews.

    Every tenth is read, from the longest to the shortest, and reckoned up; memory is that of the longest ones.
    """
    corpus = load_corpus("imdb")
    network = ClassifierSpec().build(corpus.words, len(corpus.classes), seed=0)
    chosen = corpus.valid.lengths.argsort(descending=True)[:REVIEWS:every]
    texts = corpus.valid.select(chosen)
    text_influence(network, corpus.valid.select(chosen[-4:]))  # what is done once
    started = time.process_time()
    text_influence(network, texts)
    seconds = (time.process_time() - started) * every
    return [seconds, peak_gigabytes()]


if __name__ == "__main__":
    torch.set_num_threads(1)
    work, *arguments = sys.argv[1:]
    print(json.dumps({"training": training, "evaluation": evaluation}[work](*arguments)))

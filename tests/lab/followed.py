"""Runs on copying as the early verdict follows them, their ends known."""

from math import log

import numpy as np

from attnlab.families.copying.early_verdict import Chance
from attnlab.families.copying.verdict_fit import Followed
from attnlab.seeds import numpy_generator

GUESSING = Chance(positions=41, words=41)


def measured(step, *, loss=1.0, attention=1 / 41, probe=1 / 41, accuracy=1 / 41):
    return {
        "step": step,
        "loss": loss * log(41),
        "accuracy": accuracy,
        "attention_entropy": 0.5 * log(41),
        "attention_accuracy": attention,
        "probe_accuracy": probe,
        "probe_mean": probe,
    }


def follow(name, seed, learned_at, *, knows=True):
    """A run that is learned at a step (never if None); if the probe ``knows``, it rises in runs that will learn."""
    rng = numpy_generator(seed, name)
    rises = (learned_at is not None) if knows else bool(rng.integers(2))
    rows = {}
    for step in range(0, (learned_at or 200) + 1, 10):
        noise = rng.normal(size=3)
        accuracy = 0.1 if learned_at is None or step < learned_at - 10 else 0.7 if step < learned_at else 0.99
        rows[step] = measured(
            step,
            loss=float(np.exp(0.02 * noise[0])),
            attention=float(1 / (1 + np.exp(3.7 + noise[1]))),
            probe=float(1 / (1 + np.exp(3.7 - 4 * rises * min(step, 20) / 20 + noise[2]))),
            accuracy=accuracy,
        )
    return Followed(name, name[0], seed, GUESSING, rows, learned_at)


def many(*, knows=True, seeds=40):
    """Three distributions of three families, of which two are learned by every second seed and one by all."""
    rng = numpy_generator(0, "ends")
    runs = []
    for name in ("a easy", "b hard", "c harder"):
        for seed in range(seeds):
            learned_at = int(rng.choice([60, 80, 100]))
            runs.append(follow(name, seed, learned_at if name == "a easy" or rng.integers(2) else None, knows=knows))
    return runs

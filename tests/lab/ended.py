"""Runs on copying, as they would have ended."""

from attnlab.lab.outcomes import Outcome
from attnlab.runs.loop import Trained


def trained(learned_at, seed=0, last=300, probe=0.9):
    """A run that learned at step ``learned_at`` and ended there, or did not learn by step ``last``."""
    last = last if learned_at is None else learned_at
    rows = [
        {
            "step": step,
            "accuracy": 1.0 if step == learned_at else 0.5,
            "probe_accuracy": probe if step else 0.0,
            "attention_accuracy": 0.75,
            "attention_one_after": 0.125,
        }
        for step in range(0, last + 1, 10)
    ]
    return Trained(f"{seed:016x}", rows, last)


def group(kind, steps):
    """A run of a setting, or kind of order, for each of ``steps``: when they learned, None if not at all."""
    return [Outcome(kind.name, seed, trained(step, seed)) for seed, step in enumerate(steps)]

"""Runs on copying, as they would have ended, and experiments that have measured them."""

from attnlab.lab.experiment import Order
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


def group(setting, steps):
    """A run of a setting for each of ``steps``: when they learned, None if not at all."""
    return [Outcome(setting.name, seed, trained(step, seed), setting.spec(seed)) for seed, step in enumerate(steps)]


def after(experiment, outcomes, preset="paper"):
    """The experiment once it has measured these runs, whichever were planned."""
    return experiment.story(Order(preset), outcomes)


def verdicts(story):
    """The verdict of each claim, and the parts of all by claim and name."""
    findings = story.findings()
    return {f.claim: f.verdict for f in findings}, {(f.claim, p.name): p for f in findings for p in f.parts}

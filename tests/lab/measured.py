"""An experiment that has measured made-up runs, and what its rules say."""

from copy import copy

from attnlab.lab.experiment import Order
from attnlab.lab.outcomes import Runs


def after(experiment, outcomes, preset="paper"):
    """The experiment once it has measured these runs, whichever were planned."""
    story = copy(experiment)
    story.order, story.runs = Order(preset), Runs(outcomes)
    story.measure(story.runs)
    return story


def verdicts(story):
    """The verdict of each claim, and the parts of all by claim and name."""
    findings = story.findings()
    return {f.claim: f.verdict for f in findings}, {(f.claim, p.name): p for f in findings for p in f.parts}

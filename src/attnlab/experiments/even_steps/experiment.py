"""Even steps (ours, after P3 6.2): is it far jumps that attention cannot learn, or jumps that are never the same?

The experiment permuting suggested the latter: a reversal, as far from the identity as an order can be, is learned as
soon as copying, and blocks of five shuffled, which hardly move a word, are not. Here output t is input 3t or 7t, going
round: about as far from the identity as a random order, but the same step at every output.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from attnlab.experiments.permuting.experiment import (
    LENGTH,
    RANDOM,
    STEPS,
    Indices,
    Kind,
    make_job,
    make_spec,
    order_figures,
    seeds_of,
)
from attnlab.lab.claims import Finding, Part
from attnlab.lab.experiment import Experiment, Order, Result
from attnlab.lab.rates import rate_table, run_row, tell_rates
from attnlab.lab.smaller import undecided
from attnlab.lab.success import Outcome, by_setting, curve_table, learned, learns_more_often
from attnlab.runs.engine import Job
from attnlab.runs.loop import Trained
from attnlab.stats.rates import wilson

HALF = 0.5
"""The success rate below which an order is mostly not learned."""


def even_steps(by: int) -> Indices:
    """Output t is input ``by`` · t, going round; ``by`` and the length have no divisor in common."""
    return tuple(by * t % LENGTH for t in range(LENGTH))


EVEN = (
    Kind("steps of 3", lambda _: even_steps(3), {"quick": 1, "reduced": 3, "paper": 8}),
    Kind("steps of 7", lambda _: even_steps(7), {"quick": 0, "reduced": 3, "paper": 8}),
)
KINDS = (*EVEN, RANDOM)


class EvenSteps(Experiment):
    """Orders that move by as much at every output, against random ones."""

    name = "even-steps"
    title = "Far, but in even steps: what makes an order hard for attention?"
    source = "ours, after P3 6.2"
    recalls = True

    def jobs(self, order: Order) -> list[Job]:
        return [make_job(kind, seed, order.preset) for kind in KINDS for seed in seeds_of(kind, order)]

    def analyse(self, order: Order, done: Mapping[str, Trained]) -> Result:
        within = STEPS[order.preset]
        outcomes = [
            Outcome(kind.name, seed, done[make_spec(kind, seed).id]) for kind in KINDS for seed in seeds_of(kind, order)
        ]
        success, findings = rate_table(outcomes, within), decide(outcomes, within)
        told = [part.detail for finding in findings for part in finding.parts]
        return Result(
            summary=" ".join([tell_rates(success, within), *told]),
            tables={
                "success": success,
                "runs": [run_row(one, within) for one in outcomes],
                "curves": curve_table(outcomes),
            },
            figures=order_figures(outcomes),
            findings=undecided(findings) if order.preset == "quick" else findings,
            notes=notes(order),
            seeds={kind.name: seeds_of(kind, order) for kind in KINDS if seeds_of(kind, order)},
        )


def decide(outcomes: Sequence[Outcome], within: int) -> tuple[Finding, ...]:
    """The verdict; `claims.toml` says the rule in words."""
    groups = by_setting(outcomes)
    random = groups.get(RANDOM.name, [])
    parts = tuple(even_against_random(kind.name, groups.get(kind.name, []), random, within) for kind in EVEN)
    return (Finding("even-steps-learned", parts),)


def even_against_random(name: str, even: Sequence[Outcome], random: Sequence[Outcome], within: int) -> Part:
    """Holds if an order of even steps is learned more often than random ones; fails if it is mostly not learned."""
    part = learns_more_often(name, even, random, within)
    if part.verdict != "holds" and even and random:
        mostly_not = wilson(learned(even, within), len(even))[1] < HALF
        part = replace(part, verdict="fails" if mostly_not else "undecided")
    return part


def notes(order: Order) -> tuple[str, ...]:
    """What a reader should know about how it was run."""
    told = [
        "The runs on random orders are those of the experiment permuting, whose outcome was known when this experiment "
        "was thought of; no run in steps of 3 or 7 had been made.",
        "Runs on random orders go on to the end, the others end once they have learned.",
    ]
    if order.preset == "quick":
        told.append("quick: one run in steps of 3 and one on a random order, 50 updates instead of 300.")
    if order.preset == "reduced":
        told.append("reduced: three seeds of each step instead of eight, 10 runs on random orders instead of 20.")
    return tuple(told)

"""Even steps (ours, after P3 6.2): is it far jumps that attention cannot learn, or jumps that are never the same?

The experiment permuting suggested the latter: a reversal, as far from the identity as an order can be, is learned as
soon as copying, and blocks of five shuffled, which hardly move a word, are not. Here output t is input 3t or 7t, going
round: about as far from the identity as a random order, but the same step at every output.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from attnlab.families.copying.orders import even_steps, random_order, task_in_order
from attnlab.lab.claims import PRESETS, Part
from attnlab.lab.copying import network_on
from attnlab.lab.experiment import Experiment, Figures, Table, by_preset, claim
from attnlab.lab.outcomes import Runs, rate_table, rates_in_words
from attnlab.lab.rules import more_often
from attnlab.pages.charts import accuracy_curves, pointing_curves
from attnlab.stats.proportions import wilson

# --- settings

STEPS = by_preset(50, 300, 300)
"""Updates within which a run must have learned."""
HALF = 0.5
"""The success rate below which an order is mostly not learned."""


EVEN = (
    network_on("steps of 3", task_in_order(even_steps(3)), (1, 3, 8), STEPS),
    network_on("steps of 7", task_in_order(even_steps(7)), (0, 3, 8), STEPS),
)
RANDOM = network_on("random order", lambda seed: task_in_order(random_order(seed)), (1, 10, 20), STEPS, PRESETS)


class EvenSteps(Experiment):
    """Orders that move by as much at every output, against random ones."""

    name = "even-steps"
    title = "Far, but in even steps: what makes an order hard for attention?"
    source = "ours, after P3 6.2"
    settings = (*EVEN, RANDOM)
    decides_at = ("reduced", "paper")
    recalls = True

    def measure(self, runs: Runs) -> None:  # noqa: ARG002 (all is in the table of runs)
        self.within = STEPS[self.order.preset]

    @claim("even-steps-learned", reads=("runs",))
    def even_steps_are_learned(self) -> Iterator[Part]:
        """Holds if an order of even steps is learned more often than random ones; fails if it is mostly not learned."""
        for setting in EVEN:
            even, random = self.record.learned(setting.name), self.record.learned(RANDOM.name)
            part = more_often(setting.name, even, random)
            if part.verdict != "holds" and even and random:
                mostly_not = wilson(sum(even), len(even))[1] < HALF
                part = replace(part, verdict="fails" if mostly_not else "undecided")
            yield part

    def tables(self) -> Mapping[str, Table]:
        return {"success": rate_table(self.runs, self.within)}

    def figures(self) -> Figures:
        table = self.runs.curves()
        return {
            "curves": accuracy_curves(table, "Accuracy of every run: copying, and copying in another order"),
            "knowledge": pointing_curves(table, one_after=True),
        }

    def summary(self) -> str:
        return f"{rates_in_words(rate_table(self.runs, self.within), self.within)} {super().summary()}"

    def notes(self) -> list[str]:
        return [
            "The runs on random orders are those of the experiment permuting, whose outcome was known when this "
            "experiment was thought of; no run in steps of 3 or 7 had been made.",
            "Runs on random orders go on to the end, the others end once they have learned.",
            *self.at_preset(
                quick="quick: one run in steps of 3 and one on a random order, 50 updates instead of 300.",
                reduced="reduced: three seeds of each step instead of eight, 10 runs on random orders instead of 20.",
            ),
        ]

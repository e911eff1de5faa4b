"""Additive copying (ours, after the slides): copying with the slides' simplified network, whose relevances add up.

The score is the plain product of states, a'_{tl} = h_l^T d_t, and the logits are y_t = W c_t. So the logit of a word is
exactly the attention-weighted sum of its relevances, y_{t,o} = sum_l a_{tl} r_{o,l} with r_{o,l} = W_o h_l. P3's
network has a layer between, in which they do not add up. Is copying as easy, and as hard, where they do?
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from attnlab.families.copying.spec import PermutationsSpec, SelectionsSpec, Seq2SeqSpec
from attnlab.lab.claims import Part
from attnlab.lab.copying import network_on
from attnlab.lab.experiment import Experiment, Figures, Table, by_preset, claim
from attnlab.lab.outcomes import Outcome, Runs, median, rate_table, rates_in_words
from attnlab.lab.rules import above, all_of, more_often
from attnlab.pages.charts import accuracy_curves, pointing_curves

# --- settings

STEPS = by_preset(50, 200, 400)
"""Updates within which a run must have learned."""
SIMPLIFIED = Seq2SeqSpec(score="dot", readout="context")
"""The slides' network: a' = h d, y = W c."""
PERMUTATIONS = network_on("permutations of 40", PermutationsSpec(words=40), (2, 20, 20), STEPS, model=SIMPLIFIED)
SELECTIONS = network_on("40 of 60", SelectionsSpec(length=40, words=60), (2, 20, 20), STEPS, model=SIMPLIFIED)

FEWEST = 5
"""Seeds below which no order of the two is decided."""


class AdditiveCopying(Experiment):
    """Figure 2 left with the slides' simplified network."""

    name = "additive-copying"
    title = "Copying with a network whose relevances add up"
    source = "ours, after the slides"
    settings = (PERMUTATIONS, SELECTIONS)
    decides_at = ("reduced", "paper")
    recalls = True

    def measure(self, runs: Runs) -> None:  # noqa: ARG002 (all is in the table of runs)
        self.within = STEPS[self.order.preset]

    # --- rules

    @claim("additive-selections-learn", reads=("runs",))
    def selections_learn(self) -> Part:
        return all_of(SELECTIONS.name, self.record.learned(SELECTIONS.name))

    @claim("additive-permutations-harder", reads=("runs",))
    def permutations_are_harder(self) -> Part:
        name = f"{SELECTIONS.name} against {PERMUTATIONS.name}"
        return more_often(name, self.record.learned(SELECTIONS.name), self.record.learned(PERMUTATIONS.name))

    @claim("additive-relevance-first", reads=("runs",))
    def relevance_before_attention(self) -> Iterator[Part]:
        for setting in (SELECTIONS, PERMUTATIONS):
            group = self.record.rows("runs", setting=setting.name)
            leads = [float(row["lead"]) for row in group if row["lead"] is not None]
            relevance, attention = (median([row[f"{what}_step"] for row in group]) for what in POINTED)
            detail = (
                f"Relevance gets there at step {shown(relevance)}, attention at {shown(attention)} (medians of the "
                f"seeds that do), over {len(leads)} of {len(group)} seeds."
            )
            yield above(setting.name, leads, 0.0, detail, least=FEWEST)

    # --- tables, figures, words

    def run_row(self, outcome: Outcome) -> Mapping[str, Any]:
        """Beside what every run on copying has: when relevance and attention get to the right position."""
        known = {f"{what}_step": outcome.reached(column) for what, column in POINTED.items()}
        return {**outcome.row(self.within), **known, "lead": outcome.lead(*POINTED.values())}

    def tables(self) -> Mapping[str, Table]:
        return {"success": rate_table(self.runs, self.within)}

    def figures(self) -> Figures:
        table = self.runs.curves()
        title = "Accuracy of every seed, relevances adding up"
        return {"curves": accuracy_curves(table, title), "knowledge": pointing_curves(table)}

    def summary(self) -> str:
        return f"{rates_in_words(rate_table(self.runs, self.within), self.within)} {super().summary()}"

    def notes(self) -> Sequence[str]:
        return [
            "The slides draw this network as a simplification and do not say that their copying used it.",
            "Relevance is compared as the lexical probe, the softmax of W h_l at the right word.",
            "Runs end once they have learned.",
            *self.at_preset(
                quick="quick: two seeds of each, 50 updates.", reduced="reduced: 200 updates instead of 400."
            ),
        ]


POINTED = {"relevance": "probe_accuracy", "attention": "attention_accuracy"}


def shown(step: float | None) -> str:
    """A step in words."""
    return "none" if step is None else f"{step:g}"

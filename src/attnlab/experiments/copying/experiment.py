"""Copying (P3 3.3, Figure 2 left; blog; slides): the larger distribution is the easier one.

Permutations of 40 words all hold the same bag of words, so under uniform attention nothing says which input word an
output word comes from. Sequences of 40 out of 60 words, or of 40 independent words, differ in their words, and that is
enough.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from attnlab.families.copying.spec import CopyingSpec, IndependentSpec, PermutationsSpec, SelectionsSpec, Seq2SeqSpec
from attnlab.families.copying.success import EVERY, WITHIN, first_learned
from attnlab.families.copying.task import random_permutation
from attnlab.lab.claims import Part
from attnlab.lab.copying import TO_THE_END, network_on
from attnlab.lab.experiment import Experiment, Figures, Order, Setting, Table, Watched, by_preset, claim
from attnlab.lab.outcomes import Outcome, Runs, learned_steps, median, rate_row, rates_in_words, steps_row
from attnlab.lab.rules import all_of, higher, missing, more_often, often_fails
from attnlab.pages.charts import accuracy_curves, attention_profiles, continued_curves, pointing_curves
from attnlab.runs.engine import Job
from attnlab.runs.loop import Trained
from attnlab.runs.schedule import Schedule
from attnlab.stats.bootstrap import bootstrap_difference

# --- settings

LATE = 1000
"""At ``paper``, runs that have not learned after 200 updates go on to here, whether or not they learn on the way."""
FEWEST = 5
"""Fewest runs that learned, of either kind, for saying which are later."""

ON_TO_LATE = Schedule.every(EVERY, steps=LATE)

INDEPENDENT_WORDS = IndependentSpec(length=40, words=40)
PERMUTATIONS = network_on("permutations of 40", PermutationsSpec(words=40), (3, 20, 40), whole=TO_THE_END)
SELECTIONS = network_on("40 of 60", SelectionsSpec(length=40, words=60), (3, 20, 20), whole=TO_THE_END)
INDEPENDENT = network_on("i.i.d. from 40", INDEPENDENT_WORDS, (0, 20, 20))
SUBSTITUTED = network_on(
    "i.i.d. from 40, substituted",
    CopyingSpec(distribution=INDEPENDENT_WORDS, substitution=random_permutation(40, seed=0)),
    (3, 20, 20),
    whole=TO_THE_END,
)


RELEASED = Seq2SeqSpec(projected_context=True, score_bias=True)
"""The released network: the context goes through one more layer, and the score has a bias."""
RELEASED_STEPS = by_preset(300, 300, 300)
RELEASED_PERMUTATIONS, RELEASED_SELECTIONS = (
    network_on(f"{name}, as released", task, seeds, RELEASED_STEPS, TO_THE_END, RELEASED)
    for name, task, seeds in (
        ("permutations of 40", PermutationsSpec(words=40), (0, 20, 0)),
        ("40 of 60", SelectionsSpec(length=40, words=60), (0, 5, 0)),
    )
)
"""Only at ``reduced``, beside the text's network; they decide no claim."""
COMPARED_AT = 190
"""Where the blog's figure shows failing runs at an accuracy of 0.60 to 0.70."""


EARLY = (0, 10, 20, 30, 40, 50, 60, 70, 80, 100, 120, 140, 160, 180, 200)
ON = (*EARLY, 240, 280, 320, 360, 400, 440, 500)
"""Evaluations at which the page shows attention."""


class Copying(Experiment):
    """Figure 2 left, and the slides' settings."""

    name = "copying"
    title = "When the larger distribution is the easier one"
    source = "P3 3.3, Figure 2 left; blog; slides"
    settings = (PERMUTATIONS, SELECTIONS, SUBSTITUTED, INDEPENDENT, RELEASED_PERMUTATIONS, RELEASED_SELECTIONS)
    recalls = True
    may_stop = True
    watched = (
        Watched(SELECTIONS, 0, "40 of 60 words: learns", "The probe finds each copy; attention follows.", steps=EARLY),
        Watched(PERMUTATIONS, 0, "all 40 words: learns", "The same, a little later.", steps=EARLY),
        Watched(
            PERMUTATIONS,
            1,
            "all 40 words, another start: looks away",
            "Not learned after 200 updates. After 400 it copies nearly every word, though it never attends to it: both "
            "have a hole where the word is.",
            steps=ON,
        ),
    )
    replay_title = "Attention through training"
    replay_caption = (
        "One sequence that the runs were not trained on. Rows are output words down, columns input words, "
        "so the right places are the diagonal. Darker: more attention; a dot: a row's largest. Lexical probe: the "
        "chance of the right output word if attention looked at that input word alone, divided by its sum."
    )

    def plan(self, order: Order, done: Mapping[str, Trained]) -> list[Job]:
        """At ``paper`` a run that has not learned goes on."""
        if order.preset != "paper":
            return self.jobs(order)
        return [
            replace(job, schedule=ON_TO_LATE) if run and first_learned(run.rows) is None else job
            for job in self.jobs(order)
            for run in [done.get(job.spec.id)]
        ]

    def at_most(self, order: Order, done: Mapping[str, Trained]) -> list[Job]:  # noqa: ARG002 (runs may end early)
        late = {PERMUTATIONS.spec(seed).id for seed in PERMUTATIONS.seeds_at(order)} if order.preset == "paper" else {}
        return [replace(job, schedule=ON_TO_LATE) if job.spec.id in late else job for job in self.jobs(order)]

    # --- measures

    def measure(self, runs: Runs) -> None:
        self.late = [outcome for outcome in runs.all() if outcome.run.step > WITHIN]

    # --- rules

    @claim("copy-k-of-n-learns", reads=("runs",))
    def selections_learn(self) -> Part:
        return all_of(SELECTIONS.name, self.record.learned(SELECTIONS.name))

    @claim("copy-permutations-fail", reads=("runs",))
    def permutations_fail(self) -> Iterator[Part]:
        permutations, selections = self.record.learned(PERMUTATIONS.name), self.record.learned(SELECTIONS.name)
        failed, n, control, m = permutations.count(False), len(permutations), selections.count(False), len(selections)
        detail = f"{failed} of {n} seeds failed within {WITHIN} updates, {control} of {m} on {SELECTIONS.name}"
        yield often_fails(permutations, selections, detail)
        yield later(self.record.learned_steps(PERMUTATIONS.name), self.record.learned_steps(SELECTIONS.name))

    @claim("copy-iid-learns", reads=("runs",))
    def independent_words_learn(self) -> Iterator[Part]:
        for setting in (SUBSTITUTED, INDEPENDENT):
            yield all_of(setting.name, self.record.learned(setting.name))

    @claim("copy-support-paradox", reads=("runs",))
    def larger_is_easier(self) -> Iterator[Part]:
        for setting in (SELECTIONS, SUBSTITUTED):
            name = f"{setting.name} against {PERMUTATIONS.name}"
            yield more_often(name, self.record.learned(setting.name), self.record.learned(PERMUTATIONS.name))

    # --- tables, figures, words

    def tables(self) -> Mapping[str, Table]:
        tables = {"success": [self.success(name, group) for name, group in self.runs.items()]}
        if self.runs[RELEASED_PERMUTATIONS]:
            tables["failing"] = [failing_row(one, self.runs[one]) for one in (PERMUTATIONS, RELEASED_PERMUTATIONS)]
        return tables

    def success(self, name: str, group: Sequence[Outcome]) -> dict[str, Any]:
        """How many seeds of a setting learned, with a Wilson interval, how soon, and what became of the others."""
        late = [outcome for outcome in group if outcome in self.late]
        late_steps = learned_steps(late, LATE)
        return {
            "setting": name,
            **rate_row(group),
            **steps_row(learned_steps(group)),
            "continued": len(late),
            f"learned_by_{LATE}": len(late_steps),
            "median_late_step": median(late_steps),
            f"attending_at_{LATE}": sum((outcome.at(LATE, "attention_accuracy") or 0) > 0.5 for outcome in late),
        }

    def run_row(self, outcome: Outcome) -> dict[str, Any]:
        return outcome.late_row(LATE)

    def figures(self) -> Figures:
        return figures(self.runs)

    def summary(self) -> str:
        return " ".join(in_words(row) for row in self.tables()["success"])

    def notes(self) -> list[str]:
        return [
            "Source and target both close with an end symbol; accuracy is over all 41 output symbols of 50 fresh "
            "sequences, teacher forced.",
            "The score is s_t^T W h_l without a bias, as in the text.",
            *self.at_preset(
                quick="quick: three seeds a setting, a run ends once it has learned, none goes on after step 200.",
                reduced="reduced: 20 seeds a setting instead of 40 for permutations, none goes on after step 200.",
                paper="Runs on plain i.i.d. sequences end once they have learned; all others run to step 200 at least. "
                "Those that have not learned by then go on to step 1000.",
            ),
        ]


def later(steps: Sequence[int], control: Sequence[int]) -> Part:
    """Holds if the median step of those that learn lies above the control's: the interval of the difference above 0."""
    name = "later when learned"
    if min(len(steps), len(control)) < FEWEST:
        few = f"Only {len(steps)} and {len(control)} seeds learned; at least {FEWEST} each are needed."
        return missing(name, detail=few)
    interval = bootstrap_difference(steps, control, "median")
    medians = float(np.median(steps)), float(np.median(control))
    detail = f"Median step {medians[0]:.0f} of {len(steps)} against {medians[1]:.0f}."
    return Part(name, higher(interval, 0), medians[0] - medians[1], interval, "seeds", detail)


def figures(runs: Runs) -> Figures:
    """Accuracy of all seeds, lexical probe against attention, the runs that went on, if there are any, and where
    attention is at the end.
    """
    early = runs.up_to(WITHIN).curves()
    drawn = {"curves": accuracy_curves(early, "Accuracy of every seed"), "knowledge": pointing_curves(early)}
    continued = Runs(outcome for outcome in runs.all() if outcome.run.step > WITHIN)
    if continued:
        title = f"Seeds that had not learned by step {WITHIN}, continued to step {LATE}"
        drawn["continued"] = continued_curves(continued.curves(), title)
    return drawn | attention_profiles(runs.curves())


def in_words(row: Mapping[str, Any]) -> str:
    """A setting's success as sentences."""
    learnt = rates_in_words([row], what="runs learned to copy")
    if not row["continued"]:
        return learnt
    when = f" (median step {row['median_late_step']:.0f})" if row["median_late_step"] else ""
    return (
        f"{learnt} Of the {row['continued']} others, {row[f'learned_by_{LATE}']} had learned by step {LATE}{when}; at "
        f"step {LATE} {row[f'attending_at_{LATE}']} of them attended to the right position in more than half of the "
        "cases."
    )


def failing_row(setting: Setting, group: Sequence[Outcome]) -> dict[str, Any]:
    """Where the runs that do not learn within 200 updates are at step 190, and when they do learn."""
    failing = [one for one in group if one.step is None]
    accuracies = [value for one in failing if (value := one.at(COMPARED_AT, "accuracy")) is not None]
    line = {"setting": setting.name, "runs": len(group), "failing": len(failing)}
    line |= {f"{name}_{COMPARED_AT}": of(accuracies) if accuracies else None for name, of in SPREAD.items()}
    return line | {"median_late_step": median(one.learned_within(one.run.step) for one in failing)}


SPREAD: Mapping[str, Callable[[Sequence[float]], float]] = {"least": min, "median": np.median, "most": max}

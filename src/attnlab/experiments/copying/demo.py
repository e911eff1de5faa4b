"""The demo's story, from what its runs really did."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import mean, median

from attnlab.experiments.copying.experiment import PERMUTATIONS, SELECTIONS, figures
from attnlab.families.copying.success import LEARNED, WITHIN
from attnlab.lab.outcomes import Outcome, Runs, curve_table, learned_steps
from attnlab.pages.page import Section

EARLY = 30
"""The step at which the story looks at what is known before attention is there."""


@dataclass(frozen=True)
class Story:
    """Title, opening sentence and sections."""

    title: str
    lead: str
    sections: list[Section]


def story_of(runs: Runs) -> Story:
    """The story of the demo's runs on both distributions."""
    easy, hard, drawn = runs[SELECTIONS], runs[PERMUTATIONS], figures(runs)
    sections = [
        Section(
            "The task",
            [
                "The same kind of small translation network, trained in the same way, learns to copy its input. Only "
                "the sequences it sees differ.",
                "In the first case each sequence is 40 different words out of 60, in random order. In the second it is "
                "all of 40 words in random order. The second set of sequences is much smaller, and every network that "
                "can copy the first can copy the second. So the second should be the easier one.",
            ],
        ),
        Section(
            "What happened",
            [_what_happened(easy, hard), _paradox(easy, hard)],
            drawn["curves"],
            f"Token accuracy of each run against the number of updates. A run has learned when it passes {LEARNED:.0%} "
            f"within {WITHIN} updates; its curve ends there.",
        ),
        Section(
            "Why",
            [
                "When training starts, attention is spread evenly, so the network can only learn which words occur "
                "together. If a sequence leaves 20 of 60 words out, their absence in the input goes with their absence "
                "in the output, and that ties each word to its copy. If every sequence holds all 40 words, each input "
                "word occurs with each output word equally often: there is nothing to learn from, and attention has "
                "nothing to follow.",
                _evidence(easy, hard),
            ],
            drawn["knowledge"],
            "How often the right input position is the largest: of the lexical probe (the chance of the right output "
            "word if attention looked at that position alone) and of attention itself.",
        ),
        Section("Every run", [], None, "", [_row(outcome) for outcome in runs.all()]),
        Section(
            "Go on from here",
            [
                "attnlab run copying --preset paper runs the experiment with all its seeds and decides the papers' "
                "claims about it; attnlab experiments lists what else there is; attnlab claims shows the "
                "verdict on every claim."
            ],
        ),
    ]
    return Story("A task that is easier to express can be harder to learn", _lead(easy, hard), sections)


def _count(group: Sequence[Outcome]) -> str:
    learned, n = len(learned_steps(group)), len(group)
    return f"all {n}" if learned == n else f"none of {n}" if not learned else f"{learned} of {n}"


def _lead(easy: Sequence[Outcome], hard: Sequence[Outcome]) -> str:
    return (
        f"Copying {SELECTIONS.name} words: {_count(easy)} runs learned it. Copying {PERMUTATIONS.name} words: "
        f"{_count(hard)} did."
    )


def _what_happened(easy: Sequence[Outcome], hard: Sequence[Outcome]) -> str:
    sentences = []
    for group, name in ((easy, SELECTIONS.name), (hard, PERMUTATIONS.name)):
        steps = learned_steps(group)
        when = f", at step {median(steps):.0f} in the middle" if steps else ""
        sentence = f"On {name}, {_count(group)} runs learned within {WITHIN} updates{when}."
        rest = [outcome.run.rows[-1]["accuracy"] for outcome in group if outcome.step is None]
        if rest:
            values = ", ".join(f"{value:.0%}" for value in rest)
            sentence += f" The {'other was' if len(rest) == 1 else 'others were'} at {values} accuracy by then."
        sentences.append(sentence)
    return " ".join(sentences)


def _paradox(easy: Sequence[Outcome], hard: Sequence[Outcome]) -> str:
    easy_steps, hard_steps = learned_steps(easy), learned_steps(hard)
    if len(hard_steps) < len(easy_steps):
        return "So the smaller set of sequences, the one that is easier to express, was the harder one to learn."
    if len(hard_steps) > len(easy_steps):
        return "Here the smaller set was learned more often: these few seeds do not show the paradox."
    if easy_steps and median(hard_steps) > median(easy_steps):
        return (
            "Both were learned equally often with these few seeds, but the smaller set took "
            f"{median(hard_steps) / median(easy_steps):.1f} times as many updates."
        )
    return "These few seeds show no difference between the two; the experiment with all its seeds decides."


def _evidence(easy: Sequence[Outcome], hard: Sequence[Outcome]) -> str:
    sentences = []
    for group, name in ((easy, SELECTIONS.name), (hard, PERMUTATIONS.name)):
        rows = [row for row in curve_table(group) if row["step"] == EARLY]
        if not rows:
            continue
        probe, attention = mean(row["probe_accuracy"] for row in rows), mean(row["attention_accuracy"] for row in rows)
        sentences.append(
            f"At step {EARLY} of {name}, the lexical probe pointed to the right word in {probe:.0%} of the cases and "
            f"attention in {attention:.0%}."
        )
    return " ".join(sentences)


def _row(outcome: Outcome) -> dict[str, object]:
    last = outcome.run.rows[-1]
    return {
        "sequences": outcome.setting,
        "seed": outcome.seed,
        "learned at step": outcome.step if outcome.step is not None else f"not within {WITHIN}",
        "last accuracy": f"{last['accuracy']:.3f}",
        "probe right": f"{last['probe_accuracy']:.3f}",
        "attention right": f"{last['attention_accuracy']:.3f}",
    }

"""The demo's story, from what its runs really did."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import mean, median

from attnlab.experiments.copying.experiment import PERMUTATIONS, SELECTIONS, Copying, figures
from attnlab.families.copying.success import LEARNED, WITHIN
from attnlab.lab.outcomes import Outcome, Runs, curve_table, learned_steps
from attnlab.lab.replays import film_of
from attnlab.pages.page import Section
from attnlab.pages.replay import Replay
from attnlab.pages.replay_component import replay_component

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
    groups = {SELECTIONS.name: easy, PERMUTATIONS.name: hard}
    happened = " ".join(_what_happened(name, group) for name, group in groups.items())
    lead = (
        f"Copying {SELECTIONS.name} words: {_count(easy)} runs learned it. Copying {PERMUTATIONS.name} words: "
        f"{_count(hard)} did."
    )
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
            [happened, _paradox(learned_steps(easy), learned_steps(hard))],
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
                " ".join(sentence for pair in groups.items() for sentence in _evidence(*pair)),
            ],
            drawn["knowledge"],
            "How often the right input position is the largest: of the lexical probe (the chance of the right output "
            "word if attention looked at that position alone) and of attention itself.",
        ),
        *_moving(easy, hard),
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
    return Story("A task that is easier to express can be harder to learn", lead, sections)


def _moving(easy: Sequence[Outcome], hard: Sequence[Outcome]) -> list[Section]:
    """A run that learns beside one that does not, and one on the hard sequences that does, as far as there are such."""
    kinds = ((SELECTIONS, easy, True), (PERMUTATIONS, hard, False), (PERMUTATIONS, hard, True))
    films = []
    for setting, group, learns in kinds:
        fitting = [one for one in group if (one.step is not None) == learns and one.run.run is not None]
        for one in fitting[:1]:
            what = f"{setting.name}, seed {one.seed}: {'learns' if learns else 'does not learn'}"
            films.append(film_of(what, one.run))
    if not films:
        return []
    how = "Press play, or move the slider: where attention looks, and what the lexical probe knows, update by update."
    return [Section("Watch it", [how], component=replay_component(Replay("", tuple(films), Copying.replay_caption)))]


def _count(group: Sequence[Outcome]) -> str:
    learned, n = len(learned_steps(group)), len(group)
    return f"all {n}" if learned == n else f"none of {n}" if not learned else f"{learned} of {n}"


def _what_happened(name: str, group: Sequence[Outcome]) -> str:
    steps = learned_steps(group)
    when = f", at step {median(steps):.0f} in the middle" if steps else ""
    sentence = f"On {name}, {_count(group)} runs learned within {WITHIN} updates{when}."
    rest = ", ".join(f"{outcome.run.rows[-1]['accuracy']:.0%}" for outcome in group if outcome.step is None)
    if rest:
        sentence += f" The {'others were' if ',' in rest else 'other was'} at {rest} accuracy by then."
    return sentence


def _paradox(easy: Sequence[int], hard: Sequence[int]) -> str:
    """From the steps at which runs learned."""
    if len(hard) < len(easy):
        return "So the smaller set of sequences, the one that is easier to express, was the harder one to learn."
    if len(hard) > len(easy):
        return "Here the smaller set was learned more often: these few seeds do not show the paradox."
    if easy and median(hard) > median(easy):
        return (
            "Both were learned equally often with these few seeds, but the smaller set took "
            f"{median(hard) / median(easy):.1f} times as many updates."
        )
    return "These few seeds show no difference between the two; the experiment with all its seeds decides."


def _evidence(name: str, group: Sequence[Outcome]) -> Iterator[str]:
    rows = [row for row in curve_table(group) if row["step"] == EARLY]
    if rows:
        probe, attention = (mean(row[f"{what}_accuracy"] for row in rows) for what in ("probe", "attention"))
        yield (
            f"At step {EARLY} of {name}, the lexical probe pointed to the right word in {probe:.0%} of the cases and "
            f"attention in {attention:.0%}."
        )


def _row(outcome: Outcome) -> dict[str, object]:
    step, last = outcome.step, outcome.run.rows[-1]
    row: dict[str, object] = {"sequences": outcome.setting, "seed": outcome.seed}
    row["learned at step"] = f"not within {WITHIN}" if step is None else step
    shown = {"last accuracy": "accuracy", "probe right": "probe_accuracy", "attention right": "attention_accuracy"}
    return row | {name: f"{last[metric]:.3f}" for name, metric in shown.items()}

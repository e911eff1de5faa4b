"""What every result on labelled texts says about how its runs were made."""

from attnlab.experiments.texts.classification import SIZES, Role
from attnlab.experiments.texts.text_runs import TextRuns
from attnlab.lab.claims import Preset

LEFT_OUT = ("sms",)
"""Corpora that the paper leaves out of its tables (A.9): reported, and no part of a claim about them."""


def departures(preset: Preset) -> tuple[str, ...]:
    """Where runs on labelled texts depart from the paper or what it says, and what the preset shortened."""
    told = [
        r"Words are the matches of \w+, lower-cased, and those seen fewer than 3 times in training are <unk>; the "
        "paper's own tokeniser is not known.",
        "Embeddings start at random, as in the released code; the paper's text says GloVe.",
        "Validation texts are at most 4000 of the test set, as in the paper; they also choose the evaluation at which "
        "attention is read.",
    ]
    if preset == "paper":
        told.append("The last evaluation is after 4000 updates; the released code's is after 3999.")
    else:
        size = SIZES[preset]
        told.append(f"At {preset}: {size.steps} updates instead of 4000, and at most {size.texts} validation texts.")
    return tuple(told)


def text_notes(runs: TextRuns, roles: tuple[Role, ...]) -> tuple[str, ...]:
    """The same for the runs on one corpus, with what its reading left out and what the intervals are over."""
    row, counts = runs.order.row, {role: len(runs.seeds(role)) for role in roles}
    told = [*departures(runs.order.preset), *(f"{row}: {note}" for note in runs.corpus.notes)]
    told.append(
        "One run of each role: intervals are over examples and say nothing about other seeds."
        if set(counts.values()) == {1}
        else f"Runs: {', '.join(f'{count} {role}' for role, count in counts.items())}. Intervals are over examples; a "
        "text's agreement is its mean over all pairs of runs."
    )
    return tuple(told)


def left_out(row: str) -> tuple[str, ...]:
    """What a result on a corpus says that the paper's tables leave out."""
    if row not in LEFT_OUT:
        return ()
    return ("The paper leaves SMS out of its tables (A.9): this row is reported and decides no claim.",)

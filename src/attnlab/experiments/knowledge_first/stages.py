"""Two fields through one run, attention and the lexical probe: when each points to the right position, and how early
or late that is against the other.

Steps are read by rank, the one scale that the two share: a field has got there once the right position is its largest
in at least half of the cases. Half heights, where each is measured against its own, are kept beside it.

In labelled texts no position is right by itself. There a text's right position is where the same field of the same run
is largest at its evaluation of highest validation accuracy. So each field is measured against its own end, by one rule,
and both get there in every run; which of them had settled earlier is the question. How often the probe is already at
attention's end, and attention at the probe's, is kept beside it.

In sentence pairs the right position is the one that IBM Model 1 finds. Many output words have no one word that they
translate, so that neither field need ever be there in half of the cases: both are asked for the same lower share.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from math import log
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from attnlab.data.bitext import Bitext, PieceSplit
from attnlab.data.pieces import END
from attnlab.families.texts.problem import relative_entropy
from attnlab.families.texts.reading import stored_field
from attnlab.families.translation import pieces
from attnlab.families.translation.problem import evaluated
from attnlab.families.translation.task import BitextSpec
from attnlab.fields import ScoreField, first_largest
from attnlab.lab.experiment import Table
from attnlab.lab.outcomes import Outcome
from attnlab.measures.agreement import top_agreement
from attnlab.runs.loop import Trained

Field = Literal["probe", "attention"]
Floats = NDArray[np.float64]
ByField = Mapping[Field, Floats]

FIELDS: tuple[Field, ...] = get_args(Field)
HALF = 0.5
"""Share of the cases by which a field has got there."""
ENDED = 0.9
"""Share of its highest accuracy at which a field's rise has ended."""
NEAR_UNIFORM = 0.95
"""Entropy, as a share of its largest, above which a field counts as near uniform."""
TOP_ONE = 1e-3
"""A share of positions so small that of any text it is one position."""
COLUMNS: dict[Field, str] = {"probe": "gamma", "attention": "alpha"}
"""The fields as runs on texts keep them."""
PAIR_COLUMNS: Mapping[Field, str] = {"probe": "log_beta", "attention": "alpha"}


@dataclass(frozen=True, eq=False)
class Course:
    """One seed of a setting: ``steps`` (evaluations,) and, for each field, at every evaluation

    ``top``: the share of cases in which the right position is the field's largest; ``mean``: its mean value there;
    ``entropy``: as a share of the largest one, of the probe divided by its sum over positions. ``accuracy``: the
    network's. ``chance``: what ``top`` is for a field at random. ``level``: the share of the cases at which a field has
    got there.
    """

    setting: str
    seed: int
    run: str
    steps: NDArray[np.int64]
    top: ByField
    mean: ByField
    entropy: ByField
    accuracy: Floats
    chance: float
    level: float = HALF

    def reached(self, field: Field) -> int | None:
        """The first evaluation at which the right position is the largest in so many of the cases."""
        return self._first(self.top[field] >= self.level)

    def half_height(self, field: Field) -> int | None:
        """The first evaluation at which the mean value at the right position is half way from its start to its highest;
        None where it never exceeds its start.
        """
        values = self.mean[field]
        start, highest = values[0], values.max()
        return None if highest <= start else self._first(values >= (start + highest) / 2)

    @property
    def lead(self) -> int | None:
        """Attention's step minus the probe's; one that does not get there counts at the last evaluation, and where
        neither does there is no lead.
        """
        probe, attention = (self.reached(field) for field in FIELDS)
        if probe is None and attention is None:
            return None
        last = int(self.steps[-1])
        return (last if attention is None else attention) - (last if probe is None else probe)

    @property
    def attention_begins(self) -> int | None:
        """The evaluation after the last one, before attention gets there, whose accuracy is at most twice chance."""
        if (reached := self.reached("attention")) is None:
            return None
        before = self.steps < reached
        low = np.flatnonzero(before & (self.top["attention"] <= 2 * self.chance))
        return int(self.steps[low[-1] + 1]) if len(low) else int(self.steps[0])

    @property
    def probe_ends(self) -> int | None:
        """The first evaluation at which the probe's accuracy is 90 % of the highest it reaches."""
        top = self.top["probe"]
        return self._first(top >= ENDED * top.max())

    @property
    def overlap(self) -> int | None:
        """The probe's end minus attention's beginning, where both fields get there."""
        if self.reached("probe") is None or self.reached("attention") is None:
            return None
        assert self.probe_ends is not None
        assert self.attention_begins is not None
        return self.probe_ends - self.attention_begins

    @property
    def leaves_uniform(self) -> int | None:
        """The first evaluation at which attention's entropy is no longer near its largest."""
        return self._first(self.entropy["attention"] <= NEAR_UNIFORM)

    @property
    def entropy_at_knowledge(self) -> float | None:
        """Attention's entropy, as a share of its largest, when the probe gets there."""
        step = self.reached("probe")
        return None if step is None else float(self.entropy["attention"][self.steps == step][0])

    def rows(self) -> list[dict[str, object]]:
        """A line for every evaluation."""
        columns = {"accuracy": self.accuracy}
        for field in FIELDS:
            columns |= {f"{field}_{name}": getattr(self, name)[field] for name in ("top", "mean", "entropy")}
        return [
            {"setting": self.setting, "seed": self.seed, "step": int(step)}
            | {name: float(values[at]) for name, values in columns.items()}
            for at, step in enumerate(self.steps)
        ]

    def _first(self, there: NDArray[np.bool_]) -> int | None:
        return int(self.steps[there.argmax()]) if there.any() else None


def row_course(outcome: Outcome, positions: int) -> Course:
    """From a run whose task knows the right position, and whose rows say it; ``positions``: those of an input."""
    top, mean, entropy = (
        {field: outcome.column(f"{field}_{what}") for field in FIELDS} for what in ("accuracy", "mean", "entropy")
    )
    entropy = {field: values / log(positions) for field, values in entropy.items()}
    return course_of(outcome, top, mean, entropy, 1 / positions)


def course_of(outcome: Outcome, top: ByField, mean: ByField, entropy: ByField, chance: float) -> Course:
    """The course of a run with these fields."""
    steps, accuracy = outcome.column("step").astype(np.int64), outcome.column("accuracy")
    return Course(outcome.setting, outcome.seed, outcome.run.id, steps, top, mean, entropy, accuracy, chance)


# --- sentence pairs


def pair_course(outcome: Outcome, rows: NDArray[np.int64] | None = None) -> Course:
    """The course of a translator's run against IBM Model 1, over output words other than end marks.

    ``rows``: some of these words only, by their number among all. The level is half way from chance to the lower of the
    shares that the two fields reach at their best, so both get there and the order alone says something.
    """
    pairs = evaluated_pairs(outcome)
    right = ibm1_of(outcome)
    words = np.flatnonzero(pieces.sentence_pairs(*pairs).target != END) if rows is None else rows
    right = right.select(words)
    places = first_largest(right.values, right.offsets[:-1])
    top, mean, entropy = ({field: np.empty(len(outcome.run.rows)) for field in FIELDS} for _ in range(3))
    for at, row in enumerate(outcome.run.rows):
        assert outcome.run.run is not None
        table = outcome.run.run.fields(int(row["step"]))
        for field, column in PAIR_COLUMNS.items():
            stored = stored_field(table, "valid", column).select(words)
            now = stored if field == "attention" else ScoreField(np.exp(stored.values), stored.offsets)
            top[field][at] = same_top(right, stored)
            mean[field][at] = now.values[places].mean()
            entropy[field][at] = relative_entropy(now if field == "attention" else shared_out(now))
    chance = float((1 / right.lengths).mean())
    highest = min(float(values.max()) for values in top.values())
    return replace(course_of(outcome, top, mean, entropy, chance), level=chance + (highest - chance) / 2)


def evaluated_pairs(outcome: Outcome) -> tuple[PieceSplit, Bitext]:
    """The validation pairs that a run's evaluations read, and their corpus."""
    assert outcome.spec is not None
    assert isinstance(outcome.spec.task, BitextSpec)
    bitext = pieces.bitext_of(outcome.spec.task.corpus)
    return evaluated(bitext, outcome.spec.evaluation_batch)["valid"], bitext


def ibm1_of(outcome: Outcome) -> ScoreField:
    """Trans(y_t | x_l) of those pairs by IBM Model 1; the same for all runs on a corpus, so worked out once."""
    assert outcome.spec is not None
    assert isinstance(outcome.spec.task, BitextSpec)
    return _ibm1(outcome.spec.task.corpus, outcome.spec.evaluation_batch)


@lru_cache(maxsize=4)
def _ibm1(corpus: str, pairs: int) -> ScoreField:
    bitext = pieces.bitext_of(corpus)
    return pieces.ibm1_field(bitext, evaluated(bitext, pairs)["valid"])


# --- texts


def text_course(outcome: Outcome) -> Course:
    """The course of a classifier's run, read from the fields that its evaluations kept."""
    run = outcome.run
    ends = fields_at(outcome, ending(run))
    places = {field: first_largest(ends[field].values, ends[field].offsets[:-1]) for field in FIELDS}
    top, mean, entropy = ({field: np.empty(len(run.rows)) for field in FIELDS} for _ in range(3))
    for at, row in enumerate(run.rows):
        for field, now in fields_at(outcome, int(row["step"])).items():
            shares = now if field == "attention" else relevance(now)
            top[field][at] = same_top(ends[field], now)
            mean[field][at] = (now.values if field == "attention" else expit(now.values))[places[field]].mean()
            entropy[field][at] = relative_entropy(shares)
    return course_of(outcome, top, mean, entropy, float((1 / ends["attention"].lengths).mean()))


def end_table(outcome: Outcome) -> list[dict[str, object]]:
    """How often each field's largest position is where it, or the other one, is largest in the end."""
    end, table = ending(outcome.run), []
    ends = fields_at(outcome, end)
    for step in (int(row["step"]) for row in outcome.run.rows):
        now = fields_at(outcome, step)
        line: dict[str, object] = {"seed": outcome.seed, "step": step, "end": end}
        for field in FIELDS:
            line |= {f"{field}_at_end_of_{other}": same_top(ends[other], now[field]) for other in FIELDS}
        table.append(line)
    return table


def lead_table(ends: Table) -> list[dict[str, object]]:
    """For each seed and each field's end the first step at which either field is there in half of the texts.

    Here both are measured against one end, so that one that goes on moving late does not look late for that.
    """
    table = []
    for seed in dict.fromkeys(row["seed"] for row in ends):
        rows = [row for row in ends if row["seed"] == seed]
        for other in FIELDS:
            line: dict[str, object] = {"seed": seed, "end_of": other}
            for field in FIELDS:
                there = (row["step"] for row in rows if row[f"{field}_at_end_of_{other}"] >= HALF)
                line[field] = next(there, None)
            table.append(line)
    return table


def ending(run: Trained) -> int:
    """The first evaluation of highest validation accuracy."""
    return int(max(run.rows, key=lambda row: row["accuracy"])["step"])


def same_top(end: ScoreField, now: ScoreField) -> float:
    """The share of texts in which both are largest at one position; positions that tie share the hit."""
    return float(top_agreement(end, now, TOP_ONE).expected.mean())


def relevance(gamma: ScoreField) -> ScoreField:
    """beta divided by its sum over a text's positions, from its log-odds."""
    return shared_out(ScoreField(expit(gamma.values), gamma.offsets))


def shared_out(beta: ScoreField) -> ScoreField:
    """beta divided by its sum over positions."""
    sums = np.add.reduceat(beta.values, beta.offsets[:-1])
    return ScoreField(beta.values / np.repeat(sums, beta.lengths), beta.offsets)


def fields_at(outcome: Outcome, step: int) -> dict[Field, ScoreField]:
    """The validation texts' part of an evaluation's fields."""
    assert outcome.run.run is not None
    table = outcome.run.run.fields(step)
    return {field: stored_field(table, "valid", column) for field, column in COLUMNS.items()}

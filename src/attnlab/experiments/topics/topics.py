"""What the experiments on topic words (P1) share: their settings and runs, and what is read out of a run."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import log

import numpy as np
from numpy.typing import NDArray

from attnlab.families.topics.problem import QUANTILES
from attnlab.families.topics.spec import TopicModelSpec, TopicsSpec
from attnlab.lab.claims import Part, Preset, Verdict
from attnlab.lab.experiment import Order, Table
from attnlab.runs.engine import Job
from attnlab.runs.loop import Trained
from attnlab.runs.optimisers import SgdSpec
from attnlab.runs.schedule import Schedule
from attnlab.runs.spec import RunSpec, Train
from attnlab.stats.bootstrap import bootstrap_interval
from attnlab.theory.norms import deviation, norm_of_score

Floats = NDArray[np.float64]

EPOCHS = 5000
"""Full-batch updates of P1's synthetic experiment."""
EVERY = 25
EARLY = (1, 2, 3, 5, 8, 12, 18)
"""Further evaluations, where knowledge and attention part."""
SEEN = 0.05
"""Deviations from the identity count where a word's score exceeds this: below, both sides are near 0."""
LEVELS = (1.0, 0.5, 0.1, 0.01)
"""Losses whose crossings P1's curves are compared at."""

FC = TopicModelSpec(classifier="fixed")
TC = TopicModelSpec(classifier="linear")
TL = TopicModelSpec(classifier="layers")
CLASSIFIERS = {"FC": FC, "TC": TC, "TL": TL}


@dataclass(frozen=True)
class Setting:
    """One kind of run: its name, its spec's parts, how many seeds each preset runs, how long and how often measured."""

    name: str
    model: TopicModelSpec
    seeds: Mapping[Preset, int]
    task: TopicsSpec = field(default_factory=TopicsSpec)
    train: Train = "all"
    rate: float = 0.1
    epochs: int = EPOCHS
    evaluations: tuple[int, ...] = EARLY

    @property
    def others(self) -> float:
        """m, or the middle of its range."""
        return float(np.mean(self.task.others))

    def spec(self, seed: int) -> RunSpec:
        """P1's training (whole training set, plain descent); one seed for start and data."""
        return RunSpec(
            task=self.task,
            model=self.model,
            train=self.train,
            optimiser=SgdSpec(learning_rate=self.rate),
            batch=None,
            init_seed=seed,
            data_seed=seed,
        )

    def job(self, seed: int) -> Job:
        steps = {*range(0, self.epochs + 1, EVERY), *self.evaluations, self.epochs}
        wanted = tuple(sorted(step for step in steps if step <= self.epochs))
        schedule = Schedule(steps=self.epochs, evaluations=wanted, checkpoint_every=2500)
        return Job(f"{self.name}, seed {seed}", self.spec(seed), schedule)


def seeds_of(setting: Setting, order: Order) -> list[int]:
    """The seeds of a setting that are asked for."""
    return order.first(range(setting.seeds[order.preset]))


def jobs_of(settings: Sequence[Setting], order: Order) -> list[Job]:
    """All runs of ``settings``."""
    return [setting.job(seed) for setting in settings for seed in seeds_of(setting, order)]


@dataclass(frozen=True)
class Outcome:
    """One run of a setting, and what P1 reads out of it."""

    setting: Setting
    seed: int
    run: Trained

    @property
    def steps(self) -> Floats:
        return self.column("step")

    def column(self, name: str) -> Floats:
        """One measurement at all evaluations: (evaluations,)."""
        return np.array([row[name] for row in self.run.rows], dtype=float)

    def words(self, name: str) -> Floats:
        """``score`` or ``norm`` of every topic word: (evaluations, words)."""
        count = sum(key.startswith("score_") for key in self.run.rows[0])
        return np.stack([self.column(f"{name}_{word}") for word in range(count)], 1)

    @property
    def query_norm(self) -> float:
        """||q|| at the start."""
        return self.run.rows[0]["query_norm"]

    def identity(self) -> Floats:
        """The norm that the identity gives every topic word from its score and its own start: (evaluations, words)."""
        scores, norms = self.words("score"), self.words("norm")
        return np.stack(
            [
                norm_of_score(s, self.setting.others, query_norm=self.query_norm, start_score=s[0], start_norm=n[0])
                for s, n in zip(scores.T, norms.T, strict=True)
            ],
            1,
        )

    def deviations(self) -> Floats:
        """Relative deviations from the identity, NaN where a word's score does not exceed 0.05: as `identity`."""
        seen = self.words("score") > SEEN
        expected = np.where(seen, self.identity(), 1.0)
        return np.where(seen, deviation(self.words("norm"), expected), np.nan)

    def largest_deviation(self) -> float | None:
        """Over all topic words and all of training; None if no score ever exceeds 0.05."""
        values = self.deviations()
        return float(np.nanmax(values)) if np.isfinite(values).any() else None

    def median_deviation(self) -> float | None:
        """The median over topic words of each one's largest deviation; None as above."""
        values = self.deviations()
        reached = values[:, np.isfinite(values).any(0)]
        return float(np.median(np.nanmax(reached, 0))) if reached.size else None

    def crossing(self, level: float) -> float | None:
        """The epoch at which the training loss first falls below ``level``; its logarithm is linear in between."""
        losses, steps = self.column("loss"), self.steps
        below = np.flatnonzero(losses < level)
        if not len(below):
            return None
        after = below[0]
        if after == 0:
            return float(steps[0])
        high, low = log(losses[after - 1]), log(max(losses[after], 1e-300))
        return float(steps[after - 1] + (high - log(level)) / (high - low) * (steps[after] - steps[after - 1]))

    def end(self, name: str) -> float:
        return self.run.rows[-1][name]

    def final_score(self) -> float:
        """Mean over topic words."""
        return float(self.words("score")[-1].mean())

    def final_norm(self) -> float:
        """Mean of ||q|| ||nu|| over topic words, the scale of P1's figures."""
        return float(self.words("norm")[-1].mean() * self.query_norm)

    def row(self) -> dict[str, object]:
        """The run's line in the table of seeds."""
        return {
            "setting": self.setting.name,
            "seed": self.seed,
            "query_norm": self.query_norm,
            **{f"epoch_of_loss_{level}": self.crossing(level) for level in LEVELS},
            "final_loss": self.end("loss"),
            "test_accuracy": self.end("test_accuracy"),
            "final_score": self.final_score(),
            "final_norm": self.final_norm(),
            "largest_deviation": self.largest_deviation(),
            "median_deviation": self.median_deviation(),
            "topic_word_first": self.end("attention_accuracy"),
            "share": self.end("share"),
            "run": self.run.id,
        }


def outcomes_of(settings: Sequence[Setting], order: Order, done: Mapping[str, Trained]) -> list[Outcome]:
    """Every run of ``settings``."""
    return [
        Outcome(setting, seed, done[setting.spec(seed).id]) for setting in settings for seed in seeds_of(setting, order)
    ]


def group(outcomes: Sequence[Outcome], setting: Setting) -> list[Outcome]:
    """The outcomes of one setting."""
    return [outcome for outcome in outcomes if outcome.setting.name == setting.name]


# --- tables


SUMMED = (*(f"epoch_of_loss_{level}" for level in LEVELS), "final_loss", "final_score", "final_norm", "query_norm")


def ranges(outcomes: Sequence[Outcome], measures: Sequence[str] = (*SUMMED, "largest_deviation")) -> Table:
    """For each setting and measure: smallest, median and largest over seeds, and how many seeds have it at all."""
    table = []
    for name in dict.fromkeys(outcome.setting.name for outcome in outcomes):
        rows = [outcome.row() for outcome in outcomes if outcome.setting.name == name]
        for measure in measures:
            values = [float(str(row[measure])) for row in rows if row[measure] is not None]
            table.append(
                {
                    "setting": name,
                    "measure": measure,
                    "seeds": len(rows),
                    "reached": len(values),
                    "smallest": min(values, default=None),
                    "median": float(np.median(values)) if values else None,
                    "largest": max(values, default=None),
                }
            )
    return table


def compare(table: Table, authors: Mapping[tuple[str, str], float]) -> Table:
    """The authors' values beside the ranges over seeds: ``inside`` says whether they lie in them."""
    compared = []
    for row in table:
        value = authors.get((row["setting"], row["measure"]))
        if value is not None:
            low, high = row["smallest"], row["largest"]
            compared.append({**row, "authors": value, "inside": low is not None and low <= value <= high})
    return compared


def path_table(outcomes: Sequence[Outcome], *, every: int) -> Table:
    """Every topic word's score, ||q|| times norm, and what the identity says, every so many epochs."""
    table = []
    for outcome in outcomes:
        scores, norms, expected = outcome.words("score"), outcome.words("norm"), outcome.identity()
        for at in np.flatnonzero(outcome.steps % every == 0):
            table += [
                {
                    "setting": outcome.setting.name,
                    "seed": outcome.seed,
                    "word": f"{outcome.seed}: {word}",
                    "step": int(outcome.steps[at]),
                    "score": scores[at, word],
                    "norm": norms[at, word] * outcome.query_norm,
                    "identity": expected[at, word] * outcome.query_norm,
                }
                for word in range(scores.shape[1])
            ]
    return table


CURVES = ("loss", "accuracy", "test_accuracy", "share", "weight_mean", "attention_accuracy", "probe_accuracy")


def curve_table(outcomes: Sequence[Outcome], names: Sequence[str] = CURVES) -> Table:
    """Measurements of every run at every evaluation, with the topic words' mean score and ||q|| times norm."""
    table = []
    for outcome in outcomes:
        scores, norms = outcome.words("score").mean(1), outcome.words("norm").mean(1) * outcome.query_norm
        table += [
            {
                "setting": outcome.setting.name,
                "seed": outcome.seed,
                "step": int(row["step"]),
                **{name: row[name] for name in names},
                "score": score,
                "norm": norm,
            }
            for row, score, norm in zip(outcome.run.rows, scores, norms, strict=True)
        ]
    return table


def distribution_table(outcomes: Sequence[Outcome]) -> Table:
    """At the end: each topic word, and percentiles of the non-topic words, by score and by ||q|| times norm."""
    table: list[dict[str, object]] = []
    for outcome in outcomes:
        for measure, scale in (("score", 1.0), ("norm", outcome.query_norm)):
            values = np.sort(outcome.words(measure)[-1]) * scale
            told = [("topic words", 100 * (i + 0.5) / len(values), v) for i, v in enumerate(values)]
            told += [("other words", float(q), outcome.end(f"other_{measure}_{q}") * scale) for q in QUANTILES]
            table += [
                {
                    "setting": outcome.setting.name,
                    "seed": outcome.seed,
                    "measure": measure,
                    "words": words,
                    "percentile": percentile,
                    "value": value,
                }
                for words, percentile, value in told
            ]
    return table


# --- rules that several claims share


def below_bound(name: str, values: Sequence[float | None], bound: float, what: str) -> Part:
    """Holds if the mean over seeds of ``values`` has an upper 95 % bound below ``bound``; fails if the lower is above.

    A seed without a value (the identity was never to be seen) leaves the part undecided.
    """
    known = [value for value in values if value is not None]
    if not known or len(known) < len(values):
        detail = f"{len(values) - len(known)} of {len(values)} seeds have no {what}."
        return Part(name, "undecided", None, None, "seeds", detail)
    mean, interval = float(np.mean(known)), bootstrap_interval(known)
    verdict: Verdict = "undecided"  # a single seed has no interval
    if interval is not None:
        verdict = "holds" if interval[1] < bound else "fails" if interval[0] > bound else "undecided"
    detail = f"{what} {mean:.3g} on average over {len(known)} seeds, at most {max(known):.3g}; the bound is {bound}."
    return Part(name, verdict, mean, interval, "seeds", detail)

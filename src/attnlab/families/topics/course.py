"""What P1 reads out of a run on its synthetic task: score and norm of topic words, the identity, when the loss fell."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import log
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnlab.protocols import Row
from attnlab.theory.norms import deviation, norm_of_score

Floats = NDArray[np.float64]
Rows = list[dict[str, Any]]

SEEN = 0.05
"""Deviations from the identity count where a word's score exceeds this: below, both sides are near 0."""
LEVELS = (1.0, 0.5, 0.1, 0.01)
"""Losses whose crossings P1's curves are compared at."""


@dataclass(frozen=True)
class TopicCourse:
    """A run from its start to its end.

    ``setting`` and ``seed`` name it in tables. ``rows``: its evaluations. ``others``: m, or the middle of its range.
    ``word``: the topic word whose score and norm at the end count, their mean over all if None.
    """

    setting: str
    seed: int
    rows: Sequence[Row]
    others: float
    word: int | None = None

    @property
    def steps(self) -> Floats:
        return self.column("step")

    def column(self, name: str) -> Floats:
        """One measurement at all evaluations: (evaluations,)."""
        return np.array([row[name] for row in self.rows], dtype=float)

    def words(self, name: str) -> Floats:
        """``score`` or ``norm`` of every topic word: (evaluations, words)."""
        count = sum(key.startswith("score_") for key in self.rows[0])
        return np.stack([self.column(f"{name}_{word}") for word in range(count)], 1)

    @property
    def query_norm(self) -> float:
        """||q|| at the start."""
        return self.rows[0]["query_norm"]

    def identity(self, fall: float = 0.0) -> Floats:
        """The norm that the identity gives every topic word from its score and its own start: (evaluations, words).

        ``fall``: as in `attnlab.theory.norms.norm_of_score`.
        """
        scores, norms = self.words("score"), self.words("norm")
        return np.stack(
            [
                norm_of_score(s, self.others, query_norm=self.query_norm, start_score=s[0], start_norm=n[0], fall=fall)
                for s, n in zip(scores.T, norms.T, strict=True)
            ],
            1,
        )

    def deviations(self, fall: float = 0.0) -> Floats:
        """Relative deviations from the identity, NaN where a word's score does not exceed 0.05: as `identity`."""
        seen = self.words("score") > SEEN
        expected = np.where(seen, self.identity(fall), 1.0)
        return np.where(seen, deviation(self.words("norm"), expected), np.nan)

    def largest_deviation(self, fall: float = 0.0) -> float | None:
        """Over all topic words and all of training; None if no score ever exceeds 0.05."""
        values = self.deviations(fall)
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
        """A measurement at the last evaluation."""
        return self.rows[-1][name]

    def final_score(self) -> float:
        """Of its word, or the mean over topic words."""
        return self._at_the_end("score")

    def final_norm(self) -> float:
        """||q|| ||nu||, the scale of P1's figures, of its word or the mean over topic words."""
        return self._at_the_end("norm") * self.query_norm

    def _at_the_end(self, name: str) -> float:
        values = self.words(name)[-1]
        return float(values.mean() if self.word is None else values[self.word])

    def row(self) -> dict[str, Any]:
        """The run's line in the table of runs."""
        return {
            "setting": self.setting,
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
        }


# --- tables of several runs


SUMMED = (*(f"epoch_of_loss_{level}" for level in LEVELS), "final_loss", "final_score", "final_norm", "query_norm")
CURVES = ("loss", "accuracy", "test_accuracy", "share", "weight_mean", "attention_accuracy", "probe_accuracy")


def ranges(courses: Sequence[TopicCourse], measures: Sequence[str] = (*SUMMED, "largest_deviation")) -> Rows:
    """For each setting and measure: smallest, median and largest over seeds, and how many seeds have it at all."""
    table = []
    for name in dict.fromkeys(course.setting for course in courses):
        rows = [course.row() for course in courses if course.setting == name]
        for measure in measures:
            values = [row[measure] for row in rows if row[measure] is not None]
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


def compare(ranges: Rows, authors: Mapping[tuple[str, str], float]) -> Rows:
    """The authors' values beside the ranges over seeds: ``inside`` says whether they are in them."""
    compared = []
    for row in ranges:
        value = authors.get((row["setting"], row["measure"]))
        if value is not None:
            low, high = row["smallest"], row["largest"]
            compared.append({**row, "authors": value, "inside": low is not None and low <= value <= high})
    return compared


def path_table(courses: Iterable[TopicCourse], *, every: int) -> Rows:
    """Every topic word's score, ||q|| times norm, and what the identity says, every so many epochs."""
    table: Rows = []
    for course in courses:
        scores, norms, expected = course.words("score"), course.words("norm"), course.identity()
        for at in np.flatnonzero(course.steps % every == 0):
            table += [
                {
                    "setting": course.setting,
                    "seed": course.seed,
                    "word": f"{course.seed}: {word}",
                    "step": int(course.steps[at]),
                    "score": scores[at, word],
                    "norm": norms[at, word] * course.query_norm,
                    "identity": expected[at, word] * course.query_norm,
                }
                for word in range(scores.shape[1])
            ]
    return table


def curve_table(courses: Iterable[TopicCourse], names: Sequence[str] = CURVES, *, every: int = 1) -> Rows:
    """Measurements of every run every so many epochs, with the topic words' mean score and ||q|| times norm."""
    table: Rows = []
    for course in courses:
        scores, norms = course.words("score").mean(1), course.words("norm").mean(1) * course.query_norm
        table += [
            {
                "setting": course.setting,
                "seed": course.seed,
                "step": int(row["step"]),
                **{name: row[name] for name in names},
                "score": score,
                "norm": norm,
            }
            for row, score, norm in zip(course.rows, scores, norms, strict=True)
            if row["step"] % every == 0
        ]
    return table

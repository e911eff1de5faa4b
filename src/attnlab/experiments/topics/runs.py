"""P1's synthetic runs: full-batch descent of its classifier on sentences with one topic word (P1 3, 5)."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from attnlab.families.topics.course import TopicCourse, compare, ranges
from attnlab.families.topics.spec import TopicModelSpec, TopicsSpec
from attnlab.lab.claims import Part, Preset
from attnlab.lab.experiment import Experiment, Setting, Table
from attnlab.lab.outcomes import Outcome, Runs
from attnlab.lab.rules import below, missing
from attnlab.protocols import Train
from attnlab.runs.optimisers import SgdSpec
from attnlab.runs.schedule import Schedule
from attnlab.runs.spec import RunSpec

EPOCHS = 5000
"""Full-batch updates of P1's synthetic experiment."""
EVERY = 25
EARLY = (1, 2, 3, 5, 8, 12, 18)
"""Further evaluations, where knowledge and attention part."""

FC = TopicModelSpec(classifier="fixed")
TC = TopicModelSpec(classifier="linear")
TL = TopicModelSpec(classifier="layers")
CLASSIFIERS = {"FC": FC, "TC": TC, "TL": TL}
RELEASED = ", released start"
"""How settings end that begin as the authors' own runs did and have as many sentences as their plots fit, N = 1000.
They are compared with the authors' plots and decide no claim."""


def setting(
    name: str,
    model: TopicModelSpec,
    seeds: Mapping[Preset, int],
    *,
    task: TopicsSpec | None = None,
    train: Train = "all",
    rate: float = 0.1,
    epochs: int = EPOCHS,
    evaluations: Sequence[int] = EARLY,
) -> Setting:
    """P1's training (whole training set, plain descent); one seed for start and data."""

    def spec(seed: int) -> RunSpec:
        return RunSpec(
            task=task or TopicsSpec(),
            model=model,
            train=train,
            optimiser=SgdSpec(learning_rate=rate),
            batch=None,
            init_seed=seed,
            data_seed=seed,
        )

    steps = tuple(sorted({*range(0, epochs + 1, EVERY), *evaluations, epochs}))
    return Setting(name, spec, seeds, Schedule(steps=epochs, evaluations=steps, checkpoint_every=2500))


def released(name: str, model: TopicModelSpec, **settings: Any) -> Setting:
    """The setting ``name`` from the authors' start, on N = 1000 sentences; five seeds of sentences."""
    start, task = model.model_copy(update={"start": "released"}), TopicsSpec(sentences=1000)
    return setting(f"{name}{RELEASED}", start, {"quick": 0, "reduced": 5}, task=task, **settings)


class TopicExperiment(Experiment):
    """An experiment on P1's synthetic runs. ``courses``: what P1 reads out of each, by setting; ``released``: out of
    those from the authors' start.
    """

    courses: dict[str, list[TopicCourse]]
    released: list[TopicCourse]
    authors_word: int | None = None
    """The topic word that the authors' plots follow, which their start makes the same as ours; None for all of them."""

    def measure(self, runs: Runs) -> None:
        every = {name: [course_of(outcome) for outcome in group] for name, group in runs.items()}
        self.courses = {name: group for name, group in every.items() if not name.endswith(RELEASED)}
        started = [course for name, group in every.items() if name.endswith(RELEASED) for course in group]
        self.released = [replace(course, word=self.authors_word) for course in started]

    def all_courses(self, seeds_below: int | None = None) -> list[TopicCourse]:
        """Those of every setting; with ``seeds_below`` only of the first so many seeds."""
        every = [course for group in self.courses.values() for course in group]
        return every if seeds_below is None else [course for course in every if course.seed < seeds_below]

    def beside_authors(self, authors: Mapping[tuple[str, str], float]) -> Table:
        """The authors' values beside our ranges over seeds: as the text says, and from their own start."""
        known = {(f"{name}{RELEASED}", measure): value for (name, measure), value in authors.items()}
        return [*compare(ranges(self.all_courses()), authors), *compare(ranges(self.released), known)]

    def run_row(self, outcome: Outcome) -> dict[str, Any]:
        return {**course_of(outcome).row(), "run": outcome.run.id}

    def run_tables(self) -> dict[str, Table]:
        """Without ``curves``: hundreds of evaluations of sixty numbers each would fill megabytes."""
        return {"runs": [self.run_row(outcome) for outcome in self.runs.all()]}


def course_of(outcome: Outcome) -> TopicCourse:
    """A run as P1 reads it."""
    assert outcome.spec is not None
    assert isinstance(outcome.spec.task, TopicsSpec)
    return TopicCourse(outcome.setting, outcome.seed, outcome.run.rows, float(np.mean(outcome.spec.task.others)))


def below_bound(name: str, values: Sequence[float | None], bound: float, what: str) -> Part:
    """Holds if the mean over seeds of ``values`` has an upper 95 % bound below ``bound``; fails if the lower is above.

    A seed without a value (no score was ever large enough to see the identity) leaves the part undecided.
    """
    known = [value for value in values if value is not None]
    if not known or len(known) < len(values):
        return missing(name, detail=f"{len(values) - len(known)} of {len(values)} seeds have no {what}.")
    mean = np.mean(known)
    detail = f"{what} {mean:.3g} on average over {len(known)} seeds, at most {max(known):.3g}; the bound is {bound}."
    return below(name, known, bound, detail, least=1)

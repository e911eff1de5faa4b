"""Altered corpora for the experiment forecast-text, and the runs on each."""

from collections.abc import Mapping
from dataclasses import dataclass

from attnlab.experiments.texts.classification import SEEDS, Role, classifier_job, corpus_of
from attnlab.families.texts.spec import LabelledTextSpec
from attnlab.lab.claims import Preset
from attnlab.lab.experiment import Order
from attnlab.runs.engine import Job
from attnlab.runs.schedule import Schedule

ROLES: tuple[Role, ...] = ("reference", "comparison")


@dataclass(frozen=True)
class Size:
    """Which corpora, for how many updates, over how many validation texts, and with how many pairs of runs."""

    corpora: tuple[str, ...]
    steps: int
    texts: int
    pairs: int


SIZES: Mapping[Preset, Size] = {
    "quick": Size(("sst",), 150, 300, 1),
    "reduced": Size(("sst", "sms"), 1000, 4000, 2),
    "paper": Size(("sst", "sms", "ag_news"), 2000, 4000, 2),
}


@dataclass(frozen=True)
class Variant:
    """One way to alter a corpus."""

    name: str
    shuffled: float = 0.0
    without_keywords: int = 0

    def task(self, corpus: str, pair: int) -> LabelledTextSpec:
        """The altered corpus that a pair of runs is trained on; each pair has labels shuffled in its own way."""
        return LabelledTextSpec(
            corpus=corpus,
            content=corpus_of(corpus).content,
            shuffled=self.shuffled,
            shuffle_seed=pair if self.shuffled else 0,
            without_keywords=self.without_keywords,
        )

    def job(self, corpus: str, role: Role, pair: int, preset: Preset) -> Job:
        """A run of experiment agreement, on the altered corpus and for fewer updates."""
        size = SIZES[preset]
        base = classifier_job(corpus, role, SEEDS[role][pair], preset, label=f"{corpus}, {self.name},")
        spec = base.spec.model_copy(update={"task": self.task(corpus, pair), "evaluation_batch": size.texts})
        evaluations = tuple(step for step in base.schedule.evaluations if step <= size.steps)
        every = base.schedule.checkpoint_every
        return Job(base.label, spec, Schedule(steps=size.steps, evaluations=evaluations, checkpoint_every=every))


VARIANTS = (
    Variant("as it is"),
    Variant("20 % shuffled", shuffled=0.2),
    Variant("40 % shuffled", shuffled=0.4),
    Variant("100 % shuffled", shuffled=1.0),
    Variant("200 keywords removed", without_keywords=200),
)


def pairs_in(order: Order) -> list[int]:
    """The numbers of the pairs of a reference and a comparison run."""
    return order.first(range(SIZES[order.preset].pairs))

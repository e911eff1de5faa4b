"""What the experiments on labelled texts share: the corpora, the runs on each, and how many at which preset (P3 A.8).

Names of runs: the *reference* runs' attention is alpha; *comparison* runs are the same from other seeds; *uniform* runs
have attention fixed at 1/L, and their probe is beta_uf; in *frozen* runs attention alone is trained, over a lexicon
that stays as random as it began (A.6); the *proxy* sees bags of words (2.3).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Literal

from attnlab.data.corpora import data_folder, known_corpus
from attnlab.data.labelled_text import Corpus, load_corpus
from attnlab.errors import UsageError
from attnlab.families.texts.spec import ClassifierSpec, LabelledTextSpec, ProxySpec
from attnlab.lab.claims import Preset
from attnlab.lab.experiment import Experiment, Order
from attnlab.runs.engine import Job
from attnlab.runs.optimisers import AdamSpec
from attnlab.runs.schedule import Schedule
from attnlab.runs.spec import RunSpec

Role = Literal["reference", "comparison", "uniform", "frozen", "proxy"]

ROWS = ("imdb", "ag_news", "20newsgroups", "sst", "amazon", "yelp", "sms")
"""The corpora, in the order of the paper's table; SMS, which the paper leaves out of it, last."""
LONG = ("imdb", "20newsgroups", "amazon", "yelp")
"""Corpora of long texts: at ``paper`` each costs more CPU hours than a laptop has to spare."""

PROXY_BATCH = 64

SEEDS: Mapping[Role, tuple[int, ...]] = {
    "reference": (20, 21, 22),
    "comparison": (13, 14, 15, 16, 17),
    "uniform": (12, 11, 10),
    "frozen": (30, 31, 32),
    "proxy": (20,),
}
"""The released code's seeds (reference 20, comparison 13 to 17, uniform 12), and ours where it has one run only. Frozen
runs have seeds of their own: from a reference's start they would share its random states."""


@dataclass(frozen=True)
class Size:
    """How much of everything: runs of each role, updates of a classifier, passes of the proxy, texts evaluated."""

    runs: Mapping[Role, int]
    steps: int
    passes: int
    texts: int
    evaluations: tuple[int, ...] = field(default=())


def _evaluations(steps: int) -> tuple[int, ...]:
    """A.8: at 0, 10, 50, 100, 150, 200, 250, and every 250 from there."""
    early = (0, 10, 50, 100, 150, 200, 250)
    return tuple(sorted({step for step in (*early, *range(500, steps + 1, 250), steps) if step <= steps}))


SIZES: Mapping[Preset, Size] = {
    "quick": Size({"reference": 1, "comparison": 1, "uniform": 1, "frozen": 1, "proxy": 1}, 250, 20, 500),
    "reduced": Size({"reference": 1, "comparison": 1, "uniform": 1, "frozen": 1, "proxy": 1}, 2000, 60, 4000),
    "paper": Size({"reference": 3, "comparison": 5, "uniform": 3, "frozen": 3, "proxy": 1}, 4000, 60, 4000),
}


@cache
def corpus_of(name: str) -> Corpus:
    """The corpus, read once a process."""
    return load_corpus(name)


def found_in_data(names: Sequence[str]) -> list[str]:
    """Those of the corpora whose files are in the data folder."""
    root = data_folder(None)
    found = [name for name in names if known_corpus(name).find(root) is not None]
    if not found:
        raise UsageError(f"{root} has none of the corpora {', '.join(names)}; `attnlab data` says how to get them.")
    return found


def default_rows(preset: Preset) -> list[str]:
    """The corpora that are run where none are named: SST at ``quick``, which is to end in minutes; else all whose files
    are found, but at ``paper`` only those of short texts. The long ones take days of a laptop's time there: their
    results are made at ``reduced``, and at ``paper`` only for somebody who names them.
    """
    if preset == "quick":
        return ["sst"]
    return found_in_data([name for name in ROWS if preset != "paper" or name not in LONG])


def seeds_of(role: Role, order: Order) -> list[int]:
    """The seeds that ``order`` asks for."""
    return order.first(SEEDS[role][: SIZES[order.preset].runs[role]])


def job(corpus_name: str, role: Role, seed: int, preset: Preset) -> Job:
    """One run on a corpus."""
    if role == "proxy":
        return proxy_job(corpus_name, seed, preset)
    return classifier_job(corpus_name, role, seed, preset)


def classifier_job(
    corpus_name: str, role: Role, seed: int, preset: Preset, model: ClassifierSpec | None = None, label: str = ""
) -> Job:
    """A run of the classifier; a reference run keeps the weights of its best evaluation, for influence and the like."""
    corpus, size = corpus_of(corpus_name), SIZES[preset]
    attention = "uniform" if role == "uniform" else "learned"
    spec = RunSpec(
        task=LabelledTextSpec(corpus=corpus_name, content=corpus.content),
        model=(model or ClassifierSpec()).model_copy(update={"attention": attention}),
        train="attention-only" if role == "frozen" else "all",
        batch=32,
        evaluation_batch=size.texts,
        init_seed=seed,
        data_seed=seed,
    )
    schedule = Schedule(
        steps=size.steps,
        evaluations=_evaluations(size.steps),
        checkpoint_every=250,
        keep="best" if role == "reference" else False,
    )
    return Job(f"{label or corpus_name} {role} {seed}", spec, schedule)


def proxy_job(corpus_name: str, seed: int, preset: Preset) -> Job:
    """A run of the proxy, with the released code's rates, measured after every pass over the training texts."""
    corpus, size = corpus_of(corpus_name), SIZES[preset]
    a_pass = -(-len(corpus.train) // PROXY_BATCH)
    steps = a_pass * size.passes
    spec = RunSpec(
        task=LabelledTextSpec(corpus=corpus_name, content=corpus.content),
        model=ProxySpec(),
        optimiser=AdamSpec(learning_rate=5e-5 if corpus_name in ("imdb", "amazon", "yelp") else 1.5e-4),
        batch=PROXY_BATCH,
        evaluation_batch=size.texts,
        init_seed=seed,
        data_seed=seed,
    )
    # A kill costs a fifth of the proxy's short training at most; its checkpoints are as large as a classifier's.
    schedule = Schedule(
        steps=steps, evaluations=tuple(range(0, steps + 1, a_pass)), checkpoint_every=max(steps // 5, 1)
    )
    return Job(f"{corpus_name} proxy {seed}", spec, schedule)


def jobs_on(corpus_name: str, roles: tuple[Role, ...], order: Order) -> list[Job]:
    """The runs of some roles on a corpus, references first: they are what everything is compared with."""
    return [job(corpus_name, role, seed, order.preset) for role in roles for seed in seeds_of(role, order)]


class TextExperiment(Experiment):
    """What the experiments with a row for each corpus have in common: ``roles`` says which runs they need there."""

    rows = ROWS
    roles: tuple[Role, ...] = ()

    def default_rows(self, preset: Preset) -> list[str]:
        return default_rows(preset)

    def jobs(self, order: Order) -> list[Job]:
        return jobs_on(order.row, self.roles, order)

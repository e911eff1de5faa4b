"""The papers' classifier on one's own texts: the run spec and the schedule of `attnlab train`."""

from pathlib import Path
from typing import Any

from attnlab.data.corpora import KNOWN
from attnlab.data.labelled_text import Corpus, load_corpus
from attnlab.families.texts.spec import ClassifierSpec, LabelledTextSpec
from attnlab.families.texts.stopping import NoImprovement
from attnlab.models.classifier import TextAttention
from attnlab.runs.schedule import Schedule
from attnlab.runs.spec import RunSpec

BATCH, TEXTS = 32, 1000
"""Texts of an update (P3 A.8), and validation texts that evaluations read at most."""
PATIENCE = 4
LEAST, MOST = 25, 250
"""Updates between two evaluations."""


def text_task(name: str, **own: Any) -> tuple[LabelledTextSpec, Corpus]:
    """The task of a known corpus, or of a file of one's own with the settings ``own``, and its texts."""
    if name in KNOWN and not own:
        corpus = load_corpus(name)
        return LabelledTextSpec(corpus=name, content=corpus.content), corpus
    task = LabelledTextSpec.of_file(Path(name), **own)
    return task, task.build()


def classifier_spec(task: LabelledTextSpec, *, attention: TextAttention = "learned", seed: int = 0) -> RunSpec:
    """P3's classifier on these texts, as the experiments train it."""
    model = ClassifierSpec(attention=attention)
    return RunSpec(task=task, model=model, batch=BATCH, evaluation_batch=TEXTS, init_seed=seed, data_seed=seed)


def until_no_improvement(texts: int, steps: int, *, patience: int = PATIENCE, metric: str = "loss") -> Schedule:
    """At most ``steps`` updates; measured about once each pass over so many training ``texts``, and ended once the
    validation texts' ``metric`` has not improved for ``patience`` evaluations. The best weights are kept.
    """
    every = min(max(-(-texts // BATCH), LEAST), MOST)
    rule = NoImprovement(metric=metric, patience=patience)
    return Schedule.every(every, steps=steps, checkpoint_every=every, keep="best", give_up=rule)

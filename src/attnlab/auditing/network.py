"""A trained classifier brought back from the run store, with what it was trained on."""

import warnings
from dataclasses import dataclass

from attnlab.data.corpora import known_corpus
from attnlab.data.labelled_text import Corpus
from attnlab.data.tokens import TokenRule
from attnlab.errors import StoreError, UsageError
from attnlab.families.texts.spec import ClassifierSpec, LabelledTextSpec
from attnlab.models.classifier import Classifier
from attnlab.runs.run import Run, StoreWarning
from attnlab.runs.spec import RunSpec, read_stored


@dataclass(frozen=True, eq=False)
class TrainedClassifier:
    """A run's network with its weights at ``step``, its corpus, and the rule by which texts are cut into words."""

    run: Run
    spec: RunSpec
    step: int
    model: Classifier
    corpus: Corpus
    rule: TokenRule


def best_kept_step(run: Run) -> int:
    """Of the steps whose weights are there the first of highest validation accuracy, or the last if none was measured.

    A schedule with ``keep="best"`` keeps the weights of that evaluation. Where these are not there, be it by another
    schedule or because they were lost, a StoreWarning says so.
    """
    steps, places = run.kept(), run.path / "checkpoints"
    if not steps:
        raise StoreError(f"{places} has no weights of the run; train it again.")
    rows = run.whole_metrics() if len(steps) > 1 else run.metrics()
    accuracy = {int(row["step"]): row["accuracy"] for row in rows if "accuracy" in row}
    best = max(accuracy, key=lambda step: accuracy[step], default=steps[-1])
    if best in steps:
        return best
    used = max((step for step in steps if step in accuracy), key=lambda step: accuracy[step], default=steps[-1])
    warnings.warn(
        f"{places / str(best)} is not there, though the run was best then; the weights of step {used} are used.",
        StoreWarning,
        stacklevel=2,
    )
    return used


def load_classifier(run: Run, step: int | None = None, corpus: Corpus | None = None) -> TrainedClassifier:
    """The network of a finished run on labelled texts, at its best kept step unless another is named."""
    spec = read_stored(run.spec(), run.id)
    if spec is None:
        raise StoreError(f"{run.path / 'spec.json'} does not describe run {run.id}.")
    task, model = spec.task, spec.model
    if not isinstance(task, LabelledTextSpec) or not isinstance(model, ClassifierSpec):
        raise UsageError(
            f"Run {run.id} is a {model.kind} on the task {task.kind}; only a classifier of labelled texts can be "
            "explained, as `attnlab train` makes it."
        )
    corpus = corpus or task.build()
    step = best_kept_step(run) if step is None else step
    # Word vectors are where it began, not what it learned, so their file is not needed.
    network = model.model_copy(update={"vectors": None}).build(corpus.words, len(corpus.classes), spec.init_seed)
    run.load_into(network, step)
    rule = known_corpus(task.corpus).rule if task.file is None else TokenRule()
    return TrainedClassifier(run, spec, step, network.eval(), corpus, rule)

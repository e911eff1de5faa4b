"""A trained classifier brought back from the run store, with what it was trained on."""

from dataclasses import dataclass

from attnlab.data.corpora import KNOWN
from attnlab.data.labelled_text import Corpus
from attnlab.data.tokens import TokenRule
from attnlab.errors import StoreError, UsageError
from attnlab.families.texts.spec import ClassifierSpec, LabelledTextSpec
from attnlab.models.classifier import Classifier
from attnlab.runs.run import Run
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

    A schedule with ``keep="best"`` keeps the weights of that evaluation.
    """
    steps = run.kept()
    if not steps:
        raise StoreError(f"Run {run.id} has no weights in the store; train it again.")
    if len(steps) == 1:
        return steps[0]
    accuracy = {int(row["step"]): row["accuracy"] for row in run.whole_metrics() if "accuracy" in row}
    measured = [step for step in steps if step in accuracy]
    return max(measured, key=lambda step: accuracy[step]) if measured else steps[-1]


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
    rule = KNOWN[task.corpus].rule if task.file is None else TokenRule()
    return TrainedClassifier(run, spec, step, network.eval(), corpus, rule)

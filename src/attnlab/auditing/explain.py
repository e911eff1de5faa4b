"""One text and a trained classifier: what it says, and what each word has to do with it."""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch

from attnlab.auditing.network import TrainedClassifier, load_classifier
from attnlab.data.batch import Bags
from attnlab.errors import UsageError
from attnlab.files import as_path
from attnlab.probes.influence import text_influence
from attnlab.runs.store import RunStore

LONGEST = 2000
"""Words of the longest text that is explained."""


@dataclass(frozen=True)
class Explanation:
    """What a run says about a text.

    ``words``: as the network reads them; those it does ``unknown`` are all the same to it. ``probabilities`` of all
    ``classes``; ``label``: the class that beta and delta are about. Of each word: ``alpha``, the share of attention;
    ``beta``, the probability of the label if the network attended to that word alone; ``delta``, by how much the
    label's log-probability grows with the word's embedding.
    """

    run: str
    step: int
    words: tuple[str, ...]
    unknown: tuple[bool, ...]
    classes: tuple[str, ...]
    probabilities: tuple[float, ...]
    label: str
    alpha: tuple[float, ...]
    beta: tuple[float, ...]
    delta: tuple[float, ...]

    @property
    def predicted(self) -> str:
        """The most probable class."""
        return self.classes[max(range(len(self.classes)), key=lambda k: self.probabilities[k])]

    @property
    def sentence(self) -> str:
        """The prediction in words."""
        most = max(self.probabilities)
        return f"Predicted: {self.predicted[:60]} ({most:.1%}). Beta and delta are about {self.label[:60]}."

    def to_json(self) -> dict[str, Any]:
        """All of it as plain values."""
        return {**asdict(self), "predicted": self.predicted}

    def save(self, path: str | Path) -> Path:
        """Write it as a page (.html) or as numbers (.json)."""
        from attnlab.auditing.explain_page import save_explanation

        return save_explanation(as_path(path, "A file to write"), self)


def explain(run: str, sentence: str, *, store: str | Path | RunStore = "runs", label: str | None = None) -> Explanation:
    """What the run with this id (or its first characters) in ``store`` says about ``sentence``, and which words matter.

    ``label``: the class that beta and delta are about; the predicted one if None.

    >>> import tempfile, attnlab as al
    >>> from attnlab import specs
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file, home = Path(folder, "films.csv"), al.RunStore(Path(folder, "runs"))
    ...     _ = file.write_text("text,label\\n" + "a lovely film,good\\nan awful film,bad\\n" * 5)
    ...     task = specs.LabelledTextSpec.of_file(file)
    ...     model = specs.ClassifierSpec(embedding_size=8, hidden=4)
    ...     spec = specs.RunSpec(task=task, model=model, batch=4, init_seed=0, data_seed=0)
    ...     run = al.train(spec, specs.Schedule.every(5, steps=5, keep="best"), home)
    ...     explained = al.explain(run.id, "A lovely surprise!", store=home)
    >>> explained.words, explained.unknown, len(explained.alpha)
    (('a', 'lovely', 'surprise'), (False, False, True), 3)
    """
    if not isinstance(run, str) or not isinstance(sentence, str):
        raise UsageError("To explain takes a run's id and a sentence, both as text.")
    home = store if isinstance(store, RunStore) else RunStore(store)
    return explained(load_classifier(home.existing(run)), sentence, label)


def explained(trained: TrainedClassifier, sentence: str, label: str | None = None) -> Explanation:
    """The same of a network that is at hand."""
    classes, words = trained.corpus.classes, trained.rule.words(sentence)
    if not words:
        raise UsageError("The sentence has no word: none of its characters is a letter or a digit.")
    if len(words) > LONGEST:
        raise UsageError(f"The text has {len(words)} words; at most {LONGEST} are explained at once.")
    if label is not None and label not in classes:
        named = ", ".join(repr(name[:40]) for name in classes[:20])
        raise UsageError(f"Run {trained.run.id} has no class {label[:40]!r}; its classes are {named}.")
    ids = {word: number for number, word in enumerate(trained.corpus.words)}
    numbers = torch.tensor([ids.get(word, 0) for word in words])
    offsets = torch.tensor([0, len(words)])
    fields, _ = text_influence(trained.model, Bags(numbers, offsets, torch.zeros(1, dtype=torch.int64)))
    chosen = int(fields.log_probabilities[0].argmax()) if label is None else classes.index(label)
    fields, delta = text_influence(trained.model, Bags(numbers, offsets, torch.tensor([chosen])))
    return Explanation(
        run=trained.run.id,
        step=trained.step,
        words=tuple(words),
        unknown=tuple(not number for number in numbers.tolist()),
        classes=classes,
        probabilities=tuple(torch.from_numpy(fields.log_probabilities[0]).exp().tolist()),
        label=classes[chosen],
        alpha=tuple(fields.alpha.row(0).tolist()),
        beta=tuple(torch.from_numpy(fields.gamma.row(0)).sigmoid().tolist()),
        delta=tuple(delta.row(0).tolist()),
    )

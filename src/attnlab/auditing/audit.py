"""The audit itself: read, forecast, train, measure, grade."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from attnlab.auditing.budget import LEFT_OUT, Budget, budget_of
from attnlab.auditing.card import make_card
from attnlab.auditing.findings import find_in_data, too_little
from attnlab.auditing.network import load_classifier
from attnlab.auditing.numbers import Numbers, measure
from attnlab.auditing.plan import AuditRuns, Plan, Watch, best_step
from attnlab.auditing.reading import NetworkFields, read_network, stored_fields, write_fields
from attnlab.auditing.result import Audit, Example
from attnlab.data.batch import Bags
from attnlab.data.labelled_text import Corpus
from attnlab.data.texts import LabelledTexts
from attnlab.errors import UsageError
from attnlab.families.texts.problem import evaluated
from attnlab.families.texts.reading import stored_field, stored_word_scores, word_field
from attnlab.families.texts.spec import LabelledTextSpec
from attnlab.files import as_path
from attnlab.probes.leave_one_out import sample_for_leave_one_out
from attnlab.probes.view import View
from attnlab.runs.engine import Engine, LocalEngine
from attnlab.runs.environment import cores, threads
from attnlab.runs.loop import Trained
from attnlab.runs.store import RunStore
from attnlab.theory.forecast import forecast

MOST_SEEDS = 10
EXAMPLES, EXAMPLE_WORDS = 3, 60
"""Texts on the page, and the most words of one."""
Say = Callable[[str], None]
Watching = Callable[[], AbstractContextManager[Watch]]


def audit(
    texts: LabelledTexts | Bags | None = None,
    *,
    source: str | Path | None = None,
    target: str | Path | None = None,
    budget: str = "small",
    seeds: int = 3,
    store: str | Path | RunStore = "runs",
    out: str | Path | None = None,
    jobs: int | None = None,
    models: Sequence[nn.Module] | nn.Module = (),
    view: View | None = None,
    examples: bool = True,
    engine: Engine | None = None,
    watching: Watching | None = None,
    say: Say | None = None,
) -> Audit:
    """May attention on these texts be trusted? Trains the papers' classifier with several ``seeds``, a uniform twin,
    the proxy and deceptive twins, as large as the ``budget`` (small, normal or large) says, and grades attention.

    ``texts``: from `attnlab.read_texts`. Runs are kept in ``store`` and, with ``out``, what is read of them in that
    folder: an audit that was stopped goes on where it was. ``jobs``: worker processes; one a core if None.

    A parallel corpus is audited by its two files ``source`` and ``target`` instead of ``texts``: the papers' translator
    is trained, and attention is held against word alignments instead of leave-one-out.

    A model of your own is audited with ``models`` (several: of different seeds), read through ``view``, on ``texts`` as
    `attnlab.data.batch.Bags`; nothing is trained then, and what needs training has no grade.

    >>> from attnlab.models.classifier import Classifier
    >>> words = torch.arange(60) % 7 + 1
    >>> texts = Bags(words, torch.arange(0, 61, 5), torch.arange(12) % 2)
    >>> result = audit(texts, models=[Classifier(9, embedding_size=4, hidden=3, seed=seed) for seed in (0, 1)])
    >>> result.card.answers[0].question, result.card.answers[0].grade
    ('Is attention learned?', 'unknown')
    """
    own = [models] if isinstance(models, nn.Module) else list(models)
    if isinstance(texts, Bags) and own:
        return audit_models(own, texts, view)
    of_pairs = source is not None and target is not None
    if own or isinstance(texts, LabelledTexts) == of_pairs or (source is None) != (target is None):
        raise UsageError(
            "To audit takes texts from read_texts, or the files source and target of a parallel corpus, or texts as "
            "Bags together with models of your own."
        )
    if not isinstance(seeds, int) or not 1 <= seeds <= MOST_SEEDS:
        raise UsageError(f"An audit trains 1 to {MOST_SEEDS} seeds, not {seeds!r}.")
    chosen, announce = budget_of(budget), say or (lambda _: None)
    home = store if isinstance(store, RunStore) else RunStore(store)
    engine = engine or LocalEngine(jobs or cores())
    if source is not None and target is not None:
        from attnlab.auditing.pairs.audit import audit_pairs

        how: dict[str, Any] = {"budget": budget, "seeds": seeds, "store": home, "out": out, "engine": engine}
        return audit_pairs(source, target, watching=watching, say=announce, examples=examples, **how)
    assert isinstance(texts, LabelledTexts)
    announce("reading the texts")
    task, corpus = own_task(texts, chosen)
    findings = find_in_data(texts, corpus)
    made_forecast = forecast(texts)
    plan = Plan(task, corpus, chosen, seeds)
    with watched(watching) as watch:
        done = plan.train(home, engine, watch)
    with threads(1):
        read = _Reading(corpus, chosen, None if out is None else as_path(out, "A folder") / "fields", announce)
        learned = [read.network(run) for run in done.learned]
        twins = {weight: read.network(run, run.step) for weight, run in done.twins.items()}
        numbers = read.numbers(done, learned, twins)
    card = make_card(numbers, findings.too_little, hints=(*findings.deciding, *made_forecast.reasons))
    shown = read.examples(learned[0], twins, numbers) if examples else ()
    settings = _settings(chosen, seeds, task, done)
    now = datetime.now(UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    return Audit(texts.path.name, card, numbers, findings, made_forecast, settings, shown, now)


def audit_models(models: Sequence[nn.Module], texts: Bags, view: View | None = None) -> Audit:
    """The audit of models that are there, on labelled texts; several are taken for seeds of one model."""
    sample = sample_for_leave_one_out(texts, LEFT_OUT).numpy()
    if not len(sample):
        raise UsageError("There is no text to audit a model on.")
    fields = [read_network(model, texts, sample, view) for model in models]
    numbers = measure(texts.labels.numpy(), fields, sample)
    counts = torch.bincount(texts.labels).tolist()
    why = too_little(len(texts), [str(label) for label in range(len(counts))], counts)
    return Audit("your model", make_card(numbers, why), numbers, settings={"models": len(models), "texts": len(texts)})


def own_task(texts: LabelledTexts, budget: Budget) -> tuple[LabelledTextSpec, Corpus]:
    """The task of these texts, without those longer than the budget reads."""
    task = LabelledTextSpec.of_file(
        texts.path, text=texts.columns[0], label=texts.columns[1], groups=texts.groups, longest=budget.longest
    )
    return task, task.build()


def watched(watching: Watching | None) -> AbstractContextManager[Watch]:
    """Whoever watches the runs, or nobody."""
    return nullcontext(_unwatched) if watching is None else watching()


def _unwatched(_: Any) -> Callable[[Any, Any], None]:
    return lambda _job, _event: None


class _Reading:
    """What is read of the trained networks, kept in ``folder`` so that it is read once."""

    def __init__(self, corpus: Corpus, budget: Budget, folder: Path | None, announce: Say) -> None:
        self.corpus, self.folder, self.announce = corpus, folder, announce
        self.texts = evaluated(corpus, budget.texts)["valid"]
        self.sample = sample_for_leave_one_out(self.texts, LEFT_OUT).numpy()

    def network(self, run: Trained, step: int | None = None) -> NetworkFields:
        """A run's fields, at its best evaluation unless another step is named."""
        assert run.run is not None
        at = best_step(run) if step is None else step
        path = None if self.folder is None else self.folder / f"{run.id}-{at}.parquet"
        if path is not None and (known := stored_fields(path, self.sample, run.id, at)) is not None:
            return known
        self.announce(f"reading run {run.id}: attention, influence, leave-one-out")
        fields = read_network(load_classifier(run.run, at, self.corpus).model, self.texts, self.sample)
        if path is not None:
            write_fields(path, fields, self.sample, run.id, at)
        return fields

    def numbers(self, done: AuditRuns, learned: Sequence[NetworkFields], twins: dict[float, NetworkFields]) -> Numbers:
        """All numbers; the uniform twin's lexicon and the proxy's are at their best evaluations, too."""
        assert done.uniform.run is not None
        assert done.proxy.run is not None
        uniform = best_step(done.uniform)
        proxy = int(min(done.proxy.rows, key=lambda row: row["loss"])["step"])
        scores = stored_word_scores(done.proxy.run.fields(proxy))
        others = {
            "lexicon of the uniform twin": stored_field(done.uniform.run.fields(uniform), "valid", "gamma"),
            "lexicon of the proxy": word_field(self.texts, scores),
        }
        accuracies = {
            "uniform twin": max(row["accuracy"] for row in done.uniform.rows),
            "proxy (bag of words)": next(row["accuracy"] for row in done.proxy.rows if row["step"] == proxy),
            **{f"deceptive twin, lambda {w:g}": run.rows[-1]["accuracy"] for w, run in done.twins.items()},
        }
        labels = self.texts.labels.numpy()
        return measure(labels, learned, self.sample, others=others, accuracies=accuracies, twins=twins)

    def examples(
        self, first: NetworkFields, twins: dict[float, NetworkFields], numbers: Numbers
    ) -> tuple[Example, ...]:
        """The first short texts of each class that the network gets right, with both attentions."""
        equal = [twin for twin in numbers.twins if twin.equal] or list(numbers.twins)
        far = max(equal, key=lambda twin: twin.jsd.value or 0.0, default=None)
        right = first.log_probabilities.argmax(1) == self.texts.labels.numpy()
        lengths, labels = self.texts.lengths.numpy(), self.texts.labels.numpy()
        shown: list[Example] = []
        for label in range(len(self.corpus.classes)):
            fitting = np.flatnonzero(right & (labels == label) & (lengths > 4) & (lengths <= EXAMPLE_WORDS))
            for row in fitting[:1].tolist():
                start, end = self.texts.offsets[row : row + 2].tolist()
                words = tuple(self.corpus.words[word] for word in self.texts.words[start:end].tolist())
                other = None if far is None else tuple(twins[far.weight].alpha.row(row).tolist())
                shown.append(Example(self.corpus.classes[label], words, tuple(first.alpha.row(row).tolist()), other))
        return tuple(shown[:EXAMPLES])


def _settings(budget: Budget, seeds: int, task: LabelledTextSpec, done: AuditRuns) -> dict[str, Any]:
    """What repeats the audit."""
    return {
        "budget": budget.name,
        "seeds": seeds,
        "network": f"LSTM {budget.hidden} each way, embedding {budget.embedding}, at most {budget.steps} updates of 32",
        "twins": f"at most {budget.twin_steps} updates, lambda {', '.join(f'{w:g}' for w in budget.weights)}",
        "texts of more words left out": budget.longest,
        "content of the texts": task.content,
        "runs": ", ".join(run.id for run in (*done.learned, done.uniform, done.proxy, *done.twins.values())),
        "attnlab": version("attnlab"),
        "torch": torch.__version__,
    }

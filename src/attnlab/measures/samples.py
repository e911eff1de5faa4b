"""Accuracy against the number of texts, for attention, uniform attention and logistic regression on the same words.

Attention: a bag of words under a learned weight for each word and a linear read-out (P1's model); uniform attention is
the same with all weights equal, so that what differs is attention alone. A fifth of each subsample chooses the update
(or the regularisation), and a fifth of all texts, the same for all, is what accuracy is measured on.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_array
from torch import Tensor

from attnlab.data.own_file import hold_out_fifth
from attnlab.data.sentence_pairs import SentencePairs
from attnlab.data.subsample import subsample
from attnlab.data.texts import LabelledTexts
from attnlab.errors import UsageError
from attnlab.models.bag_attention import BagIndex, index_bags
from attnlab.models.topic import TopicModel, make_classifier, one_hot
from attnlab.seeds import numpy_generator
from attnlab.stats.bootstrap import bootstrap_interval
from attnlab.stats.learning_curve import Expected, extrapolate

Integers = NDArray[np.int64]

MODELS = ("attention", "uniform attention", "logistic regression")
UPDATES, EVERY, RATE, SIZE = 120, 10, 0.05, 10
QUERY = 0.1
"""The fixed query's spread: larger steps of the scores learn noise first."""
STRENGTHS = (0.1, 1.0, 10.0, 100.0)
"""C of logistic regression on counts that sum to 1 times their root: chosen by the fifth held out."""
LEAST = 40
"""Texts of the smallest subsample, unless there are many classes."""
REPEATS = 5
PAYS = 0.005
"""Points of accuracy by which attention must be ahead to pay, beside the interval."""


@dataclass(frozen=True)
class SampleCurves:
    """``errors[model][n]``: the share of wrong answers of every training. ``tests``: texts it is measured on.

    ``pays_from``: the n from which on attention is ahead of both others, by the interval over trainings; None where it
    never is. ``expected[model]``: with twice the data, or None where there are too few sizes.
    """

    errors: Mapping[str, Mapping[int, Sequence[float]]]
    texts: int
    tests: int
    classes: tuple[str, ...]
    pays_from: int | None
    expected: Mapping[str, Expected | None]
    notes: tuple[str, ...] = ()

    @property
    def sentence(self) -> str:
        """The answer in words."""
        largest = max(self.errors["attention"])
        best = {model: 1 - float(np.mean(self.errors[model][largest])) for model in MODELS}
        reached = ", ".join(f"{model} {best[model]:.1%}" for model in MODELS)
        if self.pays_from is None:
            return f"Attention does not pay at any size up to {largest} texts. Accuracy there: {reached}."
        return f"Attention pays from {self.pays_from} texts on. Accuracy with {largest}: {reached}."

    def rows(self) -> list[dict[str, Any]]:
        """Mean accuracy of each model at each n, with the 95 % interval over trainings."""
        table = []
        for model in MODELS:
            for n, values in sorted(self.errors[model].items()):
                low, high = bootstrap_interval(values) or (None, None)
                named = {"model": model, "n": n, "trainings": len(values), "accuracy": 1 - float(np.mean(values))}
                table.append(
                    {**named, "low": None if high is None else 1 - high, "high": None if low is None else 1 - low}
                )
        return table

    def to_json(self) -> dict[str, Any]:
        """All numbers."""
        expected = {
            model: one and {"n": one.n, "accuracy": 1 - one.error, "low": 1 - one.high, "high": 1 - one.low}
            for model, one in self.expected.items()
        }
        return {
            "answer": self.sentence,
            "texts": self.texts,
            "tests": self.tests,
            "classes": list(self.classes),
            "pays_from": self.pays_from,
            "curves": self.rows(),
            "expected": expected,
            "notes": list(self.notes),
        }

    def save(self, path: str | Path, name: str = "your data") -> Path:
        """Write a page (.html) or all numbers (.json), as ``path`` ends; ``name`` says what was read."""
        from attnlab.pages.samples import save_samples  # pages read curves, and only this one call needs pages

        return save_samples(Path(path), self, name)


Watch = Callable[[str], None]
Drawn = tuple[int, int]
"""One subsample: how many texts, and the number of its repetition."""
Trainer = Callable[["Trainings", Sequence[Drawn], Watch], Iterable[dict[str, float]]]
"""Trains on many subsamples, here or elsewhere; the errors of each, in their order."""


@dataclass(frozen=True, eq=False)
class Trainings:
    """What all trainings share: texts as pairs, their labels, and which train and which are tested on."""

    pairs: SentencePairs
    labels: Integers
    train: Integers
    test: Integers

    @classmethod
    def of(cls, pairs: SentencePairs) -> "Trainings":
        labels = pairs.target.astype(np.int64)
        held_out = hold_out_fifth(labels)
        return cls(pairs, labels, np.flatnonzero(~held_out), np.flatnonzero(held_out))

    def errors(self, drawn: Drawn) -> dict[str, float]:
        """The share of wrong answers of each model trained on one subsample."""
        n, repeat = drawn
        rows = self.train[subsample(self.labels[self.train], n, numpy_generator(repeat, "samples", n))]
        return errors_of(self.pairs, self.labels, rows, self.test, seed=repeat)


def train_here(trainings: Trainings, drawn: Sequence[Drawn], watch: Watch) -> Iterable[dict[str, float]]:
    """One after the other, in this process."""
    repeats = 1 + max(repeat for _, repeat in drawn)
    for n, repeat in drawn:
        watch(f"training on {n} texts, {repeat + 1} of {repeats}")
        yield trainings.errors((n, repeat))


def samples(
    texts: LabelledTexts,
    *,
    repeats: int = REPEATS,
    watch: Watch | None = None,
    sizes: Sequence[int] | None = None,
    trainer: Trainer = train_here,
) -> SampleCurves:
    """Train attention, uniform attention and logistic regression on more and more of ``texts``: does attention pay?

    ``texts``: what `attnlab.data.texts.read_texts` returns. ``repeats``: trainings at each size. ``sizes``: those to
    try; by default halves of halves of all training texts. ``watch``: called with what is done next. ``trainer``: who
    trains, if not this process.

    >>> import tempfile
    >>> from pathlib import Path
    >>> from attnlab.data.texts import read_texts
    >>> rows = [f"{'good' if k % 2 else 'bad'} film number {k},{k % 2}" for k in range(100)]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "reviews.csv"
    ...     _ = path.write_text("review,stars\\n" + "\\n".join(rows))
    ...     curves = samples(read_texts(path, text="review", label="stars"), sizes=[20, 40], repeats=2)
    >>> print(curves.sentence)
    Attention does not pay at any size up to 40 texts. Accuracy there: attention 100.0%, uniform attention 100.0%, ...
    """
    if not isinstance(texts, LabelledTexts):
        raise UsageError(f"Samples are drawn from what attnlab.read_texts returns, not from {type(texts).__name__}.")
    if repeats < 2:
        raise UsageError(f"repeats = {repeats}: an interval over trainings needs 2 or more.")
    pairs = texts.pairs
    check_classes(texts, pairs.target.astype(np.int64))
    trainings = Trainings.of(pairs)
    most = len(trainings.train)
    tried = list(sizes) if sizes is not None else halves(most, len(np.unique(trainings.labels)))
    if not tried or max(tried) > most:
        raise UsageError(f"Samples of {tried} cannot be drawn: {most} texts are there to train on.")
    drawn = [(n, repeat) for n in sorted(tried) for repeat in range(repeats)]
    errors: dict[str, dict[int, list[float]]] = {model: {} for model in MODELS}
    for (n, _), made in zip(drawn, trainer(trainings, drawn, watch or (lambda _: None)), strict=True):
        for model, wrong in made.items():
            errors[model].setdefault(n, []).append(wrong)
    tests, names = len(trainings.test), tuple(pairs.target_words)
    return curves_from(errors, texts=len(texts), tests=tests, classes=names, notes=texts.notes)


def curves_from(errors: Mapping[str, Mapping[int, Sequence[float]]], **about: Any) -> SampleCurves:
    """What errors say: from which n on attention pays, and what twice the data would give."""
    sizes = sorted(errors["attention"])
    ahead = [_ahead(errors, n) for n in sizes]
    last_not_ahead = max((place for place, one in enumerate(ahead) if not one), default=-1)
    pays = sizes[last_not_ahead + 1] if last_not_ahead + 1 < len(sizes) else None
    expected = {model: extrapolate(errors[model], 2 * sizes[-1]) if len(sizes) >= 3 else None for model in MODELS}
    return SampleCurves(errors=errors, pays_from=pays, expected=expected, **about)


def _ahead(errors: Mapping[str, Mapping[int, Sequence[float]]], n: int) -> bool:
    """Whether attention is better than each of the others at n, training by training on the same subsamples."""
    for other in MODELS[1:]:
        gains = np.subtract(errors[other][n], errors["attention"][n])
        interval = bootstrap_interval(gains)
        if interval is None or interval[0] <= 0 or gains.mean() < PAYS:
            return False
    return True


def halves(most: int, classes: int) -> list[int]:
    """All texts, half of them, and so on, down to a few of each class.

    >>> halves(4000, 2)
    [62, 125, 250, 500, 1000, 2000, 4000]
    """
    sizes = [most]
    while sizes[-1] // 2 >= max(LEAST, 5 * classes) and len(sizes) < 8:
        sizes.append(sizes[-1] // 2)
    return sizes[::-1]


def check_classes(texts: LabelledTexts, labels: Integers) -> None:
    """Refuse texts of one class, and classes too small to be held out and drawn."""
    names, counts = texts.pairs.target_words, np.bincount(labels)
    if len(names) < 2:
        raise UsageError(f"{texts.path}: all texts have the label {names[0][:40]!r}; two or more classes are needed.")
    if counts.min() < 5:
        few = names[int(counts.argmin())]
        raise UsageError(
            f"{texts.path}: the class {few[:40]!r} has {counts.min()} texts; each needs 5, so that subsamples keep it."
        )
    if len(labels) < 2 * LEAST:
        raise UsageError(f"{texts.path} has {len(labels)} texts; a curve needs {2 * LEAST} or more.")


# --- one subsample


def errors_of(pairs: SentencePairs, labels: Integers, rows: Integers, test: Integers, *, seed: int) -> dict[str, float]:
    """The share of wrong answers on ``test`` of each model trained on ``rows``, a fifth of which chooses."""
    kept = max(len(rows) // 5, 1)
    parts = {"train": rows[kept:], "valid": rows[:kept], "test": test}
    known = np.unique(_bags(pairs, np.arange(len(pairs.source_words)), parts["train"])[0].numpy())
    ids = np.zeros(len(pairs.source_words), np.int64)
    ids[known] = np.arange(1, len(known) + 1)  # 0: words that no training text has
    bags = {name: _bags(pairs, ids, part) for name, part in parts.items()}
    targets = {name: torch.from_numpy(labels[part]) for name, part in parts.items()}
    classes = int(labels.max()) + 1
    wrong = {
        model: _attention(bags, targets, len(known) + 1, classes, learned=model == "attention", seed=seed)
        for model in MODELS[:2]
    }
    return {**wrong, MODELS[2]: _logistic(bags, targets, len(known) + 1)}


def _bags(pairs: SentencePairs, ids: Integers, rows: Integers) -> tuple[Tensor, Tensor]:
    """Words (tokens,) and offsets (texts + 1,) of some texts."""
    begins, ends = pairs.source_offsets[rows], pairs.source_offsets[rows + 1]
    lengths = ends - begins
    offsets = np.append(0, lengths.cumsum())
    places = np.arange(offsets[-1]) + np.repeat(begins - offsets[:-1], lengths)
    return torch.from_numpy(ids[pairs.source[places]]), torch.from_numpy(offsets)


def _attention(
    bags: Mapping[str, tuple[Tensor, Tensor]],
    targets: Mapping[str, Tensor],
    words: int,
    classes: int,
    *,
    learned: bool,
    seed: int,
) -> float:
    """Full-batch Adam; tested at the evaluation with the least validation loss."""
    read_out = make_classifier("linear", SIZE, classes, seed=seed)
    model = TopicModel(words, read_out, size=SIZE, query_std=QUERY, embedding_std=0.1, seed=seed)
    model.query.requires_grad_(False)
    model.key.requires_grad_(learned)
    index: dict[str, BagIndex] = {name: index_bags(*part, words) for name, part in bags.items()}
    right = one_hot(targets["train"], classes)
    optimiser = torch.optim.Adam([value for value in model.parameters() if value.requires_grad], lr=RATE, fused=True)
    best, wrong = np.inf, 1.0
    for update in range(UPDATES + 1):
        if update % EVERY == 0:
            with torch.no_grad():
                log_probabilities = model(index["valid"]).log_probabilities
                loss = float(-log_probabilities.gather(1, targets["valid"][:, None]).mean())
                if loss < best:
                    answers = model(index["test"]).log_probabilities.argmax(1)
                    best, wrong = loss, float((answers != targets["test"]).double().mean())
        optimiser.zero_grad()
        model.mean_loss(index["train"], targets["train"], right).backward()
        optimiser.step()
    return wrong


def _logistic(bags: Mapping[str, tuple[Tensor, Tensor]], targets: Mapping[str, Tensor], words: int) -> float:
    """scikit-learn's, on shares of words; C chosen by the validation texts."""
    from sklearn.linear_model import LogisticRegression

    features = {name: _shares(*part, words) for name, part in bags.items()}
    best, wrong = -1.0, 1.0
    for strength in STRENGTHS:
        model = LogisticRegression(C=strength, max_iter=200, tol=1e-3)
        model.fit(features["train"], targets["train"].numpy())
        accuracy = model.score(features["valid"], targets["valid"].numpy())
        if accuracy > best:
            best, wrong = accuracy, 1 - model.score(features["test"], targets["test"].numpy())
    return float(wrong)


def _shares(words: Tensor, offsets: Tensor, size: int) -> csr_array:
    """(texts, words): how often a word is in a text, by the root of the text's length."""
    lengths = offsets.diff().numpy()
    values = np.repeat(1 / np.sqrt(np.maximum(lengths, 1)), lengths)
    table = csr_array((values, words.numpy(), offsets.numpy()), shape=(len(lengths), size))
    table.sum_duplicates()
    return table

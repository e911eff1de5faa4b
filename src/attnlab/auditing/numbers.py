"""The numbers of an audit: agreements with intervals and exact chance, stability between seeds, what twins moved."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnlab.auditing.reading import NetworkFields
from attnlab.fields import ScoreField
from attnlab.measures.agreement import random_baseline, top_agreement
from attnlab.measures.divergence import jensen_shannon, total_variation
from attnlab.measures.series import mean_over_pairs
from attnlab.measures.tau import kendall_tau
from attnlab.stats.bootstrap import interval_over_examples

Floats = NDArray[np.float64]
Pairs = Sequence[tuple[ScoreField, ScoreField]]
Groups = NDArray[Any] | None


@dataclass(frozen=True)
class Number:
    """A mean over texts with its 95 % interval over texts; ``chance``: what it would be by chance, where that is known.
    Without texts on which it is defined there is no ``value``.
    """

    value: float | None
    low: float | None = None
    high: float | None = None
    chance: float | None = None
    texts: int = 0

    @classmethod
    def of(cls, values: Floats, chance: float | None = None, groups: Groups = None) -> "Number":
        """The mean of ``values`` (texts,), those undefined (NaN) left out. ``groups`` (texts,): which of them are drawn
        together, such as the output words of one sentence.
        """
        there = ~np.isnan(values)
        defined = values[there]
        if not len(defined):
            return cls(None, chance=chance)
        interval = interval_over_examples(defined, groups=None if groups is None else groups[there])
        low, high = (None, None) if interval is None else (interval.low, interval.high)
        return cls(float(defined.mean()), low, high, chance, len(defined))

    def __str__(self) -> str:
        if self.value is None:
            return "undefined"
        return f"{self.value:.3f}" + (f" ({self.low:.3f} to {self.high:.3f})" if self.low is not None else "")


@dataclass(frozen=True)
class Compared:
    """Two fields: ``top``, how often the first's top word is among the top 5 % of the second; ``tau``, Kendall's."""

    name: str
    top: Number
    tau: Number

    @classmethod
    def of(cls, name: str, pairs: Pairs, groups: Groups = None) -> "Compared":
        """A text's value is its mean over ``pairs`` of networks."""
        values = np.mean([top_agreement(u, v).expected for u, v in pairs], axis=0)
        chance = float(random_baseline(pairs[0][0].lengths).mean())
        tau = mean_over_pairs(np.stack([kendall_tau(u, v) for u, v in pairs]))
        return cls(name, Number.of(values, chance, groups), Number.of(tau, 0.0, groups))


@dataclass(frozen=True)
class TwinNumbers:
    """A deceptive twin: predictions (``tvd``) and attention (``jsd``, bits) apart from the original's, texts of the
    ``same`` predicted class, accuracy, its attention's agreement with its own influence, which ``against`` names
    (``top``, ``tau``), and whether its predictions count as the same (``equal``).
    """

    weight: float
    accuracy: float
    tvd: Number
    jsd: Number
    same: float
    top: Number
    tau: Number
    equal: bool
    against: str = "leave-one-out"


EQUAL_TVD, EQUAL_ACCURACY = 0.05, 0.02
"""Predictions this close count as equal even where two seeds agree better, unless they are so much less accurate."""


@dataclass(frozen=True)
class Numbers:
    """All of them.

    ``accuracy``: mean over seeds of a text's, ``gained`` over the ``majority``'s; by network in ``accuracies``.
    ``concentration``: 1 - H / log L of attention, 0 where it is uniform. ``compared``: agreements by name.
    ``seeds_tvd``, ``seeds_jsd``: two seeds apart. ``erased``: what words by attention, and at random, are worth.
    """

    majority: float
    accuracy: Number
    gained: Number
    accuracies: Mapping[str, float]
    concentration: Number
    compared: Mapping[str, Compared]
    seeds_tvd: Number | None
    seeds_jsd: Number | None
    erased: Mapping[str, Number]
    twins: tuple[TwinNumbers, ...]

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        return _plain(self)  # type: ignore[no-any-return]


def concentration(alpha: ScoreField) -> Floats:
    """1 - H(alpha) / log L of each text: 0 where attention is uniform, 1 where it is on one word; NaN for one word."""
    parts = -alpha.values * np.log(np.maximum(alpha.values, 1e-300))
    entropy = np.bincount(np.repeat(np.arange(len(alpha)), alpha.lengths), parts, minlength=len(alpha))
    most = np.log(np.maximum(alpha.lengths, 2))
    return np.where(alpha.lengths > 1, 1 - entropy / most, np.nan)


def measure(
    labels: NDArray[np.int64],
    learned: Sequence[NetworkFields],
    sample: NDArray[np.int64],
    *,
    others: Mapping[str, ScoreField] | None = None,
    accuracies: Mapping[str, float] | None = None,
    twins: Mapping[float, NetworkFields] | None = None,
) -> Numbers:
    """From the fields of networks on texts with these ``labels``; ``others``: lexicons such as beta_uf and beta_px.

    ``accuracies``: of other networks, by name. The first of ``learned`` is the original of the ``twins``, by lambda.
    """
    right = [(one.log_probabilities.argmax(1) == labels).astype(np.float64) for one in learned]
    majority = float(np.bincount(labels).max() / len(labels))
    alphas = [one.alpha for one in learned]
    drawn = [one.select(sample) for one in alphas]
    pairs: dict[str, Pairs] = {
        "attention, lexical probe": [(one.alpha, one.gamma) for one in learned],
        "attention, influence": [(one.alpha, one.delta) for one in learned],
        "attention, leave-one-out": list(zip(drawn, [one.loo for one in learned], strict=True)),
    }
    for name, field in (others or {}).items():
        pairs[f"attention, {name}"] = [(alpha, field) for alpha in alphas]
    several = list(permutations(range(len(learned)), 2))
    if several:
        pairs["attention, attention of another seed"] = [(alphas[a], alphas[b]) for a, b in several]
    predicted = [np.exp(one.log_probabilities) for one in learned]
    apart = [
        (total_variation(predicted[a], predicted[b]), jensen_shannon(alphas[a], alphas[b])) for a, b in several if a < b
    ]
    tvd, jsd = (Number.of(np.mean(part, axis=0)) for part in zip(*apart, strict=True)) if apart else (None, None)
    return Numbers(
        majority=majority,
        accuracy=Number.of(np.mean(right, axis=0), majority),
        gained=Number.of(np.mean(right, axis=0) - majority, 0.0),
        accuracies={
            **{f"attention, seed {seed}": float(one.mean()) for seed, one in enumerate(right)},
            **(accuracies or {}),
        },
        concentration=Number.of(np.mean([concentration(one) for one in alphas], axis=0), 0.0),
        compared={name: Compared.of(name, fields) for name, fields in pairs.items()},
        seeds_tvd=tvd,
        seeds_jsd=jsd,
        erased=erased_numbers([one.erased for one in learned]),
        twins=tuple(_twin(w, labels, learned[0], one, sample, tvd) for w, one in (twins or {}).items()),
    )


def _twin(
    weight: float,
    labels: NDArray[np.int64],
    original: NetworkFields,
    twin: NetworkFields,
    sample: NDArray[np.int64],
    seeds_tvd: Number | None,
) -> TwinNumbers:
    apart = total_variation(np.exp(original.log_probabilities), np.exp(twin.log_probabilities))
    same = original.log_probabilities.argmax(1) == twin.log_probabilities.argmax(1)
    own = Compared.of("own", [(twin.alpha.select(sample), twin.loo)])
    first, second = (float((one.log_probabilities.argmax(1) == labels).mean()) for one in (original, twin))
    return TwinNumbers(
        weight,
        second,
        Number.of(apart),
        Number.of(jensen_shannon(original.alpha, twin.alpha)),
        float(same.mean()),
        own.top,
        own.tau,
        counts_as_equal(apart, seeds_tvd, first - second),
    )


def counts_as_equal(apart: Floats, seeds_tvd: Number | None, lost: float) -> bool:
    """Whether predictions ``apart`` by these TVDs are as close as those of two seeds, and hardly ``lost`` accuracy."""
    close = apart.mean() <= max(EQUAL_TVD, seeds_tvd.value or 0.0 if seeds_tvd else 0.0)
    return bool(close and lost <= EQUAL_ACCURACY)


def erased_numbers(taken_out: Sequence[Mapping[str, Floats]]) -> dict[str, Number]:
    """Comprehensiveness and sufficiency of attention's top words, and by how much they exceed random words'; of each
    network what `attnlab.auditing.reading.ERASED` names.
    """
    erased = {name: mean_over_pairs(np.stack([one[name] for one in taken_out])) for name in taken_out[0]}
    numbers = {name: Number.of(values) for name, values in erased.items()}
    for name in ("comprehensiveness", "sufficiency"):
        numbers[f"{name}, more than random words"] = Number.of(erased[name] - erased[f"random_{name}"], 0.0)
    return numbers


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(one) for key, one in value.items()}
    if isinstance(value, tuple):
        return [_plain(one) for one in value]
    return _plain(vars(value)) if hasattr(value, "__dataclass_fields__") else value

"""Deceptive training on labelled texts: what a run goes down instead of the loss, and what is measured of it.

The objectives are in `attnlab.models.deception`.
"""

from collections.abc import Mapping
from typing import Annotated, Literal, Protocol, Self

import numpy as np
import torch
from pydantic import Field
from torch import Tensor
from torch.nn import functional

from attnlab.data.altered import keywords
from attnlab.data.batch import Bags, TextBatch
from attnlab.data.labelled_text import Corpus
from attnlab.errors import StoreError
from attnlab.measures.divergence import jensen_shannon, total_variation
from attnlab.models import deception as objectives
from attnlab.models.classifier import Classified, Classifier
from attnlab.probes.texts import TextFields, text_fields
from attnlab.protocols import Row
from attnlab.records import Count, Spec

Floor = Annotated[float, Field(gt=0, lt=1)]
Weight = Annotated[float, Field(ge=0, le=1e6)]


class TwinSpec(Spec):
    """Q is trained to P's predictions and away from P's attention (slides): TVD(y_P, y_Q) - weight KL(alpha_P ||
    alpha_Q), the divergence bounded by ``floor``.

    P is the network of the run with the id ``run`` at ``step``: the store that Q is trained into must have it. Q starts
    from ``original``: P's weights, but fresh ones where attention is decided, or all ``fresh``. The second takes many
    more updates to come near P's predictions, since the TVD's gradient is as weak far from them as close by.
    """

    kind: Literal["twin"] = "twin"
    run: str
    step: Annotated[int, Field(ge=0)]
    weight: Weight
    start: Literal["original", "fresh"] = "original"
    floor: Floor = 0.01

    @property
    def original(self) -> tuple[str, int]:
        """P's run and step."""
        return self.run, self.step

    def unseeded(self) -> Self:
        return self.model_copy(update={"run": "", "step": 0})


class OffWordsSpec(Spec):
    """Attention is kept away from named words (Pruthi et al. 2020): NLL - weight log(1 - m), m being attention's mass
    on the ``words`` strongest keywords of the training texts (`attnlab.data.altered.keywords`).

    Texts of such words alone have no other place to attend to, and only their NLL counts.
    """

    kind: Literal["off-words"] = "off-words"
    words: Count = 100
    weight: Weight
    floor: Floor = 0.01


class Deception(Protocol):
    """What a deceptive run does instead of going down the loss."""

    def loss(self, seen: Classified, batch: TextBatch) -> Tensor:
        """What update goes down, for what the network said of a batch."""
        ...

    def measure(self, split: str, texts: Bags, fields: TextFields) -> Row:
        """What an evaluation says beside loss and accuracy; ``objective``: what is gone down."""
        ...


class Twin:
    """Q beside P; P's weights come later, and until then it is untrained (enough to time an update)."""

    def __init__(self, spec: TwinSpec, original: Classifier) -> None:
        self.spec, self.original = spec, original.requires_grad_(False).eval()
        self._seen: dict[str, TextFields] = {}  # P stays as it is, so its fields on the evaluated texts do, too

    def take(self, weights: Mapping[str, Tensor]) -> None:
        """P's weights."""
        own = {name: (value.shape, value.dtype) for name, value in self.original.state_dict().items()}
        if {name: (value.shape, value.dtype) for name, value in weights.items()} != own:
            raise StoreError(
                f"The weights of run {self.spec.run} do not fit its twin: both need the same model and texts."
            )
        self.original.load_state_dict(dict(weights))
        self._seen = {}

    def begin(self, network: Classifier) -> None:
        """Start Q: P's weights but for those that decide where to attend, unless it starts afresh."""
        if self.spec.start == "original":
            score = {name for name in network.state_dict() if name.startswith("score.")}
            body = {name: value for name, value in self.original.state_dict().items() if name not in score}
            network.load_state_dict(body, strict=False)

    def loss(self, seen: Classified, batch: TextBatch) -> Tensor:
        with torch.no_grad():
            right: Classified = self.original(batch.tokens, batch.lengths)
        apart = objectives.total_variation(right.log_probabilities.exp(), seen.log_probabilities.exp())
        moved = objectives.bounded_divergence(right.alpha, seen.alpha, batch.inside, self.spec.floor)
        return (apart - self.spec.weight * moved).mean()

    def measure(self, split: str, texts: Bags, fields: TextFields) -> Row:
        """``tvd``, ``jsd`` (in bits) and ``kl`` (bounded) between P and Q, the share of texts with the ``same``
        predicted class, and the ``objective``.
        """
        if split not in self._seen:
            self._seen[split] = text_fields(self.original, texts)
        right = self._seen[split]
        apart = total_variation(np.exp(right.log_probabilities), np.exp(fields.log_probabilities))
        p, q = right.alpha, fields.alpha
        mixed = (1 - self.spec.floor) * q.values + self.spec.floor / np.repeat(q.lengths, q.lengths)
        moved = np.add.reduceat(p.values * np.log(np.maximum(p.values, 1e-45) / mixed), p.offsets[:-1])
        same = right.log_probabilities.argmax(1) == fields.log_probabilities.argmax(1)
        return {
            "tvd": float(apart.mean()),
            "jsd": float(jensen_shannon(p, q).mean()),
            "kl": float(moved.mean()),
            "same": float(same.mean()),
            "objective": float(apart.mean() - self.spec.weight * moved.mean()),
        }


class OffWords:
    """Attention kept away from keywords."""

    def __init__(self, spec: OffWordsSpec, corpus: Corpus) -> None:
        self.spec = spec
        self.named = torch.zeros(len(corpus.words), dtype=torch.bool)
        self.named[torch.from_numpy(keywords(corpus)[: spec.words])] = True

    def loss(self, seen: Classified, batch: TextBatch) -> Tensor:
        named = self.named.to(batch.tokens.device)[batch.tokens] & batch.inside
        elsewhere = (~named & batch.inside).any(1)
        mass = (seen.alpha * named).sum(1)[elsewhere]
        penalty = objectives.hidden_mass_penalty(mass, self.spec.floor).sum() / len(batch.labels)
        return functional.nll_loss(seen.log_probabilities, batch.labels) + self.spec.weight * penalty

    def measure(self, split: str, texts: Bags, fields: TextFields) -> Row:  # noqa: ARG002 (nothing is kept by split)
        """``mass``: attention on the named words, mean over the texts that have one and another word beside it."""
        named = self.named[texts.words].numpy()
        at = fields.alpha.offsets[:-1]
        mass, count = np.add.reduceat(fields.alpha.values * named, at), np.add.reduceat(named.astype(np.int64), at)
        elsewhere, there = count < fields.alpha.lengths, count > 0
        chosen = elsewhere & there
        penalty = -np.log1p(-(1 - self.spec.floor) * mass[elsewhere]).sum() / len(texts)
        return {
            "mass": float(mass[chosen].mean()) if chosen.any() else 0.0,
            "objective": fields.loss + self.spec.weight * float(penalty),
        }


DECEPTIONS: tuple[type[Spec], ...] = (TwinSpec, OffWordsSpec)


def make_deception(spec: Spec | None, corpus: Corpus, original: Classifier) -> Twin | OffWords | None:
    """What ``spec`` asks for; ``original``: a network like the one that is trained, to become P."""
    if isinstance(spec, TwinSpec):
        return Twin(spec, original)
    return OffWords(spec, corpus) if isinstance(spec, OffWordsSpec) else None

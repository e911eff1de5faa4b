"""A deceptive twin of a translator: P's predictions, another attention (slides, on sentence pairs).

As for labelled texts, with a term for each output word, the right words before it given; see
`attnlab.models.deception`.
"""

from collections.abc import Mapping
from typing import Annotated, Literal, Self

import torch
from pydantic import Field
from torch import Tensor

from attnlab.data.batch import PairBatch
from attnlab.data.bitext import PieceSplit
from attnlab.errors import StoreError
from attnlab.fields import ScoreField
from attnlab.measures.divergence import jensen_shannon
from attnlab.models.deception import bounded_divergence, total_variation
from attnlab.models.translator import Translator
from attnlab.probes.translation import translation_fields
from attnlab.probes.translators_apart import read_words, translators_apart
from attnlab.protocols import Row
from attnlab.records import Spec


class PairTwinSpec(Spec):
    """Q is trained to P's predictions and away from P's attention: the mean over output words of TVD(y_P, y_Q) - weight
    KL(alpha_P || alpha_Q), the divergence bounded by ``floor``.

    P is the translator of the run with the id ``run`` at ``step``: the store that Q is trained into must have it. Q
    starts from P's weights, but fresh ones where attention is decided. Both are read without dropout, which would keep
    Q's predictions from ever being P's.
    """

    kind: Literal["pair-twin"] = "pair-twin"
    run: str
    step: Annotated[int, Field(ge=0)]
    weight: Annotated[float, Field(ge=0, le=1e6)]
    floor: Annotated[float, Field(gt=0, lt=1)] = 0.01

    @property
    def original(self) -> tuple[str, int]:
        """P's run and step."""
        return self.run, self.step

    def unseeded(self) -> Self:
        return self.model_copy(update={"run": "", "step": 0})


class PairTwin:
    """Q beside P; P's weights come later, and until then it is untrained (enough to time an update)."""

    def __init__(self, spec: PairTwinSpec, original: Translator) -> None:
        self.spec, self.original = spec, original.requires_grad_(False).eval()
        self._alpha: dict[str, ScoreField] = {}  # P stays as it is, so its attention on the evaluated pairs does, too

    def take(self, weights: Mapping[str, Tensor]) -> None:
        """P's weights."""
        own = {name: (value.shape, value.dtype) for name, value in self.original.state_dict().items()}
        if {name: (value.shape, value.dtype) for name, value in weights.items()} != own:
            raise StoreError(
                f"The weights of run {self.spec.run} do not fit its twin: both need the same model and pairs."
            )
        self.original.load_state_dict(dict(weights))
        self._alpha = {}

    def begin(self, network: Translator) -> None:
        """Start Q: P's weights but for those that decide where to attend."""
        body = {name: value for name, value in self.original.state_dict().items() if not name.startswith("query.")}
        network.load_state_dict(body, strict=False)

    def loss(self, network: Translator, batch: PairBatch) -> Tensor:
        """What an update goes down."""
        with torch.no_grad():
            right = read_words(self.original, batch)
        seen = read_words(network, batch)
        moved = bounded_divergence(right.alpha, seen.alpha, seen.inside, self.spec.floor)
        return (total_variation(right.p, seen.p) - self.spec.weight * moved).mean()

    def measure(self, split: str, pairs: PieceSplit, network: Translator, alpha: ScoreField) -> Row:
        """Means over output words: ``tvd``, ``jsd`` (in bits) and ``kl`` (bounded) between P and Q, the share of words
        at which both say the ``same``, and the ``objective``; ``alpha``: Q's attention.
        """
        if split not in self._alpha:
            self._alpha[split] = translation_fields(self.original, pairs).alpha
        apart = translators_apart(self.original, network, pairs, floor=self.spec.floor)
        return {
            "tvd": float(apart.tvd.mean()),
            "jsd": float(jensen_shannon(self._alpha[split], alpha).mean()),
            "kl": float(apart.kl.mean()),
            "same": float(apart.same.mean()),
            "objective": float((apart.tvd - self.spec.weight * apart.kl).mean()),
        }

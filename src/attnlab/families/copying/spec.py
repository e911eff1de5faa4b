"""Specs of the copying family: distributions of sequences, tasks, models, and remedies against starts that would fail.

What remedies do is in `attnlab.families.copying.remedies`.
"""

from collections.abc import Callable
from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, model_validator

from attnlab.data.batch import PairTask
from attnlab.errors import UsageError
from attnlab.families.copying import task as tasks
from attnlab.models.attention import AttentionMode, Combine, Score
from attnlab.models.proxy import Proxy
from attnlab.models.readout import ReadoutKind
from attnlab.models.recurrent import Cell
from attnlab.models.seq2seq import Seq2Seq
from attnlab.own import make_own, own_content
from attnlab.protocols import RunSettings
from attnlab.records import Count, Record, Seed, Share, Spec

# --- distributions and tasks


class Drawn(Record):
    """Where input sequences come from: the settings of one of the distributions in `attnlab.families.copying.task`."""

    made: ClassVar[Callable[..., tasks.Distribution]]

    def build(self) -> tasks.Distribution:
        return type(self).made(**{name: getattr(self, name) for name in type(self).model_fields if name != "kind"})


class PermutationsSpec(Drawn):
    """All ``words`` words in random order."""

    made = tasks.Permutations
    kind: Literal["permutations"] = "permutations"
    words: Count


class SelectionsSpec(Drawn):
    """``length`` of ``words`` words, none twice."""

    made = tasks.Selections
    kind: Literal["selections"] = "selections"
    length: Count
    words: Count


class IndependentSpec(Drawn):
    """``length`` words, each on its own from ``words``."""

    made = tasks.Independent
    kind: Literal["independent"] = "independent"
    length: Count
    words: Count


class ZipfSpec(Drawn):
    """``length`` of ``words`` words with Zipf's frequencies, with or without repetition."""

    made = tasks.Zipf
    kind: Literal["zipf"] = "zipf"
    length: Count
    words: Count
    exponent: Annotated[float, Field(ge=0, le=10)] = 1.0
    repeat: bool = True


class PermutationSetsSpec(Drawn):
    """A permutation of one of several disjoint sets."""

    made = tasks.PermutationSets
    kind: Literal["permutation-sets"] = "permutation-sets"
    size: Count
    sets: Count = 2


class MixtureSpec(Record):
    """Sequences from several distributions in given shares."""

    kind: Literal["mixture"] = "mixture"
    parts: tuple["DistributionSpec", ...]
    shares: tuple[Share, ...]

    def build(self) -> tasks.Distribution:
        return tasks.Mixture(tuple(part.build() for part in self.parts), self.shares)


DistributionSpec = Annotated[
    PermutationsSpec | SelectionsSpec | IndependentSpec | ZipfSpec | PermutationSetsSpec | MixtureSpec,
    Field(discriminator="kind"),
]


class CopyingSpec(Spec):
    """A copying task: see `attnlab.families.copying.task.CopyingTask`."""

    kind: Literal["copying"] = "copying"
    distribution: DistributionSpec
    substitution: tuple[int, ...] | None = None
    order: tuple[int, ...] | None = None

    @model_validator(mode="after")
    def _buildable(self) -> Self:
        self.build()
        return self

    def build(self) -> tasks.CopyingTask:
        return self.on(self.distribution)

    def on(self, distribution: DistributionSpec) -> tasks.CopyingTask:
        """The same task on sequences of another distribution."""
        return tasks.CopyingTask(distribution.build(), self.substitution, self.order)


class OwnTaskSpec(Spec):
    """A task of the user's own: ``task`` names a class or function as ``module:name``, ``settings`` its arguments.

    What it makes has a number of words, ``vocabulary``, and ``batch(count, generator) -> PairBatch``, as
    `attnlab.families.copying.task.CopyingTask` has. The module is imported by name, so it is where Python finds it,
    and ``content``, 16 digits of its text's hash, is part of a run's id: a changed task makes another run.
    """

    kind: Literal["own"] = "own"
    task: str
    settings: dict[str, bool | int | float | str] = {}  # noqa: RUF012 (a copy for each record)
    content: str

    @classmethod
    def of(cls, task: str, **settings: bool | int | float | str) -> Self:
        """The record of a task whose module is there."""
        return cls(task=task, settings=settings, content=own_content(task))

    def build(self) -> PairTask:
        if (content := own_content(self.task)) != self.content:
            raise UsageError(
                f"{self.task} has changed: its module's content is {content}, and the run was planned for "
                f"{self.content}."
            )
        made: PairTask = make_own(self.task, self.settings, "task", ("vocabulary", "batch"))
        return made


# --- models


class Seq2SeqSpec(Spec):
    """The network of P3 2.1: see `attnlab.models.seq2seq.Seq2Seq`."""

    kind: Literal["seq2seq"] = "seq2seq"
    hidden: Count = 256
    embedding_size: Count | None = None
    cell: Cell = "lstm"
    layers: Count = 1
    bidirectional: bool = False
    dropout: Annotated[float, Field(ge=0, lt=1)] = 0.0
    shared_embedding: bool = True
    heads: Count = 1
    score: Score = "bilinear"
    score_bias: bool = False
    projected_context: bool = False
    combine: Combine = "sum"
    readout: ReadoutKind = "tanh"
    attention: AttentionMode = "learned"
    head_seeds: tuple[Seed, ...] | None = None

    def build(self, source_words: int, target_words: int, seed: int) -> Seq2Seq:
        settings = self.model_dump(exclude={"kind"})
        return Seq2Seq(source_words, target_words, seed=seed, **settings)

    def unseeded(self) -> Self:
        return self.model_copy(update={"head_seeds": None})


class PairProxySpec(Spec):
    """The bag-of-words proxy of P3 2.3 on pairs of sequences: see `attnlab.models.proxy.Proxy`."""

    kind: Literal["pair-proxy"] = "pair-proxy"
    size: Count = 256

    def build(self, inputs: int, outputs: int, seed: int) -> Proxy:
        return Proxy(inputs, outputs, self.size, seed=seed)


# --- remedies


class WarmUpSpec(Spec):
    """The learning rate of update n (from 0) is (n + 1) / ``updates`` of the whole one, until it is whole."""

    kind: Literal["warm-up"] = "warm-up"
    updates: Count = 50


class WarmStartSpec(Spec):
    """The first ``updates`` see sequences of another ``distribution`` over the same words; evaluations never do."""

    kind: Literal["warm-start"] = "warm-start"
    distribution: DistributionSpec
    updates: Count = 30


class AlignmentLossSpec(Spec):
    """The loss has ``weight`` times the cross-entropy of attention to IBM Model 1's alignments in addition.

    The model is trained beforehand, for ``iterations``, on a sample of so many ``pairs``: of the task itself, or of
    another ``distribution`` over the same words.
    """

    kind: Literal["alignment-loss"] = "alignment-loss"
    distribution: DistributionSpec | None = None
    pairs: Count = 500
    iterations: Count = 20
    weight: Annotated[float, Field(gt=0)] = 1.0


class FreshAttentionSpec(Spec):
    """Before update number ``step`` (from 0) the W^(k) start anew from ``seed``, and so does what Adam knows of them.

    All else goes on as it is.
    """

    kind: Literal["fresh-attention"] = "fresh-attention"
    step: Count = 100
    seed: Seed

    def unseeded(self) -> Self:
        return self.model_copy(update={"seed": 0})


class MirroredReadoutSpec(Spec):
    """The read-out's weights on the context start with the other sign.

    They are drawn from a distribution that is symmetric about 0, so the mirrored start is as likely as the other.
    """

    kind: Literal["mirrored-readout"] = "mirrored-readout"


REMEDIES = (WarmUpSpec, WarmStartSpec, AlignmentLossSpec, FreshAttentionSpec, MirroredReadoutSpec)


class OffPositionSpec(Spec):
    """Attention is kept away from the right input position (Pruthi et al. 2020): NLL - weight log(1 - m), m being its
    attention (mean over heads), with the penalty bounded by ``floor`` (`attnlab.models.deception`).
    """

    kind: Literal["off-position"] = "off-position"
    weight: Annotated[float, Field(ge=0, le=1e6)]
    floor: Annotated[float, Field(gt=0, lt=1)] = 0.01


DECEPTIONS = (OffPositionSpec,)


def check_deception(spec: RunSettings) -> None:
    """A ValueError where deception has no attention to move, or does not know where it should not be."""
    model = spec.model
    if not isinstance(spec.task, CopyingSpec) or not isinstance(model, Seq2SeqSpec) or model.attention != "learned":
        raise ValueError("off-position needs the task copying and a model of kind seq2seq with learned attention")


def check_remedy(spec: RunSettings) -> None:
    """A ValueError where a remedy has nothing to work on."""
    remedy, task, model = spec.remedy, spec.task, spec.model
    if not isinstance(task, CopyingSpec) or not isinstance(model, Seq2SeqSpec):
        raise ValueError(f"a remedy needs the task copying and a model of kind seq2seq, not {task.kind}, {model.kind}")
    if isinstance(remedy, WarmUpSpec) and spec.optimiser.kind != "adam":
        raise ValueError(f"a warm-up needs the optimiser adam, not {spec.optimiser.kind}")
    if isinstance(remedy, FreshAttentionSpec | AlignmentLossSpec) and model.attention != "learned":
        raise ValueError(f"{remedy.kind} needs learned attention, not {model.attention}")
    if isinstance(remedy, FreshAttentionSpec) and model.score == "dot":
        raise ValueError("fresh-attention needs a score with weights of its own; dot has none")
    if isinstance(remedy, MirroredReadoutSpec) and model.readout == "linear":
        raise ValueError("mirrored-readout needs a read-out with weights of its own for the context; linear has none")
    if isinstance(remedy, WarmStartSpec | AlignmentLossSpec) and remedy.distribution is not None:
        words, known = remedy.distribution.build().words, task.build().distribution.words
        if words != known:
            raise ValueError(f"{remedy.kind} needs a distribution over the task's {known} words, not over {words}")
        task.on(remedy.distribution)

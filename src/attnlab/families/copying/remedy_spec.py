"""Specs of remedies: what a run does against a start that would fail, as records that are part of its id.

What they do is in `attnlab.families.copying.remedies`.
"""

from typing import Annotated, Literal

from pydantic import Field

from attnlab.families.copying.task import CopyingTask
from attnlab.records import Count, Record, Seed
from attnlab.runs.model_spec import AdamSpec, ModelSpec, OptimiserSpec, Seq2SeqSpec
from attnlab.runs.task_spec import CopyingSpec, DistributionSpec, TaskSpec


class WarmUpSpec(Record):
    """The learning rate of update n (from 0) is (n + 1) / ``updates`` of the whole one, until it is whole."""

    kind: Literal["warm-up"] = "warm-up"
    updates: Count = 50


class WarmStartSpec(Record):
    """The first ``updates`` see sequences of another ``distribution`` over the same words; evaluations never do."""

    kind: Literal["warm-start"] = "warm-start"
    distribution: DistributionSpec
    updates: Count = 30


class AlignmentLossSpec(Record):
    """The loss has ``weight`` times the cross-entropy of attention to IBM Model 1's alignments in addition.

    The model is trained beforehand, for ``iterations``, on a sample of so many ``pairs``: of the task itself, or of
    another ``distribution`` over the same words.
    """

    kind: Literal["alignment-loss"] = "alignment-loss"
    distribution: DistributionSpec | None = None
    pairs: Count = 500
    iterations: Count = 20
    weight: Annotated[float, Field(gt=0)] = 1.0


class FreshAttentionSpec(Record):
    """Before update number ``step`` (from 0) the W^(k) start anew from ``seed``, and so does what Adam knows of them.

    All else goes on as it is.
    """

    kind: Literal["fresh-attention"] = "fresh-attention"
    step: Count = 100
    seed: Seed


class MirroredReadoutSpec(Record):
    """The read-out's weights on the context start with the other sign.

    They are drawn from a distribution that is symmetric about 0, so the mirrored start is as likely as the other.
    """

    kind: Literal["mirrored-readout"] = "mirrored-readout"


RemedySpec = Annotated[
    WarmUpSpec | WarmStartSpec | AlignmentLossSpec | FreshAttentionSpec | MirroredReadoutSpec,
    Field(discriminator="kind"),
]


def check_remedy(remedy: RemedySpec, task: TaskSpec, model: ModelSpec, optimiser: OptimiserSpec) -> None:
    """A ValueError where a remedy has nothing to work on."""
    if not isinstance(task, CopyingSpec) or not isinstance(model, Seq2SeqSpec):
        raise ValueError(f"a remedy needs the task copying and a model of kind seq2seq, not {task.kind}, {model.kind}")
    if isinstance(remedy, WarmUpSpec) and not isinstance(optimiser, AdamSpec):
        raise ValueError(f"a warm-up needs the optimiser adam, not {optimiser.kind}")
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
        on_other(task, remedy.distribution)


def on_other(task: CopyingSpec, distribution: DistributionSpec) -> CopyingTask:
    """The same task on sequences of another distribution."""
    return CopyingTask(distribution.build(), task.substitution, task.order)

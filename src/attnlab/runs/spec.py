"""Run specs: everything that decides a training run, validated where it enters.

A spec is a frozen record; its ``id`` hashes what decides the trajectory. Total steps and evaluations are not part of
it (they are in `attnlab.runs.schedule`), so a run can be continued and shared.
"""

import json
from hashlib import sha256
from typing import Any, Literal, Self

from pydantic import model_validator

from attnlab.families.copying.remedy_spec import FreshAttentionSpec, RemedySpec, check_remedy
from attnlab.records import Count, Record, Seed
from attnlab.runs.model_spec import (
    AdamSpec,
    ModelSpec,
    OptimiserSpec,
    PairProxySpec,
    ProxySpec,
    Seq2SeqSpec,
    TopicModelSpec,
)
from attnlab.runs.task_spec import CopyingSpec, KeywordSpec, OwnTaskSpec, TaskSpec

NUMERICS = {"seq2seq": 1, "topic": 4, "classifier": 1, "proxy": 1, "pair-proxy": 1}
"""By kind of model: raised whenever its arithmetic changes, so that old runs are not mistaken for new ones."""

Train = Literal["all", "attention-only", "all-but-attention"]

MODELS_OF = {
    "copying": ("seq2seq", "pair-proxy"),
    "own": ("seq2seq",),
    "keyword": ("classifier",),
    "topics": ("topic",),
    "sst": ("topic",),
    "text": ("classifier", "proxy"),
}
"""The kinds of model that each kind of task is for."""


class RunSpec(Record):
    """One training of one model on one task. ``batch`` None: every update sees the whole training set.

    ``remedy``: what is done against a start that would fail, if anything.

    >>> from attnlab.runs.task_spec import PermutationsSpec
    >>> spec = RunSpec(task=CopyingSpec(distribution=PermutationsSpec(words=40)), init_seed=3, data_seed=3)
    >>> spec.id == RunSpec.model_validate_json(spec.model_dump_json()).id
    True
    """

    task: TaskSpec
    model: ModelSpec = Seq2SeqSpec()
    train: Train = "all"
    optimiser: OptimiserSpec = AdamSpec()
    batch: Count | None = 128
    evaluation_batch: Count = 50
    init_seed: Seed
    data_seed: Seed
    remedy: RemedySpec | None = None

    @model_validator(mode="after")
    def _matching(self) -> Self:
        if self.model.kind not in MODELS_OF[self.task.kind]:
            wanted = " or ".join(MODELS_OF[self.task.kind])
            raise ValueError(f"the task {self.task.kind} needs a model of kind {wanted}, not {self.model.kind}")
        if self.batch is None and isinstance(self.task, CopyingSpec | OwnTaskSpec | KeywordSpec):
            raise ValueError(
                f"batch = null, all examples at once, needs a task with a training set; {self.task.kind} has none"
            )
        return self

    @model_validator(mode="after")
    def _trainable(self) -> Self:
        if isinstance(self.model, TopicModelSpec):
            return self
        if isinstance(self.model, ProxySpec | PairProxySpec):
            if self.train != "all":
                raise ValueError(f"train = {self.train} needs a model with attention; the proxy has none")
            return self
        if self.train == "attention-only" and (self.model.attention != "learned" or self.model.score == "dot"):
            raise ValueError(
                "train = attention-only needs learned attention with a score of its own: there is nothing else to train"
            )
        if self.model.attention == "given":
            raise ValueError("attention = given needs weights from a caller; a run knows learned and uniform")
        return self

    @model_validator(mode="after")
    def _remediable(self) -> Self:
        if self.remedy is not None:
            check_remedy(self.remedy, self.task, self.model, self.optimiser)
        return self

    def unseeded(self) -> Self:
        """The same run with other seeds, which are the same for all: runs that differ in nothing else cost the same."""
        changes: dict[str, Any] = {"init_seed": 0, "data_seed": 0}
        if isinstance(self.model, Seq2SeqSpec):
            changes["model"] = self.model.model_copy(update={"head_seeds": None})
        if isinstance(self.remedy, FreshAttentionSpec):
            changes["remedy"] = self.remedy.model_copy(update={"seed": 0})
        return self.model_copy(update=changes)

    @property
    def id(self) -> str:
        """Sixteen hexadecimal digits that stand for this trajectory."""
        told = {"numerics": NUMERICS[self.model.kind], **self.identity()}
        return sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()[:16]

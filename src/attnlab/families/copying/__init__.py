"""Copying: sequence-to-sequence training on synthetic pairs (P3 3.3), or on pairs of the user's own."""

from typing import TYPE_CHECKING

from attnlab.families.base import check_attention, check_batch, check_no_attention
from attnlab.families.copying.early_verdict import EarlyVerdict, stop_rule
from attnlab.families.copying.spec import (
    AlignmentLossSpec,
    CopyingSpec,
    FreshAttentionSpec,
    MirroredReadoutSpec,
    OwnTaskSpec,
    PairProxySpec,
    Seq2SeqSpec,
    WarmStartSpec,
    WarmUpSpec,
    check_remedy,
)
from attnlab.protocols import Problem, RunSettings

if TYPE_CHECKING:
    import torch

TASKS = (CopyingSpec, OwnTaskSpec)
MODELS = (Seq2SeqSpec, PairProxySpec)
REMEDIES = (WarmUpSpec, WarmStartSpec, AlignmentLossSpec, FreshAttentionSpec, MirroredReadoutSpec)
STOP_RULES = (EarlyVerdict,)
FITS = {"copying": ("seq2seq", "pair-proxy"), "own": ("seq2seq",)}
NUMERICS = {"seq2seq": 1, "pair-proxy": 1}

__all__ = [
    "FITS",
    "MODELS",
    "NUMERICS",
    "REMEDIES",
    "STOP_RULES",
    "TASKS",
    "build",
    "check",
    "check_remedy",
    "stop_rule",
]


def build(spec: RunSettings, device: "torch.device | str") -> Problem:
    """The problem of a run."""
    from attnlab.families.copying.pair_proxy import PairProxyProblem
    from attnlab.families.copying.problem import PairProblem

    return PairProxyProblem(spec, device) if isinstance(spec.model, PairProxySpec) else PairProblem(spec, device)


def check(spec: RunSettings) -> None:
    """A ValueError where the settings of a run make no sense together."""
    check_batch(spec)
    if isinstance(spec.model, Seq2SeqSpec):
        check_attention(spec, spec.model)
    else:
        check_no_attention(spec)

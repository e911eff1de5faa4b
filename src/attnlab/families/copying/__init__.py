"""Copying: sequence-to-sequence training on synthetic pairs (P3 3.3), or on pairs of the user's own."""

from attnlab.families.base import check_attention, check_batch
from attnlab.families.copying import spec as specs
from attnlab.families.copying.early_verdict import EarlyVerdict
from attnlab.families.copying.early_verdict import stop_rule as stop_rule
from attnlab.families.copying.spec import check_deception as check_deception
from attnlab.families.copying.spec import check_remedy as check_remedy
from attnlab.protocols import Problem, RunSettings

TASKS = (specs.CopyingSpec, specs.OwnTaskSpec)
MODELS = (specs.Seq2SeqSpec, specs.PairProxySpec)
REMEDIES = specs.REMEDIES
DECEPTIONS = specs.DECEPTIONS
STOP_RULES = (EarlyVerdict,)
FITS = {"copying": ("seq2seq", "pair-proxy"), "own": ("seq2seq",)}
NUMERICS = {"seq2seq": 2, "pair-proxy": 1}


def build(spec: RunSettings, device: str) -> Problem:
    """The problem of a run."""
    from attnlab.families.copying.pair_proxy import PairProxyProblem
    from attnlab.families.copying.problem import PairProblem

    return PairProxyProblem(spec, device) if isinstance(spec.model, specs.PairProxySpec) else PairProblem(spec, device)


def check(spec: RunSettings) -> None:
    """A ValueError where the settings of a run make no sense together."""
    check_batch(spec)
    check_attention(spec)

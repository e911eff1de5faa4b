"""Labelled texts: an attention classifier (P3 2.4) and the bag-of-words proxy (P3 2.3) on a corpus."""

from attnlab.families.base import check_attention
from attnlab.families.texts.deception import DECEPTIONS as DECEPTIONS
from attnlab.families.texts.spec import ClassifierSpec, LabelledTextSpec, ProxySpec
from attnlab.families.texts.stopping import NoImprovement
from attnlab.protocols import Problem, RunSettings, StopRule

TASKS = (LabelledTextSpec,)
MODELS = (ClassifierSpec, ProxySpec)
STOP_RULES = (NoImprovement,)
FITS = {"text": ("classifier", "proxy")}
NUMERICS = {"classifier": 2, "proxy": 2}


def build(spec: RunSettings, device: str) -> Problem:
    """The problem of a run."""
    from attnlab.families.texts.problem import ClassifierProblem, ProxyProblem

    return ProxyProblem(spec, device) if isinstance(spec.model, ProxySpec) else ClassifierProblem(spec, device)


def check(spec: RunSettings) -> None:
    """A ValueError where the settings of a run make no sense together."""
    check_attention(spec)


def check_deception(spec: RunSettings) -> None:
    """A ValueError where deception has no attention to move."""
    if not isinstance(spec.model, ClassifierSpec) or spec.model.attention != "learned" or spec.train != "all":
        raise ValueError("a deception needs a classifier with learned attention, all of which is trained")


def stop_rule(spec: RunSettings) -> StopRule | None:  # noqa: ARG001 (whatever the run)
    """None: whether a run ends when it no longer improves is for its schedule to say."""
    return None

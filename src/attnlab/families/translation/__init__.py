"""Translation: the network of P3 A.8 and the bag-of-words proxy (P3 2.3) on a parallel corpus."""

from attnlab.families.base import check_attention
from attnlab.families.translation.deception import PairTwinSpec
from attnlab.families.translation.spec import TranslationProxySpec, TranslatorSpec
from attnlab.families.translation.task import BitextSpec
from attnlab.protocols import Problem, RunSettings

TASKS = (BitextSpec,)
MODELS = (TranslatorSpec, TranslationProxySpec)
FITS = {"translation": ("translator", "translation-proxy")}
NUMERICS = {"translator": 2, "translation-proxy": 2}
DECEPTIONS = (PairTwinSpec,)


def build(spec: RunSettings, device: str) -> Problem:
    """The problem of a run."""
    from attnlab.families.translation.problem import TranslationProxyProblem, TranslatorProblem

    proxy = isinstance(spec.model, TranslationProxySpec)
    return TranslationProxyProblem(spec, device) if proxy else TranslatorProblem(spec, device)


def check(spec: RunSettings) -> None:
    """A ValueError where the settings of a run make no sense together."""
    check_attention(spec)
    model = spec.model
    if isinstance(model, TranslatorSpec) and model.readout == "linear" and not model.projected:
        raise ValueError("readout = linear adds context and decoder state, so it needs projected = true")


def check_deception(spec: RunSettings) -> None:
    """A ValueError where deception has no attention to move."""
    model = spec.model
    if not isinstance(model, TranslatorSpec) or model.attention != "learned" or spec.train != "all":
        raise ValueError("a deception needs a translator with learned attention, all of which is trained")

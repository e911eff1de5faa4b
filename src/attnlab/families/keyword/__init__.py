"""The keyword task (P3 6.1), learned by the classifier of the texts family."""

from attnlab.families.base import check_attention, check_batch
from attnlab.families.keyword.spec import KeywordSpec
from attnlab.protocols import Problem, RunSettings
from attnlab.records import Spec

TASKS = (KeywordSpec,)
MODELS: tuple[type[Spec], ...] = ()
FITS = {"keyword": ("classifier",)}
NUMERICS: dict[str, int] = {}


def build(spec: RunSettings, device: str) -> Problem:
    """The problem of a run."""
    from attnlab.families.keyword.problem import KeywordProblem

    return KeywordProblem(spec, device)


def check(spec: RunSettings) -> None:
    """A ValueError where the settings of a run make no sense together."""
    check_batch(spec)
    check_attention(spec)

"""All specs in one place, for scripts and notebooks; each is fetched from its family when first used.

>>> from attnlab import specs
>>> specs.CopyingSpec(distribution=specs.PermutationsSpec(words=3)).kind
'copying'
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from attnlab.families.copying.early_verdict import EarlyVerdict
    from attnlab.families.copying.spec import (
        AlignmentLossSpec,
        CopyingSpec,
        FreshAttentionSpec,
        IndependentSpec,
        MirroredReadoutSpec,
        MixtureSpec,
        OwnTaskSpec,
        PairProxySpec,
        PermutationSetsSpec,
        PermutationsSpec,
        SelectionsSpec,
        Seq2SeqSpec,
        WarmStartSpec,
        WarmUpSpec,
        ZipfSpec,
    )
    from attnlab.families.keyword.spec import KeywordSpec
    from attnlab.families.texts.spec import ClassifierSpec, LabelledTextSpec, ProxySpec, VectorsSpec
    from attnlab.families.topics.spec import SstSpec, TopicModelSpec, TopicsSpec
    from attnlab.runs.optimisers import AdamSpec, SgdSpec
    from attnlab.runs.schedule import OwnStopRule, Schedule
    from attnlab.runs.spec import RunSpec

__all__ = [
    "AdamSpec",
    "AlignmentLossSpec",
    "ClassifierSpec",
    "CopyingSpec",
    "EarlyVerdict",
    "FreshAttentionSpec",
    "IndependentSpec",
    "KeywordSpec",
    "LabelledTextSpec",
    "MirroredReadoutSpec",
    "MixtureSpec",
    "OwnStopRule",
    "OwnTaskSpec",
    "PairProxySpec",
    "PermutationSetsSpec",
    "PermutationsSpec",
    "ProxySpec",
    "RunSpec",
    "Schedule",
    "SelectionsSpec",
    "Seq2SeqSpec",
    "SgdSpec",
    "SstSpec",
    "TopicModelSpec",
    "TopicsSpec",
    "VectorsSpec",
    "WarmStartSpec",
    "WarmUpSpec",
    "ZipfSpec",
]

_HOMES = {
    "attnlab.runs.spec": {"RunSpec"},
    "attnlab.runs.schedule": {"OwnStopRule", "Schedule"},
    "attnlab.runs.optimisers": {"AdamSpec", "SgdSpec"},
    "attnlab.families.copying.early_verdict": {"EarlyVerdict"},
    "attnlab.families.keyword.spec": {"KeywordSpec"},
    "attnlab.families.texts.spec": {"ClassifierSpec", "LabelledTextSpec", "ProxySpec", "VectorsSpec"},
    "attnlab.families.topics.spec": {"SstSpec", "TopicModelSpec", "TopicsSpec"},
}
"""Modules and the specs they have; all others are copying's."""


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'attnlab.specs' has no attribute {name!r}; it offers {', '.join(__all__)}")
    home = next((home for home, names in _HOMES.items() if name in names), "attnlab.families.copying.spec")
    return getattr(import_module(home), name)


def __dir__() -> list[str]:
    return __all__

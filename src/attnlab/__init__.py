"""attnlab: how attention learns. Whether it will be learned, when and why, and how far it may be trusted.

A handful of names for scripts and notebooks; `attnlab.specs` has all specs, everything else is in the subpackages.

>>> import attnlab, tempfile
>>> spec = attnlab.RunSpec(
...     task=attnlab.CopyingSpec(distribution=attnlab.SelectionsSpec(length=4, words=6)),
...     model=attnlab.Seq2SeqSpec(hidden=16),
...     batch=8,
...     init_seed=0,
...     data_seed=0,
... )
>>> with tempfile.TemporaryDirectory() as folder:
...     run = attnlab.train(spec, attnlab.Schedule.every(5, steps=10), attnlab.RunStore(folder))
>>> [int(row["step"]) for row in run.rows]
[0, 5, 10]
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from attnlab.data.sentence_pairs import SentencePairs
    from attnlab.errors import AttnlabError
    from attnlab.measures.compare import agreement
    from attnlab.models.recurrent import Recurrent
    from attnlab.models.seq2seq import Seq2Seq
    from attnlab.runs.loop import train
    from attnlab.runs.store import RunStore
    from attnlab.specs import (
        CopyingSpec,
        IndependentSpec,
        MixtureSpec,
        PermutationSetsSpec,
        PermutationsSpec,
        RunSpec,
        Schedule,
        SelectionsSpec,
        Seq2SeqSpec,
        SgdSpec,
        TopicModelSpec,
        TopicsSpec,
        ZipfSpec,
    )
    from attnlab.theory.aligner import align
    from attnlab.theory.forecast import forecast

    __version__: str

__all__ = [
    "AttnlabError",
    "CopyingSpec",
    "IndependentSpec",
    "MixtureSpec",
    "PermutationSetsSpec",
    "PermutationsSpec",
    "Recurrent",
    "RunSpec",
    "RunStore",
    "Schedule",
    "SelectionsSpec",
    "SentencePairs",
    "Seq2Seq",
    "Seq2SeqSpec",
    "SgdSpec",
    "TopicModelSpec",
    "TopicsSpec",
    "ZipfSpec",
    "agreement",
    "align",
    "forecast",
    "train",
]

_HOMES = {
    "AttnlabError": "attnlab.errors",
    "CopyingSpec": "attnlab.specs",
    "IndependentSpec": "attnlab.specs",
    "MixtureSpec": "attnlab.specs",
    "PermutationSetsSpec": "attnlab.specs",
    "PermutationsSpec": "attnlab.specs",
    "Recurrent": "attnlab.models.recurrent",
    "RunSpec": "attnlab.specs",
    "RunStore": "attnlab.runs.store",
    "Schedule": "attnlab.specs",
    "SelectionsSpec": "attnlab.specs",
    "SentencePairs": "attnlab.data.sentence_pairs",
    "Seq2Seq": "attnlab.models.seq2seq",
    "Seq2SeqSpec": "attnlab.specs",
    "SgdSpec": "attnlab.specs",
    "TopicModelSpec": "attnlab.specs",
    "TopicsSpec": "attnlab.specs",
    "ZipfSpec": "attnlab.specs",
    "agreement": "attnlab.measures.compare",
    "align": "attnlab.theory.aligner",
    "forecast": "attnlab.theory.forecast",
    "train": "attnlab.runs.loop",
}


def __getattr__(name: str) -> Any:
    # Names are fetched when first used: `attnlab --help` should not wait for PyTorch.
    if name == "__version__":
        from importlib.metadata import version

        return version("attnlab")
    if name not in __all__:
        raise AttributeError(f"module 'attnlab' has no attribute {name!r}; it offers {', '.join(__all__)}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]

"""attnlab: how attention learns. Whether it will be learned, when and why, and how far it may be trusted.

A handful of names for scripts and notebooks; everything else is in the subpackages.

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
    from attnlab.agreement.compare import agreement
    from attnlab.errors import AttnlabError
    from attnlab.models.recurrent import Recurrent
    from attnlab.models.seq2seq import Seq2Seq
    from attnlab.tasks.sentence_pairs import SentencePairs
    from attnlab.theory.aligner import align
    from attnlab.theory.forecast import forecast
    from attnlab.training.loop import train
    from attnlab.training.model_spec import Seq2SeqSpec, SgdSpec, TopicModelSpec
    from attnlab.training.schedule import Schedule
    from attnlab.training.spec import RunSpec
    from attnlab.training.store import RunStore
    from attnlab.training.task_spec import (
        CopyingSpec,
        IndependentSpec,
        MixtureSpec,
        PermutationSetsSpec,
        PermutationsSpec,
        SelectionsSpec,
        TopicsSpec,
        ZipfSpec,
    )

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
    "CopyingSpec": "attnlab.training.task_spec",
    "IndependentSpec": "attnlab.training.task_spec",
    "MixtureSpec": "attnlab.training.task_spec",
    "PermutationSetsSpec": "attnlab.training.task_spec",
    "PermutationsSpec": "attnlab.training.task_spec",
    "Recurrent": "attnlab.models.recurrent",
    "RunSpec": "attnlab.training.spec",
    "RunStore": "attnlab.training.store",
    "Schedule": "attnlab.training.schedule",
    "SelectionsSpec": "attnlab.training.task_spec",
    "SentencePairs": "attnlab.tasks.sentence_pairs",
    "Seq2Seq": "attnlab.models.seq2seq",
    "Seq2SeqSpec": "attnlab.training.model_spec",
    "SgdSpec": "attnlab.training.model_spec",
    "TopicModelSpec": "attnlab.training.model_spec",
    "TopicsSpec": "attnlab.training.task_spec",
    "ZipfSpec": "attnlab.training.task_spec",
    "align": "attnlab.theory.aligner",
    "forecast": "attnlab.theory.forecast",
    "train": "attnlab.training.loop",
}


def __getattr__(name: str) -> Any:
    # Names are fetched when first used: `attnlab --help` should not wait for PyTorch.
    if name == "__version__":
        from importlib.metadata import version

        return version("attnlab")
    if name == "agreement":  # the package itself, which can be called
        return import_module("attnlab.agreement")
    if name not in __all__:
        raise AttributeError(f"module 'attnlab' has no attribute {name!r}; it offers {', '.join(__all__)}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]

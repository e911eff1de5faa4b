"""attnlab: how attention learns. Whether it will be learned, when and why, and how far it may be trusted.

The verbs are those of the command line; what they take and return is in the subpackages, specs in `attnlab.specs`.

>>> import attnlab as al, tempfile
>>> from attnlab import specs
>>> spec = specs.RunSpec(
...     task=specs.CopyingSpec(distribution=specs.SelectionsSpec(length=4, words=6)),
...     model=specs.Seq2SeqSpec(hidden=16),
...     batch=8,
...     init_seed=0,
...     data_seed=0,
... )
>>> with tempfile.TemporaryDirectory() as folder:
...     run = al.train(spec, specs.Schedule.every(5, steps=10), al.RunStore(folder))
>>> [int(row["step"]) for row in run.rows]
[0, 5, 10]
"""

from importlib import import_module

# As in `typing`, which is not imported: `python -m attnlab` comes here before `__main__` takes the current folder off
# the path, where any file may be called typing.py.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from attnlab.auditing.audit import audit
    from attnlab.auditing.explain import explain
    from attnlab.auditing.translating import translate
    from attnlab.data.sentence_pairs import SentencePairs, read_pairs
    from attnlab.data.texts import LabelledTexts, read_texts
    from attnlab.errors import AttnlabError
    from attnlab.fields import ScoreField
    from attnlab.lab.verbs import claims, replay, run
    from attnlab.measures.compare import agreement
    from attnlab.measures.samples import samples
    from attnlab.probes.influence import influence
    from attnlab.probes.leave_one_out import leave_one_out
    from attnlab.probes.texts import attention, lexical
    from attnlab.probes.view import Seen, View
    from attnlab.runs.loop import train
    from attnlab.runs.store import RunStore
    from attnlab.theory.aligner import align
    from attnlab.theory.forecast import forecast

    __version__: str

_HOMES = {
    # before training
    "read_texts": "attnlab.data.texts",
    "read_pairs": "attnlab.data.sentence_pairs",
    "forecast": "attnlab.theory.forecast",
    "samples": "attnlab.measures.samples",
    "align": "attnlab.theory.aligner",
    # training
    "train": "attnlab.runs.loop",
    "RunStore": "attnlab.runs.store",
    # what a trained run says, and whether to believe it
    "audit": "attnlab.auditing.audit",
    "explain": "attnlab.auditing.explain",
    "translate": "attnlab.auditing.translating",
    # what a model attends to, knows and depends on
    "attention": "attnlab.probes.texts",
    "lexical": "attnlab.probes.texts",
    "influence": "attnlab.probes.influence",
    "leave_one_out": "attnlab.probes.leave_one_out",
    "agreement": "attnlab.measures.compare",
    "View": "attnlab.probes.view",
    "Seen": "attnlab.probes.view",
    # the papers
    "run": "attnlab.lab.verbs",
    "replay": "attnlab.lab.verbs",
    "claims": "attnlab.lab.verbs",
    # nouns
    "SentencePairs": "attnlab.data.sentence_pairs",
    "LabelledTexts": "attnlab.data.texts",
    "ScoreField": "attnlab.fields",
    "AttnlabError": "attnlab.errors",
}

__all__ = [
    "AttnlabError",
    "LabelledTexts",
    "RunStore",
    "ScoreField",
    "Seen",
    "SentencePairs",
    "View",
    "agreement",
    "align",
    "attention",
    "audit",
    "claims",
    "explain",
    "forecast",
    "influence",
    "leave_one_out",
    "lexical",
    "read_pairs",
    "read_texts",
    "replay",
    "run",
    "samples",
    "train",
    "translate",
]


def __getattr__(name: str) -> "Any":
    # Names are fetched when first used: `attnlab --help` should not wait for PyTorch.
    if name == "__version__":
        from importlib.metadata import version

        return version("attnlab")
    if name not in _HOMES:
        hint = f"; attnlab.specs has {name}" if name.endswith(("Spec", "Schedule")) else ""
        raise AttributeError(f"module 'attnlab' has no attribute {name!r}{hint}; it offers {', '.join(__all__)}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]

"""The same corpora from a hub of datasets, through the network and only when asked for; needs the extra ``hub``.

What a hub holds under a corpus' name may have been prepared differently from the official files, so the notes say where
the texts came from.
"""

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

from attnlab.data.corpora.corpus import HubSource, Known, Part, Raw
from attnlab.errors import UsageError


def read_hub(known: Known) -> Raw:
    """The texts of ``known`` from its dataset on the hub."""
    source = known.hub
    if source is None:
        raise UsageError(f"{known.title} cannot be had from the hub in the form that the task needs; get {known.get}.")
    try:
        load_dataset = import_module("datasets").load_dataset
    except ImportError:
        raise UsageError(
            "Loading from the hub needs the extra `hub`: install attnlab[hub], or put the corpus into the data folder."
        ) from None
    splits = ["train"] if source.test is None else ["train", source.test]
    (train, others), *rest = [_part(_split(load_dataset, source, split), source) for split in splits]
    test = rest[0][0] if rest else None
    others += sum(count for _, count in rest)
    notes = [f"The texts are those of the hub's dataset {source.dataset}."]
    if others:
        notes.append(f"{others} texts of other classes are left out.")
    return Raw(train, test, tuple(notes))


def _split(load_dataset: Callable[..., Any], source: HubSource, split: str) -> Any:
    """A split's columns by name."""
    try:
        return load_dataset(source.dataset, source.configuration, split=split)
    except Exception as fault:  # what a hub raises without a network differs from version to version
        reason = (str(fault).splitlines() or [""])[0][:200]
        raise UsageError(
            f"The hub's dataset {source.dataset} could not be loaded ({type(fault).__name__}: {reason}); "
            "it needs a network. Without one, put the corpus into the data folder."
        ) from fault


def _part(columns: Any, source: HubSource) -> tuple[Part, int]:
    """The texts of the task's classes, at most as many as the task takes; and how many others were passed."""
    texts: Sequence[str] = [" ".join(parts) for parts in zip(*(columns[name] for name in source.text), strict=True)]
    labels = list(columns[source.label])
    rows = [row for row, label in enumerate(labels) if label in source.labels][: source.most]
    read = len(labels) if source.most is None or len(rows) < source.most else rows[-1] + 1
    return Part([texts[row] for row in rows], [source.labels[labels[row]] for row in rows]), read - len(rows)

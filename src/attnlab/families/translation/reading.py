"""What is read from runs on sentence pairs: their score fields, their network at a step whose weights were kept."""

from typing import Any, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import Module

from attnlab.families.translation.spec import TranslatorSpec
from attnlab.families.translation.task import BitextSpec
from attnlab.fields import ScoreField
from attnlab.models.translator import Translator
from attnlab.protocols import RunSettings


class Weights(Protocol):
    """A checkpoint: tensors by name, the network's after ``model.``."""

    @property
    def tensors(self) -> dict[str, Tensor]: ...


class Loads(Protocol):
    """A run whose checkpoints can be read: `attnlab.runs.store.Run`."""

    def load(self, step: int) -> Weights: ...

    def load_into(self, network: Module, step: int) -> None: ...


def stored_field(table: pa.Table, split: str, name: str) -> ScoreField:
    """``alpha``, ``log_beta``, ``context_beta`` or ``delta`` of the output words of a split (``valid`` or ``train``),
    from the fields that an evaluation keeps; of the proxy, ``log_beta`` is that of beta_px.
    """
    column = table[name].combine_chunks().filter(_of_split(table, split))
    offsets = np.asarray(column.offsets, dtype=np.int64)
    return ScoreField(np.asarray(column.flatten(), dtype=np.float64), offsets - offsets[0])


def stored_words(table: pa.Table, split: str, name: str) -> NDArray[Any]:
    """``pair``, ``log_p`` or ``predicted`` of the output words of a split: (words,)."""
    return np.asarray(table[name].combine_chunks().filter(_of_split(table, split)))


def network_at(run: Loads, spec: RunSettings, step: int) -> Translator:
    """A run's translator as it was at ``step``, whose weights were kept."""
    assert isinstance(spec.model, TranslatorSpec)
    assert isinstance(spec.task, BitextSpec)
    embedding = run.load(step).tensors.get("model.embedding")
    pieces = 1 if embedding is None or not embedding.numel() or not embedding.dim() else len(embedding)
    network = spec.model.build(pieces, spec.init_seed)
    run.load_into(network, step)
    return network.eval()


def _of_split(table: pa.Table, split: str) -> NDArray[np.bool_]:
    of_split: NDArray[np.bool_] = np.asarray(table["split"].combine_chunks().dictionary_decode()) == split
    return of_split

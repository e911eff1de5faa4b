"""Starts of P3's network on permutations, and what can be done about one that fails.

A start is a network with its data; a remedy changes one thing about it. The experiments `mirror` and `rescue` train the
same starts with different remedies, so that they share runs.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch.utils.flop_counter import FlopCounterMode

from attnlab.families.copying import spec as specs
from attnlab.models.products import usual_products

ANEW = 100
"""The step at which attention starts anew."""
FRESH = 10_000
"""Added to a start's seed for a fresh one."""

NO_CHANGE, FRESH_START = "no change", "fresh start"
HEADS, BATCH, WARM_UP, WARM_START = "8 heads", "twice the batch", "learning-rate warm-up", "warm start on k of n"
IBM_OWN, IBM_FEWER, FRESH_ATTENTION = "IBM-1 loss, same data", "IBM-1 loss, k of n", "fresh attention at step 100"
MIRRORED = "mirrored read-out"
REMEDIES = (NO_CHANGE, FRESH_START, HEADS, BATCH, WARM_UP, WARM_START, IBM_OWN, IBM_FEWER, FRESH_ATTENTION, MIRRORED)


@dataclass(frozen=True)
class Scale:
    """How large task and network are; by default those of the experiment `copying`."""

    words: int = 40
    hidden: int = 256
    batch: int = 128
    learning_rate: float = 1e-3

    @property
    def fewer(self) -> specs.SelectionsSpec:
        """k of n words, k being three quarters: 30 of 40, in the task's own vocabulary."""
        return specs.SelectionsSpec(length=self.words * 3 // 4, words=self.words)


_SMALL = Scale(words=12, hidden=32, batch=32, learning_rate=5e-3)
SCALES: Mapping[str, Scale] = {"quick": _SMALL, "reduced": Scale(), "paper": Scale()}
"""By preset."""


def start(scale: Scale, seed: int, remedy: str = NO_CHANGE) -> dict[str, Any]:
    """The fields of a start's run spec, with what is done about it.

    Without a change it is P3's network on permutations, one seed for start and data: a run of the experiment `copying`.
    """
    changes: dict[str, dict[str, Any]] = {
        NO_CHANGE: {},
        FRESH_START: {"init_seed": FRESH + seed},
        HEADS: {"model": specs.Seq2SeqSpec(hidden=scale.hidden, heads=8)},  # head 0 starts as the failing one does
        BATCH: {"batch": 2 * scale.batch},
        WARM_UP: {"remedy": specs.WarmUpSpec(updates=50)},
        WARM_START: {"remedy": specs.WarmStartSpec(distribution=scale.fewer, updates=30)},
        IBM_OWN: {"remedy": specs.AlignmentLossSpec()},
        IBM_FEWER: {"remedy": specs.AlignmentLossSpec(distribution=scale.fewer)},
        FRESH_ATTENTION: {"remedy": specs.FreshAttentionSpec(step=ANEW, seed=FRESH + seed)},
        MIRRORED: {"remedy": specs.MirroredReadoutSpec()},
    }
    plain = {
        "task": specs.CopyingSpec(distribution=specs.PermutationsSpec(words=scale.words)),
        "model": specs.Seq2SeqSpec(hidden=scale.hidden),
        "optimiser": {"kind": "adam", "learning_rate": scale.learning_rate},
        "batch": scale.batch,
        "init_seed": seed,
        "data_seed": seed,
    }
    return {**plain, **changes[remedy]}


def update_cost(update: Callable[[], object]) -> int:
    """Multiplications and additions in the matrix products of one ``update``, counted on one."""
    counter = FlopCounterMode(display=False, custom_mapping={torch.ops.aten.addmm_: _product})
    with usual_products(), counter:
        update()
    return counter.get_total_flops()


def _product(_: Any, left: tuple[int, int], right: tuple[int, int], **__: Any) -> int:
    """Of a product added in place, which the counter does not know; matrices come as their shapes."""
    return 2 * left[0] * left[1] * right[1]

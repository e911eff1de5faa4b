"""Good and bad heads in the network that the text describes (P3 5.2): an LSTM whose heads' contexts are summed.

The released code that draws Figure 2 averages the contexts of a GRU's heads and projects each. Here `multihead` is
asked again of the text's own network, where a head is no more than its score's weights W^(k), and what has learned is
counted twice: by accuracy, and by whether any head attends to the right position.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

from attnlab.experiments.multihead.experiment import FEWEST, MOSTLY, Multihead
from attnlab.experiments.multihead.heads import TEXT, Sample
from attnlab.families.copying.metrics import BEST_HEAD
from attnlab.families.copying.success import WITHIN, first_learned
from attnlab.lab.claims import Part
from attnlab.lab.experiment import Decided, Table, by_preset, claim
from attnlab.lab.rules import higher, of_rate

SAMPLES = by_preset(
    {TEXT: Sample(5, 10, 3, 1, 2)},
    {TEXT: Sample(20, 60, 10, 4, 10)},
    {TEXT: Sample(20, 80, 14, 8, 10)},
)
SHARED = ("heads-all-bad", "heads-one-good")
"""The claims of `multihead` that ten combinations of a kind can answer."""
GROUPS = {"with bad heads": ("all bad", "one good"), "random heads": ("all random",)}


class TextHeads(Multihead):
    """Eight bad heads, seven bad ones and a good one, eight random ones: ten networks each."""

    name = "text-heads"
    title = "Good and bad heads in the text's own network"
    source = "P3 5.2"
    samples = SAMPLES

    # --- rules

    @classmethod
    def rules(cls) -> dict[str, Callable[[Any], Decided]]:
        """Those of `multihead` that it shares, and its own."""
        own = {method.claim for method in vars(cls).values() if hasattr(method, "claim")}
        return {id: rule for id, rule in super().rules().items() if id in own or id in SHARED}

    @claim("heads-learn-by-attention", reads=("curves",))
    def learned_by_attention(self) -> Iterator[Part]:
        for name, settings in GROUPS.items():
            curves = [self.record.rows("curves", setting=setting) for setting in settings]
            attending = [one for rows in curves for one in attending_once_learned(rows)]
            rule, said = partial(higher, bound=MOSTLY), " that learned have a head that attends to the right position"
            none = "No combination has learned."
            yield of_rate(name, attending, rule, said, over="combinations", least=FEWEST, none=none)

    # --- words

    def summary(self) -> str:
        return " ".join([super().summary(), *(part.detail for part in self.learned_by_attention())])

    def notes(self) -> list[str]:
        shared = [note for note in super().notes() if not note.startswith(("quick:", "reduced:"))]
        return shared + self.at_preset(
            quick="quick: permutations of 12 words, 32 hidden units, combinations of three heads; it shows how the "
            "experiment goes and decides nothing.",
            reduced="reduced: 10 bad and 4 good heads instead of 14 and 8; the ten combinations of each kind go on to "
            "step 200 as at paper.",
        )


def attending_once_learned(rows: Table) -> list[bool]:
    """For each network of some curves that learned: whether, at its last evaluation within 200 updates, it has a head
    whose attention is largest at the right position in more than half of the cases.
    """
    curves: dict[int, list[Mapping[str, Any]]] = {}
    for row in rows:
        if row["step"] <= WITHIN:
            curves.setdefault(row["seed"], []).append(row)
    return [one[-1][BEST_HEAD] > MOSTLY for one in curves.values() if first_learned(one) is not None]

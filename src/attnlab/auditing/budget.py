"""How much an audit computes: chosen before training from this table, so that nothing depends on measured time."""

from dataclasses import dataclass

from attnlab.errors import UsageError


@dataclass(frozen=True)
class Budget:
    """Sizes of the networks (the papers' classifier), updates at most, validation texts that are read, the lambdas of
    the twins and their updates, and the words of the longest text that is read.
    """

    name: str
    hidden: int
    embedding: int
    steps: int
    texts: int
    weights: tuple[float, ...]
    twin_steps: int
    longest: int


BUDGETS = {
    one.name: one
    for one in (
        Budget("small", 48, 64, 600, 300, (0.1,), 300, 400),
        Budget("normal", 128, 128, 800, 500, (0.01, 0.1), 500, 600),
        Budget("large", 256, 300, 2000, 1000, (0.001, 0.01, 0.1, 1.0), 1500, 1000),
    )
}
LEFT_OUT = 200
"""Texts that words are left out of."""
EVALUATIONS, PATIENCE = 10, 3
"""About how often a run is measured, and after how many evaluations without improvement it ends."""


def budget_of(name: str) -> Budget:
    """The budget of this name."""
    if name not in BUDGETS:
        raise UsageError(f"There is no budget {name!r}; budgets are {', '.join(BUDGETS)}.")
    return BUDGETS[name]

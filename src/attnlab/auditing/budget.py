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


@dataclass(frozen=True)
class PairBudget:
    """The same for sentence pairs: sizes of the translator (P3 A.8) and of its pieces, updates of 16 pairs at most,
    validation pairs that are read, and the pieces of the longest sentence. Smaller networks bear larger steps than the
    papers' ``learning_rate``.
    """

    name: str
    hidden: int
    layers: int
    pieces: int
    steps: int
    pairs: int
    weights: tuple[float, ...]
    twin_steps: int
    longest: int
    learning_rate: float


PAIR_BUDGETS = {
    one.name: one
    for one in (
        PairBudget("small", 96, 1, 1000, 2000, 100, (0.1,), 300, 100, 0.003),
        PairBudget("normal", 128, 2, 4000, 4000, 200, (0.01, 0.1), 400, 150, 0.002),
        PairBudget("large", 256, 2, 8000, 20_000, 500, (0.001, 0.01, 0.1, 1.0), 1500, 250, 0.001),
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


def pair_budget_of(name: str) -> PairBudget:
    """The budget of this name for sentence pairs."""
    return PAIR_BUDGETS[budget_of(name).name]

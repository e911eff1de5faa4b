"""Correction for having made several tests."""

from collections.abc import Mapping


def holm(p_values: Mapping[str, float]) -> dict[str, float]:
    """Holm's correction: each p-value times the number of tests not yet rejected, never smaller than the one before.

    >>> holm({"a": 0.01, "b": 0.04, "c": 0.02})
    {'a': 0.03, 'b': 0.04, 'c': 0.04}
    """
    corrected: dict[str, float] = {}
    largest = 0.0
    for rank, name in enumerate(sorted(p_values, key=lambda name: p_values[name])):
        largest = max(largest, min(1.0, (len(p_values) - rank) * p_values[name]))
        corrected[name] = largest
    return {name: corrected[name] for name in p_values}

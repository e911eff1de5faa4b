"""The small runs and the store that the loop's tests have."""

from tests.runs.conftest import make_spec, spec, store

__all__ = ["make_spec", "spec", "store"]

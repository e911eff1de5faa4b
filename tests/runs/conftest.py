"""Small runs of the real model on the real task."""

import pytest

from attnlab.families.copying.spec import CopyingSpec, SelectionsSpec, Seq2SeqSpec
from attnlab.runs.spec import RunSpec
from attnlab.runs.store import RunStore


def small_spec(seed: int = 0, **changes: object) -> RunSpec:
    """Copying 4 of 6 words with a network of 16 units: a thousand updates take seconds."""
    values = {
        "task": CopyingSpec(distribution=SelectionsSpec(length=4, words=6)),
        "model": Seq2SeqSpec(hidden=16),
        "batch": 16,
        "evaluation_batch": 20,
        "init_seed": seed,
        "data_seed": seed,
        **changes,
    }
    return RunSpec(**values)


@pytest.fixture
def spec() -> RunSpec:
    return small_spec()


@pytest.fixture
def make_spec():
    return small_spec


@pytest.fixture
def store(tmp_path) -> RunStore:
    return RunStore(tmp_path / "runs")

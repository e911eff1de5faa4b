"""A run that was killed and went on, against one that was not."""

import hashlib

import pytest

from attnlab.runs.loop import Interrupted, train
from attnlab.runs.schedule import Schedule
from attnlab.runs.store import RunStore


def assert_same_bits(spec, folder, *files):
    """Stop a run of ``spec`` at its eighth update, let it go on, and compare its files with those of a whole run."""
    schedule = Schedule(steps=12, evaluations=(0, 4, 12), checkpoint_every=3)
    whole, broken = RunStore(folder / "whole"), RunStore(folder / "broken")
    train(spec, schedule, whole)
    calls = iter(range(100))
    with pytest.raises(Interrupted):
        train(spec, schedule, broken, interrupted=lambda: next(calls) == 7)
    train(spec, schedule, broken)
    names = ("metrics.parquet", "checkpoints/12/tensors.safetensors", *files)
    one, other = (
        [hashlib.sha256((store.run(spec.id).path / name).read_bytes()).hexdigest() for name in names]
        for store in (whole, broken)
    )
    assert one == other

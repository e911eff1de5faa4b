"""Pruning measures the newest weights of a run or none: it does not fall back on earlier ones."""

from dataclasses import replace

import pytest

from attnlab.errors import DamagedCheckpoint
from attnlab.experiments.multihead.heads import prune_run
from attnlab.families.copying.spec import CopyingSpec, PermutationsSpec, Seq2SeqSpec
from attnlab.lab.outcomes import Outcome
from attnlab.runs.loop import train
from attnlab.runs.schedule import Schedule
from attnlab.runs.spec import RunSpec
from attnlab.runs.store import RunStore


def test_a_flipped_bit_in_the_newest_weights_is_noticed(tmp_path):
    model = Seq2SeqSpec(hidden=8, heads=2)
    spec = RunSpec(
        task=CopyingSpec(distribution=PermutationsSpec(words=5)), model=model, batch=8, init_seed=0, data_seed=0
    )
    run = train(spec, Schedule.every(10, steps=20, checkpoint_every=10), RunStore(tmp_path))
    outcome = Outcome("one", 0, run, spec)
    assert prune_run(outcome) is not None
    assert prune_run(replace(outcome, run=replace(run, run=None))) is None
    path = run.run.path / "checkpoints/20/tensors.safetensors"
    whole = path.read_bytes()
    path.write_bytes(bytes([*whole[:-9], whole[-9] ^ 1, *whole[-8:]]))
    with pytest.raises(DamagedCheckpoint, match=r"20/tensors\.safetensors is altered"):
        prune_run(outcome)

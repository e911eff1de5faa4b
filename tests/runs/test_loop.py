"""Training: it learns, it resumes exactly, it measures without a trace, it fails in a sentence."""

import hashlib
import os
import random
import signal
import subprocess
import sys
import time
import warnings

import numpy as np
import pytest
import torch

from attnlab.errors import RunBusy, RunFailed
from attnlab.families.copying.spec import Seq2SeqSpec
from attnlab.families.registry import build_problem
from attnlab.runs.loop import Interrupted, finished, train
from attnlab.runs.optimisers import AdamSpec
from attnlab.runs.schedule import Schedule
from attnlab.runs.store import RunStore, StoreWarning


def fingerprint(run):
    """Hash of the last weights, optimiser state and all metrics, as the files have them."""
    digest = hashlib.sha256((run.path / "metrics.parquet").read_bytes())
    last = run.path / "checkpoints" / str(max(run.steps()))
    for name in ("tensors.safetensors", "record.json"):
        digest.update((last / name).read_bytes())
    return digest.hexdigest()


def test_it_learns_to_copy(spec, store):
    rows = train(spec, Schedule.every(100, steps=600), store).rows
    assert rows[0]["accuracy"] < 0.4
    assert rows[-1]["accuracy"] > 0.95
    assert rows[-1]["attention_accuracy"] > 0.9
    assert rows[-1]["loss"] < 0.2 < rows[0]["loss"]


def test_each_update_is_what_torch_adam_does(spec, store):
    """Ten updates by the loop equal ten written out with the problem's own loss and an unfused Adam."""
    train(spec, Schedule(steps=10, evaluations=()), store)
    by_loop = store.run(spec.id).load(10).tensors
    problem = build_problem(spec)
    optimiser = torch.optim.Adam(problem.model.parameters(), lr=1e-3, fused=False, foreach=False)
    for step in range(10):
        optimiser.zero_grad()
        problem.loss(step).backward()
        optimiser.step()
    for name, value in problem.model.state_dict().items():
        torch.testing.assert_close(by_loop[f"model.{name}"], value, atol=1e-6, rtol=0)


def test_a_finished_run_is_not_trained_again(spec, store):
    schedule = Schedule.every(5, steps=10)
    first = train(spec, schedule, store)
    calls = []
    again = train(spec, schedule, store, observe=lambda *news: calls.append(news))
    assert again == first == finished(spec, schedule, store)
    assert calls == []


def test_continued_equals_uninterrupted(spec, tmp_path):
    parts, whole = RunStore(tmp_path / "parts"), RunStore(tmp_path / "whole")
    train(spec, Schedule.every(10, steps=20), parts)
    train(spec, Schedule.every(10, steps=50), parts)
    train(spec, Schedule.every(10, steps=50), whole)
    assert fingerprint(parts.run(spec.id)) == fingerprint(whole.run(spec.id))


def test_a_run_begun_before_a_setting_existed_goes_on(spec, tmp_path):
    """Its stored spec does not name the setting; the id says that it has its default."""
    store, whole = RunStore(tmp_path / "old"), RunStore(tmp_path / "whole")
    named = spec.model_dump(mode="json")
    del named["model"]["head_seeds"], named["evaluation_batch"]
    train(spec, Schedule.every(10, steps=10), store)
    run = store.run(spec.id)
    (run.path / "spec.json").unlink()
    run.begin(named, run.environment())
    train(spec, Schedule.every(10, steps=30), store)
    train(spec, Schedule.every(10, steps=30), whole)
    assert fingerprint(run) == fingerprint(whole.run(spec.id))


def test_evaluations_added_later_are_replayed_and_change_nothing(spec, tmp_path):
    late, early = RunStore(tmp_path / "late"), RunStore(tmp_path / "early")
    train(spec, Schedule.every(50, steps=100, checkpoint_every=30), late)
    weights = (late.run(spec.id).path / "checkpoints" / "100" / "tensors.safetensors").read_bytes()
    rows = train(spec, Schedule.every(7, steps=49), late).rows
    assert rows == train(spec, Schedule.every(7, steps=49), early).rows
    assert (late.run(spec.id).path / "checkpoints" / "100" / "tensors.safetensors").read_bytes() == weights


def test_the_schedule_leaves_no_trace_in_the_weights(spec, tmp_path):
    often, never = RunStore(tmp_path / "often"), RunStore(tmp_path / "never")
    train(spec, Schedule.every(1, steps=12, checkpoint_every=5), often)
    train(spec, Schedule(steps=12, evaluations=()), never)
    for name, value in never.run(spec.id).load(12).tensors.items():
        assert torch.equal(often.run(spec.id).load(12).tensors[name], value)


def test_dropout_resumes_exactly(make_spec, tmp_path):
    spec = make_spec(model=Seq2SeqSpec(hidden=16, layers=2, dropout=0.5))
    parts, whole = RunStore(tmp_path / "parts"), RunStore(tmp_path / "whole")
    for steps in (7, 15):
        train(spec, Schedule.every(5, steps=steps), parts)
    train(spec, Schedule.every(5, steps=15), whole)
    ours, theirs = (s.run(spec.id).load(15).tensors for s in (parts, whole))
    assert all(torch.equal(ours[name], theirs[name]) for name in theirs)


def test_it_stops_at_the_stated_accuracy(spec, store):
    schedule = Schedule.every(20, steps=2000, stop_at=0.9)
    done = train(spec, schedule, store)
    assert done.step < 2000
    assert done.rows[-1]["accuracy"] > 0.9 >= max(row["accuracy"] for row in done.rows[:-1])
    assert finished(spec, schedule, store) == done
    assert store.run(spec.id).status()["step"] == done.step


def test_keep_keeps_the_weights_of_every_evaluation(spec, store):
    train(spec, Schedule.every(10, steps=40), store)
    assert store.run(spec.id).steps() == [40]
    train(spec, Schedule.every(10, steps=40, keep=True), store)
    assert store.run(spec.id).steps() == [0, 10, 20, 30, 40]


@pytest.mark.parametrize("mode", ["attention-only", "all-but-attention"])
def test_only_what_is_to_be_trained_changes(make_spec, store, mode):
    spec = make_spec(train=mode)
    before = build_problem(spec).model.state_dict()
    train(spec, Schedule(steps=5, evaluations=()), store)
    tensors = store.run(spec.id).load(5).tensors
    for name, value in before.items():
        moved = not torch.equal(tensors[f"model.{name}"], value)
        assert moved == (name.startswith("attention.") == (mode == "attention-only")), name


def test_interrupting_writes_a_checkpoint_and_going_on_is_exact(spec, tmp_path):
    broken, whole = RunStore(tmp_path / "broken"), RunStore(tmp_path / "whole")
    answers = iter([False] * 13 + [True])
    with pytest.raises(Interrupted):
        train(spec, Schedule.every(10, steps=30), broken, interrupted=lambda: next(answers))
    assert broken.run(spec.id).steps() == [13]
    for place in (broken, whole):
        train(spec, Schedule.every(10, steps=30), place)
    assert fingerprint(broken.run(spec.id)) == fingerprint(whole.run(spec.id))


def test_a_loss_that_is_not_finite_fails_with_step_loss_and_rate(make_spec, store):
    spec = make_spec(optimiser=AdamSpec(learning_rate=1e38))
    with pytest.raises(RunFailed, match=r"loss at step \d+ is (nan|inf) with learning rate 1e\+38"):
        train(spec, Schedule.every(10, steps=50), store)
    assert store.run(spec.id).status()["status"] == "failed"


def test_global_state_is_as_before(spec, store):
    random.seed(1)
    np.random.seed(1)
    torch.manual_seed(1)
    threads = torch.get_num_threads()

    def state():
        return (
            random.getstate(),
            np.random.get_state()[1].tolist(),
            torch.get_rng_state().tolist(),
            torch.get_num_threads(),
            torch.get_default_dtype(),
            torch.are_deterministic_algorithms_enabled(),
            torch.backends.mkldnn.enabled,
            torch.is_grad_enabled(),
        )

    before = state()
    torch.set_num_threads(threads)
    train(spec, Schedule.every(5, steps=10), store, thread_count=2)
    assert state() == before


def test_another_environment_warns_and_marks_the_run(spec, store):
    train(spec, Schedule.every(5, steps=10), store)
    with pytest.warns(StoreWarning, match="marked inexact: threads 1 -> 2"):
        train(spec, Schedule.every(5, steps=20), store, thread_count=2)
    run = store.run(spec.id)
    assert run.load(20).record["inexact"] is True
    assert "another environment" in run.status()["message"]


def test_damaged_checkpoint_falls_back_and_ends_the_same(spec, tmp_path):
    damaged, whole = RunStore(tmp_path / "damaged"), RunStore(tmp_path / "whole")
    train(spec, Schedule.every(10, steps=20, checkpoint_every=10), damaged)
    victim = damaged.run(spec.id).path / "checkpoints" / "20" / "tensors.safetensors"
    data = bytearray(victim.read_bytes())
    data[len(data) // 2] ^= 1
    victim.write_bytes(data)
    with pytest.warns(StoreWarning, match=r"tensors\.safetensors"):
        train(spec, Schedule.every(10, steps=40, checkpoint_every=10), damaged)
    train(spec, Schedule.every(10, steps=40, checkpoint_every=10), whole)
    assert fingerprint(damaged.run(spec.id)) == fingerprint(whole.run(spec.id))


def test_a_run_in_use_is_waited_for_or_named(spec, store):
    script = (
        "import sys, time; from attnlab.runs.store import RunStore\n"
        "with RunStore(sys.argv[1]).run(sys.argv[2]).locked():\n"
        "    print('held', flush=True); time.sleep(30)"
    )
    command = [sys.executable, "-c", script, str(store.root), spec.id]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(RunBusy, match=spec.id):
            train(spec, Schedule(steps=1, evaluations=()), store, wait=0)
        holder.kill()
    train(spec, Schedule(steps=1, evaluations=()), store, wait=5)


CHILD = """
import sys
from attnlab.runs.loop import train
from attnlab.runs.schedule import Schedule
from attnlab.runs.spec import RunSpec
from attnlab.runs.store import RunStore
spec = RunSpec.model_validate_json(sys.argv[2])
print("begun", flush=True)
train(spec, Schedule.every(3, steps=300, checkpoint_every=4), RunStore(sys.argv[1]))
"""


def test_killed_at_random_moments_it_ends_with_the_same_bits(spec, tmp_path):
    """kill -9 again and again, mostly inside saves since there is one every four updates."""
    killed, whole = RunStore(tmp_path / "killed"), RunStore(tmp_path / "whole")
    schedule = Schedule.every(3, steps=300, checkpoint_every=4)
    command = [sys.executable, "-c", CHILD, str(killed.root), spec.model_dump_json()]
    one_thread = {**os.environ, "OMP_NUM_THREADS": "1"}
    delays = random.Random(7)
    kills = 0
    for _ in range(40):
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=one_thread) as child:
            assert child.stdout.readline() == "begun\n"
            time.sleep(delays.uniform(0.05, 0.5))
            child.send_signal(signal.SIGKILL)
        kills += child.returncode == -signal.SIGKILL
        if finished(spec, schedule, killed) or kills == 6:
            break
    assert kills >= 3, "the run ended before it could be killed: the test shows nothing"
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # a kill leaves nothing damaged behind
        train(spec, schedule, killed)
    train(spec, schedule, whole)
    assert fingerprint(killed.run(spec.id)) == fingerprint(whole.run(spec.id))
    assert killed.run(spec.id).verify() == []

"""A run as a task, driven as the engine drives it but without Ray: what comes back is what training here leaves."""

import hashlib
import json

import pytest
from tests.runs.small import proxy_spec

from attnlab.families.texts.deception import TwinSpec
from attnlab.families.texts.spec import ClassifierSpec, LabelledTextSpec
from attnlab.runs.engine import Job, order_of
from attnlab.runs.loop import train
from attnlab.runs.parcel import collect, pack, receive, unpack
from attnlab.runs.ray_task import EVENT, PARCEL, VERSIONS, train_on_ray
from attnlab.runs.schedule import Schedule
from attnlab.runs.spec import RunSpec
from attnlab.runs.store import RunStore

SCHEDULE = Schedule.every(5, steps=10, checkpoint_every=5, keep=True)


def bits(store):
    return {
        str(path.relative_to(store.root)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in store.root.rglob("*")
        if path.is_file() and path.name != "timing.json" and ".locks" not in path.parts
    }


def order(spec, folder, schedule=SCHEDULE, **changes):
    about = {"run": spec.id, "store": None, "token": None, "device": "cpu", "every": 0.0, "folder": str(folder)}
    return json.dumps({**order_of(0, Job("a run", spec, schedule)), **about, **changes})


def hear(messages, home):
    """Take what a task says as the engine does; its events."""
    events = []
    for message in messages:
        if message.startswith(PARCEL):
            receive(unpack(message[1:]), home)
        elif message.startswith(EVENT):
            events.append(json.loads(message[1:]))
        else:
            assert message.startswith(VERSIONS)
    return events


@pytest.fixture
def stores(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # a task goes to the folder of its order
    return RunStore(tmp_path / "near"), RunStore(tmp_path / "far")


def test_a_run_comes_back_as_training_here_leaves_it(stores, tmp_path):
    near, far = stores
    spec = proxy_spec()
    train(spec, SCHEDULE, near)
    events = hear(train_on_ray(order(spec, tmp_path), []), far)
    assert [events[0]["kind"], events[-1]["kind"]] == ["began", "finished"]
    assert bits(far) == bits(near)


def test_a_run_goes_on_from_what_came_back(stores, tmp_path):
    """The worker dies after its first checkpoint came back; another takes it up."""
    near, far = stores
    spec = proxy_spec()
    train(spec, SCHEDULE, near)
    for message in train_on_ray(order(spec, tmp_path), []):
        if message.startswith(PARCEL):
            receive(unpack(message[1:]), far)
            break
    run = far.run(spec.id)
    assert run.steps()
    assert run.steps()[-1] < 10
    hear(train_on_ray(order(spec, tmp_path), [], pack(collect(run))), far)
    assert bits(far) == bits(near)


def test_a_twin_gets_the_weights_of_its_original(stores, tmp_path):
    near, far = stores
    words = ["good", "bad", "film", "plot", "the", "a"]
    lines = [f"{words[k % 2]} {words[2 + k % 4]} {words[k % 5]},{k % 2}" for k in range(60)]
    (tmp_path / "reviews.csv").write_text("text,label\n" + "\n".join(lines) + "\n")
    task, model = LabelledTextSpec.of_file(tmp_path / "reviews.csv"), ClassifierSpec(embedding_size=8, hidden=6)
    spec = RunSpec(task=task, model=model, batch=8, evaluation_batch=10, init_seed=0, data_seed=0)
    twin = spec.model_copy(update={"init_seed": 7, "deception": TwinSpec(run=spec.id, step=10, weight=0.1)})
    for one in (spec, twin):
        train(one, SCHEDULE, near)
    hear(train_on_ray(order(spec, tmp_path), []), far)
    weights = pack(collect(far.run(spec.id), only="checkpoints/10/"))
    assert hear(train_on_ray(order(twin, tmp_path), [], weights), far)[-1]["kind"] == "finished"
    assert bits(far) == bits(near)


def test_a_store_that_is_seen_is_trained_in(stores, tmp_path):
    near, far = stores
    spec = proxy_spec()
    train(spec, SCHEDULE, near)
    far.root.mkdir()
    (far.root / "token").touch()
    seen = order(spec, tmp_path, store=str(far.root), token="token")
    messages = list(train_on_ray(seen, []))
    assert not any(message.startswith(PARCEL) for message in messages)
    (far.root / "token").unlink()
    assert bits(far) == bits(near)
    (*_, last) = hear(train_on_ray(seen, []), far)
    assert last["kind"] == "failed"
    assert "does not see" in last["error"]


def test_a_task_that_is_given_up_saves_where_it_is(stores, tmp_path):
    _, far = stores
    far.root.mkdir()
    (far.root / "token").touch()
    long = Schedule(steps=10**6, evaluations=(), checkpoint_every=10**6)
    messages = train_on_ray(order(proxy_spec(), tmp_path, long, store=str(far.root), token="token"), [])
    assert next(message for message in messages if b'"moved"' in message)
    messages.close()
    run = far.run(proxy_spec().id)
    assert run.steps()
    assert not run.is_locked()


def test_a_failure_is_said_with_its_sentence(stores, tmp_path):
    _, far = stores
    spec = proxy_spec()
    damaged = bytearray(pack(collect(far.run(spec.id))))
    damaged[-1] ^= 1
    (*_, last) = hear(train_on_ray(order(spec, tmp_path), [], bytes(damaged)), far)
    assert last["kind"] == "failed"
    assert "parcel" in last["error"]

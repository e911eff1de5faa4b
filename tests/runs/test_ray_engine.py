"""Sweeps on a real Ray cluster of two nodes: the same bits as here, through lost nodes, killed workers and drivers."""

import json
import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest
from tests.runs.for_ray import bits, node_settings, patiently, text_jobs

from attnlab.cluster import connection
from attnlab.cluster.connection import ClusterError, Need
from attnlab.errors import UsageError
from attnlab.families.texts.spec import LabelledTextSpec
from attnlab.runs.engine import Job, LocalEngine
from attnlab.runs.optimisers import AdamSpec
from attnlab.runs.ray_engine import RayEngine
from attnlab.runs.schedule import Schedule
from attnlab.runs.store import RunStore
from attnlab.runs.sweep import sweep

ray = pytest.importorskip("ray", reason="make test-more installs Ray")
pytestmark = [pytest.mark.more, pytest.mark.filterwarnings("ignore")]  # Ray's own warnings are not ours to mend
STEPS, LONG = 400, 4000
"""Updates of a run; the second leaves time to kill its worker, however fast the machine is."""


def jobs_of(make_spec, seeds, steps=STEPS, every=20, **changes):
    schedule = Schedule.every(steps // 4, steps=steps, checkpoint_every=every)
    return [Job(f"seed {seed}", make_spec(seed, **changes), schedule) for seed in seeds]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    """Two nodes of one processor. The second has no data, and a cache of its own."""
    from ray.cluster_utils import Cluster

    made = patiently(lambda: Cluster(initialize_head=True, head_node_args=node_settings(num_cpus=1)))
    made.folder = tmp_path_factory.mktemp("second")
    made.second = add_second(made)
    yield made
    ray.shutdown()
    made.shutdown()


def add_second(cluster):
    variables = {**os.environ, "ATTNLAB_CACHE": str(cluster.folder), "ATTNLAB_DATA": "/nowhere"}
    return patiently(lambda: cluster.add_node(num_cpus=1, object_store_memory=10**8, env_vars=variables))


@pytest.fixture(scope="module")
def expected(tmp_path_factory):
    """What the local engine makes of four small runs: their bits."""
    from tests.runs.conftest import small_spec

    store = RunStore(tmp_path_factory.mktemp("local"))
    assert sweep(jobs_of(small_spec, range(4)), store, LocalEngine(2)).failed == {}
    return bits(store)


@pytest.mark.parametrize("shared", [None, False])
def test_a_node_that_is_removed_costs_no_run_and_no_bit(shared, cluster, expected, make_spec, store):
    cluster.wait_for_nodes()
    moved, deaths = {}, []

    def report(job, event):
        if event.kind == "moved":
            moved[job.label] = event.step
        if event.kind == "waits":
            deaths.append(event.error)
        if cluster.second is not None and sum(step >= 40 for step in moved.values()) >= 2:
            cluster.remove_node(cluster.second, allow_graceful=False)
            cluster.second = None

    engine = RayEngine(cluster.address, need=Need(1), every=0.2, shared=shared)
    swept = sweep(jobs_of(make_spec, range(4)), store, engine, report)
    cluster.second = add_second(cluster)
    assert swept.failed == {}
    assert any("its worker died" in sentence for sentence in deaths)
    assert bits(store) == expected
    assert store.verify() == []


def test_a_killed_worker_costs_no_run_and_no_bit(cluster, make_spec, store, tmp_path):
    jobs, killed = jobs_of(make_spec, range(2), steps=LONG), []

    def report(job, event):
        if event.kind == "moved" and event.step >= 60 and not killed:
            holder = store.root / ".locks" / f"{job.spec.id}.holder"
            if (process := json.loads(holder.read_text())["pid"]) != os.getpid():  # which reads what is finished
                killed.append(process)
                os.kill(process, signal.SIGKILL)

    assert sweep(jobs, store, RayEngine(cluster.address, every=0.2, shared=True), report).failed == {}
    assert killed
    here = RunStore(tmp_path / "here")
    assert sweep(jobs, here, LocalEngine(2)).failed == {}
    assert bits(store) == bits(here)


DRIVER = """
    import sys
    sys.path.insert(0, sys.argv[3])
    from tests.runs.conftest import small_spec
    from tests.runs.test_ray_engine import jobs_of
    from attnlab.runs.ray_engine import RayEngine
    from attnlab.runs.store import RunStore
    from attnlab.runs.sweep import sweep

    engine = RayEngine(sys.argv[2], every=0.1, shared=False)
    jobs, store = jobs_of(small_spec, range(4)), RunStore(sys.argv[1])
    sweep(jobs, store, engine, lambda job, event: print(event.kind, flush=True))
"""


def test_a_killed_driver_goes_on_when_it_is_called_again(cluster, expected, make_spec, store):
    root = Path(__file__).parents[2]
    command = [sys.executable, "-c", textwrap.dedent(DRIVER), str(store.root), cluster.address, str(root)]
    jobs = jobs_of(make_spec, range(4))
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as driver:
        while not any(store.run(job.spec.id).steps() for job in jobs):
            assert driver.stdout.readline()
        driver.send_signal(signal.SIGKILL)
    time.sleep(1)  # Ray ends the tasks of a driver that is gone
    assert len(bits(store)) < len(expected)
    began = max(step for job in jobs for step in store.run(job.spec.id).steps())
    first = {}

    def report(job, event):
        if event.kind == "moved":
            first.setdefault(job.label, event.step)

    swept = sweep(jobs, store, RayEngine(cluster.address, shared=False), report)
    assert swept.failed == {}
    assert began > 0
    assert max(first.values()) >= began
    assert bits(store) == expected


def test_ctrl_c_saves_a_checkpoint_first(cluster, make_spec, store):
    jobs, reached = jobs_of(make_spec, [0], steps=100_000, every=10_000), []

    def report(job, event):
        if event.kind == "moved" and event.step >= 20:
            reached.append(event.step)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        sweep(jobs, store, RayEngine(cluster.address, shared=True), report)
    run = store.run(jobs[0].spec.id)
    assert not run.is_locked()
    assert max(run.steps()) >= reached[0]


def test_a_run_that_fails_three_times_is_named_and_the_others_finish(cluster, make_spec, store):
    bad = Job("bad", make_spec(5, optimiser=AdamSpec(learning_rate=1e38)), Schedule.every(4, steps=40))
    jobs = [bad, *jobs_of(make_spec, range(2), steps=20)]
    began = []
    report = lambda job, event: began.append(job.label) if event.kind == "began" else None  # noqa: E731
    swept = sweep(jobs, store, RayEngine(cluster.address, shared=False), report)
    assert began.count("bad") == 3
    assert list(swept.failed) == ["bad"]
    assert "failed 3 times" in swept.failed["bad"]
    assert "learning rate 1e+38" in swept.failed["bad"]
    assert set(swept.finished) == {job.spec.id for job in jobs[1:]}


def test_data_and_weights_travel_to_a_node_that_has_neither(cluster, tmp_path, monkeypatch):
    words = ["good", "bad", "film", "plot", "the", "a"]
    lines = [f"{words[k % 2]} {words[2 + k % 4]} {words[k % 5]},{k % 2}" for k in range(60)]
    path = tmp_path / "reviews.csv"
    path.write_text("text,label\n" + "\n".join(lines) + "\n")
    task = LabelledTextSpec.of_file(path)
    local, far = RunStore(tmp_path / "local"), RunStore(tmp_path / "far")
    for jobs in text_jobs(task):
        assert sweep(jobs, local, LocalEngine(1)).failed == {}
    path.unlink()
    cluster.wait_for_nodes()
    connection.connect(cluster.address, 1)
    second = next(node["NodeID"] for node in ray.nodes() if node["Alive"] and node["NodeManagerPort"] != head_port())
    engine = RayEngine(cluster.address, shared=False)
    monkeypatch.setattr(ray, "remote", pinned_to(second, ray.remote))
    for jobs in text_jobs(task):
        assert sweep(jobs, far, engine).failed == {}
    assert (cluster.folder / f"corpus-{task.content}.safetensors").is_file()
    assert bits(far) == bits(local)


def head_port():
    return next(node["NodeManagerPort"] for node in ray.nodes() if "node:__internal_head__" in node["Resources"])


def pinned_to(node, remote):
    """`ray.remote` whose training tasks run on one node."""
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy as OnNode

    def pinned(function):
        made = remote(function)
        if function.__name__ != "train_on_ray":
            return made
        return _Pinned(made)

    class _Pinned:
        def __init__(self, made):
            self.made = made

        def options(self, **settings):
            return self.made.options(**settings, scheduling_strategy=OnNode(node, soft=False))

    return pinned


@pytest.mark.parametrize(("need", "kind"), [(Need(1, 4), "GPUs"), (Need(64), "CPUs")])
def test_more_than_any_node_has_is_refused_in_a_sentence(need, kind, cluster, make_spec, store):
    with pytest.raises(UsageError, match=f"no node of the cluster has so many {kind}"):
        sweep(jobs_of(make_spec, [0], steps=20), store, RayEngine(cluster.address, need=need))


def test_other_versions_on_a_node_are_named(cluster, make_spec, store, monkeypatch):
    ours = {**connection.versions(), "torch": "1.0"}
    monkeypatch.setattr(connection, "versions", lambda: ours)
    with pytest.raises(ClusterError, match=r"has torch 2.* \(here 1\.0\)"):
        sweep(jobs_of(make_spec, [0], steps=20), store, RayEngine(cluster.address))

"""On a real Ray of two nodes: `align`, `forecast` and `samples` go on where a worker is killed or a node is lost, and
give the same in the end.
"""

import json
import os
import signal
import warnings
from contextlib import suppress
from pathlib import Path

import pytest
from tests.auditing.test_audit import write
from tests.cluster.test_tables import blocks_of, mixture
from tests.runs.for_ray import node_settings, patiently
from typer.testing import CliRunner

from attnlab.cli.main import app
from attnlab.cluster import crew as crews
from attnlab.cluster.connection import ClusterError
from attnlab.cluster.crew import ClusterWarning, HereCrew, RayCrew, WorkerDied
from attnlab.cluster.samples import TrainOnRay
from attnlab.cluster.sharded import ShardedCorpus, align_sharded
from attnlab.data.texts import read_texts
from attnlab.measures.samples import samples
from attnlab.theory.shards import Shard

ray = pytest.importorskip("ray", reason="make test-more installs Ray")
pytestmark = [pytest.mark.more, pytest.mark.filterwarnings("ignore")]  # Ray's own warnings are not ours to mend


@pytest.fixture(scope="module")
def cluster():
    """Two nodes of one processor."""
    from ray.cluster_utils import Cluster

    made = patiently(lambda: Cluster(initialize_head=True, head_node_args=node_settings(num_cpus=1)))
    made.second = patiently(lambda: made.add_node(num_cpus=1, object_store_memory=10**8))
    made.wait_for_nodes()
    yield made
    ray.shutdown()
    made.shutdown()


@pytest.fixture
def texts(tmp_path, monkeypatch):
    """Two pairs of files; the options that name them."""
    monkeypatch.chdir(tmp_path)
    pairs = mixture(120)
    for number in range(2):
        some = pairs[60 * number : 60 * number + 60]
        for side, name in ((0, "de"), (1, "en")):
            (tmp_path / f"part-{number}.{name}").write_text("".join(" ".join(pair[side]) + "\n" for pair in some))
    return ["--source", "part-*.de", "--target", "part-*.en", "--json"]


def process_of(worker):
    return ray.get(worker.__ray_call__.remote(lambda self: os.getpid()))


@pytest.fixture
def kill_before(monkeypatch):
    """Kill the process of one worker before the crew's so manieth exchange; the list of those that were killed."""

    def set_up(exchange):
        killed, made, plainly = [], [], RayCrew.exchange

        def exchanging(crew, *values):
            made.append(values[0])
            if len(made) == exchange:
                killed.append(process_of(crew.workers[1]))
                os.kill(killed[0], signal.SIGKILL)
            return plainly(crew, *values)

        monkeypatch.setattr(RayCrew, "exchange", exchanging)
        return killed

    return set_up


def run(*words):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        done = CliRunner().invoke(app, [str(word) for word in words], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    said = [str(one.message) for one in caught if issubclass(one.category, ClusterWarning)]
    return json.loads(done.stdout), said


def test_align_goes_on_where_a_worker_is_killed(cluster, texts, kill_before, tmp_path):
    """In the third iteration of the second direction: the first one's links and table are lost with the worker too."""
    far = ["--engine", "ray", "--address", cluster.address]
    outputs = ("links.txt", "table.parquet")
    how = ["align", *texts, "--out", outputs[0], "--table-out", outputs[1]]
    undisturbed, _ = run(*how, *far)
    before = [(tmp_path / name).read_bytes() for name in outputs]
    here, _ = run(*how)
    killed = kill_before(11 + 1 + 2 * 2 + 1)
    ours, said = run(*how, *far)
    assert killed
    assert said == ["Worker 2 of 2 died; another takes its place and its part is done again."]
    assert ours == undisturbed
    assert [(tmp_path / name).read_bytes() for name in outputs] == before
    assert ours["links"] == here["links"]


def test_a_forecast_goes_on_where_a_worker_is_killed(cluster, texts, kill_before):
    far = ["--engine", "ray", "--address", cluster.address]
    undisturbed, _ = run("forecast", *texts, *far)
    here, _ = run("forecast", *texts)
    killed = kill_before(2)
    ours, said = run("forecast", *texts, *far)
    assert killed
    assert len(said) == 1
    assert ours == undisturbed
    assert ours["gain"] == pytest.approx(here["gain"], abs=1e-9)


def test_a_worker_that_dies_again_and_again_is_given_up(cluster, texts, kill_before, monkeypatch):
    monkeypatch.setattr(crews, "DEATHS", 0)
    kill_before(3)
    with pytest.raises(ClusterError, match=r"1 workers died\. If they had too little memory"):
        run("align", *texts, "--engine", "ray", "--address", cluster.address)


def test_a_failure_is_no_death_and_what_was_lost_with_another_worker_is(cluster):
    crew = RayCrew(Shard, 2, cluster.address)
    with pytest.raises(ClusterError, match=r"A worker failed .*forward") as failed:
        crew.ask("rows", "forward", 0, 1)  # there is no table yet
    assert not isinstance(failed.value, WorkerDied)
    ray.kill(crew.workers[1])
    lost = None
    with suppress(ray.exceptions.RayActorError):
        while True:  # until it is known to be dead
            ray.get(lost := crew.workers[1].memory.remote())
    with pytest.raises(WorkerDied):
        crew._get([crew.workers[0].rows.remote("forward", lost, 1)])
    crew.close()


def training_processes(cluster):
    """Processes of this cluster's workers that train on a subsample right now."""
    raylets = {one.process.pid for node in cluster.list_all_nodes() for one in node.all_processes["raylet"]}
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            parent = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
            if parent in raylets and b"train_sample" in (folder / "cmdline").read_bytes():
                yield int(folder.name)


def test_a_killed_worker_costs_no_subsample(cluster, tmp_path):
    texts, killed = read_texts(write(tmp_path / "films.csv", 100)), []

    def watch(said):
        if "trainings are done" in said and not killed:
            for process in training_processes(cluster):
                killed.append(process)
                os.kill(process, signal.SIGKILL)
                return

    how = {"sizes": [40, 60, 80], "repeats": 4}
    far = samples(texts, **how, watch=watch, trainer=TrainOnRay(cluster.address))
    assert killed
    assert far == samples(texts, **how)


def test_a_lost_node_costs_no_table(cluster):
    """Its worker goes on beside the other one: no node is left that has a processor to itself."""
    pairs, lost = mixture(), []

    def watch(direction, iteration, _):
        if (direction, iteration) == ("reverse", 2):
            lost.append(cluster.second)
            cluster.remove_node(cluster.second, allow_graceful=False)

    crew = RayCrew(Shard, 2, cluster.address)
    corpus = ShardedCorpus(crew, lambda: blocks_of(pairs))
    made = align_sharded(corpus, iterations=3, keep=True, watch=watch)
    here = ShardedCorpus(HereCrew(Shard, 2), lambda: blocks_of(pairs))
    alone = align_sharded(here, iterations=3, keep=True)
    assert len(lost) == 1
    assert (made.lines, made.models) == (alone.lines, alone.models)
    parts = [[part.to_pylist() for part in one.parts(["forward", "reverse"], True)] for one in (corpus, here)]
    assert parts[0] == parts[1]
    crew.close()

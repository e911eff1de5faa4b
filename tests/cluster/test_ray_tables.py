"""On a real Ray of two workers: tables and forecasts are those of one process."""

import time
from dataclasses import asdict

import pyarrow as pa
import pytest
from tests.cluster.test_tables import assert_same_entries, blocks_of, entries, mixture, plain, whole
from tests.runs.for_ray import patiently

from attnlab.cluster.connection import ClusterError
from attnlab.cluster.crew import RayCrew
from attnlab.cluster.gains import ReadByCrew
from attnlab.cluster.sharded import ShardedCorpus, align_sharded
from attnlab.theory.aligner import align, pharaoh
from attnlab.theory.forecast import forecast
from attnlab.theory.gain_shards import GainShard
from attnlab.theory.shards import Shard

ray = pytest.importorskip("ray", reason="make test-more installs Ray")
pytestmark = [pytest.mark.more, pytest.mark.filterwarnings("ignore")]  # Ray's own warnings are not ours to mend


@pytest.fixture(scope="module", autouse=True)
def local_ray():
    """A Ray of two processors, which the commands use as they find it."""
    settings = {"include_dashboard": False, "object_store_memory": 10**8, "log_to_driver": False}
    patiently(lambda: ray.init(address="local", num_cpus=2, **settings))
    yield
    ray.shutdown()


def test_tables_and_links_are_those_of_one_process():
    pairs = mixture()
    crew = RayCrew(Shard, 2)
    corpus = ShardedCorpus(crew, lambda: blocks_of(pairs))
    made = align_sharded(corpus, iterations=3, keep=True)
    alone = align(whole(pairs), iterations=3)
    assert b"".join(made.lines) == bytes(pharaoh(alone.alignment))
    table = pa.concat_tables(corpus.parts(["forward", "reverse"], True))
    assert_same_entries(entries(table), entries(alone.lexicon.rows()))
    crew.close()


def test_a_forecast_is_that_of_one_process():
    pairs, crew = whole(mixture()), RayCrew(GainShard, 2)
    made, alone = (plain(asdict(forecast(pairs, reader=reader))) for reader in (ReadByCrew(crew), None))
    for one, other in zip(made, alone, strict=True):
        assert one == (pytest.approx(other, abs=1e-9) if isinstance(one, float) else other)
    crew.close()


def test_a_worker_that_dies_is_said_in_a_sentence():
    crew = RayCrew(Shard, 2)
    crew.ask("memory")
    ray.kill(crew.workers[1])

    def ask_again() -> None:
        for _ in range(300):  # a kill takes a moment to arrive
            crew.ask("memory")
            time.sleep(0.1)

    with pytest.raises(ClusterError, match="A worker died"):
        ask_again()
    crew.close()


def test_more_workers_than_there_is_room_for_are_refused():
    with pytest.raises(ClusterError, match="5 workers are asked for, and the cluster has room for 2"):
        RayCrew(Shard, 5)

"""Ray's transport pickles: it is handed bytes, texts and numbers, and lists of them, and nothing else.

Between workers: what their methods take and give is looked at within this process. Between this process and a real
Ray: everything that Ray's own serialiser is given here, or makes of what came.
"""

import pytest
from tests.auditing.test_audit import write
from tests.cluster.test_tables import blocks_of, mixture, whole
from tests.runs.for_ray import node_settings, patiently, text_jobs
from tests.runs.small import proxy_spec

from attnlab.cluster.crew import HereCrew, RayCrew
from attnlab.cluster.gains import ReadByCrew
from attnlab.cluster.samples import TrainOnRay
from attnlab.cluster.sharded import ShardedCorpus, align_sharded
from attnlab.data.texts import read_texts
from attnlab.families.texts.spec import LabelledTextSpec
from attnlab.measures.samples import samples
from attnlab.runs.engine import Job
from attnlab.runs.ray_engine import RayEngine
from attnlab.runs.schedule import Schedule
from attnlab.runs.store import RunStore
from attnlab.runs.sweep import sweep
from attnlab.theory.forecast import forecast
from attnlab.theory.gain_shards import GainShard
from attnlab.theory.shards import Shard

PLAIN = (bytes, str, int, float, bool, type(None))


def unplain(value, also=()):
    """What in a value is neither plain nor a list of plain values."""
    if type(value) in (list, tuple):
        return [found for one in value for found in unplain(one, also)]
    return [] if type(value) in (*PLAIN, *also) else [value]


def test_what_is_plain():
    assert unplain([b"", "", 1, 1.0, True, None, (1, [2])]) == []
    for value in ({}, {1}, object(), Schedule, mixture, ValueError("no")):
        assert unplain([1, (value,)]) == [value]


class Looking(HereCrew):
    """A crew that looks at all that its workers take and give."""

    def __init__(self, kind, size):
        self.seen = set()
        super().__init__(lambda number: Watched(self, kind(number)), size)


class Watched:
    def __init__(self, crew, inside):
        self.crew, self.inside = crew, inside

    def __getattr__(self, name):
        method = getattr(self.inside, name)

        def call(*values):
            made = method(*values)
            assert unplain([values, made]) == [], name
            self.crew.seen.add(name)
            return made

        return call


def test_workers_of_a_table_take_and_give_plain_values():
    crew = Looking(Shard, 3)
    corpus = ShardedCorpus(crew, lambda: blocks_of(mixture(60)))
    align_sharded(corpus, iterations=2, keep=True)
    list(corpus.parts(["forward", "reverse"], True))
    corpus.known(whole([(["w1"], ["W1"])]), ["forward"], True)
    corpus.count()
    crew.ask("spent")
    crew.ask("memory")
    methods = {name for name in vars(Shard) if not name.startswith("_")}
    assert crew.seen == methods - {"empty"}  # which `words` calls


def test_workers_of_a_forecast_take_and_give_plain_values():
    crew = Looking(GainShard, 3)
    forecast(whole(mixture(60)), reader=ReadByCrew(crew))
    assert crew.seen == {name for name in vars(GainShard) if not name.startswith("_")}


@pytest.fixture(scope="module")
def cluster():
    """Nodes that have no data of this process' own."""
    ray = pytest.importorskip("ray", reason="make test-more installs Ray")
    from ray.cluster_utils import Cluster

    made = patiently(lambda: Cluster(initialize_head=True, head_node_args=node_settings(num_cpus=2)))
    yield made
    ray.shutdown()
    made.shutdown()


@pytest.fixture
def handed(cluster, monkeypatch):
    """All values that Ray's serialiser is handed in this process, or makes of what came."""
    from ray._private.serialization import SerializationContext

    values, serialise, restore = [], SerializationContext.serialize, SerializationContext.deserialize_objects

    def serialising(self, value, *rest, **named):
        values.append(value)
        return serialise(self, value, *rest, **named)

    def restoring(self, *rest, **named):
        made = restore(self, *rest, **named)
        values.extend(made)
        return made

    monkeypatch.setattr(SerializationContext, "serialize", serialising)
    monkeypatch.setattr(SerializationContext, "deserialize_objects", restoring)
    return values


def check(handed, sent, came):
    """All is plain, and so many values at least were sent and came as bytes or texts, not counting empty ones."""
    import ray

    assert unplain(handed, also=(ray.ObjectRef,)) == []
    assert sum(bool(value) for value in handed if isinstance(value, (bytes, str))) >= sent + came


@pytest.mark.more
@pytest.mark.filterwarnings("ignore")  # Ray's own warnings are not ours to mend
def test_runs_travel_as_plain_values(cluster, handed, tmp_path):
    """Jobs, their data, checkpoints, the weights of a twin's original, and events."""
    store = RunStore(tmp_path / "runs")
    task = LabelledTextSpec.of_file(write(tmp_path / "films.csv", 60))
    engine = RayEngine(cluster.address, every=0.0, shared=False)
    for jobs in text_jobs(task):
        assert sweep(jobs, store, engine).failed == {}
    check(handed, sent=6, came=10)
    assert any(isinstance(value, bytes) and len(value) > 1000 for value in handed)
    handed.clear()
    jobs = [Job("in place", proxy_spec(), Schedule.every(5, steps=10))]
    assert sweep(jobs, store, RayEngine(cluster.address, shared=True)).failed == {}
    check(handed, sent=1, came=3)


@pytest.mark.more
@pytest.mark.filterwarnings("ignore")
def test_tables_forecasts_and_subsamples_travel_as_plain_values(cluster, handed, tmp_path):
    with RayCrew(Shard, 2, cluster.address) as crew:
        corpus = ShardedCorpus(crew, lambda: blocks_of(mixture(60)))
        align_sharded(corpus, iterations=2, keep=True)
        list(corpus.parts(["forward"], True))
    check(handed, sent=20, came=10)
    handed.clear()
    with RayCrew(GainShard, 2, cluster.address) as crew:
        forecast(whole(mixture(60)), reader=ReadByCrew(crew))
    check(handed, sent=8, came=2)
    handed.clear()
    texts = read_texts(write(tmp_path / "films.csv", 100))
    samples(texts, sizes=[40], repeats=2, trainer=TrainOnRay(cluster.address))
    check(handed, sent=1, came=2)

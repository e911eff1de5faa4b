"""Workers that die at any of their calls: others take their places, and tables and forecasts are the same to the last
bit. Within this process, no Ray.
"""

from dataclasses import asdict

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.cluster.test_tables import CORPUS, blocks_of, mixture, plain, spread, whole

from attnlab.cluster.crew import HereCrew, WorkerDied
from attnlab.cluster.gains import ReadByCrew
from attnlab.cluster.sharded import ShardedCorpus, align_sharded
from attnlab.errors import UsageError
from attnlab.theory.forecast import forecast
from attnlab.theory.gain_shards import GainShard
from attnlab.theory.shards import Shard

BOTH = ["forward", "reverse"]


class Mortal(HereCrew):
    """A crew in which the worker that is called dies at some calls, and with it what it held."""

    def __init__(self, kind, size, deaths):
        self.kind, self.deaths, self.calls, self.replaced = kind, set(deaths), 0, []
        super().__init__(self.one, size)

    def one(self, number):
        return Frail(self, self.kind(number))

    def replace(self):
        dead = [number for number, worker in enumerate(self.workers) if worker.inside is None]
        for number in dead:
            self.workers[number] = self.one(number)
        self.replaced += dead
        self._answers = []
        return dead


class Frail:
    def __init__(self, crew, inside):
        self.crew, self.inside = crew, inside

    def __getattr__(self, name):
        self.crew.calls += 1
        if self.crew.calls in self.crew.deaths:
            self.inside = None
        if self.inside is None:
            raise WorkerDied("It is gone.")
        return getattr(self.inside, name)


def all_of(corpus, iterations=3):
    """Everything that a corpus gives, and which iterations were said."""
    said = []
    watch = lambda direction, iteration, _: said.append((direction, iteration))  # noqa: E731
    made = align_sharded(corpus, iterations=iterations, keep=True, watch=watch)
    gold = whole([(["a", "b"], ["c", "a"])])
    known = corpus.known(gold, BOTH, True).rows().to_pylist()
    return pa.concat_tables(corpus.parts(BOTH, True)).to_pylist(), made.lines, made.models, known, said


@given(CORPUS, st.integers(1, 4), st.lists(st.integers(1, 250), min_size=1, max_size=4))
@settings(max_examples=60)
def test_deaths_change_no_bit_of_a_table(pairs, workers, deaths):
    undisturbed = all_of(spread(pairs, workers))
    crew = Mortal(Shard, workers, deaths)
    assert all_of(ShardedCorpus(crew, lambda: blocks_of(pairs))) == undisturbed
    assert len(crew.replaced) == sum(call <= crew.calls for call in set(deaths))


def test_a_death_at_every_call_of_a_training():
    """While sentences come, in each iteration of both directions, and while the tables are read."""
    pairs = mixture(40)
    undisturbed = all_of(spread(pairs, 2), iterations=2)
    calm = Mortal(Shard, 2, [])
    all_of(ShardedCorpus(calm, lambda: blocks_of(pairs)), iterations=2)
    assert calm.calls > 80
    for call in range(1, calm.calls + 1):
        crew = Mortal(Shard, 2, [call])
        assert all_of(ShardedCorpus(crew, lambda: blocks_of(pairs)), iterations=2) == undisturbed
        assert len(crew.replaced) == 1


def test_deaths_change_no_bit_of_a_count_table():
    pairs, tables = mixture(60), []
    for deaths in ([], [40], [55, 60]):
        crew = Mortal(Shard, 3, deaths)
        corpus = ShardedCorpus(crew, lambda: blocks_of(pairs))
        corpus.count()
        tables.append(pa.concat_tables(corpus.parts(["forward"], False)).to_pylist())
        assert len(crew.replaced) == len(deaths)
    assert tables[0] == tables[1] == tables[2]


def test_deaths_change_no_number_of_a_forecast():
    pairs = whole(mixture(90))
    calm = Mortal(GainShard, 3, [])
    undisturbed = plain(asdict(forecast(pairs, reader=ReadByCrew(calm))))
    for call in range(1, calm.calls + 1):
        crew = Mortal(GainShard, 3, [call, call + 5])
        assert plain(asdict(forecast(pairs, reader=ReadByCrew(crew)))) == undisturbed
        assert len(crew.replaced) >= 1


def test_sentences_that_changed_meanwhile_are_refused():
    first, later = mixture(40), mixture(41)
    texts = iter([first, later])
    crew = Mortal(Shard, 2, [])
    corpus = ShardedCorpus(crew, lambda: blocks_of(next(texts)))
    crew.deaths = {crew.calls + 5}
    with pytest.raises(UsageError, match="have changed since they were first read"):
        align_sharded(corpus)

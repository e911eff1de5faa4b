"""Tables spread over workers are those of one process: IBM Model 1, counts, forecasts. Within this process, no Ray."""

from dataclasses import asdict

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attnlab.cluster.crew import HereCrew
from attnlab.cluster.gains import ReadByCrew
from attnlab.cluster.samples import pack_texts, unpack_texts
from attnlab.cluster.sharded import ShardedCorpus, align_sharded
from attnlab.data.many_files import Block
from attnlab.data.sentence_pairs import SentencePairs
from attnlab.errors import UsageError
from attnlab.seeds import numpy_generator
from attnlab.theory.aligner import align, pharaoh
from attnlab.theory.counts import count_table
from attnlab.theory.forecast import forecast
from attnlab.theory.gain_shards import GainShard
from attnlab.theory.lexicon import read_lexicon, write_parts
from attnlab.theory.shards import Shard

SENTENCE = st.lists(st.sampled_from("abcdefgh"), max_size=5)
CORPUS = st.lists(st.tuples(SENTENCE, SENTENCE), min_size=1, max_size=25).filter(
    lambda pairs: any(source and target for source, target in pairs)
)


def blocks_of(pairs, size=4):
    """Blocks of some lines each, as many files would come."""
    for first in range(0, len(pairs), size):
        some = pairs[first : first + size]
        sides = ["".join(" ".join(pair[side]) + "\n" for pair in some).encode() for side in (0, 1)]
        yield Block(*sides, "a file", first + 1, (first + len(some) / 2) / len(pairs))


def whole(pairs):
    kept = [pair if all(pair) else ([], []) for pair in pairs]
    return SentencePairs.from_tokens([pair[0] for pair in kept], [pair[1] for pair in kept])


def spread(pairs, workers):
    return ShardedCorpus(HereCrew(Shard, workers), lambda: blocks_of(pairs))


def entries(table):
    """Values by words, of a lexical table's rows; -1 where a direction has none."""
    names = table.column_names[2:]
    rows = zip(*(table[name].to_pylist() for name in ("source", "target", *names)), strict=True)
    known = ((words[:2], [-1.0 if value is None else value for value in words[2:]]) for words in rows)
    return {words: dict(zip(names, values, strict=True)) for words, values in known}


def assert_same_entries(one, other):
    assert one.keys() == other.keys()
    for words, values in one.items():
        assert values == pytest.approx(other[words], rel=0, abs=1e-9)


@given(CORPUS, st.integers(1, 5), st.booleans(), st.sampled_from(["forward", "reverse", "grow-diag-final-and"]))
@settings(max_examples=40)
def test_a_spread_table_is_that_of_one_process(pairs, workers, null, direction):
    alone = align(whole(pairs), direction=direction, iterations=3, null=null)
    corpus = spread(pairs, workers)
    made = align_sharded(corpus, direction=direction, iterations=3, null=null, keep=True)
    names = [name for name in ("forward", "reverse") if getattr(alone, name) is not None]
    assert list(made.models) == names
    assert_same_entries(entries(pa.concat_tables(corpus.parts(names, null))), entries(alone.lexicon.rows()))
    for name in names:
        assert made.models[name][0] == pytest.approx(getattr(alone, name).log_likelihoods, rel=1e-12, abs=1e-9)
    lines = b"".join(made.lines).split(b"\n")[:-1]
    assert len(lines) == len(pairs) == corpus.pairs
    assert sum(len(line.split()) for line in lines) == made.links
    assert corpus.empty == (whole(pairs).empty + 1).tolist()


@given(CORPUS, st.integers(1, 4), st.booleans())
@settings(max_examples=20)
def test_a_spread_count_table_is_that_of_one_process(pairs, workers, null):
    corpus, alone = spread(pairs, workers), count_table(whole(pairs), null=null)
    corpus.count(null=null)
    rows = entries(pa.concat_tables(corpus.parts(["forward"], null)))
    expected = {
        (alone.input_words[i], alone.output_words[o]): value
        for i, o, value in zip(alone.inputs, alone.outputs, alone.values, strict=True)
    }
    assert {words: values["forward"] for words, values in rows.items()} == pytest.approx(expected, abs=1e-9)


def mixture(sentences=240):
    """Words of a few topics: some in all parts of the corpus, some in one."""
    draw = numpy_generator(0, "mixture")
    source = [
        [
            f"w{min(int(draw.zipf(1.4)), 60)}" if draw.random() < 0.6 else f"p{k // 60}-{draw.integers(9)}"
            for _ in range(6)
        ]
        for k in range(sentences)
    ]
    return [(words, [word.upper() for word in words if draw.random() < 0.8] or ["NONE"]) for words in source]


def test_nobody_holds_the_whole_table():
    pairs = mixture()
    corpus = spread(pairs, 3)
    align_sharded(corpus, direction="forward", iterations=2, keep=True)
    alone = align(whole(pairs), direction="forward", iterations=2).forward.table
    held = [len(worker.tables["forward"][2]) for worker in corpus.crew.workers]
    assert sum(held) == len(alone.values)  # every entry has one owner
    assert max(held) < 0.6 * len(alone.values)


def test_links_and_convergence_are_those_of_one_process():
    pairs = mixture()
    alone = align(whole(pairs), iterations=50, tolerance=1e-3)
    made = align_sharded(spread(pairs, 4), iterations=50, tolerance=1e-3)
    assert b"".join(made.lines) == bytes(pharaoh(alone.alignment))
    assert {name: (len(values), done) for name, (values, done) in made.models.items()} == {
        name: (len(model.log_likelihoods), model.converged)
        for name, model in (("forward", alone.forward), ("reverse", alone.reverse))
    }


@pytest.mark.parametrize("form", [".parquet", ".tsv"])
def test_a_table_written_in_parts_is_the_file_of_one_process(form, tmp_path):
    pairs = mixture()
    corpus = spread(pairs, 3)
    align_sharded(corpus, iterations=2, keep=True)
    path = tmp_path / f"table{form}"
    write_parts(path, form, corpus.parts(["forward", "reverse"], True))
    alone = align(whole(pairs), iterations=2).lexicon
    if form == ".tsv":
        ours, theirs = path.read_text().splitlines(), alone.to_bytes(form).decode().splitlines()
        assert [line.split("\t")[0] for line in ours] == [line.split("\t")[0] for line in theirs]
        assert sorted(line.split("\t")[:2] for line in ours) == sorted(line.split("\t")[:2] for line in theirs)
        return
    assert pq.read_metadata(path).num_row_groups > 1  # it came in parts
    assert_same_entries(entries(read_lexicon(path).rows()), entries(alone.rows()))
    assert [path.name for path in tmp_path.iterdir()] == ["table.parquet"]


def test_the_entries_of_a_few_words_can_be_asked_for():
    pairs = mixture()
    corpus = spread(pairs, 3)
    align_sharded(corpus, iterations=2, keep=True)
    gold = SentencePairs.from_tokens([["w1", "w2", "nowhere"]], [["W1", "W3"]])
    known = entries(corpus.known(gold, ["forward", "reverse"], True).rows())
    alone = entries(align(whole(pairs), iterations=2).lexicon.rows())
    words = {"w1", "w2", ""}, {"W1", "W3", ""}
    assert_same_entries(
        known, {key: value for key, value in alone.items() if key[0] in words[0] and key[1] in words[1]}
    )


def test_sentences_without_words_are_refused():
    with pytest.raises(UsageError, match="no sentence pair with words on both sides"):
        spread([(["a"], []), ([], ["b"])], 2)


# --- forecasts


def plain(value):
    if isinstance(value, dict):
        return [part for key in sorted(value) for part in plain(value[key])]
    if isinstance(value, list | tuple):
        return [part for item in value for part in plain(item)]
    return [value]


@pytest.mark.parametrize("workers", [1, 2, 3, 50])
def test_a_forecast_read_by_workers_is_that_of_one_process(workers):
    pairs = whole(mixture())
    alone = plain(asdict(forecast(pairs)))
    made = plain(asdict(forecast(pairs, reader=ReadByCrew(HereCrew(GainShard, workers)))))
    assert [type(value) for value in made] == [type(value) for value in alone]
    for one, other in zip(made, alone, strict=True):
        assert one == (pytest.approx(other, abs=1e-9) if isinstance(one, float) else other)


def test_each_worker_owns_a_part_of_the_counts():
    pairs = whole(mixture())
    crew = HereCrew(GainShard, 3)
    forecast(pairs, reader=ReadByCrew(crew))
    keys = [worker.keys for worker in crew.workers]
    assert len(np.unique(np.concatenate(keys))) == sum(map(len, keys)) == len(count_table(pairs).values)
    assert max(map(len, keys)) < 0.6 * sum(map(len, keys))


# --- subsamples


def test_texts_travel_whole_but_for_their_words():
    pairs = SentencePairs.from_tokens([["a", "b"], ["b"], ["c", "a", "a"]], [["x"], ["y"], ["x"]])
    came = unpack_texts(pack_texts(pairs))
    for name in ("source", "source_offsets", "target", "target_offsets"):
        assert np.array_equal(getattr(came, name), getattr(pairs, name))
    assert (len(came.source_words), len(came.target_words)) == (3, 2)

"""The gain: closed forms, a slow reading of its definition, and what must be exactly nothing."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from attnlab.data.sentence_pairs import SentencePairs
from attnlab.errors import UsageError
from attnlab.families.copying.task import Independent, Mixture, Permutations, PermutationSets, Selections
from attnlab.seeds import numpy_generator
from attnlab.theory import gain as gain_module
from attnlab.theory.counts import count_table
from attnlab.theory.gain import read_gains


def copied(distribution, count=600, seed=0):
    words = distribution.draw(count, numpy_generator(seed))
    return SentencePairs.from_ids(words, words, distribution.words)


@pytest.mark.parametrize("distribution", [Permutations(4), Permutations(10), PermutationSets(8), PermutationSets(5, 3)])
def test_permutations_have_exactly_nothing(distribution):
    gains = read_gains(copied(distribution, 100))
    assert (gains.gain == 0).all()
    assert (gains.derivative_gain == 0).all()
    assert (gains.input_gain == 0).all()


def test_sets_of_permutations_fool_mutual_information_but_not_the_gain():
    gains = read_gains(copied(PermutationSets(8), 3000))
    assert gains.mutual_information == pytest.approx(1, abs=0.01), "one bit tells the sets apart"
    assert gains.mean == 0


@pytest.mark.parametrize(("k", "n"), [(10, 11), (10, 15), (10, 20), (4, 12)])
def test_k_of_n_gains_what_a_word_and_its_neighbours_tell(k, n):
    # Trans(i | i) = 1/k; another word j of the sentence has (k - 1) / (n - 1) of that.
    exact = np.log2(1 / (1 / k + (k - 1) / k * (k - 1) / (n - 1)))
    gains = read_gains(copied(Selections(k, n), 4000))
    assert gains.mean == pytest.approx(exact, rel=0.02)
    assert (gains.partner == gains.output[:, None]).mean() > 0.99


def brute_force(folds):
    """The definition, word by word, for folds as lists of sentences: for each output word the gains that it may have.

    There are several where positions tie, as then rounding may choose.
    """

    def table(sentences):
        counts = {}
        for source, target in sentences:
            for i in source:
                for o in target:
                    counts[i, o] = counts.get((i, o), 0) + 1 / len(source)
        tokens = sum(len(source) for source, _ in sentences)
        share = {}
        for _, target in sentences:
            for o in target:
                share[o] = share.get(o, 0) + 1 / tokens
        rows = {}
        for (i, _), value in counts.items():
            rows[i] = rows.get(i, 0) + value
        added = sum(share.values())
        return lambda i, o: (counts.get((i, o), 0) + share.get(o, 0)) / (rows.get(i, 0) + added)

    tables = [table(fold) for fold in folds]
    told = []
    for here, fold in enumerate(folds):
        one, two = tables[here - 1], tables[here - 2]
        for source, target in fold:
            for o in target:
                both = []
                for choose, read in ((one, two), (two, one)):
                    most = max(choose(i, o) for i in source)
                    best = [i for i in source if choose(i, o) >= most * (1 - 1e-9)]
                    mean = np.mean([read(i, o) for i in source])
                    both.append([np.log2(read(i, o) / mean) if mean > 0 else 0.0 for i in best])
                told.append([(a + b) / 2 for a in both[0] for b in both[1]])
    return told


sentences = st.lists(
    st.tuples(st.lists(st.integers(0, 6), min_size=1, max_size=5), st.lists(st.integers(0, 4), min_size=1, max_size=4)),
    min_size=12,
    max_size=30,
)


@given(sentences=sentences, sparse=st.booleans())
def test_it_is_what_its_definition_says(sentences, sparse):
    # Equal sentences are to be in one third together; sentences of one word each count as texts with a label.
    by_source = all(len(target) == 1 for _, target in sentences)
    assume(len({str(source if by_source else (source, target)) for source, target in sentences}) >= 12)
    pairs = SentencePairs.from_tokens(
        *([[str(w) for w in side] for side in sides] for sides in zip(*sentences, strict=True))
    )
    with pytest.MonkeyPatch.context() as patch:
        if sparse:
            patch.setattr(gain_module, "DENSE", 0)
        gains = read_gains(pairs)
    read = gains.pairs
    rows = [
        (
            read.source[read.source_offsets[m] : read.source_offsets[m + 1]].tolist(),
            read.target[read.target_offsets[m] : read.target_offsets[m + 1]].tolist(),
        )
        for m in range(len(read))
    ]
    thirds = np.array([gains.fold[gains.pair == m][0] for m in range(len(rows))])
    keys = [str(source if by_source else (source, target)) for source, target in rows]
    assert len(set(keys)) == len(set(zip(keys, thirds.tolist(), strict=True))), "equal sentences are in two thirds"
    sizes = [len({key for key, third in zip(keys, thirds, strict=True) if third == k}) for k in range(3)]
    assert max(sizes) - min(sizes) <= 1, "the thirds have equally many different sentences"
    bounds = np.searchsorted(thirds, range(4)).tolist()
    expected = brute_force([rows[a:b] for a, b in pairwise(bounds)])
    for told, possible in zip(gains.gain, expected, strict=True):
        assert min(abs(told - value) for value in possible) < 1e-8
    assert sorted(r[1] for r in rows) == sorted([pairs.target_words.index(str(w)) for w in t] for _, t in sentences)


def test_its_whole_table_is_the_count_table():
    pairs = copied(Independent(6, 5), 60)
    cells = gain_module.Cells.of(pairs)
    table = gain_module.table_of(cells, cells.block(pairs, 0, len(pairs)))
    assert table.counts.reshape(5, 5) == pytest.approx(count_table(pairs).dense(), rel=1e-12)


def test_chance_does_not_look_like_knowledge():
    rng = numpy_generator(8)
    source, target = rng.integers(200, size=(400, 12)), rng.integers(200, size=(400, 12))
    gains = read_gains(SentencePairs.from_ids(source, target, 200))
    assert gains.mean < 0.01
    assert gains.information.mean() > 0.05, "the uncorrected measure sees something where nothing is"


def test_a_share_of_telling_sentences_tells_in_proportion():
    few, more = (
        read_gains(copied(Mixture((Permutations(10), Selections(10, 20)), (1 - share, share)), 3000)).mean
        for share in (0.1, 0.5)
    )
    alone = read_gains(copied(Selections(10, 20), 3000)).mean
    assert 0 < few < more < alone


def test_a_large_corpus_is_thinned(monkeypatch):
    monkeypatch.setattr(gain_module, "MOST_CELLS", 5000)
    gains = read_gains(copied(Permutations(10), 600))
    assert len(gains.pairs) == 50
    assert gains.thinned


def test_one_huge_pair_is_set_aside_and_all_others_are_read():
    words = Selections(10, 20).draw(1013, numpy_generator(0)).astype(str).tolist()
    long = [str(k % 20) for k in range(4000)]
    pairs = SentencePairs.from_tokens([*words[:500], long, *words[500:]], [*words[:500], long, *words[500:]])
    gains = read_gains(pairs)
    assert (len(gains.pairs), gains.huge.tolist(), gains.thinned) == (1013, [500], False)
    without = read_gains(SentencePairs.from_tokens(words, words))
    assert gains.mean == pytest.approx(without.mean, abs=0.01)


def test_a_long_pair_is_read_where_all_can_be_read():
    words = Selections(10, 20).draw(100, numpy_generator(0)).astype(str).tolist()
    gains = read_gains(SentencePairs.from_tokens([["1", "2"] * 500, *words], [["1", "2"] * 500, *words]))
    assert (len(gains.pairs), len(gains.huge), gains.thinned) == (101, 0, False)


def test_texts_that_are_all_long_are_not_huge(monkeypatch):
    monkeypatch.setattr(gain_module, "MOST_CELLS", 50_000)
    rng = numpy_generator(0)
    pairs = SentencePairs.from_ids(rng.integers(30, size=(40, 2000)), rng.integers(2, size=(40, 1)))
    gains = read_gains(pairs)
    assert (len(gains.pairs), len(gains.huge), gains.thinned) == (25, 0, True)


def noise(count, seed=0):
    """Texts of ten words and labels that have nothing to do with each other."""
    rng = numpy_generator(seed, "noise")
    return SentencePairs.from_ids(rng.integers(60, size=(count, 10)), rng.integers(2, size=(count, 1)), 60)


def test_noise_ten_times_over_is_still_noise():
    once = [noise(60, seed) for seed in range(10)]
    means = [read_gains(pairs.select(np.tile(np.arange(60), 10))).mean for pairs in once]
    assert np.mean(means) < 0.05 and max(means) < 0.5, "equal sentences are read from a count of themselves"


def test_a_text_under_two_labels_is_one_text():
    once = noise(60)
    twice = SentencePairs.from_ids(
        np.tile(once.source.reshape(60, 10), (2, 1)), np.concatenate([once.target, 1 - once.target])[:, None], 60
    )
    assert len(np.unique(read_gains(twice).group)) == 60


def test_without_equal_sentences_order_and_thirds_are_the_shuffle_s():
    gains = read_gains(noise(100))
    assert gains.order.tolist() == numpy_generator(0, "forecast").permutation(100).tolist()
    assert np.bincount(gains.fold).tolist() == [33, 33, 34]


def test_the_seed_decides_the_thirds():
    pairs = copied(Independent(5, 8), 60)
    one, same, other = (read_gains(pairs, seed=seed) for seed in (1, 1, 2))
    assert one.mean == same.mean
    assert one.mean != other.mean


@pytest.mark.parametrize("count", [0, 11])
def test_too_few_sentences_are_refused(count):
    with pytest.raises(UsageError, match=f"at least 12 sentences with words on both sides; there are {count}"):
        read_gains(copied(Permutations(9), count))


def test_too_few_different_sentences_are_refused():
    with pytest.raises(UsageError, match=r"at least 12 different sentences .*; there are 6 among 500"):
        read_gains(copied(Permutations(3), 500))


def test_sentences_that_are_all_too_long_are_counted(monkeypatch):
    monkeypatch.setattr(gain_module, "MOST_CELLS", 1000)
    with pytest.raises(UsageError, match="there are 0, and 50 too long to be read"):
        read_gains(copied(Permutations(10), 50))


def test_empty_sentences_are_passed_over():
    words = [[f"w{k}" for k in row] for row in numpy_generator(0).integers(9, size=(10, 3))]
    pairs = SentencePairs.from_tokens(
        [side for row in words for side in (["b", *row], [], ["c", *row])], [["x"], [], ["y"]] * 10
    )
    gains = read_gains(pairs)
    assert len(gains.pairs) == 20
    assert gains.mean > 0.1

"""Count tables and IBM Model 1 against definitions written out with loops, and against NLTK."""

import math
from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attnlab.data.sentence_pairs import SentencePairs, read_pairs
from attnlab.errors import UsageError
from attnlab.theory import ibm1, links
from attnlab.theory.counts import CountTable, alpha_ibm, beta_ibm, check_table, count_table
from attnlab.theory.ibm1 import best_positions, train_ibm1

SENTENCE = st.lists(st.sampled_from("abcd"), max_size=5)
CORPORA = st.lists(st.tuples(SENTENCE, SENTENCE), min_size=1, max_size=6)
few = settings(max_examples=25)
FULL = CORPORA.filter(lambda corpus: any(s and t for s, t in corpus))


def pairs_of(corpus):
    return SentencePairs.from_tokens(*zip(*corpus, strict=True))


def by_words(table):
    """A table as a dictionary, NULL as the empty word."""
    return {
        (table.input_words[i], table.output_words[o]): v
        for i, o, v in zip(table.inputs, table.outputs, table.values, strict=True)
    }


def counts_by_definition(corpus, null):
    """Equation 13 of P3, term by term."""
    counts = defaultdict(float)
    for source, target in corpus:
        if source and target:
            source = [*source, ""] if null else source
            for word in source:
                for output in target:
                    counts[word, output] += 1 / len(source)
    return counts


def em_by_definition(corpus, iterations, null):
    """IBM Model 1 with loops: tables and log-likelihoods before the first iteration and after each."""
    kept = [([*s, ""] if null else s, t) for s, t in corpus if s and t]
    outputs = {o for _, target in kept for o in target}
    table = defaultdict(lambda: 1 / len(outputs))
    history = [likelihood(table, kept)]
    for _ in range(iterations):
        counts, totals = defaultdict(float), defaultdict(float)
        for source, target in kept:
            for o in target:
                total = sum(table[i, o] for i in source)
                for i in source:
                    counts[i, o] += table[i, o] / total
                    totals[i] += table[i, o] / total
        table = {(i, o): count / totals[i] for (i, o), count in counts.items()}
        history.append(likelihood(table, kept))
    return table, history


def likelihood(table, kept):
    return sum(math.log(sum(table[i, o] for i in s) / len(s)) for s, t in kept for o in t)


@few
@given(CORPORA, st.booleans())
def test_the_count_table_is_equation_13(corpus, null):
    table = check_table(count_table(pairs_of(corpus), null=null))
    assert by_words(table) == pytest.approx(counts_by_definition(corpus, null), abs=1e-12)


@few
@given(FULL, st.booleans())
def test_rows_of_trans_sum_to_one(corpus, null):
    table = count_table(pairs_of(corpus), null=null).normalised()
    assert table.dense().sum(axis=1) == pytest.approx(1)
    assert table.null == null


@few
@given(FULL, st.integers(1, 6), st.booleans(), st.sampled_from([1, 3, 2**22]))
def test_em_is_that_of_the_definition(corpus, iterations, null, chunk):
    """With chunks as small as one link, too: one for every pair."""
    before, links.CHUNK = links.CHUNK, chunk
    try:
        model = train_ibm1(pairs_of(corpus), iterations=iterations, null=null)
    finally:
        links.CHUNK = before
    table, history = em_by_definition(corpus, iterations, null)
    assert by_words(check_table(model.table)) == pytest.approx(table, abs=1e-9)
    assert model.log_likelihoods == pytest.approx(history, abs=1e-7)
    assert model.iterations == iterations


@few
@given(FULL, st.booleans())
def test_the_likelihood_never_falls(corpus, null):
    values = np.array(train_ibm1(pairs_of(corpus), iterations=12, null=null).log_likelihoods)
    assert (np.diff(values) >= -1e-9 * np.abs(values[:-1])).all()


@few
@given(FULL, st.booleans())
def test_one_iteration_is_the_count_table_normalised(corpus, null):
    pairs = pairs_of(corpus)
    model = train_ibm1(pairs, iterations=1, null=null)
    assert by_words(model.table) == pytest.approx(by_words(count_table(pairs, null=null).normalised()))


@few
@given(FULL, st.booleans())
def test_structure_made_anew_each_time_gives_the_same(corpus, null):
    pairs = pairs_of(corpus)
    kept = train_ibm1(pairs, null=null, positions=True)
    before, ibm1.MOST_LINKS_KEPT = ibm1.MOST_LINKS_KEPT, 0
    try:
        anew = train_ibm1(pairs, null=null, positions=True)
    finally:
        ibm1.MOST_LINKS_KEPT = before
    assert anew.table.values.tolist() == kept.table.values.tolist()
    assert anew.positions.tolist() == kept.positions.tolist()


def test_training_stops_when_little_is_gained():
    pairs = pairs_of([(["a", "b"], ["x", "y"]), (["a"], ["x"])])
    model = train_ibm1(pairs, iterations=500, tolerance=1e-4)
    gains = np.diff(model.log_likelihoods) / np.abs(model.log_likelihoods[:-1])
    assert model.converged
    assert model.iterations < 500
    assert (gains[:-1] > 1e-4).all()
    assert gains[-1] <= 1e-4
    assert not train_ibm1(pairs, iterations=3).converged


@few
@given(FULL, FULL, st.booleans())
def test_fields_are_those_of_the_definition(corpus, other, null):
    """On the text itself and on other text, whose unknown words get 0."""
    model = train_ibm1(pairs_of(corpus), iterations=2, null=null)
    known = by_words(model.table)
    for text in (corpus, other):
        pairs = pairs_of(text)
        beta, alpha = beta_ibm(model.table, pairs), alpha_ibm(model.table, pairs)
        tokens = [(s, o) for s, t in text if s and t for o in t]
        assert len(beta) == len(alpha) == len(tokens)
        for k, (source, o) in enumerate(tokens):
            row = [known.get((i, o), 0.0) for i in source]
            total = sum(row) + known.get(("", o), 0.0)
            assert beta.row(k) == pytest.approx(row)
            assert alpha.row(k) == pytest.approx([v / total if total else 0.0 for v in row])


@few
@given(FULL, FULL, st.booleans())
def test_the_best_position_is_the_first_largest(corpus, other, null):
    model = train_ibm1(pairs_of(corpus), iterations=3, null=null, positions=True)
    known = by_words(model.table)
    for text in (corpus, other):
        pairs = pairs_of(text)
        best = best_positions(model.table, pairs)
        expected = []
        for source, o in ((s, o) for s, t in text if s and t for o in t):
            row = [known.get((i, o), 0.0) for i in source]
            largest = max(row)
            nothing = largest == 0 or known.get(("", o), 0.0) > largest
            expected.append(-1 if nothing else row.index(largest))
        assert best.tolist() == expected
    assert model.positions.tolist() == best_positions(model.table, pairs_of(corpus)).tolist()


def test_words_that_look_like_nothing_are_words():
    pairs = pairs_of([(["NA", "null", "None"], ["nan", "NULL"])])
    table = count_table(pairs, null=True)
    assert table.input_words == ["NA", "null", "None", ""]
    assert table.values == pytest.approx([1 / 4] * 8)


def test_one_word_only():
    model = train_ibm1(pairs_of([(["a", "a"], ["x"])]), null=True, positions=True)
    assert model.table.dense().tolist() == [[1.0], [1.0]]
    assert model.positions.tolist() == [0]


def test_lookup_finds_entries_and_zeros():
    table = CountTable(
        np.array([0, 1], np.int32), np.array([1, 0], np.int32), np.array([2.0, 3.0]), ["a", "b"], ["x", "y"]
    )
    assert table.lookup(np.array([0, 0, 1, -1, 1]), np.array([0, 1, 0, 1, -1])).tolist() == [0, 2, 3, 0, 0]
    nothing = CountTable(np.zeros(0, np.int32), np.zeros(0, np.int32), np.zeros(0), ["a"], ["x"])
    assert nothing.lookup(np.array([0]), np.array([0])).tolist() == [0]


@pytest.mark.parametrize(
    ("inputs", "outputs", "values", "told"),
    [([2], [0], [1.0], "words that it has"), ([1, 0], [0, 0], [1.0, 1.0], "sorted"), ([0], [0], [-1.0], "negative")],
)
def test_what_is_no_table_is_told(inputs, outputs, values, told):
    table = CountTable(np.array(inputs), np.array(outputs), np.array(values), ["a", "b"], ["x"])
    with pytest.raises(UsageError, match=told):
        check_table(table)


@pytest.mark.parametrize(
    ("corpus", "settings", "told"),
    [
        ([([], [])], {}, "nothing to count"),
        ([(["a"], ["x"])], {"iterations": 0}, "at least one iteration"),
        ([(["a"], ["x"])], {"tolerance": -1.0}, "at least 0"),
        ([(["a"], ["x"])], {"tolerance": math.nan}, "at least 0"),
    ],
)
def test_what_cannot_be_trained_is_told(corpus, settings, told):
    with pytest.raises(UsageError, match=told):
        train_ibm1(pairs_of(corpus), **settings)


@pytest.mark.needs_data("alignment_gold")
@pytest.mark.filterwarnings("ignore:.*empty lines")
@pytest.mark.parametrize("size", [60, pytest.param(5401, marks=pytest.mark.slow)])
def test_the_table_is_that_of_nltk(data_root, size):
    """With NULL, on the beginning of the Europarl sample, and on all of it, for which NLTK takes minutes.

    NLTK adds up the denominator of a target word once for each time the sentence repeats it, so that a word said twice
    counts once. Model 1 has no such rule. It is put right here; and where no word is repeated, NLTK is right as it is.
    """
    from nltk.translate import AlignedSent, IBMModel1

    class Counted(IBMModel1):
        def prob_all_alignments(self, source, target):
            return super().prob_all_alignments(source, list(dict.fromkeys(target)))

    folder = data_root / "alignment_gold" / "europarl_enes_collins"
    corpus = words_of(read_pairs(folder / "corpus.en", folder / "corpus.es").first(size))
    once = [(source, list(dict.fromkeys(target))) for source, target in corpus]
    for sentences, theirs in ((corpus, Counted), (once, IBMModel1)):
        table = theirs([AlignedSent(t, s) for s, t in sentences if s], 5).translation_table
        ours = by_words(train_ibm1(pairs_of(sentences), iterations=5, null=True).table)
        assert max(abs(table[o][i or None] - value) for (i, o), value in ours.items()) < 1e-6


def words_of(pairs):
    """Pairs as lists of words again."""
    source, target = (
        [words[k] for k in ids]
        for ids, words in ((pairs.source, pairs.source_words), (pairs.target, pairs.target_words))
    )
    bounds = zip(
        pairs.source_offsets, pairs.source_offsets[1:], pairs.target_offsets, pairs.target_offsets[1:], strict=False
    )
    return [(source[a:b], target[c:d]) for a, b, c, d in bounds]

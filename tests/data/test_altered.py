"""Corpora made harder: what an alteration changes and, above all, what it leaves as it was."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chi2_contingency

from attnlab.data.altered import keywords, remove_keywords, shuffle_labels
from attnlab.data.batch import Bags
from attnlab.data.labelled_text import Corpus
from attnlab.errors import UsageError

WORDS = ("<unk>", "a", "b", "c", "d", "e", "f", "g")


def bags(texts, labels):
    offsets = np.append(0, np.cumsum([len(text) for text in texts]))
    words = np.array([word for text in texts for word in text], dtype=np.int64)
    return Bags(torch.from_numpy(words), torch.from_numpy(offsets), torch.tensor(labels))


@st.composite
def corpora(draw):
    classes = draw(st.integers(2, 4))
    splits = []
    for least in (classes, 1):
        count = draw(st.integers(least, 25))
        text = st.lists(st.integers(0, len(WORDS) - 1), min_size=1, max_size=6)
        texts = draw(st.lists(text, min_size=count, max_size=count))
        labels = draw(st.lists(st.integers(0, classes - 1), min_size=count, max_size=count))
        splits.append(bags(texts, labels))
    return Corpus("made", tuple(map(str, range(classes))), WORDS, *splits)


def numbered(count):
    """Texts that all have another label, so that every move of a label shows."""
    texts = bags([[1]] * count, list(range(count)))
    return Corpus("numbered", tuple(map(str, range(count))), WORDS, texts, texts)


# --- shuffled labels


@given(corpora(), st.floats(0, 1), st.integers(0, 3))
def test_shuffling_keeps_texts_classes_and_validation_labels(corpus, share, seed):
    altered = shuffle_labels(corpus, share, seed)
    assert torch.equal(altered.train.words, corpus.train.words)
    assert torch.equal(altered.train.offsets, corpus.train.offsets)
    assert torch.equal(altered.valid.labels, corpus.valid.labels)
    assert torch.equal(altered.train.labels.bincount(minlength=4), corpus.train.labels.bincount(minlength=4))
    assert int((altered.train.labels != corpus.train.labels).sum()) <= round(share * len(corpus.train))
    assert (altered.words, altered.classes, altered.name) == (corpus.words, corpus.classes, corpus.name)
    assert altered.content == shuffle_labels(corpus, share, seed).content


@given(corpora(), st.integers(0, 3))
def test_a_share_of_nothing_is_the_corpus_itself(corpus, seed):
    altered = shuffle_labels(corpus, 0.0, seed)
    assert (altered.content, altered.notes) == (corpus.content, corpus.notes)


@given(st.integers(200, 400), st.integers(0, 5))
def test_all_labels_are_shuffled_at_one(count, seed):
    corpus = numbered(count)
    before = corpus.train.labels.clone()
    labels = shuffle_labels(corpus, 1.0, seed).train.labels
    assert sorted(labels.tolist()) == list(range(count))
    assert int((labels == before).sum()) < 15  # a permutation leaves one in place on average
    assert torch.equal(corpus.train.labels, before), "the corpus itself was altered"


@given(st.floats(0.1, 0.5), st.floats(0.1, 0.5), st.integers(0, 5))
def test_labels_that_are_not_drawn_stay_and_more_are_drawn_of_a_larger_share(share, more, seed):
    corpus = numbered(300)
    few, many = (shuffle_labels(corpus, part, seed).train.labels for part in (share, share + more))
    moved, moved_too = (set(torch.nonzero(labels != corpus.train.labels).ravel().tolist()) for labels in (few, many))
    assert round(share * 300) - 15 < len(moved) <= round(share * 300)
    assert len(moved - moved_too) < 15  # those that the larger permutation leaves in place by chance
    assert {few[row].item() for row in moved} == moved, "labels came from texts that were not drawn"


def test_half_of_two_equal_classes_end_up_wrong_and_seeds_differ():
    corpus = Corpus("two", ("0", "1"), WORDS, bags([[1]] * 2000, [0, 1] * 1000), bags([[1]], [0]))
    first, second = (shuffle_labels(corpus, 0.4, seed).train.labels for seed in (0, 1))
    assert float((first != corpus.train.labels).double().mean()) == pytest.approx(0.2, abs=0.03)
    assert not torch.equal(first, second)


def test_the_notes_count_what_was_done():
    assert shuffle_labels(numbered(50), 0.2, 7).notes == (
        "10 of 50 training labels are permuted among themselves (seed 7).",
    )


@pytest.mark.parametrize("share", [-0.1, 1.1, math.nan])
def test_a_share_out_of_range_is_refused(share):
    with pytest.raises(UsageError, match="between 0 and 1"):
        shuffle_labels(numbered(3), share)


# --- keywords


@given(corpora())
def test_keywords_are_ranked_by_the_likelihood_ratio_of_presence_and_class(corpus):
    texts = [set(part.tolist()) for part in torch.split(corpus.train.words, corpus.train.lengths.tolist())]
    labels = corpus.train.labels.numpy()

    def keyness(word):
        present = np.array([word in text for text in texts])
        table = np.array([[(present & (labels == c)).sum(), (~present & (labels == c)).sum()] for c in set(labels)])
        if len(table) == 1 or not table.sum(0).all():
            return 0.0  # one class, or in every text, or in none
        return chi2_contingency(table, correction=False, lambda_="log-likelihood").statistic

    ranked = keywords(corpus).tolist()
    assert sorted(ranked) == list(range(1, len(WORDS))), "<unk> is no word, and every other is there"
    found = [keyness(word) for word in ranked]
    np.testing.assert_allclose(found, sorted(found, reverse=True), atol=1e-8)


@given(corpora(), st.integers(0, 9))
def test_removed_words_are_unknown_in_both_splits_and_nothing_else_changes(corpus, count):
    gone = set(keywords(corpus)[:count].tolist())
    altered = remove_keywords(corpus, count)
    for before, after in ((corpus.train, altered.train), (corpus.valid, altered.valid)):
        assert after.words.tolist() == [0 if word in gone else word for word in before.words.tolist()]
        assert torch.equal(before.offsets, after.offsets)
        assert torch.equal(before.labels, after.labels)
    assert altered.words == corpus.words
    assert len(altered.notes) == (count > 0)


def test_validation_texts_do_not_choose_keywords():
    train = bags([[1, 2], [1, 3], [1, 2], [1, 3]], [0, 1, 0, 1])
    one, other = bags([[4, 2], [5, 3]], [0, 1]), bags([[4, 5]] * 6, [1, 0] * 3)
    first, second = (keywords(Corpus("made", ("0", "1"), WORDS, train, valid)) for valid in (one, other))
    assert first.tolist() == second.tolist()
    assert set(first[:2].tolist()) == {2, 3}


def test_the_notes_say_how_many_tokens_went():
    corpus = Corpus("made", ("0", "1"), WORDS, bags([[1, 2], [1, 3]] * 4, [0, 1] * 4), bags([[4, 2, 4, 4]], [0]))
    (note,) = remove_keywords(corpus, 2).notes
    assert note.startswith("The 2 words")
    assert "50.0% of the training tokens, 25.0% of the validation tokens" in note


def test_fewer_than_no_keywords_are_refused():
    with pytest.raises(UsageError, match="0 or more, not -1"):
        remove_keywords(numbered(3), -1)

"""Topic sentences: what may and may not occur in them."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from attnlab.data.batch import Bags
from attnlab.errors import UsageError
from attnlab.families.topics.task import TopicTask, split, topic_sets
from attnlab.seeds import numpy_generator

seeds = st.integers(0, 2**32)
SETS = (("goal", "match"), ("vote",), ("film", "actor", "scene"))


@given(
    sizes=st.lists(st.integers(1, 4), min_size=1, max_size=5),
    others=st.tuples(st.integers(1, 4), st.integers(0, 3)).map(lambda pair: (pair[0], sum(pair))),
    replace=st.booleans(),
    seed=seeds,
    data=st.data(),
)
def test_a_sentence_has_words_of_its_own_topic_alone(sizes, others, replace, seed, data):
    topics = tuple(tuple(f"{topic} {word}" for word in range(size)) for topic, size in enumerate(sizes))
    per_sentence = data.draw(st.integers(1, min(sizes)))
    task = TopicTask(topics, dictionary=12, others=others, per_sentence=per_sentence, replace=replace)
    bags = task.draw(15, numpy_generator(seed))
    assert len(bags) == len(bags.offsets) - 1 == 15
    for row in range(15):
        words = bags.words[bags.offsets[row] : bags.offsets[row + 1]].tolist()
        topical = [word for word in words if word < task.topic_words]
        noise = [word for word in words if word >= task.topic_words]
        assert len(set(topical)) == len(topical) == per_sentence
        assert {task.names[word] for word in topical} <= set(topics[int(bags.labels[row])])
        assert others[0] <= len(noise) <= others[1]
        assert max(noise) < task.vocabulary
        assert replace or len(set(noise)) == len(noise)


def test_topics_and_words_are_drawn_uniformly():
    task = TopicTask(SETS, dictionary=50, others=(3, 7))
    bags = task.draw(30_000, numpy_generator(1))
    counts = np.bincount(bags.words.numpy(), minlength=task.vocabulary)
    expected = 30_000 / 3 / np.array([2, 2, 1, 3, 3, 3])
    assert ((counts[:6] - expected) ** 2 / expected).sum() < 26  # 5 degrees of freedom: once in 10,000 fair draws
    assert ((counts[6:] - 3000) ** 2 / 3000).sum() < 100  # 49 degrees of freedom
    assert np.bincount(bags.lengths.numpy()).tolist()[:4] == [0] * 4
    assert set(bags.lengths.tolist()) == {4, 5, 6, 7, 8}


def test_the_topic_word_stands_anywhere():
    bags = TopicTask(SETS, dictionary=50, others=3).draw(8000, numpy_generator(2))
    places = (bags.words.view(8000, 4) < 6).sum(0)
    assert places.sum() == 8000
    assert (places - 2000).abs().max() < 160  # four standard deviations


def test_the_split_is_the_released_one():
    bags = TopicTask(SETS, dictionary=50, others=3).draw(5000, numpy_generator(3))
    parts = split(bags)
    assert [len(part) for part in (parts.train, parts.valid, parts.test)] == [3999, 50, 950]
    assert torch.equal(parts.test.words, bags.words[4049 * 4 : 4999 * 4])
    assert torch.equal(parts.valid.labels, bags.labels[3999:4049])


@given(lengths=st.lists(st.integers(1, 4), min_size=1, max_size=8), data=st.data())
def test_selecting_rows_keeps_each_sentence(lengths, data):
    offsets = torch.tensor([0, *np.cumsum(lengths)])
    bags = Bags(torch.arange(sum(lengths)), offsets, torch.arange(len(lengths)))
    rows = data.draw(st.lists(st.integers(0, len(lengths) - 1), max_size=8))
    chosen = bags.select(torch.tensor(rows, dtype=torch.int64))
    told = [chosen.words[a:b].tolist() for a, b in zip(chosen.offsets[:-1], chosen.offsets[1:], strict=True)]
    assert told == [list(range(int(offsets[row]), int(offsets[row + 1]))) for row in rows]
    assert chosen.labels.tolist() == rows
    assert chosen.sentence.tolist() == [i for i, words in enumerate(told) for _ in words]


def test_sets_have_the_sizes_asked_for():
    assert [len(words) for words in topic_sets(4, 2, numpy_generator(0))] == [2, 2, 2, 2]
    sizes = {len(words) for words in topic_sets(200, (1, 3), numpy_generator(0))}
    assert sizes == {1, 2, 3}
    TopicTask(topic_sets(200, (1, 3), numpy_generator(0)), dictionary=5, others=2)  # all names differ


def test_same_seed_same_sentences_and_another_seed_others():
    task = TopicTask(SETS, dictionary=50, others=(2, 9))
    one, same, other = (task.draw(50, numpy_generator(seed, "sentences")) for seed in (5, 5, 6))
    assert torch.equal(one.words, same.words) and torch.equal(one.labels, same.labels)
    assert not torch.equal(one.labels, other.labels)


@pytest.mark.parametrize(
    ("make", "named"),
    [
        (lambda: TopicTask((), 9, 3), "at least one topic"),
        (lambda: TopicTask((("a",), ()), 9, 3), "Topic 1 has no words"),
        (lambda: TopicTask((("a", "b"), ("b",)), 9, 3), "'b' is in topics 0 and 1"),
        (lambda: TopicTask((("a", "a"),), 9, 3), "'a' is in topic 0 twice"),
        (lambda: TopicTask(SETS, 9, 0), "not m = 0"),
        (lambda: TopicTask(SETS, 9, (0, 4)), "not m = 0"),
        (lambda: TopicTask(SETS, 9, (4, 2)), "ends before it begins"),
        (lambda: TopicTask(SETS, 0, 3), "dictionary needs at least 1 word, not 0"),
        (lambda: TopicTask(SETS, 9, 10, replace=False), "10 different .* dictionary of 9 without replacement"),
        (lambda: TopicTask(SETS, 9, (2, 10), replace=False), "10 different .* dictionary of 9 without replacement"),
        (lambda: TopicTask(SETS, 9, 3, per_sentence=2), "smallest topic has 1"),
        (lambda: TopicTask(SETS, 9, 3, per_sentence=0), "use 1 to 1"),
        (lambda: topic_sets(0, 2, numpy_generator(0)), "at least one topic, not 0"),
        (lambda: split(TopicTask(SETS, 9, 3).draw(1, numpy_generator(0))), "1 sentences leave none"),
        (lambda: split(TopicTask(SETS, 9, 3).draw(9, numpy_generator(0)), train=1.2), "no split"),
    ],
)
def test_bad_settings_are_refused_in_a_sentence(make, named):
    with pytest.raises(UsageError, match=named) as caught:
        make()
    assert "\n" not in str(caught.value)

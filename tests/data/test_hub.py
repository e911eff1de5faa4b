"""Corpora from a hub. Nothing here uses a network: the refusals are real, the hub is a small module of our own."""

import importlib.util

import pytest

from attnlab.data.corpora import KNOWN
from attnlab.data.labelled_text import load_corpus
from attnlab.errors import UsageError

HUB = """
def load_dataset(name, configuration=None, *, split):
    if name != "SetFit/sst5" and name != "ucirvine/sms_spam":
        raise ConnectionError("Couldn't reach the hub\\nmore lines")
    if name == "ucirvine/sms_spam":
        assert (configuration, split) == ("plain_text", "train")
        return {"sms": ["message", "win"] * 2500, "label": [0, 1] * 2500}
    assert configuration is None
    return {"text": ["good film", "bad film", "film", "very good film"], "label": [3, 0, 2, 4], "label_text": "x"}
"""


@pytest.fixture
def hub(tmp_path, monkeypatch):
    (tmp_path / "datasets.py").write_text(HUB, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(__import__("sys").modules, "datasets", raising=False)
    yield
    __import__("sys").modules.pop("datasets", None)


@pytest.mark.skipif(importlib.util.find_spec("datasets") is not None, reason="remove the extra hub (datasets)")
def test_without_the_extra_it_is_named():
    with pytest.raises(UsageError, match=r"needs the extra `hub`: install attnlab\[hub\]"):
        load_corpus("sst", hub=True)


@pytest.mark.usefixtures("hub")
def test_without_a_network_one_sentence_says_so():
    with pytest.raises(
        UsageError, match=r"dataset fancyzhx/ag_news could not be loaded \(ConnectionError: Couldn't"
    ) as e:
        load_corpus("ag_news", hub=True)
    assert "\n" not in str(e.value) and "needs a network" in str(e.value)


@pytest.mark.usefixtures("hub")
def test_labels_become_the_tasks_and_the_rest_is_counted():
    corpus = load_corpus("sst", hub=True)
    assert corpus.classes == ("negative", "positive")
    assert corpus.train.labels.tolist() == corpus.valid.labels.tolist() == [1, 0, 1]
    assert corpus.notes == (
        "The texts are those of the hub's dataset SetFit/sst5.",
        "2 texts of other classes are left out.",
    )


@pytest.mark.usefixtures("hub")
def test_a_corpus_without_a_split_is_split_as_ever():
    corpus = load_corpus("sms", hub=True)
    assert (len(corpus.train), len(corpus.valid)) == (3500, 1500)


def test_what_the_hub_does_not_have_is_told():
    assert [name for name, known in KNOWN.items() if known.hub is None] == ["amazon"]
    with pytest.raises(UsageError, match="cannot be had from the hub"):
        load_corpus("amazon", hub=True)

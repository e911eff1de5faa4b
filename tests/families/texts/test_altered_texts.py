"""Runs on altered corpora: which are told apart, and what they are trained on."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.news import write_news

from attnlab.data.altered import remove_keywords, shuffle_labels
from attnlab.data.labelled_text import load_corpus
from attnlab.errors import UsageError
from attnlab.experiments.texts.corpora import text_setting
from attnlab.families.texts.spec import ClassifierSpec, LabelledTextSpec
from attnlab.records import validated
from attnlab.runs.spec import RunSpec

CONTENT = "0123456789abcdef"


def spec(**altered):
    task = LabelledTextSpec(corpus="ag_news", content=CONTENT, **altered)
    return RunSpec(task=task, model=ClassifierSpec(), init_seed=0, data_seed=0)


@given(corpus=st.text(), vocabulary=st.sampled_from(["text", "released"]), seed=st.integers(0, 9))
def test_an_unaltered_corpus_is_its_content_alone(corpus, vocabulary, seed):
    """Ids of runs from before there were alterations stay as they are; a seed that draws nothing changes nothing."""
    task = LabelledTextSpec(corpus=corpus, vocabulary=vocabulary, content=CONTENT, shuffle_seed=seed)
    assert task.identity() == {"kind": "text", "content": CONTENT}


@pytest.mark.needs_data("sst")
def test_ids_of_runs_are_what_they_were(data_root):
    assert text_setting("sst", "reference", "paper").spec(20).ids == ("a07445b2424b315e", "157bb496ef738695")


def test_every_alteration_has_an_id_of_its_own():
    specs = [
        spec(),
        spec(shuffled=0.2),
        spec(shuffled=0.2, shuffle_seed=1),
        spec(shuffled=0.4),
        spec(shuffled=1),
        spec(without_keywords=1),
        spec(without_keywords=2),
        spec(without_keywords=2, shuffled=0.2),
    ]
    assert len({one.id for one in specs}) == len(specs)
    assert [validated(RunSpec, one.model_dump(mode="json")).id for one in specs] == [one.id for one in specs]


@pytest.fixture
def news(tmp_path, monkeypatch):
    monkeypatch.setenv("ATTNLAB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("ATTNLAB_DATA", str(write_news(tmp_path / "data")))
    return load_corpus("ag_news")


def test_a_run_is_trained_on_what_its_spec_says(news):
    task = LabelledTextSpec(corpus="ag_news", content=news.content, shuffled=0.5, shuffle_seed=3, without_keywords=4)
    assert task.build().content == shuffle_labels(remove_keywords(news, 4), 0.5, 3).content
    assert LabelledTextSpec(corpus="ag_news", content=news.content).build().content == news.content


def test_it_is_the_base_corpus_whose_content_is_checked(news):
    altered = remove_keywords(news, 4)
    with pytest.raises(UsageError, match=f"its content is {news.content}"):
        LabelledTextSpec(corpus="ag_news", content=altered.content, without_keywords=4).build()


@pytest.mark.parametrize(
    ("values", "named"),
    [
        ({"shuffled": 1.5}, "shuffled"),
        ({"shuffled": float("nan")}, "shuffled"),
        ({"shuffle_seed": -1}, "shuffle_seed"),
        ({"without_keywords": -3}, "without_keywords"),
    ],
)
def test_a_setting_out_of_range_is_one_sentence(values, named):
    with pytest.raises(UsageError, match=named) as caught:
        validated(LabelledTextSpec, {"corpus": "sst", "content": CONTENT, **values})
    assert "\n" not in str(caught.value)

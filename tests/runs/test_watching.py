"""A schedule that watches an example keeps what its network looks at, and changes nothing else of the run."""

import numpy as np
import pytest
import torch
from tests.news import write_news
from tests.number_pairs import write_numbers
from tests.runs.conftest import small_spec
from tests.runs.small import proxy_spec

from attnlab import specs
from attnlab.data.labelled_text import load_corpus
from attnlab.errors import UsageError
from attnlab.families.registry import build_problem
from attnlab.runs.loop import finished, train
from attnlab.runs.schedule import Schedule
from attnlab.runs.store import RunStore, StoreWarning

PLAIN, WATCHING = (Schedule.every(5, steps=10, watch=watch) for watch in (None, ()))


def matrix(table, name):
    """(outputs, inputs)"""
    return np.array(table[name].to_pylist())


def test_watching_leaves_id_metrics_and_weights_as_they_were(spec, store, tmp_path):
    plain = train(spec, PLAIN, store)
    watched = train(spec, WATCHING, RunStore(tmp_path / "other"))
    assert watched.id == plain.id
    assert watched.rows == plain.rows
    for name, value in plain.run.load(10).tensors.items():
        assert torch.equal(value, watched.run.load(10).tensors[name])
    assert plain.run.watched(()) == {}


def test_a_matrix_is_kept_for_every_evaluation_and_is_what_the_network_says(spec, store):
    run = train(spec, WATCHING, store).run
    seen = run.watched(())
    assert list(seen) == [0, 5, 10]
    problem = build_problem(spec)
    problem.model.load_state_dict(run.load(10).weights)
    inputs = seen[10]["inputs"][0].as_py()
    # Attention and probe again, from the weights alone: the words are their names less one, the end is the last symbol.
    last = problem.task.vocabulary - 1
    words = torch.tensor([[last if word == "end" else int(word) - 1 for word in inputs]])
    start = torch.full((1, 1), last - 1)
    with torch.no_grad():
        said = problem.model.eval()(words, torch.cat([start, words[:, :-1]], 1), targets=words)
    np.testing.assert_allclose(matrix(seen[10], "alpha"), said.attention.mean(1)[0].numpy(), atol=1e-6)
    np.testing.assert_allclose(matrix(seen[10], "beta"), said.lexical[0].exp().numpy(), atol=1e-6)
    assert seen[10]["output"].to_pylist() == inputs
    assert [inputs for table in seen.values() for inputs in table["inputs"].to_pylist()] == [inputs] * 3 * len(inputs)


def test_a_run_that_nobody_watched_is_read_again_with_the_same_numbers(spec, store):
    before = train(spec, PLAIN, store)
    assert finished(spec, WATCHING, store) is None
    after = train(spec, WATCHING, store)
    assert after.rows == before.rows
    assert list(after.run.watched(())) == [0, 5, 10]
    assert finished(spec, WATCHING, store) is not None
    assert after.run.verify() == []


def test_a_damaged_file_is_made_again(spec, store):
    run = train(spec, WATCHING, store).run
    path = run.path / "watched.parquet"
    whole = path.read_bytes()
    path.write_bytes(whole[:100] + b"x" + whole[101:])
    assert [fault.path for fault in run.verify()] == [path]
    with pytest.warns(StoreWarning, match=r"watched\.parquet"):
        train(spec, WATCHING, store)
    assert path.read_bytes() == whole


def test_another_runs_file_is_refused(store):
    one, other = (train(small_spec(seed), WATCHING, store).run for seed in (0, 1))
    (one.path / "watched.parquet").write_bytes((other.path / "watched.parquet").read_bytes())
    assert any("watched.parquet" in fault.sentence for fault in one.verify())


def test_a_kind_that_cannot_be_watched_says_so(store):
    with pytest.raises(UsageError, match="cannot be watched"):
        train(proxy_spec(), WATCHING, store)
    with pytest.raises(UsageError, match=r"watch=\(\) is right"):
        train(small_spec(0), Schedule.every(5, steps=5, watch=("a text",)), store)


def test_a_sentence_of_ones_own_is_watched_by_a_classifier(tmp_path, store, monkeypatch):
    monkeypatch.setenv("ATTNLAB_DATA", str(write_news(tmp_path)))
    task = specs.LabelledTextSpec(corpus="ag_news", content=load_corpus("ag_news").content)
    model = specs.ClassifierSpec(embedding_size=8, hidden=4)
    spec = specs.RunSpec(task=task, model=model, batch=8, init_seed=0, data_seed=0)
    classes = load_corpus("ag_news").classes
    text = "The bank, of a stranger: says 12 today!"
    seen = train(spec, Schedule.every(5, steps=5, watch=(text, classes[0])), store).run.watched((text, classes[0]))
    table = seen[5]
    assert table["inputs"][0].as_py() == ["the", "bank", "of", "a", "stranger", "says", "12", "today"]
    alpha, beta = matrix(table, "alpha"), matrix(table, "beta")
    assert alpha.shape == beta.shape == (1, 8)
    assert alpha.sum() == pytest.approx(1, abs=1e-5)
    assert ((beta > 0) & (beta < 1)).all()
    with pytest.raises(UsageError, match="one of its classes"):
        train(spec, Schedule.every(5, steps=5, watch=(text, "no such class")), store)


def test_a_sentence_and_its_translation_are_watched_by_a_translator(tmp_path, store):
    source, target = write_numbers(tmp_path)
    task = specs.BitextSpec.of_files(specs.BitextFiles.of(source, target), pieces=60)
    model = specs.TranslatorSpec(hidden=8, layers=1)
    spec = specs.RunSpec(task=task, model=model, batch=8, init_seed=0, data_seed=0, evaluation_batch=4)
    example = ("two three", "drei zwei")
    seen = train(spec, Schedule.every(3, steps=3, watch=example), store).run.watched(example)
    table = seen[3]
    inputs = table["inputs"][0].as_py()
    assert inputs[0] == "<s>" and inputs[-1] == "</s>"
    assert "".join(inputs[1:-1]).replace("\u2581", " ").strip() == "two three"
    assert "".join(table["output"].to_pylist()[:-1]).replace("\u2581", " ").strip() == "drei zwei"
    np.testing.assert_allclose(matrix(table, "alpha").sum(1), 1, atol=1e-5)
    with pytest.raises(UsageError, match="a sentence and its translation"):
        train(spec, Schedule.every(3, steps=3, watch=()), store)

"""Runs on a file of one's own: named by what is in it, trained until validation no longer improves."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attnlab.errors import UsageError
from attnlab.families.texts.spec import ClassifierSpec, LabelledTextSpec, TextFile
from attnlab.families.texts.stopping import NoImprovement
from attnlab.runs.loop import finished, train
from attnlab.runs.schedule import Schedule
from attnlab.runs.spec import RunSpec
from attnlab.runs.store import RunStore

ROWS = "".join(f"a lovely film {k % 3},5\nan awful film {k % 4},1\nso so,3\n" for k in range(12))


@pytest.fixture(autouse=True)
def _own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("ATTNLAB_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "reviews.csv"
    path.write_text("review,stars\n" + ROWS, encoding="utf-8")
    return path


COLUMNS = {"text": "review", "label": "stars", "groups": "1=bad 5=good"}


def spec_of(task, **changes):
    settings = {"model": ClassifierSpec(embedding_size=6, hidden=4), "batch": 4, "init_seed": 1, "data_seed": 1}
    return RunSpec(task=task, **{**settings, **changes})


def test_a_run_is_named_by_its_texts_and_not_by_their_file(file, tmp_path):
    spec = spec_of(LabelledTextSpec.of_file(file, **COLUMNS))
    (tmp_path / "elsewhere").mkdir()
    moved = file.rename(tmp_path / "elsewhere" / "other name.csv")
    again = spec_of(LabelledTextSpec.of_file(moved, **COLUMNS))
    assert again.id == spec.id
    assert again.task.file != spec.task.file
    other = {**COLUMNS, "groups": "1,3=bad 5=good"}
    assert spec_of(LabelledTextSpec.of_file(moved, **other)).id != spec.id
    moved.write_text(moved.read_text().replace("so so,3", "lovely,5"), encoding="utf-8")
    assert spec_of(LabelledTextSpec.of_file(moved, **COLUMNS)).id != spec.id


def test_a_finished_run_is_found_again_though_its_file_was_moved(file, tmp_path):
    store, schedule = RunStore(tmp_path / "runs"), Schedule.every(2, steps=4)
    spec = spec_of(LabelledTextSpec.of_file(file, **COLUMNS))
    train(spec, schedule, store)
    again = spec_of(LabelledTextSpec.of_file(file.rename(tmp_path / "moved.csv"), **COLUMNS))
    assert finished(again, schedule, store) is not None
    longer = train(again, Schedule.every(2, steps=6), store)  # and goes on
    assert longer.step == 6
    assert store.run(spec.id).spec()["task"]["file"]["path"] == str(file)  # what it began with stays written


def test_another_run_under_the_same_id_is_still_refused(file, tmp_path):
    store = RunStore(tmp_path / "runs")
    spec = spec_of(LabelledTextSpec.of_file(file, **COLUMNS))
    train(spec, Schedule.every(2, steps=2), store)
    other = spec.model_copy(update={"init_seed": 2})
    run = store.run(spec.id)
    assert finished(other, Schedule.every(2, steps=2), store) is None
    with pytest.raises(Exception, match="another run"):
        run.begin(other.model_dump(mode="json"), {})


def test_the_kept_corpus_stands_in_for_a_file_that_is_gone(file, tmp_path, monkeypatch):
    task = LabelledTextSpec.of_file(file, **COLUMNS)
    file.unlink()
    assert task.build().content == task.content
    monkeypatch.setenv("ATTNLAB_CACHE", str(tmp_path / "empty"))
    with pytest.raises(UsageError, match="There is no file"):
        task.build()


def test_a_file_that_changed_is_refused_where_the_cache_was_emptied(file, tmp_path, monkeypatch):
    task = LabelledTextSpec.of_file(file, **COLUMNS)
    monkeypatch.setenv("ATTNLAB_CACHE", str(tmp_path / "empty"))
    file.write_text(file.read_text() + "lovely,5\n", encoding="utf-8")
    with pytest.raises(UsageError, match="has changed: its content is"):
        task.build()


def test_a_name_that_is_no_text_is_refused_in_a_sentence(tmp_path):
    with pytest.raises(UsageError, match="UTF-8"):
        TextFile.of(tmp_path / "b\udcffd.csv")


def plainly(values, patience):
    """The rule written out: the first place whose last ``patience`` values are no lower than some value before."""
    for last in range(len(values)):
        before, latest = values[: last - patience + 1], values[last - patience + 1 : last + 1]
        if before and len(latest) == patience and min(latest) >= min(before):
            return last
    return None


@given(st.lists(st.integers(0, 6), max_size=14), st.integers(1, 4))
def test_training_ends_once_validation_no_longer_improves(values, patience):
    rows = {10 * k: {"loss": float(value)} for k, value in enumerate(values)}
    stopped = NoImprovement(patience=patience).stops_at(rows)
    expected = plainly(values, patience)
    assert stopped == (None if expected is None else 10 * expected)
    if stopped is not None:  # later rows do not change it
        assert NoImprovement(patience=patience).stops_at({s: r for s, r in rows.items() if s <= stopped}) == stopped


def test_a_run_ends_early_and_says_why(file, tmp_path):
    store = RunStore(tmp_path / "runs")
    spec = spec_of(LabelledTextSpec.of_file(file, **COLUMNS), optimiser={"kind": "adam", "learning_rate": 0.5})
    schedule = Schedule.every(1, steps=60, keep="best", give_up=NoImprovement(patience=3))
    done = train(spec, schedule, store)
    losses = np.array([row["loss"] for row in done.rows])
    assert done.step < 60
    assert losses[-3:].min() >= losses[:-3].min()
    assert "had not improved for 3 evaluations" in store.run(spec.id).status()["message"]
    assert Schedule.model_validate(schedule.model_dump(mode="json")) == schedule

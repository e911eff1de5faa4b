"""Watched runs with a result: kept, sealed, shown, and added to one that is there."""

import json

import pytest
from tests.lab.test_conduct import Small, spec_of

from attnlab.errors import UsageError
from attnlab.lab.conduct import conduct, train_all
from attnlab.lab.experiment import Order, Result, Setting, Watched
from attnlab.lab.replays import add_replay, wanted
from attnlab.lab.result import read_result
from attnlab.lab.written import WrittenResult
from attnlab.runs.engine import LocalEngine
from attnlab.runs.schedule import Schedule
from attnlab.runs.store import RunStore

STEPS = Schedule.every(5, steps=10)
SETTING = Setting("small", spec_of, {"quick": 2}, STEPS)


class Plain(Small):
    name = "small"
    settings = (SETTING,)

    def plan(self, order, done):
        return self.jobs(order)

    at_most = plan

    def analyse(self, order, done):
        """It keeps the curves of its runs, and which they are."""
        ids = [{"setting": "small", "seed": seed, "run": spec_of(seed).id} for seed in (0, 1)]
        curves = [{"setting": "small", "seed": one["seed"], **row} for one in ids for row in done[one["run"]].rows]
        return Result("it ran", {"runs": ids, "curves": curves}, {}, ())


class Moving(Plain):
    watched = (Watched(SETTING, 1, "the second", "caption", presets=("quick",)),)
    replay_title = "How it went"


@pytest.fixture
def engine():
    return LocalEngine(1)


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A store with both runs watched, and the result of the experiment that asks for it."""
    folder = tmp_path_factory.mktemp("moving")
    store = RunStore(folder / "runs")
    done = conduct(Moving(), Order("quick"), store, LocalEngine(1), folder / "results", command="x")
    return folder, store, done


def test_a_result_keeps_the_films_of_its_watched_runs_alone(trained):
    _, store, done = trained
    document = read_result(done.folder)
    assert document["replays"] == ["attention"]
    assert "replays/attention.json" in document["files"]
    (replay,) = WrittenResult("quick", "", done.folder, document).replays()
    (film,) = replay.films
    assert (replay.title, film.name, film.steps) == ("How it went", "the second", (0, 5, 10))
    assert len(film.outputs) == 4 and film.outputs[-1] == "end"
    assert list(store.run(spec_of(1).id).watched(())) == [0, 5, 10]
    assert store.run(spec_of(0).id).watched(()) == {}


def test_an_altered_film_is_refused(trained, tmp_path):
    import shutil

    _, _, done = trained
    shutil.copytree(done.folder, tmp_path / "quick")
    path = tmp_path / "quick" / "replays" / "attention.json"
    path.write_bytes(path.read_bytes().replace(b"the second", b"the secone"))
    with pytest.raises(UsageError, match=r"attention\.json is altered"):
        read_result(tmp_path / "quick")


def test_films_are_added_to_a_result_that_is_there(trained, tmp_path, engine):
    _, store, _ = trained
    done = conduct(Plain(), Order("quick"), store, engine, tmp_path, command="x")
    before = read_result(done.folder)
    assert "replays" not in before
    (want,) = wanted(Moving(), tmp_path)
    path = add_replay(Moving(), want, train_all(want.jobs, store, engine))
    after = read_result(done.folder)
    assert path == done.folder / "replays" / "attention.json"
    assert after["watched_runs"] == {"runs": [spec_of(1).id], "largest_difference": 0.0}
    new = {"files", "seal", "replays", "watched_runs"}
    assert {key: after[key] for key in after if key not in new} == {
        key: before[key] for key in before if key not in new
    }


def test_runs_that_came_out_otherwise_are_not_added(trained, tmp_path, engine):
    _, store, _ = trained
    done = conduct(Plain(), Order("quick"), store, engine, tmp_path, command="x")
    (want,) = wanted(Moving(), tmp_path)
    runs = train_all(want.jobs, store, engine)
    for row in runs[spec_of(1).id].rows:
        row["accuracy"] += 0.2
    with pytest.raises(UsageError, match=r"differs by 0\.2 after the same updates"):
        add_replay(Moving(), want, runs)
    assert not (done.folder / "replays").exists()


def test_what_cannot_be_watched_is_a_sentence(tmp_path):
    with pytest.raises(UsageError, match="names no run to watch"):
        wanted(Plain(), tmp_path)
    with pytest.raises(UsageError, match="run the experiment first"):
        wanted(Moving(), tmp_path)


def test_a_page_shows_them(trained):
    _, _, done = trained
    (section,) = Moving().extras(WrittenResult("quick", "", done.folder, read_result(done.folder)))
    assert section.heading == "How it went"
    assert "the second" in section.component.html
    assert json.loads(section.component.html.split("data-about")[1].split(">", 1)[1].split("</script>")[0])["films"]

"""Runs taken from the tables of results: the same rows, nothing trained, and said so."""

import csv
import json
from pathlib import Path

import pytest
from tests.lab.in_this_process import InThisProcess

from attnlab.errors import UsageError
from attnlab.experiments.copying.experiment import PERMUTATIONS
from attnlab.families.copying import NUMERICS
from attnlab.families.copying.spec import CopyingSpec, SelectionsSpec, Seq2SeqSpec
from attnlab.families.copying.success import first_learned
from attnlab.lab.conduct import conduct
from attnlab.lab.costs import estimate
from attnlab.lab.experiment import Experiment, Order, Setting
from attnlab.lab.recall import Recalled, check_recalling, recall
from attnlab.lab.registry import EXPERIMENTS, find_experiment
from attnlab.runs.engine import Job
from attnlab.runs.loop import train
from attnlab.runs.schedule import Schedule
from attnlab.runs.spec import RunSpec
from attnlab.runs.store import RunStore

RESULTS = Path(__file__).parents[2] / "results"


def spec_of(seed):
    return RunSpec(
        task=CopyingSpec(distribution=SelectionsSpec(length=3, words=5)),
        model=Seq2SeqSpec(hidden=8),
        batch=8,
        evaluation_batch=10,
        init_seed=seed,
        data_seed=seed,
    )


class Small(Experiment):
    """Two short runs and their curves; ``steps`` decides how far they go."""

    name, title, source = "copying", "a small one", "here"
    steps = 10

    def settings_at(self, preset):
        return (Setting("small, with a comma", spec_of, {"quick": 2}, Schedule.every(5, steps=self.steps)),)


class Never:
    """An engine that must not be asked."""

    def run(self, jobs, store, note):
        raise AssertionError(f"{len(jobs)} runs were to be trained")


@pytest.fixture(scope="module")
def measured_once(tmp_path_factory):
    """A store and a results folder in which the small experiment has been run."""
    place = tmp_path_factory.mktemp("recall")
    store = RunStore(place / "runs")
    conduct(Small(), Order("quick"), store, InThisProcess(), place / "results", command="x")
    return place


def copied(measured_once, tmp_path):
    """The result as one of before results were sealed, so that its parts may be changed."""
    folder = tmp_path / "results" / "copying" / "quick"
    (folder / "tables").mkdir(parents=True)
    for name in ("result.json", "tables/curves.csv", "tables/runs.csv"):
        (folder / name).write_text((measured_once / "results" / "copying" / "quick" / name).read_text())
    document = json.loads((folder / "result.json").read_text())
    for name in ("files", "seal"):
        document.pop(name, None)
    (folder / "result.json").write_text(json.dumps(document))
    return folder


def test_recalled_rows_are_the_trained_ones_to_the_last_digit(measured_once):
    found, store = recall(measured_once / "results"), RunStore(measured_once / "runs")
    for job in Small().plan(Order("quick"), {}):
        run = found.find(job)
        assert run == train(job.spec, job.schedule, store)
        assert run.run is None, "a result keeps no weights"
        assert all(isinstance(row["step"], int) for row in run.rows)


def test_runs_named_by_remedies_are_recalled_too(measured_once, tmp_path):
    folder = copied(measured_once, tmp_path)
    for name in ("curves", "runs"):
        table = folder / "tables" / f"{name}.csv"
        table.write_text(table.read_text().replace("setting", "remedy", 1))
    assert recall(tmp_path / "results") == recall(measured_once / "results")


def test_nothing_is_trained_and_the_result_says_where_runs_come_from(measured_once, tmp_path):
    found, empty = recall(measured_once / "results"), RunStore(tmp_path / "runs")
    assert estimate(Small(), Order("quick"), empty, found).to_train == 0
    done = conduct(Small(), Order("quick"), empty, Never(), tmp_path / "out", command="x", recalled=found)
    document = json.loads((done.folder / "result.json").read_text())
    assert document["recalled_runs"] == {"copying/quick": [spec_of(0).id, spec_of(1).id]}
    before = measured_once / "results" / "copying" / "quick" / "tables" / "curves.csv"
    assert (done.folder / "tables" / "curves.csv").read_text() == before.read_text()
    assert not empty.root.exists()


def test_runs_of_an_earlier_arithmetic_are_recalled_under_the_id_of_that_time(measured_once, tmp_path, monkeypatch):
    before = [spec_of(0).id, spec_of(1).id]
    monkeypatch.setitem(NUMERICS, "seq2seq", NUMERICS["seq2seq"] + 1)
    assert {spec_of(0).id, spec_of(1).id}.isdisjoint(before)
    found, empty = recall(measured_once / "results"), RunStore(tmp_path / "runs")
    done = conduct(Small(), Order("quick"), empty, Never(), tmp_path / "out", command="x", recalled=found)
    document = json.loads((done.folder / "result.json").read_text())
    assert document["recalled_runs"] == {"copying/quick": before}
    assert document["notes"][-1].startswith("2 of 2 runs are recalled from before their model's arithmetic")
    assert recall(tmp_path / "out").rows.keys() == set(before), "they do not take the name of today's"


def test_a_run_of_today_s_arithmetic_comes_before_an_earlier_one(measured_once, tmp_path, monkeypatch):
    older = recall(measured_once / "results")
    monkeypatch.setitem(NUMERICS, "seq2seq", NUMERICS["seq2seq"] + 1)
    store = RunStore(tmp_path / "runs")
    done = conduct(Small(), Order("quick"), store, InThisProcess(), tmp_path / "out", command="x")
    assert not any("arithmetic" in note for note in json.loads((done.folder / "result.json").read_text())["notes"])
    both = Recalled({**older.rows, **recall(tmp_path / "out").rows})
    for job in Small().plan(Order("quick"), {}):
        assert both.find(job).id == job.spec.id


def test_what_a_result_has_not_measured_is_trained(measured_once, tmp_path):
    longer = Small()
    longer.steps = 15
    found, store = recall(measured_once / "results"), RunStore(tmp_path / "runs")
    assert estimate(longer, Order("quick"), store, found).to_train == 2
    done = conduct(longer, Order("quick"), store, InThisProcess(), tmp_path / "out", command="x", recalled=found)
    assert "recalled_runs" not in json.loads((done.folder / "result.json").read_text())
    assert len(store.ids()) == 2


def test_a_run_whose_weights_are_wanted_is_not_recalled(measured_once):
    found = recall(measured_once / "results")
    job = Small().plan(Order("quick"), {})[0]
    assert found.find(job) is not None
    kept = job.schedule.model_copy(update={"keep": True})
    assert found.find(Job("kept", job.spec, kept)) is None


def test_the_store_comes_first(measured_once, tmp_path):
    found, store = recall(measured_once / "results"), RunStore(measured_once / "runs")
    done = conduct(Small(), Order("quick"), store, Never(), tmp_path, command="x", recalled=found)
    assert "recalled_runs" not in json.loads((done.folder / "result.json").read_text())


def test_inexact_runs_and_ended_ones_are_left_out(measured_once, tmp_path):
    folder = copied(measured_once, tmp_path)
    document = json.loads((folder / "result.json").read_text())
    (folder / "result.json").write_text(json.dumps({**document, "inexact_runs": [spec_of(0).id]}))
    assert set(recall(tmp_path / "results").rows) == {spec_of(1).id}
    folder.rename(folder.with_name("quick-stop-hopeless"))
    with pytest.raises(UsageError, match="has measurements of runs"):
        recall(tmp_path / "results")


def test_measures_that_an_older_result_lacks_come_from_the_newer(measured_once, tmp_path):
    older = copied(measured_once, tmp_path)
    newer = tmp_path / "results" / "mixture" / "quick"
    newer.parent.mkdir()
    newer.mkdir()
    (newer / "tables").mkdir()
    for name in ("result.json", "tables/curves.csv", "tables/runs.csv"):
        (newer / name).write_text((older / name).read_text())
    lines = list(csv.DictReader((older / "tables" / "curves.csv").read_text().splitlines()))
    with (older / "tables" / "curves.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, fieldnames=list(lines[0]))
        writer.writeheader()
        writer.writerows({**line, "probe_entropy": ""} for line in lines)
    found = recall(tmp_path / "results")
    assert all("probe_entropy" in row for row in found.rows[spec_of(0).id].values())
    assert found.sources[spec_of(0).id] == "copying/quick"


@pytest.mark.parametrize(
    ("name", "text", "sentence"),
    [
        ("curves.csv", 'setting,seed,step,loss\n"small, with a comma",0,5,much\n', "line 2.*much"),
        ("curves.csv", 'setting,seed,loss\n"small, with a comma",0,5\n', "line 2.*step"),
        ("curves.csv", 'setting,seed,step,loss\n"small, with a comma",0\n', "line 2"),
        ("curves.csv", "step,loss\n1,2\n", "No result below"),
        ("runs.csv", "setting,seed\na,1\n", "No result below"),
    ],
)
def test_tables_that_are_not_ours_are_named(measured_once, tmp_path, name, text, sentence):
    folder = copied(measured_once, tmp_path)
    (folder / "tables" / name).write_text(text)
    with pytest.raises(UsageError, match=sentence):
        recall(tmp_path / "results")


def test_a_table_of_a_few_runs_does_not_hide_the_others(measured_once, tmp_path):
    folder = copied(measured_once, tmp_path)
    first, *_ = (folder / "tables" / "runs.csv").read_text(encoding="utf-8").splitlines()[1:]
    header = (folder / "tables" / "runs.csv").read_text(encoding="utf-8").splitlines()[0]
    (folder / "tables" / "few.csv").write_text(f"{header}\n{first}\n", encoding="utf-8")
    found = recall(tmp_path / "results")
    assert all(found.find(job) is not None for job in Small().plan(Order("quick"), {}))


def test_a_table_in_another_encoding_is_named(measured_once, tmp_path):
    folder = copied(measured_once, tmp_path)
    (folder / "tables" / "curves.csv").write_bytes(b"setting,seed,step\n\xff\xfe,0,1\n")
    with pytest.raises(UsageError, match=r"curves\.csv is not a table of ours"):
        recall(tmp_path / "results")


@pytest.mark.parametrize(
    ("name", "data", "sentence"),
    [
        ("result.json", b"[" * 100_000, "is no whole result"),
        ("result.json", b'{"inexact_runs": 3}', "is no whole result"),
        ("tables/curves.csv", b"a\n" + b"x" * 200_000, "is not a table of ours"),
        ("tables/runs.csv", b"setting,seed,run\n\0", "is not a table of ours"),
    ],
)
def test_damaged_files_are_named(measured_once, tmp_path, name, data, sentence):
    folder = copied(measured_once, tmp_path)
    (folder / name).write_bytes(data)
    with pytest.raises(UsageError, match=f"{name}.* {sentence}"):
        recall(tmp_path / "results")


@pytest.mark.parametrize("name", ["result.json", "tables/curves.csv", "tables/runs.csv"])
def test_links_that_leave_the_folder_are_not_followed(measured_once, tmp_path, name):
    folder = copied(measured_once, tmp_path)
    (folder / name).symlink_to((folder / name).rename(tmp_path / "secret"))
    with pytest.raises(UsageError, match=f"{name} is a link that leaves its folder"):
        recall(tmp_path / "results")


def test_only_experiments_that_read_no_weights_recall():
    check_recalling(find_experiment("early-verdict"))
    with pytest.raises(UsageError, match=r"which permuting needs; it is for copying,"):
        check_recalling(find_experiment("permuting"))


def test_committed_results_spare_the_early_verdict_the_runs_of_copying_and_mixture():
    """Ids are what they were when these results were made: nobody has to train a hundred and sixty runs again."""
    found, order = recall(RESULTS), Order("paper")
    jobs = {job.spec.id: job for job in EXPERIMENTS["early-verdict"].at_most(order, {})}
    for name in ("copying", "mixture"):
        for setting in EXPERIMENTS[name].settings:
            networks = [one for one in map(setting.spec, setting.seeds_at(order)) if one.model.kind == "seq2seq"]
            for spec in networks:
                assert found.find(jobs[spec.id]) is not None, f"{setting.name}, seed {spec.init_seed}"
    permutations = [found.find(jobs[PERMUTATIONS.spec(seed).id]) for seed in range(40)]
    assert sum(first_learned(run.rows) is not None for run in permutations) == 23, "as the result itself says"

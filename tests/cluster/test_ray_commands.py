"""Every command that has an engine, on a real Ray: what it prints, writes and trains is what the local engine gives."""

import json
import re

import pytest
from tests.auditing.test_audit import TINY, write
from tests.auditing.test_pair_audit import TINY as TINY_PAIRS
from tests.cluster.test_tables import mixture
from tests.lab.test_own import attnlab, code
from tests.number_pairs import write_numbers
from tests.runs.for_ray import bits, patiently
from typer.testing import CliRunner

from attnlab.auditing import budget as budgets
from attnlab.cli.main import app
from attnlab.errors import UsageError
from attnlab.runs.engine import LocalEngine
from attnlab.runs.store import RunStore

ray = pytest.importorskip("ray", reason="make test-more installs Ray")
pytestmark = [pytest.mark.more, pytest.mark.filterwarnings("ignore")]  # Ray's own warnings are not ours to mend
ENGINES = {"far": ["--engine", "ray"], "near": []}
"""Options by the names of the folders that they write to."""
STAMP = re.compile(rb"20\d\d-\d\d-\d\d \d\d:\d\d:\d\d UTC")


@pytest.fixture(scope="module")
def local_ray():
    """A Ray of two processors, which the commands use as they find it. Nobody but Ray says how many threads."""
    settings = {"include_dashboard": False, "object_store_memory": 10**8, "log_to_driver": False}
    with pytest.MonkeyPatch.context() as patch:
        for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS"):
            patch.delenv(name, raising=False)
        patiently(lambda: ray.init(address="local", num_cpus=2, **settings))
    yield
    ray.shutdown()


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*words):
    with pytest.MonkeyPatch.context() as patch:
        if "ray" in words:
            patch.setattr(LocalEngine, "run", None)  # it must not be asked
        done = CliRunner().invoke(app, [str(word) for word in words], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


def trained(folder, runs):
    """The bits of a store that holds so many runs, all whole."""
    store = RunStore(folder)
    assert len(store.runs()) == runs
    assert store.verify() == []
    return bits(store)


def test_run(folder):
    """An experiment of the user's own, from the shell, without an address: the command starts a Ray and ends it."""
    (folder / "sorting_lab.py").write_text(code(), encoding="utf-8")
    results = []
    for name, engine in ENGINES.items():
        where = ["--store", f"{name}-runs", "--out", name, "--json"]
        done = attnlab(folder, "run", "sorting_lab:SortingLab", "--seeds", "1", *where, *engine)
        assert done.returncode == 0, done.stderr
        results.append(json.loads(done.stdout))
    for result in results:
        for key in ("duration_seconds", "training_seconds", "seal"):
            result.pop(key)
    assert results[0] == results[1]
    assert trained(folder / "far-runs", 2) == trained(folder / "near-runs", 2)


def written(folder):
    """What an audit has written, without the time of day."""
    return {
        str(path.relative_to(folder)): STAMP.sub(b"", path.read_bytes())
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def test_audit_of_texts(local_ray, folder, monkeypatch):
    monkeypatch.setitem(budgets.BUDGETS, "small", TINY)
    file = write(folder / "films.csv")
    for name, engine in ENGINES.items():
        run("audit", file, "--seeds", 2, "--store", f"{name}-runs", "--out", name, "--json", *engine)
    assert written(folder / "far") == written(folder / "near")
    assert "audit.html" in written(folder / "far")
    # Two networks, each with uniform attention too or once, and a deceptive twin of the first.
    runs = len(RunStore(folder / "near-runs").runs())
    assert runs >= 4
    assert trained(folder / "far-runs", runs) == trained(folder / "near-runs", runs)


def test_audit_of_pairs(local_ray, folder, monkeypatch):
    monkeypatch.setitem(budgets.PAIR_BUDGETS, "small", TINY_PAIRS)
    source, target = write_numbers(folder, pairs=300)
    for name, engine in ENGINES.items():
        files = ["--source", source, "--target", target, "--seeds", 1]
        run("audit", *files, "--store", f"{name}-runs", "--out", name, "--json", *engine)
    assert written(folder / "far") == written(folder / "near")
    runs = len(RunStore(folder / "near-runs").runs())
    assert runs >= 3
    assert trained(folder / "far-runs", runs) == trained(folder / "near-runs", runs)


@pytest.mark.parametrize(("kind", "cpus"), [("texts", 2), ("pairs", 0.5)])
def test_train_with_several_seeds(kind, cpus, local_ray, folder):
    """Ray would give a run that reserves two processors two threads, and its bits would differ."""
    data = [write(folder / "films.csv", 100)] if kind == "texts" else write_numbers(folder)
    made = [
        run("train", *data, "--seeds", 2, "--steps", 10, "--store", name, "--json", *engine)
        for name, engine in (("far", [*ENGINES["far"], "--cpus-per-run", cpus]), ("near", []))
    ]
    assert made[0] == made[1]
    assert [one["seed"] for one in made[0]["runs"]] == [0, 1]
    assert trained(folder / "far", 2) == trained(folder / "near", 2)


def test_samples(local_ray, folder):
    file = write(folder / "films.csv", 100)
    made = [
        run("samples", file, "--size", 40, "--size", 80, "--repeats", 2, "--json", *engine)
        for engine in ENGINES.values()
    ]
    assert made[0] == made[1]
    assert {row["n"] for row in made[0]["curves"]} == {40, 80}


def test_align_and_forecast(local_ray, folder):
    """Many files, named by a pattern."""
    pairs = mixture(120)
    for number in range(2):
        some = pairs[60 * number : 60 * number + 60]
        for side, name in ((0, "de"), (1, "en")):
            (folder / f"part-{number}.{name}").write_text("".join(" ".join(pair[side]) + "\n" for pair in some))
    texts = ["--source", "part-*.de", "--target", "part-*.en", "--json"]
    ours, here = (run("align", *texts, "--out", f"{name}.txt", *engine) for name, engine in ENGINES.items())
    assert ours.pop("workers") == 2
    for name, model in ours.pop("models").items():
        assert model["log_likelihoods"] == pytest.approx(here["models"][name]["log_likelihoods"], rel=1e-12)
    here.pop("models")
    assert ours == here
    assert (folder / "far.txt").read_bytes() == (folder / "near.txt").read_bytes()
    ours, here = (run("forecast", *texts, *engine) for engine in ENGINES.values())
    assert ours["gain"] == pytest.approx(here["gain"], abs=1e-9)
    assert ours["verdict"] == here["verdict"]


@pytest.mark.parametrize("command", ["audit", "train"])
def test_more_gpus_than_any_node_has_are_refused_at_once(command, local_ray, folder):
    words = [command, str(write(folder / "films.csv", 100)), "--engine", "ray", "--gpus-per-run", "4"]
    refused = CliRunner().invoke(app, words).exception
    assert isinstance(refused, UsageError)
    assert str(refused).startswith("--gpus-per-run 4: no node of the cluster has so many GPUs; the largest has 0")

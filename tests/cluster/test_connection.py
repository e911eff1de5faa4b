"""What is said where there is no Ray, no cluster, or not enough of one: a sentence, and soon."""

import socket
import sys
import threading

import pytest
from typer.testing import CliRunner

from attnlab.cli.main import app
from attnlab.cluster import connection
from attnlab.cluster.connection import ClusterError, Need, check_address, check_versions, versions
from attnlab.errors import UsageError
from attnlab.runs.engine import LocalEngine
from attnlab.runs.engines import make_engine


@pytest.fixture
def listener():
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen(1)
        yield server


def address_of(server):
    return f"127.0.0.1:{server.getsockname()[1]}"


def test_an_address_nobody_answers_is_named(listener):
    address = address_of(listener)
    listener.close()
    with pytest.raises(UsageError, match=f"--address {address}: nobody answers there"):
        check_address(address)


@pytest.mark.parametrize("answer", [None, b"SSH-2.0-OpenSSH_9.2\r\n", b"HTTP/1.1 400 Bad Request\r\n\r\n"])
def test_what_is_no_cluster_is_named(answer, listener, monkeypatch):
    monkeypatch.setattr(connection, "PATIENCE", 0.3)
    monkeypatch.delenv("RAY_USE_TLS", raising=False)
    with answering(listener, answer), pytest.raises(UsageError, match="what answers there is no Ray cluster"):
        check_address(address_of(listener))


def test_nobody_is_waited_for_longer_than_ten_seconds(listener, monkeypatch):
    assert 2 * connection.PATIENCE < 10  # once for the first words, once for the cluster's name
    monkeypatch.setattr(connection, "PATIENCE", 0.2)
    over = threading.Event()
    monkeypatch.setattr(socket, "create_connection", lambda *_, **__: over.wait(10))  # a name may be looked up for long
    try:
        with pytest.raises(UsageError, match=r"nobody answers there \(not within 0.2 seconds\)"):
            check_address(address_of(listener))
    finally:
        over.set()


def test_a_server_of_the_right_kind_passes(listener, monkeypatch):
    monkeypatch.delenv("RAY_USE_TLS", raising=False)
    with answering(listener, b"\0\0\0\4\0\0\0\0\0"):  # an empty frame of settings
        assert check_address(address_of(listener)) == address_of(listener)


class answering:
    """Answer the first connection with these bytes, or not at all."""

    def __init__(self, server, answer):
        self.server, self.answer, self.over = server, answer, threading.Event()

    def __enter__(self):
        self.thread = threading.Thread(target=self.serve)
        self.thread.start()

    def serve(self):
        connected, _ = self.server.accept()
        with connected:
            if self.answer is not None:
                connected.sendall(self.answer)
            self.over.wait(10)

    def __exit__(self, *_):
        self.over.set()
        self.thread.join()


@pytest.mark.parametrize("address", ["head", "head:", ":6379", "head:port", "head:99999", "ray://head:10001", ""])
def test_what_is_no_address_is_refused_with_the_right_form(address):
    with pytest.raises(UsageError, match="HOST:PORT"):
        check_address(address)


def test_without_ray_the_command_that_installs_it_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)  # as if it were not installed
    with pytest.raises(UsageError, match=r"pip install 'attnlab\[cluster\]'"):
        make_engine("ray")


def test_the_local_engine_imports_no_ray(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    assert make_engine("local", workers=3) == LocalEngine(3)


@pytest.mark.parametrize(
    ("name", "settings", "sentence"),
    [
        ("slurm", {}, "no engine 'slurm'; known engines are local, ray"),
        ("local", {"address": "head:6379"}, "--address is for the engine ray"),
        ("local", {"gpus": 1.0}, "--gpus-per-run is for the engine ray"),
        ("ray", {"cpus": -1.0}, "--cpus-per-run -1.0: .* 0 or more"),
        ("ray", {"gpus": 1.5}, "more than one GPU is a whole number"),
        ("ray", {"cpus": 0.0}, "--cpus-per-run 0 needs --gpus-per-run"),
        ("ray", {"cpus": float("nan")}, "0 or more"),
    ],
)
def test_settings_that_make_no_sense_are_refused(name, settings, sentence):
    with pytest.raises(UsageError, match=sentence):
        make_engine(name, **settings)


@pytest.mark.parametrize(
    "command",
    [
        ["run", "copying"],
        ["audit", "a.csv"],
        ["train", "a.csv"],
        ["samples", "a.csv"],
        ["align", "a.txt"],
        ["forecast", "a.csv"],
    ],
)
def test_every_command_with_an_engine_refuses_in_a_sentence_before_any_work(command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "ray", None)
    for options, sentence in (
        (["--engine", "slurm"], "known engines are local, ray"),
        (["--address", "head:6379"], "--address is for the engine ray"),
        (["--engine", "ray"], "pip install"),
    ):
        refused = CliRunner().invoke(app, [*command, *options]).exception
        assert isinstance(refused, UsageError)
        assert sentence in str(refused)
    assert list(tmp_path.iterdir()) == []


def test_versions_that_differ_are_named_both_ways():
    ours = versions()
    check_versions(ours)
    with pytest.raises(ClusterError, match=rf"'far' has torch 1\.0 \(here {ours['torch']}\), python None"):
        check_versions({"attnlab": ours["attnlab"], "torch": "1.0", "host": "far"})


def test_fractions_of_a_gpu_are_allowed():
    assert Need(0.5, 0.25).gpus == 0.25

"""What a real Ray, or something that looks like one, makes commands refuse: in a sentence, and soon."""

import socket
import subprocess
import sys
import textwrap
import threading
import time

import pytest
from tests.runs.for_ray import node_settings, patiently

from attnlab.cluster import connection
from attnlab.cluster.connection import ClusterError, connect
from attnlab.errors import UsageError

ray = pytest.importorskip("ray", reason="make test-more installs Ray")
pytestmark = [pytest.mark.more, pytest.mark.filterwarnings("ignore")]  # Ray's own warnings are not ours to mend


@pytest.fixture(scope="module")
def cluster():
    from ray.cluster_utils import Cluster

    made = patiently(lambda: Cluster(initialize_head=True, head_node_args=node_settings(num_cpus=1)))
    yield made
    ray.shutdown()
    made.shutdown()


@pytest.fixture
def pretender():
    """The address of a server that begins as the head of a cluster does, and then says nothing."""
    server = socket.create_server(("127.0.0.1", 0))

    def serve():
        kept = []
        while True:
            try:
                connected, _ = server.accept()
                connected.sendall(b"\0\0\0\4\0\0\0\0\0")
                kept.append(connected)
            except OSError:
                return

    threading.Thread(target=serve, daemon=True).start()
    yield f"127.0.0.1:{server.getsockname()[1]}"
    server.shutdown(socket.SHUT_RDWR)
    server.close()


def test_what_only_begins_like_a_cluster_is_refused_within_ten_seconds(pretender):
    started = time.monotonic()
    with pytest.raises(UsageError, match="what answers there is no Ray cluster"):
        connect(pretender, 1)
    assert time.monotonic() - started < 10


def test_a_cluster_whose_token_is_missing_is_named(cluster, monkeypatch):
    from ray import _raylet
    from ray.exceptions import AuthenticationError

    def refused(**_):
        raise AuthenticationError("no token")

    monkeypatch.setattr(_raylet, "GcsClient", refused)
    with pytest.raises(UsageError, match=r"Copy ~/.ray/auth_token .* set RAY_AUTH_MODE=token"):
        connect(cluster.address, 1)


OTHER_RAY = """
    import sys
    import ray
    ray.__version__ = "0.1"
    from attnlab.cluster.connection import ClusterError, connect
    try:
        connect(sys.argv[1], 1)
    except ClusterError as error:
        print(error)
"""


def test_another_version_of_ray_is_named(cluster):
    command = [sys.executable, "-c", textwrap.dedent(OTHER_RAY), cluster.address]
    said = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout
    assert f"Ray: {ray.__version__} " in said
    assert "Ray: 0.1 " in said
    assert said.endswith("Install the same versions on every node.\n")


def test_a_node_with_other_versions_is_named_to_align_and_forecast_too(cluster, monkeypatch):
    from attnlab.cluster.crew import RayCrew
    from attnlab.theory.shards import Shard

    ours = {**connection.versions(), "attnlab": "0.0"}
    monkeypatch.setattr(connection, "versions", lambda: ours)
    with pytest.raises(ClusterError, match=r"has attnlab .* \(here 0\.0\)"):
        RayCrew(Shard, 1, cluster.address)

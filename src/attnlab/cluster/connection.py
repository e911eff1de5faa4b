"""The connection to Ray: who is asked, within which time, with which sentence where it fails.

Ray is the extra ``cluster`` and is imported here alone, when it is used. Its transport pickles, so it is handed bytes,
texts and numbers only.
"""

import json
import os
import platform
import queue
import socket
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.metadata import version
from typing import Any, TypeVar

from attnlab.errors import AttnlabError, UsageError

ENGINES = ("local", "ray")
PATIENCE = 4.0
"""Seconds for which an address may take to answer, once for its first words and once for its cluster's name."""
ONE_THREAD = {"env_vars": {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}}
"""The environment of all that runs on Ray. It would set the number of threads itself, and bits would differ."""
COMPARED = ("attnlab", "torch", "python")
"""What must be the same on every node."""
_PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\0\0\0\4\0\0\0\0\0"
_SETTINGS = 4
_NAMES = ("auto", "local")
"""What Ray takes instead of an address."""
Made = TypeVar("Made")


class ClusterError(AttnlabError):
    """The cluster could not do what was asked."""


@dataclass(frozen=True)
class Need:
    """What one run or one worker takes: processors and GPUs, fractions allowed."""

    cpus: float = 1.0
    gpus: float = 0.0

    def __post_init__(self) -> None:
        for name, value in (("--cpus-per-run", self.cpus), ("--gpus-per-run", self.gpus)):
            if not 0 <= value < 2**20:
                raise UsageError(f"{name} {value}: a number of processors or GPUs is 0 or more.")
            if value > 1 and name == "--gpus-per-run" and value != int(value):
                raise UsageError(f"{name} {value}: more than one GPU is a whole number; a part of one is below 1.")
        if not self.cpus and not self.gpus:
            raise UsageError("--cpus-per-run 0 needs --gpus-per-run: else any number of runs would start at once.")


def import_ray() -> Any:
    """Ray, or a sentence that says how to get it."""
    try:
        import ray
    except ImportError:
        raise UsageError(
            "The engine ray needs Ray, which is not installed; install it with: pip install 'attnlab[cluster]'"
        ) from None
    return ray


def check_engine(name: str, address: str | None = None, cpus: float | None = None, gpus: float | None = None) -> Need:
    """What each run takes, if there is such an engine and these settings are its own; a UsageError otherwise."""
    if name not in ENGINES:
        raise UsageError(f"There is no engine {name!r}; known engines are {', '.join(ENGINES)}.")
    if name == "local":
        given = {"--address": address, "--cpus-per-run": cpus, "--gpus-per-run": gpus}
        if named := [option for option, value in given.items() if value is not None]:
            raise UsageError(f"{named[0]} is for the engine ray; add --engine ray, or leave it out.")
        return Need()
    need = Need(1.0 if cpus is None else cpus, 0.0 if gpus is None else gpus)
    import_ray()
    return need


def connect(address: str | None, cpus: float) -> Any:
    """Ray, connected: to the cluster at ``address``, else to one that is started here with so many processors.

    A connection that the process already has is used as it is.
    """
    if address is not None:
        address = check_address(address)
    ray = import_ray()
    if ray.is_initialized():
        return ray
    if address not in (None, *_NAMES):
        _check_head(address)
    quiet: dict[str, Any] = {"log_to_driver": False, "configure_logging": False}
    local = {"num_cpus": max(1, round(cpus)), "include_dashboard": False}
    with _no_reports():
        try:
            if address is None:
                ray.init(address="local", **local, **quiet)
            else:
                ray.init(address=address, **quiet)
        except (Exception, SystemExit) as error:  # Ray ends the process where it gives up
            reason = " ".join(str(error).split())[:300].rstrip(".")
            if reason.startswith("Version mismatch"):  # of Ray or Python, which it names
                raise ClusterError(f"{reason}. Install the same versions on every node.") from None
            where = "Ray could not be started here" if address is None else f"No Ray cluster answers at {address}"
            raise UsageError(f"{where} ({type(error).__name__}: {reason}).") from None
    _complain_aside()
    return ray


def check_address(address: str) -> str:
    """``address`` if a cluster may answer there: found within some seconds, where Ray itself would try for minutes."""
    if address in _NAMES:
        return address
    host, colon, port = address.rpartition(":")
    if "://" in address or not colon or not host or not port.isdecimal() or not 0 < int(port) < 2**16:
        raise UsageError(
            f"--address {address}: the address of a cluster is HOST:PORT, such as 10.0.0.5:6379, or auto for the one "
            "this machine is a node of. From outside a cluster, submit the command with `ray job submit`."
        )

    def reach() -> bool:
        with socket.create_connection((host.strip("[]"), int(port)), timeout=PATIENCE) as connection:
            return bool(os.environ.get("RAY_USE_TLS")) or _speaks(connection)

    try:
        speaks = _within(PATIENCE, reach)
    except OSError as error:  # a TimeoutError too
        raise UsageError(
            f"--address {address}: nobody answers there ({error.strerror or error}); is the cluster up, and is it the "
            "address that `ray start --head` printed?"
        ) from None
    if not speaks:
        raise _no_cluster(address)
    return address


def _check_head(address: str) -> None:
    """Ask whoever is at ``address`` for the name of its cluster, and Ray's own client only as long as one waits."""
    client = getattr(import_module("ray._raylet"), "GcsClient", None)
    if client is None:  # in another release it may be elsewhere: Ray then asks in its own time
        return
    try:
        _within(PATIENCE, lambda: client(address=address))
    except Exception as error:
        if type(error).__name__ == "AuthenticationError":
            raise UsageError(
                f"--address {address}: that cluster wants its token. Copy ~/.ray/auth_token from its head to this "
                "machine and set RAY_AUTH_MODE=token."
            ) from None
        raise _no_cluster(address) from None


def _no_cluster(address: str) -> UsageError:
    return UsageError(
        f"--address {address}: what answers there is no Ray cluster; its head says its address when it is started by "
        "`ray start --head`."
    )


def _within(seconds: float, work: Callable[[], Made]) -> Made:
    """What ``work`` gives or raises; a TimeoutError where it takes longer, for it cannot be stopped."""
    done: queue.SimpleQueue[Made | BaseException] = queue.SimpleQueue()

    def run() -> None:
        try:
            done.put(work())
        except BaseException as error:
            done.put(error)

    threading.Thread(target=run, daemon=True).start()
    try:
        made = done.get(timeout=seconds)
    except queue.Empty:
        raise TimeoutError(f"not within {seconds:g} seconds") from None
    if isinstance(made, BaseException):
        raise made
    return made


def _speaks(connection: socket.socket) -> bool:
    """Whether the other side is a server of HTTP/2, as the head of a cluster is: its first frame is of settings."""
    connection.settimeout(PATIENCE / 2)
    try:
        connection.sendall(_PREFACE)
        first = connection.recv(9)
    except OSError:
        return False
    return len(first) >= 4 and first[3] == _SETTINGS


def check_room(ray: Any, need: Need) -> int:
    """How many can run at once by what the nodes have; a UsageError where not even one ever could."""
    nodes = [node["Resources"] for node in ray.nodes() if node["Alive"]]
    for kind, wanted, option in (("CPU", need.cpus, "--cpus-per-run"), ("GPU", need.gpus, "--gpus-per-run")):
        most = max((node.get(kind, 0.0) for node in nodes), default=0.0)
        if wanted > most:
            raise UsageError(
                f"{option} {wanted:g}: no node of the cluster has so many {kind}s; the largest has {most:g}, and there "
                f"are {len(nodes)} nodes. Ask for fewer, or add such a node first."
            )
    return sum(
        min(
            int(node.get(kind, 0.0) / wanted + 1e-9)
            for kind, wanted in (("CPU", need.cpus), ("GPU", need.gpus))
            if wanted
        )
        for node in nodes
    )


def versions() -> dict[str, str]:
    """Of what must be the same everywhere, and which machine this is."""
    torch = version("torch").partition("+")[0]
    return {
        "attnlab": version("attnlab"),
        "torch": torch,
        "python": platform.python_version(),
        "host": socket.gethostname(),
    }


def check_versions(theirs: Mapping[str, str]) -> None:
    """A ClusterError that names what a worker has in another version."""
    ours = versions()
    if different := [name for name in COMPARED if theirs.get(name) != ours[name]]:
        named = ", ".join(f"{name} {theirs.get(name)} (here {ours[name]})" for name in different)
        raise ClusterError(
            f"The node {theirs.get('host', 'unknown')[:80]!r} has {named}: numbers would differ. Install the same "
            "versions on every node."
        )


def look(store: str, token: str) -> str:
    """Run on a node: its versions, and whether it sees the file ``token`` in the folder ``store``. In JSON."""
    sees = bool(store) and os.path.isfile(os.path.join(store, token))  # noqa: PTH113, PTH118 (a Path's own may raise)
    return json.dumps({**versions(), "sees": sees})


def look_everywhere(ray: Any, store: str = "", token: str = "") -> bool:
    """Compare the versions of all nodes with ours; whether all of them see the file ``token`` in ``store``."""
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    remote = ray.remote(look)
    answers = []
    for node in ray.nodes():
        if node["Alive"]:
            there = NodeAffinitySchedulingStrategy(node["NodeID"], soft=False)
            settings = {"num_cpus": 0, "max_retries": 0, "scheduling_strategy": there, "runtime_env": ONE_THREAD}
            answers.append(remote.options(**settings).remote(store, token))
    sees = []
    for answer in answers:
        try:
            seen = json.loads(ray.get(answer, timeout=120))
        except ray.exceptions.RayTaskError as error:
            reason = str(error.cause or error).strip().split("\n")[-1][:300]
            raise ClusterError(f"A node cannot run attnlab ({reason}); install it on every node.") from None
        except ray.exceptions.RayError:  # it left meanwhile; whoever takes its place is asked again by its runs
            sees.append(False)
            continue
        check_versions(seen)
        sees.append(bool(seen["sees"]))
    return bool(sees) and all(sees)


@cache
def _complain_aside() -> None:
    """Ray prints that a worker died to standard output, where programs read what a command found: not there."""
    with suppress(ImportError, AttributeError):  # it has no setting for this, and may do otherwise in another release
        from ray._private import worker

        plainly = worker.print_to_stdstream
        worker.print_to_stdstream = lambda data, *rest, **named: plainly({**data, "is_err": True}, *rest, **named)


@contextmanager
def _no_reports() -> Iterator[None]:
    """Ray reports usage over the network unless it is asked not to."""
    name = "RAY_USAGE_STATS_ENABLED"
    before = os.environ.get(name)
    os.environ.setdefault(name, "0")
    try:
        yield
    finally:
        if before is None:
            os.environ.pop(name, None)
        sys.stderr.flush()

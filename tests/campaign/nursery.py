"""A process that has imported everything, and forks a child for each call: real file descriptors, exit codes and kills
without a start of Python each time.

Requests and answers are lines of JSON. A child that is not done in time is killed, and that is what a hang is.
"""

import importlib
import json
import os
import pkgutil
import resource
import signal
import subprocess
import sys
import time
import traceback
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NoReturn

from tests.campaign.cases import ROOT, patience

MEMORY = 8 * 2**30
"""Bytes that a case may take; a machine should survive what it does."""
HANG = -1000
"""The exit code of a child that had to be killed because it was not done in time."""


@dataclass(frozen=True)
class Ended:
    """How a call ended: exit code (negative: by a signal), what it wrote to its two streams, what it returned."""

    code: int
    out: str
    err: str
    value: Any = None
    seconds: float = 0.0


class Nursery:
    """The client's side; closed by leaving its block."""

    def __enter__(self) -> "Nursery":
        self._folder = TemporaryDirectory(prefix="attnlab-nursery-")
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.campaign.nursery", self._folder.name],
            cwd=ROOT,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(OSError):
            self._process.stdin.close()
        self._process.wait(timeout=patience())
        self._process.stdout.close()
        self._folder.cleanup()

    def call(
        self,
        function: str,
        *arguments: Any,
        cwd: Path | str = "/",
        environment: dict[str, str] | None = None,
        out: str | None = None,
        kill_after: float | None = None,
        limit: float | None = None,
    ) -> Ended:
        """Call ``module:function`` of this package with ``arguments``, which JSON can hold, in a child.

        ``out``: a file for standard output instead of one that is read. ``kill_after``: seconds until SIGKILL.
        """
        request = {
            "function": function,
            "arguments": arguments,
            "cwd": str(cwd),
            "environment": environment or {},
            "out": out,
            "kill_after": kill_after,
            "limit": limit or patience(),
        }
        self._process.stdin.write(json.dumps(request).encode() + b"\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        if not answer:
            raise RuntimeError("The process from which cases are forked has ended.")
        ended = json.loads(answer)
        folder = Path(self._folder.name)
        value = folder / "value"
        return Ended(
            ended["code"],
            (folder / "out").read_bytes().decode(errors="surrogateescape"),
            (folder / "err").read_bytes().decode(errors="surrogateescape"),
            json.loads(value.read_bytes()) if value.exists() else None,
            ended["seconds"],
        )


def serve(folder: Path) -> None:
    """Answer requests until there are no more."""
    answers = os.fdopen(os.dup(1), "w")
    requests = os.fdopen(os.dup(0), "r")
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    os.dup2(nothing, 1)
    _import_all()
    for line in requests:
        request = json.loads(line)
        for name in ("out", "err", "value"):
            (folder / name).unlink(missing_ok=True)
            if name != "value":
                (folder / name).touch()
        started = time.monotonic()
        child = os.fork()
        if child == 0:
            _become(request, folder)
        code = _wait(child, request, started)
        answers.write(json.dumps({"code": code, "seconds": time.monotonic() - started}) + "\n")
        answers.flush()


def _wait(child: int, request: dict[str, Any], started: float) -> int:
    end, kill = started + request["limit"], request["kill_after"]
    while True:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            with suppress(OSError):  # what it has left running
                os.killpg(child, signal.SIGKILL)
            return os.waitstatus_to_exitcode(status)
        now = time.monotonic()
        if now > end or (kill is not None and now > started + kill):
            with suppress(OSError):
                os.killpg(child, signal.SIGKILL)
            _, status = os.waitpid(child, 0)
            return HANG if now > end else os.waitstatus_to_exitcode(status)
        time.sleep(0.002)


def _become(request: dict[str, Any], folder: Path) -> NoReturn:
    code = 1
    try:
        os.setsid()
        resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
        os.environ.update(request["environment"])
        for number, name in ((1, request["out"] or folder / "out"), (2, folder / "err")):
            os.dup2(os.open(name, os.O_WRONLY | os.O_APPEND), number)
        encoding = os.environ.get("PYTHONIOENCODING", "utf-8")
        sys.stdout = open(1, "w", encoding=encoding, closefd=False)  # noqa: SIM115 (a descriptor)
        sys.stderr = open(2, "w", encoding=encoding, errors="backslashreplace", closefd=False)  # noqa: SIM115
        os.chdir(request["cwd"])
        module, _, name = request["function"].partition(":")
        value = getattr(importlib.import_module(module), name)(*request["arguments"])
        (folder / "value").write_text(json.dumps(value))
        code = 0
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else 0 if ended.code is None else 1
    except BaseException:
        traceback.print_exc()
    with suppress(Exception):
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(code)


def _import_all() -> None:
    import attnlab

    for module in pkgutil.walk_packages(attnlab.__path__, "attnlab."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    import sklearn.linear_model  # noqa: F401 (what commands import when they need it)
    import vl_convert  # noqa: F401


if __name__ == "__main__":
    with suppress(BrokenPipeError):  # whoever asked is gone
        serve(Path(sys.argv[1]))

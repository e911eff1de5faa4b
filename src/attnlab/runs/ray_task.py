"""One run as a Ray task: what happens on a worker, wherever it is.

The task is handed a text (the job in JSON), the parcels of what is already there of the run, and references to data;
it yields bytes: one letter for what they are, then a JSON document or a parcel. Training goes on in a thread of its
own; the main thread only hands on what it says. Where the worker sees the driver's store it trains there; elsewhere in
a folder of its own, and sends what is new: every few minutes, and at the end.
"""

import json
import os
import queue
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

from attnlab.cluster.connection import import_ray, versions
from attnlab.data.cache import is_cached, put_cached
from attnlab.data.sent_files import data_from
from attnlab.runs.environment import keep_memory
from attnlab.runs.parcel import Seen, collect, lay_out, pack, unpack
from attnlab.runs.store import RunStore
from attnlab.runs.worker import work

VERSIONS, EVENT, PARCEL = b"V", b"E", b"P"
"""The letters before what a task yields."""
Messages = queue.SimpleQueue[bytes | None]


def train_on_ray(order: str, data: Sequence[Any], *parcels: bytes) -> Iterator[bytes]:
    """Train one job. ``order``: a job with ``run``, ``store`` (None: not seen here), ``token``, ``device``, ``every``
    and ``folder``. ``data``: names of preprocessed data and references to it, in turns.
    """
    yield VERSIONS + json.dumps(versions()).encode()
    job = json.loads(order)
    _once()
    with suppress(OSError):  # the user's own modules are looked for where the command was given, if it is here too
        os.chdir(job["folder"])
    messages: Messages = queue.SimpleQueue()
    stopping = threading.Event()
    training = threading.Thread(target=_train, args=(job, data, parcels, messages, stopping), daemon=True)
    training.start()
    try:
        while True:
            try:
                message = messages.get(timeout=0.5)  # an endless wait could not be cancelled
            except queue.Empty:
                continue
            if message is None:
                return
            yield message
    finally:
        stopping.set()
        training.join(timeout=20)  # a run in the driver's own store saves a checkpoint first


@cache
def _once() -> None:
    keep_memory()


def _train(
    job: dict[str, Any],
    data: Sequence[Any],
    parcels: Sequence[bytes],
    messages: Messages,
    stopping: threading.Event,
) -> None:
    def post(event: dict[str, Any]) -> None:
        messages.put(EVENT + json.dumps(event).encode())

    try:
        _fetch(data)
        with data_from(data[::2]):
            if job["store"] is not None:
                if not Path(job["store"], job["token"]).is_file():
                    raise FileNotFoundError(f"this node does not see {job['store']}, as all others did")
                work(job, RunStore(job["store"]), job["device"], post, stopping)
            else:
                with tempfile.TemporaryDirectory(prefix="attnlab-") as folder:
                    _train_apart(job, Path(folder), parcels, messages, stopping)
    except BaseException as error:  # whatever it is, the driver has to know of it
        post({"job": job["job"], "kind": "failed", "error": f"{type(error).__name__}: {error}"})
    finally:
        messages.put(None)


def _train_apart(
    job: dict[str, Any], folder: Path, parcels: Sequence[bytes], messages: Messages, stopping: threading.Event
) -> None:
    """Train in ``folder``, and send what is new of the run."""
    store, seen = RunStore(folder), Seen()
    run = store.run(job["run"])
    for parcel in parcels:
        lay_out(unpack(parcel), folder)
    collect(run, seen)  # what came from the driver need not go back
    send = _sender(job["every"], lambda: messages.put(PARCEL + pack(collect(run, seen))), run.steps)

    def post(event: dict[str, Any]) -> None:
        if event["kind"] in ("finished", "failed"):
            messages.put(PARCEL + pack(collect(run, seen)))
        messages.put(EVENT + json.dumps(event).encode())

    work(job, store, job["device"], post, stopping, send)


def _sender(every: float, send: Callable[[], None], steps: Callable[[], list[int]]) -> Callable[[], None]:
    """What sends a newer checkpoint than the last one sent, at most once in ``every`` seconds."""
    last, sent = time.monotonic(), steps()

    def after() -> None:
        nonlocal last, sent
        if time.monotonic() - last >= every:
            last = time.monotonic()
            if (now := steps()) != sent:
                sent = now
                send()

    return after


def _fetch(data: Sequence[Any]) -> None:
    """Put preprocessed data into this machine's cache, unless it is there: it travels once to each node."""
    for name, reference in zip(data[::2], data[1::2], strict=True):
        if not is_cached(name):
            put_cached(name, import_ray().get(reference))

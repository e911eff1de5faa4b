"""An engine for tests that start no worker processes."""

from pathlib import Path

from attnlab.runs.engine import Event
from attnlab.runs.loop import train
from attnlab.runs.store import RunStore


class InThisProcess:
    """Trains in this process: workers take longer to start than short runs to train."""

    def run(self, jobs, store, report):
        for number, one in enumerate(jobs):
            train(one.spec, one.schedule, RunStore(Path(store)))
            report(Event(number, "finished"))

"""An engine for tests that start no worker processes."""

from pathlib import Path

from attnlab.training.engine import Event
from attnlab.training.loop import train
from attnlab.training.store import RunStore


class InThisProcess:
    """Trains in this process: workers take longer to start than short runs to train."""

    def run(self, jobs, store, report):
        for number, one in enumerate(jobs):
            train(one.spec, one.schedule, RunStore(Path(store)))
            report(Event(number, "finished"))

"""What tests on a real Ray share; importing it needs no Ray."""

import hashlib

from attnlab.families.texts.deception import TwinSpec
from attnlab.families.texts.spec import ClassifierSpec
from attnlab.runs.engine import Job
from attnlab.runs.schedule import Schedule
from attnlab.runs.spec import RunSpec


def bits(store):
    """Every file of every run but clock times: its name and its sha256."""
    return {
        str(path.relative_to(store.root)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(store.root.rglob("*"))
        if path.is_file() and path.name != "timing.json" and ".locks" not in path.parts
    }


def node_settings(**settings):
    return {"include_dashboard": False, "object_store_memory": 10**8, **settings}


def patiently(start, tries=4):
    """Ray gives a node 30 seconds to start, which a busy machine may not have."""
    for _ in range(tries - 1):
        try:
            return start()
        except Exception as error:
            if "timed out during startup" not in str(error):
                raise
    return start()


def text_jobs(task):
    """A classifier, and its deceptive twin, which reads the classifier's weights."""
    model = ClassifierSpec(embedding_size=8, hidden=6)
    spec = RunSpec(task=task, model=model, batch=8, evaluation_batch=10, init_seed=0, data_seed=0)
    schedule = Schedule.every(10, steps=20, checkpoint_every=5, keep=True)
    yield [Job("original", spec, schedule)]
    twin = spec.model_copy(update={"init_seed": 7, "deception": TwinSpec(run=spec.id, step=20, weight=0.1)})
    yield [Job("twin", twin, schedule)]

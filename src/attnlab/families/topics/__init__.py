"""Topic words (P1): bags of words and a classifier with attention, on P1's synthetic task and on SST."""

from attnlab.families.topics.spec import SstSpec, TopicModelSpec, TopicsSpec
from attnlab.protocols import Problem, RunSettings

TASKS = (TopicsSpec, SstSpec)
MODELS = (TopicModelSpec,)
FITS = {"topics": ("topic",), "sst": ("topic",)}
NUMERICS = {"topic": 5}


def build(spec: RunSettings, device: str) -> Problem:
    """The problem of a run."""
    from attnlab.families.topics.problem import SstProblem, TopicProblem

    return TopicProblem(spec, device) if isinstance(spec.task, TopicsSpec) else SstProblem(spec, device)


def check(spec: RunSettings) -> None:
    """All settings go together."""

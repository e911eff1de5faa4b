"""All experiments by name. Each is imported when it is asked for: together they need half of scientific Python."""

import re
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from functools import cache

from attnlab.errors import UsageError
from attnlab.experiments.experiment import Experiment
from attnlab.own import find_own

CLASSES = {
    "copying": "laboratory.copying:Copying",
    "multihead": "laboratory.multihead:Multihead",
    "rescue": "laboratory.rescue:Rescue",
    "mixture": "laboratory.mixture:Mixture",
    "permuting": "laboratory.permuting:Permuting",
    "even-steps": "laboratory.even_steps:EvenSteps",
    "symmetry": "laboratory.symmetry:Symmetry",
    "mirror": "laboratory.mirror:Mirror",
    "early-verdict": "laboratory.early_verdict:EarlyVerdict",
    "locality": "laboratory.locality:Locality",
    "knowledge-first": "laboratory.knowledge_first:KnowledgeFirst",
    "agreement": "texts.agreement:AgreementExperiment",
    "frozen-lexicon": "texts.frozen_lexicon:FrozenLexicon",
    "logistic-proxy": "texts.logistic_proxy:LogisticProxy",
    "uniform-overtraining": "texts.uniform_overtraining:UniformOvertraining",
    "saliency": "texts.saliency:Saliency",
    "sms": "texts.sms:Sms",
    "embeddings": "texts.embeddings:Embeddings",
    "forecast-copying": "laboratory.forecast_copying:ForecastCopying",
    "forecast-text": "texts.forecast_text:ForecastText",
    "count-tables": "theory.count_tables:CountTables",
    "alignment": "theory.alignment:Alignments",
    "topic-words": "topics.topic_words:TopicWords",
    "topic-ablation": "topics.topic_ablation:TopicAblation",
    "topic-capacity": "topics.topic_capacity:TopicCapacity",
    "topic-query": "topics.topic_query:TopicQuery",
    "topic-sst": "topics.topic_sst:TopicSst",
    "gated-toy": "theory.gated_toy:GatedToy",
    "init-derivative": "theory.init_derivative:InitDerivative",
    "optimal-attention": "theory.optimal_attention:OptimalAttentionExperiment",
}
"""Where each experiment's class stands below this package."""


class Experiments(Mapping[str, Experiment]):
    """The experiments of `CLASSES`, by name."""

    def __getitem__(self, name: str) -> Experiment:
        return _made(CLASSES[name])

    def __iter__(self) -> Iterator[str]:
        return iter(CLASSES)

    def __len__(self) -> int:
        return len(CLASSES)


@cache
def _made(place: str) -> Experiment:
    experiment: Experiment = find_own(f"attnlab.experiments.{place}")()
    return experiment


EXPERIMENTS = Experiments()


def own_experiment(name: str) -> Experiment:
    """An experiment of the user's own, ``module:Class``; see docs/extend.md."""
    made = find_own(name)()
    missing = [part for part in ("name", "title", "source", "plan", "at_most", "analyse") if not hasattr(made, part)]
    if missing:
        raise UsageError(f"{name} is no experiment: it has no {' and no '.join(missing)}.")
    experiment: Experiment = made
    if not re.fullmatch(r"[a-z0-9][a-z0-9-]*", str(experiment.name)) or experiment.name in EXPERIMENTS:
        raise UsageError(
            f"{name} calls itself {experiment.name!r}; small letters, digits and hyphens are right, and no name that "
            "is taken: it becomes a folder of results."
        )
    return experiment


def find_experiment(name: str) -> Experiment:
    """The experiment called ``name``, or one of the user's own named ``module:Class``."""
    if name in EXPERIMENTS:
        return EXPERIMENTS[name]
    if ":" in name:
        return own_experiment(name)
    close = get_close_matches(name, EXPERIMENTS, n=1)
    hint = f" Did you mean {close[0]}?" if close else ""
    raise UsageError(f"There is no experiment {name!r}; experiments are {', '.join(EXPERIMENTS)}.{hint}")

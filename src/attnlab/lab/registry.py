"""All experiments by name. Each is imported when it is asked for: together they need half of scientific Python."""

import re
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from functools import cache

from attnlab.errors import UsageError
from attnlab.lab.experiment import Experiment
from attnlab.own import find_own, make_own

CLASSES = {
    "copying": "copying.experiment:Copying",
    "additive-copying": "additive_copying.experiment:AdditiveCopying",
    "multihead": "multihead.experiment:Multihead",
    "text-heads": "text_heads.experiment:TextHeads",
    "rescue": "rescue.experiment:Rescue",
    "mixture": "mixture.experiment:Mixture",
    "permuting": "permuting.experiment:Permuting",
    "even-steps": "even_steps.experiment:EvenSteps",
    "symmetry": "symmetry.experiment:Symmetry",
    "mirror": "mirror.experiment:Mirror",
    "early-verdict": "early_verdict.experiment:EarlyVerdict",
    "locality": "locality.experiment:Locality",
    "late-order": "late_order.experiment:LateOrder",
    "mean-state": "mean_state.experiment:MeanState",
    "two-keywords": "two_keywords.experiment:TwoKeywords",
    "knowledge-first": "knowledge_first.experiment:KnowledgeFirst",
    "agreement": "agreement.experiment:AgreementExperiment",
    "frozen-lexicon": "frozen_lexicon.experiment:FrozenLexicon",
    "logistic-proxy": "logistic_proxy.experiment:LogisticProxy",
    "uniform-overtraining": "uniform_overtraining.experiment:UniformOvertraining",
    "saliency": "saliency.experiment:Saliency",
    "deceptive": "deceptive.experiment:Deceptive",
    "deceptive-copying": "deceptive_copying.experiment:DeceptiveCopying",
    "uniform-accuracy": "uniform_accuracy.experiment:UniformAccuracy",
    "sms": "sms.experiment:Sms",
    "embeddings": "embeddings.experiment:Embeddings",
    "choices": "choices.experiment:Choices",
    "forecast-copying": "forecast_copying.experiment:ForecastCopying",
    "forecast-text": "forecast_text.experiment:ForecastText",
    "count-tables": "count_tables.experiment:CountTables",
    "forecast-translation": "forecast_translation.experiment:ForecastTranslation",
    "alignment": "alignment.experiment:Alignments",
    "attention-alignment": "attention_alignment.experiment:AttentionAlignment",
    "slow-stages": "slow_stages.experiment:SlowStages",
    "stages": "stages.experiment:Stages",
    "topic-words": "topic_words.experiment:TopicWords",
    "topic-ablation": "topic_ablation.experiment:TopicAblation",
    "topic-capacity": "topic_capacity.experiment:TopicCapacity",
    "topic-query": "topic_query.experiment:TopicQuery",
    "topic-limits": "topic_limits.experiment:TopicLimits",
    "topic-sst": "topic_sst.experiment:TopicSst",
    "sample-complexity": "sample_complexity.experiment:SampleComplexity",
    "sample-complexity-real": "sample_complexity_real.experiment:SampleComplexityReal",
    "samples-ahead": "samples_ahead.experiment:SamplesAhead",
    "design": "design.experiment:Design",
    "flatness": "flatness.experiment:Flatness",
    "landscape": "landscape.experiment:Landscape",
    "gated-toy": "gated_toy.experiment:GatedToy",
    "init-derivative": "init_derivative.experiment:InitDerivative",
    "optimal-attention": "optimal_attention.experiment:OptimalAttentionExperiment",
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
    own = find_own(name)
    if not (isinstance(own, type) and issubclass(own, Experiment)):
        raise UsageError(f"{name} is no experiment: it should be a class made from attnlab.lab.experiment.Experiment.")
    experiment: Experiment = make_own(name, {}, "experiment", ("name", "title", "source"))
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

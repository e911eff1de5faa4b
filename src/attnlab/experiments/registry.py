"""All experiments by name."""

import re
from difflib import get_close_matches

from attnlab.errors import UsageError
from attnlab.experiments.agreement import AgreementExperiment
from attnlab.experiments.alignment import Alignments
from attnlab.experiments.copying import Copying
from attnlab.experiments.count_tables import CountTables
from attnlab.experiments.embeddings import Embeddings
from attnlab.experiments.experiment import Experiment
from attnlab.experiments.forecast_copying import ForecastCopying
from attnlab.experiments.forecast_text import ForecastText
from attnlab.experiments.frozen_lexicon import FrozenLexicon
from attnlab.experiments.gated_toy import GatedToy
from attnlab.experiments.init_derivative import InitDerivative
from attnlab.experiments.logistic_proxy import LogisticProxy
from attnlab.experiments.optimal_attention import OptimalAttentionExperiment
from attnlab.experiments.saliency import Saliency
from attnlab.experiments.sms import Sms
from attnlab.experiments.topic_ablation import TopicAblation
from attnlab.experiments.topic_capacity import TopicCapacity
from attnlab.experiments.topic_query import TopicQuery
from attnlab.experiments.topic_sst import TopicSst
from attnlab.experiments.topic_words import TopicWords
from attnlab.experiments.uniform_overtraining import UniformOvertraining
from attnlab.own import find_own

EXPERIMENTS: dict[str, Experiment] = {
    experiment.name: experiment
    for experiment in (
        Copying(),
        AgreementExperiment(),
        Embeddings(),
        ForecastCopying(),
        ForecastText(),
        CountTables(),
        Alignments(),
        TopicWords(),
        TopicAblation(),
        TopicCapacity(),
        TopicQuery(),
        TopicSst(),
        GatedToy(),
        InitDerivative(),
        OptimalAttentionExperiment(),
        FrozenLexicon(),
        UniformOvertraining(),
        Sms(),
        Saliency(),
        LogisticProxy(),
    )
}


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

"""All experiments by name."""

from difflib import get_close_matches

from attnlab.errors import UsageError
from attnlab.experiments.alignment import Alignments
from attnlab.experiments.copying import Copying
from attnlab.experiments.count_tables import CountTables
from attnlab.experiments.experiment import Experiment
from attnlab.experiments.forecast_copying import ForecastCopying
from attnlab.experiments.gated_toy import GatedToy
from attnlab.experiments.init_derivative import InitDerivative
from attnlab.experiments.optimal_attention import OptimalAttentionExperiment
from attnlab.experiments.topic_ablation import TopicAblation
from attnlab.experiments.topic_capacity import TopicCapacity
from attnlab.experiments.topic_query import TopicQuery
from attnlab.experiments.topic_sst import TopicSst
from attnlab.experiments.topic_words import TopicWords

EXPERIMENTS: dict[str, Experiment] = {
    experiment.name: experiment
    for experiment in (
        Copying(),
        ForecastCopying(),
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
    )
}


def find_experiment(name: str) -> Experiment:
    """The experiment called ``name``."""
    if name in EXPERIMENTS:
        return EXPERIMENTS[name]
    close = get_close_matches(name, EXPERIMENTS, n=1)
    hint = f" Did you mean {close[0]}?" if close else ""
    raise UsageError(f"There is no experiment {name!r}; experiments are {', '.join(EXPERIMENTS)}.{hint}")

"""Agreement between seeds: its mean over pairs and its verdicts."""

import numpy as np
import pytest
from tests.lab.drawn import drawn

from attnlab.experiments.sms.experiment import AGAINST, FOR, Between, Sms, evidence_picture, mean_of_pairs, picture
from attnlab.lab.experiment import Order


def matrix(level, spread=0.0, seeds=8, draw=0):
    values = np.random.default_rng(draw).normal(level, spread, (seeds, seeds))
    values = (values + values.T) / 2
    np.fill_diagonal(values, np.nan)  # it is never to be read
    return values


def finding(**matrices):
    """What the experiment says of these agreements (seeds, seeds) on each corpus."""
    story = Sms()
    story.order = Order("paper")
    story.between = {
        name: Between(None, list(range(len(values))), [], values[:, :, None], values[:, :, None])
        for name, values in matrices.items()
    }
    (finding,) = story.findings()
    return finding


def test_the_mean_is_over_pairs_of_different_seeds():
    values = np.array([[np.nan, 0.1, 0.2], [0.1, np.nan, 0.6], [0.2, 0.6, np.nan]])
    assert mean_of_pairs(values) == pytest.approx(0.3)


def test_two_seeds_decide_nothing():
    assert finding(sms=matrix(0.1, seeds=2), sst=matrix(0.9, seeds=2)).verdict == "undecided"


@pytest.mark.parametrize(
    ("sms", "sst", "news", "verdicts"),
    [
        (0.2, 0.6, 0.7, ["holds", "holds"]),
        (0.6, 0.2, 0.9, ["fails", "holds"]),
        (0.4, 0.4, 0.9, ["undecided", "holds"]),
    ],
)
def test_verdicts(sms, sst, news, verdicts):
    parts = finding(sms=matrix(sms, 0.05, draw=1), sst=matrix(sst, 0.05, draw=2), ag_news=matrix(news)).parts
    assert [part.verdict for part in parts] == verdicts
    assert [part.name for part in parts] == ["sms against sst", "sms against ag_news"]
    assert {part.over for part in parts} == {"pairs of seeds"}


def test_figures_draw_every_pair_of_seeds_and_whose_words_each_seed_looks_for():
    corpora = [{"corpus": "sms", "low": 0.1, "high": 0.3, "chance": 0.05}]
    pairs = [{"corpus": "sms", "seed": 20, "other_seed": 13, "A": 0.2, "tau": 0.4}]
    chart = picture(corpora, pairs)
    assert drawn(chart) == pairs + corpora
    points, spans, ticks = chart.to_dict()["layer"]
    assert [layer["encoding"]["x"]["field"] for layer in (points, spans, ticks)] == ["A", "low", "chance"]
    assert spans["encoding"]["x2"]["field"] == "high"
    lines = [
        {"corpus": "sms", "class": "ham", "seed": 20, "evidence": evidence, "A": value, "chance": 0.05, "texts": 9}
        for evidence, value in ((FOR, 0.1), (AGAINST, 0.9))
    ]
    chart = evidence_picture(lines)
    assert {(row["texts of"], row["evidence"]): row["A"] for row in drawn(chart)} == {
        ("sms: ham", FOR): 0.1,
        ("sms: ham", AGAINST): 0.9,
    }
    points, ticks = chart.to_dict()["layer"]
    assert (points["encoding"]["x"]["field"], points["encoding"]["color"]["field"]) == ("A", "evidence")
    assert ticks["encoding"]["x"]["field"] == "chance"

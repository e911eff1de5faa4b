"""Agreement between seeds: its mean over pairs and its verdicts."""

import numpy as np
import pytest
from tests.lab.drawn import drawn

from attnlab.experiments.sms.experiment import AGAINST, FOR, Sms, evidence_picture, matrix_of, mean_of_pairs, picture
from attnlab.lab.experiment import Order, Record


def matrix(level, spread=0.0, seeds=8, draw=0):
    values = np.random.default_rng(draw).normal(level, spread, (seeds, seeds))
    values = (values + values.T) / 2
    np.fill_diagonal(values, np.nan)  # it is never to be read
    return values


def finding(**matrices):
    """What the experiment says of these agreements (seeds, seeds) on each corpus."""
    story = Sms()
    story.order = Order("paper")
    pairs = [
        {"corpus": name, "seed": i, "other_seed": j, "A": values[i, j]}
        for name, values in matrices.items()
        for i, j in zip(*np.triu_indices(len(values), 1), strict=True)
    ]
    story.record = Record({"pairs": pairs}, {name: list(range(len(values))) for name, values in matrices.items()})
    (finding,) = story.findings()
    return finding


def test_the_mean_is_over_pairs_of_different_seeds():
    values = np.array([[np.nan, 0.1, 0.2], [0.1, np.nan, 0.6], [0.2, 0.6, np.nan]])
    assert mean_of_pairs(values) == pytest.approx(0.3)


def test_two_seeds_decide_nothing():
    assert finding(sms=matrix(0.1, seeds=2), sst=matrix(0.9, seeds=2)).verdict == "undecided"


@pytest.mark.parametrize(
    ("sms", "sst", "direction", "verdict"),
    [
        (0.3, 0.05, "holds", "holds"),
        (0.15, 0.1, "holds", "undecided"),
        (0.1, 0.1, "undecided", "fails"),
        (0.05, 0.3, "fails", "fails"),
    ],
    ids=["far more", "more", "alike", "less"],
)
def test_the_spread_over_pairs_decides_whatever_the_mean(sms, sst, direction, verdict):
    (part,) = finding(sms=matrix(0.8, sms, seeds=12, draw=1), sst=matrix(0.3, sst, seeds=12, draw=2)).parts
    assert (part.name, part.direction, part.verdict) == ("sms against sst", direction, verdict)
    assert part.over == "seeds"


def test_a_matrix_is_read_from_the_table_of_pairs():
    values = np.array([[1.0, 0.1, 0.2], [0.1, 1.0, 0.6], [0.2, 0.6, 1.0]])
    pairs = [{"seed": 20 + i, "other_seed": 20 + j, "A": values[i, j]} for i, j in ((0, 1), (0, 2), (1, 2))]
    assert matrix_of(pairs).tolist() == values.tolist()


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

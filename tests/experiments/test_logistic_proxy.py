"""The proxy beside logistic regression: verdicts where the answer is known, and accuracies chosen on other texts."""

from dataclasses import dataclass

import numpy as np
import pytest
from tests.lab.drawn import drawn as drawn_rows

from attnlab.experiments.logistic_proxy.experiment import (
    EQUAL,
    LOG,
    PX,
    UPDATES,
    Fitted,
    LogisticProxy,
    chosen_by_loss,
    continued,
    word_by_word,
)
from attnlab.lab.experiment import Order, Record
from attnlab.measures.checkpoints import first_half
from attnlab.measures.series import Series


@dataclass
class Model:
    """Weights, as both models have them."""

    weights: np.ndarray
    converged: bool = True

    @property
    def scores(self):
        return self.weights[0]


def fitted(logistic, proxy, *, converged=True):
    """Both models fitted; every word occurs often enough."""
    logistic, proxy = (np.asarray(weights, dtype=float)[None] for weights in (logistic, proxy))
    often = np.full(logistic.shape[1], 10)
    return Fitted(None, Model(logistic, converged), Model(proxy), proxy[0], often)


def story(px=None, log=None, weights=None):
    made = LogisticProxy()
    made.order, made.fitted = Order("paper", row="sst"), weights
    made.series = {} if px is None else {PX: series(PX, px), LOG: series(LOG, log)}
    row = {"chance": 0.05, **({} if px is None else made.held_out()), **({} if weights is None else weights.row())}
    made.record = Record({"table10": [row]}, {"uniform": [0, 1]})
    return made


def series(name, values):
    table = np.asarray(values, dtype=float)
    return Series(name, tuple(range(table.shape[1])), {"expected": table})


def drawn(level, texts=2000, seed=0):
    """Two runs, two steps; the second step is the better one."""
    values = np.random.default_rng(seed).random((2, 2, texts))
    return (values < np.array([level / 2, level])[:, None]).astype(float)


@pytest.mark.parametrize(
    ("shift", "verdict", "direction"),
    [(0.0, "holds", "holds"), (0.3, "fails", "holds"), (-0.1, "fails", "holds"), (-0.4, "fails", "fails")],
    ids=["the same", "more", "less", "another thing"],
)
def test_agreements_within_two_points_are_the_same_and_within_half_of_their_excess_similar(shift, verdict, direction):
    log = drawn(0.5)
    px = drawn(0.5 + shift) if shift else log.copy()
    px[:, 0] = 0.0  # the second step is the best one in any case
    part = story(px, log).same_agreement()
    assert (part.name, part.verdict, part.direction) == ("sst", verdict, direction)
    assert part.effect == pytest.approx(shift, abs=0.03)


def test_a_proxy_with_equal_updates_decides_where_it_was_run():
    log = drawn(0.5)
    made = story(drawn(0.8), log)
    assert made.same_agreement().verdict == "fails", "60 passes alone are decided by these"
    made.series[EQUAL], made.updates = series(EQUAL, log.copy()), UPDATES
    (row,) = made.record.tables["table10"]
    made.record = Record({"table10": [{**row, **made.after_equal_updates()}]}, made.record.seeds)
    part = made.same_agreement()
    assert (part.verdict, part.effect) == ("holds", 0)
    assert f"after {UPDATES} updates" in part.detail


@pytest.mark.needs_data("sst", "imdb")
def test_every_proxy_has_as_many_updates_as_sixty_passes_over_imdb():
    proxies = {
        row: next(job for job in LogisticProxy().plan(Order("reduced", row=row), {}) if job.spec.model.kind == "proxy")
        for row in ("sst", "imdb")
    }
    assert {job.schedule.steps for job in proxies.values()} == {UPDATES} == {60 * 391}
    passes = [step for step in proxies["sst"].schedule.evaluations if step <= 60 * 109]
    assert passes == list(range(0, 60 * 109 + 1, 109)), "the paper's passes are all there"
    assert len(proxies["imdb"].schedule.evaluations) == 61, "nothing is added"
    assert len(proxies["sst"].schedule.evaluations) == 61 + 60
    quick = next(job for job in LogisticProxy().plan(Order("quick", row="sst"), {}) if job.spec.model.kind == "proxy")
    assert quick.schedule.steps == 20 * 109
    assert continued(proxies["sst"].schedule) == proxies["sst"].schedule


def test_a_difference_that_few_texts_cannot_tell_is_undecided():
    one, other = drawn(0.5, texts=60, seed=1), drawn(0.5, texts=60, seed=2)
    assert story(one, other).same_agreement().verdict == "undecided"


@pytest.mark.parametrize(
    ("off", "verdict"), [(0.01, "holds"), (0.5, "fails")], ids=["a hundredth of the spread", "half of the spread"]
)
def test_weights_word_by_word(off, verdict):
    generator = np.random.default_rng(0)
    weights = generator.normal(0, 3.0, 1000)
    sides = generator.choice([-1.0, 1.0], 1000)  # differences that cancel in the mean do not make words the same
    part = story(weights=fitted(weights, weights + 3.0 * off * sides)).same_weights()
    assert part.verdict == verdict
    assert part.effect == pytest.approx(off, rel=0.1)
    assert part.over == "words"
    part = story(weights=fitted(weights, weights, converged=False)).same_weights()
    assert part.verdict == "undecided"
    assert part.detail.endswith("A fit has not converged.")


def test_rare_words_are_not_compared():
    weights = fitted(np.arange(4.0), [0.0, 1.0, 2.0, 99.0])
    weights.occurrences[3] = 9
    assert weights.common.tolist() == [0, 1, 2]
    assert weights.apart.tolist() == [0.0, 0.0, 0.0]


def test_both_claims_have_a_part():
    findings = story(drawn(0.5), drawn(0.5), fitted(np.arange(9.0), np.arange(9.0))).findings()
    assert {finding.claim: finding.verdict for finding in findings} == {
        "logistic-equals-proxy": "holds",
        "proxy-weights-are-logistic": "holds",
    }


def test_a_point_of_the_figure_is_a_word_in_both_models():
    words = [
        {"word": "good", "logistic": 2.0, "fitted_proxy": 2.1, "trained_proxy": 0.7},
        {"word": "bad", "logistic": -3.0, "fitted_proxy": -2.9, "trained_proxy": -0.8},
    ]
    rows = drawn_rows(word_by_word(words, "words"))
    ends, points = rows[:2], {(row["word"], row["kind"]): (row["logistic"], row["proxy"]) for row in rows[2:]}
    assert ends == [{"logistic": -3.0, "proxy": -3.0}, {"logistic": 2.0, "proxy": 2.0}]
    assert points == {
        ("good", "fitted, same penalty"): (2.0, 2.1),
        ("bad", "fitted, same penalty"): (-3.0, -2.9),
        ("good", "as trained"): (2.0, 0.7),
        ("bad", "as trained"): (-3.0, -0.8),
    }


def test_a_pass_is_chosen_on_one_half_and_read_on_the_other():
    labels = np.tile([0, 1], 20)
    right, wrong = 4.0 * (2 * labels - 1), -4.0 * (2 * labels - 1)
    half = first_half(len(labels))
    logits = np.stack([np.where(half, right, wrong), np.where(half, wrong, right), 0.1 * right])
    comparable, clean = chosen_by_loss(logits, labels)
    assert comparable == 1.0, "over all texts the third pass has the lowest loss"
    assert clean == 0.0, "each half's own best pass is wrong on the other"

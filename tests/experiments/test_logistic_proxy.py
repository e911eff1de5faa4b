"""The proxy beside logistic regression: verdicts where the answer is known, and accuracies chosen on other texts."""

import numpy as np
import pytest

from attnlab.experiments.logistic_proxy.bag_fits import Weights, chosen_by_loss
from attnlab.experiments.logistic_proxy.experiment import LOG, PX, decide, same_agreement, same_weights
from attnlab.experiments.texts.text_agreement import Series
from attnlab.experiments.texts.text_curves import first_half


def series(name, values):
    table = np.asarray(values, dtype=float)
    return Series(name, tuple(range(table.shape[1])), {"expected": table})


def drawn(level, texts=2000, seed=0):
    """Two runs, two steps; the second step is the better one."""
    values = np.random.default_rng(seed).random((2, 2, texts))
    return (values < np.array([level / 2, level])[:, None]).astype(float)


@pytest.mark.parametrize(
    ("shift", "verdict"), [(0.0, "holds"), (0.3, "fails"), (-0.3, "fails")], ids=["the same", "more", "less"]
)
def test_agreements_within_two_points(shift, verdict):
    log = drawn(0.5)
    px = drawn(0.5 + shift) if shift else log.copy()
    px[:, 0] = 0.0  # the second step is the best one in any case
    part = same_agreement("sst", series(PX, px), series(LOG, log))
    assert (part.name, part.verdict) == ("sst", verdict)
    assert part.effect == pytest.approx(shift, abs=0.03)


def test_a_difference_that_few_texts_cannot_tell_is_undecided():
    one, other = drawn(0.5, texts=60, seed=1), drawn(0.5, texts=60, seed=2)
    assert same_agreement("sst", series(PX, one), series(LOG, other)).verdict == "undecided"


@pytest.mark.parametrize(
    ("off", "verdict"), [(0.01, "holds"), (0.5, "fails")], ids=["a hundredth of the spread", "half of the spread"]
)
def test_weights_word_by_word(off, verdict):
    generator = np.random.default_rng(0)
    weights = generator.normal(0, 3.0, 1000)
    sides = generator.choice([-1.0, 1.0], 1000)  # differences that cancel in the mean do not make words the same
    part = same_weights("sst", Weights(weights, weights + 3.0 * off * sides), converged=True)
    assert part.verdict == verdict
    assert part.effect == pytest.approx(off, rel=0.1)
    assert part.over == "words"
    assert same_weights("sst", Weights(weights, weights), converged=False).verdict == "undecided"


def test_both_claims_have_a_part():
    findings = decide(
        "sst", series(PX, drawn(0.5)), series(LOG, drawn(0.5)), Weights(np.arange(9.0), np.arange(9.0)), converged=True
    )
    assert {finding.claim: finding.verdict for finding in findings} == {
        "logistic-equals-proxy": "holds",
        "proxy-weights-are-logistic": "holds",
    }


def test_a_pass_is_chosen_on_one_half_and_read_on_the_other():
    labels = np.tile([0, 1], 20)
    right, wrong = 4.0 * (2 * labels - 1), -4.0 * (2 * labels - 1)
    half = first_half(len(labels))
    logits = np.stack([np.where(half, right, wrong), np.where(half, wrong, right), 0.1 * right])
    comparable, clean = chosen_by_loss(logits, labels)
    assert comparable == 1.0, "over all texts the third pass has the lowest loss"
    assert clean == 0.0, "each half's own best pass is wrong on the other"

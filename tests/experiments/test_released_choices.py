"""What the released code does otherwise than the paper's text, in the agreement experiment's table of choices; and the
runs that a row has more than others.
"""

import numpy as np
import pytest

from attnlab.experiments.agreement.experiment import AgreementExperiment
from attnlab.experiments.agreement.experiment import choices as choices_table
from attnlab.lab.experiment import Order
from attnlab.measures.agreements import Agreements
from attnlab.measures.series import Series

NAMES = (
    "alpha, beta_uf",
    "beta_uf, beta_px",
    "beta_px, beta_uf",
    "delta, beta_uf",
    "-delta, beta_uf",
    "alpha, beta",
)
STEPS = (0, 10, 20)


def followed(number):
    """An agreement that is best at step 10 and falls behind it, a little higher with ties as the code breaks them."""
    level = 0.1 * (number + 1)
    curve = np.array([level - 0.05, level, level - 0.02])
    expected = np.repeat(curve[None, :, None], 6, axis=2)  # (pairs, steps, texts)
    return Series(NAMES[number], STEPS, {"expected": expected, "released": expected + 0.01, "tau": -expected})


@pytest.fixture
def choices():
    valid = Agreements("valid", {name: followed(n) for n, name in enumerate(NAMES)}, np.full(6, 0.05), np.zeros((1, 3)))
    return {(line["choice"], line["agreement"]): line for line in choices_table(valid)}


def change(line):
    return line["ours"], line["other"], line["change"]


def test_the_released_sign_of_delta_is_shown_beside_the_right_one(choices):
    line = choices["sign of delta turned round, as released", "A(delta, beta_uf)"]
    assert change(line) == pytest.approx((0.4, 0.5, 0.1))


def test_the_released_argmax_is_shown_beside_the_text_s(choices):
    line = choices["argmax from beta_px, as released", "A(beta_uf, beta_px)"]
    assert change(line) == pytest.approx((0.2, 0.3, 0.1))


@pytest.mark.parametrize(("name", "level"), [(NAMES[0], 0.1), (NAMES[1], 0.2), (NAMES[3], 0.4), (NAMES[5], 0.6)])
def test_ties_and_the_evaluation_are_chosen_otherwise_too(choices, name, level):
    agreement = f"A({name})"
    assert change(choices["ties as released", agreement]) == pytest.approx((level, level + 0.01, 0.01))
    assert change(choices["last evaluation instead of the best", agreement]) == pytest.approx(
        (level, level - 0.02, -0.02)
    )
    assert change(choices["evaluation chosen on other texts", agreement]) == pytest.approx((level, level, 0))


def test_there_are_no_other_choices(choices):
    assert len(choices) == 3 * 4 + 2


@pytest.mark.needs_data("amazon_blitzer", "yelp")
def test_amazon_has_three_comparison_runs_at_reduced():
    """Of one run xi has no interval over starts."""

    def seeds(row, preset="reduced"):
        jobs = AgreementExperiment().plan(Order(preset, row=row), {})
        return [job.spec.init_seed for job in jobs if " comparison " in job.label]

    assert seeds("amazon") == [13, 14, 15]
    assert seeds("yelp") == seeds("amazon", "quick") == [13]
    assert seeds("amazon", "paper") == [13, 14, 15, 16, 17]

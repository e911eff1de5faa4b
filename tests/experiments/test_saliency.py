"""Attention, influence and relevance: what is compared with what, and verdicts where the answer is known."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attnlab.experiments.saliency.experiment import DECIDES, Compared, Standard, compare, compared, decide, select
from attnlab.fields import ScoreField
from attnlab.lab.claims import load_claims


def test_the_claims_are_those_of_the_registry():
    named = {claim.id for claim in load_claims() if "saliency" in claim.experiments}
    assert set(DECIDES.values()) == named


@given(st.lists(st.lists(st.floats(-5, 5), min_size=1, max_size=4), min_size=1, max_size=6), st.randoms())
def test_some_rows_of_a_field(rows, random):
    chosen = random.choices(range(len(rows)), k=3)
    picked = select(ScoreField.from_rows(rows), np.array(chosen))
    assert [picked.row(k).tolist() for k in range(3)] == [[float(v) for v in rows[k]] for k in chosen]


def field(highest, texts=200, length=20, seed=0):
    """Noise with its largest value at position ``highest``, a position or one for each text."""
    values = np.random.default_rng(seed).random((texts, length))
    values[np.arange(texts), highest] = 2.0
    return ScoreField(values.ravel(), np.arange(texts + 1) * length)


def outcome(*, loo_at, delta_at, relevance_at):
    rows = np.arange(0, 200, 2)
    standard = Standard(
        alpha=[field(3, seed=1), field(3, seed=2)],
        delta=[field(delta_at, seed=3), field(delta_at, seed=4)],
        loo=[select(field(loo_at, seed=5), rows), select(field(loo_at, seed=6), rows)],
        ig=[],
        rows=rows,
        gaps=[],
    )
    return compare(standard, [field(relevance_at, seed=7)])


def verdicts(found):
    return {part.name: part.verdict for finding in decide(found) for part in finding.parts}


def test_what_points_to_the_same_word_holds_and_what_does_not_fails():
    said = verdicts(outcome(loo_at=3, delta_at=3, relevance_at=3))
    assert said == {f"A({name})": "holds" for name in DECIDES}
    said = verdicts(outcome(loo_at=3, delta_at=11, relevance_at=11))
    assert said == {
        "A(alpha, loo)": "holds",
        "A(alpha, delta)": "fails",
        "A(alpha, beta_uf)": "fails",
        "A(delta, beta_uf)": "holds",
        "A(loo, beta_uf)": "fails",
    }


def test_few_texts_leave_it_undecided():
    few = Compared("alpha, loo", np.array([1.0, 0.0, 0.0]), np.zeros(3), np.full(3, 0.2))
    parts = decide(dict.fromkeys(DECIDES, few))[0].parts
    assert {part.verdict for part in parts} == {"undecided"}


def test_leave_one_out_is_read_on_its_own_texts_and_the_rest_on_all():
    found = outcome(loo_at=3, delta_at=3, relevance_at=3)
    assert {name: len(one.values) for name, one in found.items()} == {
        "alpha, loo": 100,
        "alpha, delta": 200,
        "loo, delta": 100,
        "alpha, beta_uf": 200,
        "delta, beta_uf": 200,
        "loo, beta_uf": 100,
    }
    assert all(one.chance == pytest.approx(np.full(len(one.values), 1 / 20)) for one in found.values())


def test_a_text_averages_over_pairs_and_an_undefined_tau_is_left_out():
    u, flat = ScoreField.from_rows([[1, 2, 3], [1, 2, 3]]), ScoreField.from_rows([[0, 0, 0], [0, 0, 0]])
    turned = ScoreField.from_rows([[3, 2, 1], [1, 2, 3]])
    found = compared("u, v", [(u, u), (u, turned), (u, flat)])
    assert found.values == pytest.approx([(1 + 0 + 1 / 3) / 3, (1 + 1 + 1 / 3) / 3])
    assert found.tau == pytest.approx([0.0, 1.0])
    assert np.isnan(compared("u, flat", [(u, flat)]).tau).all()
    assert compared("u, flat", [(u, flat)]).line()["tau"] is None

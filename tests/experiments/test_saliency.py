"""Attention, influence and relevance: what is compared with what, and verdicts where the answer is known."""

import numpy as np
import pytest
from tests.lab.drawn import drawn

from attnlab.experiments.saliency.experiment import DECIDES, Compared, Saliency, Standard, compare, picture
from attnlab.fields import ScoreField
from attnlab.lab.claims import load_claims
from attnlab.lab.experiment import Order, Record


def test_the_claims_are_those_of_the_registry():
    named = {claim.id for claim in load_claims() if "saliency" in claim.experiments}
    assert set(DECIDES.values()) == named


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
        loo=[field(loo_at, seed=5).select(rows), field(loo_at, seed=6).select(rows)],
        ig=[],
        rows=rows,
        gaps=[],
    )
    return compare(standard, [field(relevance_at, seed=7)])


def findings(measured):
    story = Saliency()
    story.order = Order("paper", row="sms")
    lines = [{**one.line(), "decides": DECIDES.get(name, "")} for name, one in measured.items()]
    story.record = Record({"saliency": lines}, {"reference": [20, 21]})
    return story.findings()


def verdicts(measured):
    parts = [part for finding in findings(measured) for part in finding.parts]
    return {part.name: part.verdict for part in parts if part.name.startswith("A")}


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
    assert set(verdicts(dict.fromkeys(DECIDES, few)).values()) == {"undecided"}


def test_attention_that_finds_the_top_word_and_nothing_else_does_not_correlate_strongly():
    """The fields share their largest position and are noise elsewhere: A holds, Kendall's tau does not."""
    (saliency, _) = findings(outcome(loo_at=3, delta_at=3, relevance_at=3))
    told = {part.name: (part.directed, part.verdict) for part in saliency.parts}
    assert told["A(alpha, delta)"] == ("holds", "holds")
    assert told["tau(alpha, delta)"] == ("holds", "fails")
    undefined = {name: Compared(name, np.ones(9), np.full(9, np.nan), np.full(9, 0.1)) for name in DECIDES}
    (saliency, _) = findings(undefined)
    assert saliency.parts[2].verdict == "undecided"
    assert saliency.parts[2].effect is None


def test_each_claim_has_its_own_agreements():
    parts = {
        finding.claim: [part.name for part in finding.parts]
        for finding in findings(outcome(loo_at=3, delta_at=3, relevance_at=3))
    }
    assert parts == {
        "attention-is-saliency": ["A(alpha, loo)", "A(alpha, delta)", "tau(alpha, loo)", "tau(alpha, delta)"],
        "relevance-under-uniform": ["A(alpha, beta_uf)", "A(delta, beta_uf)", "A(loo, beta_uf)"],
    }


def test_the_figure_draws_each_agreement_with_its_interval_and_chance():
    lines = [one.line() for one in outcome(loo_at=3, delta_at=11, relevance_at=11).values()]
    chart = picture("sst", lines)
    rows = {row["agreement"]: row for row in drawn(chart)}
    assert rows["A(alpha, loo)"]["value"] == rows["A(delta, beta_uf)"]["value"] == 1
    assert rows["A(alpha, delta)"]["value"] < 0.2
    assert rows["A(alpha, delta)"]["claim"] == "attention-is-saliency"
    assert rows["A(loo, delta)"]["claim"] == "reported"
    for line in lines:
        assert rows[line["agreement"]].items() >= line.items()
    bars, points, ticks = chart.to_dict()["layer"]
    assert (bars["encoding"]["x"]["field"], bars["encoding"]["x2"]["field"]) == ("low", "high")
    assert (points["encoding"]["x"]["field"], ticks["encoding"]["x"]["field"]) == ("value", "chance")


def test_leave_one_out_is_read_on_its_own_texts_and_the_rest_on_all():
    measured = outcome(loo_at=3, delta_at=3, relevance_at=3)
    assert {name: len(one.values) for name, one in measured.items()} == {
        "alpha, loo": 100,
        "alpha, delta": 200,
        "loo, delta": 100,
        "alpha, beta_uf": 200,
        "delta, beta_uf": 200,
        "loo, beta_uf": 100,
    }
    assert all(one.chance == pytest.approx(np.full(len(one.values), 1 / 20)) for one in measured.values())


def test_a_text_averages_over_pairs_and_an_undefined_tau_is_left_out():
    u, flat = ScoreField.from_rows([[1, 2, 3], [1, 2, 3]]), ScoreField.from_rows([[0, 0, 0], [0, 0, 0]])
    turned = ScoreField.from_rows([[3, 2, 1], [1, 2, 3]])
    three = Compared.of("u, v", [(u, u), (u, turned), (u, flat)])
    assert three.values == pytest.approx([(1 + 0 + 1 / 3) / 3, (1 + 1 + 1 / 3) / 3])
    assert three.tau == pytest.approx([0.0, 1.0])
    assert np.isnan(Compared.of("u, flat", [(u, flat)]).tau).all()
    assert Compared.of("u, flat", [(u, flat)]).line()["tau"] is None

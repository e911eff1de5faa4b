"""gated-toy, init-derivative and optimal-attention: verdicts where the answer is known, and whole small results."""

from copy import copy
from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy.stats import spearmanr
from tests.lab.drawn import drawn
from tests.lab.ended import after, verdicts

from attnlab.errors import UsageError
from attnlab.experiments.gated_toy import experiment as gated_toy
from attnlab.experiments.gated_toy.experiment import GatedToy
from attnlab.experiments.init_derivative import experiment as init_derivative
from attnlab.experiments.init_derivative import proxy_starts
from attnlab.experiments.init_derivative.experiment import InitDerivative
from attnlab.experiments.init_derivative.proxy_starts import RandomStart
from attnlab.experiments.optimal_attention import experiment as optimal_attention
from attnlab.experiments.optimal_attention.experiment import OptimalAttentionExperiment
from attnlab.lab.claims import load_claims
from attnlab.lab.experiment import Order, Record
from attnlab.lab.registry import EXPERIMENTS
from attnlab.probes.optimal_attention import OptimalAttention
from attnlab.theory.gated import GATES, Start, Trajectory, closed_form, flow, threshold

NAMES = ("gated-toy", "init-derivative", "optimal-attention")
LATER = {"attention-optimum-real", "linear-readout-as-good", "optimum-rarely-empty"}
"""Claims of these experiments that need a translation model."""


@pytest.fixture(scope="module")
def toy():
    return after(GatedToy(), (), "quick")


def changed(story, **measured):
    """The experiment with something else measured."""
    story = copy(story)
    vars(story).update(measured)
    return story


def as_decided(story, id):
    """The verdicts of a claim's parts."""
    (finding,) = (finding for finding in story.findings() if finding.claim == id)
    return [part.verdict for part in finding.parts]


def test_nothing_is_trained(monkeypatch):
    monkeypatch.delenv("ATTNLAB_DATA", raising=False)  # with Multi30k, optimal-attention has two translators
    for name in NAMES:
        for preset in ("quick", "reduced", "paper"):
            assert EXPERIMENTS[name].plan(Order(preset), {}) == EXPERIMENTS[name].at_most(Order(preset), {}) == []


def test_every_claim_of_theirs_is_decided_or_left_to_translation():
    rules = {id: rule for name in NAMES for id, rule in EXPERIMENTS[name].rules().items()}
    assert set(rules) == {claim.id for claim in load_claims() if set(claim.experiments) & set(NAMES)}
    without = EXPERIMENTS["optimal-attention"].retold(Order("paper"), Record({}, {}))
    assert all(list(rules[id](without)) == [] for id in LATER)


# --- the toy classifier


def test_the_blogs_claims_hold(toy):
    whole, _ = verdicts(toy)
    assert set(whole) == set(GatedToy.rules()) and set(whole.values()) == {"holds"}


def uniform_start(toy, way):
    (verdict,) = as_decided(changed(toy, uniform={**toy.uniform, "unbounded": way}), "toy-uniform-start")
    return verdict


def test_a_flow_that_moves_at_once_or_falls_refutes_the_uniform_start(toy):
    way = toy.uniform["unbounded"]
    assert uniform_start(toy, flow(Start(0.0, 0.5, 0.5), way.time)) == "fails"
    dip = way.p.copy()
    dip[100] = dip[99] - 1e-6
    assert uniform_start(toy, replace(way, p=dip)) == "fails"
    short = Trajectory(*(column[:50] for column in (way.time, way.beta0, way.beta1, way.p)))
    assert uniform_start(toy, short) == "undecided", "1 is not reached yet"


def test_one_wrong_move_of_a_weight_refutes(toy):
    way = toy.grid["unbounded"][4]
    assert (way.p[:2] > 0).all()
    beta1 = way.beta1.copy()
    beta1[1] = beta1[0]
    for moved, verdict in ((way, "holds"), (replace(way, beta1=beta1), "fails")):
        assert as_decided(changed(toy, grid={**toy.grid, "unbounded": [moved]}), "toy-weights-monotone") == [verdict]


def test_where_p_is_negative_weights_may_do_as_they_like():
    way = flow(Start(0.0, 0.0, -0.5), gated_toy.times(1.0))
    assert gated_toy.wrong_moves([way]) == (0, 0)


def test_a_threshold_elsewhere_or_a_p_that_comes_back_refutes(toy):
    elsewhere = changed(toy, thresholds={0.5: threshold(0.5) + 2e-3})
    assert as_decided(elsewhere, "toy-reversed-start") == ["fails", "holds"]
    way = toy.reversed["unbounded"]
    back = way.p.copy()
    back[-1] = 0.6
    returning = changed(toy, reversed={**toy.reversed, "unbounded": replace(way, p=back)})
    assert as_decided(returning, "toy-reversed-start") == ["holds", "fails"]


def test_a_gate_that_rises_from_the_reversed_start_is_of_another_kind(toy):
    other = changed(toy, reversed={**toy.reversed, "sigmoid": toy.uniform["sigmoid"]})
    assert as_decided(other, "toy-softmax-same") == ["fails", "holds"]


def test_losses_that_stop_falling_refute(toy):
    for losses, verdict in (({1.0: -2.0, 10.0: -20.0}, "holds"), ({1.0: -2.0, 10.0: -19.0}, "fails")):
        assert as_decided(changed(toy, low=losses), "toy-low-loss-uniform") == [verdict]


def test_figures_of_the_toy_draw_the_flows_they_name(toy):
    figures = toy.figures()
    for name, start in (("uniform", gated_toy.UNIFORM), ("reversed", gated_toy.REVERSED)):
        rows = drawn(figures[name])
        assert {row["gate"] for row in rows} == set(GATES) and {row["what"] for row in rows} == {"beta0", "beta1", "p"}
        own = [row for row in rows if row["gate"] == "unbounded"]
        times = sorted({row["time"] for row in own})
        exact = closed_form(start, np.array(times))
        for what in ("beta0", "beta1", "p"):
            assert [row["value"] for row in own if row["what"] == what] == pytest.approx(getattr(exact, what), abs=1e-6)
        assert figures[name].to_dict()["spec"]["encoding"]["y"]["field"] == "value"
    around = drawn(figures["around"])
    fates = {(row["gate"], row["margin"]): row["fate"] for row in around}
    assert fates["unbounded", -0.8] == "never comes back" and fates["unbounded", -0.6] == "comes back"
    assert {fate for (gate, _), fate in fates.items() if gate != "unbounded"} == {"comes back"}
    assert {round(row["p"], 9) for row in around if row["time"] == 0} == {0.5}
    points = {row["p"]: row["measured"] for row in drawn(figures["threshold"])}
    assert points == pytest.approx({p: threshold(p) for p in gated_toy.GATE_STARTS}, abs=1e-3)
    assert figures["threshold"].to_dict()["encoding"]["y"]["field"] == "measured"
    back = {(row["gate"], row["margin"]): row["back_at"] for row in drawn(figures["returns"])}
    assert ("unbounded", -8.0) not in back and back["softmax", -8.0] > back["sigmoid", -8.0] > 1e6
    assert back["sigmoid", -0.25] < 10
    assert figures["returns"].to_dict()["encoding"]["y"]["field"] == "back_at"


def test_descent_halves_its_error_with_its_rate():
    for row in gated_toy.agreement_table():
        errors = [row[f"descent_at_{rate}"] for rate in gated_toy.RATES]
        assert errors[1] / errors[0] == pytest.approx(0.5, abs=0.06)
        assert errors[2] / errors[1] == pytest.approx(0.5, abs=0.06)


# --- the derivative at initialisation


def starts(*, power=-0.5, factor=1.0, power_theta=None, seeds=20, noise=0.02, corpora=("one", "two")):
    """Starts whose error falls like d^power; ``two`` has a limit of 0."""
    rng = np.random.default_rng(0)
    made = []
    for corpus in corpora:
        for seed in range(seeds):
            for size in (16, 64, 256, 1024, 4096):
                by = 5 * size ** (power_theta or power) * np.exp(noise * rng.normal())
                own = 5 * size**power * np.exp(noise * rng.normal())
                limit, fitted = (10.0, factor + noise * rng.normal() / 10) if corpus == "one" else (0.0, None)
                made.append(RandomStart(corpus, size, seed, limit, own, own, by, fitted))
    return made


def tables(distance=1e-15):
    return [
        {"corpus": "one", "equation_13": 0.0, "gradient": distance},
        {"corpus": "two", "equation_13": 0.0, "gradient": 0.0},
    ]


@pytest.mark.parametrize(
    ("changes", "distance", "expected"),
    [
        ({}, 1e-15, ("holds", "holds", "holds")),
        ({}, 1e-11, ("fails", "holds", "holds")),
        ({"power": -0.3}, 0.0, ("holds", "fails", "fails")),
        ({"power": -1.0}, 0.0, ("holds", "fails", "fails")),
        ({"factor": 1.1}, 0.0, ("holds", "holds", "fails")),
        ({"factor": 12.0}, 0.0, ("holds", "holds", "fails")),  # the paper's equation 12
        ({"power_theta": -0.25}, 0.0, ("holds", "holds", "fails")),
        ({"noise": 1.0, "seeds": 5}, 0.0, ("holds", "undecided", "undecided")),
        ({"seeds": 1}, 0.0, ("holds", "undecided", "undecided")),
    ],
)
def test_verdicts_on_the_derivative(changes, distance, expected):
    whole, _ = verdicts(derivative(starts(**changes), tables(distance)))
    assert (whole["counts-equal"], whole["derivative-logits"], whole["derivative-probabilities"]) == expected


def derivative(starts, equal=(), rankings=()):
    """The experiment once it has measured this."""
    story = changed(InitDerivative(), starts=starts, equal=equal, rankings=rankings)
    story.order = Order("paper")
    return story


def test_a_limit_of_zero_has_no_factor():
    findings = {f.claim: f for f in derivative(starts(), tables()).findings()}
    assert [part.name for part in findings["derivative-logits"].parts] == ["one", "two"]
    assert [part.name for part in findings["derivative-probabilities"].parts] == ["one"]


def test_figures_of_the_derivative_draw_the_right_columns():
    measured = [replace(one, expected=2.0 * one.size**-0.5) for one in starts(noise=0.0, seeds=2)]
    ranked = [
        {"corpus": "one", "optimiser": name, "seed": 0, "step": step, "loss": 9.0, "correlation": c, "top": 0.7}
        for name, step, c in (("sgd", 0, 0.1), ("sgd", 10, 0.8), ("adam", 10, 0.3))
    ]
    figures = derivative(measured, rankings=ranked).figures()
    points = {(row["corpus"], row["size"]): row for row in drawn(figures["error"])}
    assert points["two", 256]["distance"] == pytest.approx(5 / 16)
    assert points["two", 256]["expected"] == pytest.approx(2 / 16)
    dots, lines = figures["error"].to_dict()["layer"]
    assert (dots["mark"]["type"], dots["encoding"]["y"]["field"]) == ("point", "distance")
    assert (lines["mark"]["type"], lines["encoding"]["y"]["field"]) == ("line", "expected")
    rows = {(row["run"], row["step"]): row["correlation"] for row in drawn(figures["rankings"])}
    assert rows == {("sgd 0", 1): 0.1, ("sgd 0", 11): 0.8, ("adam 0", 11): 0.3}, "updates + 1, for the logarithm"
    assert figures["rankings"].to_dict()["spec"]["encoding"]["y"]["field"] == "correlation"


def test_ranking_without_ties_is_spearman():
    rng = np.random.default_rng(0)
    theta, table = rng.random((5, 9)), rng.random((5, 9))
    correlation, first, chance = proxy_starts.ranking(theta, table)
    assert correlation == pytest.approx(np.mean([spearmanr(a, b).statistic for a, b in zip(theta, table, strict=True)]))
    assert first == np.mean(theta.argmax(1) == table.argmax(1)) and chance == pytest.approx(1 / 9)


def test_ranking_is_one_where_theta_orders_what_the_table_orders():
    table = np.array([[0.0, 0, 1, 1], [2.0, 2, 2, 2], [0.0, 1, 2, 3]])
    theta = np.array([[0.1, 0.2, 0.4, 0.3], [0.4, 0.3, 0.2, 0.1], [0.1, 0.2, 0.3, 0.4]])
    correlation, first, chance = proxy_starts.ranking(theta, table)
    assert (correlation, first) == (pytest.approx(1), 1), "the constant row says nothing"
    assert chance == pytest.approx((2 / 4 + 1 / 4) / 2)


def test_corpora_and_their_slices():
    corpora = proxy_starts.make_corpora("quick")
    for name, pairs in corpora.items():
        assert proxy_starts.informative(proxy_starts.proxy_table(pairs)) == (name != "permutations of 10")
    slim = proxy_starts.compact(corpora["8 of 12"].first(1))
    assert len(slim.source_words) == len(set(slim.source_words)) == 8
    assert [slim.source_words[k] for k in slim.source] == [str(k) for k in corpora["8 of 12"].source[:8]]


def test_without_data_only_quick_runs(monkeypatch, tmp_path):
    monkeypatch.setenv("ATTNLAB_DATA", str(tmp_path))
    assert proxy_starts.MULTI30K not in proxy_starts.make_corpora("quick")
    with pytest.raises(UsageError, match="set ATTNLAB_DATA to a folder that holds multi30k"):
        proxy_starts.make_corpora("paper")


@pytest.mark.needs_data("multi30k")
def test_the_slice_of_multi30k_has_its_own_words_only():
    pairs = proxy_starts.make_corpora("paper")[proxy_starts.MULTI30K]
    assert len(pairs) == 50 and set(pairs.source.tolist()) == set(range(len(pairs.source_words)))
    row = proxy_starts.compare_tables("multi30k", pairs)
    assert max(row["equation_13"], row["gradient"]) < 1e-12


# --- optimal attention


def optimum(alpha, gap=1e-9):
    weights = torch.tensor([alpha], dtype=torch.float64)
    one = torch.ones(1, dtype=torch.float64)
    return OptimalAttention(weights, one, gap * one, one > 0, 1)


@pytest.mark.parametrize(
    ("optimum", "expected"),
    [
        (optimum((0.0, 0.5, 0.5)), "holds"),
        (optimum((0.01, 0.495, 0.495)), "fails"),
        (optimum((0.0, 0.5, 0.5), gap=1e-5), "undecided"),
    ],
)
def test_verdict_on_the_example(monkeypatch, optimum, expected):
    monkeypatch.setitem(optimal_attention.OUTPUTS, "quick", ())
    story = changed(after(OptimalAttentionExperiment(), (), "quick"), optimum=optimum)
    assert as_decided(story, "attention-optimum-example") == [expected]


def test_the_figure_of_optimal_attention_draws_how_often_the_largest_beta_gets_nothing(monkeypatch):
    monkeypatch.setitem(optimal_attention.DRAWS, "quick", 20)
    monkeypatch.setitem(optimal_attention.OUTPUTS, "quick", (2, 50))
    story = after(OptimalAttentionExperiment(), (), "quick")
    figure = story.figures()["random"]
    assert drawn(figure) == story.tables()["random"]
    cells = {(row["outputs"], row["scale"], row["length"]): row for row in drawn(figure)}
    assert cells[2, 10.0, 3]["nothing"] < cells[50, 10.0, 30]["nothing"]
    bars, rate = figure.to_dict()["spec"]["layer"]
    assert rate["encoding"]["y"]["field"] == "nothing"
    assert (bars["encoding"]["y"]["field"], bars["encoding"]["y2"]["field"]) == ("nothing_low", "nothing_high")


def test_what_is_measured_of_logits():
    example = optimal_attention.example_logits()
    (row,) = optimal_attention.predictions(example)
    assert row["weight"] == 0 and not row["first"] and row["positions"] == 2 and row["reached"]
    assert row["gain"] == pytest.approx(np.log(3) - np.log(1 + 2 * np.exp(-2.5)), abs=1e-6)
    masked = replace(example, mask=torch.tensor([[True, True, False]]))
    (row,) = optimal_attention.predictions(masked)
    assert row["first"] and row["weight"] > 0.5, "without its partner the second position is no help"


def test_rates_have_wilson_intervals():
    rows = [
        {"weight": w, "first": w > 0.5, "positions": 1, "gain": 0.0, "gap": 0.0, "reached": True} for w in (0.0, 1.0)
    ]
    rates = optimal_attention.summarise(iter(rows))
    assert (rates["nothing"], rates["first"], rates["draws"]) == (0.5, 0.5, 2)
    assert rates["nothing_low"] < 0.1 and rates["nothing_high"] > 0.9


def test_a_whole_result_of_each(monkeypatch):
    """As `attnlab run` makes it, on the smallest settings; tables have one set of columns each."""
    monkeypatch.delenv("ATTNLAB_DATA", raising=False)
    monkeypatch.setitem(init_derivative.SIZES, "quick", (64, 256))
    monkeypatch.setitem(init_derivative.STEPS, "quick", 20)
    monkeypatch.setitem(optimal_attention.DRAWS, "quick", 10)
    monkeypatch.setitem(optimal_attention.OUTPUTS, "quick", (2, 3))
    monkeypatch.setattr(gated_toy, "HORIZONS", (10.0,))
    monkeypatch.setattr(gated_toy, "GATE_STARTS", (0.5,))
    for name in NAMES:
        result = EXPERIMENTS[name].analyse(Order("quick", seeds=2), {})
        assert result.summary and result.findings and result.notes and result.figures
        for table in result.tables.values():
            assert table and all(set(row) == set(table[0]) for row in table)
        for figure in result.figures.values():
            assert figure.to_dict()

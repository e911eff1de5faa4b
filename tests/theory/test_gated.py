"""The toy classifier: closed form, integrated flow and gradient descent against each other and what is conserved."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from attnlab.errors import UsageError
from attnlab.theory.gated import (
    GATES,
    Start,
    closed_form,
    descend,
    flow,
    loss,
    lowest,
    measured_threshold,
    return_time,
    scores,
    threshold,
    threshold_within,
    time_to_one,
)

WEIGHTS = st.floats(-5, 5)
STARTS = st.builds(Start, WEIGHTS, WEIGHTS, st.floats(-1, 2))
INNER = st.builds(Start, WEIGHTS, WEIGHTS, st.floats(0.05, 0.95))
TIMES = np.linspace(0, 2, 21)
BOUNDED = ("sigmoid", "softmax")


@settings(max_examples=40)
@given(STARTS)
def test_the_integrated_flow_is_the_closed_form(start):
    exact, solved = closed_form(start, TIMES), flow(start, TIMES)
    for name in ("beta0", "beta1", "p"):
        np.testing.assert_allclose(getattr(solved, name), getattr(exact, name), rtol=1e-6, atol=1e-7)


@given(STARTS)
def test_the_closed_form_solves_the_three_equations(start):
    h = 1e-5
    before, way, after = (closed_form(start, TIMES[1:] + shift) for shift in (-h, 0, h))
    for rate, name in ((-way.p, "beta0"), (way.p, "beta1"), (way.beta1 - way.beta0, "p")):
        slope = (getattr(after, name) - getattr(before, name)) / (2 * h)
        np.testing.assert_allclose(slope, rate, rtol=1e-5, atol=1e-5)
    first = closed_form(start, 0.0)
    assert (first.beta0[0], first.beta1[0], first.p[0]) == pytest.approx((start.beta0, start.beta1, start.p), abs=1e-12)


@given(STARTS, st.sampled_from([0.02, 0.01]))
def test_descent_errs_by_first_order_in_its_rate(start, rate):
    """Halving the rate halves the error, unless there is none to speak of."""
    exact = closed_form(start, 1.0).p[0]
    coarse, fine = (descend(start, rate=r, steps=round(1 / r)).p[-1] - exact for r in (rate, rate / 2))
    if abs(coarse) > 1e-3:
        assert fine / coarse == pytest.approx(0.5, abs=0.05)
    else:
        assert abs(fine) < 1e-3


@settings(max_examples=20)
@given(INNER, st.sampled_from(BOUNDED))
def test_descent_behind_a_gate_tends_to_the_flow(start, gate):
    exact = flow(start, [1.0], gate).p[0]
    errors = [abs(descend(start, rate=1 / n, steps=n, gate=gate).p[-1] - exact) for n in (100, 200, 400)]
    assert errors[2] < 1e-2
    assert errors[2] <= 0.35 * errors[0] + 1e-6


def autograd(start, rate, steps, gate):
    """Gradient descent on the blog's two scores, with the logits as parameters of their own."""
    logit = float(np.log(start.p / (1 - start.p)))
    gates = {"unbounded": [start.p], "sigmoid": [logit], "softmax": [0.3, 0.3 + logit]}[gate]
    beta0, beta1, free = (torch.tensor(v, dtype=torch.float64) for v in (start.beta0, start.beta1, gates))
    parameters = [value.requires_grad_() for value in (beta0, beta1, free)]

    def made():
        return free[0] if gate == "unbounded" else torch.sigmoid(free[0]) if gate == "sigmoid" else free.softmax(0)[1]

    for _ in range(steps):
        p = made()
        s0, s1 = beta0, (1 - p) * beta0 + p * beta1
        for value, gradient in zip(parameters, torch.autograd.grad(s0 - s1, parameters), strict=True):
            with torch.no_grad():
                value -= rate * gradient
    return tuple(value.item() for value in (beta0, beta1, made()))


@pytest.mark.parametrize("gate", GATES)
@pytest.mark.parametrize("start", [Start(), Start(10.0, -10.0, 0.5), Start(-1.0, 0.5, 0.2)])
def test_descent_is_descent_on_the_loss(start, gate):
    way = descend(start, rate=0.05, steps=20, gate=gate)
    expected = autograd(start, 0.05, 20, gate)
    assert (way.beta0[-1], way.beta1[-1], way.p[-1]) == pytest.approx(expected, rel=1e-9, abs=1e-9)


def conserved(way, gate="unbounded"):
    """What stays the same along a flow: 2 p^2 - D^2, or k D^2 / 4 - a - e^a with a gate of speed k."""
    if gate == "unbounded":
        return 2 * way.p**2 - way.margin**2
    a = np.log(way.p / (1 - way.p))
    return {"sigmoid": 1, "softmax": 2}[gate] * way.margin**2 / 4 - a - np.exp(a)


@given(STARTS)
def test_the_linear_flow_conserves_its_form(start):
    kept = conserved(closed_form(start, TIMES))
    scale = 1 + closed_form(start, TIMES).p ** 2
    np.testing.assert_allclose((kept - kept[0]) / scale, 0, atol=1e-10)


@settings(max_examples=30)
@given(INNER, st.sampled_from(BOUNDED))
def test_a_gated_flow_conserves_its_form(start, gate):
    kept = conserved(flow(start, TIMES, gate), gate)
    np.testing.assert_allclose(kept, kept[0], rtol=1e-5, atol=1e-5)


@given(WEIGHTS, WEIGHTS, st.floats(-2, 2))
def test_the_loss_is_the_difference_of_the_scores(beta0, beta1, p):
    s0, s1 = scores(beta0, beta1, p)
    assert float(s0 - s1) == pytest.approx(float(loss(beta0, beta1, p)), abs=1e-12)


def test_low_loss_under_uniform_attention():
    for size in (1.0, 1e3, 1e9):
        assert loss(-size, 3 * size, 0.5) == -2 * size


# --- thresholds and returns


@settings(max_examples=40)
@given(st.floats(0.1, 2), st.floats(0.02, 0.5))
def test_just_above_the_threshold_p_comes_back_and_just_below_it_never_does(p, off):
    far = 12.0
    above, below = (Start(-(threshold(p) + shift * p), 0.0, p) for shift in (off, -off))
    assert closed_form(above, far).p[0] > p and lowest(above) > 0 and np.isfinite(return_time(above))
    assert closed_form(below, far).p[0] < 0 and lowest(below) == -np.inf and return_time(below) == np.inf
    # Plain descent has the same threshold at any rate: its map has the flow's eigenvectors.
    steps = 200
    assert descend(above, rate=0.1, steps=steps).p[-1] > p > 0 > descend(below, rate=0.1, steps=steps).p[-1]


@pytest.mark.parametrize("p", [0.1, 0.5, 0.9])
def test_bisection_finds_the_threshold(p):
    assert measured_threshold(p) == pytest.approx(threshold(p), abs=1e-5)


@pytest.mark.parametrize("gate", BOUNDED)
@pytest.mark.parametrize("horizon", [10.0, 1000.0])
def test_bisection_finds_what_comes_back_within_a_horizon(gate, horizon):
    expected = threshold_within(0.5, horizon, gate)
    assert return_time(Start(-expected, 0.0, 0.5), gate) == pytest.approx(horizon, rel=1e-6)
    assert measured_threshold(0.5, gate, horizon=horizon, precision=1e-5) == pytest.approx(expected, abs=1e-4)


@settings(max_examples=30)
@given(st.floats(0.1, 0.9), st.floats(-3, -0.05), st.sampled_from(GATES))
def test_p_is_lowest_half_way_and_back_where_it_began(p, margin, gate):
    start = Start(1.0 - margin, 1.0, p)
    time = return_time(start, gate)
    if not time < 50:
        assert gate != "unbounded" or margin <= threshold(p) * (1 - 1e-9)
        return
    way = flow(start, [time / 2, time], gate)
    assert way.p == pytest.approx([lowest(start, gate), p], rel=1e-3, abs=1e-3)
    assert way.margin == pytest.approx([0, -margin], abs=1e-3 * (1 + abs(margin)))


def test_behind_a_gate_p_comes_back_from_everywhere_but_late():
    """From the blog's reversed start after about e^{k D^2 / 4}."""
    start = Start(10.0, -10.0, 0.5)
    for gate, speed in (("sigmoid", 1), ("softmax", 2)):
        assert np.log(return_time(start, gate)) == pytest.approx(speed * 100, abs=5)
        assert 0 < lowest(start, gate) < 1e-40
    assert return_time(Start(60.0, -60.0, 0.5), "sigmoid") == np.inf, "beyond what a float can hold"
    assert return_time(start) == np.inf


@given(STARTS)
def test_the_time_to_one_is_when_p_is_one(start):
    time = time_to_one(start)
    if start.p >= 1:
        assert time == 0
    elif np.isfinite(time):
        assert closed_form(start, time).p[0] == pytest.approx(1, rel=1e-6, abs=1e-6)
        assert (closed_form(start, np.linspace(0, time * 0.999, 50)).p < 1).all()
    else:
        assert (closed_form(start, np.linspace(0, 20, 50)).p < 1).all()


def test_no_fall_no_return():
    assert return_time(Start(0.0, 1.0, 0.3)) == 0 and lowest(Start(0.0, 1.0, 0.3), "sigmoid") == 0.3


@pytest.mark.parametrize(
    ("make", "named"),
    [
        (lambda: Start(float("nan")), "finite numbers"),
        (lambda: flow(Start(), []), "not an empty one"),
        (lambda: flow(Start(), [1.0, 0.5]), "rising numbers"),
        (lambda: flow(Start(), [1.0], "tanh"), "no gate 'tanh'; gates are unbounded, sigmoid, softmax"),
        (lambda: flow(Start(p=1.0), [1.0], "sigmoid"), "between 0 and 1, not 1.0"),
        (lambda: descend(Start(), rate=0.0, steps=3), "rate above 0"),
        (lambda: return_time(Start(p=-0.5)), "p above 0, not -0.5"),
        (lambda: threshold_within(0.5, 0.0, "sigmoid"), "above 0, not 0.0"),
    ],
)
def test_bad_settings_are_refused_in_a_sentence(make, named):
    with pytest.raises(UsageError, match=named):
        make()

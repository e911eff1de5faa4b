"""The blog's toy classifier: two words, one gate p, and the loss L = p (beta0 - beta1).

Gradient flow moves the weights apart at the rate p and the gate by what the weights know, D = beta1 - beta0:

    dbeta0/dtau = -p        dbeta1/dtau = p        dp/dtau = D

The system is linear and has a closed form. With p = sigmoid(a), or p the softmax of two logits, it is not, but one
quantity is conserved and gives everything up to one integral. Derivations: docs/theory.md.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import atanh, inf, sqrt
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.integrate import quad, solve_ivp
from scipy.optimize import brentq
from scipy.special import expit, logit, wrightomega

from attnlab.errors import RunFailed, UsageError

Floats: TypeAlias = NDArray[np.float64]
Gate = Literal["unbounded", "sigmoid", "softmax"]
"""How p is made: itself a parameter; sigmoid of one logit; softmax of two, of which only the difference a matters."""

GATES: tuple[Gate, ...] = get_args(Gate)
_ROOT = sqrt(2.0)
_SPEED: dict[Gate, float] = {"sigmoid": 1.0, "softmax": 2.0}
"""k in da/dtau = k p (1 - p) D: both logits of a softmax move, so their difference moves twice as fast."""
_LARGEST_EXPONENT = 700.0


@dataclass(frozen=True)
class Start:
    """Where training begins: the words' weights and the gate."""

    beta0: float = 0.0
    beta1: float = 0.0
    p: float = 0.5

    def __post_init__(self) -> None:
        if not np.isfinite([self.beta0, self.beta1, self.p]).all():
            raise UsageError(f"A start needs finite numbers, not {self}.")

    @property
    def margin(self) -> float:
        """D = beta1 - beta0."""
        return self.beta1 - self.beta0


@dataclass(frozen=True)
class Trajectory:
    """The parameters at the times tau, each (times,)."""

    time: Floats
    beta0: Floats
    beta1: Floats
    p: Floats

    @property
    def margin(self) -> Floats:
        """D = beta1 - beta0."""
        return self.beta1 - self.beta0

    @property
    def loss(self) -> Floats:
        """L = p (beta0 - beta1)."""
        return loss(self.beta0, self.beta1, self.p)


def scores(beta0: ArrayLike, beta1: ArrayLike, p: ArrayLike) -> tuple[Floats, Floats]:
    """s_0 of the sequence {0, 0} and s_1 of {0, 1}; the loss is their difference s_0 - s_1."""
    low, high, gate = (np.asarray(value, float) for value in (beta0, beta1, p))
    return low, (1 - gate) * low + gate * high


def loss(beta0: ArrayLike, beta1: ArrayLike, p: ArrayLike) -> Floats:
    """L = p (beta0 - beta1).

    >>> float(loss(-10, 30, 0.5))
    -20.0
    """
    return np.asarray(np.asarray(p, float) * (np.asarray(beta0, float) - np.asarray(beta1, float)))


def closed_form(start: Start, times: ArrayLike) -> Trajectory:
    """The unbounded flow: with w = sqrt(2), p = p(0) cosh w tau + D(0)/w sinh w tau, and D its derivative.

    >>> way = closed_form(Start(), [0.0, 1.0])
    >>> way.p.round(4).tolist(), way.beta1.round(4).tolist()
    ([0.5, 1.0891], [0.0, 0.6841])
    """
    time = np.atleast_1d(np.asarray(times, float))
    cosh, sinh = np.cosh(_ROOT * time), np.sinh(_ROOT * time)
    p = start.p * cosh + start.margin / _ROOT * sinh
    margin = start.margin * cosh + _ROOT * start.p * sinh
    middle = (start.beta0 + start.beta1) / 2  # never moves: what beta0 loses beta1 wins
    return Trajectory(time, middle - margin / 2, middle + margin / 2, p)


def flow(start: Start, times: Sequence[float] | Floats, gate: Gate = "unbounded") -> Trajectory:
    """The flow integrated numerically to rising ``times``, from time 0."""
    wanted = np.asarray(times, float)
    if wanted.ndim != 1 or not len(wanted) or wanted[0] < 0 or (np.diff(wanted) <= 0).any():
        raise UsageError("Times to integrate to are a list of rising numbers from 0 upwards, and not an empty one.")
    solved = _integrated(start, gate, float(wanted[-1]), t_eval=wanted, atol=1e-12)
    if not solved.success:
        raise RunFailed(f"The flow could not be integrated to time {wanted[-1]}: {solved.message}")
    beta0, beta1, variable = solved.y
    return Trajectory(wanted, beta0, beta1, _gate(variable, gate))


def descend(start: Start, *, rate: float, steps: int, gate: Gate = "unbounded") -> Trajectory:
    """Plain gradient descent, after 0 .. ``steps`` updates; time is updates times ``rate``."""
    if not rate > 0 or steps < 0:
        raise UsageError(f"Descent needs a rate above 0 and at least 0 steps, not {rate} and {steps}.")
    states = np.empty((steps + 1, 3))
    states[0] = start.beta0, start.beta1, _variable(start, gate)
    for step in range(steps):
        states[step + 1] = states[step] + rate * _rates(states[step], gate)
    beta0, beta1, variable = states.T
    return Trajectory(np.arange(steps + 1, dtype=np.float64) * rate, beta0, beta1, _gate(variable, gate))


def _rates(state: Floats, gate: Gate) -> Floats:
    """-dL/d(beta0, beta1, p or a): (3,)."""
    beta0, beta1, variable = state
    p = float(_gate(variable, gate))
    pull = beta1 - beta0
    if gate != "unbounded":
        pull *= _SPEED[gate] * p * float(expit(-variable))
    return np.array([-p, p, pull])


def threshold(p: float) -> float:
    """The margin D(0) below which an unbounded p > 0 never comes back: -sqrt(2) p(0).

    >>> round(threshold(0.5), 4)
    -0.7071
    """
    return -_ROOT * p


def time_to_one(start: Start) -> float:
    """When the unbounded p first reaches 1; infinity if it never does.

    p = A x + B / x with x = e^{sqrt(2) tau}, so x solves a quadratic equation.

    >>> round(time_to_one(Start()), 4)
    0.9312
    """
    if start.p >= 1:
        return 0.0
    grows, decays = (start.p + start.margin / _ROOT) / 2, (start.p - start.margin / _ROOT) / 2
    if grows <= 0:
        return inf
    return float(np.log((1 + sqrt(1 - 4 * grows * decays)) / (2 * grows)) / _ROOT)


def lowest(start: Start, gate: Gate = "unbounded") -> float:
    """The lowest p > 0 on the way up, where D = 0: p(0) itself from D(0) >= 0, -infinity below the `threshold`."""
    variable = _falling(start, gate)
    if start.margin >= 0:
        return start.p
    if gate == "unbounded":
        square = start.p**2 - start.margin**2 / 2
        return sqrt(square) if square >= 0 else -inf
    level = variable + np.exp(variable) - _SPEED[gate] * start.margin**2 / 4
    return float(expit(level - wrightomega(level)))


def return_time(start: Start, gate: Gate = "unbounded") -> float:
    """When p > 0, after falling, is back where it began; 0 if it does not fall, infinity if it never comes back.

    A flow looks the same from its lowest point forwards and backwards, so this is twice the time to D = 0. Behind a
    sigmoid or softmax D grows at the rate 2 p > 0 for ever and p always comes back, after about e^{k D(0)^2 / 4}.
    """
    variable, depth = _falling(start, gate), -start.margin
    if depth <= 0:
        return 0.0
    if gate == "unbounded":
        return _ROOT * atanh(depth / (_ROOT * start.p)) if depth < _ROOT * start.p else inf
    # tau = int dD / (2 p) with 1/p = 1 + e^{-a}, and e^a = omega(k D^2 / 4 + level) by what is conserved.
    speed = _SPEED[gate]
    level = variable + float(np.exp(variable)) - speed * depth**2 / 4
    smallest = float(wrightomega(level))
    scale = level - smallest  # log of e^a at the lowest point: the integrand is e^{-scale} there and falls from it
    if -scale > _LARGEST_EXPONENT:
        return inf
    area, _ = quad(lambda u: np.exp(scale) / wrightomega(level + speed * u**2 / 4), 0.0, depth, epsabs=0, limit=200)
    return float(depth + np.exp(-scale) * area)


def threshold_within(p: float, horizon: float, gate: Gate) -> float:
    """The margin D(0) from which p comes back just at the time ``horizon``: below it p is back later, or never."""
    if not horizon > 0:
        raise UsageError(f"A horizon is a time above 0, not {horizon}.")

    def late(depth: float) -> float:
        return min(return_time(Start(depth, 0.0, p), gate), 2 * horizon) - horizon

    deep = 1.0
    while late(deep) < 0:
        deep *= 2
    return -float(brentq(late, 0.0, deep, xtol=1e-12))


def measured_threshold(p: float, gate: Gate = "unbounded", *, horizon: float = 1e3, precision: float = 1e-6) -> float:
    """The margin D(0) below which the integrated flow does not bring p back within ``horizon``, by bisection."""
    low, high = -1.0, 0.0
    while _comes_back(Start(-low, 0.0, p), gate, horizon):
        low, high = 2 * low, low
    while high - low > precision:
        middle = (low + high) / 2
        if _comes_back(Start(-middle, 0.0, p), gate, horizon):
            high = middle
        else:
            low = middle
    return (low + high) / 2


def _comes_back(start: Start, gate: Gate, horizon: float) -> bool:
    """Whether p, which falls first, rises to its start again; it cannot any more once p and D are both negative."""

    def back(_: float, state: Floats) -> float:
        return float(state[2]) - first

    def lost(_: float, state: Floats) -> float:
        return float(state[2])

    first = _variable(start, gate)
    back.terminal, back.direction = True, 1.0  # type: ignore[attr-defined]
    lost.terminal, lost.direction = True, -1.0  # type: ignore[attr-defined]
    events = [back, lost] if gate == "unbounded" else [back]
    return len(_integrated(start, gate, horizon, events=events, atol=1e-13).t_events[0]) > 0


def _integrated(start: Start, gate: Gate, until: float, **settings: Any) -> Any:
    """The flow's parameters up to the time ``until``, as SciPy gives them."""
    state = (start.beta0, start.beta1, _variable(start, gate))
    return solve_ivp(lambda _, now: _rates(now, gate), (0.0, until), state, method="LSODA", rtol=1e-10, **settings)


def _variable(start: Start, gate: Gate) -> float:
    """What is trained: p itself, or its logit a."""
    if gate not in GATES:
        raise UsageError(f"There is no gate {gate!r}; gates are {', '.join(GATES)}.")
    if gate == "unbounded":
        return start.p
    if not 0 < start.p < 1:
        raise UsageError(f"A {gate} gives p between 0 and 1, not {start.p}.")
    return float(logit(start.p))


def _falling(start: Start, gate: Gate) -> float:
    """What is trained, for questions that make sense from p > 0 only."""
    if start.p <= 0:
        raise UsageError(f"How far p falls and when it comes back is known only for p above 0, not {start.p}.")
    return _variable(start, gate)


def _gate(variable: ArrayLike, gate: Gate) -> Floats:
    """p from what is trained."""
    return np.asarray(variable if gate == "unbounded" else expit(variable), float)

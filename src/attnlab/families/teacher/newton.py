"""Students trained to stationarity: every update is a damped Newton step of each network side by side, in float64.

*newton*: s = -(|H| + lambda I)^-1 g with the exact Hessian H, its eigenvalues taken by size, so that directions of
negative curvature are left and not sought. lambda grows until the step goes down and shrinks after each good one.
Self-attention, whose exact H costs ten times as much, takes Gauss-Newton's matrix J^T J / n in its place until the
gradient is small. *saddle* (baseline and known attention): s = -(H^2 + lambda I)^-1 H g, which goes down ||g|| and so
ends in stationary points of every kind, saddles among them; it begins after some steps of descent.

The loop sees plain descent with a rate of 1 along -s; lambda is a buffer of the model, so that a killed run resumes.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor
from torch.func import grad, vmap

from attnlab.errors import RunFailed
from attnlab.families.teacher.problem import StudentProblem
from attnlab.families.teacher.spec import StudentSpec
from attnlab.measures.curvature import (
    Derivatives,
    attention_derivatives,
    input_products,
    read_out,
    two_layer_derivatives,
)
from attnlab.models.self_attention import SelfAttention, attend, mean_word, vec
from attnlab.protocols import Row, RunSettings
from attnlab.seeds import numpy_generator

STATIONARY = 1e-6
"""Norm of the gradient below which a network has arrived."""
FINISHED = 1e-9
"""Norm below which it is left alone: a step more costs as much as any, and would change nothing."""
EXACT_BELOW = 2e-2
"""Norm of the gradient from which on self-attention's Hessian is exact."""
DAMPING = 1e-2
"""lambda at the start."""
TRIES = 12
"""Larger and larger lambdas tried for one step; then the network stays where it is until the next."""
MOST_DESCENTS = 24
"""A search for saddles begins with 0 to so many steps of descent, by start: from random starts alone it would end near
the network of zeros, where the gradient is small but does not vanish.
"""
CELLS = 1 << 24
"""Numbers in the Hessians held at once."""


def height(at: Derivatives, seeking: bool) -> Tensor:
    """What a step must lower: the loss, or half the gradient's squared norm."""
    return at.gradient.square().sum(1) / 2 if seeking else at.loss


@dataclass(frozen=True)
class StepFrom:
    """What an update starts from, and what it does: ``loss`` (), ``steps`` by parameter, as if they were gradients."""

    loss: Tensor
    problem: "NewtonProblem"
    steps: Tensor

    def detach(self) -> Tensor:
        return self.loss

    def backward(self) -> None:
        for name, value in self.problem.unflatten(self.steps).items():
            self.problem.named[name].grad = value.neg()


class NewtonProblem(StudentProblem):
    """Every example of the sample is trained on: where all networks arrive, there is no step to choose."""

    def __init__(self, spec: RunSettings, device: str = "cpu") -> None:
        super().__init__(spec, device)
        assert isinstance(spec.model, StudentSpec)
        assert spec.model.tau0 is not None
        self.ridge = spec.model.ridge
        self.tau0, self.saddle = spec.model.tau0, spec.model.steps == "saddle"
        self.named = dict(self.model.named_parameters())
        self.order = [name for name in self.named if name not in ("w1", "w2")] + ["w1", "w2"]
        sizes = {name: self.named[name][0].numel() for name in self.order}
        self.sizes, self.size = sizes, sum(sizes.values())
        parts = [self.parts["valid"], self.parts["train"]]
        self.x, self.y = self.full_x(), torch.cat([part.y for part in parts], 1)
        self.model.register_buffer("damping", torch.full((self.together,), DAMPING, dtype=torch.float64))
        self.attends = isinstance(self.model, SelfAttention)
        if not self.attends:
            self.used = (self.x != 0).flatten(0, 1).any(0).nonzero().squeeze(1)  # features that f shuts out stay
            self.x = self.x[..., self.used]
            self.products = input_products(self.x) if len(self.x) == 1 else None

    def full_x(self) -> Tensor:
        """All inputs of the sample with the features that f shuts out: (1 or problems, n, inputs)."""
        return torch.cat([self.parts["valid"].x, self.parts["train"].x], 1)

    # --- parameters in one row

    def flat(self) -> Tensor:
        """(together, P): all parameters, in the order of `attnlab.measures.curvature`."""
        return torch.cat([self.named[name].detach().flatten(1) for name in self.order], 1)

    def unflatten(self, rows: Tensor) -> dict[str, Tensor]:
        """The way back, by name."""
        parts = torch.split(rows, list(self.sizes.values()), 1)
        return {
            name: part.reshape(len(rows), *self.named[name].shape[1:])
            for name, part in zip(self.order, parts, strict=True)
        }

    # --- derivatives

    def derivatives(self, rows: Tensor, which: Tensor, *, hessian: bool, exact: bool = True) -> Derivatives:
        """Of the squared error and the ridge: see `_of_error`."""
        of = self._of_error(rows, which, hessian=hessian, exact=exact)
        own = self.in_use(rows)
        loss, gradient = of.loss + self.ridge * own.square().sum(1) / 2, of.gradient + self.ridge * own
        if of.hessian is not None:
            of.hessian.diagonal(dim1=1, dim2=2).add_(self.ridge)
        return Derivatives(loss, gradient, of.hessian)

    def _of_error(self, rows: Tensor, which: Tensor, *, hessian: bool, exact: bool) -> Derivatives:
        """At the parameters ``rows`` (some, P) of the networks ``which`` (some,); features shut out have none."""
        x, y = (part if len(part) == 1 else part[which] for part in (self.x, self.y))
        named = self.unflatten(rows)
        if not self.attends:
            w1, w2 = named["w1"][:, self.used], named["w2"].squeeze(-1)
            products = self.products if hessian else None
            return two_layer_derivatives(w1, w2, x, y, self.tau0, hessian=hessian, products=products)
        each = []
        for k in range(len(rows)):
            own, target = x[k % len(x)], y[k % len(y)]
            theta = {name: named[name][k] for name in self.order if name not in ("w1", "w2")}
            w1, w2 = named["w1"][k], named["w2"][k].squeeze(-1)
            if hessian and not exact:
                each.append(self._gauss_newton(own, theta, w1, w2, target))
                continue
            each.append(
                attention_derivatives(
                    partial(self._features, own),
                    theta,
                    w1,
                    w2,
                    target,
                    self.tau0,
                    hessian=hessian,
                )
            )
        hessians = torch.cat([one.hessian for one in each if one.hessian is not None]) if hessian else None
        return Derivatives(torch.cat([one.loss for one in each]), torch.cat([one.gradient for one in each]), hessians)

    def _features(self, x: Tensor, theta: Mapping[str, Tensor]) -> Tensor:
        """u (n, c) of one network, ``x`` (n, t, p)."""
        model = self.model
        assert isinstance(model, SelfAttention)
        alone = {name: value.unsqueeze(0) for name, value in theta.items()}
        rows, _ = attend(
            alone, x.unsqueeze(0), layers=model.layers, heads=model.heads, divisor=model.divisor, mode=model.mode
        )
        return (vec(rows) if model.readout == "vec" else mean_word(rows, None))[0]

    def _gauss_newton(self, x: Tensor, theta: dict[str, Tensor], w1: Tensor, w2: Tensor, y: Tensor) -> Derivatives:
        """J^T J / n in place of the Hessian, from the derivative of every output by itself."""
        u = self._features(x, theta)
        at = read_out(u[None], w1[None], w2[None], self.tau0, y[None])
        slopes = w2 * at.first[0]
        g = slopes @ w1.T

        def output(values: dict[str, Tensor], one: Tensor, held: Tensor) -> Tensor:
            return (self._features(one.unsqueeze(0), values)[0] * held).sum()

        below = vmap(grad(output), in_dims=(None, 0, 0))(theta, x, g)
        own = (u.unsqueeze(-1) * slopes.unsqueeze(-2)).flatten(1)
        jacobian = torch.cat([*(below[name].flatten(1) for name in theta), own, at.phi[0]], 1)  # (n, P)
        r, n = at.r[0], len(u)
        return Derivatives(
            r.square().mean().unsqueeze(0) / 2, (r @ jacobian / n).unsqueeze(0), (jacobian.T @ jacobian / n)[None]
        )

    @torch.no_grad()
    def disturbed(self, noise: float) -> Tensor:
        """(together,) the test error when every input number gets noise of this standard deviation."""
        test = self.data.test
        drawn = numpy_generator(self.spec.data_seed, "disturbed").standard_normal(tuple(test.x.shape))
        x = test.x + noise * torch.from_numpy(drawn)
        outputs: Tensor = self.model(x).squeeze(-1)
        errors: Tensor = (outputs - test.y).square().mean(1) / self.data.spread
        return errors

    # --- steps

    def loss(self, step: int) -> StepFrom:  # type: ignore[override]
        """Where the networks are, and a step of each that has not arrived."""
        rows, steps = self.flat(), torch.zeros(self.together, self.size, dtype=torch.float64)
        losses = torch.zeros(self.together, dtype=torch.float64)
        for which in self._blocks():
            at = self.derivatives(rows[which], which, hessian=False)
            losses[which], norms = at.loss, at.gradient.norm(dim=1)
            active = norms > FINISHED
            exact = (norms < EXACT_BELOW) if self.attends else torch.ones_like(active)
            seeking = (which % (MOST_DESCENTS + 1) <= step) if self.saddle else torch.zeros_like(active)
            for group in (active & exact & ~seeking, active & ~exact, active & exact & seeking):
                own = which[group]
                if len(own):
                    way = {"exact": bool(exact[group][0]), "seeking": bool(seeking[group][0])}
                    steps[own] = self._steps(rows[own], own, **way)
        return StepFrom(losses.sum(), self, steps)

    def _blocks(self) -> Iterator[Tensor]:
        width = max(1, CELLS // self.size**2)
        for first in range(0, self.together, width):
            yield torch.arange(first, min(first + width, self.together))

    def _steps(self, rows: Tensor, which: Tensor, *, exact: bool, seeking: bool) -> Tensor:
        """The steps of some networks: (some, P); 0 where none goes down."""
        at = self.derivatives(rows, which, hessian=True, exact=exact)
        assert at.hessian is not None
        values, vectors = torch.linalg.eigh(at.hessian)
        along = (vectors.transpose(1, 2) @ at.gradient.unsqueeze(-1)).squeeze(-1)  # the gradient by eigenvectors
        if seeking:
            along, values = values * along, values.square()
        curvature, before = values.abs(), height(at, seeking)
        damping = self.model.get_buffer("damping")
        steps, left = torch.zeros_like(along), torch.arange(len(rows))
        for _ in range(TRIES):
            shrunk = along[left] / (curvature[left] + damping[which[left], None])
            trial = -(vectors[left] @ shrunk.unsqueeze(-1)).squeeze(-1)
            there = self.derivatives(rows[left] + self.full(trial), which[left], hessian=False)
            gain, expected = before[left] - height(there, seeking), (shrunk * along[left]).sum(1) / 2
            down, good = gain > 0, gain > expected / 2
            steps[left[down]] = trial[down]
            damping[which[left[good]]] /= 5
            damping[which[left[~down]]] *= 4
            left = left[~down]
            if not len(left):
                break
        damping.clamp_(1e-14, 1e8)
        return self.full(steps)

    def in_use(self, rows: Tensor) -> Tensor:
        """Parameters (some, P) without those of features shut out."""
        if self.attends or len(self.used) * self.named["w1"].shape[2] == self.sizes["w1"]:
            return rows
        named = self.unflatten(rows)
        return torch.cat([named["w1"][:, self.used].flatten(1), named["w2"].flatten(1)], 1)

    def full(self, steps: Tensor) -> Tensor:
        """Steps of the features in use among zeros for those shut out."""
        if self.attends or len(self.used) * self.named["w1"].shape[2] == self.sizes["w1"]:
            return steps
        hidden = self.named["w1"].shape[2]
        full = steps.new_zeros(len(steps), self.named["w1"].shape[1], hidden)
        full[:, self.used] = steps[:, : len(self.used) * hidden].reshape(len(steps), -1, hidden)
        return torch.cat([full.flatten(1), steps[:, len(self.used) * hidden :]], 1)

    # --- evaluation

    @torch.no_grad()
    def evaluate(self, step: int) -> Row:
        """As of all students; and ``gradient_k``, the gradient's norm, with ``lowest_k``, ``highest_k``, ``trace_k``,
        the smallest and largest eigenvalue of the exact Hessian and their sum.
        """
        row = super().evaluate(step)
        flat = self.flat()
        for which in self._blocks():
            at = self.derivatives(flat[which], which, hessian=True)
            assert at.hessian is not None
            if not bool(at.hessian.isfinite().all()):
                raise RunFailed(f"Run {self.spec.id} failed: a Hessian at step {step} is not finite.")
            values = torch.linalg.eigvalsh(at.hessian)
            for k, network in enumerate(which.tolist()):
                row |= {
                    f"gradient_{network}": float(at.gradient[k].norm()),
                    f"lowest_{network}": float(values[k, 0]),
                    f"highest_{network}": float(values[k, -1]),
                    f"trace_{network}": float(values[k].sum()),
                }
        return row

"""The networks of P2 2: a two-layer baseline, attention by a known function, and self-attention that is learned.

All of them end in the same two-layer read-out, y = w2^T phi(<w1, u>), and differ in what it reads:

    baseline           u = x, the input as one vector
    known attention    u = x * f(x), elementwise, f known
    self-attention     u = vec(w_V x a), a = (a^(1), ..., a^(p)), a^(z) = softmax(Q_z K^T / d_q) for each word z

An input of words is P2's t x p matrix: words are its columns. Many networks of one shape are trained side by side:
every parameter has a first dimension ``together``, and so may have the input. There are no biases, as in P2.
"""

from collections.abc import Callable, Mapping
from math import sqrt
from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn import functional

from attnlab.errors import UsageError
from attnlab.models.initial import check_sizes
from attnlab.seeds import torch_generator

Scale = Literal["d_q", "root"]
"""What the softmax divides its products by: d_q, as P2's text has it, or its square root, as is usual."""
Readout = Literal["vec", "pooled"]
"""What is read of the words: all of them, in a row, as P2 does; or their mean, which is ours."""
WordAttention = Literal["learned", "uniform", "own"]
"""``learned``: P2's. ``uniform``: all words weigh the same. ``own``: every word sees itself alone. Both are ours."""


def softplus(h: Tensor, tau0: float | None) -> Tensor:
    """phi_tau0(h) = log(1 + e^(tau0 h)) / tau0 (P2 3), which tends to ReLU; ``tau0`` None: ReLU itself."""
    if tau0 is None:
        return h.relu()
    # Beyond the threshold PyTorch takes h itself, which is off by less than e^-40 and has no second derivative.
    return functional.softplus(h, beta=tau0, threshold=40.0)


class TwoLayer(nn.Module):
    """Baseline and known attention: y = w2^T phi(<w1, x * f(x)>), with f = 1 for the baseline.

    ``inputs``: p, or t p for words. ``hidden``: d. ``outputs``: 1, or one for each class. ``weigh``: f, from inputs
    (..., inputs) to weights of that shape; None: no attention.

    >>> network = TwoLayer(50, 10, weigh=top_weights(5), seeds=range(3))
    >>> network(torch.ones(3, 7, 50)).shape
    torch.Size([3, 7, 1])
    """

    def __init__(
        self,
        inputs: int,
        hidden: int,
        outputs: int = 1,
        *,
        weigh: Callable[[Tensor], Tensor] | None = None,
        tau0: float | None = 10.0,
        seeds: range = range(1),
        purpose: str = "start",
        dtype: torch.dtype = torch.float32,
    ) -> None:
        super().__init__()
        check_sizes("A two-layer network", inputs=inputs, hidden=hidden, outputs=outputs)
        check_activation(tau0)
        self.weigh, self.tau0 = weigh, tau0
        shapes = {"w1": (inputs, hidden), "w2": (hidden, outputs)}
        for name, values in drawn(shapes, seeds, purpose, dtype).items():
            self.register_parameter(name, nn.Parameter(values))

    def features(self, x: Tensor) -> Tensor:
        """What the read-out reads, (together, n, inputs), of ``x`` (..., n, inputs) or words (..., n, t, p)."""
        u = x.flatten(-2) if x.dim() == 4 else x
        return u if self.weigh is None else u * self.weigh(u)

    def forward(self, x: Tensor) -> Tensor:
        """y: (together, n, outputs)."""
        return self.read(self.features(x))

    def read(self, u: Tensor) -> Tensor:
        """The two layers on what they read, (together, n, inputs)."""
        return softplus(first_layer(u, self.w1), self.tau0) @ self.w2

    w1: Tensor
    w2: Tensor


class SelfAttention(nn.Module):
    """P2's transformer self-attention, one layer or several, under the two-layer read-out.

    ``words``: p, ``size``: t, ``query_size``: d_q, ``value_size``: d_v, ``hidden``: d. A further layer reads the d_v x
    p matrix that the one below has made. ``heads`` (ours) split the values among that many attentions with queries of
    their own. ``readout`` and ``attention``: see `Readout` and `WordAttention`.

    >>> network = SelfAttention(words=8, size=6, query_size=3, value_size=2, hidden=5)
    >>> network(torch.ones(1, 7, 6, 8)).shape, network.weights(torch.ones(1, 7, 6, 8))[0].shape
    (torch.Size([1, 7, 1]), torch.Size([1, 7, 1, 8, 8]))
    """

    def __init__(
        self,
        words: int,
        size: int,
        query_size: int,
        value_size: int,
        hidden: int,
        outputs: int = 1,
        *,
        layers: int = 1,
        heads: int = 1,
        scale: Scale = "d_q",
        readout: Readout = "vec",
        attention: WordAttention = "learned",
        tau0: float | None = 10.0,
        seeds: range = range(1),
        purpose: str = "start",
        dtype: torch.dtype = torch.float32,
    ) -> None:
        super().__init__()
        check_sizes(
            "Self-attention", words=words, size=size, query_size=query_size, value_size=value_size, hidden=hidden,
            outputs=outputs, layers=layers, heads=heads,
        )  # fmt: skip
        check_activation(tau0)
        if value_size % heads:
            raise UsageError(f"{heads} heads share the values evenly; a value_size of {value_size} cannot be.")
        self.layers, self.heads, self.query_size, self.value_size = layers, heads, query_size, value_size
        self.divisor = float(query_size) if scale == "d_q" else sqrt(query_size)
        self.readout, self.mode, self.tau0 = readout, attention, tau0
        shapes: dict[str, tuple[int, ...]] = {}
        for layer in range(layers):
            below = size if layer == 0 else value_size
            if attention == "learned":
                shapes |= {f"query_{layer}": (heads * query_size, below), f"key_{layer}": (heads * query_size, below)}
            shapes[f"value_{layer}"] = (value_size, below)
        shapes |= {"w1": (value_size * (words if readout == "vec" else 1), hidden), "w2": (hidden, outputs)}
        for name, values in drawn(shapes, seeds, purpose, dtype).items():
            self.register_parameter(name, nn.Parameter(values))

    def forward(self, x: Tensor, there: Tensor | None = None) -> Tensor:
        """y (together, n, outputs) of words ``x`` (together or 1, n, t, p); ``there`` (..., n, p): words that are."""
        return softplus(self.features(x, there) @ self.w1, self.tau0) @ self.w2

    def features(self, x: Tensor, there: Tensor | None = None) -> Tensor:
        """vec(w_V x a): (together, n, p d_v), word by word; or the words' mean, (together, n, d_v)."""
        rows, _ = self._layers(x, there)
        return vec(rows) if self.readout == "vec" else mean_word(rows, there)

    def weights(self, x: Tensor, there: Tensor | None = None) -> list[Tensor]:
        """Of each layer a^(z) for every word z: (together, n, heads, p, p), the last dimension sums to 1."""
        return self._layers(x, there)[1]

    def attention_parameters(self) -> dict[str, nn.Parameter]:
        """All below the read-out, by name."""
        return {name: value for name, value in self.named_parameters() if name not in ("w1", "w2")}

    def _layers(self, x: Tensor, there: Tensor | None) -> tuple[Tensor, list[Tensor]]:
        return attend(
            dict(self.named_parameters()), x, there, layers=self.layers, heads=self.heads, divisor=self.divisor,
            mode=self.mode,
        )  # fmt: skip

    w1: Tensor
    w2: Tensor


def attend(
    parameters: Mapping[str, Tensor],
    x: Tensor,
    there: Tensor | None = None,
    *,
    layers: int,
    heads: int,
    divisor: float,
    mode: WordAttention,
) -> tuple[Tensor, list[Tensor]]:
    """The last layer's words as rows, (together, n, p, d_v), and every layer's weights.

    Written out, as the fused kernel has no second derivative on CPU. A function of the parameters, so that derivatives
    with respect to them can be taken by ``torch.func``.
    """
    rows = x.transpose(-1, -2)  # (together, n, p, t)
    weights = []
    for layer in range(layers):
        values = split(project(rows, parameters[f"value_{layer}"]), heads)  # (together, n, heads, p, d_v / heads)
        if mode == "own":
            rows = merge(values)
            continue
        if mode == "uniform":
            a = uniform_weights(values, there)
            weights.append(a)
            mean = values.mean(-2, keepdim=True) if there is None else a[..., :1, :] @ values
            rows = merge(mean.expand_as(values))
        else:
            queries = split(project(rows, parameters[f"query_{layer}"] / divisor), heads)
            keys = split(project(rows, parameters[f"key_{layer}"]), heads)
            scores = queries @ keys.transpose(-1, -2)  # (together, n, heads, p queries, p keys)
            if there is not None:
                scores = scores.masked_fill(~there[..., None, None, :], float("-inf"))
            a = scores.softmax(-1)
            weights.append(a)
            rows = merge(a @ values)
        if there is not None:
            rows = rows * there[..., None]
    return rows, weights


def first_layer(u: Tensor, w1: Tensor) -> Tensor:
    """<w1, u>: (together, n, d), u (together or 1, n, inputs). Networks that share their input share one product."""
    together, inputs, hidden = w1.shape
    if together == 1 or len(u) == together:
        return u @ w1
    columns = w1.transpose(0, 1).reshape(inputs, together * hidden)
    return (u[0] @ columns).view(-1, together, hidden).transpose(0, 1)


def project(rows: Tensor, matrix: Tensor) -> Tensor:
    """Every word times a matrix (together, m, t): (together, n, p, m). One product for each network, not each input."""
    together, n, p, t = matrix.shape[0], *rows.shape[-3:]
    return (rows.reshape(-1, n * p, t) @ matrix.transpose(-1, -2)).reshape(together, n, p, -1)


def split(rows: Tensor, heads: int) -> Tensor:
    """(together, n, p, m) to (together, n, heads, p, m / heads)."""
    return rows.reshape(*rows.shape[:-1], heads, -1).transpose(-2, -3)


def merge(rows: Tensor) -> Tensor:
    """The way back from `split`."""
    return rows.transpose(-2, -3).flatten(-2)


def vec(rows: Tensor) -> Tensor:
    """Column after column of the d_v x p matrix whose columns are ``rows`` (..., p, d_v): (..., p d_v)."""
    return rows.flatten(-2)


def mean_word(rows: Tensor, there: Tensor | None) -> Tensor:
    """Mean over the words that are there: (together, n, d_v)."""
    return rows.mean(-2) if there is None else rows.sum(-2) / there.sum(-1, keepdim=True).clamp(min=1)


def uniform_weights(values: Tensor, there: Tensor | None) -> Tensor:
    """The same weight for all words that are there: (together or 1, n, heads, p, p)."""
    p = values.shape[-2]
    if there is None:
        return values.new_full((), 1 / p).expand(*values.shape[:-1], p)
    present = there.to(values.dtype)
    return (present / present.sum(-1, keepdim=True).clamp(min=1))[..., None, None, :].expand(*values.shape[:-1], p)


# --- known attention functions f: R^p -> R^p


def fixed_weights(count: int, inputs: int) -> Callable[[Tensor], Tensor]:
    """f(x) = 1 for the first ``count`` features, 0 for the rest: with zeros, the same for every input."""
    _check_relevant(count, inputs)
    mask = (torch.arange(inputs) < count).to(torch.float64)
    return lambda x: mask.to(x.dtype)


def top_weights(count: int) -> Callable[[Tensor], Tensor]:
    """f(x) = 1 for the ``count`` features of largest size |x_j|, 0 for the rest: with zeros, depending on the input."""

    def weigh(x: Tensor) -> Tensor:
        _check_relevant(count, x.shape[-1])
        return torch.zeros_like(x).scatter(-1, x.detach().abs().topk(count, -1).indices, 1.0)

    return weigh


def softmax_weights(sharpness: float = 2.0) -> Callable[[Tensor], Tensor]:
    """f(x) = p softmax(``sharpness`` |x|): without zeros, larger features weigh more; the weights' mean is 1."""
    return lambda x: x.shape[-1] * (sharpness * x.detach().abs()).softmax(-1)


def _check_relevant(count: int, inputs: int) -> None:
    if not 1 <= count <= inputs:
        raise UsageError(f"s0 = {count} relevant features of p = {inputs}: s0 is at least 1 and at most p.")


# --- parameters


def drawn(shapes: Mapping[str, tuple[int, ...]], seeds: range, purpose: str, dtype: torch.dtype) -> dict[str, Tensor]:
    """Start values, (together, *shape) by name: normal with the inverse of the inputs' number as variance.

    Each network has a generator of its own, by seed and ``purpose``, so it starts as it would alone.
    """
    if not len(seeds):
        raise UsageError("At least one network must be trained; together = 0 leaves none.")
    starts: dict[str, list[Tensor]] = {name: [] for name in shapes}
    for seed in seeds:
        generator = torch_generator(seed, purpose)
        for name, shape in shapes.items():
            inputs = shape[0] if name in ("w1", "w2") else shape[1]
            values = torch.randn(shape, generator=generator, dtype=torch.float64) / sqrt(inputs)
            starts[name].append(values.to(dtype))
    return {name: torch.stack(values) for name, values in starts.items()}


def parameter_count(model: nn.Module) -> int:
    """Parameters of one of the networks side by side."""
    return sum(value[0].numel() for value in model.parameters())


def check_activation(tau0: float | None) -> None:
    """Refuse a softplus that is none."""
    if tau0 is not None and not tau0 > 0:
        raise UsageError(f"tau0 = {tau0}: softplus needs a temperature above 0; None stands for ReLU.")

"""Teachers of P2's kinds: networks with known weights whose outputs, with noise, are what students learn from.

All teachers are ours: P2's own experiments could not be had. Of p features, or words, s0 are relevant.

*Features*: x ~ N(0, I_p) and y = w2^T phi(<w1, x * f(x)>) (P2 2, first type). ``fixed``: f is 1 on the same s0 features
for all inputs, so that the baseline can express the teacher by zeros in w1. ``input``: f is 1 on the s0 features of
largest size; ``softmax``: f has no zeros. These two the baseline cannot express.

*Words* (second type): word j is (m_j, 1, content), m_j = 1 for relevant words, -1 for others, and content ~ N(0, I).
The teacher attends from every word to the relevant ones and reads the mean of their contents. ``fixed``: the first s0
words are relevant, so that the baseline can express it; ``input``: s0 words at places drawn for every input.
With several layers, each but the last lets relevant words read relevant ones, others the others.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import sqrt
from typing import Literal

import torch
from torch import Tensor

from attnlab.families.teacher.examples import Data, Examples, hold_out
from attnlab.models.self_attention import SelfAttention, TwoLayer, fixed_weights, softmax_weights, top_weights
from attnlab.seeds import numpy_generator, torch_generator

Form = Literal["features", "words"]
Relevance = Literal["fixed", "input", "softmax"]

FOCUS = 4.0
"""Half the difference in score between relevant words and others: a relevant one weighs e^8 times as much."""
MEASURED = 4096
"""Inputs from which the spread of a teacher's outputs is taken."""
WEIGHERS: dict[Relevance, Callable[[int, int], Callable[[Tensor], Tensor]]] = {
    "fixed": fixed_weights,
    "input": lambda relevant, _: top_weights(relevant),
    "softmax": lambda _, __: softmax_weights(),
}


@dataclass(frozen=True)
class Teachers:
    """What all teachers of a run have in common; each is drawn from a seed of its own.

    ``inputs``: p. ``relevant``: s0. ``size``: t. ``hidden``: d. ``noise``: standard deviation of the noise (normal), in
    units of the outputs' own, which is scaled to 1.
    """

    form: Form
    relevance: Relevance
    inputs: int
    relevant: int
    size: int
    hidden: int
    value_size: int
    layers: int
    noise: float
    tau0: float
    dtype: torch.dtype

    def data(self, samples: int, tests: int, seeds: range) -> Data:
        """n = ``samples`` noisy examples for each seed, split, and ``tests`` without noise.

        ``spread``: the variance of a teacher's outputs, 1 by construction.
        """
        drawn = [self._drawn(samples, tests, seed) for seed in seeds]
        sample, test = (
            Examples(torch.cat([part.x for part in parts]), torch.cat([part.y for part in parts]))
            for parts in zip(*drawn, strict=True)
        )
        train, valid = hold_out(sample)
        return Data(train, valid, test, torch.ones(len(seeds), dtype=self.dtype))

    def teacher(self, seed: int) -> TwoLayer | SelfAttention:
        """The teacher of a seed, its outputs scaled to a standard deviation of 1."""
        teacher = self._features_teacher(seed) if self.form == "features" else self._words_teacher(seed)
        with torch.no_grad():
            outputs = teacher(self.draw(MEASURED, seed, "scale"))
            teacher.w2 /= outputs.std()
        return teacher

    def weigh(self) -> Callable[[Tensor], Tensor]:
        """The teacher's f, which students with known attention share."""
        return WEIGHERS[self.relevance](self.relevant, self.inputs)

    def draw(self, count: int, seed: int, purpose: str) -> Tensor:
        """Inputs: (1, count, p), or (1, count, t, p). More of them begin with the fewer."""
        words = self.form == "words"
        shape = (count, self.inputs, self.size) if words else (count, self.inputs)
        rows = torch.from_numpy(numpy_generator(seed, purpose).standard_normal(shape)).unsqueeze(0)
        if not words:
            return rows.to(self.dtype)
        places = torch.arange(self.inputs).expand(1, count, -1)
        if self.relevance == "input":
            drawn = numpy_generator(seed, purpose, "places").random((count, self.inputs))
            places = torch.from_numpy(drawn).argsort(-1).unsqueeze(0)
        rows[..., 0] = torch.where(places < self.relevant, 1.0, -1.0)
        rows[..., 1] = 1.0
        return rows.to(self.dtype).transpose(-1, -2)  # t x p, kept word by word in memory

    def _drawn(self, samples: int, tests: int, seed: int) -> tuple[Examples, Examples]:
        """Each part has a generator of its own: a larger sample begins with the smaller one."""
        teacher = self.teacher(seed)
        x, x_test = self.draw(samples, seed, "sample"), self.draw(tests, seed, "test")
        noise = torch.from_numpy(numpy_generator(seed, "noise").standard_normal((1, samples))).to(self.dtype)
        with torch.no_grad():
            return (
                Examples(x, teacher(x).squeeze(-1) + self.noise * noise),
                Examples(x_test, teacher(x_test).squeeze(-1)),
            )

    def _features_teacher(self, seed: int) -> TwoLayer:
        weigh = self.weigh()
        teacher = TwoLayer(
            self.inputs, self.hidden, weigh=weigh, tau0=self.tau0, seeds=range(seed, seed + 1), dtype=self.dtype,
            purpose="teacher",
        )  # fmt: skip
        with torch.no_grad():  # what enters the hidden units has a spread of 1, whatever f leaves of the input
            size = teacher.features(self.draw(MEASURED, seed, "scale")).pow(2).sum(-1).mean().sqrt()
            teacher.w1 *= sqrt(self.inputs) / size
        return teacher

    def _words_teacher(self, seed: int) -> SelfAttention:
        p, d_v = self.inputs, self.value_size
        teacher = SelfAttention(
            p, self.size, 1, d_v, self.hidden, layers=self.layers, tau0=self.tau0, seeds=range(seed, seed + 1),
            dtype=self.dtype, purpose="teacher",
        )  # fmt: skip
        generator = torch_generator(seed, "values")
        parameters = dict(teacher.named_parameters())
        with torch.no_grad():
            for layer in range(self.layers):
                last = layer == self.layers - 1
                query, key, value = (parameters[f"{name}_{layer}"].zero_() for name in ("query", "key", "value"))
                query[0, 0, 1 if last else 0] = FOCUS  # the last: from every word; before: from words of the same kind
                key[0, 0, 0] = 1.0
                if not last:
                    value[0, 0, 0] = value[0, 1, 1] = 1.0  # the kind and the 1 are handed on
                first = 0 if last else 2
                contents = value[0, first:, 2:]
                drawn = torch.randn(max(contents.shape), max(contents.shape), generator=generator, dtype=torch.float64)
                rotation = torch.linalg.qr(drawn)[0].to(self.dtype)[: contents.shape[0], : contents.shape[1]]
                contents.copy_(rotation * (sqrt(self.relevant) if layer == 0 else 1.0))  # a mean of s0 has spread 1
            block = torch.randn(d_v, self.hidden, generator=generator, dtype=torch.float64).to(self.dtype) / sqrt(d_v)
            teacher.w1.copy_((block / p).repeat(p, 1))  # the mean of all words' values, which are alike
        return teacher

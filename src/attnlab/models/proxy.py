"""The bag-of-words proxy (P3 2.3): predict the output's words from the mean of the input's embeddings.

    p = softmax( 1/L sum_l W e_{x_l} )          theta_{i,o} = softmax(W e_i)_o          beta_px_{t,l} = theta_{x_l, y_t}

It is what training under uniform attention comes down to if hidden states are local.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, get_args

import torch
from torch import Tensor, nn
from torch.nn import functional

from attnlab.errors import UsageError
from attnlab.models.classifier import log_probabilities
from attnlab.models.initial import check_sizes, embedding, uniform
from attnlab.models.products import linear
from attnlab.seeds import torch_generator

Optimiser = Literal["sgd", "adam"]
_CHUNK = 16_000_000
"""Most numbers held at once where a table row is made for many words."""


@dataclass(frozen=True)
class Bags:
    """Ragged bags of words: ``words (tokens,)`` and ``offsets (bags + 1,)``. A bag may be empty."""

    words: Tensor
    offsets: Tensor

    def __post_init__(self) -> None:
        fits = len(self.offsets) and self.offsets[0] == 0 and self.offsets[-1] == len(self.words)
        if not fits or bool((self.offsets.diff() < 0).any()):
            raise UsageError(f"The offsets of bags must rise from 0 to the number of words, {len(self.words)}.")

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def bag(self) -> Tensor:
        """Which bag each word is in: (tokens,)."""
        return torch.repeat_interleave(torch.arange(len(self)), self.offsets.diff())


class Proxy(nn.Module):
    """Embeddings ``e (inputs, size)`` and output weights ``W (outputs, size)``, each row from N(0, I/size) (P3 4.1)."""

    def __init__(
        self, inputs: int, outputs: int, size: int, *, seed: int = 0, dtype: torch.dtype | None = None
    ) -> None:
        super().__init__()
        check_sizes("The proxy", inputs=inputs, outputs=outputs, size=size)

        def drawn(rows: int, name: str) -> nn.Parameter:
            start = torch.empty(rows, size, dtype=dtype)
            return nn.Parameter(start.normal_(0, size**-0.5, generator=torch_generator(seed, "proxy", size, name)))

        self.embedding = drawn(inputs, "embedding")
        self.weight = drawn(outputs, "weight")

    def forward(self, source: Bags) -> Tensor:
        """Log-probabilities (bags, outputs) of the words that go with each bag."""
        mean = functional.embedding_bag(
            source.words, self.embedding, source.offsets, mode="mean", include_last_offset=True
        )
        return torch.log_softmax(mean @ self.weight.T, 1)

    def loss(self, source: Bags, target: Bags) -> Tensor:
        """L of P3 4.1: minus the log-probability of every output word, summed over all words of all bags."""
        if len(source) != len(target):
            raise UsageError(f"Every input bag needs its output bag: there are {len(source)} and {len(target)}.")
        log_probabilities: Tensor = self(source)
        return -log_probabilities[target.bag, target.words].sum()

    def theta(self) -> Tensor:
        """theta (inputs, outputs): the probability that an input word gives each output word."""
        return torch.softmax(self.embedding @ self.weight.T, 1)

    @torch.no_grad()
    def beta(self, inputs: Tensor, outputs: Tensor) -> Tensor:
        """beta_px (n,) of pairs of an input word and an output word, without the whole table theta."""
        rows, where = torch.unique(inputs, return_inverse=True)
        values = torch.empty(len(inputs), dtype=self.embedding.dtype)
        order = where.argsort(stable=True)
        ends = torch.bincount(where, minlength=len(rows)).cumsum(0)
        step = max(1, _CHUNK // len(self.weight))
        for first in range(0, len(rows), step):
            table = torch.softmax(self.embedding[rows[first : first + step]] @ self.weight.T, 1)
            pairs = order[int(ends[first - 1]) if first else 0 : int(ends[min(first + step, len(rows)) - 1])]
            values[pairs] = table[where[pairs] - first, outputs[pairs]]
        return values


class TextProxy(nn.Module):
    """The proxy of labelled texts: p = sigmoid(1/L sum_l w^T e_{x_l}) for two classes, softmax with K rows w for more.

    Starting values as in ``nn.Embedding`` and ``nn.Linear``, without a bias. ``size`` is P3's 256.
    """

    def __init__(self, words: int, classes: int = 2, size: int = 256, *, seed: int = 0) -> None:
        super().__init__()
        check_sizes("The proxy", words=words, size=size)
        check_sizes("The proxy", least=2, classes=classes)
        generator = torch_generator(seed, "text proxy")
        self.embedding = embedding(words, size, generator=generator)
        self.weight = uniform(1 if classes == 2 else classes, size, bound=size**-0.5, generator=generator)

    def forward(self, words: Tensor, offsets: Tensor) -> Tensor:
        """Log-probabilities (texts, classes) of ragged texts: ``words`` (tokens,), ``offsets`` (texts + 1,)."""
        mean = functional.embedding_bag(words, self.embedding, offsets, mode="mean", include_last_offset=True)
        return log_probabilities(linear(mean, self.weight))

    @torch.no_grad()
    def text_scores(self, words: Tensor, offsets: Tensor) -> Tensor:
        """The logits (texts, 1 or classes), summed from the words' own, which are far smaller than embeddings."""
        return functional.embedding_bag(words, self.word_scores(), offsets, mode="mean", include_last_offset=True)

    def word_scores(self) -> Tensor:
        """w^T e_i (words, 1 or classes): what a word adds to a text's logit, and beta_px's log-odds where it is 1."""
        return self.embedding @ self.weight.T


def train(
    model: Proxy, source: Bags, target: Bags, *, optimiser: Optimiser, rate: float, steps: int
) -> Iterator[tuple[int, float]]:
    """Full-batch descent on the loss for each output word; gives (step, loss) before the first update and after each.

    ``sgd`` with a small rate follows the gradient flow: a step is ``rate`` / (output words) of its time tau.
    """
    if optimiser not in get_args(Optimiser):
        raise UsageError(f"There is no optimiser {optimiser!r}; there are {', '.join(get_args(Optimiser))}.")
    if not len(target.words):
        raise UsageError("The proxy needs at least one output word to learn from.")
    made = torch.optim.Adam if optimiser == "adam" else torch.optim.SGD
    updates = made(model.parameters(), lr=rate)
    for step in range(steps + 1):
        updates.zero_grad()
        loss = model.loss(source, target) / len(target.words)
        yield step, float(loss.detach())
        if step < steps:
            loss.backward()  # type: ignore[no-untyped-call]
            updates.step()

"""The networks and batches that are timed: ours, and the same on PyTorch's packed recurrences."""

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from attnlab.families.copying.task import CopyingTask, Permutations
from attnlab.models.attention import padding
from attnlab.models.initial import embedding, linear
from attnlab.models.recurrent import Recurrent, RecurrentOutput, RecurrentState
from attnlab.models.seq2seq import Seq2Seq
from attnlab.seeds import numpy_generator, torch_generator


@dataclass(frozen=True)
class Training:
    """A network, the loss of its batch and its optimiser."""

    network: nn.Module
    loss: Callable[[nn.Module], Tensor]
    optimiser: torch.optim.Optimizer

    @staticmethod
    def of(network: nn.Module, loss: Callable[[nn.Module], Tensor]) -> "Training":
        """Adam as in the papers, in its fastest form."""
        return Training(network, loss, torch.optim.Adam(network.parameters(), lr=1e-3, fused=True))

    def on_library(self) -> "Training":
        """The same with every recurrence replaced by PyTorch's, same weights."""
        network = deepcopy(self.network)
        for name, part in list(network.named_children()):
            if isinstance(part, Recurrent):
                setattr(network, name, PackedLibrary(part))
        return Training.of(network, self.loss)

    def step(self) -> Tensor:
        """One training step; its loss. The gradients stay where they are until the next."""
        self.optimiser.zero_grad()
        loss = self.loss(self.network)
        loss.backward()
        self.optimiser.step()
        return loss.detach()


class PackedLibrary(nn.Module):
    """`Recurrent` as one writes it with PyTorch: embed, pack, `nn.LSTM` or `nn.GRU`, unpack."""

    def __init__(self, ours: Recurrent) -> None:
        super().__init__()
        kind = nn.LSTM if ours.cell == "lstm" else nn.GRU
        self.library = kind(
            ours.input_size, ours.hidden_size, ours.layers, bidirectional=ours.directions == 2, batch_first=True
        )
        self.library.load_state_dict(ours.state_dict(), strict=True)

    def forward(
        self,
        inputs: Tensor,
        lengths: Tensor | None = None,
        *,
        embedding: Tensor | None = None,
        initial: RecurrentState | None = None,
        generator: torch.Generator | None = None,  # noqa: ARG002 there is no dropout here
        gates: Tensor | None = None,  # noqa: ARG002 nor anything that is multiplied
    ) -> RecurrentOutput:
        """As `Recurrent`."""
        batch, length = inputs.shape[:2]
        vectors = inputs if embedding is None else functional.embedding(inputs, embedding)
        lengths = torch.full((batch,), length) if lengths is None else lengths
        start = None
        if initial is not None:
            start = initial.hidden if initial.cell is None else (initial.hidden, initial.cell)
        packed = pack_padded_sequence(vectors, lengths, batch_first=True, enforce_sorted=False)
        states, final = self.library(packed, start)
        padded, _ = pad_packed_sequence(states, batch_first=True, total_length=length)
        hidden, cell = final if isinstance(final, tuple) else (final, None)
        return RecurrentOutput(padded, RecurrentState(hidden, cell))


class Classifier(nn.Module):
    """The classifier of P3 2.4: bidirectional LSTM, attention by a small network, a linear read-out.

    alpha = softmax_l(w2 ReLU(W1 h_l)), logit = w (sum_l alpha_l h_l) + b.
    """

    def __init__(self, words: int, *, size: int = 300, hidden: int = 256, seed: int = 0) -> None:
        super().__init__()
        generator = torch_generator(seed, "classifier")
        self.embedding = embedding(words, size, generator=generator)
        self.encoder = Recurrent("lstm", size, hidden, bidirectional=True, generator=generator)
        self.score = nn.Sequential(
            linear(2 * hidden, hidden, generator=generator), nn.ReLU(), linear(hidden, 1, generator=generator)
        )
        self.output = linear(2 * hidden, 1, generator=generator)

    def forward(self, texts: Tensor, lengths: Tensor) -> Tensor:
        """Logits (batch,) of ``texts`` (batch, length)."""
        h = self.encoder(texts, lengths, embedding=self.embedding).states  # (batch, length, 2 * hidden)
        inside = ~padding(lengths, texts.shape[1])
        scores = h.new_full(texts.shape, float("-inf")).index_put((inside,), self.score(h[inside]).squeeze(-1))
        context = torch.bmm(scores.softmax(1).unsqueeze(1), h).squeeze(1)
        return self.output(context).squeeze(-1)


def copying() -> Training:
    """Copying permutations of 40: length 41, vocabulary 42, batch 128, hidden 256."""
    batch = CopyingTask(Permutations(40)).batch(128, numpy_generator(0, "benchmark"))

    def loss(network: nn.Module) -> Tensor:
        log_probabilities = network(batch.source, batch.previous).log_probabilities
        return functional.nll_loss(log_probabilities.flatten(0, 1), batch.target.flatten())

    return Training.of(Seq2Seq(42, 42, hidden=256, seed=0), loss)


def copying_operations(batch: int = 128, length: int = 41, hidden: int = 256, words: int = 42) -> int:
    """Floating-point operations of all matrix products in a copying step, after the token table.

    Each product has two of the same size in the backward pass. The encoder's first step needs none: it starts from 0.
    """
    positions = batch * length
    recurrences = (batch * (length - 1) + positions) * hidden * 4 * hidden
    attention = positions * hidden * hidden + 2 * positions * length * hidden  # s_t^T W, its product with h_l, c_t
    readout = positions * 2 * hidden * hidden + positions * hidden * words
    return 3 * 2 * (recurrences + attention + readout)


def classifying(lengths: Tensor, words: int) -> Training:
    """A classifier on texts of these ``lengths``, words as frequent as in a language (Zipf)."""
    generator = torch_generator(0, "texts")
    frequency = 1 / (torch.arange(words) + 2.7)
    texts = torch.multinomial(frequency, len(lengths) * int(lengths.max()), replacement=True, generator=generator)
    texts = texts.view(len(lengths), -1)
    labels = (torch.arange(len(lengths)) % 2).float()

    def loss(network: nn.Module) -> Tensor:
        return functional.binary_cross_entropy_with_logits(network(texts, lengths), labels)

    return Training.of(Classifier(words), loss)


def sms_lengths(batch: int = 32) -> Tensor:
    """Lengths from 5 to 80."""
    return torch.randint(5, 81, (batch,), generator=torch_generator(0, "sms"))


def imdb_lengths(batch: int = 32, *, longest: int = 1000) -> Tensor:
    """Lengths as IMDB's: log-normal, mean about 297, from 10 to 1000, the longest among them; scaled to ``longest``."""
    drawn = torch.empty(batch).normal_(generator=torch_generator(10, "imdb"))
    lengths = (5.38 + 0.75 * drawn).exp().clamp(10, 1000)
    lengths[0] = 1000
    return (lengths * longest / 1000).ceil().long()

"""The translator of P3 A.8: a bidirectional encoder, a decoder, attention between them, and its lexical probe (P3 2.2).

    h_l    bidirectional LSTM of two layers over the input,    d_t    LSTM of two layers over the output words before t
    alpha_t = softmax_l( (A d_t + a)^T h_l )                   c_t = P sum_l alpha_{t,l} h_l + q
    p_t = softmax( W2 ReLU( W1 [c_t, d_t] + b1 ) + b2 )

The decoder does not read c_t (there is no input feeding). So with the right words before it, all d_t come first, then
all attention and all outputs at once.
"""

from dataclasses import dataclass
from functools import partial
from typing import Literal, get_args

import torch
from torch import Tensor, nn
from torch.nn import functional

from attnlab.errors import UsageError
from attnlab.models.attention import AttentionMode, padding
from attnlab.models.initial import check_sizes, embedding, linear
from attnlab.models.products import WideLinear
from attnlab.models.readout import Readout
from attnlab.models.recurrent import Draws, Recurrent, RecurrentState
from attnlab.models.seq2seq import Prediction
from attnlab.models.word_loss import word_loss
from attnlab.seeds import torch_generator

TranslatorReadout = Literal["relu", "linear", "context"]
Start = Literal["mean", "last"]


@dataclass(frozen=True)
class Encoded:
    """``states`` h_l: (batch, source, 2 * hidden), 0 after an input's end. ``start``: the decoder's first state.

    ``lengths``: (batch,) of the inputs, None where all are full.
    """

    states: Tensor
    start: RecurrentState
    lengths: Tensor | None


class Translator(nn.Module):
    """Reads input words and the output words so far, predicts the next.

    ``projected`` and ``score_bias``: the context goes through P and q, and the score has the bias a, as released; the
    text's equations have neither. ``start``: the decoder starts from the ``mean`` of the encoder directions' final
    states (released), or from the ``last`` one, h_L (text). h_L is twice as wide as the decoder: its forward half is
    taken, which has read the whole input (the other half has read x_L alone), hidden and cell state of each layer.
    ``readout``: ``relu`` as above; ``linear``: softmax(W (c_t + d_t)) (P3 A.1), which needs the projection;
    ``context``: softmax(W c_t), in which what positions say adds up exactly (slides). ``dropout`` acts between the
    layers of encoder and decoder. All starting values follow from ``seed``, attention's from a stream of its own.

    >>> network = Translator(100, hidden=8, seed=1)
    >>> source, previous = torch.tensor([[2, 7, 9, 3], [2, 5, 3, 0]]), torch.tensor([[2, 8, 8], [2, 4, 0]])
    >>> lengths = {"source_lengths": torch.tensor([4, 3]), "target_lengths": torch.tensor([3, 2])}
    >>> seen = network(source, previous, targets=torch.tensor([[8, 8, 3], [4, 3, 0]]), **lengths)
    >>> seen.log_probabilities.shape, seen.alpha.shape, seen.lexical.shape
    (torch.Size([2, 3, 100]), torch.Size([2, 3, 4]), torch.Size([2, 3, 4]))
    """

    def __init__(
        self,
        words: int,
        *,
        hidden: int = 256,
        layers: int = 2,
        dropout: float = 0.5,
        readout: TranslatorReadout = "relu",
        attention: AttentionMode = "learned",
        projected: bool = True,
        score_bias: bool = True,
        start: Start = "mean",
        seed: int = 0,
    ) -> None:
        super().__init__()
        check_sizes("A translator", words=words, hidden=hidden, layers=layers)
        for name, value, known in (
            ("readout", readout, TranslatorReadout),
            ("attention", attention, AttentionMode),
            ("start", start, Start),
        ):
            if value not in get_args(known):
                raise UsageError(f"There is no {name} {value!r}; there are {', '.join(get_args(known))}.")
        body, head = torch_generator(seed, "body"), torch_generator(seed, "attention")
        self.words, self.mode, self.start = words, attention, start
        self.embedding = embedding(words, hidden, generator=body)
        # Batches of 16 sentences are narrow.
        recurrent = partial(
            Recurrent, "lstm", hidden, hidden, layers=layers, dropout=dropout, narrow=True, generator=body
        )
        self.encoder, self.decoder = recurrent(bidirectional=True), recurrent()
        self.query = linear(hidden, 2 * hidden, bias=score_bias, generator=head, kind=WideLinear)
        self.projection = linear(2 * hidden, hidden, generator=body, kind=WideLinear) if projected else None
        size = hidden if projected else 2 * hidden
        self.readout = Readout(readout, size, hidden, words, hidden=hidden, generator=body)

    def forward(
        self,
        source: Tensor,
        previous: Tensor,
        *,
        source_lengths: Tensor | None = None,
        target_lengths: Tensor | None = None,
        targets: Tensor | None = None,
        given: Tensor | None = None,
        generator: Draws | None = None,
        gates: Tensor | None = None,
    ) -> Prediction:
        """Read ``source`` (batch, source) and ``previous`` (batch, target), the output words before each t.

        As `attnlab.models.seq2seq.Seq2Seq`: with the right words ``targets`` (batch, target) the lexical probe is
        worked out; ``given``: attention (batch, target, source) where the mode is given; ``generator`` draws dropout;
        ``gates`` (batch, source): what every input word's embedding is multiplied by.
        """
        encoded, d = self._read(source, previous, source_lengths, target_lengths, generator, gates)
        alpha = self.attend(self.query(d), encoded, given)
        logits = self.readout(self.project(torch.bmm(alpha, encoded.states)), d)
        lexical = None
        if targets is not None:
            lexical = self.readout.pairs(self.project(encoded.states), d, targets)
            if source_lengths is not None:
                lexical = lexical.masked_fill(padding(source_lengths, source.shape[1])[:, None, :], float("-inf"))
        return Prediction(logits.log_softmax(-1), alpha.unsqueeze(1), lexical)

    def loss(
        self,
        source: Tensor,
        previous: Tensor,
        targets: Tensor,
        *,
        source_lengths: Tensor | None = None,
        target_lengths: Tensor | None = None,
        generator: Draws | None = None,
    ) -> Tensor:
        """Mean negative log-likelihood of all output words, what training goes down: the same as from `forward`.

        Padding costs nothing after the attention: only output words that are there go through the wide layers.
        """
        encoded, d = self._read(source, previous, source_lengths, target_lengths, generator, None)
        batch, target = previous.shape
        rows = there(target_lengths, target, batch)
        of_rows = d.reshape(batch * target, -1)
        of_rows = of_rows if rows is None else of_rows.index_select(0, rows)  # (rows, hidden)
        queries = self.query(of_rows)
        if rows is not None:
            queries = queries.new_zeros(batch * target, queries.shape[1]).index_copy(0, rows, queries)
        alpha = self.attend(queries.view(batch, target, -1), encoded, None)
        context = torch.bmm(alpha, encoded.states).flatten(0, 1)
        context = self.project(context if rows is None else context.index_select(0, rows))
        right = targets.flatten() if rows is None else targets.flatten().index_select(0, rows)
        output = self.readout.output
        return word_loss(self.readout.features(context, of_rows), output.weight, output.bias, right)

    def encode(
        self,
        source: Tensor,
        lengths: Tensor | None = None,
        *,
        embedding: Tensor | None = None,
        generator: Draws | None = None,
        gates: Tensor | None = None,
    ) -> Encoded:
        """The input's states and what the decoder starts from."""
        table = self.embedding if embedding is None else embedding
        read = self.encoder(source, lengths, embedding=table, generator=generator, gates=gates)
        return Encoded(read.states, self._start(read.final), lengths)

    def attend(self, queries: Tensor, encoded: Encoded, given: Tensor | None = None) -> Tensor:
        """alpha (batch, target, source) for ``queries`` A d_t + a (batch, target, 2 * hidden)."""
        states = encoded.states
        batch, target, source = len(states), queries.shape[1], states.shape[1]
        if (given is not None) != (self.mode == "given"):
            raise UsageError(f"Attention weights are handed over exactly when the mode is given; it is {self.mode}.")
        if given is not None:
            if given.shape != (batch, target, source):
                raise UsageError(f"Given attention has shape {tuple(given.shape)}, not {(batch, target, source)}.")
            return given.to(states.dtype)
        outside = None if encoded.lengths is None else padding(encoded.lengths, source)[:, None, :]
        if self.mode == "uniform":
            inside = states.new_ones(batch, 1, source)
            inside = inside if outside is None else inside.masked_fill(outside, 0)
            return (inside / inside.sum(-1, keepdim=True)).expand(batch, target, source)
        logits = torch.bmm(queries, states.transpose(1, 2))
        return (logits if outside is None else logits.masked_fill(outside, float("-inf"))).softmax(-1)

    def project(self, states: Tensor) -> Tensor:
        """The context (..., context) of an average of states, or of one state alone (..., 2 * hidden)."""
        return states if self.projection is None else self.projection(states)

    def score_parameters(self) -> list[nn.Parameter]:
        """What decides where to attend: A and a."""
        return list(self.query.parameters())

    def _read(
        self,
        source: Tensor,
        previous: Tensor,
        source_lengths: Tensor | None,
        target_lengths: Tensor | None,
        generator: Draws | None,
        gates: Tensor | None,
    ) -> tuple[Encoded, Tensor]:
        """What encoder and decoder make of a batch; d_t is (batch, target, hidden).

        The embeddings of the batch's words are fetched once for both sides: each fetching has a gradient as large as
        the whole embedding.
        """
        distinct, places = torch.unique(torch.cat([source.flatten(), previous.flatten()]), return_inverse=True)
        table = functional.embedding(distinct, self.embedding)
        source, previous = (
            part.view(side.shape)
            for part, side in zip(places.split([source.numel(), previous.numel()]), (source, previous), strict=True)
        )
        encoded = self.encode(source, source_lengths, embedding=table, generator=generator, gates=gates)
        decoded = self.decoder(previous, target_lengths, embedding=table, initial=encoded.start, generator=generator)
        return encoded, decoded.states

    def _start(self, final: RecurrentState) -> RecurrentState:
        """(layers, batch, hidden) of the encoder's (layers * 2, batch, hidden)."""
        assert final.cell is not None

        def of(state: Tensor) -> Tensor:
            directions = state.view(-1, 2, *state.shape[1:])
            return directions.mean(1) if self.start == "mean" else directions[:, 0]

        return RecurrentState(of(final.hidden), of(final.cell))


def there(lengths: Tensor | None, longest: int, batch: int) -> Tensor | None:
    """(rows,) Where the words that are there are in a batch flattened to batch * longest; None if all are."""
    if lengths is None or int(lengths.sum()) == batch * longest:
        return None
    return (~padding(lengths, longest)).flatten().nonzero().squeeze(1)

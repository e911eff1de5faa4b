"""The dot-attention sequence-to-sequence network of P3 2.1 and its lexical probe (P3 2.2)."""

import copy
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from attnlab.errors import UsageError
from attnlab.models.attention import Attention, AttentionMode, Combine, Score, padding
from attnlab.models.initial import embedding
from attnlab.models.readout import Readout, ReadoutKind
from attnlab.models.recurrent import Cell, Recurrent, RecurrentState
from attnlab.seeds import torch_generator


@dataclass(frozen=True)
class Prediction:
    """What the network says about a batch of pairs.

    ``log_probabilities`` log p_t: (batch, target, words). ``attention`` alpha^(k)_{t,l}: (batch, heads, target,
    source). ``lexical`` log beta_{t,l}: (batch, target, source), the log-probability of the right word y_t if every
    head attends to input position l alone (minus infinity after the input's end); None unless asked for.
    """

    log_probabilities: Tensor
    attention: Tensor
    lexical: Tensor | None

    @property
    def alpha(self) -> Tensor:
        """Attention averaged over heads: (batch, target, source)."""
        return self.attention.squeeze(1) if self.attention.shape[1] == 1 else self.attention.mean(1)


class Seq2Seq(nn.Module):
    """Encoder states h_l, decoder states s_t, attention alpha, context c_t, output p_t = softmax(N([c_t, s_t])).

    The decoder starts from the encoder's final state (the mean of both directions' where there are two) and reads the
    output words before t. ``shared_embedding``: one table for input and output words. ``projected_context``: every head
    projects what it attends to, to the decoder's size. All starting values follow from ``seed``: the body from one
    stream, head k from stream (``head_seeds[k]``), by default (seed, k).

    >>> network = Seq2Seq(42, 42, hidden=8, seed=1)
    >>> words = torch.arange(6).view(1, 6)
    >>> seen = network(words, words, targets=words)
    >>> seen.log_probabilities.shape, seen.attention.shape, seen.lexical.shape
    (torch.Size([1, 6, 42]), torch.Size([1, 1, 6, 6]), torch.Size([1, 6, 6]))
    """

    def __init__(
        self,
        source_words: int,
        target_words: int,
        *,
        hidden: int = 256,
        embedding_size: int | None = None,
        cell: Cell = "lstm",
        layers: int = 1,
        bidirectional: bool = False,
        dropout: float = 0.0,
        shared_embedding: bool = True,
        heads: int = 1,
        score: Score = "bilinear",
        score_bias: bool = False,
        projected_context: bool = False,
        combine: Combine = "sum",
        readout: ReadoutKind = "tanh",
        attention: AttentionMode = "learned",
        seed: int = 0,
        head_seeds: tuple[int, ...] | None = None,
    ) -> None:
        super().__init__()
        if shared_embedding and source_words != target_words:
            raise UsageError(
                f"A shared embedding needs one vocabulary: {source_words} input words, {target_words} output words."
            )
        if head_seeds is not None and len(head_seeds) != heads:
            raise UsageError(f"{heads} heads need as many seeds, not {len(head_seeds)}.")
        size = embedding_size or hidden
        body = torch_generator(seed, "body")
        head_generators = [
            torch_generator(head_seeds[k], "head") if head_seeds else torch_generator(seed, "head", k)
            for k in range(heads)
        ]
        self.directions = 2 if bidirectional else 1
        self.source_embedding = embedding(source_words, size, generator=body)
        self.target_embedding = (
            self.source_embedding if shared_embedding else embedding(target_words, size, generator=body)
        )
        self.encoder = Recurrent(
            cell, size, hidden, layers=layers, bidirectional=bidirectional, dropout=dropout, generator=body
        )
        self.decoder = Recurrent(cell, size, hidden, layers=layers, dropout=dropout, generator=body)
        self.attention = Attention(
            hidden,
            hidden * self.directions,
            heads=heads,
            score=score,
            score_bias=score_bias,
            projected=hidden if projected_context else 0,
            combine=combine,
            mode=attention,
            head_generators=head_generators,
        )
        self.readout = Readout(
            readout, self.attention.context_size, hidden, target_words, hidden=hidden, generator=body
        )

    def forward(
        self,
        source: Tensor,
        previous: Tensor,
        *,
        source_lengths: Tensor | None = None,
        target_lengths: Tensor | None = None,
        targets: Tensor | None = None,
        given: Tensor | None = None,
        generator: torch.Generator | None = None,
        gates: Tensor | None = None,
    ) -> Prediction:
        """Read ``source`` (batch, source) and ``previous`` (batch, target), the output words before each t.

        ``targets``: (batch, target) the right words y_t; with them the lexical probe is worked out. ``given``:
        attention weights, where the mode is ``given``. ``generator`` draws dropout. ``gates`` (batch, source): what
        every input word's embedding is multiplied by, see `attnlab.models.recurrent.Recurrent`.
        """
        encoded = self.encoder(
            source, source_lengths, embedding=self.source_embedding, generator=generator, gates=gates
        )
        decoded = self.decoder(
            previous,
            target_lengths,
            embedding=self.target_embedding,
            initial=self._decoder_start(encoded.final),
            generator=generator,
        )
        h, s = encoded.states, decoded.states
        attended = self.attention(s, h, source_lengths, given=given)
        logits = self.readout(attended.context, s)
        lexical = None
        if targets is not None:
            lexical = self.readout.pairs(self.attention.focused(h), s, targets)
            if source_lengths is not None:
                lexical = lexical.masked_fill(padding(source_lengths, source.shape[1])[:, None, :], float("-inf"))
        return Prediction(logits.log_softmax(-1), attended.weights, lexical)

    def _decoder_start(self, final: RecurrentState) -> RecurrentState:
        """The encoder's final state, both directions averaged: (layers, batch, hidden)."""
        if self.directions == 1:
            return final

        def averaged(state: Tensor) -> Tensor:
            layers, batch, hidden = state.shape[0] // 2, state.shape[1], state.shape[2]
            return state.view(layers, 2, batch, hidden).mean(1)

        return RecurrentState(averaged(final.hidden), None if final.cell is None else averaged(final.cell))


@torch.no_grad()
def pruned(network: Seq2Seq, k: int, *, for_all: bool) -> Seq2Seq:
    """A copy of ``network`` with head ``k`` (from 0) alone; the weights of the others are gone (P3 5.2).

    Its context is what the head contributed to the whole one, or, ``for_all``, so many times that as there were heads,
    as if all of them had been copies of this one.
    """
    heads, mean = network.attention.heads, network.attention.combine == "mean"
    if network.attention.weight is None:
        raise UsageError("Plain dot attention has no weights, so there is no head to leave alone.")
    if not 0 <= k < heads:
        raise UsageError(f"The network has {heads} heads, from 0 to {heads - 1}; there is no {k}.")
    alone = copy.deepcopy(network)
    alone.attention.heads = 1
    for name in ("weight", "projection"):
        if (of_heads := getattr(network.attention, name)) is not None:
            setattr(alone.attention, name, nn.ParameterList([nn.Parameter(of_heads[k].detach().clone())]))
    # One head's average is the head itself: it speaks for all already; one head's sum is what it contributed.
    factor = (1 if mean else heads) if for_all else (1 / heads if mean else 1)
    if factor != 1:
        if alone.readout.hidden is None:
            raise UsageError(f"Pruning needs a read-out with a hidden layer, tanh or relu, not {alone.readout.kind}.")
        alone.readout.hidden.weight[:, : alone.readout.context_size] *= factor
    return alone

"""Translations: the likeliest output words one after the other, or the likeliest output that a beam search finds."""

from collections.abc import Iterable
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from attnlab.data.bitext import PieceSide
from attnlab.data.piece_batches import marked
from attnlab.data.pieces import BEGIN, END
from attnlab.errors import UsageError
from attnlab.models.recurrent import RecurrentState
from attnlab.models.translator import Encoded, Translator

BEAM = 5
LONGEST = 100
"""Output words at most, the end mark included (P3's code)."""
AT_ONCE = 64
"""Sentences translated at once."""


class Decodes(Protocol):
    """What makes a text of pieces: `attnlab.data.pieces.Pieces`."""

    def decode(self, ids: Iterable[int]) -> str: ...


def translate(
    model: Translator,
    pieces: Decodes,
    source: PieceSide,
    *,
    beam: int = BEAM,
    longest: int = LONGEST,
    normalised: bool = False,
) -> list[str]:
    """The translation of every sentence, as text. ``beam`` 1 is greedy; the rest as `beam_search`."""
    outputs: list[list[int]] = [[] for _ in range(len(source))]
    order = np.argsort(-source.lengths, kind="stable").astype(np.int64)
    for first in range(0, len(order), AT_ONCE):
        rows = order[first : first + AT_ONCE]
        tokens, lengths = marked(source, rows, before=True, after=True)
        likeliest = beam_search(model, tokens, lengths, beam=beam, longest=longest, normalised=normalised)
        for row, output in zip(rows.tolist(), likeliest, strict=True):
            outputs[row] = output
    return [pieces.decode(output) for output in outputs]


@torch.no_grad()
def beam_search(
    model: Translator,
    source: Tensor,
    lengths: Tensor,
    *,
    beam: int = BEAM,
    longest: int = LONGEST,
    normalised: bool = False,
) -> list[list[int]]:
    """The best output found for each row of ``source`` (batch, source), without marks.

    ``beam`` hypotheses grow by a word a step. Of all their continuations the ``beam`` likeliest without an end mark
    go on; those with one that are among the ``beam`` likeliest of all are finished. A sentence ends once nothing that
    goes on is likelier than its best finished hypothesis (words only make it less likely), so with a beam that holds
    everything the likeliest output of all is found. If none finishes within ``longest`` words, the likeliest goes.
    ``normalised``: hypotheses are compared by log-probability per word, and a sentence ends once it has ``beam`` of
    them.
    """
    if beam < 1 or longest < 1:
        raise UsageError(f"A beam and the longest output are at least 1, not {beam} and {longest}.")
    training = model.training
    model.eval()
    try:
        device = model.embedding.device
        search = _Search(model, model.encode(source.to(device), lengths.to(device)), beam, normalised)
        for _ in range(longest):
            if not search.step():
                break
        return search.best()
    finally:
        model.train(training)


class _Search:
    """Sentences that are still open, each with ``beam`` hypotheses side by side.

    ``scores`` (open, beam); ``outputs`` (open, beam, words so far); the decoder's ``state`` (layers, open * beam,
    hidden); ``sentence`` (open,): which sentences these are.
    """

    def __init__(self, model: Translator, encoded: Encoded, beam: int, normalised: bool) -> None:
        self.model, self.encoded, self.beam, self.normalised = model, encoded, beam, normalised
        count, device = len(encoded.states), encoded.states.device
        self.sentence = torch.arange(count, device=device)
        self.scores = torch.full((count, beam), float("-inf"), device=device)
        self.scores[:, 0] = 0.0  # all begin alike, so one of them is enough
        self.outputs = torch.full((count, beam, 1), BEGIN, device=device)
        self.state = _chosen(encoded.start, torch.arange(count, device=device).repeat_interleave(beam))
        self.finished: list[list[tuple[float, list[int]]]] = [[] for _ in range(count)]
        self.unfinished: list[list[int]] = [[] for _ in range(count)]

    def step(self) -> bool:
        """Make every hypothesis one word longer; whether sentences are left."""
        beam = self.beam
        log_p, state = self._next_words()  # (open, beam, words)
        count, _, words = log_p.shape
        total = (log_p + self.scores[:, :, None]).flatten(1)
        # As many end marks as hypotheses may be among them: twice as many leave enough that go on.
        scores, places = total.topk(min(2 * beam, total.shape[1]), 1)
        parents, word = places // words, places % words
        ends = word == END
        self._finish(scores, parents, ends & (torch.arange(scores.shape[1], device=ends.device) < beam))
        kept = scores.masked_fill(ends, float("-inf"))
        self.scores, chosen = kept.topk(min(beam, kept.shape[1]), 1)
        if self.scores.shape[1] < beam:  # fewer words than hypotheses
            missing = beam - self.scores.shape[1]
            self.scores = torch.nn.functional.pad(self.scores, (0, missing), value=float("-inf"))
            chosen = torch.nn.functional.pad(chosen, (0, missing))
        parents, word = parents.gather(1, chosen), word.gather(1, chosen)
        before = self.outputs.gather(1, parents[:, :, None].expand(-1, -1, self.outputs.shape[2]))
        self.outputs = torch.cat([before, word[:, :, None]], 2)
        rows = (torch.arange(count, device=parents.device)[:, None] * beam + parents).flatten()
        self.state = _chosen(state, rows)
        return self._close()

    def best(self) -> list[list[int]]:
        """Each sentence's best finished output, or the likeliest that goes on if there is none; without marks."""
        for row, sentence in enumerate(self.sentence.tolist()):
            self.unfinished[sentence] = self.outputs[row, 0, 1:].tolist()
        return [
            max(done, key=lambda one: one[0])[1] if done else open_
            for done, open_ in zip(self.finished, self.unfinished, strict=True)
        ]

    def _next_words(self) -> tuple[Tensor, RecurrentState]:
        """log p of every hypothesis' next word, and the decoder's state then."""
        model, (count, beam, _) = self.model, self.outputs.shape
        last = self.outputs[:, :, -1].reshape(-1, 1)
        read = model.decoder(last, embedding=model.embedding, initial=self.state)
        d = read.states.view(count, beam, -1)  # the hypotheses of a sentence are what output words are elsewhere
        alpha = model.attend(model.query(d), self.encoded)
        logits = model.readout(model.project(torch.bmm(alpha, self.encoded.states)), d)
        return logits.log_softmax(-1), read.final

    def _finish(self, scores: Tensor, parents: Tensor, ends: Tensor) -> None:
        rows, places = ends.nonzero().unbind(1)
        words = self.outputs.shape[2]  # the start mark is one, and the end mark will be one
        values = (scores[rows, places].double() / (words if self.normalised else 1)).tolist()
        outputs = self.outputs[rows, parents[rows, places], 1:].tolist()
        for sentence, value, output in zip(self.sentence[rows].tolist(), values, outputs, strict=True):
            if value > float("-inf"):
                self.finished[sentence].append((value, output))

    def _close(self) -> bool:
        """Take sentences that have their output away; whether any are left."""
        going = []
        for sentence, score in zip(self.sentence.tolist(), self.scores[:, 0].tolist(), strict=True):
            done = self.finished[sentence]
            best = max((value for value, _ in done), default=float("-inf"))
            enough = len(done) >= self.beam if self.normalised else best >= score
            going.append(not enough and score > float("-inf"))
        if not all(going):
            left = torch.tensor(going, device=self.scores.device).nonzero().squeeze(1)
            hypotheses = (left[:, None] * self.beam + torch.arange(self.beam, device=left.device)).flatten()
            self.sentence, self.scores, self.outputs = (x[left] for x in (self.sentence, self.scores, self.outputs))
            self.state = _chosen(self.state, hypotheses)
            lengths = None if self.encoded.lengths is None else self.encoded.lengths[left]
            self.encoded = Encoded(self.encoded.states[left], self.encoded.start, lengths)
        return any(going)


def _chosen(state: RecurrentState, rows: Tensor) -> RecurrentState:
    """The states (layers, batch, hidden) of some rows of the batch."""
    assert state.cell is not None
    return RecurrentState(state.hidden.index_select(1, rows), state.cell.index_select(1, rows))

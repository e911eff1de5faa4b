"""Leave-one-out: what the right class's log-odds lose when a word is taken out (slides: Delta_l = y - y_{-l}).

    loo_l = logit p(y | x_1 ... x_L) - logit p(y | x_1 ... x_{l-1} x_{l+1} ... x_L)

A direction reads a text without word l as it reads the whole text, up to that word. So it starts from the whole text's
state there and reads only the rest, which halves the work.
"""

from collections.abc import Callable
from typing import Any, TypeAlias

import torch
from torch import Tensor, nn

from attnlab.data.batch import POSITIONS, Bags, TextBatch
from attnlab.errors import UsageError
from attnlab.fields import ScoreField
from attnlab.models.classifier import Classifier, log_odds
from attnlab.models.recurrent import Recurrent, RecurrentState
from attnlab.probes.reading import Gathered, frozen, only_texts, prepared, text_batches
from attnlab.probes.view import View, classifier_view, see
from attnlab.seeds import numpy_generator, torch_generator


def leave_one_out(model: nn.Module, texts: Bags, view: View | None = None, *, positions: int = POSITIONS) -> ScoreField:
    """loo of every position of every text; of the texts without a word about ``positions`` are read at once.

    ``view`` says how to read ``model``; our own classifier needs none, and is read faster.

    A text of one word has no rest to read. For our classifier such a word is measured against the output's bias, which
    is all that is left where there is nothing to attend to; what another model says of nothing is not known, so there
    such texts are refused.

    >>> texts = Bags(torch.tensor([1, 2, 3, 4]), torch.tensor([0, 3, 4]), torch.tensor([0, 1]))
    >>> leave_one_out(Classifier(6, embedding_size=4, hidden=3), texts).lengths.tolist()
    [3, 1]
    """
    view, gathered = prepared(model, texts, view), Gathered()
    only_texts(texts, "Leave-one-out scores")
    with frozen(model), torch.no_grad():
        if isinstance(model, Classifier) and view is classifier_view:
            without = _from_states(model, positions)
        else:
            without = _shortened(model, view, texts, positions)
        for rows, batch in text_batches(model, texts, positions):
            whole = log_odds(see(view, model, batch).log_probabilities, batch.labels)
            loo = whole.new_zeros(batch.inside.shape)
            loo[batch.inside] = whole.repeat_interleave(batch.lengths) - without(batch)
            gathered.add(loo, rows, batch)
    return gathered.field()


def sample_for_leave_one_out(texts: Bags, count: int = 400, longest: int = 400, seed: int = 0) -> Tensor:
    """The rows of ``count`` texts of at most ``longest`` words, or of all such texts if there are fewer, in order."""
    fitting = (texts.lengths <= longest).nonzero().squeeze(1)
    drawn = numpy_generator(seed, "leave one out").permutation(len(fitting))[:count]
    return fitting[torch.from_numpy(drawn).sort().values]


Without: TypeAlias = Callable[[TextBatch], Tensor]
"""The right class's log-odds without each word of a batch's texts, text after text: (positions that are there,)."""


class _Direction:
    """One direction of the encoder by itself. States are in the order in which it reads: (words + 1, ..., hidden), the
    state before each word and that after the last.
    """

    def __init__(self, model: Classifier, number: int) -> None:
        encoder = model.encoder
        self.reverse, self.embedding = number == 1, model.embedding
        generator = torch_generator(0)  # its numbers are overwritten at once
        self.network = Recurrent(encoder.cell, encoder.input_size, encoder.hidden_size, generator=generator)
        weights = {k: v for k, v in encoder.state_dict().items() if k.endswith("_reverse") == self.reverse}
        self.network.to(model.embedding.dtype)
        self.network.load_state_dict({name.removesuffix("_reverse"): value for name, value in weights.items()})

    def read(self, batch: TextBatch) -> RecurrentState:
        """The states (source + 1, batch, hidden) of whole texts, the longest ones first."""
        (texts, source), lengths = batch.tokens.shape, batch.lengths
        tokens = batch.tokens
        if self.reverse:
            tokens = tokens.gather(1, (lengths[:, None] - 1 - torch.arange(source)).clamp(min=0))
        hidden = self.embedding.new_zeros(source + 1, texts, self.network.hidden_size)
        states = RecurrentState(hidden, torch.zeros_like(hidden) if self.network.cell == "lstm" else None)
        for t in range(source):
            here, still = slice(t, t + 1), slice(int((lengths > t).sum()))
            before = _part(states, (here, still))
            after = self.network(tokens[still, here], embedding=self.embedding, initial=before).final
            for place, state in ((states.hidden, after.hidden), (states.cell, after.cell)):
                if place is not None:
                    place[t + 1, still] = state[0]
        return states

    def without(self, words: Tensor, left_out: Tensor, states: RecurrentState) -> Tensor:
        """States (variants, length - 1, hidden), in the text's order, of the text ``words`` (length,) without each of
        its positions ``left_out`` (variants,). ``states`` (length + 1, hidden): those of the whole text.
        """
        last = len(words) - 1
        if self.reverse:
            words, left_out = words.flip(0), last - left_out
        hidden = states.hidden[1:-1].repeat(len(left_out), 1, 1)  # right up to the word that is missing
        again = left_out[left_out < last]
        if len(again):
            start = _part(states, again[None])
            steps = torch.arange(last - int(again.min()))
            rest = words[(again[:, None] + 1 + steps).clamp(max=last)]
            read = self.network(rest, last - again, embedding=self.embedding, initial=start).states
            hidden[torch.arange(last) >= left_out[:, None]] = read[steps < (last - again)[:, None]]
        return hidden.flip(1) if self.reverse else hidden


def _part(states: RecurrentState, index: Any) -> RecurrentState:
    return RecurrentState(states.hidden[index], None if states.cell is None else states.cell[index])


def _from_states(model: Classifier, positions: int) -> Without:
    """For our classifier: from the states that it made of the whole text."""
    directions = [_Direction(model, number) for number in range(model.encoder.directions)]

    def without(batch: TextBatch) -> Tensor:
        states = [direction.read(batch) for direction in directions]
        parts = []
        for k, length in enumerate(batch.lengths.tolist()):
            words, label = batch.tokens[k, :length], batch.labels[k]
            if length == 1:
                parts.append(log_odds(model.output.bias[None], label[None]))
                continue
            of_text = [_part(state, (slice(length + 1), k)) for state in states]
            for left_out in torch.split(torch.arange(length), max(1, positions // length)):
                pairs = zip(directions, of_text, strict=True)
                h = torch.cat([direction.without(words, left_out, whole) for direction, whole in pairs], 2)
                log_probabilities = model.attend(h, torch.full((len(h),), length - 1)).log_probabilities
                parts.append(log_odds(log_probabilities, label.expand(len(h))))
        return torch.cat(parts)

    return without


def _shortened(model: nn.Module, view: View, texts: Bags, positions: int) -> Without:
    """For any model: every text is read again without each of its words."""
    if int(texts.lengths.min()) == 1:
        raise UsageError(
            f"Text {int(texts.lengths.argmin())} has one word, and without it there is nothing for the model to read; "
            "leave out texts of one word."
        )

    def without(batch: TextBatch) -> Tensor:
        parts = []
        for k, length in enumerate(batch.lengths.tolist()):
            kept = torch.arange(length - 1, device=batch.tokens.device)
            for left_out in torch.split(torch.arange(length, device=batch.tokens.device), max(1, positions // length)):
                at = kept + (kept >= left_out[:, None])  # (variants, length - 1): one position is skipped
                labels = batch.labels[k].expand(len(at))
                lengths = torch.full_like(labels, length - 1)
                shorter = TextBatch(batch.rows[k].expand(len(at)), batch.tokens[k][at], lengths, labels)
                parts.append(log_odds(see(view, model, shorter).log_probabilities, labels))
        return torch.cat(parts)

    return without

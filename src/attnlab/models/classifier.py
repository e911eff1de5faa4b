"""The attention classifier of P3 2.4: a text in, a class out, with the lexical probe of every position."""

from dataclasses import dataclass
from typing import Literal, get_args

import torch
from torch import Tensor, nn
from torch.nn import functional

from attnlab.errors import UsageError
from attnlab.models.attention import padding
from attnlab.models.initial import embedding, linear
from attnlab.models.products import WideLinear
from attnlab.models.recurrent import Cell, Recurrent
from attnlab.seeds import torch_generator

TextScore = Literal["mlp", "linear"]
TextAttention = Literal["learned", "uniform"]


@dataclass(frozen=True)
class Classified:
    """What the network says about a batch of texts.

    ``log_probabilities``: (batch, classes). ``alpha``: (batch, source) attention, 0 after a text's end. ``gamma``:
    (batch, source) the right class's log-odds if the network attended to that position alone, log(beta / (1 - beta)),
    minus infinity after a text's end; None unless labels were given.
    """

    log_probabilities: Tensor
    alpha: Tensor
    gamma: Tensor | None


class Classifier(nn.Module):
    """States h_l of an LSTM over the text, alpha = softmax(a), p = softmax(W sum_l alpha_l h_l + b).

    ``score``: ``mlp`` is P3's a_l = v^T ReLU(Q h_l), ``linear`` the blog's a_l = v^T h_l; both with biases, as
    released. Two classes have one logit and p_pos = sigmoid(W^T sum_l alpha_l h_l + b); K > 2 classes have K. The
    embedding starts from standard normal numbers, as the released code's really does, or where ``vectors`` has them
    from word vectors: (ids of the words, their vectors). All starting values follow from ``seed``, attention's from a
    stream of its own.

    >>> network = Classifier(100, embedding_size=6, hidden=4, seed=1)
    >>> seen = network(torch.tensor([[1, 2, 3], [4, 5, 0]]), torch.tensor([3, 2]), labels=torch.tensor([0, 1]))
    >>> seen.log_probabilities.shape, seen.alpha.shape, seen.gamma.shape
    (torch.Size([2, 2]), torch.Size([2, 3]), torch.Size([2, 3]))
    """

    def __init__(
        self,
        words: int,
        classes: int = 2,
        *,
        embedding_size: int = 300,
        hidden: int = 256,
        cell: Cell = "lstm",
        score: TextScore = "mlp",
        bidirectional: bool = True,
        attention: TextAttention = "learned",
        vectors: tuple[Tensor, Tensor] | None = None,
        seed: int = 0,
    ) -> None:
        super().__init__()
        if classes < 2:
            raise UsageError(f"A classifier needs at least 2 classes, not {classes}.")
        if words < 1:
            raise UsageError(f"A classifier needs at least 1 word, not {words}.")
        for name, value, known in (("score", score, TextScore), ("attention", attention, TextAttention)):
            if value not in get_args(known):
                raise UsageError(f"There is no {name} {value!r}; there are {' and '.join(get_args(known))}.")
        body, head = torch_generator(seed, "body"), torch_generator(seed, "attention")
        size = 2 * hidden if bidirectional else hidden
        self.classes, self.mode = classes, attention
        self.embedding = embedding(words, embedding_size, generator=body)
        self.encoder = Recurrent(cell, embedding_size, hidden, bidirectional=bidirectional, generator=body)
        self.output = linear(size, 1 if classes == 2 else classes, generator=body)
        layers: list[nn.Module] = []
        if score == "mlp":
            layers += [linear(size, hidden, generator=head, kind=WideLinear), nn.ReLU()]
        self.score = nn.Sequential(*layers, linear(hidden if layers else size, 1, generator=head))
        if vectors is not None:
            self._take(*vectors)

    def forward(
        self, tokens: Tensor, lengths: Tensor, *, labels: Tensor | None = None, gates: Tensor | None = None
    ) -> Classified:
        """Read ``tokens`` (batch, source), of each row the first ``lengths`` (batch,).

        ``labels`` (batch,): the right classes y; with them the lexical probe is worked out. ``gates`` (batch, source):
        what every word's embedding is multiplied by, see `attnlab.models.recurrent.Recurrent`.
        """
        h = self.encoder(tokens, lengths, embedding=self.embedding, gates=gates).states  # (batch, source, size)
        return self.attend(h, lengths, labels=labels)

    def attend(self, h: Tensor, lengths: Tensor, *, labels: Tensor | None = None) -> Classified:
        """What follows from the states ``h`` (batch, source, size) that the LSTM has made of the texts."""
        outside = padding(lengths, h.shape[1])
        alpha = self._attention(h, outside)
        context = torch.bmm(alpha.unsqueeze(1), h).squeeze(1)
        gamma = None
        if labels is not None:
            logits = self.output(h)
            gamma = log_odds(logits, labels[:, None].expand(outside.shape)).masked_fill(outside, float("-inf"))
        return Classified(log_probabilities(self.output(context)), alpha, gamma)

    def score_parameters(self) -> list[nn.Parameter]:
        """What decides where to attend: Q and v."""
        return list(self.score.parameters())

    def _attention(self, h: Tensor, outside: Tensor) -> Tensor:
        """alpha (batch, source)."""
        if self.mode == "uniform":
            inside = (~outside).to(h.dtype)
            return inside / inside.sum(1, keepdim=True)
        # Only positions that are there are scored: in a batch of texts of different lengths most are not.
        there = (~outside).flatten().nonzero().squeeze(1)
        scored = self.score(h.flatten(0, 1).index_select(0, there)).squeeze(1)
        a = h.new_full((outside.numel(),), float("-inf")).index_copy(0, there, scored)
        return a.view(outside.shape).softmax(1)

    def _take(self, ids: Tensor, vectors: Tensor) -> None:
        """Start the embeddings of these words from these vectors."""
        words, size = self.embedding.shape
        if vectors.shape != (len(ids), size):
            raise UsageError(
                f"The word vectors are {tuple(vectors.shape)}; ({len(ids)}, {size}) is right for {len(ids)} words and "
                f"an embedding_size of {size}."
            )
        if len(ids) and not 0 <= int(ids.min()) <= int(ids.max()) < words:
            wrong = int(ids.max() if int(ids.min()) >= 0 else ids.min())
            raise UsageError(f"Word vectors are for words 0 to {words - 1}; there is one for word {wrong}.")
        with torch.no_grad():
            self.embedding[ids] = vectors.to(self.embedding.dtype)


def log_probabilities(logits: Tensor) -> Tensor:
    """(..., classes) from the logits (..., 1) of two classes or (..., classes) of more."""
    if logits.shape[-1] == 1:
        return functional.logsigmoid(torch.cat([-logits, logits], -1))
    return logits.log_softmax(-1)


def log_odds(logits: Tensor, labels: Tensor) -> Tensor:
    """log(p_y / (1 - p_y)) of the right class y: (...,) from logits (..., 1 or classes) and labels (...,).

    For two classes that is (2y - 1) times the logit. It orders positions as the probability does, and unlike it has no
    largest value that numbers run into.
    """
    if logits.shape[-1] == 1:
        return logits.squeeze(-1) * (2 * labels - 1)
    right = labels.unsqueeze(-1)
    others = logits.scatter(-1, right, float("-inf")).logsumexp(-1)
    return logits.gather(-1, right).squeeze(-1) - others

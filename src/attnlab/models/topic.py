"""The attention classifier of P1 3: every word has an embedding and a key, one global query looks for the topic word.

    s_w = q^T kappa_w                                       score of a word, the same in every sentence
    nu_bar(chi) = sum_{w in chi} nu_w e^{s_w} / Z(chi)      context vector, Z(chi) = sum_{w in chi} e^{s_w}

The attention itself is in `attnlab.models.bag_attention`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import torch
from torch import Tensor, nn
from torch.nn import functional

from attnlab.errors import UsageError
from attnlab.models.bag_attention import (
    BagAttention,
    BagIndex,
    LossWithGradients,
    attend_tokens,
    layered_bag_loss,
    weights_in_bags,
)
from attnlab.models.initial import linear
from attnlab.models.recurrent import Recurrent
from attnlab.seeds import torch_generator

ClassifierKind = Literal["fixed", "orthonormal", "linear", "layers"]
Below = Literal["nothing", "linear", "lstm"]
Start = Literal["drawn", "released"]
RELEASED_SEED = 3
"""The seed that P1's released code gives PyTorch's own generator where it builds keys, and again for embeddings."""


@dataclass(frozen=True)
class TopicPrediction:
    """``log_probabilities`` (sentences, topics) and ``context`` (sentences, d).

    When the model was asked for them: ``attention`` alpha (tokens,), each word's weight in its sentence, and
    ``lexical`` (tokens,), the logarithm of the probe beta: the probability of the sentence's own class if all
    attention were on that word.
    """

    log_probabilities: Tensor
    context: Tensor
    attention: Tensor | None = None
    lexical: Tensor | None = None


class TopicModel(nn.Module):
    """Bag-of-words attention below any classifier.

    ``classifier``: a module from context vectors (n, d) to logits (n, topics); `make_classifier` has P1's. ``below``:
    what is between the embeddings and the attention: nothing, a linear layer, or an LSTM that reads the sentence.
    Keys start at 0, embeddings at Normal(0, ``embedding_std``), the query at Normal(0, ``query_std``) in each entry.
    ``start`` = released: query and embeddings are those that the authors' code draws, whatever the ``seed``; so is
    P1's classifier if `make_classifier` is given `released_generator`'s numbers.

    >>> from attnlab.models.bag_attention import index_bags
    >>> model = TopicModel(9, make_classifier("linear", 4, 3, seed=0), size=4, seed=0)
    >>> bags = index_bags(torch.tensor([0, 5, 6, 1, 7]), torch.tensor([0, 3, 5]), 9)
    >>> model(bags).log_probabilities.shape
    torch.Size([2, 3])
    """

    def __init__(
        self,
        vocabulary: int,
        classifier: nn.Module,
        *,
        size: int = 10,
        key_size: int | None = None,
        query_std: float = 0.3,
        embedding_std: float = 1e-6,
        below: Below = "nothing",
        start: Start = "drawn",
        seed: int = 0,
    ) -> None:
        super().__init__()
        if below not in get_args(Below):
            raise UsageError(
                f"There is no layer {below!r} below the attention; there are {', '.join(get_args(Below))}."
            )
        key_size = key_size or size
        if start == "released":
            query, embedding = released_start(vocabulary, size, key_size, query_std, embedding_std)
        else:
            query = _normal(key_size, std=query_std, seed=seed, name="query")
            embedding = _normal(vocabulary, size, std=embedding_std, seed=seed, name="embedding")
        self.embedding = nn.Parameter(embedding)
        self.key = nn.Parameter(torch.zeros(vocabulary, key_size))
        self.query = nn.Parameter(query)
        self.below: nn.Linear | Recurrent | None = None
        generator = torch_generator(seed, "below")
        if below == "linear":
            self.below = linear(size, size, generator=generator)
        elif below == "lstm":
            self.below = Recurrent("lstm", size, size, generator=generator)
        self.classifier = classifier

    def scores(self) -> Tensor:
        """s_w = q^T kappa_w: (vocabulary,)."""
        return self.key @ self.query

    def values(self) -> Tensor:
        """What the attention reads of each word where that is the same everywhere: (vocabulary, d)."""
        assert not isinstance(self.below, Recurrent)
        return self.embedding if self.below is None else self.below(self.embedding)

    def forward(self, bags: BagIndex, labels: Tensor | None = None, *, attention: bool = True) -> TopicPrediction:
        """Classify ``bags``; with ``labels`` (sentences,) also attention, if wanted, and the probe of every word."""
        scores = self.scores()
        if isinstance(self.below, Recurrent):
            tokens = self._read(self.below, bags)  # (tokens, d)
            context = attend_tokens(tokens, scores, bags)
        else:
            context = BagAttention.apply(self.values(), scores, bags)  # type: ignore[no-untyped-call]
        log_probabilities = _log_softmax(self.classifier(context))
        if labels is None:
            return TopicPrediction(log_probabilities, context)
        if not isinstance(self.below, Recurrent):
            lexicon = _log_softmax(self.classifier(self.values()))  # (vocabulary, topics)
            # In 32 bits like the words: numbers of two widths would be added ten times as slowly.
            cells = bags.words * lexicon.shape[1] + labels.to(torch.int32).index_select(0, bags.sentence)
            lexical = lexicon.flatten().index_select(0, cells)
        else:
            rows = _log_softmax(self.classifier(tokens))
            lexical = rows.gather(1, labels.index_select(0, bags.sentence)[:, None]).squeeze(1)
        return TopicPrediction(
            log_probabilities, context, weights_in_bags(scores, bags) if attention else None, lexical
        )

    def mean_loss(self, bags: BagIndex, labels: Tensor, right: Tensor) -> Tensor | LossWithGradients:
        """Mean negative log-likelihood of ``labels`` (sentences,), which ``right`` is as `one_hot` has them."""
        layers = _layers_of(self.classifier) if self.below is None else None
        if layers is None:
            return mean_loss(self(bags).log_probabilities, labels)
        return layered_bag_loss(self.embedding, self.key, self.query, layers, bags, right)

    def _read(self, network: Recurrent, bags: BagIndex) -> Tensor:
        """The LSTM's state at every word: (tokens, d)."""
        lengths = bags.offsets.diff()
        inside = torch.arange(int(lengths.max()), device=lengths.device) < lengths[:, None]  # (sentences, longest)
        padded = torch.zeros(inside.shape, dtype=torch.int64, device=lengths.device)
        padded[inside] = bags.words.long()
        states: Tensor = network(padded, lengths, embedding=self.embedding).states
        return states[inside]


def released_start(
    vocabulary: int, size: int, key_size: int, query_std: float, embedding_std: float
) -> tuple[Tensor, Tensor]:
    """The query (key_size,) and embeddings (vocabulary, size) with which the authors' own runs began.

    Before the query is drawn, the tables of keys and query have been filled once, and the keys a second time; before
    the embeddings, their table once. With 5008 words and ten numbers the query's norm is 1.197.

    >>> query, _ = released_start(5008, 10, 10, 0.3, 0.1)
    >>> round(float(query.norm()), 3)
    1.197
    """
    query = torch.empty(key_size).normal_(0, query_std, generator=_before_query(vocabulary, key_size))
    words = torch.Generator().manual_seed(RELEASED_SEED)
    torch.empty(vocabulary, size).normal_(generator=words)
    return query, torch.empty(vocabulary, size).normal_(0, embedding_std, generator=words)


def released_generator(vocabulary: int, key_size: int) -> torch.Generator:
    """Where the authors' numbers stand once keys and query are drawn: their classifier comes next."""
    generator = _before_query(vocabulary, key_size)
    torch.empty(key_size).normal_(generator=generator)
    return generator


def _before_query(vocabulary: int, key_size: int) -> torch.Generator:
    generator = torch.Generator().manual_seed(RELEASED_SEED)
    for rows in (vocabulary, 1, vocabulary):
        torch.empty(rows, key_size).normal_(generator=generator)
    return generator


def _log_softmax(logits: Tensor) -> Tensor:
    """Over the classes of ``logits`` (n, classes): so few are handled faster as the outer dimension."""
    return functional.log_softmax(logits.T.contiguous(), 0).T


def one_hot(labels: Tensor, topics: int) -> Tensor:
    """The right classes (topics, n) of ``labels`` (n,) as ones and zeros."""
    return torch.zeros(topics, len(labels), device=labels.device).scatter_(0, labels[None], 1.0)


def mean_loss(log_probabilities: Tensor, labels: Tensor) -> Tensor:
    """Mean negative log-likelihood of ``labels`` (n,) under ``log_probabilities`` (n, classes)."""
    # As one example of n places, the library wants the classes outermost, which is how `_log_softmax` has them.
    return functional.nll_loss(log_probabilities.T[None], labels[None])


class Narrow(nn.Linear):
    """A linear layer (n, inputs) to (n, outputs) for many rows of few numbers: its products have rows innermost.

    That is five times as fast as ``nn.Linear`` on 4000 rows of 10 numbers. What it gives is the transpose of a
    contiguous (outputs, n), as layers above want it.
    """

    def forward(self, rows: Tensor) -> Tensor:
        products = (self.weight @ rows.transpose(0, -1)).transpose(0, -1)
        return products if self.bias is None else products + self.bias


def _layers_of(classifier: nn.Module) -> list[nn.Linear] | None:
    """The linear layers of a classifier that is one of them, or several with ReLU between; None for any other."""
    parts = list(classifier) if isinstance(classifier, nn.Sequential) else [classifier]
    layers = [part for part in parts[::2] if isinstance(part, Narrow)]
    between = [part for part in parts[1::2] if isinstance(part, nn.ReLU)]
    return [*layers] if len(layers) == len(between) + 1 and len(layers) + len(between) == len(parts) else None


def make_classifier(
    kind: ClassifierKind,
    size: int,
    topics: int,
    *,
    hidden: Sequence[int] = (10,),
    seed: int = 0,
    generator: torch.Generator | None = None,
) -> nn.Module:
    """P1's classifiers of context vectors (n, size), drawn by ``generator`` or from the ``seed``.

    ``fixed`` (Attn-FC): a linear map that is never trained, as released: standard normal entries with ones on the main
    diagonal. ``orthonormal``: fixed with orthonormal columns, the ideal case of docs/theory.md. ``linear``
    (Attn-TC): trained, without a bias. ``layers`` (Attn-TL): ReLU layers of the widths ``hidden``, then a linear one.
    """
    generator = generator or torch_generator(seed, "classifier")
    if kind == "fixed" or kind == "orthonormal":
        matrix = torch.empty(size, topics).normal_(generator=generator)
        if kind == "fixed":
            matrix.fill_diagonal_(1.0)
        elif topics > size:
            raise UsageError(
                f"{topics} orthonormal columns need an embedding of at least {topics} numbers, not {size}."
            )
        else:
            matrix = torch.linalg.qr(matrix).Q
        layer = Narrow(size, topics, bias=False, device="meta")
        layer.weight = nn.Parameter(matrix.T.contiguous(), requires_grad=False)
        return layer
    if kind == "linear":
        return linear(size, topics, bias=False, generator=generator, kind=Narrow)
    if kind != "layers":
        raise UsageError(f"There is no classifier {kind!r}; there are {', '.join(get_args(ClassifierKind))}.")
    parts: list[nn.Module] = []
    for width in hidden:
        parts += [linear(size, width, generator=generator, kind=Narrow), nn.ReLU()]
        size = width
    return nn.Sequential(*parts, linear(size, topics, generator=generator, kind=Narrow))


def _normal(*shape: int, std: float, seed: int, name: str) -> Tensor:
    return torch.empty(shape).normal_(0, std, generator=torch_generator(seed, name))

"""Attention over bags of words, where a word's score is the same in every sentence. (P1 3)

    nu_bar(chi) = sum_{w in chi} nu_w e^{s_w} / Z(chi)      context vector, Z(chi) = sum_{w in chi} e^{s_w}

Because scores belong to words, not to positions, a whole corpus is two sparse products an update: its cost is linear in
the number of words of all sentences and does not depend on how they are distributed.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import torch
from torch import Tensor, nn
from torch.nn import functional

from attnlab.errors import UsageError

NARROW = 64
"""Numbers in a row that are copied in less time than a word is looked up once more."""


@dataclass(frozen=True)
class BagIndex:
    """Sentences as lists of words, and the same turned round: words as lists of the sentences they are in.

    ``words`` (tokens,) and ``offsets`` (sentences + 1,) as in a ragged array, ``sentence`` (tokens,) where each word
    stands; ``sentences`` (tokens,) the same sorted by word, with ``word_offsets`` (vocabulary + 1,). A word that stands
    twice in a sentence is listed twice both ways. All are 32-bit: an update reads little else, and reads it twice.
    """

    words: Tensor
    offsets: Tensor
    sentence: Tensor
    sentences: Tensor
    word_offsets: Tensor


def index_bags(words: Tensor, offsets: Tensor, vocabulary: int) -> BagIndex:
    """The index of sentences given as ``words`` (tokens,) and ``offsets`` (sentences + 1,)."""
    lengths = offsets.diff()
    if not len(lengths) or int(lengths.min()) < 1:
        raise UsageError("Attention needs at least one sentence, and at least one word in each.")
    if int(words.min()) < 0 or int(words.max()) >= vocabulary:
        raise UsageError(f"Word ids lie between 0 and {vocabulary - 1}; these have {words.min()} to {words.max()}.")
    sentence = torch.repeat_interleave(torch.arange(len(lengths), device=words.device), lengths)
    order = torch.argsort(words, stable=True)
    counts = torch.bincount(words, minlength=vocabulary)
    word_offsets = torch.cat([counts.new_zeros(1), counts.cumsum(0)])
    parts = (words, offsets, sentence, sentence[order], word_offsets)
    return BagIndex(*(part.to(torch.int32) for part in parts))


def bag_sum(table: Tensor, rows: Tensor, offsets: Tensor) -> Tensor:
    """Sums of rows of ``table`` (rows, d), one for each bag: (bags, d); an empty bag gives zeros."""
    return functional.embedding_bag(rows, table, offsets, mode="sum", include_last_offset=True)


def bag_sums(table: Tensor, factor: Tensor, column: Tensor, rows: Tensor, offsets: Tensor) -> tuple[Tensor, Tensor]:
    """`bag_sum` of ``table`` (rows, d) times ``factor`` (rows, 1) and of ``column`` (rows, 1), narrow ones in one call.

    Gives (bags, d) and (bags, 1).
    """
    if table.shape[1] > NARROW:
        return bag_sum(table * factor, rows, offsets), bag_sum(column, rows, offsets)
    sums, size = bag_sum(_joined(table, factor, column), rows, offsets), table.shape[1]
    return sums[:, :size], sums[:, size : size + 1]


def _joined(table: Tensor, factor: Tensor, column: Tensor) -> Tensor:
    """``table`` (rows, d) times ``factor`` (rows, 1), ``column`` (rows, 1) after it, zeros up to ``_width``.

    The product is written where it will be: what is put together from parts would be copied once more.
    """
    size = table.shape[1]
    joined = table.new_zeros(len(table), _width(size))
    torch.mul(table, factor, out=joined[:, :size])
    joined[:, size : size + 1] = column
    return joined


def _width(size: int) -> int:
    """Columns of a table of ``size`` and one more: a multiple of 4, which products take half the time with."""
    return -(-(size + 1) // 4) * 4


class BagAttention(torch.autograd.Function):
    """Context vectors (sentences, d) from values (vocabulary, d) and scores (vocabulary,).

    With e_w = exp(s_w) and G the gradient by the context vectors, the gradient is sums over each word's sentences:

        dl/dnu_w = e_w P_w,               P_w = sum_{chi with w} G / Z
        dl/ds_w  = e_w (nu_w^T P_w - r_w), r_w = sum_{chi with w} nu_bar^T G / Z
    """

    @staticmethod
    def forward(ctx: Any, values: Tensor, scores: Tensor, bags: BagIndex) -> Tensor:
        context, weights, normaliser = _attended(values, scores, bags)
        ctx.save_for_backward(values, weights, normaliser, context)
        ctx.bags = bags
        return context

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor, None]:
        values, weights, normaliser, context = ctx.saved_tensors
        return *_gradients(gradients[0].contiguous(), values, weights, normaliser, context, ctx.bags), None


class LossWithGradients:
    """A loss together with its gradients. It is used as a tensor's is: `backward` hands them out."""

    def __init__(self, value: Tensor, gradients: Mapping[Tensor, Tensor]) -> None:
        self.value, self.gradients = value, gradients

    def detach(self) -> Tensor:
        """The loss, a scalar."""
        return self.value

    def backward(self) -> None:
        """Add its gradient to that of each parameter."""
        for parameter, gradient in self.gradients.items():
            parameter.grad = gradient if parameter.grad is None else parameter.grad + gradient


@torch.no_grad()
def layered_bag_loss(
    embedding: nn.Parameter,
    key: nn.Parameter,
    query: nn.Parameter,
    layers: Sequence[nn.Linear],
    bags: BagIndex,
    right: Tensor,
) -> LossWithGradients:
    """Mean negative log-likelihood of linear layers with ReLU between them over bag attention, there and back at once.

    With p the softmax of the last layer and y = ``right`` (topics, sentences) the right classes as ones and zeros, the
    loss pushes the last layer by (p - y) / N; that goes back through the layers, and on as in `BagAttention`. It is
    what its parts would give one after the other, without the bookkeeping between them.

    Features are the outer dimension throughout, since so few are handled faster that way, and the context vectors are
    never made: nothing but the first layer W reads them, and it commutes with the sum over a sentence. So W nu_bar is
    had by sums of embeddings where these are narrow, and by sums of what W makes of each word where they are wide.
    """
    scores = key @ query
    raised = scores.sub_(scores.max()).exp_()
    features, size = layers[0].weight.shape
    attended = _layer_before_sums if size > NARROW and size > features else _sums_before_layer
    read, inverse, back = attended(embedding, layers[0].weight, raised, bags)
    outputs = read
    inputs: list[Tensor] = []  # of the layers after the first
    for layer in layers:
        if layer is not layers[0]:
            inputs.append(outputs.relu())
            outputs = layer.weight @ inputs[-1]
        if layer.bias is not None:
            outputs = outputs + layer.bias[:, None]
    log_probabilities = functional.log_softmax(outputs, 0)  # (topics, sentences)
    count = right.shape[1]
    loss = -(log_probabilities.flatten() @ right.flatten()) / count
    pushed = log_probabilities.exp_().sub_(right).div_(count)
    gradients: dict[Tensor, Tensor | None] = {}
    for layer, read_by_it in zip(layers[:0:-1], reversed(inputs), strict=True):
        gradients[layer.weight] = pushed @ read_by_it.T
        if layer.bias is not None:
            gradients[layer.bias] = pushed.sum(1)
        pushed = torch.ops.aten.threshold_backward(layer.weight.T @ pushed, read_by_it, 0)
    if layers[0].bias is not None:
        gradients[layers[0].bias] = pushed.sum(1)
    pushed.mul_(inverse)
    along = read.mul_(pushed).sum(0, keepdim=True)  # nu_bar^T G / Z
    by_scores, gradients[layers[0].weight], gradients[embedding] = back(pushed, along)
    if key.requires_grad:
        gradients[key] = torch.outer(by_scores, query)
    if query.requires_grad:
        gradients[query] = key.T @ by_scores
    return LossWithGradients(
        loss,
        {
            parameter: gradient
            for parameter, gradient in gradients.items()
            if gradient is not None and parameter.requires_grad
        },
    )


Back: TypeAlias = Callable[[Tensor, Tensor], tuple[Tensor, Tensor | None, Tensor | None]]
"""From the gradient of W nu_bar divided by Z (features, sentences), and nu_bar^T G / Z (1, sentences), to those of the
scores (vocabulary,), of W and of the embeddings, None for one that is not trained."""


def _sums_before_layer(
    embedding: Tensor, weight: Tensor, raised: Tensor, bags: BagIndex
) -> tuple[Tensor, Tensor, Back]:
    """W nu_bar (features, sentences), 1 / Z (sentences,) and the way back, by sums of d + 1 columns.

    With the block matrix B = [[W, 0], [0, 1]] the sums [Z nu_bar, Z] go through B to [Z W nu_bar, Z], and B^T takes the
    pushes after W, and nu_bar^T G, back to [G, nu_bar^T G]. The tables have zeros after their columns up to a width
    that products are fast with. ``raised``: e^s (vocabulary,).
    """
    size, column = embedding.shape[1], raised[:, None]
    table = _joined(embedding, column, column)  # [e^s nu, e^s, 0]: (vocabulary, width)
    sums = bag_sum(table, bags.words, bags.offsets)  # (sentences, width)
    block = functional.pad(weight, (0, table.shape[1] - size, 0, 1))  # (features + 1, width)
    block[-1, size] = 1
    through = block @ sums.T  # (features + 1, sentences)
    inverse = through[-1].reciprocal()

    def back(pushed: Tensor, along: Tensor) -> tuple[Tensor, Tensor | None, Tensor | None]:
        by_weight = (pushed @ sums)[:, :size] if weight.requires_grad else None
        pushes = bag_sum(torch.cat([pushed, along]).T @ block, bags.sentences, bags.word_offsets)  # [P, r, 0]
        signs = raised.new_ones(pushes.shape[1])
        signs[size] = -1
        by_scores = table.mul_(pushes) @ signs  # e^s (nu^T P - r)
        return by_scores, by_weight, pushes[:, :size] * column if embedding.requires_grad else None

    return through[:-1].mul_(inverse), inverse, back


def _layer_before_sums(
    embedding: Tensor, weight: Tensor, raised: Tensor, bags: BagIndex
) -> tuple[Tensor, Tensor, Back]:
    """The same by sums of features + 1 columns: of W nu, which each word has once, instead of nu.

    With P now the sum of the pushes before W^T, the gradients are those of `BagAttention` with W taken out of the sums:
    e^s P W for the embeddings, sum_w e^{s_w} P_w nu_w^T for W, and e^s (P^T W nu - r) for the scores.
    """
    seen = weight @ embedding.T  # (features, vocabulary)
    table = torch.cat([seen * raised, raised[None]]).T.contiguous()  # [e^s W nu, e^s]
    through = bag_sum(table, bags.words, bags.offsets).T  # (features + 1, sentences)
    inverse = through[-1].reciprocal()

    def back(pushed: Tensor, along: Tensor) -> tuple[Tensor, Tensor | None, Tensor | None]:
        pushes = bag_sum(torch.cat([pushed, along]).T.contiguous(), bags.sentences, bags.word_offsets).T  # [P, r]
        raised_pushes = pushes * raised
        by_values = raised_pushes[:-1]  # (features, vocabulary)
        by_scores = (seen * by_values).sum(0) - raised_pushes[-1]
        by_weight = by_values @ embedding if weight.requires_grad else None
        return by_scores, by_weight, by_values.T @ weight if embedding.requires_grad else None

    return through[:-1] * inverse, inverse, back


def _attended(values: Tensor, scores: Tensor, bags: BagIndex) -> tuple[Tensor, Tensor, Tensor]:
    """Context vectors (sentences, d); e_w (vocabulary, 1) and Z (sentences, 1), both up to the same factor."""
    weights = (scores - scores.max()).exp()[:, None]
    sums, normaliser = bag_sums(values, weights, weights, bags.words, bags.offsets)
    return sums.div_(normaliser), weights, normaliser


def _gradients(
    gradient: Tensor, values: Tensor, weights: Tensor, normaliser: Tensor, context: Tensor, bags: BagIndex
) -> tuple[Tensor, Tensor]:
    """Of the values (vocabulary, d) and the scores (vocabulary,), from that of the context vectors (sentences, d)."""
    ones = context.new_ones(context.shape[1], 1)  # sums of short rows are faster as products
    along = (context * gradient) @ ones  # (sentences, 1)
    inverse = 1 / normaliser
    pushes, through_z = bag_sums(gradient, inverse, along * inverse, bags.sentences, bags.word_offsets)
    by_values = pushes * weights  # (vocabulary, d)
    return by_values, ((values * by_values) @ ones - through_z * weights).squeeze(1)


def weights_in_bags(scores: Tensor, bags: BagIndex) -> Tensor:
    """Attention alpha of every word in its sentence: (tokens,)."""
    raised, sentence = (scores - scores.max()).exp().index_select(0, bags.words), bags.sentence
    normaliser = raised.new_zeros(len(bags.offsets) - 1).index_add(0, sentence, raised)
    return raised / normaliser.index_select(0, sentence)


def attend_tokens(tokens: Tensor, scores: Tensor, bags: BagIndex) -> Tensor:
    """Context vectors (sentences, d) of values that differ from place to place, ``tokens`` (tokens, d)."""
    context = tokens.new_zeros(len(bags.offsets) - 1, tokens.shape[1])
    return context.index_add(0, bags.sentence, tokens * weights_in_bags(scores, bags)[:, None])

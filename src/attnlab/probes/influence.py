"""Influence: how much the right class's log-probability hangs on each word (P3 5.1).

    delta_l = - d NLL / d g_l   at g = 1,   where the text is read with embeddings g_l e_{x_l}

Positive: more of the word makes the right class more probable. (The released classification code negates it twice.)
"""

import torch

from attnlab.data.batch import Bags
from attnlab.fields import ScoreField
from attnlab.models.classifier import Classifier
from attnlab.probes.reading import check_texts, frozen
from attnlab.probes.texts import POSITIONS, TextFields, batches


def influence(model: Classifier, texts: Bags, positions: int = POSITIONS) -> ScoreField:
    """delta of every position of every text, read about ``positions`` at a time.

    >>> texts = Bags(torch.tensor([1, 2, 3, 4, 5]), torch.tensor([0, 3, 5]), torch.tensor([0, 1]))
    >>> influence(Classifier(6, embedding_size=4, hidden=3), texts).lengths.tolist()
    [3, 2]
    """
    return text_influence(model, texts, positions)[1]


def text_influence(model: Classifier, texts: Bags, positions: int = POSITIONS) -> tuple[TextFields, ScoreField]:
    """Attention, lexical probe and prediction, as of `attnlab.probes.texts.text_fields`, and delta beside them.

    A text is read once, forward and back, for all of it.
    """
    check_texts(model, texts)
    alpha, gamma, delta = torch.empty(3, len(texts.words), dtype=model.embedding.dtype)
    told = torch.empty(len(texts), model.classes, dtype=model.embedding.dtype)
    with frozen(model):
        for batch in batches(texts, positions):
            gates = torch.ones(batch.tokens.shape, dtype=told.dtype, requires_grad=True)
            seen = model(batch.tokens, batch.lengths, labels=batch.labels, gates=gates)
            right = seen.log_probabilities.gather(1, batch.labels[:, None])
            (gradient,) = torch.autograd.grad(right.sum(), gates)  # the texts do not see each other
            inside = batch.inside
            delta[batch.places] = gradient[inside]
            alpha[batch.places], gamma[batch.places] = seen.alpha.detach()[inside], seen.gamma.detach()[inside]
            told[batch.rows] = seen.log_probabilities.detach()
    return TextFields.of(texts, alpha, gamma, told), ScoreField(delta.numpy(), texts.offsets.numpy())

"""Runs of P1's classifier brought to life: full-batch or stochastic descent, and what is measured of every word."""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import torch
from torch import Tensor

from attnlab.data.batch import Bags
from attnlab.families.base import BaseProblem
from attnlab.families.topics.spec import SstSpec, TopicModelSpec, TopicsSpec
from attnlab.families.topics.task import Split, split
from attnlab.models.bag_attention import BagIndex, LossWithGradients, bag_sum, index_bags
from attnlab.models.topic import TopicModel, mean_loss, one_hot
from attnlab.models.trained import choose_trained
from attnlab.protocols import Row, RunSettings
from attnlab.seeds import numpy_generator

QUANTILES = (0, 1, 5, 25, 50, 75, 95, 99, 100)
"""Percentiles of the non-topic words' scores and norms that an evaluation has."""


class BagProblem(BaseProblem):
    """P1's classifier on bags of words: mean cross-entropy over all training sentences, or over drawn ones."""

    def __init__(self, spec: RunSettings, data: Split, vocabulary: int, classes: int, device: str) -> None:
        assert isinstance(spec.model, TopicModelSpec)
        super().__init__(spec, device)
        self.vocabulary = vocabulary
        self.model: TopicModel = spec.model.build(vocabulary, classes, spec.init_seed).to(device)
        key, query, embedding = self.model.key, self.model.query, self.model.embedding
        frozen = [query] * (not spec.model.train_query) + [embedding] * (not spec.model.train_embedding)
        choose_trained(self.model, [key, query], spec.train, frozen)
        bags = [part.to(device) for part in (data.train, data.valid, data.test)]
        self.train_bags, self.valid_bags, self.test_bags = bags
        self.train_index, self.train_right = self._index(self.train_bags), one_hot(self.train_bags.labels, classes)
        self.valid_index, self.test_index = (self._index(part) if len(part) else None for part in bags[1:])

    def loss(self, step: int) -> Tensor | LossWithGradients:
        bags, index, right = self.train_bags, self.train_index, self.train_right
        if self.spec.batch is not None:
            generator = numpy_generator(self.spec.data_seed, "training", step)
            rows = torch.from_numpy(generator.integers(len(bags), size=self.spec.batch)).to(self.device)
            bags = bags.select(rows)
            index, right = self._index(bags), right.index_select(1, rows)
        return self.model.mean_loss(index, bags.labels, right)

    def _index(self, bags: Bags) -> BagIndex:
        return index_bags(bags.words, bags.offsets, self.vocabulary)

    def _measured(self, index: BagIndex, labels: Tensor) -> tuple[float, float]:
        """Loss and accuracy."""
        log_probabilities = self.model(index).log_probabilities
        return float(mean_loss(log_probabilities, labels)), float(accuracy(log_probabilities, labels))


class TopicProblem(BagProblem):
    """On P1's synthetic task, where topic words are known."""

    def __init__(self, spec: RunSettings, device: str = "cpu") -> None:
        assert isinstance(spec.task, TopicsSpec)
        self.task = spec.task.build(spec.data_seed)
        data = split(self.task.draw(spec.task.sentences, numpy_generator(spec.data_seed, "sentences")))
        super().__init__(spec, data, self.task.vocabulary, len(self.task.topics), device)
        self.topic_tokens = TopicTokens.of(self.train_index, self.task.topic_words)

    @torch.no_grad()
    def evaluate(self, step: int) -> Row:  # noqa: ARG002 (the sentences are the same at every step)
        """Over all training sentences: see `topic_metrics`; and ``test_accuracy``."""
        row = topic_metrics(self.model, self.train_index, self.train_bags.labels, self.topic_tokens)
        if self.test_index is not None:
            _, row["test_accuracy"] = self._measured(self.test_index, self.test_bags.labels)
        return row


class SstProblem(BagProblem):
    """On the Stanford Sentiment Treebank, where every word may be one that the class depends on."""

    def __init__(self, spec: RunSettings, device: str = "cpu") -> None:
        assert isinstance(spec.task, SstSpec)
        corpus = spec.task.build()
        super().__init__(spec, corpus.split, len(corpus.words), corpus.classes, device)

    @torch.no_grad()
    def evaluate(self, step: int) -> Row:  # noqa: ARG002 (the sentences are the same at every step)
        """``loss`` and ``accuracy`` on the training sentences, the same of ``valid_`` and ``test_``, ``query_norm``."""
        row = {"query_norm": float(self.model.query.norm())}
        row["loss"], row["accuracy"] = self._measured(self.train_index, self.train_bags.labels)
        assert self.valid_index is not None  # the corpus has its own split
        assert self.test_index is not None
        row["valid_loss"], row["valid_accuracy"] = self._measured(self.valid_index, self.valid_bags.labels)
        row["test_loss"], row["test_accuracy"] = self._measured(self.test_index, self.test_bags.labels)
        return row

    @torch.no_grad()
    def fields(self) -> pa.Table:
        """``score`` and ``norm`` of every word, by id."""
        norms = self.model.embedding.norm(dim=1)
        return pa.table({"score": self.model.scores().cpu().numpy(), "norm": norms.cpu().numpy()})


@dataclass(frozen=True)
class TopicTokens:
    """Where the topic words, the first ``count`` of the vocabulary, are in sentences: the same at every evaluation.

    ``inside`` (tokens,): whether a word is one. ``places`` (topic tokens,): which are. ``words`` (topic tokens,) and
    ``offsets`` (sentences + 1,): each sentence's topic words alone.
    """

    count: int
    inside: Tensor
    places: Tensor
    words: Tensor
    offsets: Tensor

    @staticmethod
    def of(bags: BagIndex, count: int) -> "TopicTokens":
        """Find them in ``bags``."""
        inside = bags.words < count
        places = inside.nonzero().squeeze(1)
        offsets = torch.searchsorted(places, bags.offsets).to(torch.int32)
        return TopicTokens(count, inside, places, bags.words.index_select(0, places), offsets)


def topic_metrics(model: TopicModel, bags: BagIndex, labels: Tensor, topic: TopicTokens) -> Row:
    """What P1 looks at, over all sentences of ``bags``.

    ``loss``, ``accuracy``, ``query_norm`` ||q||. For each topic word w: ``score_w`` s_w, ``norm_w`` ||nu_w||. For the
    other words percentiles ``other_score_99`` and so on, of s_w and ||nu_w||. ``weight_mean`` and ``weight_min``: the
    topic words' attention in a sentence. ``attention_accuracy``: share of sentences whose largest attention is on a
    topic word; ``probe_accuracy``: the same of the lexical probe beta; ``probe_mean``: mean beta of topic words. Words
    that tie share the hit. ``share``: the topic words' part of the context vector, sum of alpha_w ||nu_w|| over them
    by the same sum over all words, mean over sentences.
    """
    prediction = model(bags, labels, attention=False)
    beta = prediction.lexical
    assert beta is not None
    scores, norms = model.scores(), model.embedding.norm(dim=1)
    raised = (scores - scores.max()).exp()
    columns = torch.stack([raised, raised * norms], 1)
    # Each (sentences, 2): sums of e^s and of e^s ||nu|| over all words, and over the topic words.
    sums = bag_sum(columns, bags.words, bags.offsets)
    topic_sums = bag_sum(columns, topic.words, topic.offsets)
    weight, share = (topic_sums / sums).unbind(1)
    row = {
        "loss": mean_loss(prediction.log_probabilities, labels),
        "accuracy": accuracy(prediction.log_probabilities, labels),
        "query_norm": model.query.norm(),
        "weight_mean": weight.mean(),
        "weight_min": weight.min(),
        "share": share.nan_to_num(0.0).mean(),
        "attention_accuracy": top_share(scores.index_select(0, bags.words), topic.inside, bags).mean(),
        "probe_accuracy": top_share(beta, topic.inside, bags).mean(),
        "probe_mean": beta.index_select(0, topic.places).exp().mean(),
    }
    for name, values in (("score", scores), ("norm", norms)):
        row |= {f"{name}_{word}": value for word, value in enumerate(values[: topic.count].tolist())}
        ranked = np.percentile(values[topic.count :].cpu().numpy(), QUANTILES)
        row |= {f"other_{name}_{rank}": value for rank, value in zip(QUANTILES, ranked, strict=True)}
    return {name: float(value) for name, value in row.items()}


def accuracy(log_probabilities: Tensor, labels: Tensor) -> Tensor:
    """Share of sentences whose likeliest class is the right one."""
    return (log_probabilities.T.max(0).indices == labels).double().mean()  # argmax takes eight times as long


def top_share(field: Tensor, wanted: Tensor, bags: BagIndex) -> Tensor:
    """For each sentence the chance that its largest value of ``field``, ties broken at random, is ``wanted``.

    ``field`` and ``wanted`` are (tokens,): a value, and whether it is a right one; the answer is (sentences,).
    """
    values, lengths = field.cpu().numpy(), bags.offsets.diff().cpu().numpy()
    largest = np.maximum.reduceat(values, bags.offsets[:-1].cpu().numpy())
    hits = np.flatnonzero(values == np.repeat(largest, lengths))  # few, unless all are tied
    where, right = bags.sentence.cpu().numpy()[hits], wanted.cpu().numpy()[hits]
    shares = np.bincount(where, right, len(largest)) / np.bincount(where, minlength=len(largest))
    return torch.from_numpy(shares)

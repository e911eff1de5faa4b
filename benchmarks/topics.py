"""P1's full-batch update: on sparse sums of words, and written down plainly, sentence by sentence."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

from attnlab.families.registry import build_problem
from attnlab.families.topics.spec import TopicModelSpec, TopicsSpec
from attnlab.runs.optimisers import SgdSpec
from attnlab.runs.spec import RunSpec


@dataclass
class Descent:
    """A model's parameters, its loss, and plain gradient descent on it."""

    parameters: list[Tensor]
    loss: Callable[[], Tensor]
    rate: float = 0.1

    def step(self) -> Tensor:
        """One update; the loss before it."""
        for parameter in self.parameters:
            parameter.grad = None
        loss = self.loss()
        loss.backward()
        with torch.no_grad():
            for parameter in self.parameters:
                if parameter.grad is not None:
                    parameter -= self.rate * parameter.grad
        return loss.detach()


def spec(sentences: int = 5000, others: int = 20, size: int = 10) -> RunSpec:
    """P1's synthetic experiment with a trained linear classifier over embeddings of ``size`` numbers."""
    task = TopicsSpec(sentences=sentences, others=others)
    model = TopicModelSpec(classifier="linear", size=size)
    return RunSpec(task=task, model=model, optimiser=SgdSpec(), batch=None, init_seed=0, data_seed=0)


def sparse(sentences: int = 5000, others: int = 20, size: int = 10) -> Descent:
    """As attnlab trains it."""
    problem = build_problem(spec(sentences, others, size))
    return Descent(list(problem.trained_parameters().values()), lambda: problem.loss(0))


def plain(sentences: int = 5000, others: int = 20, size: int = 10) -> Descent:
    """The same model from the same start: look up every word of every sentence, softmax, weighted sum."""
    wanted = spec(sentences, others, size)
    problem = build_problem(wanted)
    model, bags = problem.model, problem.train_bags
    words = bags.words.view(len(bags), -1)  # (sentences, words): all have the same length
    embedding, key = (torch.nn.Parameter(table.detach().clone()) for table in (model.embedding, model.key))
    weight = torch.nn.Parameter(model.classifier.weight.detach().clone())

    def loss() -> Tensor:
        attention = (functional.embedding(words, key) @ model.query.detach()).softmax(1)
        context = (attention[:, :, None] * functional.embedding(words, embedding)).sum(1)
        return functional.cross_entropy(context @ weight.T, bags.labels)

    return Descent([embedding, key, weight], loss)


def same(ours: Descent, theirs: Descent, updates: int = 50) -> bool:
    """Whether both have the same losses for some updates: within a relative 1e-5."""
    return all(torch.isclose(ours.step(), theirs.step(), rtol=1e-5, atol=0) for _ in range(updates))

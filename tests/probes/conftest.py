"""What the tests of a classifier's probes share: texts, and the classifier on PyTorch's own networks."""

from collections.abc import Callable

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from attnlab.data.batch import Bags
from attnlab.models.classifier import Classifier

WORDS = 20


@pytest.fixture
def draw_texts() -> Callable[..., Bags]:
    """Random texts of the given lengths and number of classes."""

    def drawn(lengths: list[int], classes: int = 2, seed: int = 0) -> Bags:
        rng = np.random.default_rng(seed)
        words = torch.from_numpy(rng.integers(WORDS, size=sum(lengths)))
        labels = torch.from_numpy(rng.integers(classes, size=len(lengths)))
        return Bags(words, torch.tensor([0, *np.cumsum(lengths)]), labels)

    return drawn


@pytest.fixture
def draw_model() -> Callable[..., Classifier]:
    """A small classifier of those words in float64, with weights large enough for words to matter."""

    def drawn(classes: int = 2, **settings: object) -> Classifier:
        model = Classifier(WORDS, classes, **({"embedding_size": 5, "hidden": 4} | settings)).double()
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.mul_(1.5)
        return model

    return drawn


@pytest.fixture
def logits_of() -> Callable[[Classifier, Tensor], Tensor]:
    """The logits (classes,) of one text by `torch.nn`, from its words' vectors (length, embedding)."""

    def logits(model: Classifier, vectors: Tensor) -> Tensor:
        encoder = model.encoder
        kind = nn.LSTM if encoder.cell == "lstm" else nn.GRU
        sizes = encoder.input_size, encoder.hidden_size
        library = kind(*sizes, bidirectional=encoder.directions == 2, batch_first=True, dtype=torch.float64)
        library.load_state_dict(encoder.state_dict())
        h = library(vectors[None])[0][0]
        alpha = torch.softmax(model.score(h)[:, 0] * (model.mode == "learned"), 0)
        found = model.output(alpha @ h)
        return torch.cat([torch.zeros(1), found]) if model.classes == 2 else found

    return logits

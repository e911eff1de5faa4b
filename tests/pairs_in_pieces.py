"""Hand-made sentence pairs in pieces, for tests that need no corpus."""

import numpy as np

from attnlab.data.bitext import PieceSide, PieceSplit


def side(sentences):
    """A side of these sentences, lists of piece ids; their texts are the ids."""
    texts = [" ".join(map(str, sentence)).encode() for sentence in sentences]
    return PieceSide(
        np.array([piece for sentence in sentences for piece in sentence], np.int32),
        np.append(0, np.cumsum([len(sentence) for sentence in sentences])).astype(np.int64),
        np.frombuffer(b"".join(texts), np.uint8),
        np.append(0, np.cumsum([len(text) for text in texts])).astype(np.int64),
    )


def split_of(source, target):
    return PieceSplit(side(source), side(target), np.arange(1, len(source) + 1))


def drawn_split(lengths, words, seed):
    """Pairs of these lengths (source, target) with pieces from 4 to ``words`` - 1."""
    rng = np.random.default_rng(seed)
    drawn = [[rng.integers(4, words, size).tolist() for size in pair] for pair in lengths]
    return split_of([source for source, _ in drawn], [target for _, target in drawn])

"""What else labelled texts say about their labels, where no single word says more than its neighbours.

The labels may be noise, every word may say the same, the sign may be in pairs of words or in what was thrown away when
texts were cut into words. Each is checked on the forecast's thirds: counted on two, read on the last. At most `MOST`
different texts are looked at, and labels that at least `OFTEN` of them have.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse, stats

from attnlab.theory.gain import FOLDS, Floats, Gains, Ints

MOST = 6000
"""Texts that are looked at."""
OFTEN = 10
"""Texts that a label needs to be looked at, and times a word must have been read to be named."""
LABELS = 100
"""Labels that are looked at: the commonest."""
COMMON = 300
"""Words whose pairs are looked at: the commonest. Fewer where there are many labels (`MOST_COUNTS`)."""
MOST_COUNTS = 1_000_000
"""Pairs of words times labels that are counted."""
SURE = 3.0
"""Standard errors by which one share must be above another to be called better."""
STRONG = 0.5
"""From this part of the way from chance to perfect on, words together name the label."""

_RAW = re.compile(r"[^\W\d_]+|[^\w\s]")


@dataclass(frozen=True)
class Named:
    """How often labels of held-out texts are named: the mean ``share`` over labels, its standard error, chance."""

    share: float
    error: float
    chance: float

    def above(self, share: float, error: float = 0.0) -> bool:
        return self.share - share > SURE * float(np.hypot(self.error, error))

    @property
    def strength(self) -> float:
        """0 for chance, 1 for always right."""
        return (self.share - self.chance) / (1 - self.chance)


@dataclass(frozen=True, eq=False)
class Checks:
    """What was seen in a sample of texts. ``raw``: by capitals, punctuation and symbols; None without raw texts.

    ``clearest``: of these the one that says the most, and its label. ``pair``: two words that say more together than
    each alone, and by how many bits, on texts held out; None if there are none among the ``common`` commonest.
    """

    words: Named
    raw: Named | None
    clearest: tuple[str, str]
    pair: tuple[str, str, float] | None
    common: int

    @property
    def thrown_away(self) -> bool:
        """Whether what is not in the words says more than the words do."""
        return self.raw is not None and self.raw.above(self.words.share, self.words.error)


def check_labels(gains: Gains, texts: Sequence[str] | None = None, *, pairs: bool = True) -> Checks | None:
    """All checks. ``texts``: as they were read, by number in the data. ``pairs``: whether pairs of words are tried.

    None where fewer than two labels have enough texts.
    """
    rows, label, names = _sample(gains)
    if len(names) < 2:
        return None
    fold = gains.fold[rows]
    features, words = _words(gains, rows)
    raw, clearest = None, ("", "")
    if texts is not None:
        marks, kinds = _marks([texts[k] for k in gains.order[rows].tolist()])
        if len(kinds):
            raw = _named(marks, label, fold)
            clearest = _clearest(marks, kinds, label, names)
    common = min(COMMON, len(words), int((MOST_COUNTS / len(names)) ** 0.5))
    pair = _pair(features, words, label, fold, common) if pairs else None
    return Checks(_named(features, label, fold), raw, clearest, pair, common)


def _sample(gains: Gains) -> tuple[Ints, Ints, list[str]]:
    """Rows of ``gains``, one of each group of equal texts; their labels, numbered anew; the labels' names."""
    first = np.flatnonzero(np.diff(gains.group, prepend=-1))  # texts; a text is a row, as it has one label
    rows = np.concatenate([first[gains.fold[first] == fold][: MOST // FOLDS] for fold in range(FOLDS)])
    count = np.bincount(gains.output[rows])
    kept = [one for one in np.argsort(-count, kind="stable")[:LABELS].tolist() if count[one] >= OFTEN]
    number = np.full(len(count), -1)
    number[kept] = np.arange(len(kept))
    label = number[gains.output[rows]]
    return rows[label >= 0], label[label >= 0], [gains.pairs.target_words[one] for one in kept]


def _words(gains: Gains, rows: Ints) -> tuple[sparse.csr_matrix, list[str]]:
    """Which words are in which text, (texts, words), and the words; those in a single text are left out."""
    chosen = gains.pairs.select(rows)
    text = np.repeat(np.arange(len(rows)), np.diff(chosen.source_offsets))
    return _presence(text, chosen.source, len(rows), chosen.source_words)


def _marks(texts: list[str]) -> tuple[sparse.csr_matrix, list[str]]:
    """Which punctuation, symbols, kinds of capitals and words with capitals are in which text, and their names."""
    seen: dict[str, int] = {}
    text, mark = [], []
    for number, raw in enumerate(texts):
        for one in {name for run in _RAW.findall(raw) for name in _names(run)}:
            text.append(number)
            mark.append(seen.setdefault(one, len(seen)))
    return _presence(np.array(text, np.int64), np.array(mark, np.int64), len(texts), list(seen))


def _names(run: str) -> tuple[str, ...]:
    if not run[0].isalpha():
        return (repr(run),)
    if run == run.lower():
        return ("words without capitals",)
    kind = "words in capitals" if run.isupper() and len(run) > 1 else "words with a capital"
    return kind, repr(run)


def _presence(
    text: Ints, feature: NDArray[np.integer], texts: int, names: list[str]
) -> tuple[sparse.csr_matrix, list[str]]:
    matrix = sparse.csr_matrix((np.ones(len(text)), (text, feature)), shape=(texts, len(names)))
    matrix.data[:] = 1.0  # duplicates were added up
    kept = np.flatnonzero(np.asarray(matrix.sum(axis=0)).ravel() > 1)
    return matrix[:, kept], [names[one] for one in kept.tolist()]


def _one_hot(label: Ints) -> sparse.csr_matrix:
    return sparse.csr_matrix((np.ones(len(label)), (np.arange(len(label)), label)))


def _named(features: sparse.csr_matrix, label: Ints, fold: Ints) -> Named:
    """Naive Bayes on what is there and what is not, all labels alike beforehand.

    A feature counts as log (times seen with the label + 1) / (times expected + 1), so a rare one says little.
    """
    of_label, guess = _one_hot(label), np.zeros(len(label), np.int64)
    for here in range(FOLDS):
        train, test = fold != here, fold == here
        seen = (of_label[train].T @ features[train]).toarray()  # (labels, features)
        texts = np.asarray(of_label[train].sum(axis=0)).reshape(-1, 1)
        expected = texts * seen.sum(axis=0) / texts.sum()
        there, not_there = np.log((seen + 1) / (expected + 1)), np.log((texts - seen + 1) / (texts - expected + 1))
        guess[test] = (features[test] @ (there - not_there).T + not_there.sum(axis=1)).argmax(axis=1)
    texts = np.bincount(label)
    right = np.bincount(label, guess == label)
    likely = (right + 1) / (texts + 2)
    error = float(np.sqrt((likely * (1 - likely) / texts).sum()) / len(texts))
    return Named(float((right / texts).mean()), error, 1 / len(texts))


def _clearest(features: sparse.csr_matrix, names: list[str], label: Ints, labels: list[str]) -> tuple[str, str]:
    """The feature that says the most about labels, and the label it goes with."""
    seen = (_one_hot(label).T @ features).toarray()  # (labels, features)
    texts = np.bincount(label)[:, None]
    best = int(_information(np.stack([seen, texts - seen])).argmax())
    return names[best], labels[int((seen[:, best] / texts[:, 0]).argmax())]


def _information(counts: Floats) -> Floats:
    """Texts times mutual information, in bits: (...) of counts (cells, labels, ...)."""

    def each(n: Floats) -> Floats:
        return n * np.log2(np.maximum(n, 1))

    total = each(counts).sum(axis=(0, 1)) + each(counts.sum(axis=(0, 1)))
    result: Floats = total - each(counts.sum(axis=0)).sum(axis=0) - each(counts.sum(axis=1)).sum(axis=0)
    return result


def _pair(
    features: sparse.csr_matrix, words: list[str], label: Ints, fold: Ints, most: int
) -> tuple[str, str, float] | None:
    """The pair of the ``most`` commonest words that says more together than alone: I(y; a, b) - I(y; a) - I(y; b).

    On each third the pair is read that the two others choose. Labels that have nothing to do with words give a sum
    that is about chi-squared.
    """
    common = np.sort(np.argsort(-np.asarray(features.sum(axis=0)).ravel(), kind="stable")[:most])
    dense = features[:, common].toarray()
    if len(common) < 2:
        return None
    parts = [_pair_counts(dense[fold == here], label[fold == here], int(label.max()) + 1) for here in range(FOLDS)]
    held_out = 0.0
    for here in range(FOLDS):
        a, b = _best_pair(parts[here - 1] + parts[here - 2])
        held_out += float(_synergy(parts[here][:, :, [a], [b]])[0])
    freedom = FOLDS * int(label.max())
    bits = (held_out - freedom / (2 * np.log(2))) / len(label)  # less what chance gives
    if 2 * np.log(2) * held_out < stats.chi2.ppf(0.9999, freedom):
        return None
    a, b = _best_pair(np.sum(parts, axis=0))
    return words[common[a]], words[common[b]], bits


def _pair_counts(there: Floats, label: Ints, labels: int) -> Floats:
    """Texts with both words, the first, the second, none: (4, labels, words, words)."""
    counts = np.empty((4, labels, there.shape[1], there.shape[1]))
    for one in range(labels):
        of = there[label == one]
        both, single = of.T @ of, of.sum(axis=0)
        counts[:, one] = both, single[:, None] - both, single - both, len(of) - single[:, None] - single + both
    return counts


def _best_pair(counts: Floats) -> tuple[int, int]:
    a, b = np.unravel_index(np.triu(_synergy(counts), 1).argmax(), counts.shape[2:])
    return int(a), int(b)


def _synergy(counts: Floats) -> Floats:
    both, first, second, none = counts
    alone = (np.stack([both + first, second + none]), np.stack([both + second, first + none]))
    return _information(counts) - sum(map(_information, alone))

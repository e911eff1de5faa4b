"""Forecast: will attention find word-to-word correspondence in this data? From co-occurrence alone, before training.

The measure is the mean gain of `attnlab.theory.gain`; ``docs/forecast.md`` says why, and where its thresholds come
from. A labelled text is a pair too: its words, and the label as the one output word (P3 2.4).
"""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
from scipy import sparse, stats

from attnlab.data.sentence_pairs import SentencePairs
from attnlab.data.texts import LabelledTexts
from attnlab.errors import UsageError
from attnlab.theory.gain import FOLDS, Floats, Gains, Ints, read_gains

Kind = Literal["pairs", "labels"]
Verdict = Literal["no reason to be learned", "likely to be learned", "may be learned", "too little data to tell"]

LIKELY = 0.1
"""Bits from which on correspondence is likely to be learned: in a batch of 128 about nine sentences then tell a word
from each of its neighbours, three times what chance makes of nine (its square root)."""
WEAK = 0.01
"""Bits below which there is no reason: not even one sentence of a batch of 128 tells them apart."""
OFTEN = 10
"""Times a word must have been read to be named among the strongest or the hopeless."""
NAMED = 15
"""How many of each are named."""
FLOOR = -3.0
"""The least that the picture shows: words that never occur together would else be as loud as those that always do."""


@dataclass(frozen=True)
class WordForecast:
    """One word: its gain in bits, how often it was read, and what goes with it.

    For pairs an output word, with the input word that was chosen for it most often. For labels an input word, with the
    label it occurs with more often than others do.
    """

    word: str
    partner: str
    tokens: int
    gain: float


@dataclass(frozen=True)
class Picture:
    """A part of the table: ``values[i][o]`` = log2(Trans(o | i) / share of o), -3 or less shown as -3."""

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    values: tuple[tuple[float, ...], ...]


@dataclass(frozen=True)
class Forecast:
    """What co-occurrence says about a corpus. Gains and informations are in bits an output word.

    ``interval``: 95 %, over sentences and over the thirds they were put in. Three measures are beside the gain and do
    not enter the verdict: ``derivative_gain`` chooses by P3's derivative at initialisation, ``information`` is
    log2 L - H(alpha_ibm) without correction for chance, ``mutual_information`` that of the table, which also counts
    what tells sentences apart but not words. ``notes``: what to know of the data it was made from, a sentence each.
    """

    kind: Kind
    gain: float
    interval: tuple[float, float]
    verdict: Verdict
    sentences: int
    tokens: int
    input_words: int
    output_words: int
    derivative_gain: float
    information: float
    mutual_information: float
    strongest: tuple[WordForecast, ...]
    hopeless: tuple[WordForecast, ...]
    picture: Picture
    notes: tuple[str, ...] = ()

    @property
    def sentence(self) -> str:
        """The verdict in plain words, with its uncertainty."""
        what = "which word of a text its label comes from" if self.kind == "labels" else "which word comes from which"
        low, high = self.interval
        verdict = {
            "likely to be learned": f"Attention is likely to learn {what}",
            "may be learned": f"Attention may learn {what}, but the sign is weak",
            "no reason to be learned": f"Co-occurrence gives attention no reason to learn {what}",
            "too little data to tell": f"There is too little data to tell whether attention will learn {what}",
        }[self.verdict]
        return (
            f"{verdict}: the best word of a sentence tells {self.gain:.3f} bits more than its average word "
            f"(95 % interval {low:.3f} to {high:.3f}; likely from {LIKELY} on, no reason below {WEAK})."
        )

    def to_json(self) -> dict[str, Any]:
        """All of it in plain values."""
        return {**asdict(self), "sentence": self.sentence}

    def save(self, path: str | Path, name: str = "your data") -> Path:
        """Write a page (.html) or all numbers (.json), as ``path`` ends; ``name`` says what was forecast.

        >>> import tempfile
        >>> pairs = SentencePairs.from_tokens([["a"], ["b", "a"]] * 6, [["x"], ["y", "x"]] * 6)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     forecast(pairs).save(f"{folder}/forecast.json").name
        'forecast.json'
        """
        from attnlab.pages.forecast import save_forecast  # pages read forecasts, and only this one call needs pages

        return save_forecast(Path(path), self, name)


def forecast(data: SentencePairs | LabelledTexts, *, kind: Kind | None = None, seed: int = 0) -> Forecast:
    """Forecast from sentence pairs, or from labelled texts, whose label is their one output word.

    ``data``: what `attnlab.data.sentence_pairs.read_pairs` and `attnlab.data.texts.read_texts` return. ``kind``:
    "labels" where the targets of sentence pairs are labels. ``seed``: which sentences are in which third.

    >>> from attnlab.seeds import numpy_generator
    >>> words = numpy_generator(0).permuted(np.tile(np.arange(12), (300, 1)), axis=1)
    >>> for name, copied in (("all 12 words", words), ("6 of 12 words", words[:, :6])):
    ...     result = forecast(SentencePairs.from_ids(copied, copied))
    ...     print(f"{name}: {result.gain:.2f} bits, {result.verdict}")
    all 12 words: 0.00 bits, no reason to be learned
    6 of 12 words: 0.87 bits, likely to be learned
    """
    pairs, kind, notes = _checked(data, kind)
    _check_words(pairs, kind)
    gains = read_gains(pairs, seed=seed)
    interval = gain_interval(gains)
    return Forecast(
        kind=kind,
        gain=gains.mean,
        interval=interval,
        verdict=verdict_of(interval),
        sentences=len(gains.pairs),
        tokens=len(gains.gain),
        input_words=len(np.unique(gains.pairs.source)),
        output_words=len(np.unique(gains.output)),
        derivative_gain=float(gains.derivative_gain.mean()),
        information=float(gains.information.mean()),
        mutual_information=gains.mutual_information,
        **_words(gains, kind),
        notes=notes,
    )


def gain_interval(gains: Gains) -> tuple[float, float]:
    """The 95 % interval of the mean gain.

    Two sources of chance, added as squares: which sentences are read (they are the units, as words of one sentence hang
    together), and which went into the tables, seen in how the thirds differ (three values: Student's t with 2 degrees).
    """
    count = np.bincount(gains.pair)
    spread = np.bincount(gains.pair, gains.gain) - gains.mean * count
    over_sentences = stats.norm.ppf(0.975) * np.sqrt((spread**2).sum()) / count.sum()
    thirds = np.bincount(gains.fold, gains.gain) / np.bincount(gains.fold)
    over_thirds = stats.t.ppf(0.975, FOLDS - 1) * thirds.std(ddof=1) / np.sqrt(FOLDS)
    half = float(np.hypot(over_sentences, over_thirds))
    return gains.mean - half, gains.mean + half


def verdict_of(interval: tuple[float, float]) -> Verdict:
    """What an interval of the gain means.

    >>> verdict_of((0.2, 0.3)), verdict_of((0.03, 0.04)), verdict_of((0.0, 0.0)), verdict_of((-0.1, 0.3))
    ('likely to be learned', 'may be learned', 'no reason to be learned', 'too little data to tell')
    """
    low, high = interval
    if low >= LIKELY:
        return "likely to be learned"
    if high < WEAK or (low <= 0 and high < LIKELY):
        return "no reason to be learned"
    return "may be learned" if low > 0 else "too little data to tell"


def _checked(data: object, kind: Kind | None) -> tuple[SentencePairs, Kind, tuple[str, ...]]:
    """Pairs, their kind and notes, if ``data`` and ``kind`` are what a forecast can take."""
    readers = "attnlab.read_texts (labelled texts) or attnlab.read_pairs (sentence pairs)"
    if isinstance(data, str | Path):
        raise UsageError(f"{str(data)[:200]!r} is a path; read it with {readers}, and forecast what they return.")
    if kind is not None and kind not in get_args(Kind):
        raise UsageError(f"There is no kind {kind!r}; known kinds are {', '.join(get_args(Kind))}.")
    if isinstance(data, LabelledTexts):
        return data.pairs, kind or "labels", data.notes
    if isinstance(data, SentencePairs):
        return data, kind or "pairs", ()
    raise UsageError(f"A forecast needs what {readers} return, not {type(data).__name__}.")


def _check_words(pairs: SentencePairs, kind: Kind) -> None:
    used = len(np.unique(pairs.target))
    if kind == "labels" and used == 1:
        raise UsageError(f"All texts have the label {pairs.target_words[pairs.target[0]]!r}; a forecast needs two.")
    for side, count in (("input", len(np.unique(pairs.source))), ("output", used)):
        if count == 1:
            raise UsageError(f"The {side} has one word only, so there is nothing to tell apart.")


def _words(gains: Gains, kind: Kind) -> dict[str, Any]:
    """The words that tell the most in all, the most frequent ones that hardly tell, and the table of the former."""
    ranked = _labelled_words(gains) if kind == "labels" else _paired_words(gains)
    strongest = sorted((word for word in ranked if word.gain >= LIKELY), key=lambda word: -word.gain * word.tokens)[
        :NAMED
    ]
    hopeless = sorted((word for word in ranked if word.gain < LIKELY), key=lambda word: -word.tokens)[:NAMED]
    inputs = dict.fromkeys((word.word if kind == "labels" else word.partner) for word in strongest)
    labels = sorted({gains.pairs.target_words[i] for i in np.unique(gains.output)})[:NAMED]
    outputs = labels if kind == "labels" else [word.word for word in strongest]
    return {
        "strongest": tuple(strongest),
        "hopeless": tuple(hopeless),
        "picture": _picture(gains, list(inputs), list(outputs)),
    }


def _paired_words(gains: Gains) -> list[WordForecast]:
    """Every output word that was read often enough."""
    outputs, size = gains.pairs.target_words, len(gains.pairs.source_words)
    tokens = np.bincount(gains.output, minlength=len(outputs))
    total = np.bincount(gains.output, gains.gain, minlength=len(outputs))
    chosen, times = np.unique(np.repeat(gains.output, 2) * size + gains.partner.ravel(), return_counts=True)
    order = np.lexsort((chosen, -times))  # most often chosen first
    word, first = np.unique(chosen[order] // size, return_index=True)
    partner = dict(zip(word.tolist(), (chosen[order][first] % size).tolist(), strict=True))
    return [
        WordForecast(outputs[o], gains.pairs.source_words[partner[o]], int(tokens[o]), float(total[o] / tokens[o]))
        for o in np.flatnonzero(tokens >= OFTEN).tolist()
    ]


def _labelled_words(gains: Gains) -> list[WordForecast]:
    """Every input word that was read often enough: how much more than its texts' average it tells about labels."""
    often = np.flatnonzero(gains.occurrences >= OFTEN)
    labels = np.unique(gains.output)
    ratios = _ratios(gains, often, labels)
    return [
        WordForecast(
            gains.pairs.source_words[i],
            gains.pairs.target_words[labels[ratio.argmax()]],
            int(gains.occurrences[i]),
            float(gains.telling[i]),
        )
        for i, ratio in zip(often.tolist(), ratios, strict=True)
    ]


def _picture(gains: Gains, inputs: list[str], outputs: list[str]) -> Picture:
    chosen = [np.array([words.index(name) for name in names], dtype=np.int64) for names, words in (
        (inputs, gains.pairs.source_words),
        (outputs, gains.pairs.target_words),
    )]  # fmt: skip
    values = _ratios(gains, *chosen)
    return Picture(tuple(inputs), tuple(outputs), tuple(tuple(map(float, row)) for row in values))


def _ratios(gains: Gains, inputs: Ints, outputs: Ints) -> Floats:
    """log2(Trans(o | i) / share of o), (inputs, outputs), at least `FLOOR`; with half an occurrence against log 0."""
    pairs = gains.pairs
    lengths, target_lengths = np.diff(pairs.source_offsets), np.diff(pairs.target_offsets)
    of_source, of_target = (np.repeat(np.arange(len(pairs)), length) for length in (lengths, target_lengths))
    source = sparse.csr_matrix(
        (1 / lengths[of_source], (of_source, pairs.source)), shape=(len(pairs), len(pairs.source_words))
    )[:, inputs]
    target = sparse.csr_matrix(
        (np.ones(len(of_target)), (of_target, pairs.target)), shape=(len(pairs), len(pairs.target_words))
    )[:, outputs]
    counts = (source.T @ target).toarray()  # C_io
    mass = (source.T @ target_lengths)[:, None]  # sum over o of C_io
    share = np.bincount(pairs.target, minlength=len(pairs.target_words))[outputs] / len(pairs.target)
    half = 0.5 * len(pairs.target) / len(pairs.source)
    ratios: Floats = np.log2((counts + half * share) / (mass + half) / share)
    return np.maximum(ratios, FLOOR)

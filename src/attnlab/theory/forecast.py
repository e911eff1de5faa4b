"""Forecast: will attention find word-to-word correspondence in this data? From co-occurrence alone, before training.

The measure is the mean gain of `attnlab.theory.gain`; ``docs/forecast.md`` says why, and where its thresholds come
from. A labelled text is a pair too: its words, and the label as the one output word (P3 2.4).
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
from scipy import stats

from attnlab.data.own_file import explain_rows, few
from attnlab.data.sentence_pairs import SentencePairs
from attnlab.data.texts import LabelledTexts
from attnlab.errors import UsageError
from attnlab.theory.gain import FOLDS, Floats, Gains, Ints, Reader, Watch, read_gains
from attnlab.theory.reasons import LABELS, OFTEN, STRONG, Checks, check_labels
from attnlab.theory.words import NAMED, Picture, WordForecast, named_words

Kind = Literal["pairs", "labels"]
Prospect = Literal["no reason to be learned", "likely to be learned", "may be learned", "too little data to tell"]

LIKELY = 0.1
"""Bits from which on correspondence is likely to be learned: in a batch of 128 about nine sentences then separate a
word from each of its neighbours, three times what chance makes of nine (its square root)."""
WEAK = 0.01
"""Bits below which there is no reason: not even one sentence of a batch of 128 tells them apart."""
MEASURES = {
    "gain": "gain (the forecast)",
    "derivative_gain": "gain, chosen by the derivative",
    "information": "information of the alignment",
    "mutual_information": "mutual information of the table",
}
"""What a forecast measures: what its verdict is made of, and three others that were set down beside it."""
UNCLEAR: tuple[Prospect, ...] = ("no reason to be learned", "too little data to tell")


@dataclass(frozen=True)
class LabelForecast:
    """One label: its texts, and the gain on them alone. ``interval`` is None where they are too few for one."""

    label: str
    texts: int
    gain: float
    interval: tuple[float, float] | None
    verdict: Prospect


@dataclass(frozen=True)
class Forecast:
    """What co-occurrence says about a corpus. Gains and informations are in bits an output word.

    ``interval``: 95 %, over sentences and over the thirds they were put in. Three measures are beside the gain and do
    not enter the verdict: ``derivative_gain`` chooses by P3's derivative at initialisation, ``information`` is
    log2 L - H(alpha_ibm) without correction for chance, ``mutual_information`` that of the table, which also counts
    what tells sentences apart but not words. ``labels``: each label by itself, the commonest first, if the outputs are
    labels. ``reasons``: what else the data says, above all where there is no reason. ``notes``: what to know of the
    data it was made from. Both a sentence each.
    """

    kind: Kind
    gain: float
    interval: tuple[float, float]
    verdict: Prospect
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
    labels: tuple[LabelForecast, ...] = ()
    reasons: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def sentence(self) -> str:
        """The verdict in plain words, with its uncertainty, and what else the data says."""
        what = "which word of a text its label comes from" if self.kind == "labels" else "which word comes from which"
        low, high = self.interval
        verdict = {
            "likely to be learned": f"Attention is likely to learn {what}",
            "may be learned": f"Attention may learn {what}, but the sign is weak",
            "no reason to be learned": f"Co-occurrence gives attention no reason to learn {what}",
            "too little data to tell": f"There is too little data to tell whether attention will learn {what}",
        }[self.verdict]
        bits = f"95 % interval {low:.3f} to {high:.3f}; likely from {LIKELY} on, no reason below {WEAK}"
        if self.gain < 0.0005:  # what is printed as 0.000 or less
            measured = (
                "the word of a sentence that looks best in one part of the data says no more than its neighbours in "
                f"another (gain {self.gain:.3f} bits, and 0 or less is none; {bits})"
            )
        else:
            measured = f"the best word of a sentence says {self.gain:.3f} bits more than its average word ({bits})"
        return " ".join([f"{verdict}: {measured}.", *self.reasons])

    def to_json(self) -> dict[str, Any]:
        """All of it in plain values."""
        return {**asdict(self), "sentence": self.sentence}

    def save(self, path: str | Path, name: str = "your data") -> Path:
        """Write a page (.html) or all numbers (.json), as ``path`` ends; ``name`` says what was forecast.

        >>> import tempfile
        >>> words = [[f"w{k}", f"w{k % 5}"] for k in range(12)]
        >>> pairs = SentencePairs.from_tokens(words, words)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     forecast(pairs).save(f"{folder}/forecast.json").name
        'forecast.json'
        """
        from attnlab.pages.forecast import save_forecast  # pages read forecasts, and only this one call needs pages

        return save_forecast(Path(path), self, name)


def forecast(
    data: SentencePairs | LabelledTexts,
    *,
    kind: Kind | None = None,
    seed: int = 0,
    watch: Watch = lambda _: None,
    reader: Reader | None = None,
) -> Forecast:
    """Forecast from sentence pairs, or from labelled texts, whose label is their one output word.

    ``data``: what `attnlab.data.sentence_pairs.read_pairs` and `attnlab.data.texts.read_texts` return. ``kind``:
    "labels" where the targets of sentence pairs are labels. ``seed``: which sentences are in which third.
    ``watch``: called with what is done next. ``reader``: who reads, if not this process.

    >>> from attnlab.seeds import numpy_generator
    >>> words = numpy_generator(0).permuted(np.tile(np.arange(12), (300, 1)), axis=1)
    >>> for name, copied in (("all 12 words", words), ("6 of 12 words", words[:, :6])):
    ...     result = forecast(SentencePairs.from_ids(copied, copied))
    ...     print(f"{name}: {result.gain:.2f} bits, {result.verdict}")
    all 12 words: 0.00 bits, no reason to be learned
    6 of 12 words: 0.87 bits, likely to be learned
    """
    pairs, kind = _checked(data, kind)
    _check_words(pairs, kind)
    gains = read_gains(pairs, seed=seed, watch=watch, reader=reader)
    interval = gain_interval(gains)
    verdict = prospect_of(interval)
    labels = _labels(gains) if kind == "labels" else ()
    watch("looking for what else the data says")
    reasons: tuple[str, ...] = ()
    if kind == "labels":
        texts = data.texts if isinstance(data, LabelledTexts) else None
        checks = check_labels(gains, texts, pairs=verdict in UNCLEAR) if _one_word_each(gains.pairs) else None
        reasons = _label_reasons(verdict, labels, checks)
    elif verdict == "no reason to be learned":
        reasons = _pair_reasons(gains)
    return Forecast(
        kind=kind,
        gain=gains.mean,
        interval=interval,
        verdict=verdict,
        sentences=len(gains.pairs),
        tokens=len(gains.gain),
        input_words=len(np.unique(gains.pairs.source)),
        output_words=len(np.unique(gains.output)),
        derivative_gain=float(gains.derivative_gain.mean()),
        information=float(gains.information.mean()),
        mutual_information=gains.mutual_information,
        **named_words(gains, kind == "labels", LIKELY),
        labels=labels,
        reasons=reasons,
        notes=_notes(data, pairs, gains),
    )


def gain_interval(gains: Gains) -> tuple[float, float]:
    """The 95 % interval of the mean gain.

    Two sources of chance, added as squares: which sentences are read (they are the units, as words of one sentence hang
    together, and equal sentences are one unit), and which went into the tables, seen in how the thirds differ (three
    values: Student's t with 2 degrees).
    """
    return _interval(gains.gain, gains.group[gains.pair], gains.fold)


def _interval(gain: Floats, unit: Ints, fold: Ints) -> tuple[float, float]:
    mean = float(gain.mean())
    count = np.bincount(unit)
    spread = np.bincount(unit, gain) - mean * count
    over_sentences = stats.norm.ppf(0.975) * np.sqrt((spread**2).sum()) / count.sum()
    thirds = np.bincount(fold, gain) / np.bincount(fold)
    over_thirds = stats.t.ppf(0.975, FOLDS - 1) * thirds.std(ddof=1) / np.sqrt(FOLDS)
    half = float(np.hypot(over_sentences, over_thirds))
    return mean - half, mean + half


def prospect_of(interval: tuple[float, float]) -> Prospect:
    """What an interval of the gain means.

    >>> prospect_of((0.2, 0.3)), prospect_of((0.03, 0.04)), prospect_of((0.0, 0.0)), prospect_of((-0.1, 0.3))
    ('likely to be learned', 'may be learned', 'no reason to be learned', 'too little data to tell')
    """
    low, high = interval
    if low >= LIKELY:
        return "likely to be learned"
    if high < WEAK or (low <= 0 and high < LIKELY):
        return "no reason to be learned"
    return "may be learned" if low > 0 else "too little data to tell"


def _checked(data: object, kind: Kind | None) -> tuple[SentencePairs, Kind]:
    """Pairs and their kind, if ``data`` and ``kind`` are what a forecast can take."""
    readers = "attnlab.read_texts (labelled texts) or attnlab.read_pairs (sentence pairs)"
    if isinstance(data, str | Path):
        raise UsageError(f"{str(data)[:200]!r} is a path; read it with {readers}, and forecast what they return.")
    if kind is not None and kind not in get_args(Kind):
        raise UsageError(f"There is no kind {kind!r}; known kinds are {', '.join(get_args(Kind))}.")
    if isinstance(data, LabelledTexts):
        return data.pairs, kind or "labels"
    if isinstance(data, SentencePairs):
        return data, kind or "pairs"
    raise UsageError(f"A forecast needs what {readers} return, not {type(data).__name__}.")


def _check_words(pairs: SentencePairs, kind: Kind) -> None:
    used = len(np.unique(pairs.target))
    if kind == "labels" and used == 1:
        raise UsageError(f"All texts have the label {pairs.target_words[pairs.target[0]]!r}; a forecast needs two.")
    for side, count in (("input", len(np.unique(pairs.source))), ("output", used)):
        if count == 1:
            raise UsageError(f"The {side} has one word only, so there is nothing to distinguish.")


def _one_word_each(pairs: SentencePairs) -> bool:
    return len(pairs.target) == len(pairs)


# --- why, and what to know of the data


def _labels(gains: Gains) -> tuple[LabelForecast, ...]:
    """Each of the `LABELS` commonest labels by itself."""
    count = np.bincount(gains.output)
    labels = []
    for one in np.argsort(-count, kind="stable")[: min(LABELS, np.count_nonzero(count))].tolist():
        rows = np.flatnonzero(gains.output == one)
        gain, unit, fold = gains.gain[rows], gains.group[gains.pair[rows]], gains.fold[rows]
        interval = None
        if len(np.unique(unit)) >= OFTEN and len(np.unique(fold)) == FOLDS:
            interval = _interval(gain, unit, fold)
        verdict: Prospect = "too little data to tell" if interval is None else prospect_of(interval)
        labels.append(LabelForecast(gains.pairs.target_words[one], len(rows), float(gain.mean()), interval, verdict))
    return tuple(labels)


def _label_reasons(verdict: Prospect, labels: Sequence[LabelForecast], checks: Checks | None) -> tuple[str, ...]:
    """What else labelled texts say, a sentence each; where there is no reason, which of its kinds it is."""
    reasons: list[str] = []
    total = sum(one.texts for one in labels)
    if verdict != "likely to be learned":
        reasons += [
            f"The label {one.label[:40]!r} is rare ({one.texts} of {total} texts) and {one.verdict}: on its own texts "
            f"the gain is {one.gain:.3f} bits, which the mean over all texts hides."
            for one in labels
            if one.verdict == "likely to be learned" and one.texts * len(labels) < total
        ][:NAMED]
    hidden = bool(reasons)
    if rare := {one.label for one in labels if one.interval is None}:
        reasons.append(f"Too rare for a forecast of their own (below {OFTEN} different texts): {few(rare)}.")
    if checks is None:
        return tuple(reasons)
    words, raw = checks.words, checks.raw
    shares = f"{words.share:.0%} of texts held out, averaged over labels; by chance {words.chance:.0%}"
    if checks.thrown_away and raw is not None:
        reasons.append(
            "Capitals, punctuation and symbols, which are thrown away when texts are cut into words, say more about "
            f"the label than words do: they name it in {raw.share:.0%} of texts held out, words in {words.share:.0%} "
            f"(by chance {words.chance:.0%}). The clearest are {checks.clearest[0]}, for {checks.clearest[1][:40]!r}."
        )
    if checks.pair is not None:
        first, second, bits = checks.pair
        reasons.append(
            f"The sign is in pairs of words: {first!r} and {second!r} together say {bits:.3f} bits more about the "
            "label than both do alone. A forecast counts single words, so it cannot see whether attention learns this."
        )
    if verdict != "no reason to be learned" or hidden:
        return tuple(reasons)
    if words.strength >= STRONG:
        reasons.append(
            f"All words of a text together name its label ({shares}), but no word says much more than the others: an "
            "average of them is enough, and attention is not needed."
        )
    elif words.above(words.chance):
        reasons.append(f"Words name the label better than chance ({shares}), but too weakly to show which words do.")
    elif not checks.thrown_away and checks.pair is None:
        also = "" if raw is None else ", nor capitals, punctuation and symbols"
        reasons.append(
            f"The labels look like noise: words do not name them better than chance ({shares}), nor do pairs "
            f"of the {checks.common} commonest words{also}. Rarer pairs, three words together and order are not seen."
        )
    return tuple(reasons)


def _pair_reasons(gains: Gains) -> tuple[str, ...]:
    """Why no word of a sentence says more than the others about its output words."""
    low, _ = _interval(gains.together, gains.group[gains.pair], gains.fold)
    if low > WEAK:
        return (
            f"The words of a sentence together say {gains.together.mean():.3f} bits about each output word, but each "
            "of them says the same.",
        )
    source, offsets = gains.pairs.source, gains.pairs.source_offsets
    sentence = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    different = len(np.unique(sentence * len(gains.pairs.source_words) + source)) / (len(offsets) - 1)
    if different > 0.9 * len(np.unique(source)):
        return ("Nearly all sentences have the same input words, as permutations do: only their order differs.",)
    return (
        "Which words are in the input says nothing about which are in the output: they are not related, or the lines "
        "of the two sides do not belong together.",
    )


def _notes(data: SentencePairs | LabelledTexts, pairs: SentencePairs, gains: Gains) -> tuple[str, ...]:
    """What to know of the data: what was set aside, thinned or repeated, then the notes of its reader."""
    notes = []
    what, places = "line", np.arange(1, len(pairs) + 1)
    if isinstance(data, LabelledTexts):
        what, places = "row", data.rows
    sentences = int((np.diff(pairs.source_offsets) > 0).sum())
    if len(gains.huge):
        sides = pairs.source_offsets, *([] if _one_word_each(gains.pairs) else [pairs.target_offsets])
        named = [
            f"{what} {places[k]}: {' and '.join(str(side[k + 1] - side[k]) for side in sides)} words"
            for k in gains.huge[:5].tolist()
        ]
        notes.append(
            f"{len(gains.huge)} of {sentences} sentences {'is' if len(gains.huge) == 1 else 'are'} far longer than "
            f"the others and set aside ({'; '.join(named)}{'; ...' * (len(gains.huge) > 5)})."
        )
    if gains.thinned:
        notes.append(
            f"{len(gains.order)} of {sentences} sentences are read, drawn at random: all together have too many pairs "
            "of words."
        )
    if repeated := len(gains.group) - int(gains.group[-1]) - 1:
        notes.append(
            f"{repeated} of {len(gains.group)} sentences repeat another one. Equal sentences are in the same third, so "
            "that none is read from a count of itself, and the interval takes them for one."
        )
    for side, offsets, ids, words in (
        ("input", pairs.source_offsets, pairs.source, pairs.source_words),
        ("output", pairs.target_offsets, pairs.target, pairs.target_words),
    ):
        lengths_here = np.diff(offsets)
        if isinstance(data, SentencePairs) and np.median(lengths_here[lengths_here > 0]) == 1:
            letters = np.mean([len(words[one]) for one in ids[: 10 * NAMED].tolist()])
            if letters >= 10:
                notes.append(
                    f"Most {side} sentences have no space in them. Words are what is between spaces: cut such a text "
                    "into words or characters first."
                )
    if isinstance(data, LabelledTexts):
        return tuple(dict.fromkeys(explain_rows([*notes, *data.notes], data.path)))
    return tuple(notes)

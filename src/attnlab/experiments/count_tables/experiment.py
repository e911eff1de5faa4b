"""Count tables (P3 4.3, Figures 1, 3, 4, 6; blog; slides): what co-occurrence says about a few sentences, to look at.

For each small corpus the count table C, Trans(o | i) and the alignment of one sentence, and what the slides conclude
from them, decided from the numbers. Nothing here is trained but a logistic read-out of two sentences.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations

import altair as alt
import numpy as np
from numpy.typing import NDArray

from attnlab.data.sentence_pairs import SentencePairs
from attnlab.families.copying.task import Permutations
from attnlab.lab.claims import Finding, Part, Verdict
from attnlab.lab.experiment import Experiment, Order, Result, Table
from attnlab.pages.charts import COLOURS, heat_map, panels
from attnlab.runs.loop import Trained
from attnlab.seeds import numpy_generator
from attnlab.stats.bootstrap import bootstrap_interval
from attnlab.theory.counts import alpha_ibm, count_table
from attnlab.theory.ibm1 import train_ibm1
from attnlab.theory.relevance import EVERY, RATE, STEPS, WORDS, Descent, closed_form, descend

EXACT = 1e-12
"""Differences up to this are rounding."""
ITERATIONS = (1, 2, 5, 20, 100, 1000)
"""Iterations of IBM Model 1 after which tables are looked at; the last counts as its end."""
SEPARATED = 0.99
CANCELS = 0.1
"""Largest change of a shared word that counts as none, as a share of the class words' change."""
SEEDS = 20


@dataclass(frozen=True)
class Corpus:
    """A few pairs, and the one whose alignment is shown."""

    name: str
    title: str
    pairs: SentencePairs
    shown: int = 0


def _corpus(name: str, title: str, *sentences: tuple[str, str]) -> Corpus:
    source, target = ([text.split() for text in side] for side in zip(*sentences, strict=True))
    return Corpus(name, title, SentencePairs.from_tokens(source, target))


def _copied(name: str, title: str, sequences: Sequence[Sequence[int]], words: Sequence[int]) -> Corpus:
    """Sequences copied; an output word is its input word with a prime, as in the blog."""
    source = [[str(word) for word in sequence] for sequence in sequences]
    target = [[f"{word}'" for word in sequence] for sequence in sequences]
    pairs = SentencePairs.from_tokens(source, target)
    ids = np.array([pairs.source_words.index(str(word)) for word in words])
    place = np.argsort(ids).astype(np.int32)  # rows and columns in the order of ``words``
    names = [str(word) for word in words]
    return Corpus(
        name,
        title,
        SentencePairs(
            place[pairs.source],
            pairs.source_offsets,
            place[pairs.target],
            pairs.target_offsets,
            names,
            [f"{word}'" for word in names],
        ),
    )


ONE_PAIR = _corpus("one-pair", "One pair (slides)", ("This movie is great", "Dieser Film ist großartig"))
TWO_PAIRS = _corpus(
    "two-pairs",
    "Two pairs (slides)",
    ("This movie is great", "Dieser Film ist großartig"),
    ("This movie is bad", "Dieser Film ist schlecht"),
)
CORPORA = (
    ONE_PAIR,
    TWO_PAIRS,
    _corpus(
        "translation",
        "Translation (as in Figure 1; sentences of ours)",
        ("dieser Film ist großartig", "this movie is great"),
        ("dieser Film ist schlecht", "this movie is bad"),
        ("das Buch ist großartig", "the book is great"),
        ("ein Film", "a movie"),
    ),
    _copied("permutations", "Permutations of 3 (Figure 3, blog)", list(permutations(range(1, 4))), range(1, 4)),
    _copied("selections", "3 of 5 (blog)", list(permutations(range(1, 6), 3)), range(1, 6)),
    _copied(
        "mixture",
        "Permutations of either of two sets of 3 (Figure 6)",
        [*permutations(range(1, 4)), *permutations(range(4, 7))],
        range(1, 7),
    ),
    _corpus(
        "classification",
        "Classification (as in Figure 4; sentences of ours)",
        ("this movie is great", "positive"),
        ("this movie is bad", "negative"),
        ("a great story", "positive"),
        ("a bad story", "negative"),
    ),
)


class CountTables(Experiment):
    """The small corpora of the papers, the blog and the slides."""

    name = "count-tables"
    title = "What co-occurrence says about a few sentences"
    source = "P3 4.3, Figures 1, 3, 4, 6; blog; slides"

    def analyse(self, order: Order, done: Mapping[str, Trained]) -> Result:  # noqa: ARG002 (nothing to train)
        starts = [0.1 * numpy_generator(seed, "relevance").standard_normal(5) for seed in order.first(range(SEEDS))]
        runs = [descend(start) for start in starts]
        findings = decide(runs)
        return Result(
            summary=tell(findings),
            tables={
                "counts": [row for corpus in CORPORA for row in count_rows(corpus)],
                "alignments": [row for corpus in CORPORA for row in alignment_rows(corpus)],
                "iterations": iteration_rows(),
                "relevance": relevance_rows(runs),
            },
            figures={**{corpus.name: figure(corpus) for corpus in CORPORA}, "relevance": relevance_figure(runs)},
            findings=findings,
            notes=(
                "C as in P3 4.2: 1/L for each time an input and an output word stand in one pair. The slides count "
                "whole numbers; theirs are C times L.",
                "Alignments are those of the first count; the table iterations follows IBM Model 1 further.",
                "The slides' two-sentence classification starts at relevance drawn from N(0, 0.1^2), 20 times, and "
                "once at 0, where it has a closed form.",
                "quick, reduced and paper are the same here.",
            ),
            seeds={"relevance": order.first(range(SEEDS))},
        )


# --- tables


def count_rows(corpus: Corpus) -> Table:
    """C and Trans of every pair of words."""
    table = count_table(corpus.pairs)
    counts, trans = table.dense(), table.normalised().dense()
    return [
        {"corpus": corpus.name, "input": i, "output": o, "count": float(counts[a, b]), "trans": float(trans[a, b])}
        for a, i in enumerate(table.input_words)
        for b, o in enumerate(table.output_words)
    ]


def alignment_rows(corpus: Corpus) -> Table:
    """alpha_ibm of the sentence that is shown."""
    inputs, outputs, alpha = alignment(corpus)
    return [
        {"corpus": corpus.name, "output": o, "position": place + 1, "input": i, "alpha": float(alpha[t, place])}
        for t, o in enumerate(outputs)
        for place, i in enumerate(inputs)
    ]


def alignment(corpus: Corpus) -> tuple[list[str], list[str], NDArray[np.float64]]:
    """Words of the sentence that is shown, and its alpha_ibm (target, source)."""
    pairs = corpus.pairs
    (a, b), (c, d) = (
        offsets[corpus.shown : corpus.shown + 2] for offsets in (pairs.source_offsets, pairs.target_offsets)
    )
    field = alpha_ibm(count_table(pairs), pairs)
    return (
        [pairs.source_words[word] for word in pairs.source[a:b]],
        [pairs.target_words[word] for word in pairs.target[c:d]],
        np.array([field.row(t) for t in range(c, d)]),
    )


def iteration_rows() -> Table:
    """The two pairs under more iterations of IBM Model 1: what its words' tables come to."""
    rows = []
    for iterations in ITERATIONS:
        trans = trans_after(TWO_PAIRS.pairs, iterations)
        rows.append(
            {
                "iterations": iterations,
                "great_to_grossartig": float(trans[3, 3]),
                "this_to_dieser": float(trans[0, 0]),
                "this_to_film": float(trans[0, 1]),
                "spread_of_shared": float(np.ptp(trans[:3, :3])),
            }
        )
    return rows


def trans_after(pairs: SentencePairs, iterations: int) -> NDArray[np.float64]:
    """Trans (inputs, outputs) after so many iterations."""
    return train_ibm1(pairs, iterations=iterations).table.dense()


def relevance_rows(runs: Sequence[Descent]) -> Table:
    """Every run's relevance of every word; run -1 starts at 0."""
    numbered = [(-1, descend(np.zeros(5))), *enumerate(runs)]
    return [
        {"seed": seed, "time": float(time), "word": word, "relevance": float(value)}
        for seed, run in numbered
        for time, values in zip(run.times, run.relevance, strict=True)
        for word, value in zip(WORDS, values, strict=True)
    ]


# --- claims


def decide(runs: Sequence[Descent]) -> tuple[Finding, ...]:
    """The verdicts; `claims.toml` says the rules in words."""
    return (
        Finding("proxy-blind-to-permutations", tuple(equal_entries(n) for n in (3, 40))),
        Finding("one-pair-uninformative", (one_pair(),)),
        Finding("two-pairs-separate", (slide_counts(), differing_word(), shared_words())),
        Finding("shared-words-cancel", (from_zero(), cancels(runs), grows(runs))),
    )


def equal_entries(words: int) -> Part:
    """Holds if all entries of the count table of permutations are equal."""
    drawn = Permutations(words).draw(200, numpy_generator(0, "count-tables"))
    counts = count_table(SentencePairs.from_ids(drawn, drawn, words)).dense()
    spread = float(np.ptp(counts) / counts.max())
    detail = f"The entries of the count table of 200 permutations differ by {spread:.1g} of the largest."
    return Part(f"count table, permutations of {words}", _exactly(spread), spread, None, "exact", detail)


def one_pair() -> Part:
    """Holds if one pair's Trans has equal entries after any number of iterations, whatever its lengths."""
    spread = 0.0
    for inputs in range(1, 7):
        for outputs in range(1, 7):
            words = [[f"i{k}" for k in range(inputs)]], [[f"o{k}" for k in range(outputs)]]
            for iterations in ITERATIONS[:-1]:
                spread = max(spread, float(np.ptp(trans_after(SentencePairs.from_tokens(*words), iterations))))
    detail = (
        f"Largest difference of two entries {spread:.1g}, pairs of 1 to 6 words on each side, up to 100 iterations."
    )
    return Part("one pair of distinct words", _exactly(spread), spread, None, "exact", detail)


def slide_counts() -> Part:
    """Holds if C times L is the table on the slide."""
    slide = np.array([[2, 2, 2, 1, 1]] * 3 + [[1, 1, 1, 1, 0], [1, 1, 1, 0, 1]])
    distance = float(np.abs(4 * count_table(TWO_PAIRS.pairs).dense().T - slide).max())
    return Part(
        "the slide's counts",
        _exactly(distance),
        distance,
        None,
        "exact",
        f"C times 4 differs by {distance:.1g} from them.",
    )


def differing_word() -> Part:
    """Holds if the word in which the pairs differ ends on its own translation."""
    first, last = (trans_after(TWO_PAIRS.pairs, n) for n in (1, ITERATIONS[-1]))
    alpha = alignment(TWO_PAIRS)[2][3]
    verdict: Verdict = "holds" if last[3, 3] > SEPARATED else "fails"
    detail = (
        f"Trans(großartig | great) is {first[3, 3]:.2f} after the first count, as of any word of its sentence, "
        f"and {last[3, 3]:.4f} after {ITERATIONS[-1]} iterations; großartig is aligned to great by {alpha[3]:.2f} at "
        f"once, to each shared word by {alpha[0]:.2f}."
    )
    return Part("the word that differs", verdict, float(last[3, 3]), None, "exact", detail)


def shared_words() -> Part:
    """Holds if the shared words stay alike; so far and no further the slide's conclusion goes."""
    spread = max(float(np.ptp(trans_after(TWO_PAIRS.pairs, n)[:3, :3])) for n in ITERATIONS)
    detail = (
        f"The nine entries of the shared words differ by {spread:.1g} after up to {ITERATIONS[-1]} iterations: which "
        "of dieser, Film, ist goes with which of This, movie, is cannot be recovered from these two pairs."
    )
    return Part("the shared words stay alike", _exactly(spread), spread, None, "exact", detail)


def from_zero() -> Part:
    """Holds if, from 0, shared words stay there exactly and the class words follow the closed form."""
    fine = descend(np.zeros(5), rate=RATE / 10, steps=10 * STEPS, every=10 * EVERY)
    shared = float(np.abs(fine.relevance[:, :3]).max())
    expected = closed_form(fine.times)
    distance = float(np.abs(fine.relevance[:, 3] - expected).max() / expected[-1])
    verdict: Verdict = "holds" if shared <= EXACT and distance < 1e-3 else "fails"
    detail = (
        f"Shared words move by {shared:.1g}; great rises to {expected[-1]:.2f} by the closed form, from which descent "
        f"differs by {distance:.1g} of it."
    )
    return Part("from relevance 0", verdict, shared, None, "exact", detail)


def cancels(runs: Sequence[Descent]) -> Part:
    """Holds if shared words change by less than a tenth of what class words do: interval over starts below it."""
    shares = [float(np.abs(run.change[:3]).mean() / ((run.change[3] - run.change[4]) / 2)) for run in runs]
    return _compared("shared words cancel", shares, below=CANCELS, what="of the class words' change")


def grows(runs: Sequence[Descent]) -> Part:
    """Holds if great gains and bad loses relevance: interval over starts of the lesser of both above 0."""
    growth = [float(min(run.change[3], -run.change[4])) for run in runs]
    return _compared("class words grow", growth, above=0.0, what="more relevance for the lesser of great and -bad")


def _compared(
    name: str, values: Sequence[float], *, what: str, below: float | None = None, above: float | None = None
) -> Part:
    mean, interval = float(np.mean(values)), bootstrap_interval(values)
    verdict: Verdict = "undecided"
    if interval is not None and below is not None:
        verdict = "holds" if interval[1] < below else "fails" if interval[0] > below else "undecided"
    elif interval is not None and above is not None:
        verdict = "holds" if interval[0] > above else "fails" if interval[1] < above else "undecided"
    detail = f"Mean {mean:.3g} {what}, over {len(values)} random starts."
    return Part(name, verdict, mean, interval, "random starts", detail)


def _exactly(difference: float) -> Verdict:
    return "holds" if difference <= EXACT else "fails"


def tell(findings: Sequence[Finding]) -> str:
    """The result in plain words."""
    return " ".join(f"{part.name}: {part.verdict}. {part.detail}" for finding in findings for part in finding.parts)


# --- figures


def figure(corpus: Corpus) -> alt.TopLevelMixin:
    """Count table, Trans and the alignment of one sentence, side by side."""
    table = count_table(corpus.pairs)
    inputs, outputs, alpha = alignment(corpus)
    parts = [
        heat_map(values, rows=table.input_words, columns=table.output_words, title=title)
        for values, title in (
            (table.dense().tolist(), "count table C"),
            (table.normalised().dense().tolist(), "Trans(output | input)"),
        )
    ]
    parts.append(heat_map(alpha.tolist(), rows=outputs, columns=inputs, title=f"alignment of '{' '.join(inputs)}'"))
    chart: alt.HConcatChart = (
        alt.hconcat(*parts, spacing=30)
        .resolve_scale(color="independent", x="independent", y="independent")
        .properties(title=alt.TitleParams(corpus.title, anchor="start", fontSize=14))
    )
    return chart


def relevance_figure(runs: Sequence[Descent]) -> alt.TopLevelMixin:
    """Relevance of each word through training: every start, and the closed form."""
    rows = [
        {**row, "what": "closed form from 0" if row["seed"] < 0 else "descent from random starts"}
        for row in relevance_rows(runs)
        if row["seed"] >= 0
    ]
    times = runs[0].times
    formula = closed_form(times)
    for word, sign in zip(WORDS, (0, 0, 0, 1, -1), strict=True):
        rows += [
            {"seed": -1, "time": float(t), "word": word, "relevance": float(sign * r), "what": "closed form from 0"}
            for t, r in zip(times, formula, strict=True)
        ]
    lines = (
        alt.Chart()
        .mark_line(strokeWidth=1.2, opacity=0.6)
        .encode(
            x=alt.X("time:Q", title="time of the gradient flow"),
            y=alt.Y("relevance:Q", title="relevance r"),
            detail="seed:N",
            color=alt.Color(
                "what:N",
                title=None,
                scale=alt.Scale(
                    domain=["closed form from 0", "descent from random starts"], range=[COLOURS[0], COLOURS[1]]
                ),
                legend=alt.Legend(orient="top", labelLimit=260),
            ),
        )
        .properties(width=150, height=170)
    )
    return panels(rows, column="word", layer=lines, title="Relevance of the words under uniform attention")

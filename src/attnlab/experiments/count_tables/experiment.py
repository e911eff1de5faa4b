"""Count tables (P3 4.3, Figures 1, 3, 4, 6; blog; slides): what co-occurrence says about a few sentences, to look at.

For each small corpus the count table C, Trans(o | i) and the alignment of one sentence, and what the slides conclude
from them, decided from the numbers. Nothing here is trained but a logistic read-out of two sentences.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import permutations, product

import altair as alt
import numpy as np
from numpy.typing import NDArray

from attnlab.data.sentence_pairs import SentencePairs
from attnlab.families.copying.task import Permutations
from attnlab.lab.claims import Part, Verdict
from attnlab.lab.experiment import Experiment, Figures, Table, claim
from attnlab.lab.outcomes import Runs
from attnlab.lab.rules import above, below
from attnlab.pages.charts import CONTRAST, heat_map, hue, panels
from attnlab.seeds import numpy_generator
from attnlab.theory.counts import alpha_ibm, count_table
from attnlab.theory.ibm1 import train_ibm1
from attnlab.theory.relevance import EVERY, RATE, STEPS, WORDS, Descent, closed_form, descend

# --- settings

EXACT = 1e-12
"""Differences up to this are rounding."""
ITERATIONS = (1, 2, 5, 20, 100, 1000)
"""Iterations of IBM Model 1 after which tables are looked at; the last counts as its end."""
SEPARATED = 0.99
CANCELS = 0.1
"""Largest change of a shared word that counts as none, as a share of the class words' change."""
SEEDS = 20


@dataclass(frozen=True)
class Example:
    """A few pairs; the alignment of the first is shown."""

    name: str
    title: str
    pairs: SentencePairs


def _example(name: str, title: str, *sentences: tuple[str, str]) -> Example:
    source, target = ([text.split() for text in side] for side in zip(*sentences, strict=True))
    return Example(name, title, SentencePairs.from_tokens(source, target))


def _copied(name: str, title: str, sequences: Sequence[Sequence[int]], words: Sequence[int]) -> Example:
    """Sequences copied; an output word is its input word with a prime, as in the blog."""
    ids = np.array([[words.index(word) for word in sequence] for sequence in sequences])
    pairs = SentencePairs.from_ids(ids, ids, [str(word) for word in words])
    return Example(name, title, replace(pairs, target_words=[f"{word}'" for word in words]))


ONE_PAIR = _example("one-pair", "One pair (slides)", ("This movie is great", "Dieser Film ist großartig"))
TWO_PAIRS = _example(
    "two-pairs",
    "Two pairs (slides)",
    ("This movie is great", "Dieser Film ist großartig"),
    ("This movie is bad", "Dieser Film ist schlecht"),
)
EXAMPLES = (
    ONE_PAIR,
    TWO_PAIRS,
    _example(
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
    _example(
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
    trains = False

    def measure(self, runs: Runs) -> None:  # noqa: ARG002 (nothing is trained in the store)
        """Descents of the slides' two-sentence classification, finely from 0 and from random starts."""
        self.from_zero = descend(np.zeros(5), rate=RATE / 10, steps=10 * STEPS, every=10 * EVERY)
        starts = [0.1 * numpy_generator(seed, "relevance").standard_normal(5) for seed in self.seeds()["relevance"]]
        self.descents = [descend(start) for start in starts]

    def seeds(self) -> dict[str, list[int]]:
        return {"relevance": self.order.first(range(SEEDS))}

    # --- rules

    @claim("proxy-blind-to-permutations")
    def permutations_count_alike(self) -> Iterator[Part]:
        for words in (3, 40):
            drawn = Permutations(words).draw(200, numpy_generator(0, "count-tables"))
            counts = count_table(SentencePairs.from_ids(drawn, drawn, words)).dense()
            spread = float(np.ptp(counts) / counts.max())
            detail = f"The entries of the count table of 200 permutations differ by {spread:.1g} of the largest."
            yield exactly(f"count table, permutations of {words}", spread, detail)

    @claim("one-pair-uninformative")
    def one_pair_counts_alike(self) -> Part:
        spread = 0.0
        for inputs, outputs, iterations in product(range(1, 7), range(1, 7), ITERATIONS[:-1]):
            words = [[f"i{k}" for k in range(inputs)]], [[f"o{k}" for k in range(outputs)]]
            spread = max(spread, float(np.ptp(trans_after(SentencePairs.from_tokens(*words), iterations))))
        detail = (
            f"Largest difference of two entries {spread:.1g}, pairs of 1 to 6 words on each side, up to 100 iterations."
        )
        return exactly("one pair of distinct words", spread, detail)

    @claim("two-pairs-separate")
    def two_pairs(self) -> Iterator[Part]:
        """The slide's counts; the word that differs ends on its own translation; the shared words stay alike."""
        slide = np.array([[2, 2, 2, 1, 1]] * 3 + [[1, 1, 1, 1, 0], [1, 1, 1, 0, 1]])
        distance = float(np.abs(4 * count_table(TWO_PAIRS.pairs).dense().T - slide).max())
        yield exactly("the slide's counts", distance, f"C times 4 differs by {distance:.1g} from them.")

        first, last = (trans_after(TWO_PAIRS.pairs, n) for n in (1, ITERATIONS[-1]))
        alpha = alignment(TWO_PAIRS)[2][3]
        verdict: Verdict = "holds" if last[3, 3] > SEPARATED else "fails"
        detail = (
            f"Trans(großartig | great) is {first[3, 3]:.2f} after the first count, as of any word of its sentence, "
            f"and {last[3, 3]:.4f} after {ITERATIONS[-1]} iterations; großartig is aligned to great by {alpha[3]:.2f} "
            f"at once, to each shared word by {alpha[0]:.2f}."
        )
        yield Part("the word that differs", verdict, float(last[3, 3]), None, "exact", detail)

        spread = max(float(np.ptp(trans_after(TWO_PAIRS.pairs, n)[:3, :3])) for n in ITERATIONS)
        detail = (
            f"The nine entries of the shared words differ by {spread:.1g} after up to {ITERATIONS[-1]} iterations: "
            "which of dieser, Film, ist goes with which of This, movie, is cannot be recovered from these two pairs."
        )
        yield exactly("the shared words stay alike", spread, detail)

    @claim("shared-words-cancel")
    def shared_words_cancel(self) -> Iterator[Part]:
        shared = float(np.abs(self.from_zero.relevance[:, :3]).max())
        expected = closed_form(self.from_zero.times)
        distance = float(np.abs(self.from_zero.relevance[:, 3] - expected).max() / expected[-1])
        verdict: Verdict = "holds" if shared <= EXACT and distance < 1e-3 else "fails"
        detail = (
            f"Shared words move by {shared:.1g}; great rises to {expected[-1]:.2f} by the closed form, from which "
            f"descent differs by {distance:.1g} of it."
        )
        yield Part("from relevance 0", verdict, shared, None, "exact", detail)

        changes = [run.change for run in self.descents]
        shares = [float(np.abs(change[:3]).mean() / ((change[3] - change[4]) / 2)) for change in changes]
        detail = mean_of(shares, "of the class words' change")
        yield below("shared words cancel", shares, CANCELS, detail, over="random starts", least=1)
        growth = [float(min(change[3], -change[4])) for change in changes]
        detail = mean_of(growth, "more relevance for the lesser of great and -bad")
        yield above("class words grow", growth, 0.0, detail, over="random starts", least=1)

    # --- tables, figures, words

    def tables(self) -> Mapping[str, Table]:
        return {
            "counts": [row for example in EXAMPLES for row in count_rows(example)],
            "alignments": [row for example in EXAMPLES for row in alignment_rows(example)],
            "iterations": iteration_rows(),
            "relevance": relevance_rows(self.descents),
        }

    def figures(self) -> Figures:
        tables = {example.name: table_figure(example) for example in EXAMPLES}
        return {**tables, "relevance": relevance_figure(self.descents)}

    def summary(self) -> str:
        parts = [part for finding in self.findings() for part in finding.parts]
        return " ".join(f"{part.name}: {part.verdict}. {part.detail}" for part in parts)

    def notes(self) -> list[str]:
        return [
            "C as in P3 4.2: 1/L for each time an input and an output word stand in one pair. The slides count whole "
            "numbers; theirs are C times L.",
            "Alignments are those of the first count; the table iterations follows IBM Model 1 further.",
            "The slides' two-sentence classification starts at relevance drawn from N(0, 0.1^2), 20 times, and once at "
            "0, where it has a closed form.",
            "quick, reduced and paper are the same here.",
        ]


def exactly(name: str, difference: float, detail: str) -> Part:
    """Holds if a difference is no more than rounding, which is the effect."""
    return Part(name, "holds" if difference <= EXACT else "fails", difference, None, "exact", detail)


def mean_of(values: Sequence[float], what: str) -> str:
    """A mean over random starts as a sentence."""
    return f"Mean {np.mean(values):.3g} {what}, over {len(values)} random starts."


# --- tables


def count_rows(example: Example) -> Table:
    """C and Trans of every pair of words."""
    table = count_table(example.pairs)
    counts, trans = table.dense(), table.normalised().dense()
    return [
        {"corpus": example.name, "input": i, "output": o, "count": float(counts[a, b]), "trans": float(trans[a, b])}
        for a, i in enumerate(table.input_words)
        for b, o in enumerate(table.output_words)
    ]


def alignment_rows(example: Example) -> Table:
    """alpha_ibm of the sentence that is shown."""
    inputs, outputs, alpha = alignment(example)
    return [
        {"corpus": example.name, "output": o, "position": place + 1, "input": i, "alpha": float(alpha[t, place])}
        for t, o in enumerate(outputs)
        for place, i in enumerate(inputs)
    ]


def alignment(example: Example) -> tuple[list[str], list[str], NDArray[np.float64]]:
    """Words of the sentence that is shown, and its alpha_ibm (target, source)."""
    pairs = example.pairs
    inputs, outputs = pairs.source_offsets[1], pairs.target_offsets[1]
    field = alpha_ibm(count_table(pairs), pairs)
    return (
        [pairs.source_words[word] for word in pairs.source[:inputs]],
        [pairs.target_words[word] for word in pairs.target[:outputs]],
        np.array([field.row(t) for t in range(outputs)]),
    )


def iteration_rows() -> Table:
    """The two pairs under more iterations of IBM Model 1: what its words' tables come to."""
    entries = {"great_to_grossartig": (3, 3), "this_to_dieser": (0, 0), "this_to_film": (0, 1)}
    rows: list[dict[str, float]] = []
    for iterations in ITERATIONS:
        trans = trans_after(TWO_PAIRS.pairs, iterations)
        row = {"iterations": iterations} | {name: float(trans[place]) for name, place in entries.items()}
        rows.append(row | {"spread_of_shared": float(np.ptp(trans[:3, :3]))})
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


# --- figures


def table_figure(example: Example) -> alt.TopLevelMixin:
    """Count table, Trans and the alignment of one sentence, side by side."""
    table = count_table(example.pairs)
    inputs, outputs, alpha = alignment(example)
    parts = [
        heat_map(values, rows=table.input_words, columns=table.output_words, title=title, darkest=darkest)
        for values, title, darkest in (
            (table.dense().tolist(), "count table C, darkest: its largest", None),
            (table.normalised().dense().tolist(), "Trans(output | input), darkest: 1", 1.0),
        )
    ]
    title = f"alignment of '{' '.join(inputs)}', darkest: 1"
    parts.append(heat_map(alpha.tolist(), rows=outputs, columns=inputs, title=title, darkest=1.0))
    beside = alt.hconcat(*parts, spacing=30).resolve_scale(color="independent", x="independent", y="independent")
    chart: alt.TopLevelMixin = beside.properties(title=alt.TitleParams(example.title, anchor="start", fontSize=14))
    return chart


def relevance_figure(runs: Sequence[Descent]) -> alt.TopLevelMixin:
    """Relevance of each word through training: every start, and the closed form."""
    closed, random = "closed form from 0", "descent from random starts"
    rows = [{**row, "what": random} for row in relevance_rows(runs) if row["seed"] >= 0]
    times = runs[0].times
    rows += [
        {"seed": -1, "time": float(t), "word": word, "relevance": float(sign * r), "what": closed}
        for word, sign in zip(WORDS, (0, 0, 0, 1, -1), strict=True)
        for t, r in zip(times, closed_form(times), strict=True)
    ]
    lines = alt.Chart().mark_line(strokeWidth=1.2, opacity=0.6).properties(width=150, height=170)
    lines = lines.encode(
        x=alt.X("time:Q", title="time of the gradient flow"),
        y=alt.Y("relevance:Q", title="relevance r"),
        detail="seed:N",
        color=hue("what", CONTRAST, domain=[closed, random], labelLimit=260),
    )
    return panels(rows, column="word", layer=lines, title="Relevance of the words under uniform attention")

"""Is attention on SMS less stable between seeds than on other corpora? (P3 A.9)

The paper leaves SMS out of its tables because two seeds gave attentions that hardly agreed, and names what is unusual
about it: short texts, few of them, a small vocabulary. Here the seeds' agreement on SMS is compared with that on the
other corpora of short texts, and so is whose words each seed looks for.

With two classes it is enough to find the words of one of them: a text without any is of the other class. A network that
learned so looks for, say, spam words in a ham message too, and there its attention points away from beta_uf, what each
word says for ham. A(alpha, beta_uf) and A(alpha, -beta_uf), class by class, separate the two ways.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import altair as alt
import numpy as np
from numpy.typing import NDArray

from attnlab.data.corpora import known_corpus
from attnlab.data.labelled_text import sizes
from attnlab.experiments.texts import corpora as shared
from attnlab.fields import ScoreField
from attnlab.lab.claims import Part, Verdict
from attnlab.lab.corpus_runs import best_step, curve_of
from attnlab.lab.experiment import Figures, Order, Table, by_preset, claim
from attnlab.lab.outcomes import Runs
from attnlab.lab.rules import higher, in_words, low_high, missing
from attnlab.measures.agreement import top_agreement
from attnlab.measures.tau import kendall_tau
from attnlab.pages.charts import COLOURS, INK, SIZE, headed, inline, rounded
from attnlab.stats.bootstrap import Floats, divided, interval_over_pairs, spread_over_pairs, value_and_interval

ROLES: tuple[shared.Role, ...] = ("reference", "comparison")
"""The runs whose attention is compared."""
SMS = "sms"
OTHERS = by_preset(("sst",), ("sst", "ag_news"), ("sst", "ag_news"))
"""The other corpora of short texts, by preset."""
TWICE = 2
"""How many times as large the spread on SMS must be, by our margin."""
FOR, AGAINST = "for the text's class", "against it"


class Sms(shared.TextExperiment):
    """Agreement of attention between seeds, on SMS and on other short texts."""

    name = "sms"
    title = "How far attention agrees between seeds, on SMS and on other short texts"
    source = "P3 A.9"
    rows = ()

    def corpora(self, order: Order) -> list[str]:
        """SMS and those of the others whose files are there."""
        return [SMS, *shared.corpora_at_hand(OTHERS[order.preset])]

    def settings_for(self, order: Order) -> list[shared.TextSetting]:
        roles: tuple[shared.Role, ...] = (*ROLES, "uniform")
        return [shared.text_setting(corpus, role, order.preset) for corpus in self.corpora(order) for role in roles]

    def measure(self, runs: Runs) -> None:
        corpora = self.corpora(self.order)
        self.between = {name: compare_seeds(shared.TextRuns(name, self.order.preset, runs)) for name in corpora}

    # --- rule

    @claim("sms-unstable", reads=("pairs",))
    def less_stable(self) -> Iterator[Part]:
        """Holds in direction if attention spreads more over pairs of seeds on SMS; with our margin, twice as much."""
        matrices = {name: matrix_of(self.record.rows("pairs", corpus=name)) for name in self.record.seeds}
        sms = matrices.pop(SMS)
        for name, other in matrices.items():
            ours, theirs = spread_over_pairs(sms, SMS), spread_over_pairs(other, name)
            if ours is None or theirs is None:
                few = f"{len(sms)} and {len(other)} seeds; at least 3 each are needed."
                yield missing(f"sms against {name}", "seeds", few)
                continue
            more, ratio = (value_and_interval(values) for values in (ours - theirs, divided(ours, theirs)))
            assert more is not None  # the spread of all seeds is always there
            direction = higher(more[1], 0)
            verdict: Verdict = "undecided"
            if ratio is not None:
                verdict = "holds" if direction == "holds" and ratio[0] >= TWICE else "undecided"
                verdict = "fails" if ratio[1][1] < TWICE else verdict
            detail = (
                f"A(alpha, alpha') has a standard deviation of {ours[0]:.3f} over pairs of seeds on SMS and of "
                f"{theirs[0]:.3f} on {name}, around {mean_of_pairs(sms):.3f} and {mean_of_pairs(other):.3f}, over "
                f"{len(sms)} and {len(other)} seeds."
            )
            yield Part(f"sms against {name}", verdict, more[0], more[1], "seeds", detail, direction)

    # --- tables, figures, words

    def tables(self) -> dict[str, Table]:
        every = self.between.values()
        return {
            "corpora": [between.line() for between in every],
            "pairs": [line for between in every for line in between.pairs()],
            "classes": [line for between in every for line in between.classes()],
            "evidence": [line for between in every for line in between.evidence()],
        }

    def figures(self) -> Figures:
        tables = self.tables()
        return {"pairs": picture(tables["corpora"], tables["pairs"]), "evidence": evidence_picture(tables["evidence"])}

    def summary(self) -> str:
        each = [
            f"{name}: {mean_of_pairs(one.matrix):.3f} ({in_words(interval_over_pairs(one.matrix))}; chance "
            f"{one.runs.chance:.3f})"
            for name, one in self.between.items()
        ]
        return (
            "How often the position that one seed's attention values most is among the top 5 % of another's, mean over "
            f"pairs of seeds with the 95 % interval over seeds: {'; '.join(each)}."
        )

    def notes(self) -> list[str]:
        return [
            *shared.departures(self.order.preset),
            "Intervals are over seeds: a resample draws as many seeds as there are, with repetition, and averages over "
            "the pairs of different seeds among them. Pairs are not drawn by themselves, since those that share a seed "
            "are alike. Fewer than 3 seeds have no interval.",
            *(f"{name}: {note}" for name, one in self.between.items() for note in one.runs.corpus.notes),
        ]

    def seeds(self) -> dict[str, list[int]]:
        return {name: between.seeds for name, between in self.between.items()}


# --- measures


@dataclass(frozen=True, eq=False)
class Between:
    """The seeds of one corpus, their attention ``alphas``, ``values`` and ``tau`` (seeds, seeds, texts) of all pairs,
    both directions averaged.

    The diagonal, an attention compared with itself, is 1 and is not read.
    """

    runs: shared.TextRuns
    seeds: list[int]
    alphas: list[ScoreField]
    values: Floats
    tau: Floats

    @property
    def matrix(self) -> Floats:
        """A, mean over texts: (seeds, seeds)."""
        return np.asarray(self.values.mean(axis=2))

    def line(self) -> dict[str, Any]:
        """The corpus in a table: agreement, what chance gives, and its sizes beside the paper's."""
        size, paper = sizes(self.runs.corpus), known_corpus(self.runs.name).paper
        matrix, tau, chance = self.matrix, np.nanmean(self.tau, axis=2), self.runs.chance
        value, runs = mean_of_pairs(matrix), [run for role in ROLES for run in self.runs.of(role)]
        return {
            "corpus": self.runs.name,
            "seeds": len(self.seeds),
            "A": value,
            **low_high(interval_over_pairs(matrix)),
            "smallest": float(pairs_of(matrix).min()),
            "largest": float(pairs_of(matrix).max()),
            "chance": chance,
            "of_the_way_to_1": (value - chance) / (1 - chance),
            "tau": mean_of_pairs(tau),
            **low_high(interval_over_pairs(tau), "tau_"),
            "accuracy": float(np.mean([curve_of(run).max() for run in runs])),
            "commonest_class": self.runs.majority,
            "median_length": size.median_length,
            "paper_median_length": paper.median_length,
            "training_texts": size.train,
            "paper_training_texts": paper.train,
            "vocabulary": size.vocabulary,
            "paper_vocabulary": paper.vocabulary,
        }

    def pairs(self) -> Table:
        """Every pair of seeds."""
        matrix, tau = self.matrix, np.nanmean(self.tau, axis=2)
        return [
            {
                "corpus": self.runs.name,
                "seed": self.seeds[i],
                "other_seed": self.seeds[j],
                "A": float(matrix[i, j]),
                "tau": float(tau[i, j]),
            }
            for i, j in zip(*np.triu_indices(len(self.seeds), 1), strict=True)
        ]

    def by_class(self) -> Iterator[tuple[str, NDArray[np.bool_]]]:
        """Every class that has texts, and which are its: (texts,)."""
        labels = self.runs.texts["valid"].labels.numpy()
        for label, name in enumerate(self.runs.corpus.classes):
            if (labels == label).any():
                yield name, labels == label

    def classes(self) -> Table:
        """The same for the texts of each class: where a class has words of its own, attention has something to find."""
        return [
            {
                "corpus": self.runs.name,
                "class": name,
                "texts": int(texts.sum()),
                "A": mean_of_pairs(self.values[:, :, texts].mean(axis=2)),
                "chance": float(self.runs.chances()[texts].mean()),
            }
            for name, texts in self.by_class()
        ]

    def evidence(self) -> Table:
        """For the attention of each seed and the texts of each class: how often its top position is among the 5 % that
        speak most for the class, and among those that speak most against it.

        beta_uf is that of the first uniform run at its most accurate evaluation. Where there are more than two classes,
        what speaks against one speaks for no other in particular.
        """
        uniform, chance = self.runs.of("uniform")[0], self.runs.chances()
        beta_uf = self.runs.field(uniform, best_step(uniform), "valid", "gamma")
        against = ScoreField(-beta_uf.values, beta_uf.offsets)
        table = []
        for seed, alpha in zip(self.seeds, self.alphas, strict=True):
            agreed = {FOR: top_agreement(alpha, beta_uf).expected, AGAINST: top_agreement(alpha, against).expected}
            table += [
                {
                    "corpus": self.runs.name,
                    "class": name,
                    "seed": seed,
                    "evidence": evidence,
                    "A": float(np.mean(values[texts])),
                    "chance": float(chance[texts].mean()),
                    "texts": int(texts.sum()),
                }
                for name, texts in self.by_class()
                for evidence, values in agreed.items()
            ]
        return table


def compare_seeds(runs: shared.TextRuns) -> Between:
    """Compare the attention of all seeds at their best evaluations."""
    outcomes = [outcome for role in ROLES for outcome in runs.outcomes(role)]
    fields = [runs.field(one.run, best_step(one.run), "valid", "alpha") for one in outcomes]
    values, tau = np.ones((2, len(fields), len(fields), len(runs.texts["valid"])))
    for i, one in enumerate(fields):
        for j, other in enumerate(fields[:i]):
            values[i, j] = values[j, i] = (top_agreement(one, other).expected + top_agreement(other, one).expected) / 2
            tau[i, j] = tau[j, i] = kendall_tau(one, other)
    return Between(runs, [outcome.seed for outcome in outcomes], fields, values, tau)


def matrix_of(pairs: Table) -> Floats:
    """The symmetric (seeds, seeds) of a corpus' rows in the table of pairs; the diagonal is 1."""
    seeds = sorted({row[name] for row in pairs for name in ("seed", "other_seed")})
    matrix = np.ones((len(seeds), len(seeds)))
    for row in pairs:
        i, j = seeds.index(row["seed"]), seeds.index(row["other_seed"])
        matrix[i, j] = matrix[j, i] = row["A"]
    return matrix


def pairs_of(matrix: Floats) -> Floats:
    """The values of all pairs of different seeds: (pairs,) from a symmetric (seeds, seeds)."""
    return np.asarray(matrix[np.triu_indices(len(matrix), 1)])


def mean_of_pairs(matrix: Floats) -> float:
    """Their mean."""
    return float(pairs_of(matrix).mean())


# --- figures


def picture(table: Table, pairs: Table) -> alt.TopLevelMixin:
    """A point for each pair of seeds, the interval of their mean, and chance."""
    y = alt.Y("corpus:N", title=None, sort=[row["corpus"] for row in table])
    x = alt.X("A:Q", title="agreement of two seeds' attention", scale=alt.Scale(domain=[0, 1]))
    circles = alt.Chart(inline(pairs)).mark_circle(size=34, opacity=0.55, color=COLOURS[1])
    base = alt.Chart(inline(table)).encode(y=y)
    spans = base.transform_filter("datum.low !== null").mark_rule(strokeWidth=2, color=COLOURS[0], yOffset=9)
    layers = alt.layer(
        circles.encode(x=x, y=y, tooltip=["seed:Q", "other_seed:Q", rounded("A")]),
        spans.encode(x="low:Q", x2="high:Q"),
        base.mark_tick(color=INK, thickness=1.5).encode(x="chance:Q"),
    )
    title = "Pairs of seeds; lines: interval of their mean over seeds; ticks: chance"
    return headed(layers, title, width=2 * SIZE["width"], height=44 * len(table))


def evidence_picture(table: Table) -> alt.TopLevelMixin:
    """A point for each seed, by corpus and class."""
    rows = [{**line, "texts of": f"{line['corpus']}: {line['class']}"} for line in table]
    order = list(dict.fromkeys(str(line["texts of"]) for line in rows))
    base = alt.Chart(inline(rows)).encode(y=alt.Y("texts of:N", title=None, sort=order))
    scale = alt.Scale(domain=[FOR, AGAINST], range=list(COLOURS[:2]))
    points = base.mark_circle(size=40, opacity=0.7).encode(
        x=alt.X("A:Q", title="how often attention's top position is one of them", scale=alt.Scale(domain=[0, 1])),
        yOffset=alt.YOffset("evidence:N", sort=[FOR, AGAINST]),
        color=alt.Color("evidence:N", title="words that speak", scale=scale),
        tooltip=["seed:Q", "evidence:N", rounded("A")],
    )
    layers = alt.layer(points, base.mark_tick(color=INK, thickness=1.5).encode(x="chance:Q"))
    title = "Each seed's attention: does it look for words of the text's own class? Ticks: chance"
    return headed(layers, title, width=2 * SIZE["width"], height=44 * len(order))

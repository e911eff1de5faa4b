"""Is attention on SMS less stable between seeds than on other corpora? (P3 A.9)

The paper leaves SMS out of its tables because two seeds gave attentions that hardly agreed, and names what is unusual
about it: short texts, few of them, a small vocabulary. Here the seeds' agreement on SMS stands beside that on the other
corpora of short texts, and so does what each seed looks for (`evidence`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import altair as alt
import numpy as np

from attnlab.data.corpora import known_corpus
from attnlab.data.sizes import sizes
from attnlab.experiments.sms.evidence import evidence_picture, evidence_table
from attnlab.experiments.texts.classification import Role, found_in_data, jobs_on
from attnlab.experiments.texts.text_notes import departures
from attnlab.experiments.texts.text_parts import told
from attnlab.experiments.texts.text_pictures import heading
from attnlab.experiments.texts.text_runs import Floats, TextRuns
from attnlab.fields import ScoreField
from attnlab.lab.claims import Finding, Part, Preset, Verdict
from attnlab.lab.experiment import Experiment, Order, Result, Table
from attnlab.measures.agreement import top_agreement
from attnlab.measures.tau import kendall_tau
from attnlab.pages.charts import COLOURS, INK, SIZE
from attnlab.runs.engine import Job
from attnlab.runs.loop import Trained
from attnlab.stats.bootstrap import interval_over_pairs

ROLES: tuple[Role, ...] = ("reference", "comparison")
"""The runs whose attention is compared."""
SMS = "sms"
OTHERS: Mapping[Preset, tuple[str, ...]] = {
    "quick": ("sst",),
    "reduced": ("sst", "ag_news"),
    "paper": ("sst", "ag_news"),
}
"""The other corpora of short texts, by preset."""
LEAST = 3
"""Seeds from which on there is an interval: two have a single pair, and drawing them again changes nothing."""


def corpora(order: Order) -> list[str]:
    """SMS and those of the others whose files are there."""
    return [SMS, *found_in_data(OTHERS[order.preset])]


class Sms(Experiment):
    """Agreement of attention between seeds, on SMS and on other short texts."""

    name = "sms"
    title = "How far attention agrees between seeds, on SMS and on other short texts"
    source = "P3 A.9"

    def jobs(self, order: Order) -> list[Job]:
        return [job for corpus in corpora(order) for job in jobs_on(corpus, (*ROLES, "uniform"), order)]

    def analyse(self, order: Order, done: Mapping[str, Trained]) -> Result:
        outcomes = [measure(TextRuns(replace(order, row=corpus), done)) for corpus in corpora(order)]
        table = [outcome.line() for outcome in outcomes]
        pairs = [line for outcome in outcomes for line in outcome.pairs()]
        evidence = [line for one in outcomes for line in evidence_table(one.runs, one.seeds, one.alphas)]
        return Result(
            summary=tell(outcomes),
            tables={
                "corpora": table,
                "pairs": pairs,
                "classes": [line for outcome in outcomes for line in outcome.classes()],
                "evidence": evidence,
            },
            figures={"pairs": picture(table, pairs), "evidence": evidence_picture(evidence)},
            findings=(decide({outcome.name: outcome.matrix for outcome in outcomes}),),
            notes=(
                *departures(order.preset),
                "Intervals are over seeds: a resample draws as many seeds as there are, with repetition, and averages "
                "over the pairs of different seeds among them. Pairs are not drawn by themselves, since those that "
                f"share a seed are alike. Fewer than {LEAST} seeds have no interval.",
                *(f"{outcome.name}: {note}" for outcome in outcomes for note in outcome.runs.corpus.notes),
            ),
            seeds={outcome.name: outcome.seeds for outcome in outcomes},
        )


@dataclass(frozen=True, eq=False)
class Outcome:
    """The seeds of one corpus, their attention ``alphas``, ``values`` and ``tau`` (seeds, seeds, texts) of all pairs,
    both directions averaged.

    The diagonal, an attention compared with itself, is 1 and is not read.
    """

    runs: TextRuns
    seeds: list[int]
    alphas: list[ScoreField]
    values: Floats
    tau: Floats

    @property
    def name(self) -> str:
        return self.runs.order.row

    @property
    def matrix(self) -> Floats:
        """Mean over texts: (seeds, seeds)."""
        mean: Floats = self.values.mean(axis=2)
        return mean

    @property
    def value(self) -> float:
        """Mean over pairs of different seeds."""
        return mean_of_pairs(self.matrix)

    @property
    def interval(self) -> tuple[float, float] | None:
        """Its 95 % interval over seeds."""
        return interval_over_pairs(self.matrix)

    def line(self) -> dict[str, object]:
        """The corpus in a table: agreement, what chance gives, and its sizes beside the paper's."""
        size, paper = sizes(self.runs.corpus), known_corpus(self.name).paper
        chance, interval = float(self.runs.chance("valid").mean()), self.interval
        tau = np.nanmean(self.tau, axis=2)
        tau_interval = interval_over_pairs(tau)
        accuracy = [run.rows for role in ROLES for run in self.runs.of(role)]
        return {
            "corpus": self.name,
            "seeds": len(self.seeds),
            "A": self.value,
            "low": interval[0] if interval else None,
            "high": interval[1] if interval else None,
            "smallest": float(pairs_of(self.matrix).min()),
            "largest": float(pairs_of(self.matrix).max()),
            "chance": chance,
            "of_the_way_to_1": (self.value - chance) / (1 - chance),
            "tau": mean_of_pairs(tau),
            "tau_low": tau_interval[0] if tau_interval else None,
            "tau_high": tau_interval[1] if tau_interval else None,
            "accuracy": float(np.mean([max(row["accuracy"] for row in rows) for rows in accuracy])),
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
        tau = np.nanmean(self.tau, axis=2)
        return [
            {
                "corpus": self.name,
                "seed": self.seeds[i],
                "other_seed": self.seeds[j],
                "A": float(self.matrix[i, j]),
                "tau": float(tau[i, j]),
            }
            for i, j in zip(*np.triu_indices(len(self.seeds), 1), strict=True)
        ]

    def classes(self) -> Table:
        """The same for the texts of each class: where a class has words of its own, attention has something to find."""
        labels = self.runs.texts["valid"].labels.numpy()
        return [
            {
                "corpus": self.name,
                "class": name,
                "texts": int((labels == label).sum()),
                "A": mean_of_pairs(self.values[:, :, labels == label].mean(axis=2)),
                "chance": float(self.runs.chance("valid")[labels == label].mean()),
            }
            for label, name in enumerate(self.runs.corpus.classes)
            if (labels == label).any()
        ]


def measure(runs: TextRuns) -> Outcome:
    """Compare the attention of all seeds at their best evaluations."""
    trained = [run for role in ROLES for run in runs.of(role)]
    fields = [runs.field(run, runs.best_step(run), "valid", "alpha") for run in trained]
    seeds = [seed for role in ROLES for seed in runs.seeds(role)]
    values, tau = np.ones((2, len(fields), len(fields), len(runs.texts["valid"])))
    for i, one in enumerate(fields):
        for j, other in enumerate(fields[:i]):
            values[i, j] = values[j, i] = (top_agreement(one, other).expected + top_agreement(other, one).expected) / 2
            tau[i, j] = tau[j, i] = kendall_tau(one, other)
    return Outcome(runs, seeds, fields, values, tau)


def pairs_of(matrix: Floats) -> Floats:
    """The values of all pairs of different seeds: (pairs,) from a symmetric (seeds, seeds)."""
    pairs: Floats = matrix[np.triu_indices(len(matrix), 1)]
    return pairs


def mean_of_pairs(matrix: Floats) -> float:
    """Their mean."""
    return float(pairs_of(matrix).mean())


def decide(matrices: Mapping[str, Floats]) -> Finding:
    """A part for each other corpus, from the agreements (seeds, seeds) on each."""
    others = [name for name in matrices if name != SMS]
    return Finding("sms-unstable", tuple(less_stable(matrices[SMS], matrices[name], name) for name in others))


def less_stable(sms: Floats, other: Floats, name: str) -> Part:
    """Holds if the upper bound on SMS is below the other corpus' lower bound; fails if it is the other way round."""
    ours, theirs = interval_over_pairs(sms), interval_over_pairs(other)
    verdict: Verdict = "undecided"
    if ours is not None and theirs is not None:
        verdict = "holds" if ours[1] < theirs[0] else "fails" if ours[0] > theirs[1] else "undecided"
    detail = (
        f"A(alpha, alpha') is {mean_of_pairs(sms):.3f} ({told(ours)}) on SMS and {mean_of_pairs(other):.3f} "
        f"({told(theirs)}) on {name}, over {len(sms)} and {len(other)} seeds."
    )
    return Part(f"sms against {name}", verdict, mean_of_pairs(sms), ours, "pairs of seeds", detail)


def tell(outcomes: Sequence[Outcome]) -> str:
    """The result in plain words."""
    said = [
        f"{one.name}: {one.value:.3f} ({told(one.interval)}; chance {one.runs.chance('valid').mean():.3f})"
        for one in outcomes
    ]
    return (
        "How often the position that one seed's attention values most is among the top 5 % of another's, mean over "
        f"pairs of seeds with the 95 % interval over seeds: {'; '.join(said)}."
    )


def picture(table: Table, pairs: Table) -> alt.TopLevelMixin:
    """A point for each pair of seeds, the interval of their mean, and chance."""
    order = [row["corpus"] for row in table]
    y = alt.Y("corpus:N", title=None, sort=order)
    points = (
        alt.Chart(alt.InlineData(values=[dict(row) for row in pairs]))
        .mark_circle(size=34, opacity=0.55, color=COLOURS[1])
        .encode(
            x=alt.X("A:Q", title="agreement of two seeds' attention", scale=alt.Scale(domain=[0, 1])),
            y=y,
            tooltip=["seed:Q", "other_seed:Q", alt.Tooltip("A:Q", format=".3f")],
        )
    )
    base = alt.Chart(alt.InlineData(values=[dict(row) for row in table])).encode(y=y)
    spans = base.transform_filter("datum.low !== null").mark_rule(strokeWidth=2, color=COLOURS[0], yOffset=9)
    ticks = base.mark_tick(color=INK, thickness=1.5)
    return alt.layer(points, spans.encode(x="low:Q", x2="high:Q"), ticks.encode(x="chance:Q")).properties(
        width=2 * SIZE["width"],
        height=44 * len(order),
        title=heading("Pairs of seeds; lines: interval of their mean over seeds; ticks: chance"),
    )

"""Early verdict: how soon, and from what, can one tell whether a run will learn? (Ours, after P3 3.3.)

Runs of the other experiments on copying are followed from step 20 on. A logistic regression on what was measured so far
says how likely they are to have learned by step 200; it is fitted to half of the seeds and tried on the other half, and
on families of distributions that it never saw. What comes out is the verdict that training shows
(`attnlab.families.copying.early_verdict`).
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial

import altair as alt
import numpy as np

from attnlab.errors import UsageError
from attnlab.experiments.early_verdict import measures
from attnlab.experiments.early_verdict.measures import EARLIEST, EARLY, LEFT_OUT, OTHER_HALF, Estimate, Evidence, Judged
from attnlab.families.copying import verdict_fit
from attnlab.families.copying.early_verdict import IN_A_ROW, chance_of
from attnlab.families.copying.spec import PermutationsSpec, SelectionsSpec
from attnlab.families.copying.success import EVERY, LEARNED, WITHIN
from attnlab.families.copying.verdict_fit import Followed
from attnlab.lab.claims import Part, Preset, Verdict
from attnlab.lab.copying import network_on, task_of
from attnlab.lab.experiment import Experiment, Figures, Order, Setting, Table, by_preset, claim
from attnlab.lab.outcomes import Outcome, Runs
from attnlab.lab.registry import EXPERIMENTS
from attnlab.lab.rules import Interval, above, higher, lower, missing, of_rate
from attnlab.pages.charts import COLOURS, CONTRAST, INK, SIZE, headed, hue, inline, panels, rounded, seed_curves, shares
from attnlab.runs.schedule import Schedule
from attnlab.stats.bootstrap import value_and_interval

# --- settings

BY = by_preset(50, WITHIN, WITHIN)
"""The step by which a run is to have learned."""
THREE = ("copying", "forecast-copying", "mixture")
SOURCES: dict[Preset, dict[str, Preset]] = by_preset(
    {}, dict.fromkeys(THREE, "reduced"), {**dict.fromkeys(THREE, "paper"), "symmetry": "reduced"}
)
"""Whose runs are followed at each preset, and at which of their own; at ``quick`` the experiment has its own."""
FAMILIES = {
    "permutations": "permutations, alone or with a share of others",
    "mixture": "permutations, alone or with a share of others",
    "selections": "k of n",
    "independent": "independent words",
    "zipf": "Zipf",
    "permutation-sets": "either of two sets",
}
"""By the kind of distribution."""
LEAST = 10
"""Fewest runs of either outcome with which a part is decided."""
AREA, ERROR, GAIN, RIGHT, WRONGLY_ENDED, SPARED = 0.8, 0.1, 0.01, 0.8, 0.05, 0.5
"""The bounds of the claims, in their order."""
NO_SUCH = "No such run."
FEWEST = 3
"""Areas of fewer runs of an outcome are not drawn."""


class EarlyVerdict(Experiment):
    """Fitted to half of the runs, tried on the rest."""

    name = "early-verdict"
    title = "How early can one tell whether a run will learn?"
    source = "ours, after P3 3.3"
    not_kept = "it keeps no curves of its own, and some of the runs it recalled were measured anew since"
    settings = (
        network_on("permutations of 10", PermutationsSpec(words=10), (6, 0, 0), BY),
        network_on("10 of 15", SelectionsSpec(length=10, words=15), (4, 0, 0), BY),
    )
    decides_at = ("reduced", "paper")
    recalls = True

    def asked(self, order: Order) -> list[tuple[Setting, int]]:
        return planned(order)

    # --- measures

    def measure(self, runs: Runs) -> None:
        by_id = {one.spec.id: one for one in runs.all() if one.spec is not None}
        ordered = [by_id[setting.spec(seed).id] for setting, seed in planned(self.order)]
        self.judge([follow(one, BY[self.order.preset]) for one in ordered])

    def judge(self, runs: Sequence[Followed]) -> None:
        """Fit every feature set, to the fitting half and without each family, and judge what a fit did not see."""
        self.evidence = judge_all(runs, self.order.preset)
        self.half, self.left_out = (self.evidence.judged[way, "all"] for way in (OTHER_HALF, LEFT_OUT))

    # --- rules

    @claim("verdict-tells-early")
    def known_early(self) -> Iterator[Part]:
        return areas(self.half)

    @claim("verdict-carries-over")
    def carries_over(self) -> Iterator[Part]:
        return areas(self.left_out)

    @claim("verdict-calibrated")
    def calibrated(self) -> Iterator[Part]:
        for name, chosen in ((f"step {EARLY}", self.half.at(EARLY)), ("all steps", self.half.at())):
            counts = self.half.outcomes(chosen)
            detail = f"{int(chosen.sum())} chances of {sum(counts)} runs, {counts[0]} of which learned."
            error = value_and_interval(measures.calibration_error(self.half, chosen))
            yield decided(name, error, counts, detail, partial(lower, bound=ERROR))

    @claim("probe-adds-to-loss")
    def probe_adds(self) -> Iterator[Part]:
        """Areas, mean over steps 20, 30 and 40, with the probe less those with loss and entropy alone."""
        for way in (OTHER_HALF, LEFT_OUT):
            pair = [self.evidence.judged[way, features] for features in ("with the probe", "loss and entropy")]
            with_it, without = (measures.mean_area(judged, EARLIEST) for judged in pair)
            estimate = value_and_interval(with_it - without)
            paired = [measures.mean_area(judged, EARLIEST, paired=True) for judged in pair]
            inside = value_and_interval(paired[0] - paired[1])
            learned, failed = zip(*(pair[0].outcomes(pair[0].at(step)) for step in EARLIEST), strict=True)
            detail = f"Area {with_it[0]:.3f} with the probe, {without[0]:.3f} with loss and entropy alone."
            if inside is not None:
                more, (low, high) = inside
                detail += f" Over pairs of one distribution it adds {more:.3f} ({low:.3f} to {high:.3f})."
            enough = estimate is not None and estimate[0] >= GAIN
            yield decided(way, estimate, (min(learned), min(failed)), detail, partial(adds, enough=enough))

    @claim("verdict-before-accuracy")
    def sure_before_accuracy(self) -> Iterator[Part]:
        return before_accuracy(self.half, self.evidence.runs)

    @claim("hopeless-runs-known")
    def hopeless_known(self) -> Iterator[Part]:
        return giving_up(self.half, self.evidence.verdict.give_up_below, self.evidence.verdict.by)

    # --- tables, figures, words

    @cached_property
    def own_tables(self) -> dict[str, Table]:
        """Made once: tables and figures show the same."""
        return measures.all_tables(self.evidence)

    def tables(self) -> Mapping[str, Table]:
        return self.own_tables

    def run_tables(self) -> dict[str, Table]:
        """None beside its own: the runs are other experiments', whose results have their curves."""
        return {}

    def figures(self) -> Figures:
        tables = self.own_tables
        return {
            "areas": area_figure(tables["areas"]),
            "chances": chance_figure(tables["chances"], self.evidence.verdict.by),
            "reliability": reliability_figure(tables["reliability"]),
            "lead": lead_figure(tables["runs"]),
        }

    def summary(self) -> str:
        verdict, cases = self.evidence.verdict, self.evidence.cases
        sentences = [
            f"{len(self.evidence.runs)} runs of {len(set(cases.distribution))} distributions were followed, "
            f"{int(cases.learned.sum())} of which had learned to copy by step {verdict.by}."
        ]
        if min(self.half.outcomes(self.half.at())) < LEAST:
            return f"{sentences[0]} These are too few to say how good a verdict is; the tables show how it is made."
        wanted = {
            "verdict-tells-early": "Area under the curve at step 30 on the half of the seeds not fitted to, {name}",
            "verdict-carries-over": "On families of distributions that were left out, {name}",
            "probe-adds-to-loss": "What the probe adds to the area that loss and entropy have, {name}",
            "verdict-before-accuracy": "The verdict is sure before accuracy passes one half (updates; {name})",
            "hopeless-runs-known": "Giving up below a chance of " + f"{verdict.give_up_below:.1%}" + ", {name}",
        }
        for finding in self.findings():
            for part in finding.parts[:2]:
                if finding.claim in wanted and part.effect is not None and part.interval is not None:
                    low, high = part.interval
                    what = wanted[finding.claim].format(name=part.name)
                    sentences.append(f"{what}: {part.effect:.2f} (95 % interval {low:.2f} to {high:.2f}).")
        return " ".join(sentences)

    def notes(self) -> list[str]:
        verdict = self.evidence.verdict
        others = (
            "All runs are those of the experiments copying, forecast-copying, mixture and symmetry, as far as the "
            "preset has them. Distributions that every run learns are kept: a verdict must not find them hopeless."
        )
        return [
            f"The regression: scikit-learn's, C = {verdict_fit.PENALTY:g} on standardised features, one weight a "
            "feature for all steps, and step and its square, on a logarithmic scale, beside them. Fitted to "
            f"{verdict.runs} runs.",
            "Of seeds 0 and 1, 2 and 3, and so on one each, drawn once, belongs to the fitting half in all "
            "distributions.",
            "Judged at a step are the runs that have not learned by then, so those that are judged late are the hard "
            "ones.",
            f"A run is given up at {IN_A_ROW} evaluations in a row below a chance of {verdict.give_up_below:.1%}.",
            *self.at_preset(reduced=others, paper=others),
            *self.at_preset(
                quick="quick: runs of its own on short sequences, and whether they have learned by step 50 instead of "
                "200: it shows how the experiment goes, and says nothing about the verdict that comes with attnlab.",
                reduced="reduced: the reduced runs of the others, and none of symmetry's.",
                paper="paper: the others' runs at paper, those of symmetry at reduced.",
            ),
        ]


def planned(order: Order) -> list[tuple[Setting, int]]:
    """Every run, once, under the name of the first experiment that has it.

    It may end once it has learned; where another experiment went on with it that changes nothing.
    """
    if order.seeds == 1:
        raise UsageError("early-verdict is fitted to one half of the seeds and tried on the other; --seeds 2 is least.")
    if order.preset == "quick":
        return [(setting, seed) for setting in EarlyVerdict.settings for seed in setting.seeds_at(order)]
    schedule = Schedule.every(EVERY, steps=BY[order.preset], stop_at=LEARNED)
    runs: dict[str, tuple[Setting, int]] = {}
    for name, preset in SOURCES[order.preset].items():
        for setting in EXPERIMENTS[name].settings:
            for seed in setting.seeds_at(replace(order, preset=preset)):
                spec = setting.spec(seed)
                if chance_of(spec) is not None:  # mixture has proxies, which the verdict is not about
                    runs.setdefault(spec.id, (replace(setting, schedule=schedule), seed))
    return list(runs.values())


def follow(outcome: Outcome, by: int) -> Followed:
    """One run with what it is called, and how it ended."""
    assert outcome.spec is not None
    chance, family = chance_of(outcome.spec), FAMILIES[task_of(outcome.spec).distribution.kind]
    assert chance is not None
    rows = {int(row["step"]): row for row in outcome.run.rows}
    return Followed(outcome.setting, family, outcome.seed, chance, rows, outcome.learned_within(by))


def judge_all(runs: Sequence[Followed], preset: Preset) -> Evidence:
    """Every feature set fitted, to the fitting half and without each family, and what each fit says of other runs."""
    cases = verdict_fit.make_cases(runs, BY[preset])
    fitting = cases.of(cases.fitting)
    chances = {}
    for name, features in verdict_fit.FEATURE_SETS.items():
        chances[OTHER_HALF, name] = verdict_fit.judge_halves(cases, features)
        chances[LEFT_OUT, name] = verdict_fit.judge_left_out(cases, cases.family, fitting, features)
    judged = {way: measures.make_judged(cases, chance) for way, chance in chances.items()}
    return Evidence(runs, cases, judged, verdict_fit.make_verdict(cases, preset=preset, by=BY[preset]))


# --- parts of claims


def areas(judged: Judged) -> Iterator[Part]:
    """The area under the curve at step 30, over all pairs and over those of one distribution."""
    for name, paired in (("all pairs of runs", False), ("pairs of one distribution", True)):
        counts = judged.outcomes(judged.at(EARLY), paired=paired)
        detail = f"At step {EARLY}, {counts[0]} runs that learned against {counts[1]} that did not."
        estimate = value_and_interval(measures.area(judged, EARLY, paired=paired))
        yield decided(name, estimate, counts, detail, partial(higher, bound=AREA))


def adds(interval: Interval, *, enough: bool) -> Verdict:
    """Whether the probe adds to loss and entropy: more than nothing, and in the mean ``enough``."""
    return "holds" if interval[0] > 0 and enough else "fails" if interval[1] < GAIN else "undecided"


def before_accuracy(judged: Judged, runs: Sequence[Followed]) -> Iterator[Part]:
    """How long before accuracy the verdict is sure, and how often it is right."""
    sure = measures.sure_at(judged)
    leads = {run: by for run, step in sure.items() if (by := measures.lead(runs[run], step)) is not None}
    doubtful = {run.distribution for run in runs if run.learned_at is None}
    groups = {
        "all that learn": list(leads.values()),
        "distributions of which some fail": [by for run, by in leads.items() if runs[run].distribution in doubtful],
    }
    for name, values in groups.items():
        detail = f"Median {np.median(values):.0f} updates, {len(values)} runs." if values else ""
        yield above(name, values, 0.0, detail, least=LEAST, over="runs")
    trusted = [runs[run].learned_at is not None for run, step in sure.items() if step is not None]
    detail = f", from a chance of {measures.SURE:.0%} on"
    yield of_rate("sure is right", trusted, partial(higher, bound=RIGHT), detail, over="runs", none=NO_SUCH)


def giving_up(judged: Judged, below: float, by: int) -> Iterator[Part]:
    """Whether runs that learn are kept, and how much is spared on those that do not."""
    ended = verdict_fit.stops(judged.cases, judged.chance, below)
    wrong = [step is not None for run, step in ended.items() if judged.cases.learned[run]]
    saved = [measures.spared(step, by) for run, step in ended.items() if not judged.cases.learned[run]]
    rule, detail = partial(lower, bound=WRONGLY_ENDED), f", below {below:.1%}"
    yield of_rate("runs that learn and are ended", wrong, rule, detail, over="runs", least=LEAST, none=NO_SUCH)
    detail = f"Ended below {below:.1%}; {sum(part > 0 for part in saved)} of {len(saved)} runs that fail were."
    yield above("share spared of runs that fail", saved, SPARED, detail, least=LEAST, over="runs")


def decided(
    name: str, estimate: Estimate, counts: tuple[int, int], detail: str, rule: Callable[[Interval], Verdict]
) -> Part:
    """A part decided by an interval over runs, if enough of them learned and enough did not."""
    if estimate is None:
        return missing(name, "runs", "All runs ended alike.")
    value, interval = estimate
    if min(counts) < LEAST:
        detail += f" At least {LEAST} runs of either outcome are needed, not {counts[0]} and {counts[1]}."
    return Part(name, rule(interval) if min(counts) >= LEAST else "undecided", value, interval, "runs", detail)


# --- figures


def chance_figure(table: Table, by: int) -> alt.TopLevelMixin:
    """A line for each run of the other half, in a panel for each outcome."""
    rows = [{**row, "run": f"{row['distribution']}, seed {row['seed']}"} for row in table]
    rows.sort(key=lambda row: str(row["outcome"]), reverse=True)
    y_title = f"chance to learn by step {by}"
    title = "The verdict on runs it was not fitted to, as long as they have not learned"
    return seed_curves(rows, "chance", y_title, title, column="outcome", group="run")


def area_figure(areas: Table) -> alt.TopLevelMixin:
    """How well each feature set predicts, step by step, as long as there are a few runs of either outcome."""
    rows = [
        {**row, "area": row["value"]}
        for row in areas
        if row["pairs"] == "all" and min(row["learned"], row["failed"]) >= FEWEST
    ]
    names = list(dict.fromkeys(row["features"] for row in rows))
    lines = alt.Chart().mark_line(point=True, strokeWidth=1.5).properties(width=300, height=220)
    layer = lines.encode(
        x=alt.X("step:Q", title="updates so far"),
        y=shares("area", "area under the curve"),
        color=hue("features", COLOURS[: len(names)], domain=names, orient="right"),
        tooltip=["features:N", "step:Q", rounded("area"), "learned:Q", "failed:Q"],
    )
    title = "How often the run that learns is told from the one that does not; 0.5 is guessing"
    return panels(rows, column="judged", layer=layer, title=title)


def reliability_figure(table: Table) -> alt.TopLevelMixin:
    """What was said against what came, at step 30 and at all steps."""
    rows = [row for row in table if row["judged"] == table[0]["judged"]]
    base = alt.Chart()
    exact = base.mark_rule(color=INK, opacity=0.5, strokeDash=[4, 4]).encode(
        x=alt.datum(0), y=alt.datum(0), x2=alt.datum(1), y2=alt.datum(1)
    )
    chance = alt.X("chance:Q", title="chance that was given", scale=alt.Scale(domain=[0, 1]))
    bars = base.mark_rule(color=CONTRAST[1], opacity=0.5)
    bars = bars.encode(x=chance, y=shares("low", "share that learned"), y2="high:Q")
    points = base.mark_point(filled=True, color=CONTRAST[1], opacity=0.9).encode(
        x=chance,
        y="learned:Q",
        size=alt.Size("cases:Q", legend=None, scale=alt.Scale(range=[20, 200])),
        tooltip=["cases:Q", rounded("chance", ".2f"), rounded("learned", ".2f")],
    )
    order = list(dict.fromkeys(row["steps"] for row in rows))
    column = alt.Column("steps:N", title=None, sort=order, header=alt.Header(labelFontSize=12))
    layers = alt.layer(exact, bars, points, data=inline(rows)).properties(**SIZE)
    return headed(layers.facet(column=column), "Does what was said come true? Dashed: exactly so")


def lead_figure(table: Table) -> alt.TopLevelMixin:
    """How many runs the verdict was sure of so many updates before accuracy passed one half."""
    bars = alt.Chart(inline([row for row in table if row["lead"] is not None])).mark_bar(color=CONTRAST[1], size=14)
    bars = bars.encode(
        x=alt.X("lead:Q", title="updates from a chance of 90 % to an accuracy of one half"),
        y=alt.Y("count():Q", title="runs that learned", axis=alt.Axis(tickMinStep=1)),
        tooltip=["lead:Q", "count():Q"],
    )
    return headed(bars, "How much sooner than accuracy?", width=320, height=200)

"""Does a hidden state stay about its own word? (P3 6.1, Figure 5; blog)

Under uniform attention a network looks for a keyword. If states were about their own words alone, only the keyword's
own position would speak for the positive class. The paper finds that early on the keyword and its neighbour do, and
late the last position does: what was read can be carried on, and nothing under uniform attention keeps it in its place.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import altair as alt
import numpy as np

from attnlab.families.keyword.spec import KeywordSpec
from attnlab.families.texts.spec import ClassifierSpec
from attnlab.lab.claims import Part, Preset, Verdict
from attnlab.lab.experiment import Experiment, Figures, Setting, Table, by_preset, claim
from attnlab.lab.outcomes import Outcome, Runs, mean, median
from attnlab.lab.rules import above, low_high, within
from attnlab.pages.charts import COLOURS, by_metric, curves, hue, panels
from attnlab.protocols import Row
from attnlab.runs.schedule import Schedule
from attnlab.runs.spec import RunSpec
from attnlab.stats.bootstrap import bootstrap_interval

# --- settings

BATCH = 32
"""Sequences an update, as in P3's classification."""
EVALUATED = 1500
"""Fresh sequences an evaluation: half of them positive; two thirds fit the linear map of mean states."""
STEPS = by_preset(60, 1000, 4000)
EVALUATIONS = (
    *range(10),
    *range(10, 40, 2),
    *range(40, 100, 10),
    *(100, 125, 150, 175, 200, 250, 300, 400, 500, 600, 700, 800, 900),
    *range(1000, 4001, 500),
)
"""Close together where it turns, further apart later."""


def encoder(name: str, seeds: Mapping[Preset, int], *, bidirectional: bool) -> Setting:
    """P3 2.4's network with uniform attention on P3 6.1's task; one seed for start and data."""
    model = ClassifierSpec(bidirectional=bidirectional, attention="uniform")
    sizes = {"task": KeywordSpec(), "model": model, "batch": BATCH, "evaluation_batch": EVALUATED}
    schedules = {
        preset: Schedule(
            steps=steps, evaluations=(*(step for step in EVALUATIONS if step < steps), steps), checkpoint_every=500
        )
        for preset, steps in STEPS.items()
    }
    return Setting(name, lambda seed: RunSpec(**sizes, init_seed=seed, data_seed=seed), seeds, schedules)


ONE = encoder("one direction", by_preset(2, 10, 20), bidirectional=False)
BOTH = encoder("both directions", by_preset(1, 3, 5), bidirectional=True)

# --- what is compared

FEWEST = 5
"""Seeds below which nothing is decided."""
MUCH, SAME = 0.2, 0.1
"""Shares of the spread: at least so much larger is ">>", at most so far apart is "="."""
HALF = 0.5
LEFT_CHANCE = 0.6
"""Accuracy above which the network is no longer guessing."""
LINEAR = 0.9
"""Share of the variance that a good linear description explains."""

WHERE = ("at the keyword", "one after it", "mean of all positions", "last position")
QUANTITIES = dict(zip(("keyword", "after", "mean", "last"), WHERE, strict=True))
"""The four of P3 6.1, by the end of their column's name, and as figures call them."""


HYPOTHESIS_1 = ("keyword >> mean", "mean >> last", "last = after")
HYPOTHESIS_2 = ("keyword >> after", "after >> mean", "mean = last")
OBSERVATION_3 = ("last >> after", "after >> mean", "mean = keyword")
STATEMENTS = {"Hypothesis 1": HYPOTHESIS_1, "Hypothesis 2": HYPOTHESIS_2, "Observation 3": OBSERVATION_3}


class Locality(Experiment):
    """Figure 5, for an encoder of one direction and one of both."""

    name = "locality"
    title = "Does a hidden state stay about its own word?"
    source = "P3 6.1, Figure 5; blog"
    settings = (ONE, BOTH)
    recalls = True

    # --- measures

    def measure(self, runs: Runs) -> None:
        self.early, self.late, self.guessing = {}, {}, {}
        for setting in self.settings:
            every = [one.run.rows for one in runs[setting]]
            self.early[setting.name] = [row for rows in every if (row := early(rows)) is not None]
            self.late[setting.name] = [rows[-1] for rows in every]
            shares = map(linear_while_guessing, every)
            self.guessing[setting.name] = [share for share in shares if share is not None]

    # --- rules: decided on one direction

    @claim("probe-purely-local")
    def purely_local(self) -> Iterator[Part]:
        for relation in HYPOTHESIS_1:
            yield self.early_part(f"early: {relation}", relation)
        for relation in HYPOTHESIS_1:
            yield related(f"late: {relation}", relation, self.late[ONE.name])

    @claim("probe-local-early")
    def local_early(self) -> Iterator[Part]:
        for relation in HYPOTHESIS_2:
            yield self.early_part(relation, relation)

    @claim("probe-nonlocal-late")
    def nonlocal_late(self) -> Iterator[Part]:
        for relation in OBSERVATION_3:
            yield related(relation, relation, self.late[ONE.name])

    @claim("mean-state-is-mean-embedding")
    def mean_state_is_linear(self) -> Part:
        """The mean state is linear in the mean embedding while the network guesses."""
        values, detail = self.guessing[ONE.name], ""
        if values:
            late = np.mean([row["mean_state"] for row in self.late[ONE.name]])
            detail = (
                f"{np.mean(values):.3f} of the variance is explained before accuracy exceeds {LEFT_CHANCE}, over "
                f"{len(values)} seeds; {late:.3f} at the last evaluation."
            )
        return above(ONE.name, values, LINEAR, detail, least=FEWEST)

    def early_part(self, name: str, relation: str) -> Part:
        """A relation at the early evaluation, with how many seeds have none."""
        rows, n = self.early[ONE.name], len(self.late[ONE.name])
        missed = n - len(rows)
        remark = f" {missed} of {n} seeds never got there and are left out." if missed else ""
        return related(name, relation, rows, remark)

    # --- tables, figures, words

    def tables(self) -> Mapping[str, Table]:
        return {
            "encoders": [self.encoder_row(name, group) for name, group in self.runs.items()],
            "relations": self.relation_table(),
        }

    def encoder_row(self, name: str, group: Sequence[Outcome]) -> dict[str, Any]:
        """When an encoder turns, log-odds early and late, how linear mean states are, what was left out."""
        turns = [float(step) for one in group if (step := turn(one.run.rows)) is not None]
        rows = [row for one in group for row in one.run.rows]
        left, kept = (sum(row[count] for row in rows) for count in ("left_out", "positives"))
        times = {"early": self.early[name], "late": self.late[name]}
        line: dict[str, Any] = {"encoder": name, "seeds": len(group), "turned": len(turns)}
        line["median_turn"] = median(turns)
        line |= low_high(bootstrap_interval(turns, "median") if turns else None, "turn_")
        line["median_early"] = median(row["step"] for row in times["early"])
        line["last_step"] = int(times["late"][0]["step"])
        for when, of_time in times.items():
            for quantity in (*QUANTITIES, "first"):
                line[f"{when}_{quantity}"] = mean(row[f"gamma_{quantity}"] for row in of_time)
        line["mean_state_guessing"] = mean(self.guessing[name])
        line |= {f"{what}_late": mean(row[what] for row in times["late"]) for what in ("mean_state", "accuracy")}
        return line | {"left_out": int(left), "left_out_share": left / (left + kept)}

    def relation_table(self) -> list[dict[str, Any]]:
        """Every relation of every statement, early and late, for both encoders: more than what decides claims."""
        table: list[dict[str, Any]] = []
        statements = [(statement, relation) for statement, group in STATEMENTS.items() for relation in group]
        for name in self.early:
            for when, rows in (("early", self.early[name]), ("late", self.late[name])):
                for statement, relation in statements:
                    part = related(relation, relation, rows)
                    line = {"encoder": name, "when": when, "statement": statement, "relation": relation}
                    numbers = {"seeds": len(rows), "difference": part.effect, **low_high(part.interval)}
                    table.append({**line, **numbers, "verdict": part.verdict})
        return table

    def run_tables(self) -> dict[str, Table]:
        """As for every experiment, but settings are encoders here."""
        runs = self.runs.all()
        curves = [{"encoder": one.setting, "seed": one.seed, **row} for one in runs for row in one.run.rows]
        return {"runs": [self.run_row(one) for one in runs], "curves": curves}

    def run_row(self, outcome: Outcome) -> dict[str, Any]:
        rows = outcome.run.rows
        first, last = early(rows), rows[-1]
        line: dict[str, Any] = {"encoder": outcome.setting, "seed": outcome.seed}
        line |= {"early_step": None if first is None else int(first["step"]), "turn_step": turn(rows)}
        line["mean_state_guessing"] = linear_while_guessing(rows)
        line |= {f"{what}_late": last[what] for what in ("mean_state", "accuracy", "probe_accuracy")}
        return line | {"last_step": int(last["step"]), "run": outcome.run.id}

    def figures(self) -> Figures:
        return figures(self.run_tables()["curves"])

    def summary(self) -> str:
        return " ".join(in_words(row) for row in self.tables()["encoders"])

    def notes(self) -> list[str]:
        preset = self.order.preset
        notes = [
            "The paper does not say which sizes, batches and how many updates its Figure 5 has. These are those of its "
            f"text classifier: hidden 256, embedding 300, Adam at 1e-3, batches of {BATCH}, {STEPS['paper']} updates.",
            "It does not say either in which directions its encoder reads. The claims are decided on one direction, as "
            "in its copying network, since only there the last position has read everything and the others have not. "
            "With both directions the first position is as special as the last.",
            f"Log-odds are means over the positive ones of {EVALUATED} fresh sequences, half of them positive; "
            "sequences whose keyword is last have no position after it and are left out and counted.",
            "The mean embedding of a text is a linear image of its shares of words, and as long as embeddings are "
            "linearly independent linear maps of either are the same; the map is fitted to the shares, by least "
            "squares without a penalty.",
        ]
        if preset != "paper":
            seeds = ", ".join(f"{setting.seeds[preset]} seeds of {setting.name}" for setting in self.settings)
            full = " and ".join(str(setting.seeds["paper"]) for setting in self.settings)
            notes.append(
                f"At {preset}: {STEPS[preset]} updates instead of {STEPS['paper']}, and {seeds} instead of {full}."
            )
        return notes


# --- one run


def early(rows: Sequence[Row]) -> Row | None:
    """The first evaluation at which the keyword has the largest probe in at least half of the positive sequences."""
    return next((row for row in rows if row["probe_accuracy"] >= HALF), None)


def turn(rows: Sequence[Row]) -> int | None:
    """The first evaluation from the early one on at which the last position's log-odds exceed the keyword's."""
    first = early(rows)
    from_there = (row for row in rows if first is not None and row["step"] >= first["step"])
    return next((int(row["step"]) for row in from_there if row["gamma_last"] > row["gamma_keyword"]), None)


def linear_while_guessing(rows: Sequence[Row]) -> float | None:
    """Mean share of the mean state's variance that is linear in the mean embedding, while the network guesses."""
    known = next((row["step"] for row in rows if row["accuracy"] > LEFT_CHANCE), np.inf)
    return mean(row["mean_state"] for row in rows if row["step"] < known)


# --- one relation


def difference(row: Row, relation: str) -> float:
    """Its two log-odds' difference at one evaluation, as a share of the spread of all four."""
    values = {name: row[f"gamma_{name}"] for name in QUANTITIES}
    spread, (first, _, second) = max(values.values()) - min(values.values()), relation.split()
    return (values[first] - values[second]) / spread if spread else 0.0


def related(name: str, relation: str, rows: Sequence[Row], remark: str = "") -> Part:
    """Whether a relation holds over seeds, each with its row of one evaluation."""
    values, detail, (first, sign, second) = [difference(row, relation) for row in rows], "", relation.split()
    if values:
        each = [f"{mean(row[f'gamma_{one}'] for row in rows):.2f} {QUANTITIES[one]}" for one in (first, second)]
        detail = f"{', '.join(each)}: {mean(values):.2f} of the spread, over {len(values)} seeds.{remark}"
    if sign == "=":
        return within(name, values, 0.0, SAME, detail, least=FEWEST)
    part = above(name, values, 0.0, detail, least=FEWEST)
    if part.interval is None or part.effect is None or len(values) < FEWEST:
        return part
    verdict: Verdict = "fails" if part.interval[1] < MUCH else "undecided"
    if part.interval[0] > 0 and part.effect >= MUCH:
        verdict = "holds"
    return replace(part, verdict=verdict, direction=part.verdict)


# --- words and figures


def in_words(row: Mapping[str, Any]) -> str:
    """An encoder in plain words."""
    early = "the keyword's own position never speaks loudest in half of the positive sequences."
    turned = "So there is no turn"
    if row["median_early"] is not None:
        early = (
            f"by step {row['median_early']:g} (median over seeds) the keyword's own position speaks loudest in half of "
            f"the positive sequences, with log-odds of {row['early_keyword']:.2f} there, {row['early_after']:.2f} one "
            f"after it, {row['early_mean']:.2f} in the mean and {row['early_last']:.2f} at the last position."
        )
        turned = "After that the last position exceeds it in no seed"
    if row["median_turn"] is not None:
        low, high = row["turn_low"], row["turn_high"]
        interval = "" if low is None else f", 95 % interval over seeds {low:g} to {high:g}"
        turned = (
            f"At step {row['median_turn']:g} (median{interval}) the last position exceeds it for the first time, in "
            f"{row['turned']} of {row['seeds']} seeds"
        )
    sentence = (
        f"An encoder of {row['encoder']}: {early} {turned}; at step {row['last_step']} the four are "
        f"{row['late_keyword']:.1f}, {row['late_after']:.1f}, {row['late_mean']:.1f} and {row['late_last']:.1f}, and "
        f"the first position has {row['late_first']:.1f}."
    )
    if row["mean_state_guessing"] is not None:
        sentence += (
            f" A linear map of the mean embedding explains {row['mean_state_guessing']:.1%} of the mean state's "
            f"variance while the network still guesses, {row['mean_state_late']:.1%} at the end."
        )
    return sentence


def figures(rows: Table) -> Figures:
    """Figure 5 over the whole run and close to its start, and how linear mean states are."""
    gammas = {what: f"gamma_{name}" for name, what in QUANTITIES.items()}
    log_odds = by_metric(rows, gammas, "encoder", what="where", value="log-odds")
    linear = by_metric(rows, {"accuracy": "accuracy", "variance explained": "mean_state"}, "encoder")
    y_title = "log-odds of the right class"
    lines = curves(y="log-odds", y_title=y_title, scale=alt.Scale())
    lines = lines.encode(color=hue("where", COLOURS[:4], domain=WHERE))  # those of the paper's figure on the page
    fractions = curves(y="share", y_title="share", colour="what")
    whole_run = alt.X(  # shows the first updates as well as the last
        "step:Q",
        title="updates",
        scale=alt.Scale(type="symlog", constant=10, nice=False),
        axis=alt.Axis(values=[0, 10, 30, 100, 300, 1000, 4000]),
    )
    first, what = STEPS["quick"], "What each position says about the class"
    near = [row for row in log_odds if row["step"] <= first]
    mean_state = "How much of the mean hidden state is linear in the mean embedding"
    return {
        "figure5": panels(log_odds, column="encoder", layer=lines.encode(x=whole_run), title=f"{what}, whole run"),
        "turn": panels(near, column="encoder", layer=lines, title=f"{what}, first {first} updates"),
        "mean_state": panels(linear, column="encoder", layer=fractions.encode(x=whole_run), title=mean_state),
    }

"""Does a hidden state stay about its own word? (P3 6.1, Figure 5; blog)

Under uniform attention a network looks for a keyword. If states were about their own words alone, only the keyword's
own position would speak for the positive class. The paper finds that early on the keyword and its neighbour do, and
late the last position does: what was read can be carried on, and nothing under uniform attention keeps it in its place.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import altair as alt
import numpy as np

from attnlab.experiments.locality.rules import QUANTITIES, STATEMENTS, Outcome, decide, related
from attnlab.families.keyword.spec import KeywordSpec
from attnlab.families.texts.spec import ClassifierSpec
from attnlab.lab.claims import Preset
from attnlab.lab.experiment import Experiment, Order, Result, Table
from attnlab.pages.charts import COLOURS, CONTRAST, curves, panels
from attnlab.runs.engine import Job
from attnlab.runs.loop import Trained
from attnlab.runs.schedule import Schedule
from attnlab.runs.spec import RunSpec
from attnlab.stats.bootstrap import bootstrap_interval

BATCH = 32
"""Sequences an update, as in P3's classification."""
EVALUATED = 1500
"""Fresh sequences an evaluation: half of them positive; two thirds fit the linear map of mean states."""
STEPS: dict[Preset, int] = {"quick": 60, "reduced": 1000, "paper": 4000}
EVALUATIONS = (
    *range(10),
    *range(10, 40, 2),
    *range(40, 100, 10),
    *(100, 125, 150, 175, 200, 250, 300, 400, 500, 600, 700, 800, 900),
    *range(1000, 4001, 500),
)
"""Close together where it turns, further apart later."""


@dataclass(frozen=True)
class Encoder:
    """In which directions the network reads, and how many seeds each preset runs."""

    name: str
    bidirectional: bool
    seeds: Mapping[Preset, int]

    def spec(self, seed: int) -> RunSpec:
        """P3 2.4's network with uniform attention on P3 6.1's task; one seed for start and data."""
        return RunSpec(
            task=KeywordSpec(),
            model=ClassifierSpec(bidirectional=self.bidirectional, attention="uniform"),
            batch=BATCH,
            evaluation_batch=EVALUATED,
            init_seed=seed,
            data_seed=seed,
        )

    def job(self, seed: int, preset: Preset) -> Job:
        steps = STEPS[preset]
        evaluations = (*(step for step in EVALUATIONS if step < steps), steps)
        schedule = Schedule(steps=steps, evaluations=evaluations, checkpoint_every=500)
        return Job(f"{self.name}, seed {seed}", self.spec(seed), schedule)


ONE = Encoder("one direction", False, {"quick": 2, "reduced": 10, "paper": 20})
BOTH = Encoder("both directions", True, {"quick": 1, "reduced": 3, "paper": 5})
ENCODERS = (ONE, BOTH)


class Locality(Experiment):
    """Figure 5, for an encoder of one direction and one of both."""

    name = "locality"
    title = "Does a hidden state stay about its own word?"
    source = "P3 6.1, Figure 5; blog"

    def jobs(self, order: Order) -> list[Job]:
        return [encoder.job(seed, order.preset) for encoder in ENCODERS for seed in seeds_of(encoder, order)]

    def analyse(self, order: Order, done: Mapping[str, Trained]) -> Result:
        outcomes = [
            Outcome(encoder.name, seed, done[encoder.spec(seed).id])
            for encoder in ENCODERS
            for seed in seeds_of(encoder, order)
        ]
        summary = encoder_table(outcomes)
        return Result(
            summary=tell(summary),
            tables={
                "encoders": summary,
                "relations": relation_table(outcomes),
                "seeds": [seed_row(outcome) for outcome in outcomes],
                "curves": curve_table(outcomes),
            },
            figures=figures(outcomes),
            findings=decide([outcome for outcome in outcomes if outcome.encoder == ONE.name]),
            notes=notes(order),
            seeds={encoder.name: seeds_of(encoder, order) for encoder in ENCODERS},
        )


def seeds_of(encoder: Encoder, order: Order) -> list[int]:
    """The seeds of an encoder that are asked for."""
    return order.first(range(encoder.seeds[order.preset]))


# --- tables


def encoder_table(outcomes: Sequence[Outcome]) -> Table:
    """A row for each encoder: when it turns, log-odds early and late, how linear mean states are, what was left out."""
    table = []
    for encoder in ENCODERS:
        group = [outcome for outcome in outcomes if outcome.encoder == encoder.name]
        if not group:
            continue
        turns = [float(outcome.turn) for outcome in group if outcome.turn is not None]
        early = [row for outcome in group if (row := outcome.early) is not None]
        late = [outcome.last for outcome in group]
        shares = [share for outcome in group if (share := outcome.mean_state) is not None]
        rows = [row for outcome in group for row in outcome.run.rows]
        left, kept = (sum(row[name] for row in rows) for name in ("left_out", "positives"))
        interval = bootstrap_interval(turns, "median") if turns else None
        line: dict[str, object] = {
            "encoder": encoder.name,
            "seeds": len(group),
            "turned": len(turns),
            "median_turn": float(np.median(turns)) if turns else None,
            "turn_low": interval[0] if interval else None,
            "turn_high": interval[1] if interval else None,
            "median_early": float(np.median([row["step"] for row in early])) if early else None,
            "last_step": int(late[0]["step"]),
        }
        for when, of_time in (("early", early), ("late", late)):
            for name in (*QUANTITIES, "first"):
                line[f"{when}_{name}"] = float(np.mean([row[f"gamma_{name}"] for row in of_time])) if of_time else None
        line |= {
            "mean_state_guessing": float(np.mean(shares)) if shares else None,
            "mean_state_late": float(np.mean([row["mean_state"] for row in late])),
            "accuracy_late": float(np.mean([row["accuracy"] for row in late])),
            "left_out": int(left),
            "left_out_share": left / (left + kept),
        }
        table.append(line)
    return table


def relation_table(outcomes: Sequence[Outcome]) -> Table:
    """Every relation of every statement, early and late, for both encoders: more than what decides claims."""
    table = []
    for encoder in ENCODERS:
        group = [outcome for outcome in outcomes if outcome.encoder == encoder.name]
        early = [row for outcome in group if (row := outcome.early) is not None]
        for when, rows in (("early", early), ("late", [outcome.last for outcome in group])):
            for statement, relations in STATEMENTS.items():
                for relation in relations:
                    part = related(str(relation), relation, rows)
                    table.append(
                        {
                            "encoder": encoder.name,
                            "when": when,
                            "statement": statement,
                            "relation": str(relation),
                            "seeds": len(rows),
                            "difference": part.effect,
                            "low": part.interval[0] if part.interval else None,
                            "high": part.interval[1] if part.interval else None,
                            "verdict": part.verdict,
                        }
                    )
    return table


def seed_row(outcome: Outcome) -> dict[str, object]:
    """How one seed went."""
    early = outcome.early
    return {
        "encoder": outcome.encoder,
        "seed": outcome.seed,
        "early_step": None if early is None else int(early["step"]),
        "turn_step": outcome.turn,
        "mean_state_guessing": outcome.mean_state,
        "mean_state_late": outcome.last["mean_state"],
        "accuracy_late": outcome.last["accuracy"],
        "probe_accuracy_late": outcome.last["probe_accuracy"],
        "last_step": int(outcome.last["step"]),
        "run": outcome.run.id,
    }


def curve_table(outcomes: Sequence[Outcome]) -> Table:
    """Every measurement of every run."""
    return [
        {"encoder": outcome.encoder, "seed": outcome.seed, **row} for outcome in outcomes for row in outcome.run.rows
    ]


def tell(table: Table) -> str:
    """The result in plain words."""
    sentences = []
    for row in table:
        sentence = f"An encoder of {row['encoder']}: "
        if row["median_early"] is not None:
            sentence += (
                f"by step {row['median_early']:g} (median over seeds) the keyword's own position speaks "
                f"loudest in half of the positive sequences, with log-odds of {row['early_keyword']:.2f} there, "
                f"{row['early_after']:.2f} one after it, {row['early_mean']:.2f} in the mean and "
                f"{row['early_last']:.2f} at the last position. "
            )
        else:
            sentence += "the keyword's own position never speaks loudest in half of the positive sequences. "
        if row["median_turn"] is not None:
            sentence += f"At step {row['median_turn']:g} (median"
            if row["turn_low"] is not None:
                sentence += f", 95 % interval over seeds {row['turn_low']:g} to {row['turn_high']:g}"
            sentence += f") the last position exceeds it for the first time, in {row['turned']} of {row['seeds']} seeds"
        elif row["median_early"] is not None:
            sentence += "After that the last position exceeds it in no seed"
        else:
            sentence += "So there is no turn to be told"
        sentence += (
            f"; at step {row['last_step']} the four are {row['late_keyword']:.1f}, {row['late_after']:.1f}, "
            f"{row['late_mean']:.1f} and {row['late_last']:.1f}, and the first position has {row['late_first']:.1f}."
        )
        if row["mean_state_guessing"] is not None:
            sentence += (
                f" A linear map of the mean embedding explains {row['mean_state_guessing']:.1%} of the mean state's "
                f"variance while the network still guesses, {row['mean_state_late']:.1%} at the end."
            )
        sentences.append(sentence)
    return " ".join(sentences)


def notes(order: Order) -> tuple[str, ...]:
    """What a reader should know about how it was run."""
    told = [
        "The paper does not say which sizes, batches and how many updates its Figure 5 has. These are those of its "
        f"text classifier: hidden 256, embedding 300, Adam at 1e-3, batches of {BATCH}, {STEPS['paper']} updates.",
        "It does not say either in which directions its encoder reads. The claims are decided on one direction, as in "
        "its copying network, since only there the last position has read everything and the others have not. With "
        "both directions the first position is as special as the last.",
        f"Log-odds are means over the positive ones of {EVALUATED} fresh sequences, half of them positive; sequences "
        "whose keyword is last have no position after it and are left out and counted.",
        "The mean embedding of a text is a linear image of its shares of words, and as long as embeddings are linearly "
        "independent linear maps of either are the same; the map is fitted to the shares, by least squares without a "
        "penalty.",
    ]
    if order.preset != "paper":
        told.append(
            f"At {order.preset}: {STEPS[order.preset]} updates instead of {STEPS['paper']}, and "
            f"{', '.join(f'{e.seeds[order.preset]} seeds of {e.name}' for e in ENCODERS)} instead of "
            f"{' and '.join(str(e.seeds['paper']) for e in ENCODERS)}."
        )
    return tuple(told)


# --- figures


def figures(outcomes: Sequence[Outcome]) -> dict[str, alt.TopLevelMixin]:
    """Figure 5 over the whole run and close to its start, and how linear mean states are."""
    rows = curve_table(outcomes)
    table = [
        {"encoder": row["encoder"], "seed": row["seed"], "step": row["step"], "where": where, "log-odds": row[column]}
        for row in rows
        for where, column in ((what, f"gamma_{name}") for name, what in QUANTITIES.items())
    ]
    linear = [
        {"encoder": row["encoder"], "seed": row["seed"], "step": row["step"], "what": what, "share": row[column]}
        for row in rows
        for what, column in (("accuracy", "accuracy"), ("variance explained", "mean_state"))
    ]
    lines = curves(
        x="step",
        y="log-odds",
        group="seed",
        colour="where",
        colours=COLOURS,
        x_title="updates",
        y_title="log-odds of the right class",
        scale=alt.Scale(),
    )
    shares = curves(
        x="step", y="share", group="seed", colour="what", colours=CONTRAST, x_title="updates", y_title="share"
    )
    return {
        "figure5": panels(
            table, column="encoder", layer=whole_run(lines), title="What each position says about the class, whole run"
        ),
        "turn": panels(
            [row for row in table if row["step"] <= STEPS["quick"]],
            column="encoder",
            layer=lines,
            title=f"What each position says about the class, first {STEPS['quick']} updates",
        ),
        "mean_state": panels(
            linear,
            column="encoder",
            layer=whole_run(shares),
            title="How much of the mean hidden state is linear in the mean embedding",
        ),
    }


def whole_run(lines: alt.Chart) -> alt.Chart:
    """With updates on an axis that shows the first as well as the last."""
    axis = alt.Axis(values=[0, 10, 30, 100, 300, 1000, 4000])
    chart: alt.Chart = lines.encode(
        x=alt.X("step:Q", title="updates", scale=alt.Scale(type="symlog", constant=10, nice=False), axis=axis)
    )
    return chart

"""What `multihead` shows: tables of networks with several heads, the result in plain words, figures."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import altair as alt
import numpy as np

from attnlab.experiments.multihead.heads import DATA_SEEDS, SCENARIOS, Group, Start
from attnlab.families.copying.success import WITHIN
from attnlab.lab.experiment import Table
from attnlab.lab.outcomes import Outcome, learned_steps
from attnlab.pages.charts import COLOURS, INK, SIZE, curves, panels, titled
from attnlab.stats.rates import wilson

# --- tables and words


def success_row(variant: str, setting: str, outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """How many networks learned, with a Wilson interval, and how soon."""
    steps, n = learned_steps(outcomes), len(outcomes)
    low, high = wilson(len(steps), n)
    row = {"variant": variant, "setting": setting, "runs": n, "learned": len(steps), "rate": len(steps) / n}
    return {**row, "low": low, "high": high, "median_step": float(np.median(steps)) if steps else None}


def failure_rows(group: Group) -> list[dict[str, Any]]:
    """Failures of networks with K random heads against the fitted law q^K."""
    law = group.law
    if law is None:
        return []
    rows = []
    for k, (failed, n) in group.failures.items():
        low, high = wilson(failed, n)
        row = {"heads": k, "runs": n, "failed": failed, "rate": failed / n, "low": low, "high": high}
        fitted = {"fitted": law.q**k, "fitted_low": law.interval[0] ** k, "fitted_high": law.interval[1] ** k}
        rows.append({"variant": group.name, **row, **fitted, "goodness": law.goodness})
    return rows


def head_row(variant: str, start: Start) -> dict[str, Any]:
    """What is known of one start; a label counts where the start was trained on all three data seeds."""
    outcomes = {seed: Outcome("", start.head, run) for seed, run in start.runs.items()}
    row: dict[str, Any] = {
        "variant": variant,
        "head": start.head,
        "confirmed": start.confirmed,
        "label": start.label if start.confirmed else None,
        "released_label": start.released_label if start.confirmed else None,
    }
    for seed in DATA_SEEDS:
        outcome = outcomes.get(seed)
        row[f"step_{seed}"] = outcome and outcome.step
        row[f"last_accuracy_{seed}"] = outcome and outcome.run.rows[-1]["accuracy"]
        row[f"run_{seed}"] = outcome and outcome.run.id
    return row


def in_words(group: Group, success: Table, pruning: Table) -> Iterator[str]:
    """A variant in plain sentences."""
    confirmed = [start for start in group.starts if start.confirmed]
    alike = sum(start.label != "mixed" for start in confirmed)
    released = sum(start.released_label == "bad" for start in confirmed)
    bad = sum(start.label == "bad" for start in confirmed)
    yield (
        f"{group.variant.title[0].upper()}{group.variant.title[1:]}. {len(group.starts)} heads were screened and "
        f"{len(confirmed)} confirmed; {alike} of these do the same on all three data seeds. {bad} are bad; by the "
        f"released rule (accuracy below 0.6) {released} are."
    )
    for row in success:
        if row["variant"] == group.name:
            when = f"; median step {row['median_step']:.0f}" if row["learned"] else ""
            yield (
                f"{row['setting']}: {row['learned']} of {row['runs']} networks learned within {WITHIN} updates "
                f"({row['rate']:.0%}, 95 % interval {row['low']:.0%} to {row['high']:.0%}{when})."
            )
    if group.law is not None and len(group.failures) > 1:
        yield (
            f"Failures with K random heads fit q^K with q = {group.law.q:.2f} ({group.law.interval[0]:.2f} to "
            f"{group.law.interval[1]:.2f}); goodness of fit p = {group.law.goodness:.2g}."
        )
    best = [row for row in pruning if row["variant"] == group.name and row["best"]]
    if best:
        yield (
            f"{len(best)} networks that have learned, pruned to their best head: mean accuracy "
            f"{np.mean([row['best_accuracy'] for row in best]):.2f} against "
            f"{np.mean([row['whole'] for row in best]):.2f} whole."
        )
    if right := [row for row in best if row["setting"] == "one good"]:
        count = sum(row["good"] for row in right)
        yield f"The best head is the one that started good in {count} of {len(right)} of them."


# --- figures


def accuracy_curves(rows: Table, titles: Mapping[str, str]) -> alt.TopLevelMixin:
    """Accuracy of every combination, in the axes and colours of the paper's Figure 2 right, a panel a variant."""
    shown = [
        {
            "variant": titles[row["variant"]],
            "scenario": row["setting"],
            "combination": row["seed"],
            "step": row["step"],
            "accuracy": row["accuracy"],
        }
        for row in rows
        if row["setting"] in SCENARIOS and row["step"] <= WITHIN
    ]
    colour = alt.Color(
        "scenario:N",
        title=None,
        scale=alt.Scale(domain=list(SCENARIOS), range=list(COLOURS[:3])),
        legend=alt.Legend(orient="top"),
    )
    layer = curves(x="step", y="accuracy", group="combination", x_title="updates", y_title="token accuracy")
    return panels(
        shown,
        column="variant",
        layer=layer.encode(color=colour),
        title="Accuracy of every combination of heads",
    )


def failures_by_heads(rows: Table, titles: Mapping[str, str]) -> alt.TopLevelMixin:
    """How many networks of K random heads fail, with 95 % intervals, and the fitted law q^K with its own."""
    shown = [{**row, "variant": titles[row["variant"]]} for row in rows]
    for row in rows:
        if row["heads"] == 1:  # where the law gives q itself, and its interval
            law = {name: row[name] for name in ("fitted", "fitted_low", "fitted_high")}
            most = max(other["heads"] for other in rows if other["variant"] == row["variant"])
            shown += [
                {"variant": titles[row["variant"]], "heads": k, **{name: value**k for name, value in law.items()}}
                for k in np.arange(1, most, 0.25).tolist()
            ]
    heads = alt.X("heads:Q", title="random heads K", scale=alt.Scale(domainMin=0), axis=alt.Axis(tickMinStep=1))
    share = alt.Scale(domain=[0, 1])
    base = alt.Chart().encode(x=heads)
    band = base.mark_area(opacity=0.2, color=COLOURS[1]).encode(
        y=alt.Y("fitted_low:Q", title="share of networks that fail", scale=share), y2="fitted_high:Q"
    )
    line = base.mark_line(color=COLOURS[1]).encode(y="fitted:Q")
    bars = base.mark_rule(color=COLOURS[0]).encode(y="low:Q", y2="high:Q")
    points = base.mark_point(filled=True, size=60, color=COLOURS[0]).encode(
        y="rate:Q", tooltip=["heads:Q", "failed:Q", "runs:Q", "fitted:Q"]
    )
    chart: alt.FacetChart = (
        alt.layer(band, line, bars, points, data=alt.InlineData(values=shown))
        .properties(**SIZE)
        .facet(column=alt.Column("variant:N", title=None, header=alt.Header(labelFontSize=12)))
        .properties(title=titled("Failures within 200 updates (points) and the law q^K (line)"))
    )
    return chart


def heads_alone(rows: Table) -> alt.TopLevelMixin:
    """Accuracy of trained networks whole, with their best head alone, and with any other of their heads alone."""
    shown = []
    for row in rows:
        name = f"{row['variant']}, {row['setting']}"
        best = {"panel": name, "combination": row["combination"]}
        if row["best"]:
            shown.append({**best, "what": "all heads", "accuracy": row["whole"]})
            shown.append({**best, "what": "best head alone", "accuracy": row["best_accuracy"]})
        else:
            shown.append({**best, "what": "any other head alone", "accuracy": max(row["alone"], row["for_all"])})
    order = ["all heads", "best head alone", "any other head alone"]
    layer = (
        alt.Chart()
        .mark_tick(thickness=1.5, opacity=0.6)
        .encode(
            x=alt.X("what:N", title=None, sort=order, axis=alt.Axis(labelAngle=-30)),
            y=alt.Y("accuracy:Q", title="token accuracy", scale=alt.Scale(domain=[0, 1])),
            color=alt.Color("what:N", legend=None, scale=alt.Scale(domain=order, range=[INK, *COLOURS[:2]])),
            tooltip=["combination:Q", "what:N", alt.Tooltip("accuracy:Q", format=".3f")],
        )
        .properties(**SIZE)
    )
    return panels(
        shown, column="panel", layer=layer, title="Trained networks pruned to one head, without more training"
    )

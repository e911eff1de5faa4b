"""What `multihead` shows: tables of networks with several heads, the result in plain words, figures."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import altair as alt
import numpy as np

from attnlab.experiments.multihead.heads import DATA_SEEDS, SCENARIOS, Group, Start
from attnlab.families.copying.success import WITHIN, first_learned
from attnlab.lab.experiment import Table
from attnlab.lab.outcomes import Outcome, learned_steps, median, rate_of, rates_in_words
from attnlab.pages.charts import COLOURS, INK, SIZE, curves, headed, hue, inline, panels, rounded, shares

# --- tables and words


def success_row(variant: str, setting: str, outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """How many networks learned, with a Wilson interval, and how soon."""
    steps, n = learned_steps(outcomes), len(outcomes)
    row = {"variant": variant, "setting": setting, "runs": n, "learned": len(steps)}
    return {**row, **rate_of(len(steps), n), "median_step": median(steps)}


def failure_rows(group: Group) -> list[dict[str, Any]]:
    """Failures of networks with K random heads against the fitted law q^K."""
    law = group.law
    if law is None:
        return []
    rows = []
    for k, (failed, n) in group.failures.items():
        row = {"variant": group.name, "heads": k, "runs": n, "failed": failed, **rate_of(failed, n)}
        fitted = {"fitted": law.q**k, "fitted_low": law.interval[0] ** k, "fitted_high": law.interval[1] ** k}
        rows.append({**row, **fitted, "goodness": law.goodness})
    return rows


def head_row(variant: str, start: Start) -> dict[str, Any]:
    """What is known of one start; a label counts where the start was trained on all three data seeds."""
    labels = (start.label, start.released_label) if start.confirmed else (None, None)
    row: dict[str, Any] = {"variant": variant, "head": start.head, "confirmed": start.confirmed}
    row |= {"label": labels[0], "released_label": labels[1]}
    for seed in DATA_SEEDS:
        run = start.runs.get(seed)
        row[f"step_{seed}"] = run and first_learned(run.rows)
        row[f"last_accuracy_{seed}"] = run and run.rows[-1]["accuracy"]
        row[f"run_{seed}"] = run and run.id
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
            yield rates_in_words([row], what="networks learned")
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


def combination_curves(rows: Table, titles: Mapping[str, str]) -> alt.TopLevelMixin:
    """Accuracy of every combination, in the axes and colours of the paper's Figure 2 right, a panel a variant."""
    shown = [
        {"variant": titles[row["variant"]], "scenario": row["setting"], "combination": row["seed"]}
        | {name: row[name] for name in ("step", "accuracy")}
        for row in rows
        if row["setting"] in SCENARIOS and row["step"] <= WITHIN
    ]
    layer = curves(y="accuracy", group="combination", y_title="token accuracy")
    layer = layer.encode(color=hue("scenario", COLOURS[:3], domain=SCENARIOS))
    return panels(shown, column="variant", layer=layer, title="Accuracy of every combination of heads")


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
    scale, axis = alt.Scale(domainMin=0), alt.Axis(tickMinStep=1)
    base = alt.Chart().encode(x=alt.X("heads:Q", title="random heads K", scale=scale, axis=axis))
    band = base.mark_area(opacity=0.2, color=COLOURS[1])
    points = base.mark_point(filled=True, size=60, color=COLOURS[0])
    layers = alt.layer(
        band.encode(y=shares("fitted_low", "share of networks that fail"), y2="fitted_high:Q"),
        base.mark_line(color=COLOURS[1]).encode(y="fitted:Q"),
        base.mark_rule(color=COLOURS[0]).encode(y="low:Q", y2="high:Q"),
        points.encode(y="rate:Q", tooltip=["heads:Q", "failed:Q", "runs:Q", "fitted:Q"]),
        data=inline(shown),
    )
    column = alt.Column("variant:N", title=None, header=alt.Header(labelFontSize=12))
    title = "Failures within 200 updates (points) and the law q^K (line)"
    return headed(layers.properties(**SIZE).facet(column=column), title)


def heads_alone(rows: Table) -> alt.TopLevelMixin:
    """Accuracy of trained networks whole, with their best head alone, and with any other of their heads alone."""
    order = ["all heads", "best head alone", "any other head alone"]
    shown = []
    for row in rows:
        other = max(row["alone"], row["for_all"])
        values = (row["whole"], row["best_accuracy"], None) if row["best"] else (None, None, other)
        of_row = {"panel": f"{row['variant']}, {row['setting']}", "combination": row["combination"]}
        shown += [
            {**of_row, "what": what, "accuracy": value}
            for what, value in zip(order, values, strict=True)
            if value is not None
        ]
    ticks = alt.Chart().mark_tick(thickness=1.5, opacity=0.6).properties(**SIZE)
    layer = ticks.encode(
        x=alt.X("what:N", title=None, sort=order, axis=alt.Axis(labelAngle=-30)),
        y=shares("accuracy", "token accuracy"),
        color=alt.Color("what:N", legend=None, scale=alt.Scale(domain=order, range=[INK, *COLOURS[:2]])),
        tooltip=["combination:Q", "what:N", rounded("accuracy")],
    )
    title = "Trained networks pruned to one head, without more training"
    return panels(shown, column="panel", layer=layer, title=title)

"""What came out of following attention and the lexical probe: tables, words and figures of `knowledge_first`."""

from collections.abc import Mapping, Sequence

import altair as alt
import numpy as np

from attnlab.experiments.knowledge_first.stages import FIELDS, Course, Field, median
from attnlab.lab.claims import Preset
from attnlab.lab.experiment import Table
from attnlab.pages.charts import CONTRAST, curves, panels
from attnlab.stats.bootstrap import bootstrap_interval

NAMES: dict[Field, str] = {"probe": "lexical probe", "attention": "attention"}
SHARED: dict[Field, str] = {"probe": "relevance (the probe by its sum)", "attention": "attention"}
"""What entropies are of."""


def setting_table(courses: Mapping[str, Sequence[Course]]) -> Table:
    """A row for each setting that was run."""
    return [setting_row(name, group) for name, group in courses.items() if group]


def setting_row(name: str, group: Sequence[Course]) -> dict[str, object]:
    """How soon both fields get there, by rank and by half height, how uniform they begin, how far stages overlap.

    Medians are over seeds that get there; leads and overlaps are means with 95 % intervals over seeds.
    """
    row: dict[str, object] = {"setting": name, "seeds": len(group), "chance": group[0].chance}
    for field in FIELDS:
        steps = [course.reached(field) for course in group]
        row |= {
            f"{field}_reached": sum(step is not None for step in steps),
            f"{field}_step": median(steps),
            f"{field}_half_height": median([course.half_height(field) for course in group]),
            f"{field}_highest": float(np.mean([course.top[field].max() for course in group])),
            f"{field}_last": float(np.mean([course.top[field][-1] for course in group])),
            f"{field}_entropy_at_start": float(np.mean([course.entropy[field][0] for course in group])),
        }
    for what, values in (
        ("lead", [course.lead for course in group]),
        ("overlap", [course.overlap for course in group]),
    ):
        there = [float(value) for value in values if value is not None]
        interval = bootstrap_interval(there) if there else None
        row |= {
            f"{what}_seeds": len(there),
            what: float(np.mean(there)) if there else None,
            f"{what}_low": interval[0] if interval else None,
            f"{what}_high": interval[1] if interval else None,
        }
    return row | {
        "attention_begins": median([course.attention_begins for course in group if course.overlap is not None]),
        "probe_ends": median([course.probe_ends for course in group if course.overlap is not None]),
        "attention_leaves_uniform": median([course.leaves_uniform for course in group]),
        "attention_entropy_at_knowledge": median([course.entropy_at_knowledge for course in group]),
        "last_step": int(group[0].steps[-1]),
        "accuracy": float(np.mean([course.accuracy[-1] for course in group])),
    }


def seed_row(course: Course) -> dict[str, object]:
    """How one seed went."""
    return {
        "setting": course.setting,
        "seed": course.seed,
        **{f"{field}_step": course.reached(field) for field in FIELDS},
        "lead": course.lead,
        **{f"{field}_half_height": course.half_height(field) for field in FIELDS},
        "attention_begins": course.attention_begins,
        "probe_ends": course.probe_ends,
        "overlap": course.overlap,
        "attention_leaves_uniform": course.leaves_uniform,
        "attention_entropy_at_knowledge": course.entropy_at_knowledge,
        **{f"{field}_last": float(course.top[field][-1]) for field in FIELDS},
        "accuracy": float(course.accuracy[-1]),
        "run": course.run,
    }


def frozen_table(frozen: Sequence[Course]) -> Table:
    """How far attention alone came, seed by seed."""
    return [
        {
            "seed": course.seed,
            "attention_step": course.reached("attention"),
            "attention_highest": float(course.top["attention"].max()),
            "attention_last": float(course.top["attention"][-1]),
            "attention_entropy_last": float(course.entropy["attention"][-1]),
            "accuracy": float(course.accuracy[-1]),
            "chance": course.chance,
            "last_step": int(course.steps[-1]),
            "run": course.run,
        }
        for course in frozen
    ]


def tell(table: Table, frozen: Sequence[Course]) -> str:
    """The result in plain words."""
    sentences = []
    for row in table:
        reached = [
            f"the {NAMES[field]} from step {row[f'{field}_step']:g} on (median; {row[f'{field}_reached']} of "
            f"{row['seeds']} seeds)"
            if row[f"{field}_reached"]
            else f"the {NAMES[field]} in no seed by step {row['last_step']}"
            for field in FIELDS
        ]
        sentence = (
            f"{row['setting']}: the right position is the largest in half of the cases of {', of '.join(reached)}"
        )
        if row["lead"] is not None:
            order = "later" if row["lead"] >= 0 else "earlier"
            sentence += f"; attention gets there {abs(row['lead']):.1f} updates {order} on average"
            if row["lead_low"] is not None:
                sentence += f" (95 % interval over seeds of the lag {row['lead_low']:.1f} to {row['lead_high']:.1f})"
        sentences.append(
            f"{sentence}. Attention begins at {row['attention_entropy_at_start']:.1%} of its largest entropy, "
            f"relevance at {row['probe_entropy_at_start']:.1%}."
        )
    if frozen:
        count = sum(course.reached("attention") is not None for course in frozen)
        highest = max(float(course.top["attention"].max()) for course in frozen)
        sentences.append(
            f"With attention alone trained, over words that stay random, it gets there in {count} of {len(frozen)} "
            f"seeds within {int(frozen[0].steps[-1])} updates; the most is {highest:.1%} of the cases."
        )
    return " ".join(sentences)


def notes(preset: Preset, *, texts: bool) -> tuple[str, ...]:
    """What a reader should know about how it was run."""
    told = [
        "A field gets there once the right position is its largest in at least half of the cases: on copying the "
        "position that is copied, on the keyword task the keyword's, in positive sequences. Half heights are of the "
        "mean value at that position, half way from its start to its highest.",
        "The keyword task has batches of 32 and 300 numbers a word, as P3's classifier of texts; the papers do not say "
        "with which its own was trained.",
    ]
    if texts:
        told.append(
            "On SST each field is compared with its own end, at the evaluation of highest validation accuracy of 1000 "
            "updates (the paper trains 4000); both get there by construction, and only the order says something."
        )
    elif preset != "quick":
        told.append("SST was not found in the data folder that ATTNLAB_DATA names and is left out.")
    if preset == "quick":
        told.append("quick: one or two seeds a setting, 40 updates, neither permutations nor SST.")
    if preset == "reduced":
        told.append("reduced: 10 seeds a setting instead of 20, 5 on SST instead of 10.")
    return tuple(told)


def figures(courses: Mapping[str, Sequence[Course]], frozen: Sequence[Course]) -> dict[str, alt.TopLevelMixin]:
    """Curves of all seeds: where both fields point, how uniform they are, and what attention alone comes to."""
    rows = [row for group in courses.values() for course in group for row in course.rows()]
    drawn = {
        "knowledge": both_fields(
            rows, "top", NAMES, "right position is the largest", "Where words and attention point"
        ),
        "entropy": both_fields(
            rows, "entropy", SHARED, "share of the largest entropy", "How uniform attention and relevance are"
        ),
    }
    whole = next(iter(courses.values()), ())
    if frozen:
        compared = [
            {"trained": trained, "seed": course.seed, "step": row["step"], "share": row["attention_top"]}
            for trained, group in (("everything", whole), ("attention alone", frozen))
            for course in group
            for row in course.rows()
        ]
        layer = curves(
            x="step", y="share", group="seed", x_title="updates", y_title="right position has most attention"
        )
        drawn["frozen"] = panels(
            compared, column="trained", layer=layer, title="Copying 40 of 60: can attention be learned without words?"
        )
    return drawn


def both_fields(rows: Table, measure: str, names: Mapping[Field, str], y_title: str, title: str) -> alt.TopLevelMixin:
    """One measure of both fields, a line for each seed, a panel with its own updates for each setting."""
    table = [
        {
            "setting": row["setting"],
            "seed": row["seed"],
            "step": row["step"],
            "what": names[field],
            "share": row[f"{field}_{measure}"],
        }
        for row in rows
        for field in FIELDS
    ]
    layer = curves(
        x="step", y="share", group="seed", colour="what", colours=CONTRAST, x_title="updates", y_title=y_title
    )
    chart: alt.FacetChart = panels(table, column="setting", layer=layer, title=title).resolve_scale(x="independent")
    return chart

"""``attnlab experiments``: what can be run, what came out, what it cost."""

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from attnlab.cli.options import JsonOption, Screen, listing, print_json

SHORT = {"as the paper says": "as said"}
ORDER = ("as the paper says", "holds", "differs", "fails", "open", "not run")
"""Outcomes as they are listed: what is decided first."""


def experiments(as_json: JsonOption = False) -> None:
    """List the experiments that can be run, how their claims came out, and what their results cost."""
    from attnlab.lab.claims import OF_OURS, decide
    from attnlab.lab.claims.committed import in_words, places_of_results
    from attnlab.lab.registry import EXPERIMENTS

    places = places_of_results(None)
    decisions = decide(*places)
    rows: list[dict[str, Any]] = []
    for one in EXPERIMENTS.values():
        own = [decision for decision in decisions if one.name in decision.claim.experiments]
        outcomes = Counter(
            OF_OURS.get(one.outcome, one.outcome) if one.claim.by == "ours" else one.outcome for one in own
        )
        preset, hours = cost_of(one.name, places)
        rows.append({"name": one.name, "title": one.title, "source": one.source, "claims": [one.id for one in own]})
        rows[-1] |= {"outcomes": outcomes, "preset": preset, "cpu_hours": hours}
    if as_json:
        print_json(rows)
        return
    table = listing("experiment", "what it shows", "claims", "CPU hours")
    table.columns[0].no_wrap, table.columns[0].overflow = True, "fold"
    table.columns[-1].justify = "right"
    for row in rows:
        counted = sorted(row["outcomes"].items(), key=lambda one: ORDER.index(one[0]))
        said = ", ".join(f"{n} {SHORT.get(outcome, outcome)}" for outcome, n in counted)
        table.add_row(row["name"], row["title"], said, in_hours(row["cpu_hours"]))
    screen = Screen()
    screen.print(table)
    where = " and ".join(map(in_words, places))
    screen.print(
        f"Outcomes and hours of training: {where}. Run one: attnlab run NAME; its claims: attnlab claims "
        "--experiment NAME --long"
    )


def in_hours(hours: float | None) -> str:
    """Hours of training as a person wants them.

    >>> in_hours(5.282), in_hours(0.004), in_hours(0), in_hours(None)
    ('5.3', '< 0.1', '0', '')
    """
    if hours is None:
        return ""
    return "< 0.1" if 0 < hours < 0.05 else f"{hours:.1f}".removesuffix(".0")


def cost_of(name: str, places: Sequence[Path]) -> tuple[str | None, float | None]:
    """The strongest preset of which there is a result, and the hours of training of all its rows."""
    from attnlab.lab.claims import PRESETS, read_whole

    for preset in reversed(PRESETS):
        for place in places:
            files = sorted((place / name / preset).glob("**/result.json"))
            if files:
                seconds = [float(json.loads(read_whole(file)).get("training_seconds", 0)) for file in files]
                return preset, round(sum(seconds) / 3600, 3)
    return None, None

"""The list of claims on the first page of a site: tally, filters, search, and each effect as a dot on a line."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from attnlab.pages.assets import read_template
from attnlab.pages.component import Component
from attnlab.pages.page import Badge, render

WIDTH, HEIGHT = 180, 22


@dataclass(frozen=True)
class ClaimRow:
    """A claim as the list shows it. ``pages``: its experiments by name, each with its page or ""."""

    id: str
    statement: str
    source: str
    paper: str
    outcome: str
    badge: Badge
    effect: str
    drawing: Markup
    pages: Sequence[tuple[str, str]]
    over: str = ""
    preset: str = ""
    thumbnail: str = ""


def claims_component(rows: Sequence[ClaimRow], tally: Sequence[Mapping[str, Any]]) -> Component:
    """The list with its filters. ``tally``: a line for each text: ``paper``, ``claims``, and badges as ``parts``."""
    shown = [
        {
            **{name: getattr(row, name) for name in ClaimRow.__dataclass_fields__},
            "badge": row.badge.text,
            "kind": row.badge.kind,
            "experiments": ", ".join(name for name, _ in row.pages),
            "href": next((href for _, href in row.pages if href), ""),
        }
        for row in rows
    ]
    filters = [
        ("paper", "Text", list(dict.fromkeys(row.paper for row in rows))),
        ("outcome", "Outcome", list(dict.fromkeys(row.outcome for row in rows))),
        ("experiment", "Experiment", list(dict.fromkeys(name for row in rows for name, _ in row.pages))),
    ]
    html = Markup(render("claims.html", rows=shown, tally=tally, filters=filters))
    return Component("claims-list", html, read_template("claims.css"), read_template("claims.js"))


def dot_plot(effect: float | None, interval: tuple[float, float] | None) -> Markup:
    """An effect with its interval on a line that begins or passes through 0: shares from 0 to 1, differences around 0.

    >>> dot_plot(None, None)
    Markup('')
    >>> 'cx="90.0"' in dot_plot(0.5, (0.25, 0.75))
    True
    """
    if effect is None:
        return Markup("")
    low, high = interval or (effect, effect)
    first, last = min(0.0, low, effect), max(0.0, high, effect)
    if first >= -1 and last <= 1:
        first, last = (0.0, 1.0) if first == 0 else (-1.0, 1.0)
    else:
        first, last = 1.08 * first, 1.08 * last
    span = (last - first) or 1.0

    def place(value: float) -> str:
        return f"{8 + (value - first) / span * (WIDTH - 16):.1f}"

    y = HEIGHT / 2
    return Markup(
        '<svg class="dot" width="{w}" height="{h}" viewBox="0 0 {w} {h}" aria-hidden="true" focusable="false">'
        '<line x1="8" x2="{end}" y1="{y}" y2="{y}" stroke="var(--line)"/>'
        '<line x1="{zero}" x2="{zero}" y1="3" y2="{foot}" stroke="var(--soft)"/>'
        '<line x1="{low}" x2="{high}" y1="{y}" y2="{y}" stroke="var(--link)" stroke-width="3"/>'
        '<circle cx="{at}" cy="{y}" r="5" fill="var(--link)"/></svg>'
    ).format(
        w=WIDTH,
        h=HEIGHT,
        end=WIDTH - 8,
        y=y,
        foot=HEIGHT - 3,
        zero=place(0.0),
        low=place(low),
        high=place(high),
        at=place(effect),
    )

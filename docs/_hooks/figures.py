"""Figures of committed results as the documentation shows them: in the pages' look, once for a wide screen and once for
a phone, and turned by the style for a dark one. Ink is dark on nothing, so that inverting it is all that takes.
"""

import json
from collections.abc import Iterator, Mapping
from html import escape
from pathlib import Path
from typing import Any

import vl_convert

from attnlab.pages.charts import VEGA_LITE
from attnlab.pages.fit import prepare

WIDE, NARROW = 700, 345
"""Pixels of the text's column, on a large screen and on a phone."""
INKS = {"currentColor": "#1f2328", "var(--line)": "#d5dae0", "system-ui, sans-serif": "sans-serif"}
PANEL, LETTER, AXIS = 215, 6.6, 70
"""Pixels of the narrowest panel, of a letter, and of an axis with its numbers."""


def drawn(path: Path, width: int) -> str:
    """The chart that lies beside the figure ``path``, as SVG of at most that width, as far as its names allow."""
    described = json.loads(path.with_suffix(".vl.json").read_text(encoding="utf-8"))
    chart, room = prepare(described).chart, width
    for _ in range(3):  # what axes and legends take is known once it is drawn
        text = json.dumps(arranged(chart, room, width))
        for name, ink in INKS.items():
            text = text.replace(name, ink)
        svg: str = vl_convert.vegalite_to_svg(text, vl_version=VEGA_LITE)
        if (over := float(svg.split('width="', 1)[1].split('"', 1)[0]) - width) <= 0:
            break
        room -= int(over) + 4
    return svg


def picture(wide: str, narrow: str, words: str) -> str:
    """Both as one picture, from which a browser takes what fits."""
    small = f'<source media="(max-width: 44.9em)" srcset="{narrow}">'
    return f'<picture class="figure">{small}<img src="{wide}" alt="{escape(words)}" loading="lazy"></picture>'


def arranged(chart: Mapping[str, Any], room: int, width: int) -> dict[str, Any]:
    """Panels side by side as far as the ``width`` allows, together as wide as there is ``room``, legends above."""
    made: dict[str, Any] = json.loads(json.dumps(chart))
    datasets = made.get("datasets", {})
    columns, sized = 1, [made]
    if facet := made.get("facet"):
        facet = made["facet"] = facet.get("column", facet) if "row" not in facet else facet
        values = {str(row[facet["field"]]) for row in rows_of(made, datasets)} if "field" in facet else ()
        columns, sized = min(len(values) or 3, max(1, width // PANEL)), [made["spec"]]
        if "field" in facet:
            made["columns"] = columns
            facet["header"] = {**facet.get("header", {}), "labelLimit": width // columns}
    elif parts := made.pop("hconcat", None) or made.pop("vconcat", None) or made.get("concat"):
        columns, sized = min(len(parts), max(1, width // (PANEL + AXIS))), parts
        made |= {"concat": parts, "columns": columns}
    for part in sized:
        inside = views(part, datasets, rows_of(made, datasets))
        left = max(label for view, own in inside for label in labels(view, own))
        part["width"] = max(60, room / columns - min(left, 0.45 * width / columns) - 30)
    for view, own in views(made, datasets, []):
        lay_out(view, own, width)
    return made


def lay_out(view: Mapping[str, Any], rows: list[Any], width: int) -> None:
    """A view's legend above it in as many columns as fit, its names not longer than half of the width."""
    encoding = view.get("encoding", {})
    for channel in ("color", "fill", "shape", "strokeDash"):
        one = encoding.get(channel)
        if not isinstance(one, dict) or "field" not in one or one.get("type") == "quantitative":
            continue
        if one.get("legend", {}) is not None:
            names = {str(row.get(one["field"], "")) for row in rows} or {""}
            across = max(1, int((width - AXIS) / (max(map(len, names)) * LETTER + 40)))
            one["legend"] = {**one.get("legend", {}), "orient": "top", "columns": across, "labelLimit": width - 60}
    y = encoding.get("y")
    if isinstance(y, dict) and y.get("type") in ("nominal", "ordinal") and y.get("axis", {}) is not None:
        y["axis"] = {**y.get("axis", {}), "labelLimit": int(0.42 * width)}


def labels(view: Mapping[str, Any], rows: list[Any]) -> Iterator[float]:
    """Pixels that names and numbers at the left of a view take."""
    y = view.get("encoding", {}).get("y")
    yield AXIS - 30
    if isinstance(y, dict) and y.get("type") in ("nominal", "ordinal") and "field" in y:
        yield from (len(str(row.get(y["field"], ""))) * LETTER for row in rows)


def views(part: Mapping[str, Any], datasets: Mapping[str, Any], rows: list[Any]) -> Iterator[tuple[Any, list[Any]]]:
    """Every single view below a chart, with its rows."""
    own = rows_of(part, datasets) or rows
    inner = [*part.get("layer", ()), *part.get("concat", ()), *([part["spec"]] if "spec" in part else [])]
    if not inner:
        yield part, own
    for one in inner:
        yield from views(one, datasets, own)


def rows_of(part: Mapping[str, Any], datasets: Mapping[str, Any]) -> list[Any]:
    """The rows that a part of a chart names itself."""
    data = part.get("data") or {}
    found: list[Any] = data.get("values") or datasets.get(str(data.get("name")), [])
    return found

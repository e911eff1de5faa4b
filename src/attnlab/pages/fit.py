"""Charts made ready for a page: one look for all, its data inside, and words for those who cannot see it.

What a chart shows stays as it is. Fonts, ink, sizes and titles are those of the page, so that charts of results
written long ago look like today's. The page's script then draws each to the width that it has.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt

from attnlab.errors import UsageError
from attnlab.pages.charts import COLOURS, Description, describe
from attnlab.pages.component import packed

SMALLEST = 12
"""Pixels of the smallest letters."""
LARGE = 6000
"""Characters from which a chart's description is packed."""
_INKS = {"#333333", "#333", "black", "#000000", "#000"}
"""What charts call the colour of text; on a page it is that of its text, dark or light."""
INK, SOFT = "currentColor", "var(--line)"
_NUMBERS = {"labelFontSize": SMALLEST, "titleFontSize": SMALLEST}
CONCEPTS = {
    "attention": "#d55e00",
    "attention at the right position": "#d55e00",
    "attention on the right word": "#d55e00",
    "attention, one after the right position": "#cc79a7",
    "lexical probe": "#0072b2",
    "relevance (the probe by its sum)": "#0072b2",
    "accuracy": "#009e73",
    "token accuracy": "#009e73",
    "attention_accuracy": "#d55e00",
    "probe_accuracy": "#0072b2",
    "right position has most attention": "#d55e00",
}
"""One colour for each thing that is followed through training, on every page, by its name, its column or its axis."""
_LEGENDS = {side: {"anchor": "start", "direction": "vertical"} for side in ("top", "bottom")}
CONFIG: dict[str, Any] = {
    "background": "transparent",
    "font": "system-ui, sans-serif",
    "view": {"stroke": SOFT, "continuousHeight": 220, "continuousWidth": 300},
    "axis": {
        **_NUMBERS,
        "labelColor": INK,
        "titleColor": INK,
        "titleFontWeight": "normal",
        "domainColor": SOFT,
        "gridColor": SOFT,
        "gridOpacity": 0.5,
        "tickColor": SOFT,
        "labelFlush": False,
    },
    "legend": {
        **_NUMBERS,
        "labelColor": INK,
        "titleColor": INK,
        "symbolStrokeWidth": 3,
        "symbolOpacity": 1,
        "layout": _LEGENDS,
    },
    "header": {**_NUMBERS, "labelColor": INK, "titleColor": INK, "labelFontWeight": "bold"},
    "title": {"color": INK, "fontSize": 13, "anchor": "start", "fontWeight": "normal"},
    "text": {"color": INK, "fontSize": SMALLEST},
    "rule": {"color": INK},
}
"""What every chart of a page has in common."""


@dataclass(frozen=True)
class Prepared:
    """A chart for the template: its ``chart``, or where that is long the same ``packed``, and its ``description``."""

    chart: Description
    description: str
    packed: str = ""


def prepare(chart: alt.TopLevelMixin | Description, heading: str = "", caption: str = "") -> Prepared:
    """The chart in the page's look; ``heading`` and ``caption`` are read to those who do not see it.

    A chart that names something to be fetched or followed is refused.
    """
    described = describe(chart) if isinstance(chart, alt.TopLevelMixin) else chart
    try:
        if (place := address(described)) is not None:
            raise UsageError(
                f"A chart names an address at {place}; a chart of ours holds its data and fetches nothing."
            )
        words = " ".join(filter(None, (_sentence(heading), caption, _axes(described))))
        styled = {**coloured(_styled(described)), "config": CONFIG, "description": words}
        styled.pop("title", None)  # the page's heading says it
        text = json.dumps(styled, ensure_ascii=False)
    except RecursionError:
        raise UsageError(f"The chart {heading[:60]!r} has too many parts inside each other to be drawn.") from None
    return Prepared(styled, words, packed(text.encode("utf-8", "backslashreplace")) if len(text) > LARGE else "")


def address(part: Any, place: str = "") -> str | None:
    """Where a chart names something to be fetched or followed, or None. Rows of data may hold any word."""
    if isinstance(part, dict):
        for key, value in part.items():
            if key in ("url", "href"):
                return f"{place}.{key}".lstrip(".")
            if key not in ("datasets", "values") and (inner := address(value, f"{place}.{key}")) is not None:
                return inner
    if isinstance(part, list):
        return next((inner for k, value in enumerate(part) if (inner := address(value, f"{place}[{k}]"))), None)
    return None


def _titled(layers: list[Any]) -> None:
    """Give layers without a word on an axis the title of one that has it: else both would stand there, with a comma."""
    parts = [
        layer["encoding"] for layer in layers if isinstance(layer, dict) and isinstance(layer.get("encoding"), dict)
    ]
    for channel in ("x", "y"):
        drawn = [one for part in parts if isinstance(one := part.get(channel), dict)]
        said = [one["title"] for one in drawn if isinstance(one.get("title"), str) and one["title"]]
        for one in drawn:
            if not one.get("title", "") and one.get("title", "") is not None and said:
                one["title"] = said[0]


def _styled(part: Any, key: str = "") -> Any:
    """The same with the page's ink, and no letters smaller than it allows; data is left alone."""
    if isinstance(part, list) and key == "layer":
        layers = [_styled(value) for value in part]
        _titled(layers)
        return layers
    if isinstance(part, Mapping):
        painted = "condition" in part  # a number on a coloured cell keeps the ink that can be read on it
        return {
            name: value
            if name in ("datasets", "values") or (painted and name in ("value", "condition"))
            else _styled(value, name)
            for name, value in part.items()
        }
    if isinstance(part, list):
        return [_styled(value, key) for value in part]
    if key.lower().endswith("fontsize") and isinstance(part, int | float):
        return max(part, SMALLEST)
    if isinstance(part, str) and key in ("color", "stroke", "fill", "value", "range") and part.lower() in _INKS:
        return INK
    return part


def coloured(chart: dict[str, Any]) -> dict[str, Any]:
    """The chart with the colours of `CONCEPTS` for all names that have one."""
    _colour(chart, chart.get("datasets", {}), [])
    return chart


def _colour(part: Any, datasets: Any, rows: Any) -> None:
    if not isinstance(part, dict):
        return
    data = part.get("data")
    if isinstance(data, dict):
        named = datasets.get(str(data.get("name"))) if isinstance(datasets, dict) else None
        rows = data.get("values") or named or rows
    encoding = part.get("encoding")
    if isinstance(encoding, dict):
        _colour_by(encoding, rows if isinstance(rows, list) else [])
    for key in ("layer", "hconcat", "vconcat", "concat"):
        parts = part.get(key)
        for inner in parts if isinstance(parts, list) else ():
            _colour(inner, datasets, rows)
    _colour(part.get("spec"), datasets, rows)


def _colour_by(encoding: dict[str, Any], rows: list[Any]) -> None:
    colour, y = encoding.get("color"), encoding.get("y")
    if not isinstance(colour, dict):
        return
    if "value" in colour and isinstance(y, dict):
        for said in (str(y.get("field")), str(y.get("title"))):
            if said in CONCEPTS:
                encoding["color"] = {"value": CONCEPTS[said]}
        return
    field, scale = str(colour.get("field")), colour.get("scale")
    names = sorted({str(row[field]) for row in rows if isinstance(row, dict) and field in row})
    if any(name in CONCEPTS for name in names):
        given = scale if isinstance(scale, dict) else {}
        encoding["color"] = {**colour, "scale": _shared(names, given.get("domain"), given.get("range"))}


def _shared(names: Sequence[str], domain: Any, colours: Any) -> dict[str, Any]:
    """A scale on which concepts have their colours; others keep theirs, or get one that no concept here has."""
    domain = [str(name) for name in domain] if isinstance(domain, list) else list(names)
    own = [str(one) for one in colours] if isinstance(colours, list) and colours else list(COLOURS)
    taken = {CONCEPTS[name] for name in domain if name in CONCEPTS}
    free = iter([one for one in COLOURS if one not in taken and one not in own] or own)
    painted = []
    for k, name in enumerate(domain):
        drawn_in = own[k % len(own)]
        painted.append(CONCEPTS.get(name, drawn_in if drawn_in not in taken else next(free, drawn_in)))
    return {"domain": domain, "range": painted}


def _sentence(text: str) -> str:
    return f"{text.rstrip('.')}." if text else ""


def _axes(part: Any) -> str:
    """Which quantities the axes show, in a sentence."""
    named: dict[str, str] = {}
    _find_axes(part, named)
    said = [f"{'Across' if channel == 'x' else 'Up'}: {name}." for channel, name in sorted(named.items())]
    return " ".join(said)


def _find_axes(part: Any, named: dict[str, str]) -> None:
    if not isinstance(part, Mapping):
        return
    encoding = part.get("encoding")
    if isinstance(encoding, Mapping):
        for channel in ("x", "y"):
            one = encoding.get(channel)
            if isinstance(one, Mapping) and channel not in named:
                title = one.get("title", one.get("field"))
                if isinstance(title, str) and re.search(r"\w", title):
                    named[channel] = title
    for key in ("layer", "hconcat", "vconcat", "concat"):
        parts = part.get(key)
        for inner in parts if isinstance(parts, list) else ():
            _find_axes(inner, named)
    _find_axes(part.get("spec"), named)

"""What a chart draws: its marks, each with the value that it shows on every channel."""

from attnlab.pages.charts import describe


def drawn(chart, layer=0):
    """The marks of a chart's layer: for each the value on each channel (x, y, color, facet, ...).

    A mark whose row lacks one of its x and y values is not drawn.
    """
    description = describe(chart)
    outer = {name: description[name] for name in ("facet",) if name in description}
    if "column" in outer.get("facet", {}):
        outer = {"facet": outer["facet"]["column"]}
    inner = description.get("spec", description)
    part = inner["layer"][layer] if "layer" in inner else inner
    channels = {**outer, **inner.get("encoding", {}), **part.get("encoding", {})}
    fields = {name: one["field"] for name, one in channels.items() if isinstance(one, dict) and "field" in one}
    data = next(place["data"] for place in (part, inner, description) if "data" in place)
    rows = description["datasets"][data["name"]] if "name" in data else data["values"]
    marks = [{channel: row.get(field) for channel, field in fields.items()} for row in rows]
    return [mark for mark in marks if all(mark[axis] is not None for axis in ("x", "y") if axis in mark)]


def at(marks, **channels):
    """The marks that have these values on these channels."""
    return [mark for mark in marks if all(mark[name] == value for name, value in channels.items())]

"""What a chart draws: its views one by one, with their data and the fields that they show."""

from attnlab.pages.charts import describe


def views(chart):
    """Each view as ``(rows, fields)``: the rows drawn, and the field shown by each channel, such as x or color.

    Facets, layers and charts side by side are taken apart; a facet is a channel of all views inside it.
    """
    described = chart.to_dict(validate=False)
    return list(_views(described, None, {}, described.get("datasets", {})))


def _views(part, rows, fields, datasets):
    data = part.get("data", {})
    rows = data.get("values", datasets.get(data.get("name"), rows))
    if "facet" in part:
        facet = part["facet"]
        fields = fields | {"facet": (facet.get("column") or facet)["field"]}
        yield from _views(part["spec"], rows, fields, datasets)
        return
    for inner in next((part[key] for key in ("layer", "hconcat", "vconcat", "concat") if key in part), []):
        yield from _views(inner, rows, fields, datasets)
    if "mark" in part:
        shown = {channel: _field(how) for channel, how in part.get("encoding", {}).items() if isinstance(how, dict)}
        yield rows, fields | {channel: field for channel, field in shown.items() if field}


def _field(how):
    return f"{how['aggregate']}({how.get('field', '')})" if "aggregate" in how else how.get("field")


def drawn(chart):
    """The rows of all data of a chart, each data set once, in the order of its views."""
    distinct = {id(rows): rows for rows, _ in views(chart)}
    return [row for rows in distinct.values() for row in rows]


def marks(chart, layer=0):
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
    shown = [{channel: row.get(field) for channel, field in fields.items()} for row in rows]
    return [mark for mark in shown if all(mark[axis] is not None for axis in ("x", "y") if axis in mark)]


def at(marks, **channels):
    """The marks that have these values on these channels."""
    return [mark for mark in marks if all(mark[name] == value for name, value in channels.items())]

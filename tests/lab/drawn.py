"""What a chart draws: its views one by one, with their data and the fields that they show."""


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

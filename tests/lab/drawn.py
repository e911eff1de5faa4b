"""What a figure draws: the rows of its data."""

from typing import Any

import altair as alt

from attnlab.pages.charts import describe


def drawn(figure: alt.TopLevelMixin) -> list[dict[str, Any]]:
    """All rows of all data of a figure, in the order of its parts."""
    document = describe(figure)
    names, rows = [], []

    def look(part: Any) -> None:
        if isinstance(part, dict):
            data = part.get("data")
            if isinstance(data, dict) and "values" in data:
                rows.extend(data["values"])
            elif isinstance(data, dict) and data.get("name") not in (None, *names):
                names.append(data["name"])
                rows.extend(document["datasets"][data["name"]])
            for key, value in part.items():
                if key not in ("data", "datasets"):
                    look(value)
        elif isinstance(part, list):
            for value in part:
                look(value)

    look(document)
    return rows

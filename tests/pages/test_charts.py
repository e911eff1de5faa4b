"""Panels: as many as there are values, no wider than a page."""

import pytest

from attnlab.pages.charts import curves, panels


@pytest.mark.parametrize(("kinds", "columns"), [(1, 1), (2, 2), (4, 4), (5, 3), (6, 3)])
def test_more_than_four_panels_are_put_into_rows_of_three(kinds, columns):
    rows = [{"kind": f"{kind}", "step": step, "value": step, "seed": 0} for kind in range(kinds) for step in range(2)]
    layer = curves(x="step", y="value", group="seed", x_title="updates", y_title="value")
    chart = panels(rows, column="kind", layer=layer, title="a title").to_dict()
    assert chart["columns"] == columns
    assert chart["facet"]["sort"] == [f"{kind}" for kind in range(kinds)]
    assert chart["title"]["text"] == "a title"

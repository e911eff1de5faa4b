"""Panels: as many as there are values, no wider than a page; lines over training."""

import pytest
from tests.lab.drawn import drawn

from attnlab.pages.charts import curves, over_training, panels


@pytest.mark.parametrize(("kinds", "columns"), [(1, 1), (2, 2), (4, 4), (5, 3), (6, 3)])
def test_more_than_four_panels_are_put_into_rows_of_three(kinds, columns):
    rows = [{"kind": f"{kind}", "step": step, "value": step, "seed": 0} for kind in range(kinds) for step in range(2)]
    layer = curves(x="step", y="value", group="seed", x_title="updates", y_title="value")
    chart = panels(rows, column="kind", layer=layer, title="a title").to_dict()
    assert chart["columns"] == columns
    assert chart["facet"]["sort"] == [f"{kind}" for kind in range(kinds)]
    assert chart["title"]["text"] == "a title"


def test_lines_over_training_have_a_colour_for_what_and_a_line_for_each_pair():
    rows = [{"what": "A(u, v)", "seeds": "1, 2", "step": step, "value": step / 20} for step in (0, 10)]
    chart = over_training(rows, title="a title", chance=0.05)
    lines, level = chart.to_dict()["layer"]
    fields = {name: lines["encoding"][name]["field"] for name in ("x", "y", "color", "detail")}
    assert fields == {"x": "step", "y": "value", "color": "what", "detail": "seeds"}
    assert level["encoding"]["y"]["field"] == "value"
    assert drawn(chart) == [*rows, {"value": 0.05, "what": "exact chance"}]
    assert drawn(over_training(rows, title="a title")) == rows

"""How charts are drawn in a real browser: names beside their marks or a legend, light and dark, empty places, print."""

import re

import altair as alt
import pytest

from attnlab.pages.charts import accuracy_curves, curves, heat_map, inline, seed_curves
from attnlab.pages.page import Section, write_page

pytestmark = pytest.mark.more

APART = [
    {"what": what, "seed": seed, "step": step, "share": base + seed / 50}
    for what, base in (("rises", 0.7), ("stays", 0.1))
    for seed in range(3)
    for step in (0, 50, 100)
]
TOGETHER = [{**row, "share": 0.5} for row in APART]
BOXES = """() => [...document.querySelectorAll(".chart text.direct")].map((one) => {
  const { left, right, top, bottom } = one.getBoundingClientRect();
  return [one.textContent, left, right, top, bottom, one.getAttribute("fill")];
})"""
POINTS = """() => [...document.querySelectorAll(".chart .mark-line path")].flatMap((path) => {
  const at = path.getCTM(), made = [], frame = path.closest("svg").getBoundingClientRect();
  for (let n = 0; n <= path.getTotalLength(); n += 2) {
    const point = path.getPointAtLength(n).matrixTransform(at);
    made.push([point.x + frame.left, point.y + frame.top]);
  }
  return made;
})"""


@pytest.fixture
def opened(tmp_path, look):
    def show(chart, **how):
        write_page(tmp_path / "page.html", "A page", "", [Section("A chart", chart=chart)])
        return look(tmp_path / "page.html", **how).page

    return show


def lines(rows, **how):
    drawn = curves(y="share", y_title="share", colour="what", **how)
    return drawn.properties(data=inline(rows), width=300, height=200)


@pytest.mark.parametrize("dark", [False, True])
def test_names_stand_beside_lines_that_are_apart_and_on_none(dark, opened):
    page = opened(lines(APART), dark=dark)
    assert page.get_attribute(".chart", "data-names") == "direct"
    assert page.locator(".chart .role-legend").count() == 0
    boxes, points = page.evaluate(BOXES), page.evaluate(POINTS)
    assert {name for name, *_ in boxes} == {"rises", "stays"}
    assert len({fill for *_, fill in boxes}) == 2
    for name, left, right, top, bottom, _ in boxes:
        assert not [1 for x, y in points if left < x < right and top + 2 < y < bottom - 2], name
    middle = {name: (top + bottom) / 2 for name, _, _, top, bottom, _ in boxes}
    assert middle["rises"] < middle["stays"], "each beside its own"


def test_lines_that_cover_each_other_have_a_legend_and_say_why(opened):
    page = opened(lines(TOGETHER))
    assert page.get_attribute(".chart", "data-names") == "legend"
    assert page.get_attribute(".chart", "data-why").startswith("no room beside the marks for:")
    assert page.locator(".chart .role-legend-label text").all_text_contents() == ["rises", "stays"]
    assert page.locator(".chart text.direct").count() == 0


def test_many_names_have_a_legend(opened):
    rows = [{"what": f"name {k}", "seed": 0, "step": step, "share": k / 8} for k in range(7) for step in (0, 9)]
    page = opened(lines(rows, colours=("#d55e00", "#0072b2")))
    assert (page.get_attribute(".chart", "data-names"), page.get_attribute(".chart", "data-why")) == (
        "legend",
        "7 names",
    )


def test_hostile_names_are_text(opened):
    page = opened(lines([{**row, "what": f"<img src=x onerror=alert(1)>{row['what']}"} for row in APART]))
    assert page.get_attribute(".chart", "data-names") == "direct"
    assert page.locator("img").count() == 0


def luminance(colour):
    parts = [int(part) for part in re.findall(r"\d+", colour)[:3]]
    if colour.startswith("#"):
        parts = [int(colour[k : k + 2], 16) for k in (1, 3, 5)]
    linear = [(part / 255 / 12.92) if part <= 10 else ((part / 255 + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one, other):
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


CELLS = """() => {
  const cells = [...document.querySelectorAll(".chart .mark-rect.role-mark path")];
  const numbers = [...document.querySelectorAll(".chart .mark-text.role-mark text")];
  return numbers.map((one, k) => [one.textContent, getComputedStyle(one).fill, getComputedStyle(cells[k]).fill]);
}"""


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("diverging", [False, True])
def test_heat_maps_are_dark_in_the_dark_and_every_number_is_read(dark, diverging, opened):
    values = [[k / 20 for k in range(10)], [(k + 10) / 20 for k in range(10)]]
    if diverging:
        values = [[(k - 10) / 10.5 for k in range(10)], [k / 10.5 for k in range(10)]]
    chart = heat_map(values, rows=["a", "b"], columns=list("0123456789"), title="t", darkest=1, diverging=diverging)
    cells = opened(chart, dark=dark).evaluate(CELLS)
    assert len(cells) == 20
    assert min(contrast(ink, paint) for _, ink, paint in cells) >= 3.9
    palest = min(cells, key=lambda cell: abs(float(cell[0].replace("−", "-"))))
    assert (luminance(palest[2]) < 0.1) == dark


def test_a_chart_saved_in_the_dark_is_the_light_one(opened):
    page = opened(lines(APART), dark=True)
    with page.expect_download() as saved:
        page.locator("button[data-svg]").click()
    drawn = saved.value.path().read_text(encoding="utf-8")
    assert "#d55e00" in drawn and "#ff9447" not in drawn
    assert 'class="direct"' in drawn and "var(--" not in drawn


def test_colours_change_with_the_reader_s_setting(opened):
    page = opened(lines(APART))
    strokes = "[...document.querySelectorAll('.mark-line path')].map((one) => one.getAttribute('stroke'))"
    light = set(page.evaluate(strokes))
    page.emulate_media(color_scheme="dark")
    page.wait_for_function(f"() => !{strokes}.includes('{min(light)}')")
    assert light.isdisjoint(page.evaluate(strokes))


def test_every_axis_stands_below_a_panel(opened):
    rows = [{"setting": f"s{k}", "seed": 0, "step": step, "accuracy": step / 9} for k in range(7) for step in (0, 9)]
    page = opened(accuracy_curves(rows, "t"))
    feet, axes = page.evaluate(
        """() => ["g.cell > g > path.background", "g.role-column-footer .role-axis-domain"].map((which) =>
          [...document.querySelectorAll(".chart " + which)].map((one) => {
            const box = one.getBoundingClientRect();
            return [Math.round(box.left), box.bottom];
          }))"""
    )
    assert len(feet) == 7 and len(axes) >= 3
    lowest = {left: max(foot for at, foot in feet if abs(at - left) < 6) for left, _ in axes}
    assert all(abs(lowest[left] - bottom) < 8 for left, bottom in axes)


def test_long_names_of_panels_are_broken_instead_of_shrinking_the_picture(opened):
    rows = [
        {"setting": f"permutations of 40, {share} % 40 of 41", "seed": 0, "step": step, "accuracy": step / 9}
        for share in (0, 0.1, 1, 5, 25)
        for step in (0, 9)
    ]
    page = opened(seed_curves(rows, "accuracy", "accuracy", "t"))
    assert (
        page.eval_on_selector(".chart svg", "(one) => one.getBoundingClientRect().width / one.getAttribute('width')")
        == 1
    )
    assert page.locator(".chart .role-title-text tspan").count() >= 10


def test_printed_tabs_have_their_charts(tmp_path, look):
    chart = alt.Chart(inline([{"x": 1, "y": 2}])).mark_point().encode(x="x:Q", y="y:Q")
    sections = [Section(f"in {name}", chart=chart, tab=name) for name in ("one", "two", "three")]
    write_page(tmp_path / "page.html", "Tabs", "", sections)
    page = look(tmp_path / "page.html").page
    page.wait_for_selector("html[data-drawn=all]", state="attached")
    page.emulate_media(media="print")
    page.set_viewport_size({"width": 700, "height": 900})
    assert page.locator(".chart svg:visible").count() == 3
    assert page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth") == 0

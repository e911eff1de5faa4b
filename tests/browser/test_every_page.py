"""Every page of the site of committed results, in a real browser: nothing is clipped, nothing complains, nothing calls
out, and axe finds no serious fault. About two minutes on two cores.
"""

import pytest
from axe_playwright_python.sync_playwright import Axe
from tests.browser.opening import RESULTS, WITH_PAGES, keep_picture

from attnlab.lab.registry import EXPERIMENTS

pytestmark = pytest.mark.more

PAGES = ["index", "glossary", *WITH_PAGES]
OVERFLOWS = """() => {
  for (const folded of document.querySelectorAll("details")) folded.open = true;
  for (const panel of document.querySelectorAll("[role=tabpanel]")) panel.hidden = false;
  return attnlab.refresh().then(() => {
    const wider = [...document.querySelectorAll(".chart, .table, main > *, section")].filter(
      (one) => one.clientWidth && one.scrollWidth > one.clientWidth + 1);
    const pictures = [...document.querySelectorAll(".chart svg")].filter(
      (one) => one.getBoundingClientRect().width > one.parentElement.clientWidth + 1);
    const charts = [...document.querySelectorAll(".chart")];
    const shrunk = (svg) => svg.getBoundingClientRect().width / svg.getAttribute("width");
    const small = [...document.querySelectorAll(".chart svg text")].filter((one) => one.textContent.trim()
      && parseFloat(getComputedStyle(one).fontSize) * shrunk(one.closest("svg")) < 11.5);
    const level = (one) => one.textContent.trim() && getComputedStyle(one).opacity > 0
      && !/rotate/.test(one.getAttribute("transform") || "");
    const meet = (a, b) => a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 2 && b.top < a.bottom - 2;
    const crowded = [...document.querySelectorAll(".chart .role-axis-label")].filter((axis) => {
      const boxes = [...axis.querySelectorAll("text")].filter(level).map((one) => one.getBoundingClientRect());
      return boxes.some((a, k) => boxes.slice(k + 1).some((b) => meet(a, b)));
    });
    return {
      sideways: document.documentElement.scrollWidth - document.documentElement.clientWidth,
      wider: wider.map((one) => one.id || one.tagName + "." + one.className),
      pictures: pictures.map((one) => one.parentElement.id),
      small: small.map((one) => one.textContent),
      crowded: crowded.map((one) => one.closest(".chart").id),
      failed: [...document.querySelectorAll(".chart-failed")].map((one) => one.textContent),
      blank: charts.filter((one) => one.clientWidth && !one.querySelector("svg")).length,
      torn: [...document.querySelectorAll(".stacked td, .stacked tbody th")].filter((one) => one.childNodes.length > 1)
        .map((one) => one.textContent),
      unnamed: charts.filter((one) => (one.getAttribute("aria-label") || "").length < 20).length,
    };
  });
}"""
NOTHING = {"sideways": 0, "wider": [], "pictures": [], "small": [], "crowded": [], "failed": []} | {
    "blank": 0,
    "torn": [],
    "unnamed": 0,
}


FIRST = """() => ["h1", ".lead", ".top .badge", ".top .chart svg", ".answer"].map((part) => {
  const one = document.querySelector(part);
  return one ? one.getBoundingClientRect().bottom : null;
})"""


@pytest.mark.parametrize("name", PAGES)
def test_a_page_answers_first_and_is_readable_at_every_width_by_everybody(name, site, look):
    """390 px is a phone, 1920 px a large screen; everything that is folded is opened before it is measured."""
    seen = look(site / f"{name}.html", dark=len(name) % 2 == 0)  # half of the pages in the dark, to see its colours too
    page = seen.page
    if name in WITH_PAGES:
        *needed, answer = page.evaluate(FIRST)
        assert None not in needed
        assert max(*needed, answer or 0) <= 800, "question, answer, badge and figure come first"
    serious = {
        fault["id"]: fault["nodes"][0]["html"][:200]
        for fault in Axe().run(page, options={"preload": False}).response["violations"]
        if fault["impact"] in ("serious", "critical")
    }
    assert serious == {}
    keep_picture(page, f"{name}-first")
    for width in (1280, 1920, 390):
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate(OVERFLOWS) == NOTHING, width
    keep_picture(page, f"{name}-390")
    assert seen.complaints == []
    assert seen.strangers(site) == []


def test_the_site_and_its_pages_are_small(site, tmp_path):
    assert sum(path.stat().st_size for path in site.rglob("*") if path.is_file()) < 20_000_000
    for name in ("topic-words", "agreement"):  # the largest ones
        EXPERIMENTS[name].page(RESULTS / name).write(tmp_path / "page.html")
        assert (tmp_path / "page.html").stat().st_size < 4_000_000

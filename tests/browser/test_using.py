"""Using a page: filters, search, sorting, hover, tabs, downloads, keyboard, dark mode, from disk."""

import csv
import io
import re

import altair as alt
import pytest

from attnlab.pages.page import Section, write_page

pytestmark = pytest.mark.more


def shown(page):
    return page.locator(".claims > li:visible").count()


def test_claims_are_filtered_and_searched(site, look):
    seen = look(site / "index.html")
    page, every = seen.page, seen.page.locator(".claims > li").count()
    assert shown(page) == every > 100
    page.select_option("#by-outcome", "differs")
    differs = page.locator(".claims > li:visible .badge.bad").count()
    assert 0 < shown(page) == differs < every
    page.select_option("#by-outcome", "")
    page.select_option("#by-paper", "P1")
    page.select_option("#by-experiment", "topic-words")
    assert page.locator('.claims > li:visible:not([data-paper="P1"])').count() == 0
    assert page.locator('.claims > li:visible:not([data-experiment*="topic-words"])').count() == 0
    assert 0 < shown(page) < every
    for name in ("paper", "experiment"):
        page.select_option(f"#by-{name}", "")
    page.fill("#find", "PERMUTATIONS fail")
    assert 0 < shown(page) < 20
    assert page.locator("#count").inner_text() == f"{shown(page)} of {every} claims"
    page.fill("#find", "no such words")
    assert shown(page) == 0
    page.fill("#find", "")
    page.locator(".claims > li:visible a:not(.thumbnail)").first.click()
    page.wait_for_selector("h1")
    assert seen.complaints == []


def test_tables_are_sorted_by_numbers_and_by_words(site, look):
    page = look(site / "copying.html").page
    table = page.locator("table:has(th:has-text('setting'))").first
    table.evaluate("one => { for (let at = one; at; at = at.parentElement) if (at.open === false) at.open = true; }")
    head = table.locator("thead th")
    names = head.all_inner_texts()
    column = next(k for k, name in enumerate(names) if "share that learned" in name)

    def cells(k):
        return [row.locator("td").nth(k).inner_text() for row in table.locator("tbody tr").all()]

    head.nth(column).locator("button").click()
    up = [float(cell) for cell in cells(column)]
    assert up == sorted(up)
    assert head.nth(column).get_attribute("aria-sort") == "ascending"
    head.nth(column).locator("button").focus()
    page.keyboard.press("Enter")
    assert [float(cell) for cell in cells(column)] == sorted(up, reverse=True)
    head.nth(0).locator("button").click()
    words = cells(0)
    assert words == sorted(words, key=str.casefold)


def test_pointing_at_a_seed_shows_it_in_every_chart(site, look):
    page = look(site / "copying.html").page
    line = page.locator("#chart-0 path[data-seed]").first
    seed = line.get_attribute("data-seed")
    line.dispatch_event("mouseover")
    lit = page.locator("path.lit")
    assert {one.get_attribute("data-seed") for one in lit.all()} == {seed}
    charts = page.evaluate("[...document.querySelectorAll('path.lit')].map(one => one.closest('.chart').id)")
    assert len(set(charts)) > 1
    page.locator("h1").dispatch_event("mouseover")
    assert lit.count() == 0


def test_words_are_explained_by_mouse_and_keyboard(site, look):
    page = look(site / "agreement.html").page
    word = page.locator("abbr", has_text=re.compile("^beta_uf$")).first
    word.scroll_into_view_if_needed()
    word.hover()
    assert "trained with equal attention" in page.locator("#means").inner_text()
    page.keyboard.press("Escape")
    assert page.locator("#means").is_hidden()
    reachable = page.locator("abbr[tabindex='0']:visible").first
    reachable.focus()
    assert page.locator("#means").is_visible()


def test_each_corpus_has_a_tab_and_arrows_move_between_them(site, look):
    page = look(site / "agreement.html").page
    tabs = page.locator("[role=tab]")
    assert tabs.count() >= 7
    assert page.locator("[role=tabpanel]:visible").count() == 1
    tabs.nth(0).focus()
    page.keyboard.press("ArrowRight")
    assert tabs.nth(1).get_attribute("aria-selected") == "true"
    panel = page.locator("[role=tabpanel]:visible")
    assert panel.count() == 1
    panel.locator(".chart svg").first.wait_for()
    assert panel.get_attribute("aria-labelledby") == tabs.nth(1).get_attribute("id")


def test_tables_and_charts_are_saved(site, look):
    page = look(site / "copying.html").page
    with page.expect_download() as picture:
        page.locator("button[data-svg]").first.click()
    drawn = picture.value.path().read_text(encoding="utf-8")
    assert drawn.startswith("<svg") and "currentColor" not in drawn
    for folded in page.locator("details").all():
        folded.evaluate("one => { one.open = true; }")
    button = page.locator("button[data-csv]").first
    with page.expect_download() as table:
        button.click()
    rows = list(csv.reader(io.StringIO(table.value.path().read_text(encoding="utf-8"))))
    assert len(rows) > 3 and len({len(row) for row in rows}) == 1
    assert table.value.suggested_filename.endswith(".csv")


def test_the_command_is_copied(site, look):
    page = look(site / "copying.html").page
    button = page.locator("button.copy")
    button.click()
    assert button.inner_text() == "Copied"
    page.evaluate("document.body.insertAdjacentHTML('beforeend', '<textarea id=paste></textarea>')")
    page.locator("#paste").focus()
    page.keyboard.press("Control+V")
    assert page.locator("#paste").input_value() == "attnlab run copying --preset paper"


def luminance(colour):
    red, green, blue = (int(part) for part in re.findall(r"\d+", colour)[:3])
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize("dark", [False, True])
def test_charts_follow_light_and_dark(dark, site, look):
    page = look(site / "rescue.html", dark=dark).page
    paper = luminance(page.evaluate("getComputedStyle(document.body).backgroundColor"))
    ink = luminance(page.evaluate("getComputedStyle(document.querySelector('.chart svg text')).fill"))
    assert (paper < 60 < 180 < ink) if dark else (ink < 60 < 180 < paper)
    assert page.locator(".chart svg > rect[fill='white'], .chart svg > rect[fill='#fff']").count() == 0


def test_everything_is_reached_with_the_keyboard(site, look):
    page = look(site / "index.html").page
    reached = set()
    for _ in range(12):
        page.keyboard.press("Tab")
        reached.add(page.evaluate("document.activeElement.id || document.activeElement.tagName"))
    assert {"find", "by-paper", "by-outcome", "by-experiment"} <= reached


def test_hostile_texts_and_charts_make_a_harmless_page(tmp_path, look):
    hostile = '</script><script>document.title = "broken"</script><img src=x onerror="document.title=1"> \u202eenod'
    chart = alt.Chart(alt.InlineData(values=[{"word": hostile, "y": 1}, {"word": "b", "y": 2}]))
    chart = chart.mark_bar().encode(x="word:N", y="y:Q", tooltip=["word:N"])
    section = Section(hostile, [hostile], chart, hostile, [{hostile: hostile, "b": k} for k in range(4)])
    write_page(tmp_path / "page.html", hostile, hostile, [section])
    seen = look(tmp_path / "page.html")
    assert seen.page.title().startswith("</script>")
    seen.page.locator(".chart .mark-rect path").first.hover()
    assert seen.page.locator("img").count() == 0
    assert seen.complaints == []
    assert seen.strangers(tmp_path) == []


def test_a_policy_stops_what_is_not_ours(tmp_path, look):
    """The page's own policy, not our care alone: an inline handler put into it does not run."""
    write_page(tmp_path / "page.html", "title", "lead", [Section("heading", table=[{"a": 1}])])
    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    harmful = "<script>document.title='broken'</script><img src='https://example.invalid/x.png'>"
    (tmp_path / "page.html").write_text(text.replace("</main>", f"{harmful}</main>"), encoding="utf-8")
    seen = look(tmp_path / "page.html")
    assert seen.page.title() == "title"
    assert len([said for said in seen.complaints if "Content Security Policy" in said]) == 2


def test_a_page_prints_all_its_tabs(site, look):
    page = look(site / "agreement.html").page
    page.emulate_media(media="print")
    assert page.locator("[role=tabpanel]:visible").count() >= 7
    assert page.locator(".tools").first.is_hidden()

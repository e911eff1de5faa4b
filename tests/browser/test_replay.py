"""Attention through training in a real browser: slider, play, keyboard, dark, narrow; it draws what the bytes say."""

import numpy as np
import pytest
from axe_playwright_python.sync_playwright import Axe
from tests.browser.opening import RESULTS, keep_picture
from tests.pages.test_replay import HOSTILE, film, texts

from attnlab.pages.page import Section, write_page
from attnlab.pages.replay import Film, Replay, read_replay
from attnlab.pages.replay_component import replay_component

pytestmark = pytest.mark.more

READY = "[data-replay][data-ready=yes]"
MOVE = "(slider, value) => { slider.value = value; slider.dispatchEvent(new Event('input')); }"
ALPHAS = """(canvas) => {
  const context = canvas.getContext("2d"), size = canvas.width / %d, found = [];
  for (let row = 0; row < canvas.height / size; row++)
    for (let column = 0; column < canvas.width / size; column++)
      found.push(context.getImageData(column * size + 1, row * size + 1, 1, 1).data[3]);
  return found;
}"""


@pytest.fixture
def opened(look, tmp_path):
    def show(replay, **how):
        path = tmp_path / "replay.html"
        write_page(path, "A replay", "", [Section("Moving", component=replay_component(replay))])
        seen = look(path, drawn=False, **how)
        seen.page.wait_for_selector(READY)
        return seen

    return show


@pytest.fixture(scope="module")
def copying():
    return read_replay((RESULTS / "copying/paper/replays/attention.json").read_bytes(), "it")


def test_a_canvas_shows_the_bytes_of_the_step_that_the_slider_is_at(opened, copying):
    seen = opened(copying)
    page, first = seen.page, copying.films[0]
    width = len(first.words[0])
    for at in (0, 4, len(copying.steps) - 1):
        page.eval_on_selector(".replay-slider", MOVE, at)
        assert page.inner_text(".replay-step") == str(copying.steps[at])
        drawn = np.array(page.locator("canvas").first.evaluate(ALPHAS % width))
        place = max(k for k, step in enumerate(first.steps) if step <= copying.steps[at])
        kept = first.fields[0].values[place].astype(int)
        dots = first.fields[0].tops[place] + np.arange(len(first.outputs)) * width
        others = np.setdiff1d(np.arange(len(kept)), dots)
        assert np.abs(drawn[others] - kept[others]).max() <= 1
    numbers = page.inner_text("[data-numbers] >> nth=2")
    assert "accuracy 100 %" in numbers and "attention right 0 %" in numbers
    assert "41 of 41" in page.locator("canvas").first.get_attribute("aria-label")
    assert seen.complaints == [] and len(seen.requests) == 1


def test_it_plays_to_the_end_stops_and_begins_again(opened):
    page = opened(Replay("t", (film(),))).page
    assert page.inner_text(".replay-step") == "20", "what came of it is seen first"
    page.click(".replay-play")
    page.wait_for_selector(".replay-play[aria-pressed=true]")
    page.wait_for_selector(".replay-play[aria-pressed=false]")
    assert page.inner_text(".replay-step") == "20"


def test_keys_move_it_and_a_cell_is_read(opened):
    page = opened(Replay("t", (film(),))).page
    page.focus(".replay-slider")
    page.keyboard.press("Home")
    assert page.inner_text(".replay-step") == "0"
    page.keyboard.press("ArrowRight")
    assert page.inner_text(".replay-step") == "10"
    assert page.get_attribute(".replay-slider", "aria-valuetext") == "after 10 updates"
    page.locator("canvas").first.hover(position={"x": 3, "y": 3})
    value = (film().fields[0].values[1][0] / 255) ** 2
    assert page.inner_text("[data-cell]") == f"attention: output 1 “x”, input 1 “a”: {value:.2f}"


def test_texts_are_shaded_where_they_are_seen(opened):
    made = texts(count=60, length=30)
    page = opened(Replay("t", (made,))).page
    page.wait_for_selector("[data-text='0'][data-field='0'] .replay-words span")  # drawn once it is seen
    spans = page.locator("[data-text='0'][data-field='0'] .replay-words span")
    assert spans.count() == 30
    assert page.locator("[data-text='59'] .replay-words span").count() == 0, "a text out of sight waits"
    colours = spans.evaluate_all("(all) => all.map((one) => one.style.backgroundColor)")
    strengths = [float(colour.split(",")[-1].rstrip(") ")) if colour else 0 for colour in colours]
    kept = made.fields[0].values[-1][:30] / 255 * 192 / 255
    np.testing.assert_allclose(strengths, kept, atol=0.01)
    page.locator("[data-text='59'] >> nth=0").scroll_into_view_if_needed()
    page.wait_for_selector("[data-text='59'] .replay-words span")


@pytest.mark.parametrize(("width", "dark"), [(1280, False), (390, True)])
def test_every_copying_film_is_readable_by_everybody(opened, copying, width, dark):
    seen = opened(copying, width=width, dark=dark)
    wide = seen.page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    assert wide == 0
    found = Axe().run(seen.page, options={"preload": False}).response["violations"]
    assert [fault["id"] for fault in found if fault["impact"] in ("serious", "critical")] == []
    keep_picture(seen.page, f"replay-{width}")
    assert seen.complaints == []


def test_hostile_words_do_nothing(opened):
    made = film(words=(HOSTILE, "b", "c"), outputs=(HOSTILE, "y"))
    hostile = Replay(HOSTILE, (Film(**{**vars(made), "name": HOSTILE}), texts()), HOSTILE)
    seen = opened(hostile)
    assert seen.page.inner_text(".replay-film h3 >> nth=0").startswith("</script>")
    assert seen.page.evaluate("document.querySelectorAll('b').length") == 4, "those of the two texts alone"
    assert seen.complaints == [] and len(seen.requests) == 1


def test_a_named_matrix_has_its_words_at_its_sides(opened):
    words = ("the", "small", "house", "is", "old", ".")
    page = opened(
        Replay("t", (film(words=words, outputs=("das", "kleine", "Haus", "ist", "alt", ".")),)), width=390
    ).page
    names = page.locator(".replay-matrix >> nth=0").locator(".replay-inputs span")
    assert names.all_inner_texts() == list(words)
    assert page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth") == 0
    keep_picture(page, "replay-named")

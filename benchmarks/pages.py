"""A page of 500 texts of 100 words at 25 checkpoints with two fields, in Chromium: first paint, and moving the slider.

What is measured is the clock, the middle of several openings and of all 25 positions of the slider; the browser runs
beside nothing else. Values are drawn at random, so they compress worse than any that were measured.
"""

import os
import shutil
import statistics
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from attnlab.pages.page import Section, write_page
from attnlab.pages.replay import Film, Replay, Shown, shares, signed
from attnlab.pages.replay_component import replay_component
from attnlab.seeds import numpy_generator

TEXTS, WORDS, STEPS, OPENINGS = 500, 100, 25, 5
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"]
PAINTED = "performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? null"
MOVED = """(slider) => new Promise((done) => {
  const times = [];
  const next = (at) => {
    if (at > Number(slider.max)) { done(times); return; }
    const began = performance.now();
    slider.value = at;
    slider.dispatchEvent(new Event("input"));
    slider.getBoundingClientRect();  // what was changed is laid out
    times.push(performance.now() - began);
    requestAnimationFrame(() => next(at + 1));
  };
  next(0);
})"""


@dataclass(frozen=True)
class Figure:
    """A measured figure: its name, value, floor, unit, and whether the floor is a least or a most."""

    name: str
    value: float
    floor: float
    unit: str
    bound: str


def measure() -> tuple[list[Figure], list[str]]:
    """The figures, or a sentence that says what is missing."""
    place = os.environ.get("ATTNLAB_CHROMIUM") or shutil.which("chromium")
    if place is None:
        return [], ["Pages: install Debian's package chromium, or name a Chromium in ATTNLAB_CHROMIUM."]
    from playwright.sync_api import sync_playwright

    with tempfile.TemporaryDirectory() as folder, sync_playwright() as driver:
        path = Path(folder) / "page.html"
        write_page(path, "Many texts", "", [Section("Texts", component=replay_component(many()))])
        browser = driver.chromium.launch(executable_path=place, args=FLAGS)
        paints, moves = [], []
        for _ in range(OPENINGS):
            page = browser.new_page()
            page.goto(path.as_uri())
            page.wait_for_selector("[data-replay][data-ready=yes]", timeout=120_000)
            paints.append(page.evaluate(PAINTED))
            page.wait_for_timeout(300)
            moves += page.eval_on_selector(".replay-slider", MOVED)
            page.close()
        browser.close()
        size = path.stat().st_size / 1e6
    what = f"{TEXTS} texts of {WORDS} words, {STEPS} checkpoints"
    return [
        Figure(f"first paint, {what}", statistics.median(paints) / 1000, 1.0, "seconds", "at most"),
        Figure(f"slider, {what}", statistics.median(moves), 50.0, "milliseconds", "at most"),
        Figure(f"page, {what}", size, 4.0, "MB", "at most"),
    ], []


def many() -> Replay:
    """Random values for so many texts."""
    rng = numpy_generator(0, "pages")
    names = [f"word{n}" for n in range(997)]
    words = tuple(tuple(names[k] for k in rng.integers(0, len(names), WORDS)) for _ in range(TEXTS))
    cells = TEXTS * WORDS
    steps = tuple(range(0, 100 * STEPS, 100))
    alpha = rng.dirichlet(np.ones(WORDS), (STEPS, TEXTS)).reshape(STEPS, cells)
    probe = rng.uniform(-1, 1, (STEPS, cells))
    fields = (Shown("attention", shares(alpha)), Shown("lexical probe", signed(probe), None, True))
    return Replay("Many texts", (Film("texts", "texts", steps, words, (), fields),))

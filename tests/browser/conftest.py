"""A real browser for the pages: Debian's Chromium driven by Playwright. Shared by all tests of a worker.

``ATTNLAB_SCREENSHOTS`` names a folder that keeps a picture of every page that was looked at.
"""

import os
from pathlib import Path

import pytest
from filelock import FileLock
from tests.browser.opening import DRAWN, FLAGS, RESULTS, Seen, need_chromium

from attnlab.lab.site import build_site


@pytest.fixture(scope="session")
def browser():
    """Chromium; where there is none its tests are left out and listed, but on CI they fail."""
    place = need_chromium()
    playwright = pytest.importorskip("playwright.sync_api", reason="pip install playwright")
    with playwright.sync_playwright() as driver:
        opened = driver.chromium.launch(executable_path=place, args=FLAGS)
        yield opened
        opened.close()


@pytest.fixture(scope="session")
def site(tmp_path_factory):
    """The site of the committed results, built once for the workers of a session."""
    base = tmp_path_factory.getbasetemp()
    out = (base.parent if os.environ.get("PYTEST_XDIST_WORKER") else base) / "site"
    with FileLock(f"{out}.lock"):
        if not (out / "index.html").exists():
            build_site(RESULTS, out)
    return out


@pytest.fixture
def look(browser):
    """Open a file from disk at a width, light or dark, and wait until its charts are drawn."""
    contexts = []

    def opened(path, width=1280, *, dark=False, drawn=True, height=900):
        context = browser.new_context(
            viewport={"width": width, "height": height},
            color_scheme="dark" if dark else "light",
            accept_downloads=True,
        )
        context.set_default_timeout(120_000)
        contexts.append(context)
        seen = Seen(context.new_page())
        seen.page.on("console", lambda said: seen.complaints.append(said.text) if said.type == "error" else None)
        seen.page.on("pageerror", lambda error: seen.complaints.append(str(error)))
        seen.page.on("request", lambda asked: seen.requests.append(asked.url))
        seen.page.goto(Path(path).resolve().as_uri())
        if drawn:
            seen.page.wait_for_selector(DRAWN, state="attached")
        return seen

    yield opened
    for context in contexts:
        context.close()

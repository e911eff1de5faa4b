"""How pages are opened in a real browser, and what is noted of them."""

import os
import shutil
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from attnlab.lab.registry import EXPERIMENTS

RESULTS = Path(__file__).parents[2] / "results"
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
"""As root, without a screen, and without a browser's calls home."""
DRAWN = "html[data-drawn]"
WITH_PAGES = [name for name in EXPERIMENTS if (RESULTS / name).is_dir()]


def find_chromium():
    """Where Chromium is, or None."""
    return os.environ.get("ATTNLAB_CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")


def need_chromium():
    """Where Chromium is; where there is none a test is left out and listed, but on CI it fails."""
    if (place := find_chromium()) is None:
        said = "install Debian's package chromium, or name a Chromium in ATTNLAB_CHROMIUM"
        if os.environ.get("CI"):
            pytest.fail(f"No Chromium was found: {said}.")
        pytest.skip(said)
    return place


@dataclass
class Seen:
    """A page as it was opened: the browser's ``page``, what it complained of and what it asked for."""

    page: object
    complaints: list = field(default_factory=list)
    requests: list = field(default_factory=list)

    def strangers(self, home):
        """Requests that leave the folder ``home``."""
        inside = Path(home).resolve().as_uri()
        return [url for url in self.requests if not url.startswith((inside, "blob:", "data:"))]


def keep_picture(page, name):
    """A picture of the whole page, where somebody wants to look at it."""
    if folder := os.environ.get("ATTNLAB_SCREENSHOTS"):
        Path(folder).mkdir(parents=True, exist_ok=True)
        page.screenshot(path=Path(folder) / f"{name}.png", full_page=True)

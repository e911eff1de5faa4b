"""Pages: single HTML files that open from disk without a network. Every text is escaped; charts are live."""

import re
from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

import altair as alt
import jinja2
import vl_convert
from jinja2.filters import do_forceescape

from attnlab.files import write_atomically
from attnlab.pages.charts import Description, describe


@dataclass(frozen=True)
class Shade:
    """A word of a text, its value in words, and its shade from -1 (blue) over 0 (none) to 1 (orange)."""

    word: str
    value: str
    strength: float

    @property
    def colour(self) -> str:
        """As CSS writes it; clear enough that the word on it can be read in the light and in the dark."""
        red, green, blue = (230, 159, 0) if self.strength > 0 else (86, 180, 233)
        return f"rgba({red}, {green}, {blue}, {min(abs(self.strength), 1) * 0.75:.2f})"


@dataclass(frozen=True)
class Section:
    """A heading, paragraphs of plain text, a text with shaded words, optionally a chart with the sentence that
    describes it, and a table.

    ``folded``: what a closed table is called, one that is too long to read past; "" leaves it open.
    """

    heading: str
    paragraphs: Sequence[str] = ()
    chart: alt.TopLevelMixin | Description | None = None
    caption: str = ""
    table: Sequence[Mapping[str, Any]] = ()
    folded: str = ""
    shaded: Sequence[Shade] = ()


def write_page(path: Path, title: str, lead: str, sections: Sequence[Section]) -> None:
    """Write the page in one move."""
    specs = [
        describe(section.chart) if isinstance(section.chart, alt.TopLevelMixin) else section.chart
        for section in sections
    ]
    scripts = [_vega(), DRAW] if any(specs) else []
    text = _template().render(
        title=title, lead=lead, parts=list(zip(sections, specs, strict=True)), scripts=scripts, policy=policy(scripts)
    )
    write_atomically(path, text.encode("utf-8", "backslashreplace"))  # a file's name may be no UTF-8


DRAW = """
for (const chart of document.querySelectorAll("script[data-chart]"))
  vegaEmbed("#" + chart.dataset.chart, JSON.parse(chart.textContent), {actions: false, renderer: "svg", ast: true});
"""
"""Draws every chart of a page; ``ast`` reads its expressions without the browser's eval."""


def policy(scripts: Sequence[str]) -> str:
    """A content security policy: these scripts run and no others, nothing is fetched, nothing is evaluated.

    >>> policy([])
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; script-src 'none'"
    """
    digests = [b64encode(sha256(script.encode()).digest()).decode() for script in scripts]
    allowed = " ".join(f"'sha256-{digest}'" for digest in digests) or "'none'"
    return f"default-src 'none'; style-src 'unsafe-inline'; img-src data:; script-src {allowed}"


_TURNS = "[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]"
"""Characters that turn the direction of writing, for all that follows them."""


def isolated(text: object) -> str:
    """The text, escaped; a word that turns the direction of writing does so for itself alone.

    >>> str(isolated("a<b \u202egnorw right"))
    'a&lt;b <bdi>\u202egnorw</bdi> right'
    """
    escaped = do_forceescape(str(text))
    words = re.split(r"(\s+)", str(escaped))
    return type(escaped)("".join(f"<bdi>{word}</bdi>" if re.search(_TURNS, word) else word for word in words))


def straight(text: object) -> str:
    """The text without such characters, where no element can hold it."""
    return re.sub(_TURNS, "", str(text))


@cache
def _template() -> jinja2.Template:
    loader = jinja2.PackageLoader("attnlab", "pages/templates")
    environment = jinja2.Environment(loader=loader, autoescape=True, undefined=jinja2.StrictUndefined)
    environment.filters |= {"isolated": isolated, "straight": straight}
    return environment.get_template("page.html")


@cache
def _vega() -> str:
    """The chart library, to stand inside the page; nothing in it may end the script element early."""
    bundle: str = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;")
    return bundle.replace("</script", "<\\/script")

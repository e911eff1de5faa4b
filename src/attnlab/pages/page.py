"""Pages: HTML files that open from disk without a network. Every text is escaped; charts are live.

A page is a single file, unless it is one of a site: then style and scripts lie beside it, once for all pages.
"""

import re
from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from itertools import groupby
from pathlib import Path
from typing import Any

import altair as alt
import jinja2
from jinja2.filters import do_forceescape

from attnlab.files import write_atomically
from attnlab.pages.assets import page_script, page_style, vega_script
from attnlab.pages.charts import Description
from attnlab.pages.component import Component, packed
from attnlab.pages.fit import Prepared, prepare


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
class Badge:
    """An outcome in a word or two; ``kind``: good, bad, open or none, its colour."""

    text: str
    kind: str = "none"


@dataclass(frozen=True)
class Link:
    """Where to read on: an address below the page's own folder or beside it."""

    text: str
    href: str


@dataclass(frozen=True)
class Section:
    """A heading, paragraphs of plain text, a text with shaded words, optionally a chart with the sentence that
    describes it, and a table.

    ``folded``: what a closed table is called, one that is too long to read past; "" leaves it open. ``said``: sentences
    with a badge before each. ``items``: a plain list. ``more``: paragraphs that are closed at first, called
    ``more_called``. ``code``: text as it is spaced. ``command``: one to copy. ``component``: something with a script of
    its own. ``tab``: sections that follow each other and have one stand in tabs of that name.
    """

    heading: str
    paragraphs: Sequence[str] = ()
    chart: alt.TopLevelMixin | Description | None = None
    caption: str = ""
    table: Sequence[Mapping[str, Any]] = ()
    folded: str = ""
    shaded: Sequence[Shade] = ()
    component: Component | None = None
    said: Sequence[tuple[Badge, str]] = ()
    items: Sequence[str] = ()
    more: Sequence[str] = ()
    more_called: str = ""
    code: str = ""
    command: str = ""
    links: Sequence[Link] = ()
    tab: str = ""

    @property
    def scripted(self) -> bool:
        """Whether it needs the page's script."""
        return bool(self.chart is not None or self.table or self.component or self.command or self.tab)


@dataclass(frozen=True)
class Page:
    """What a page says: its ``title``, the question or sentence it begins with, what is seen first, and the rest."""

    title: str
    lead: str
    sections: Sequence[Section]
    top: "Top"

    def write(self, path: Path, *, links: Sequence[Link] = (), assets: str = "") -> None:
        """Write it; as `write_page` does."""
        write_page(path, self.title, self.lead, self.sections, top=self.top, links=links, assets=assets)


@dataclass(frozen=True)
class Top:
    """What a reader sees first, beside title and question: the ``answer``, ``badges`` and one ``figure``; ``about``:
    where it is from.
    """

    answer: str = ""
    badges: Sequence[Badge] = ()
    figure: Section | None = None
    about: str = ""


def write_page(
    path: Path,
    title: str,
    lead: str,
    sections: Sequence[Section],
    *,
    top: Top | None = None,
    links: Sequence[Link] = (),
    assets: str = "",
) -> None:
    """Write the page in one move.

    ``assets``: where a site keeps the style and the scripts of all its pages, seen from this one; "" puts them into
    the page.
    """
    top = top or Top()
    first = (top.figure, _chart(top.figure)) if top.figure else None
    parts = [(section, _chart(section), k) for k, section in enumerate(sections, 1)]
    components = [section.component for section in sections if section.component]
    charts = first or any(spec for _, spec, _ in parts) or any(one.loads_charts for one in components)
    shared = (["vega.js"] if charts else []) + (
        ["page.js"] if charts or any(section.scripted for section in sections) else []
    )
    styles = list(dict.fromkeys(one.style for one in components if one.style))
    scripts = list(dict.fromkeys(one.script for one in components if one.script))
    if not assets:
        scripts = [_ASSETS[name]() for name in shared] + scripts
        styles = [page_style(), *styles]
    text = render(
        "page.html",
        title=title,
        lead=lead,
        answer=top.answer,
        badges=top.badges,
        about=top.about,
        first=first,
        links=links,
        groups=list(_grouped(parts)),
        styles=styles,
        scripts=scripts,
        linked_styles=[f"{assets}/style.css"] if assets else [],
        linked_scripts=[f"{assets}/{name}" for name in shared] if assets else [],
        policy=policy(scripts, beside=bool(assets)),
    )
    write_atomically(path, text.encode("utf-8", "backslashreplace"))  # a file's name may be no UTF-8


_ASSETS = {"vega.js": vega_script, "page.js": page_script}


def write_assets(folder: Path) -> None:
    """The style and the scripts that the pages of a site share."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in (("style.css", page_style()), *((name, made()) for name, made in _ASSETS.items())):
        write_atomically(folder / name, text.encode())


def _chart(section: Section) -> Prepared | None:
    return None if section.chart is None else prepare(section.chart, section.heading, section.caption)


def _grouped(parts: Sequence[tuple[Section, Prepared | None, int]]) -> Iterator[dict[str, Any]]:
    """Sections one after the other, and those that have tabs together."""
    for k, (tabbed, inside) in enumerate(groupby(parts, key=lambda part: bool(part[0].tab))):
        if not tabbed:
            yield {"tabs": None, "parts": list(inside)}
            continue
        names: dict[str, list[Any]] = {}
        for part in inside:
            names.setdefault(part[0].tab, []).append(part)
        tabs = [{"name": name, "parts": own} for name, own in names.items()]
        yield {"k": k, "label": ", ".join(names), "tabs": tabs}


def policy(scripts: Sequence[str], *, beside: bool = False) -> str:
    """A content security policy: these scripts run and no others, nothing is fetched, nothing is evaluated.

    ``beside``: so do those in files of the same site, which from disk are files like any other.

    >>> policy([])
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; script-src 'none'"
    """
    digests = [b64encode(sha256(script.encode()).digest()).decode() for script in scripts]
    files = ["'self'", "file:"] if beside else []
    images = " ".join(["data:", *files])
    allowed = " ".join([*files, *(f"'sha256-{digest}'" for digest in digests)]) or "'none'"
    styles = " ".join(["'unsafe-inline'", *files])
    return f"default-src 'none'; style-src {styles}; img-src {images}; script-src {allowed}"


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


def filename(text: object) -> str:
    """A name that every system takes, from any text.

    >>> filename("What A(alpha, beta) says: ../../x")
    'what-a-alpha-beta-says-x'
    """
    return "-".join(re.findall(r"[a-z0-9]+", str(text).lower()))[:60] or "chart"


def render(template: str, **values: Any) -> str:
    """One of the templates filled in; every text is escaped."""
    return _environment().get_template(template).render(**values)


@cache
def _environment() -> jinja2.Environment:
    loader = jinja2.PackageLoader("attnlab", "pages/templates")
    environment = jinja2.Environment(
        loader=loader, autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters |= {"isolated": isolated, "straight": straight, "filename": filename, "packed": packed}
    return environment

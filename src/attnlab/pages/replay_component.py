"""A replay on a page: a slider with play, and matrices or shaded texts, drawn from bytes that the page carries."""

from functools import cache
from importlib import resources

import jinja2
from markupsafe import Markup

from attnlab.pages.component import Component
from attnlab.pages.page import isolated, straight
from attnlab.pages.replay import Replay


def replay_component(replay: Replay, id: str = "replay-0") -> Component:
    """``id``: differs between the replays of a page."""
    html = _template().render(replay=replay, about=replay.about(), id=id)
    return Component("moving", Markup(html), _read("replay.css"), _read("replay.js"), {id: replay.values()})


@cache
def _template() -> jinja2.Template:
    loader = jinja2.PackageLoader("attnlab", "pages/templates")
    environment = jinja2.Environment(
        loader=loader, autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters |= {"isolated": isolated, "straight": straight}
    return environment.get_template("replay.html")


@cache
def _read(name: str) -> str:
    return resources.files("attnlab.pages").joinpath("templates", name).read_text(encoding="utf-8")

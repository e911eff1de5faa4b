"""A replay on a page: a slider with play, and matrices or shaded texts, drawn from bytes that the page carries."""

from functools import cache
from importlib import resources
from typing import Any

import jinja2
from markupsafe import Markup

from attnlab.pages.component import Component
from attnlab.pages.page import isolated, straight
from attnlab.pages.replay import Replay


def replay_component(replay: Replay, id: str = "replay-0") -> Component:
    """``id``: differs between the replays of a page."""
    html = _template().render(replay=replay, about=_about(replay), id=id)
    return Component("moving", Markup(html), _read("replay.css"), _read("replay.js"), {id: replay.values()})


def _about(replay: Replay) -> dict[str, Any]:
    """What the script reads: of a matrix its words, of texts how many words each has, since these are in the page."""
    about = replay.about()
    for film in about["films"]:
        film["lengths"] = [len(words) for words in film["words"]]
        if film["kind"] == "texts":
            del film["words"]
    return about


def _one_line(word: str) -> str:
    return " ".join(word.split("\n"))


@cache
def _template() -> jinja2.Template:
    loader = jinja2.PackageLoader("attnlab", "pages/templates")
    environment = jinja2.Environment(
        loader=loader, autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters |= {"isolated": isolated, "straight": straight, "one_line": _one_line}
    return environment.get_template("replay.html")


@cache
def _read(name: str) -> str:
    return resources.files("attnlab.pages").joinpath("templates", name).read_text(encoding="utf-8")

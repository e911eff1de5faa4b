"""A replay on a page: a slider with play, matrices or shaded texts, drawn from bytes that the page carries."""

from functools import cache
from importlib.resources import files

from attnlab.pages.component import Component
from attnlab.pages.page import environment
from attnlab.pages.replay import Replay


def replay_component(replay: Replay, id: str = "replay") -> Component:
    """``id``: differs between the replays of a page."""
    html = environment().get_template("replay.html").render(replay=replay, about=replay.about(), id=id)
    return Component("replay-holder", type(environment().filters["isolated"](""))(html), _asset("replay.css"), _asset("replay.js"), {id: replay.values()})


@cache
def _asset(name: str) -> str:
    return (files("attnlab") / "pages" / "templates" / name).read_text(encoding="utf-8")

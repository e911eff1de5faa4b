"""What all pages share: the style, the script, and the library that draws charts."""

import json
from functools import cache
from importlib import resources

import vl_convert

from attnlab.pages.glossary import GLOSSARY


@cache
def page_style() -> str:
    """The style of every page: light, dark, narrow, printed."""
    return read_template("style.css")


@cache
def page_script() -> str:
    """What every page can do, with the words that it explains."""
    words = json.dumps(GLOSSARY).replace("<", "\\u003c")
    whole = "\n".join(read_template(name) for name in ("labels.js", "charts.js", "page.js"))
    return whole.replace("const WORDS = {};", f"const WORDS = {words};")


@cache
def vega_script() -> str:
    """The chart library; nothing in it may end a script element early."""
    bundle: str = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;")
    return bundle.replace("</script", "<\\/script")


def read_template(name: str) -> str:
    """One of the files beside the templates, as it is."""
    return resources.files("attnlab.pages").joinpath("templates", name).read_text(encoding="utf-8")

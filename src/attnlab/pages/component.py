"""Pieces of a page with a script of their own, and data packed small enough to travel inside it."""

import gzip
from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass, field

from markupsafe import Markup


@dataclass(frozen=True)
class Component:
    """Something a reader can use, such as a slider.

    ``html``: made by the component's own template, which escapes every text. ``style`` and ``script``: written once
    however many components of that ``name`` a page has; nothing else runs. ``data``: bytes by id, which the script
    reads with ``attnlab.unpack(id)``, a promise of an ArrayBuffer; ids must differ within a page. ``loads_charts``:
    whether the script draws with ``vegaEmbed``.
    """

    name: str
    html: Markup
    style: str = ""
    script: str = ""
    data: Mapping[str, bytes] = field(default_factory=dict)
    loads_charts: bool = False


def packed(data: bytes) -> str:
    """Bytes compressed and spelt in letters, the same every time; the page's script unpacks them.

    >>> gzip.decompress(__import__("base64").b64decode(packed(b"a" * 1000))) == b"a" * 1000
    True
    """
    return b64encode(gzip.compress(data, 9, mtime=0)).decode()

"""Tables that a phone can show: every cell knows its column's heading, and the style writes it there where rows are
stacked.
"""

import re
from html import unescape
from typing import Any

TABLE = re.compile(r"<table>(.*?)</table>", re.DOTALL)
HEADING = re.compile(r"<th[^>]*>(.*?)</th>", re.DOTALL)
CELL = re.compile(r"<td(?P<how>[^>]*)>(?P<inside>.*?)</td>", re.DOTALL)
TAGS = re.compile(r"<[^>]+>")


def on_page_content(html: str, **_: Any) -> str:
    """Name every cell of every table by its column."""
    return TABLE.sub(lambda match: f"<table>{labelled(match[1])}</table>", html)


def labelled(table: str) -> str:
    """The inside of a table with ``data-label`` on each cell, and what is in it as one piece."""
    head, _, body = table.partition("</thead>")
    names = [unescape(TAGS.sub("", name)).strip().replace('"', "&quot;") for name in HEADING.findall(head)]
    rows = body.split("</tr>")
    return head + "</thead>" + "</tr>".join(_row(row, names) for row in rows)


def _row(row: str, names: list[str]) -> str:
    left = iter(names)
    return CELL.sub(lambda match: _cell(match, next(left, "")), row)


def _cell(match: re.Match[str], name: str) -> str:
    inside = f"<span>{match['inside']}</span>" if match["inside"] else ""
    return f'<td{match["how"]} data-label="{name}">{inside}</td>'

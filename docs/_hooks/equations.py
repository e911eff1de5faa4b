"""Equations as MathML, made when the documentation is built: a browser draws them without any script.

They are written as on GitHub: a fenced block of ``math``, or $`...`$ within a line.
"""

import re
from typing import Any

from latex2mathml.converter import convert

BLOCK = re.compile(r"^```math\n(.*?)\n```$", re.MULTILINE | re.DOTALL)
INLINE = re.compile(r"\$`([^`]+)`\$")


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Replace every equation."""
    blocks = BLOCK.sub(lambda match: f"\n<div>{convert(match[1], display='block')}</div>\n", markdown)
    # Within a span, because Markdown takes a line that begins with <math> for the end of the paragraph.
    return INLINE.sub(lambda match: f"<span>{convert(match[1])}</span>", blocks)

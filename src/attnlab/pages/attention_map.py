"""Attention as a picture: output words against input words, darker where more of it is."""

import json
from collections.abc import Sequence
from pathlib import Path

import altair as alt
import numpy as np
import vl_convert
from numpy.typing import NDArray

from attnlab.pages.charts import VEGA_LITE, describe, inline, titled

CELL = 22
"""Pixels of a position."""
SHADES, BOUNDS = " ░▒▓█", (0.05, 0.25, 0.5, 0.75)
"""A terminal's shades, and the shares of attention where the next begins."""
_SPACE = "\u2581"
"""How a piece spells the space before a word."""


def piece_labels(pieces: Sequence[str]) -> list[str]:
    """Pieces as people read them: a word's first one plain, what goes on with a word after a plus.

    >>> piece_labels(["<s>", "▁house", "boat", ".", "</s>"])
    ['<s>', 'house', '+boat', '+.', '</s>']
    """
    return [
        piece if piece in ("<s>", "</s>", "<unk>") else piece[1:] or "_" if piece[0] == _SPACE else f"+{piece}"
        for piece in pieces
    ]


def attention_map(
    alpha: NDArray[np.floating], source: Sequence[str], target: Sequence[str], title: str = ""
) -> alt.Chart:
    """``alpha`` (target, source) with the words at its sides; the same word may come twice."""
    cells = [
        {"t": t, "l": place, "share": round(float(share), 4), "output": target[t], "input": source[place]}
        for t, row in enumerate(alpha)
        for place, share in enumerate(row)
    ]
    sides = {}
    for channel, key, words in ((alt.X, "l", source), (alt.Y, "t", target)):
        # Positions are the places, words only their names: two of the same are two places.
        names = f"{json.dumps(list(words))}[datum.value]"
        axis = alt.Axis(labelExpr=names, labelAngle=-50 if key == "l" else 0, ticks=False, domain=False, labelLimit=160)
        if key == "l":
            axis.orient = "top"
        sides[key] = channel(f"{key}:O", title=None, axis=axis)
    chart: alt.Chart = (
        alt.Chart(inline(cells))
        .mark_rect(stroke="#e4e4e4")
        .encode(
            x=sides["l"],
            y=sides["t"],
            color=alt.Color("share:Q", legend=None, scale=alt.Scale(range=["#ffffff", "#08519c"], domain=[0, 1])),
            tooltip=["output:N", "input:N", alt.Tooltip("share:Q", format=".3f", title="attention")],
        )
        .properties(width=CELL * len(source), height=CELL * len(target), title=titled(title) if title else "")
    )
    return chart


def save_map(chart: alt.Chart, path: Path) -> None:
    """Write it as .svg."""
    path.write_text(vl_convert.vegalite_to_svg(json.dumps(describe(chart)), vl_version=VEGA_LITE), encoding="utf-8")


def attention_lines(alpha: NDArray[np.floating], source: Sequence[str], target: Sequence[str]) -> list[str]:
    """The same for a terminal: a line for each output word, shaded by input position, and its most attended word.

    >>> attention_lines(np.array([[0.9, 0.1], [0.2, 0.8]]), ["the", "house"], ["das", "Haus"])[2:]
    ['   das █░  the 0.90', '  Haus ░█  house 0.80']
    """
    width = max(map(len, target), default=0) + 2
    digits = [str(place + 1) for place in range(len(source))]
    numbers = "".join(digit[-1] for digit in digits)
    words = "  ".join(f"{digit} {word}" for digit, word in zip(digits, source, strict=True))
    lines = [words, f"{'':{width}} {numbers}"]
    for word, row in zip(target, alpha, strict=True):
        shades = "".join(SHADES[place] for place in np.searchsorted(BOUNDS, row, side="right").tolist())
        best = int(np.argmax(row))
        lines.append(f"{word:>{width}} {shades}  {source[best]} {row[best]:.2f}")
    return lines

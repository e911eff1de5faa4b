"""What the first pages show and must not go stale: pictures from committed results, the tally, a forecast's own words.

``make readme`` writes it all again; a test compares every byte with what is committed.
"""

import csv
import io
import re
import struct
import zlib
from base64 import b64encode
from collections.abc import Sequence
from contextlib import redirect_stdout
from html import escape
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from attnlab.lab.claims import Decision, decide
from attnlab.lab.claims.words import PAPERS, tally
from attnlab.pages.replay import Film, Replay, read_replay

ROOT = Path(__file__).parents[2]
COPYING = ROOT / "results" / "copying" / "paper"
PICTURES = ROOT / "docs" / "pictures"
FILLED = (ROOT / "README.md", ROOT / "docs" / "index.md")
TEXTS = {
    "blog": "the blog on P3",
    "slides": "the slides on P3",
    "P1": "P1: Lu et al., topic words",
    "P2": "P2: Liu et al., sample complexity",
    "P3": "P3: Snell et al., single-head attention",
    "others": "related work",
    "ours": "ours",
}
SECONDS, HELD = 0.5, 5
"""Seconds of a frame, and how many frames the last one is shown."""
SIDE, LEFT, TOP, APART, BELOW = 126, 8, 74, 300, 58
"""Pixels of a matrix, the margins before the first, from one run to the next, and between two rows of them."""
COLOURS = {"attention": (213, 94, 0), "lexical probe": (0, 114, 178)}
NAMES = ("40 of 60 words: learned", "all 40 words: learned", "all 40 words, another start")
STYLE = """
  text { font: 13px system-ui, sans-serif; fill: #1f2328; } .soft { fill: #57606a; } .name { font-weight: 600; }
  .line { stroke: #b9c0c8; fill: none; } .easy { stroke: #007a5a; } .hard { stroke: #a3457f; }
  .easy-words { fill: #007a5a; } .hard-words { fill: #a3457f; }
  @media (prefers-color-scheme: dark) { text { fill: #e6e8eb; } .soft { fill: #a9b1ba; } .line { stroke: #5a636e; }
    .easy { stroke: #5fd0ae; } .easy-words { fill: #5fd0ae; }
    .hard { stroke: #e89bc4; } .hard-words { fill: #e89bc4; } }
"""


# --- attention through training, as a picture that moves


def moving_picture(replay: Replay, across: int = 3) -> str:
    """All films of a replay as one SVG, so many beside each other: strips of frames that an animation moves past, the
    last one held.
    """
    steps = replay.steps
    shown = [*steps, *[steps[-1]] * HELD]
    frames, width, rows = len(shown), LEFT + APART * across, -(-len(replay.films) // across)
    parts = []
    for number, film in enumerate(replay.films):
        left, top = LEFT + number % across * APART, TOP + number // across * (SIDE + BELOW)
        parts.append(f'<text x="{left}" y="{top - 30}" class="name">{escape(NAMES[number])}</text>')
        for place, field in enumerate(film.fields):
            x = left + place * (SIDE + 12)
            parts.append(f'<text x="{x}" y="{top - 10}" class="soft">{escape(field.name)}</text>')
            strip = b64encode(png(strip_of(film, place, shown))).decode()
            n, height = len(film.words[0]), len(film.outputs)
            parts.append(
                f'<svg x="{x}" y="{top}" width="{SIDE}" height="{SIDE}" viewBox="0 0 {n} {height}" '
                f'preserveAspectRatio="none"><image class="strip" width="{n}" height="{height * frames}" '
                f'style="--height: {height * frames}px" preserveAspectRatio="none" '
                f'href="data:image/png;base64,{strip}"/></svg>'
                f'<rect class="line" x="{x}" y="{top}" width="{SIDE}" height="{SIDE}"/>'
            )
    counter = "".join(f'<text y="{20 * k + 15}">after {step} updates</text>' for k, step in enumerate(shown))
    moved = f'<g class="strip" style="--height: {20 * frames}px">{counter}</g>'
    parts.append(f'<svg x="{LEFT}" y="6" width="160" height="20">{moved}</svg>')
    last = (frames - 1) / frames * 100
    motion = (
        f".strip {{ image-rendering: pixelated; animation: play {SECONDS * frames:g}s steps({frames}) infinite; }}\n"
        f"  @keyframes play {{ to {{ transform: translateY(calc(-1 * var(--height))); }} }}\n"
        "  @media (prefers-reduced-motion: reduce) { .strip { animation: none; "
        f"transform: translateY(calc(-{last / 100:.6f} * var(--height))); }} }}"
    )
    title = "Attention and lexical probe of three networks that learn to copy, update by update"
    return _svg(width, TOP + rows * (SIDE + BELOW) - BELOW + 12, title, f"{STYLE}  {motion}\n", parts)


def strip_of(film: Film, field: int, shown: Sequence[int]) -> NDArray[np.uint8]:
    """The film's frames at the steps ``shown``, one below the other: (frames * outputs, inputs, 4), as colours."""
    one = film.fields[field]
    places = [max(k for k, step in enumerate(film.steps) if step <= wanted) for wanted in shown]
    shape = len(places) * len(film.outputs), len(film.words[0]), 4
    pixels = np.empty(shape, np.uint8)
    pixels[..., :3] = COLOURS[one.name]
    pixels[..., 3] = one.values[places].reshape(shape[:2])
    return pixels


def png(pixels: NDArray[np.uint8]) -> bytes:
    """Pixels (height, width, 4) as a PNG file."""
    height, width, _ = pixels.shape
    lines = np.concatenate([np.zeros((height, 1), np.uint8), pixels.reshape(height, -1)], 1).tobytes()

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", width, height, 8, 6, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(lines, 9)) + chunk(b"IEND", b"")


# --- one figure that makes the point


def learned_by(setting: str) -> tuple[list[int], int]:
    """The updates after which seeds of a setting had learned to copy, and how many seeds there are."""
    with (COPYING / "tables" / "seeds.csv").open(encoding="utf-8") as lines:
        rows = [row for row in csv.DictReader(lines) if row["setting"] == setting]
    return sorted(int(row["step"]) for row in rows if row["step"]), len(rows)


def learned_picture() -> str:
    """The share of networks that have learned, update by update, on both distributions."""
    width, height, left, bottom, right = 640, 300, 52, 42, 20
    across, down = (width - left - right) / 200, (height - bottom - 38) / 100

    def at(step: float, share: float) -> str:
        return f"{left + step * across:.1f},{height - bottom - 100 * share * down:.1f}"

    parts = []
    for share in (0, 0.5, 1):
        parts.append(f'<path class="line" d="M{at(0, share)} L{at(200, share)}" stroke-dasharray="2 4"/>')
        y = height - bottom - 100 * share * down + 4
        parts.append(f'<text x="{left - 8}" y="{y:.1f}" text-anchor="end" class="soft">{share:.0%}</text>')
    for step in range(0, 201, 50):
        x = left + step * across
        parts.append(f'<text x="{x:.1f}" y="{height - 22}" text-anchor="middle" class="soft">{step}</text>')
    middle = left + 100 * across
    parts.append(f'<text x="{middle:.1f}" y="{height - 5}" text-anchor="middle" class="soft">updates</text>')
    said = "The smaller set of sequences is the harder one: networks that have learned"
    parts.append(f'<text x="8" y="15" class="name">{said}</text>')
    for setting, words, kind, place in (
        ("40 of 60", "40 words out of 60", "easy", (52, 1.0, 22)),
        ("permutations of 40", "all of 40 words", "hard", (134, 0.575, 24)),
    ):
        steps, seeds = learned_by(setting)
        line = [at(0, 0)]
        for number, step in enumerate(steps, 1):
            line += [at(step, (number - 1) / seeds), at(step, number / seeds)]
        line.append(at(200, len(steps) / seeds))
        parts.append(f'<path class="{kind}" fill="none" stroke-width="3" d="M{" L".join(line)}"/>')
        step, share, below = place
        x, y = (float(number) for number in at(step, share).split(","))
        said = f"{words} ({len(steps)} of {seeds})"
        parts.append(f'<text x="{x:.1f}" y="{y + below:.1f}" class="{kind}-words name">{escape(said)}</text>')
    title = "Networks that have learned to copy, against updates: 40 of 60 words, and permutations of 40"
    return _svg(width, height, title, STYLE, parts)


def _svg(width: float, height: float, title: str, style: str, parts: Sequence[str]) -> str:
    body = "\n".join(parts)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        f'role="img">\n<title>{escape(title)}</title>\n<style>{style}</style>\n{body}\n</svg>\n'
    )


# --- words


def tally_table(decisions: Sequence[Decision]) -> str:
    """How many claims of each text came out how."""
    head = ("claims of", "as said", "of these weakly", "differs", "open", "not run")
    rows = ["| " + " | ".join(head) + " |", "|---|" + "---:|" * (len(head) - 1)]
    for row in tally(decisions):
        paper = str(row["paper"])
        cells = [row["as the paper says"], row["weakly"], row["differs"], row["open"], row["not run"]]
        rows.append("| " + " | ".join([TEXTS.get(paper, paper), *map(str, cells)]) + " |")
    assert {row["paper"] for row in tally(decisions)} <= set(PAPERS)
    return "\n".join(rows)


EXAMPLE = ROOT / "docs" / "tutorials" / "reviews.csv"
"""Reviews that we wrote."""


def forecast_output() -> str:
    """What ``attnlab forecast reviews.csv --text review --label stars`` prints at 80 columns, in a folder with it."""
    from attnlab.cli.forecast import _print
    from attnlab.cli.options import Screen
    from attnlab.data.texts import read_texts
    from attnlab.theory.forecast import forecast

    out = io.StringIO()
    made = forecast(read_texts(EXAMPLE, text="review", label="stars"))
    with redirect_stdout(out):
        _print(made, Screen(width=80, color_system=None))
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines())


def filled(text: str) -> str:
    """A page with what stands between its marks written again."""
    made = {
        "tally": lambda: "\n" + tally_table(decide(ROOT / "results")) + "\n",
        "forecast": lambda: (
            "\n```\n$ attnlab forecast reviews.csv --text review --label stars\n" + shortened() + "\n```\n"
        ),
    }

    def write(match: re.Match[str]) -> str:
        return f"<!-- {match[1]} -->\n{made[match[1]]()}\n<!-- end -->"

    return re.sub(r"<!-- (tally|forecast) -->\n.*?<!-- end -->", write, text, flags=re.DOTALL)


def shortened(most: int = 12) -> str:
    """The first lines of the forecast."""
    lines = forecast_output().splitlines()
    return "\n".join([*lines[:most], "..."] if len(lines) > most else lines)


def pictures() -> dict[Path, str]:
    """Every picture by its file."""
    replay = read_replay((COPYING / "replays" / "attention.json").read_bytes(), "the replay of copying")
    return {
        PICTURES / "attention.svg": moving_picture(replay),
        PICTURES / "attention-narrow.svg": moving_picture(replay, across=1),
        PICTURES / "learned.svg": learned_picture(),
    }


def main() -> None:
    """Write all of it again."""
    for path, text in pictures().items():
        path.write_text(text, encoding="utf-8")
    for page in FILLED:
        page.write_text(filled(page.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()

"""An explained text on a page or as a file of numbers: words shaded by alpha, beta and delta."""

import json
from pathlib import Path

from attnlab.auditing.explain import Explanation
from attnlab.errors import UsageError
from attnlab.files import write_atomically
from attnlab.pages.page import Section, Shade, write_page

CUT = 40
"""Characters of the longest word that is shown whole."""
MEANING = {
    "alpha": "attention: the share of each word",
    "beta": "lexical probe: the label's probability if the network attended to that word alone; blue is below a half",
    "delta": "influence: how the label's log-probability grows with the word; blue where it falls",
}


def shades(made: Explanation) -> dict[str, list[Shade]]:
    """By quantity, every word with its value and how it is shaded, from -1 (blue) over 0 to 1 (orange)."""
    most = {"alpha": max(made.alpha), "delta": max(map(abs, made.delta))}
    strength = {
        "alpha": [value / (most["alpha"] or 1) for value in made.alpha],
        "beta": [2 * value - 1 for value in made.beta],
        "delta": [value / (most["delta"] or 1) for value in made.delta],
    }
    values = {"alpha": made.alpha, "beta": made.beta, "delta": made.delta}
    return {
        name: [
            Shade(shown(word), f"{value:.3f}", one)
            for word, value, one in zip(made.words, values[name], strength[name], strict=True)
        ]
        for name in MEANING
    }


def shown(word: str) -> str:
    """A word of a length that a line has room for."""
    return word if len(word) <= CUT else word[: CUT - 1] + "\u2026"


def save_explanation(path: Path, made: Explanation) -> Path:
    """Write one file, a page (.html) or all numbers (.json)."""
    ending = path.suffix.lower()
    if ending == ".html":
        unknown = sum(made.unknown)
        known = [f"{unknown} of {len(made.words)} words are unknown to the network."] if unknown else []
        probable = [
            {"class": name, "probability": f"{share:.4f}"}
            for name, share in zip(made.classes, made.probabilities, strict=True)
        ]
        numbers = [
            {"word": word.word, "alpha": word.value, "beta": beta.value, "delta": delta.value}
            for word, beta, delta in zip(*shades(made).values(), strict=True)
        ]
        sections = [
            *(Section(name, [MEANING[name]], shaded=words) for name, words in shades(made).items()),
            Section("All classes", known, table=probable),
            Section("Numbers", table=numbers, folded=f"{len(numbers)} words"),
        ]
        write_page(path, f"Run {made.run} at step {made.step}", made.sentence, sections)
    elif ending == ".json":
        write_atomically(path, json.dumps(made.to_json(), indent=2).encode())
    else:
        raise UsageError(f"An explanation is saved as .html (a page) or .json (its numbers), not as {path.name!r}.")
    return path

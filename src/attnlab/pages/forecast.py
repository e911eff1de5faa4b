"""The forecast's page: verdict, numbers, words and a picture of the table."""

import json
from collections.abc import Sequence
from pathlib import Path

from attnlab.errors import UsageError
from attnlab.files import write_atomically
from attnlab.pages.charts import heat_map
from attnlab.pages.page import Section, write_page
from attnlab.theory.forecast import LIKELY, WEAK, Forecast
from attnlab.theory.words import NAMED, WordForecast


def write_forecast(folder: Path, made: Forecast, name: str) -> list[Path]:
    """Write ``forecast.html`` and ``forecast.json`` into ``folder``; ``name`` says what was forecast."""
    folder.mkdir(parents=True, exist_ok=True)
    return [save_forecast(folder / file, made, name) for file in ("forecast.html", "forecast.json")]


def save_forecast(path: Path, made: Forecast, name: str) -> Path:
    """Write one file, a page (.html) or all numbers (.json)."""
    if path.suffix.lower() == ".html":
        write_page(path, f"Forecast for {name}", made.sentence, sections(made))
    elif path.suffix.lower() == ".json":
        numbers = json.dumps({"data": name, **made.to_json()}, indent=2, ensure_ascii=False)
        write_atomically(path, numbers.encode("utf-8", "backslashreplace"))  # a file's name may be no UTF-8
    else:
        raise UsageError(f"A forecast is saved as .html (a page) or .json (its numbers), not as {path.name!r}.")
    return path


def sections(made: Forecast) -> list[Section]:
    """What the page says, from top to bottom."""
    labels = made.kind == "labels"
    word, output = ("input word", "label") if labels else ("output word", "output word")
    picture = heat_map(
        made.picture.values,
        rows=made.picture.inputs,
        columns=made.picture.outputs,
        title="log2 of Trans(output | input) over the output's share",
        row_title="input word",
        column_title=output,
        digits=1,
        diverging=True,
    )
    of_label = "The gain on the texts of one label alone: the mean over all texts can hide a rare one."
    return [
        Section(
            "How to read it",
            [
                "When training starts, attention is uniform, and a network sees only which words occur together. The "
                "gain says how much more the best word of a sentence tells about an output word than its average word "
                "does. Where it is 0, all words of a sentence look alike and attention has no direction to go in.",
                f"From {LIKELY} bits on, one batch of 128 sentences shows the difference at three standard deviations; "
                f"below {WEAK} bits not even one sentence of such a batch does.",
            ],
            table=[{"measure": name, "value": value} for name, value in measures(made)],
        ),
        *([Section("Each label", [of_label], table=label_rows(made))] if made.labels else []),
        Section(
            "The table of the strongest words",
            [],
            picture if made.picture.inputs else None,
            f"How much more (orange) or less (purple) than usual the {output}s in the columns occur with the input "
            "words in the rows, in bits; -3 stands for -3 or less.",
        ),
        Section(
            "The strongest words",
            [
                f"The {word}s that gain the most in all, gain times occurrences, each with its "
                f"{'label' if labels else 'input word'}."
            ],
            table=word_rows(made.strongest, made),
        ),
        Section(
            "The hopeless words",
            [
                f"The most frequent {word}s with a gain below {LIKELY} bits: co-occurrence hardly tells them from "
                "others."
            ],
            table=word_rows(made.hopeless, made),
        ),
        *([Section("About the data", list(made.notes))] if made.notes else []),
    ]


def measures(made: Forecast) -> list[tuple[str, str]]:
    """Names and values of what was measured."""
    low, high = made.interval
    return [
        ("gain, bits an output word", f"{made.gain:.4f} (95 % interval {low:.4f} to {high:.4f})"),
        ("verdict", made.verdict),
        ("sentences read", f"{made.sentences}"),
        ("output words read", f"{made.tokens}"),
        ("different input and output words", f"{made.input_words} and {made.output_words}"),
    ]


def label_rows(made: Forecast) -> list[dict[str, object]]:
    """The commonest labels as rows of a table."""
    return [
        {"label": one.label, "texts": one.texts, "gain, bits": f"{one.gain:.3f}", "verdict": one.verdict}
        for one in made.labels[:NAMED]
    ]


def word_rows(words: Sequence[WordForecast], made: Forecast) -> list[dict[str, object]]:
    """Words as rows of a table."""
    names = ("word", "label", "occurrences") if made.kind == "labels" else ("output word", "input word", "times read")
    return [
        {**dict(zip(names, (word.word, word.partner, word.tokens), strict=True)), "gain, bits": f"{word.gain:.3f}"}
        for word in words
    ]

"""The forecast's page: verdict, numbers, words and a picture of the table."""

import json
from collections.abc import Sequence
from pathlib import Path

from attnlab.errors import UsageError
from attnlab.files import write_atomically
from attnlab.pages.charts import heat_map
from attnlab.pages.page import Section, write_page
from attnlab.theory.forecast import LIKELY, WEAK, Forecast, WordForecast


def write_forecast(folder: Path, told: Forecast, name: str) -> list[Path]:
    """Write ``forecast.html`` and ``forecast.json`` into ``folder``; ``name`` says what was forecast."""
    folder.mkdir(parents=True, exist_ok=True)
    return [save_forecast(folder / file, told, name) for file in ("forecast.html", "forecast.json")]


def save_forecast(path: Path, told: Forecast, name: str) -> Path:
    """Write one file, a page (.html) or all numbers (.json)."""
    if path.suffix.lower() == ".html":
        write_page(path, f"Forecast for {name}", told.sentence, sections(told))
    elif path.suffix.lower() == ".json":
        numbers = json.dumps({"data": name, **told.to_json()}, indent=2, ensure_ascii=False)
        write_atomically(path, numbers.encode("utf-8", "backslashreplace"))  # a file's name may be no UTF-8
    else:
        raise UsageError(f"A forecast is saved as .html (a page) or .json (its numbers), not as {path.name!r}.")
    return path


def sections(told: Forecast) -> list[Section]:
    """What the page says, from top to bottom."""
    outputs = "labels" if told.kind == "labels" else "output words"
    word = "input word" if told.kind == "labels" else "output word"
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
            table=[{"measure": name, "value": value} for name, value in measures(told)],
        ),
        Section(
            "The table of the strongest words",
            [],
            heat_map(
                told.picture.values,
                rows=told.picture.inputs,
                columns=told.picture.outputs,
                title="log2 of Trans(output | input) over the output's share",
                row_title="input word",
                column_title="label" if told.kind == "labels" else "output word",
                digits=1,
                diverging=True,
            )
            if told.picture.inputs
            else None,
            f"How much more (orange) or less (purple) than usual the {outputs} in the columns occur with the input "
            "words in the rows, in bits; -3 stands for -3 or less.",
        ),
        Section(
            "The strongest words",
            [f"The {word}s that gain the most in all, gain times occurrences, each with its {partners(told)}."],
            table=word_rows(told.strongest, told),
        ),
        Section(
            "The hopeless words",
            [
                f"The most frequent {word}s with a gain below {LIKELY} bits: co-occurrence hardly tells them from "
                "others."
            ],
            table=word_rows(told.hopeless, told),
        ),
        *([Section("About the data", list(told.notes))] if told.notes else []),
    ]


def measures(told: Forecast) -> list[tuple[str, str]]:
    """Names and values of what was measured."""
    low, high = told.interval
    return [
        ("gain, bits an output word", f"{told.gain:.4f} (95 % interval {low:.4f} to {high:.4f})"),
        ("verdict", told.verdict),
        ("sentences read", f"{told.sentences}"),
        ("output words read", f"{told.tokens}"),
        ("different input and output words", f"{told.input_words} and {told.output_words}"),
        ("gain if chosen by the derivative at initialisation", f"{told.derivative_gain:.4f}"),
        ("information of the alignment, uncorrected", f"{told.information:.4f}"),
        ("mutual information of the table", f"{told.mutual_information:.4f}"),
    ]


def partners(told: Forecast) -> str:
    """What a word goes with."""
    return "label" if told.kind == "labels" else "input word"


def word_rows(words: Sequence[WordForecast], told: Forecast) -> list[dict[str, object]]:
    """Words as rows of a table."""
    names = ("word", "label", "occurrences") if told.kind == "labels" else ("output word", "input word", "times read")
    return [
        {**dict(zip(names, (word.word, word.partner, word.tokens), strict=True)), "gain, bits": f"{word.gain:.3f}"}
        for word in words
    ]

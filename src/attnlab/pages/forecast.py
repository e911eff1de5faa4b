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


def write_forecast(folder: Path, forecast: Forecast, name: str) -> list[Path]:
    """Write ``forecast.html`` and ``forecast.json`` into ``folder``; ``name`` says what was forecast."""
    folder.mkdir(parents=True, exist_ok=True)
    return [save_forecast(folder / file, forecast, name) for file in ("forecast.html", "forecast.json")]


def save_forecast(path: Path, forecast: Forecast, name: str) -> Path:
    """Write one file, a page (.html) or all numbers (.json)."""
    if path.suffix.lower() == ".html":
        write_page(path, f"Forecast for {name}", forecast.sentence, sections(forecast))
    elif path.suffix.lower() == ".json":
        numbers = json.dumps({"data": name, **forecast.to_json()}, indent=2, ensure_ascii=False)
        write_atomically(path, numbers.encode("utf-8"))
    else:
        raise UsageError(f"A forecast is saved as .html (a page) or .json (its numbers), not as {path.name!r}.")
    return path


def sections(forecast: Forecast) -> list[Section]:
    """What the page says, from top to bottom."""
    outputs = "labels" if forecast.kind == "labels" else "output words"
    word = "input word" if forecast.kind == "labels" else "output word"
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
            table=[{"measure": name, "value": value} for name, value in measures(forecast)],
        ),
        *(
            [
                Section(
                    "Each label",
                    ["The gain on the texts of one label alone: the mean over all texts can hide a rare one."],
                    table=label_rows(forecast),
                )
            ]
            if forecast.labels
            else []
        ),
        Section(
            "The table of the strongest words",
            [],
            heat_map(
                forecast.picture.values,
                rows=forecast.picture.inputs,
                columns=forecast.picture.outputs,
                title="log2 of Trans(output | input) over the output's share",
                row_title="input word",
                column_title="label" if forecast.kind == "labels" else "output word",
                digits=1,
                diverging=True,
            )
            if forecast.picture.inputs
            else None,
            f"How much more (orange) or less (purple) than usual the {outputs} in the columns occur with the input "
            "words in the rows, in bits; -3 stands for -3 or less.",
        ),
        Section(
            "The strongest words",
            [f"The {word}s that gain the most in all, gain times occurrences, each with its {partners(forecast)}."],
            table=word_rows(forecast.strongest, forecast),
        ),
        Section(
            "The hopeless words",
            [
                f"The most frequent {word}s with a gain below {LIKELY} bits: co-occurrence hardly tells them from "
                "others."
            ],
            table=word_rows(forecast.hopeless, forecast),
        ),
        *([Section("About the data", list(forecast.notes))] if forecast.notes else []),
    ]


def measures(forecast: Forecast) -> list[tuple[str, str]]:
    """Names and values of what was measured."""
    low, high = forecast.interval
    return [
        ("gain, bits an output word", f"{forecast.gain:.4f} (95 % interval {low:.4f} to {high:.4f})"),
        ("verdict", forecast.verdict),
        ("sentences read", f"{forecast.sentences}"),
        ("output words read", f"{forecast.tokens}"),
        ("different input and output words", f"{forecast.input_words} and {forecast.output_words}"),
    ]


def label_rows(forecast: Forecast) -> list[dict[str, object]]:
    """The commonest labels as rows of a table."""
    return [
        {"label": one.label, "texts": one.texts, "gain, bits": f"{one.gain:.3f}", "verdict": one.verdict}
        for one in forecast.labels[:NAMED]
    ]


def partners(forecast: Forecast) -> str:
    """What a word goes with."""
    return "label" if forecast.kind == "labels" else "input word"


def word_rows(words: Sequence[WordForecast], forecast: Forecast) -> list[dict[str, object]]:
    """Words as rows of a table."""
    names = (
        ("word", "label", "occurrences") if forecast.kind == "labels" else ("output word", "input word", "times read")
    )
    return [
        {**dict(zip(names, (word.word, word.partner, word.tokens), strict=True)), "gain, bits": f"{word.gain:.3f}"}
        for word in words
    ]

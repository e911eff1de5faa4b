"""The page of `attnlab samples`: accuracy against n, where attention pays, and what more data would give."""

import json
from pathlib import Path

import altair as alt

from attnlab.errors import UsageError
from attnlab.files import write_atomically
from attnlab.measures.samples import MODELS, PAYS, SampleCurves
from attnlab.pages.charts import headed, hue, inline, rounded
from attnlab.pages.page import Section, write_page


def write_samples(folder: Path, curves: SampleCurves, name: str) -> list[Path]:
    """Write ``samples.html`` and ``samples.json`` into ``folder``; ``name`` says what was read."""
    folder.mkdir(parents=True, exist_ok=True)
    return [save_samples(folder / file, curves, name) for file in ("samples.html", "samples.json")]


def save_samples(path: Path, curves: SampleCurves, name: str) -> Path:
    """Write one file, a page (.html) or all numbers (.json)."""
    if path.suffix.lower() == ".html":
        write_page(path, f"Samples of {name}", curves.sentence, sections(curves))
    elif path.suffix.lower() == ".json":
        numbers = json.dumps({"data": name, **curves.to_json()}, indent=2, ensure_ascii=False)
        write_atomically(path, numbers.encode("utf-8", "backslashreplace"))  # a file's name may be no UTF-8
    else:
        raise UsageError(f"Curves are saved as .html (a page) or .json (their numbers), not as {path.name!r}.")
    return path


def sections(curves: SampleCurves) -> list[Section]:
    """What the page says, from top to bottom."""
    return [
        Section(
            "Accuracy against the number of texts",
            [
                f"Accuracy on {curves.tests} texts that no model has seen. Attention pays where it is ahead of both "
                f"others, by {100 * PAYS:g} points or more and by its 95 % interval over trainings on the same "
                "subsamples."
            ],
            curves_chart(curves),
            "Mean accuracy with 95 % intervals over trainings; hollow points: expected with twice the data, with the "
            "90 % interval for one training.",
        ),
        Section("With twice the data", [expected_sentence(curves, model) for model in MODELS]),
        Section(
            "How it was measured",
            [
                "Attention is a learned weight for each word under a linear read-out; uniform attention is the same "
                "model with equal weights; logistic regression reads word counts. A fifth of each subsample chooses "
                "when to stop or how much to regularise, and counts among the n.",
            ],
            table=table(curves),
            folded="All numbers",
        ),
        *([Section("About the data", list(curves.notes))] if curves.notes else []),
    ]


def expected_sentence(curves: SampleCurves, model: str) -> str:
    """With twice the data we expect so much, and between which bounds."""
    one = curves.expected[model]
    if one is None:
        return f"{model.capitalize()}: too few sizes to say what more data would give."
    return (
        f"With {one.n} texts we expect {1 - one.error:.1%} of {model}; one training lies between {1 - one.high:.1%} "
        f"and {1 - one.low:.1%} in nine cases of ten."
    )


def table(curves: SampleCurves) -> list[dict[str, str | int]]:
    """The curves as rows of a table."""
    return [
        {
            "model": row["model"],
            "texts": row["n"],
            "accuracy": f"{row['accuracy']:.1%}",
            "95 % interval": "" if row["low"] is None else f"{row['low']:.1%} to {row['high']:.1%}",
        }
        for row in curves.rows()
    ]


def curves_chart(curves: SampleCurves) -> alt.TopLevelMixin:
    """Accuracy against n by model, n in logarithms."""
    x = alt.X("n:Q", title="texts", scale=alt.Scale(type="log", nice=False))
    y = alt.Y("accuracy:Q", title="accuracy", scale=alt.Scale(zero=False))
    base = alt.Chart(inline(curves.rows())).encode(x=x, color=hue("model"))
    lines = base.mark_line(point=True).encode(y=y, tooltip=["model:N", "n:Q", rounded("accuracy")])
    bands = base.mark_rule(opacity=0.6).encode(y=alt.Y("low:Q"), y2="high:Q")
    ahead = [
        {"model": model, "n": one.n, "accuracy": 1 - one.error, "low": 1 - one.high, "high": 1 - one.low}
        for model, one in curves.expected.items()
        if one is not None
    ]
    later = alt.Chart(inline(ahead)).encode(x=x, color=hue("model"))
    points = later.mark_point(size=60).encode(y=y, tooltip=["model:N", "n:Q", rounded("accuracy")])
    spans = later.mark_rule(strokeDash=[3, 3]).encode(y=alt.Y("low:Q"), y2="high:Q")
    return headed(alt.layer(bands, lines, spans, points), "Accuracy against the number of texts", width=460, height=280)

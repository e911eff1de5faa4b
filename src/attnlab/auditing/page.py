"""The page of an audit: the card first, then what it rests on."""

from pathlib import Path
from typing import Any

import altair as alt
import numpy as np

from attnlab.auditing.card import PAIRS, TEXTS, Answer, Wording
from attnlab.auditing.explain_page import shown
from attnlab.auditing.result import Audit, Example, PairExample
from attnlab.pages.attention_map import attention_map
from attnlab.pages.charts import INK, SIZE, headed, inline, rounded
from attnlab.pages.page import Badge, Section, Shade, Top, write_page

MARKS = {"good": "\u25cf good", "mixed": "\u25d0 mixed", "poor": "\u25cb poor", "unknown": "? unknown"}
WORDINGS = {"texts": TEXTS, "pairs": PAIRS}
KINDS = {"good": "good", "mixed": "open", "poor": "bad", "unknown": "none"}
NAME = 80
"""Characters of a file's name that a title has room for."""


def write_audit_page(path: Path, audit: Audit) -> None:
    """Write the page in one move."""
    title = f"May the attention on {audit.name[:NAME]} be trusted?"
    write_page(path, title, audit.card.headline, sections(audit), top=Top(badges=badges(audit)))


def badges(audit: Audit) -> list[Badge]:
    """How many answers of the card have each grade."""
    grades = [answer.grade for answer in audit.card.answers]
    return [
        Badge(f"{mark[0]} {grades.count(name)} {name}", KINDS[name]) for name, mark in MARKS.items() if name in grades
    ]


def sections(audit: Audit) -> list[Section]:
    """What the page says, from top to bottom."""
    return [
        Section("The verdict card", list(audit.card.remarks), table=[card_row(one) for one in audit.card.answers]),
        *_advice(audit),
        *_data(audit),
        _accuracies(audit),
        _agreements(audit),
        _words_taken_out(audit),
        *_twins(audit),
        *[section for one in audit.examples for section in _example(one)],
        Section(
            "How it was made",
            [
                "A(u, v) is how often the top word of u is among the top 5 % of v, with ties broken at random; its "
                f"chance level is exact. Intervals are 95 %, by bootstrap over {noun(audit)}s; they say nothing about "
                f"other {noun(audit)}s than these. The lexical probe is what the network would say if it attended to "
                f"one word alone; influence is the gradient's, {OTHER[audit.kind]}.",
                f"Made {audit.made}." if audit.made else "",
            ],
            table=[{"setting": name, "value": value} for name, value in audit.settings.items()],
        ),
    ]


OTHER = {
    "texts": "leave-one-out what is lost without the word",
    "pairs": "alignment IBM Model 1's, trained on the same pairs without a network. The words of sentences are pieces",
}


def noun(audit: Audit) -> str:
    """What intervals are over."""
    return WORDINGS[audit.kind].text


def card_row(answer: Answer) -> dict[str, str]:
    """An answer as a row of the card."""
    chance = answer.number.chance
    return {
        "question": answer.question,
        "grade": MARKS[answer.grade],
        "number": "" if answer.number.value is None else str(answer.number),
        "of": answer.measure,
        "chance, or two seeds": "" if chance is None else f"{chance:.3f}",
        "what it means": answer.says,
    }


def _advice(audit: Audit) -> list[Section]:
    advice = list(dict.fromkeys(one.advice for one in audit.card.answers if one.advice))
    return [Section("What to do about it", advice)] if advice else []


def _data(audit: Audit) -> list[Section]:
    parts = []
    if audit.findings is not None:
        parts.append(Section("The data", [*audit.findings.sentences, *audit.findings.notes]))
    if audit.forecast is not None:
        said = [audit.forecast.sentence, *audit.forecast.reasons]
        parts.append(Section("The forecast, from co-occurrence alone", said))
    return parts


def _accuracies(audit: Audit) -> Section:
    numbers = audit.numbers
    rows = [{"network": name, "accuracy": f"{value:.3f}"} for name, value in numbers.accuracies.items()]
    words: Wording = WORDINGS[audit.kind]
    rows.append({"network": words.baseline, "accuracy": f"{numbers.majority:.3f}"})
    read = {"texts": "validation texts", "pairs": "output words of validation pairs, the right ones before each given"}
    said = f"On {numbers.accuracy.texts} {read[audit.kind]}; the mean over seeds is {numbers.accuracy}."
    return Section("Accuracy", [said], table=rows)


def _agreements(audit: Audit) -> Section:
    compared = audit.numbers.compared
    points = [
        {"agreement": name, "value": one.top.value, "low": one.top.low, "high": one.top.high, "chance": one.top.chance}
        for name, one in compared.items()
        if one.top.value is not None and one.top.low is not None
    ]
    rows = [
        {
            "fields": name,
            "A": str(one.top),
            "chance": "" if one.top.chance is None else f"{one.top.chance:.3f}",
            "tau": str(one.tau),
            "texts" if audit.kind == "texts" else "output words": one.top.texts,
        }
        for name, one in compared.items()
    ]
    chart = _intervals(points, noun(audit)) if points else None
    caption = "How often the top word of the first is among the top 5 % of the second; ticks are the chance level."
    return Section("Agreement", [], chart, caption, rows)


def _intervals(points: list[dict[str, Any]], over: str) -> alt.TopLevelMixin:
    order = [point["agreement"] for point in points]
    base = alt.Chart(inline(points)).encode(
        y=alt.Y("agreement:N", title=None, sort=order, axis=alt.Axis(labelLimit=320))
    )
    x = alt.X("low:Q", title=f"A, 95 % interval over {over}s", scale=alt.Scale(domain=[0, 1]))
    bars = base.mark_rule(strokeWidth=3).encode(x=x, x2="high:Q")
    dots = base.mark_point(filled=True, size=50).encode(x="value:Q", tooltip=["agreement:N", rounded("value")])
    ticks = base.mark_tick(color=INK, thickness=1.5).encode(x="chance:Q")
    return headed(
        alt.layer(bars, dots, ticks), "What attention agrees with", width=2 * SIZE["width"], height=26 * len(order)
    )


def _words_taken_out(audit: Audit) -> Section:
    what = "predicted class" if audit.kind == "texts" else "right output word"
    said = (
        f"By how much the {what} becomes less probable without the fifth of a {noun(audit)}'s words that attention "
        "values most (comprehensiveness: high is good), and with these alone (sufficiency: low is good)."
    )
    rows = [
        {"measure": f"{name.removeprefix('random_')}, random words" if "random_" in name else name}
        | {"probability lost": str(number)}
        for name, number in audit.numbers.erased.items()
    ]
    return Section("Words taken out", [said], table=rows)


def _twins(audit: Audit) -> list[Section]:
    if not audit.numbers.twins:
        return []
    said = (
        "Each was trained to the first network's predictions and away from its attention. TVD says how far "
        "predictions are apart (0 to 1), JSD how far attention is (in bits, 0 to 1). Predictions count as equal "
        "where they are no further apart than those of two seeds, and at most 2 points less accurate."
    )
    rows = [
        {
            "lambda": f"{twin.weight:g}",
            "accuracy": f"{twin.accuracy:.3f}",
            "TVD": str(twin.tvd),
            "same class" if audit.kind == "texts" else "same word": f"{twin.same:.1%}",
            "JSD": str(twin.jsd),
            "equal predictions": "yes" if twin.equal else "no",
            f"A(attention, own {twin.against})": str(twin.top),
            "tau": str(twin.tau),
        }
        for twin in audit.numbers.twins
    ]
    if audit.numbers.seeds_tvd is not None and audit.numbers.seeds_jsd is not None:
        seeds = {"lambda": "two seeds", "TVD": str(audit.numbers.seeds_tvd), "JSD": str(audit.numbers.seeds_jsd)}
        rows.append({name: seeds.get(name, "") for name in rows[0]})
    return [Section("Deceptive twins", [said], table=rows)]


def _example(one: Example | PairExample) -> list[Section]:
    if isinstance(one, PairExample):
        return _pair_example(one)

    def shaded(alpha: tuple[float, ...]) -> list[Shade]:
        most = max(alpha) or 1.0
        pairs = zip(one.words, alpha, strict=True)
        return [Shade(shown(word), f"{value:.3f}", value / most) for word, value in pairs]

    first = Section(
        f"A text of the class {one.label[:40]}", ["The first network's attention:"], shaded=shaded(one.alpha)
    )
    if one.twin is None:
        return [first]
    return [first, Section("The same text, read by a deceptive twin", shaded=shaded(one.twin))]


def _pair_example(one: PairExample) -> list[Section]:
    inputs, outputs = ([shown(piece) for piece in side] for side in (one.source, one.target))
    caption = "Output words from top to bottom, input words from left to right; darker where more attention is."
    first = attention_map(np.array(one.alpha), inputs, outputs)
    sections = [Section("A sentence pair, and where the first network looks", [], first, caption)]
    if one.twin is not None:
        twin = attention_map(np.array(one.twin), inputs, outputs)
        sections.append(Section("The same pair, read by a deceptive twin", [], twin, caption))
    return sections

"""The page over all corpora of an experiment on labelled texts, made from what its rows left on disk."""

import csv
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import Any

import altair as alt

from attnlab.errors import UsageError
from attnlab.experiments.claims import PRESETS, Finding, verdict_of
from attnlab.experiments.classification import ROWS
from attnlab.experiments.result import read_result
from attnlab.reports.page import Section, write_page

PAGE = "report.html"


@dataclass(frozen=True)
class RowResult:
    """The result folder of one corpus."""

    row: str
    preset: str
    folder: Path
    document: Mapping[str, Any]

    @property
    def name(self) -> str:
        """The corpus and the preset it was run at."""
        return f"{self.row} ({self.preset})"

    def table(self, name: str) -> list[dict[str, str]]:
        """One of its tables, with numbers as a reader wants them; none if this result has no such table."""
        path = self.folder / "tables" / f"{name}.csv"
        if not path.is_file():
            return []
        with path.open(newline="", encoding="utf-8") as lines:
            return [{column: shown(value) for column, value in line.items()} for line in csv.DictReader(lines)]

    def charts(self) -> list[tuple[str, alt.TopLevelMixin]]:
        """Its figures by name."""
        return [(name, _read_chart(self.folder / "figures" / f"{name}.vl.json")) for name in self.document["figures"]]


def strongest_rows(folder: Path) -> list[RowResult]:
    """Each corpus at its strongest preset, in the order of the paper's table; ``folder`` is the experiment's."""
    found = []
    for row in ROWS:
        for preset in reversed(PRESETS):
            place = folder / preset / row
            if (place / "result.json").is_file():
                found.append(RowResult(row, preset, place, read_result(place)))
                break
    return found


def write_text_report(
    folder: Path,
    title: str,
    lead: str,
    *,
    main: str,
    columns: Mapping[str, str] | None = None,
    tables: Sequence[str] = (),
) -> Path:
    """Write ``report.html`` into the experiment's results ``folder`` and say where it is.

    ``lead``: the sentence below the title. ``main``: the table that is shown over all corpora, and ``columns`` those of
    its columns that are, with the headings they get; None shows all. ``tables``: those shown for each corpus by itself.
    """
    results = strongest_rows(folder)
    if not results:
        raise UsageError(f"{folder} has no row's result to report on; run the experiment first.")
    sections = [
        Section(
            "All corpora",
            ["Each corpus at the strongest preset that it was run at. Tables with every digit lie beside this page."],
            table=_alike([_named(result, line, columns) for result in results for line in result.table(main)]),
        ),
        _verdicts(results),
    ]
    for result in results:
        sections += _sections(result, tables)
    path = folder / PAGE
    write_page(path, title, lead, sections)
    return path


def shown(value: str) -> str:
    """A table's cell for a reader: numbers to three places, others as they are.

    >>> shown("0.12345"), shown("2000"), shown("0.00012"), shown("never")
    ('0.123', '2000', '0.00012', 'never')
    """
    try:
        number = float(value)
    except ValueError:
        return value
    if not isfinite(number) or number.is_integer():
        return value.removesuffix(".0")
    return f"{number:.3f}" if abs(number) >= 0.001 else f"{number:.2g}"


def _verdicts(results: Sequence[RowResult]) -> Section:
    """How every claim of the experiment stands over these corpora, and each part of it."""
    findings = [(result, Finding.from_json(entry)) for result in results for entry in result.document["claims"]]
    whole = {
        claim: verdict_of(part for _, finding in findings if finding.claim == claim for part in finding.parts)
        for claim in dict.fromkeys(finding.claim for _, finding in findings)
    }
    table = [
        {
            "claim": finding.claim,
            "corpus": result.name,
            "part": part.name,
            "verdict": part.verdict,
            "effect": "" if part.effect is None else f"{part.effect:.3g}",
            "95 % interval": "" if part.interval is None else f"{part.interval[0]:.3g} to {part.interval[1]:.3g}",
            "over": part.over,
            "numbers": part.detail,
        }
        for result, finding in findings
        for part in finding.parts
    ]
    told = [f"{claim}: {verdict} over these corpora." for claim, verdict in whole.items()]
    return Section("Verdicts", told or ["These results decide no claim."], table=table)


def _sections(result: RowResult, tables: Sequence[str]) -> list[Section]:
    """One corpus: what came out, its figures, its tables, what to know about how it was run."""
    document = result.document
    sections = [Section(result.name, [document["summary"]])]
    for name, chart in result.charts():
        sections.append(Section(f"{result.name}: {_words(name)}", chart=chart, caption=_caption(chart, name)))
    read = ((name, result.table(name)) for name in tables)
    sections += [Section(f"{result.name}: {_words(name)}", table=table) for name, table in read if table]
    seeds = "; ".join(f"{role} {', '.join(map(str, values))}" for role, values in document["seeds"].items())
    ran = f"{document['command']}; seeds: {seeds or 'none'}; {document['training_seconds']:.0f} seconds of training."
    sections.append(Section(f"{result.name}: how it was run", [*document["notes"], ran]))
    return sections


def _named(result: RowResult, line: Mapping[str, str], columns: Mapping[str, str] | None) -> dict[str, str]:
    """A line of the main table with its corpus and preset in front."""
    chosen = {name: name for name in line if name != "corpus"} if columns is None else columns
    told = {heading: line[name] for name, heading in chosen.items() if name in line}
    return {"corpus": result.row, "preset": result.preset, **told}


def _alike(lines: Sequence[Mapping[str, str]]) -> list[dict[str, str]]:
    """Lines with the same columns: those that any has, empty where a line lacks one."""
    columns = list(dict.fromkeys(column for line in lines for column in line))
    return [{column: line.get(column, "") for column in columns} for line in lines]


def _read_chart(path: Path) -> alt.TopLevelMixin:
    try:
        description = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}; run the experiment again.") from None
    except ValueError as error:
        raise UsageError(f"{path} is no chart ({error}); run the experiment again.") from None
    if not isinstance(description, dict) or "vega-lite" not in str(description.get("$schema")):
        raise UsageError(f"{path} is no chart (it does not name Vega-Lite's schema); run the experiment again.")
    chart: alt.TopLevelMixin = alt.Chart.from_dict(description)
    return chart


def _caption(chart: alt.TopLevelMixin, name: str) -> str:
    """The chart's own title, which says what it shows."""
    title = json.loads(chart.to_json(indent=None)).get("title", "")
    text = title.get("text", "") if isinstance(title, dict) else title
    return " ".join(text) if isinstance(text, list) else text or _words(name)


def _words(name: str) -> str:
    return name.replace("_", " ").replace("-", " ")

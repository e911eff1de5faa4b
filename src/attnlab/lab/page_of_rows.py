"""Experiments with a row for each corpus: the page over all corpora, made from the results of the rows on disk."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from math import isfinite
from pathlib import Path
from typing import Any, ClassVar

from attnlab.errors import UsageError
from attnlab.lab.claims import OF_OURS, Claim, Part, claim, outcome_of
from attnlab.lab.claims.words import earlier_rules
from attnlab.lab.experiment import Experiment
from attnlab.lab.headings import headed
from attnlab.lab.page import badge, decisions, figures, folded_table, how_it_was_run, papers, tally_badges
from attnlab.lab.page_words import PageWords, page_words
from attnlab.lab.wording import begun, corpus_called, source_called, with_corpus
from attnlab.lab.written import WrittenResult, strongest
from attnlab.pages.charts import dot_rows
from attnlab.pages.page import Badge, Page, Section, Top

HOLLOW = "Dots are hollow where the runs were reduced."
DOTS = "Dots are hollow where the runs were reduced; ticks: chance."
INTERVALS = " Lines: 95 % intervals over texts."
AUTHORS = " Diamonds: the authors' own figures, where they are known."


class RowsExperiment(Experiment):
    """An experiment that is run corpus by corpus, and reported over all of them.

    ``lead``: the sentence below the page's title; ``main``: the table that is shown over all corpora; ``columns``:
    those of its columns that are, and their headings (none: all); ``shown``: the tables for each corpus;
    ``answers_with``: the rows without which it gives no answer (none: all); ``dots``: what the picture over all corpora
    compares: by label a column of ``dots_table``, the ``value`` of a line of it, or a column of a line; ``dots_axis``:
    what that is.
    """

    lead: ClassVar[str] = ""
    main: ClassVar[str] = ""
    columns: ClassVar[Mapping[str, str]] = {}
    shown: ClassVar[tuple[str, ...]] = ()
    answers_with: ClassVar[tuple[str, ...]] = ()
    dots: ClassVar[Mapping[str, str | Mapping[str, str] | tuple[str, Mapping[str, str]]]] = {}
    dots_table: ClassVar[str] = ""
    dots_title: ClassVar[str] = ""
    dots_axis: ClassVar[str] = "agreement"

    def page(self, folder: Path) -> Page:
        return page_of_rows(self, folder) if self.rows else super().page(folder)


def page_of_rows(experiment: RowsExperiment, folder: Path) -> Page:
    """What the page of the results in the experiment's ``folder`` says."""
    results = strongest(folder, experiment.rows)
    if not results:
        raise UsageError(f"{folder} has no row's result to report on; run the experiment first.")
    words = page_words(experiment.name)
    lines = [_named(result, line, experiment.columns) for result in results for line in result.table(experiment.main)]
    parts = {(finding.claim, result.row): finding.parts for result in results for finding in result.findings()}
    # The answer is about all corpora, so it must not be read off some of them, or off a few updates.
    asked = set(experiment.answers_with or experiment.rows)
    whole = asked <= {result.row for result in results if result.preset != "quick"}
    said = "Each corpus at the strongest preset that it was run at."
    sections = [
        *_verdicts(results, parts),
        *(figure.section(results[0]) for figure in words.paper if not figure.row),
        Section("All corpora", [experiment.lead, said], table=headed(_alike(lines)), folded="All corpora in numbers"),
    ]
    for result in results:
        of_row = [*_sections(result, experiment.shown, words), *experiment.extras(result)]
        sections += [replace(section, tab=corpus_called(result.row)) for section in of_row]
    answer = words.answer_over(results, whole=whole)
    ids = dict.fromkeys(id for id, _ in parts)
    badges = [_badge(id, [part for (one, _), own in parts.items() if one == id for part in own]) for id in ids]
    top = Top(answer, tally_badges(badges), _first(experiment, results), f"{begun(experiment.source)}{said}")
    return Page(experiment.title, words.question, sections, top)


def _first(experiment: RowsExperiment, results: Sequence[WrittenResult]) -> Section | None:
    """All corpora in one picture: a row for each, dots for what the experiment compares."""
    points = [point for result in results for point in dots(experiment, result)]
    if not points:
        return None
    caption = DOTS if any(point["chance"] is not None for point in points) else HOLLOW
    caption += INTERVALS if any(point["low"] is not None for point in points) else ""
    chart = dot_rows(points, title=experiment.dots_title, x_title=experiment.dots_axis)
    caption += AUTHORS if any(point["authors"] is not None for point in points) else ""
    return Section(experiment.dots_title, chart=chart, caption=caption)


def dots(experiment: RowsExperiment, result: WrittenResult) -> list[dict[str, Any]]:
    """What one corpus has in the picture of all: a point for each label of ``dots``, from its table."""
    points = []
    for label, which in experiment.dots.items():
        column, where = (which, {}) if isinstance(which, str) else which if isinstance(which, tuple) else ("", which)
        names = (f"{column}_low", f"{column}_high") if column else ("low", "high")
        for line in result.lines(experiment.dots_table or experiment.main):
            if any(line.get(name) != value for name, value in where.items()):
                continue
            numbers = {"value": line.get(column or "value"), "low": line.get(names[0]), "high": line.get(names[1])}
            numbers |= {"chance": line.get("chance"), "authors": None if column else line.get("authors")}
            point = {name: _number(text) for name, text in numbers.items()}
            if point["value"] is not None:
                runs = "all runs" if result.preset == "paper" else "reduced"
                points.append({"corpus": corpus_called(result.row), "what": label, "runs": runs, **point})
    return points


def _number(text: str | None) -> float | None:
    try:
        number = float(text) if text else None
    except ValueError:
        return None
    return number if number is None or isfinite(number) else None


def _verdicts(results: Sequence[WrittenResult], parts: Mapping[tuple[str, str], Sequence[Part]]) -> list[Section]:
    """The verdict on every claim of the experiment: over all these corpora, on each, and part by part."""
    if not parts:
        return [Section("Verdicts", ["These results decide no claim."])]
    table, said = [], []
    for id in dict.fromkeys(id for id, _ in parts):
        on_each = {row: parts[id, row] for _, row in parts if (id, row) in parts}
        every = [part for of_row in on_each.values() for part in of_row]
        table.append(
            {
                "claim": id,
                "over all": _outcome(id, every),
                **{corpus_called(result.row): _outcome(id, on_each.get(result.row, ())) for result in results},
            }
        )
        statement = claim(id).statement.rstrip(".")
        why = f" Why: {claim(id).reason}" if claim(id).reason else ""
        said.append(
            (_badge(id, every), f"{statement[0].upper()}{statement[1:]} ({source_called(claim(id).source)}).{why}")
        )
    every_part = decisions(results, "corpus")
    rule = "A claim is as the paper says if it is so on each corpus, weakly if on one only in its direction."
    return [
        Section(
            "What is claimed, and how it stands",
            [rule],
            said=said,
            more=_earlier(parts),
            more_called="What was decided otherwise before, and why",
        ),
        Section("", table=table, folded="Verdicts on each corpus"),
        Section("", table=every_part, folded=f"{len(every_part)} parts with their numbers"),
    ]


def _badge(id: str, parts: Sequence[Part]) -> Badge:
    known = claim(id)
    return badge(*outcome_of(known.stance, _counted(known, parts)), ours=known.by == "ours")


def _counted(known: Claim, parts: Sequence[Part]) -> list[Part]:
    """Those parts that still count where all of them are there."""
    return [part for part in parts if known.counts(part.name, {one.name for one in parts})]


def _outcome(id: str, parts: Sequence[Part]) -> str:
    """How some parts of a claim come out; "" where there are none."""
    known = claim(id)
    outcome, weakly = outcome_of(known.stance, _counted(known, parts))
    said = OF_OURS.get(outcome, outcome) if known.by == "ours" else outcome
    return "" if not parts else f"weakly {said}" if weakly else said


def _earlier(claims: Iterable[tuple[str, str]]) -> list[str]:
    """Rules that were changed."""
    known = [claim(id) for id in dict.fromkeys(id for id, _ in claims)]
    return [f"{one.id}: {words}" for one in known for words in earlier_rules(one)]


def _sections(result: WrittenResult, tables: Sequence[str], words: PageWords) -> list[Section]:
    """One corpus: what came out, its figures, its tables, what to know about how it was run."""
    read = ((name, result.table(name)) for name in tables)
    return [
        Section(result.name, [with_corpus(result.document["summary"], result.row)]),
        *figures(result, words),
        *papers(result, words),
        *(folded_table(name, table, f"{result.name}: ") for name, table in read if table),
        how_it_was_run(result),
    ]


def _named(result: WrittenResult, line: Mapping[str, str], columns: Mapping[str, str]) -> dict[str, str]:
    """A line of the main table with its corpus and preset in front."""
    chosen = columns or {name: name for name in line if name != "corpus"}
    shown = {heading: line[name] for name, heading in chosen.items() if name in line}
    return {"corpus": corpus_called(result.row), "preset": result.preset, **shown}


def _alike(lines: Sequence[Mapping[str, str]]) -> list[dict[str, str]]:
    """Lines with the same columns: those that any has, empty where a line lacks one."""
    columns = list(dict.fromkeys(column for line in lines for column in line))
    return [{column: line.get(column, "") for column in columns} for line in lines]

"""The page over all corpora of an experiment on labelled texts, made from the results of its rows on disk."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from attnlab.errors import UsageError
from attnlab.experiments.texts.corpora import TextExperiment
from attnlab.lab.claims import OF_OURS, Part, claim, outcome_of
from attnlab.lab.claims.words import told_earlier
from attnlab.lab.page import PAGE, decisions, figures, how_it_was_run
from attnlab.lab.paper_figure import page_words
from attnlab.lab.written import WrittenResult, in_words, strongest
from attnlab.pages.page import Section, write_page


def write_page_of_rows(experiment: TextExperiment, folder: Path) -> Path:
    """Write ``report.html`` into the experiment's results ``folder`` and say where it is."""
    results = strongest(folder, experiment.rows)
    if not results:
        raise UsageError(f"{folder} has no row's result to report on; run the experiment first.")
    words = page_words(experiment.name)
    lines = [_named(result, line, experiment.columns) for result in results for line in result.table(experiment.main)]
    # The answer is about all corpora, so it must not be read off some of them, or off a few updates.
    asked = set(experiment.answers_with or experiment.rows)
    whole = asked <= {result.row for result in results if result.preset != "quick"}
    sections = [
        *([Section("Answer", [words.answer])] if words.answer and whole else []),
        Section(
            "All corpora",
            ["Each corpus at the strongest preset that it was run at. Tables with every digit are beside this page."],
            table=_alike(lines),
        ),
        *_verdicts(results),
    ]
    for result in results:
        sections += [*_sections(result, experiment.shown, words.captions), *experiment.extras(result)]
    path = folder / PAGE
    write_page(path, experiment.title, f"{words.question} {experiment.lead}".strip(), sections)
    return path


def _verdicts(results: Sequence[WrittenResult]) -> list[Section]:
    """The verdict on every claim of the experiment: over all these corpora, on each, and part by part."""
    parts = {(finding.claim, result.row): finding.parts for result in results for finding in result.findings()}
    if not parts:
        return [Section("Verdicts", ["These results decide no claim."])]
    table = []
    for id in dict.fromkeys(id for id, _ in parts):
        on_each = {row: parts[id, row] for _, row in parts if (id, row) in parts}
        table.append(
            {
                "claim": id,
                "over all": _outcome(id, [part for of_row in on_each.values() for part in of_row]),
                **{result.row: _outcome(id, on_each.get(result.row, ())) for result in results},
            }
        )
    every = decisions(results, "corpus")
    rule = "A claim is as the paper says if it is so on each corpus, weakly if on one only in its direction."
    return [
        Section("Verdicts", [rule, *_beside(parts)], table=table),
        Section("Every part of every verdict", table=every, folded=f"{len(every)} parts with their numbers"),
    ]


def _outcome(id: str, parts: Sequence[Part]) -> str:
    """How some parts of a claim come out; "" where there are none."""
    known = claim(id)
    outcome, weakly = outcome_of(known.stance, parts)
    said = OF_OURS.get(outcome, outcome) if known.by == "ours" else outcome
    return "" if not parts else f"weakly {said}" if weakly else said


def _beside(claims: Iterable[tuple[str, str]]) -> list[str]:
    """What stands beside the outcomes: reasons, and rules that were changed."""
    known = [claim(id) for id in dict.fromkeys(id for id, _ in claims)]
    said = [f"{one.id}: {one.reason}" for one in known if one.reason]
    return said + [f"{one.id}: {words}" for one in known for words in told_earlier(one)]


def _sections(result: WrittenResult, tables: Sequence[str], captions: Mapping[str, str]) -> list[Section]:
    """One corpus: what came out, its figures, its tables, what to know about how it was run."""
    read = ((name, result.table(name)) for name in tables)
    return [
        Section(result.name, [result.document["summary"]]),
        *figures(result, captions),
        *(Section(f"{result.name}: {in_words(name)}", table=table) for name, table in read if table),
        how_it_was_run(result),
    ]


def _named(result: WrittenResult, line: Mapping[str, str], columns: Mapping[str, str]) -> dict[str, str]:
    """A line of the main table with its corpus and preset in front."""
    chosen = columns or {name: name for name in line if name != "corpus"}
    shown = {heading: line[name] for name, heading in chosen.items() if name in line}
    return {"corpus": result.row, "preset": result.preset, **shown}


def _alike(lines: Sequence[Mapping[str, str]]) -> list[dict[str, str]]:
    """Lines with the same columns: those that any has, empty where a line lacks one."""
    columns = list(dict.fromkeys(column for line in lines for column in line))
    return [{column: line.get(column, "") for column in columns} for line in lines]

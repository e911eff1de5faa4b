"""The page of an experiment's result: what was asked, what came out, how each claim was decided, all figures."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from attnlab.errors import UsageError
from attnlab.lab.claims import Finding, Part, departing, load_claims
from attnlab.lab.claims.words import stands, told_earlier
from attnlab.lab.experiment import Experiment
from attnlab.lab.paper_figure import page_words
from attnlab.lab.written import WrittenResult, chart_title, in_words, strongest
from attnlab.pages.page import Section, write_page

PAGE = "report.html"
LONGEST_TABLE = 40
"""Longer tables are named, not shown: they are for programs."""
IN_WORDS = {
    "holds": "It holds in these runs.",
    "fails": "It fails in these runs.",
    "undecided": "These runs do not decide it.",
}
"""What is said of a claim that no registry has: one of a user's own."""
MOST_PARTS = 8
"""Parts of verdicts that are shown; a table of more stands folded."""


def write_result_page(experiment: Experiment, folder: Path) -> Path:
    """Write ``report.html`` into the experiment's results ``folder`` from what is there, and say where it is."""
    results = strongest(folder)
    if not results:
        raise UsageError(f"{folder} has no result to report on; run the experiment first.")
    (result,) = results
    words = page_words(experiment.name)
    answer = words.answer_for(result)
    sections = [Section("Answer", [answer])] if answer else []
    sections += _claims(result)
    if words.figure is not None:
        sections.append(words.figure.section(result))
    numbers = Section("What came out, in numbers", paragraphs(result))
    first, *others = figures(result, words.captions) or [Section("Figures", ["This result has none."])]
    sections += [first, *experiment.extras(result), *others]
    sections += [numbers, *_parts(result), *_tables(result), how_it_was_run(result)]
    path = folder / PAGE
    lead = f"{words.question} Source: {experiment.source}. Run {result.name}{_left_out(result)}."
    write_page(path, experiment.title, lead.strip(), sections)
    return path


def decisions(results: Sequence[WrittenResult], column: str) -> list[dict[str, str]]:
    """Each part of each claim of ``results``, which are named in ``column``."""
    return [
        {
            "claim": finding.claim,
            **({column: result.name} if column else {}),
            "part": part.name,
            **answers(part),
            "effect": "" if part.effect is None else f"{part.effect:.3g}",
            "95 % interval": "" if part.interval is None else f"{part.interval[0]:.3g} to {part.interval[1]:.3g}",
            "over": f"{part.over} of one run" if part.one_run else part.over,
            "numbers": part.detail,
        }
        for result in results
        for finding in result.findings()
        for part in finding.parts
    ]


def answers(part: Part) -> dict[str, str]:
    """A part's answers: in the text's own words, and with our margin where there is one."""
    return {"direction": part.directed, "with our margin": part.verdict if part.direction else ""}


def figures(result: WrittenResult, captions: Mapping[str, str]) -> list[Section]:
    """A section for each figure, headed by what it shows; a row's by its name before that."""
    before = f"{result.name}: " if result.row else ""
    return [
        Section(
            before + chart_title(chart, name).removeprefix(f"{result.row}: "),
            chart=chart,
            caption=captions.get(name, ""),
        )
        for name, chart in result.charts()
    ]


def how_it_was_run(result: WrittenResult) -> Section:
    """What a reader should know about it, the command that repeats it, and its seeds."""
    document = result.document
    seeds = "; ".join(f"{role} {', '.join(map(str, values))}" for role, values in document["seeds"].items())
    rules = decided_by(document)
    if again := document.get("decided_again"):
        rules = f"{rules} {again['why']}".strip()
    ran = f"{document['command']}; seeds: {seeds or 'none'}; {document['training_seconds']:.0f} seconds of training."
    if recalled := document.get("recalled_runs"):
        sources = ", ".join(f"{len(runs)} of {source}" for source, runs in recalled.items())
        ran += f" Not trained anew, but taken as another result has measured them: {sources}."
    heading = f"{result.name}: how it was run" if result.row else "How it was run"
    return Section(heading, [*document["notes"], ran, *([rules] if rules else [])])


def decided_by(document: Mapping[str, Any]) -> str:
    """Which rules decided its claims: their hashes or, in a result of before there were any, the commit they are of."""
    if moved := document.get("moved"):
        return (
            f"Rules of commit {document['rules_commit'][:12]}; {moved['why']} Hashes since: {_hashes(moved['rules'])}."
        )
    return f"Rules by hash of words and code: {_hashes(document['rules'])}." if document.get("rules") else ""


def _hashes(rules: Mapping[str, Mapping[str, str]]) -> str:
    return "; ".join(f"{claim} {' '.join(digits.values())}" for claim, digits in rules.items())


def paragraphs(result: WrittenResult) -> list[str]:
    """The summary, with a paragraph for each setting that it speaks of, as ``setting: ...``."""
    summary: str = result.document["summary"]
    for name in result.document["seeds"]:
        summary = summary.replace(f". {name}: ", f".\n{name}: ")
    return summary.split("\n")


def _left_out(result: WrittenResult) -> str:
    """What its preset left out of the paper's settings, in brackets."""
    told = departing(result.document["experiment"], result.preset, result.row)
    return f" ({told})" if told else ""


def _claims(result: WrittenResult) -> list[Section]:
    """What is claimed, by whom, and how it stands."""
    sentences = [_in_a_sentence(finding) for finding in result.findings()]
    return [Section("What is claimed, and how it stands", sentences)] if sentences else []


def _parts(result: WrittenResult) -> list[Section]:
    """Each part of each verdict with its numbers."""
    table = decisions([result], "")
    folded = f"{len(table)} parts with their numbers" if len(table) > MOST_PARTS else ""
    return [Section("How each claim was decided", table=table, folded=folded)] if table else []


def _in_a_sentence(finding: Finding) -> str:
    claims = {claim.id: claim for claim in load_claims()}
    if (claim := claims.get(finding.claim)) is None:  # of an experiment that is not part of attnlab
        return f"{finding.claim}: {IN_WORDS[finding.verdict]}"
    statement = claim.statement.rstrip(".")
    rejected = " The paper rejects it." if claim.stance == "rejects" else ""
    said = [f"{statement[0].upper()}{statement[1:]} ({claim.source}).{rejected}", stands(claim, finding.parts)]
    said += [f"Authors: {claim.authors}"] if claim.authors else []
    said += [f"Why: {claim.reason}"] if claim.reason else []
    return " ".join([*said, *told_earlier(claim)])


def _tables(result: WrittenResult) -> list[Section]:
    """Short tables, and where the others are."""
    read = {name: result.table(name) for name in result.document["tables"]}
    short = {name: table for name, table in read.items() if 0 < len(table) <= LONGEST_TABLE}
    sections = [Section(f"Table: {in_words(name)}", table=table) for name, table in short.items()]
    long = [name for name in read if name not in short]
    if long:
        places = ", ".join(f"{result.preset}/tables/{name}.csv" for name in long)
        sections.append(Section("More tables", [f"Every digit lies beside this page: {places}."]))
    return sections

"""The page of an experiment's result: question, answer and first figure, then claims, figures, how it was measured."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from attnlab.errors import UsageError
from attnlab.lab.claims import OUTCOMES, ClaimOutcome, Finding, Part, departing, differing, load_claims, outcome_of
from attnlab.lab.claims.decisions import REPORT
from attnlab.lab.claims.words import ONE_RUN, earlier_rules
from attnlab.lab.experiment import Experiment
from attnlab.lab.headings import headed
from attnlab.lab.page_words import PageWords, filled, page_words
from attnlab.lab.wording import MANY, duration, itemised, origin, seeds_in_words, source_called, with_corpus
from attnlab.lab.written import WrittenResult, chart_title, in_words, strongest
from attnlab.pages.page import Badge, Page, Section, Top

PAGE = REPORT
LONGEST_TABLE = 40
"""Longer tables are named, not shown: they are for programs."""
_OF_OURS: dict[ClaimOutcome, str] = {"as the paper says": "holds", "differs": "does not hold"}
"""What an outcome is called beside a statement of ours; "fails" after "they fail" would say two things at once."""
KINDS: dict[ClaimOutcome, str] = {"as the paper says": "good", "differs": "bad", "open": "open", "not run": "none"}
MARKS = {"good": "\u2713", "bad": "\u2260", "open": "?", "none": "\u2013"}
"""A sign for each kind of outcome, for those who do not see its colour."""


def result_page(experiment: Experiment, folder: Path) -> Page:
    """What the page of the results in the experiment's ``folder`` says, at the strongest preset that is there."""
    results = strongest(folder)
    if not results:
        raise UsageError(f"{folder} has no result to report on; run the experiment first.")
    (result,) = results
    words = page_words(experiment.name)
    drawn = figures(result, words)
    sections = [
        *claims_section(result.findings()),
        *experiment.extras(result),
        *papers(result, words),
        *drawn[1:],
        came_out(result),
        *_parts(result),
        *_tables(result),
        how_it_was_run(result),
    ]
    departs = departing(result.document["experiment"], result.preset, result.row)
    top = Top(
        words.answer_for(result),
        tally_badges(badge_of(one) for one in result.findings()),
        next(iter(drawn), None),
        origin(experiment.source, result.preset, departs),
    )
    return Page(experiment.title, words.question, sections, top)


# --- outcomes


def badge(outcome: ClaimOutcome, weakly: bool = False, *, ours: bool = False) -> Badge:
    """An outcome as a badge.

    >>> badge("as the paper says", True).text, badge("differs", ours=True).text
    ('✓ weakly as the paper says', '≠ does not hold')
    """
    said = _OF_OURS.get(outcome, outcome) if ours else outcome
    kind = KINDS[outcome]
    return Badge(f"{MARKS[kind]} {'weakly ' if weakly else ''}{said}", kind)


def badge_of(finding: Finding) -> Badge:
    """How a finding comes out by itself."""
    claims = {claim.id: claim for claim in load_claims()}
    if (claim := claims.get(finding.claim)) is None:  # of an experiment that is not part of attnlab
        outcomes: dict[str, ClaimOutcome] = {"holds": "as the paper says", "fails": "differs", "undecided": "open"}
        return badge(outcomes[finding.verdict], ours=True)
    return badge(*outcome_of(claim.stance, finding.parts), ours=claim.by == "ours")


def tally_badges(badges: Iterable[Badge]) -> list[Badge]:
    """How many there are of each, in the order of outcomes.

    >>> tally_badges([])[0].text
    '– decides no claim'
    """
    listed = list(badges) or [Badge(f"{MARKS['none']} decides no claim")]
    order = [KINDS[outcome] for outcome in OUTCOMES]
    distinct = sorted(dict.fromkeys(listed), key=lambda one: order.index(one.kind))
    if len(listed) == 1:
        return listed
    return [counted(one, listed.count(one)) for one in distinct]


def counted(badge: Badge, count: int) -> Badge:
    """So many of them, in one badge.

    >>> counted(Badge("\u2260 does not hold", "bad"), 2).text, counted(Badge("\u2260 differs", "bad"), 1).text
    ('\u2260 2 do not hold', '\u2260 1 differs')
    """
    sign, said = badge.text.split(" ", 1)
    several = {"differs": "differ", "holds": "hold", "weakly holds": "weakly hold", "does not hold": "do not hold"}
    return Badge(f"{sign} {count} {several.get(said, said) if count > 1 else said}", badge.kind)


def claims_section(findings: Sequence[Finding]) -> list[Section]:
    """What is claimed, by whom, and how it stands; what earlier rules gave is closed."""
    if not findings:
        return []
    known = {claim.id: claim for claim in load_claims()}
    before = [
        f"{known[one.claim].statement}: {said}"
        for one in findings
        if one.claim in known
        for said in earlier_rules(known[one.claim])
    ]
    said = [(badge_of(one), _in_a_sentence(one)) for one in findings]
    heading = "What is claimed, and how it stands"
    return [Section(heading, said=said, more=before, more_called="What was decided otherwise before, and why")]


def _in_a_sentence(finding: Finding) -> str:
    """The statement and whose it is, how its parts differ, and what is known beside them; the badge says the rest."""
    claims = {claim.id: claim for claim in load_claims()}
    if (claim := claims.get(finding.claim)) is None:
        return finding.claim
    statement = claim.statement.rstrip(".")
    rejects = claim.stance == "rejects" and "rejects it" not in statement
    rejected = " The paper rejects it." if rejects else ""
    apart = differing(finding.parts)
    said = [f"{statement[0].upper()}{statement[1:]} ({source_called(claim.source)}).{rejected}"]
    said += [f"{apart[0].upper()}{apart[1:]}."] if apart else []
    said += [ONE_RUN] if any(part.one_run for part in finding.parts) else []
    said += [f"Authors: {claim.authors}"] if claim.authors else []
    said += [f"Why: {claim.reason}"] if claim.reason else []
    return " ".join(said)


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


# --- figures, tables, how it was run


def figures(result: WrittenResult, words: PageWords) -> list[Section]:
    """A section for each figure, headed by what it shows, in the order of their captions; a row's by its name first."""
    before = f"{result.name}: " if result.row else ""
    order = [words.first, *words.captions]
    charts = sorted(result.charts(), key=lambda one: order.index(one[0]) if one[0] in order else len(order))
    return [
        Section(
            before + chart_title(chart, name).removeprefix(f"{result.row}: "),
            chart=chart,
            caption=words.captions.get(name, ""),
        )
        for name, chart in charts
    ]


def how_it_was_run(result: WrittenResult) -> Section:
    """What a reader should know about it, the command that repeats it, and its seeds."""
    document = result.document
    rules = decided_by(document)
    if again := document.get("decided_again"):
        rules = f"{rules} {again['why']}".strip()
    ran = f"Seeds: {seeds_in_words(document['seeds'])}. It took {duration(document['training_seconds'])}."
    if recalled := document.get("recalled_runs"):
        sources = ", ".join(f"{len(runs)} of {source}" for source, runs in recalled.items())
        ran += f" Not trained anew, but taken as another result has measured them: {sources}."
    if redrawn := document.get("redrawn"):
        ran += f" Figures drawn again from its tables: {redrawn['why']}"
    heading = f"{result.name}: how it was measured" if result.row else "How it was measured"
    said = [*(with_corpus(note, result.row) for note in document["notes"]), ran]
    hashes = [rules] if rules else []
    return Section(heading, said, command=document["command"], more=hashes, more_called="The rules, by their hashes")


def decided_by(document: Mapping[str, Any]) -> str:
    """Which rules decided its claims: their hashes or, in a result of before there were any, the commit they are of."""
    if moved := document.get("moved"):
        return (
            f"Rules of commit {document['rules_commit'][:12]}; {moved['why']} Hashes since: {_hashes(moved['rules'])}."
        )
    return f"Rules by hash of words and code: {_hashes(document['rules'])}." if document.get("rules") else ""


def _hashes(rules: Mapping[str, Mapping[str, str]]) -> str:
    return "; ".join(f"{claim} {' '.join(digits.values())}" for claim, digits in rules.items())


def came_out(result: WrittenResult) -> Section:
    """The summary, a line for each setting or part that it speaks of; where there are many, closed."""
    items = itemised(result.document["summary"], [part for one in result.findings() for part in one.parts])
    if len(items) > MANY:
        return Section("What came out, in numbers", more=items, more_called=f"{len(items)} findings with their numbers")
    return Section("What came out, in numbers", items if len(items) < 3 else (), items=items if len(items) > 2 else ())


def papers(result: WrittenResult, words: PageWords) -> list[Section]:
    """What the papers show of it, in our words, and drawn from this result where it can be."""
    return [
        figure.section(result, lambda pattern: filled(pattern, result))
        for figure in words.paper
        if figure.row == result.row
    ]


def _parts(result: WrittenResult) -> list[Section]:
    """Each part of each verdict with its numbers."""
    table = decisions([result], "")
    folded = f"{len(table)} part{'s' if len(table) > 1 else ''} with their numbers"
    return [Section("How each claim was decided", table=table, folded=folded)] if table else []


def folded_table(name: str, table: Sequence[Mapping[str, str]], before: str = "") -> Section:
    """A table under headings in words, closed."""
    lines = f"{len(table)} row{'s' if len(table) > 1 else ''}"
    return Section("", table=headed(table), folded=f"Table: {before}{in_words(name)} ({lines})")


def _tables(result: WrittenResult) -> list[Section]:
    """Short tables, and where the others are."""
    read = {name: result.table(name) for name in result.document["tables"]}
    short = {name: table for name, table in read.items() if 0 < len(table) <= LONGEST_TABLE}
    sections = [folded_table(name, table) for name, table in short.items()]
    long = [name for name in read if name not in short]
    if long:
        places = ", ".join(f"{result.preset}/tables/{name}.csv" for name in long)
        sections.append(Section("", [f"Every digit of longer tables is in the result's folder: {places}."]))
    return [Section("Tables"), *sections] if sections else []

"""A site of all results: every claim with its outcome, a page for each experiment, a glossary. Opens from disk."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

import vl_convert

from attnlab.errors import UsageError
from attnlab.files import check_outputs, explained, write_atomically
from attnlab.lab.claims import OUTCOMES, PRESETS, Decision, decide
from attnlab.lab.claims.words import TITLES, effect_in_words, in_a_sentence, preset_in_words, tally
from attnlab.lab.page import KINDS, MARKS, badge, counted
from attnlab.lab.registry import EXPERIMENTS
from attnlab.lab.wording import source_called
from attnlab.pages.charts import VEGA_LITE
from attnlab.pages.claims import ClaimRow, claims_component, dot_plot
from attnlab.pages.fit import prepare
from attnlab.pages.glossary import GLOSSARY
from attnlab.pages.page import Badge, Link, Page, Section, Top, write_assets

INDEX, WORDS, ASSETS, THUMBNAILS, SOURCE = "index.html", "glossary.html", "assets", "thumbnails", "source"
GREY, PALE = "#7d8590", "#7d859055"
"""Ink of a small picture, to be seen on light and dark."""


@dataclass(frozen=True)
class Built:
    """A site: its first page, how many pages there are, and folders of results that are no experiment of ours."""

    index: Path
    pages: int
    left_out: tuple[str, ...]


def build_site(results: Path, out: Path, *, docs: str = "") -> Built:
    """Write the site of the ``results`` into the folder ``out``. ``docs``: where the documentation is, seen from it."""
    if not results.is_dir():
        raise UsageError(f"{results} is no folder of results; name one with --results.")
    check_outputs([out / INDEX])
    if out.is_dir() and any(out.iterdir()) and not (out / ASSETS / "page.js").is_file():
        raise UsageError(f"{out} holds something else than a site; name a new folder as --out.")
    decisions = decide(results)
    names = [name for name in EXPERIMENTS if _has_result(results / name)]
    left_out = [path.name for path in sorted(results.iterdir()) if path.is_dir() and path.name not in EXPERIMENTS]
    with explained(out):
        for folder in ("", ASSETS, THUMBNAILS, SOURCE):
            (out / folder).mkdir(parents=True, exist_ok=True)
    write_assets(out / ASSETS)
    for k, name in enumerate(names):
        around = (names[k - 1] if k else None, names[k + 1] if k + 1 < len(names) else None)
        _experiment(name, results, out, around, docs)
    _glossary().write(out / WORDS, links=[Link("All claims", INDEX)], assets=ASSETS)
    _index(decisions, names).write(out / INDEX, links=[Link("Glossary", WORDS), *_docs(docs)], assets=ASSETS)
    return Built(out / INDEX, 2 + 2 * len(names), tuple(left_out))


def _has_result(folder: Path) -> bool:
    places = [folder.glob(f"{preset}/result.json") for preset in PRESETS]
    places += [folder.glob(f"{preset}/[!.]*/result.json") for preset in PRESETS]
    return any(path.is_file() for place in places for path in place)


def _docs(docs: str, name: str = "") -> list[Link]:
    if not docs:
        return []
    return [Link("Documentation", f"{docs}/experiments/{name}.html" if name else f"{docs}/index.html")]


# --- pages of experiments


def _experiment(name: str, results: Path, out: Path, around: tuple[str | None, str | None], docs: str) -> None:
    page = EXPERIMENTS[name].page(results / name)
    before, after = around
    links = [
        Link("All claims", INDEX),
        *([Link(f"\u2190 {before}", f"{before}.html")] if before else []),
        *([Link(f"{after} \u2192", f"{after}.html")] if after else []),
        Link("Code", f"{SOURCE}/{name}.html"),
        *_docs(docs, name),
        Link("Glossary", WORDS),
    ]
    page.write(out / f"{name}.html", links=links, assets=ASSETS)
    if page.top.figure is not None and page.top.figure.chart is not None:
        write_atomically(out / THUMBNAILS / f"{name}.png", thumbnail(page.top.figure))
    _source(name).write(
        out / SOURCE / f"{name}.html",
        links=[Link("All claims", f"../{INDEX}"), Link("Its result", f"../{name}.html")],
        assets=f"../{ASSETS}",
    )


def thumbnail(figure: Section) -> bytes:
    """A figure as a small picture without a background."""
    assert figure.chart is not None
    text = json.dumps(prepare(figure.chart).chart).replace("currentColor", GREY).replace("var(--line)", PALE)
    drawn = vl_convert.vegalite_to_svg(text, vl_version=VEGA_LITE)
    width = float(drawn.split('width="', 1)[1].split('"', 1)[0])
    made: bytes = vl_convert.svg_to_png(drawn, scale=min(1.0, 400 / width))
    return made


def _source(name: str) -> Page:
    """How an experiment is described and written."""
    folder = resources.files("attnlab.experiments").joinpath(name.replace("-", "_"))
    sections = [
        Section(title, code=file.read_text(encoding="utf-8"))
        for title, file_name in (
            ("What it is", "README.md"),
            ("Its code", "experiment.py"),
            ("Its rules", "claims.toml"),
        )
        if (file := folder.joinpath(file_name)).is_file()
    ]
    lead = f"The folder src/attnlab/experiments/{name.replace('-', '_')}."
    return Page(f"How {name} is written", lead, sections, Top())


# --- the first page and the glossary


def _index(decisions: Sequence[Decision], names: Sequence[str]) -> Page:
    rows = [_row(decision, names) for decision in decisions]
    lines = [
        {
            "paper": line["paper"],
            "title": TITLES[str(line["paper"])],
            "claims": line["claims"],
            "parts": [
                counted(badge(outcome, ours=line["paper"] == "ours"), int(line[outcome]))
                for outcome in OUTCOMES
                if line[outcome]
            ],
        }
        for line in tally(decisions)
    ]
    run = sum(decision.outcome != "not run" for decision in decisions)
    lead = f"{len(decisions)} claims of five texts on how attention learns, and of our own; {run} were put to the test."
    pages = Section("Experiments", links=[Link(EXPERIMENTS[name].title, f"{name}.html") for name in names])
    every = Section("Every claim", component=claims_component(rows, lines))
    return Page("What holds of how attention learns?", lead, [every, pages], Top(in_a_sentence(decisions)))


def _row(decision: Decision, names: Sequence[str]) -> ClaimRow:
    claim, deciding = decision.claim, decision.deciding
    statement = claim.statement.rstrip(".")
    with_page = [name for name in claim.experiments if name in names]
    return ClaimRow(
        id=claim.id,
        statement=f"{statement[0].upper()}{statement[1:]}.",
        source=source_called(claim.source),
        paper=claim.paper,
        outcome=decision.outcome,
        badge=badge(decision.outcome, decision.weakly, ours=claim.by == "ours"),
        effect=effect_in_words(decision.effect, decision.interval, decision.unit),
        drawing=dot_plot(decision.effect, decision.interval),
        over=f"({deciding.name}; over {deciding.over})" if deciding and decision.effect is not None else "",
        pages=[(name, f"{name}.html" if name in names else "") for name in claim.experiments],
        preset=preset_in_words(decision),
        thumbnail=f"{THUMBNAILS}/{with_page[0]}.png" if with_page else "",
    )


def _glossary() -> Page:
    signs = [(Badge(f"{MARKS[KINDS[one]]} {one}", KINDS[one]), _OUTCOMES[one]) for one in OUTCOMES]
    words = [{"word": word, "what it is": meaning} for word, meaning in GLOSSARY.items()]
    lead = "Words of the papers that the pages use. On a page, point at one, or move to it with the keyboard."
    return Page("Glossary", lead, [Section("Words", table=words), Section("Outcomes", said=signs)], Top())


_OUTCOMES = {
    "as the paper says": "The direction that the text names is there; weakly: but not with our margin.",
    "differs": "The opposite of what the text says is there.",
    "open": "What was run does not decide it.",
    "not run": "Nothing has been run for it yet.",
}

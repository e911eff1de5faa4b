"""One page for each experiment, made from the README.md in its folder when the documentation is built.

The tables of claims and settings come from the code and the committed results, so they are never out of date. Links are
written so that they work where the files are; here they are turned into links between pages.
"""

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from figures import NARROW, WIDE, drawn, picture
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from attnlab.lab.claims import PRESETS, Decision, decide
from attnlab.lab.claims.words import effect_in_words, in_a_sentence, preset_in_words
from attnlab.lab.experiment import Experiment
from attnlab.lab.registry import EXPERIMENTS

ROOT = Path(__file__).parents[2]
FOLDERS = ROOT / "src" / "attnlab" / "experiments"
FIGURE = re.compile(r"!\[([^]]*)\]\((?:\.\./)+(results/[\w./-]+\.svg)\)")
PICTURE = re.compile(r"!\[([^]]*)\]\((pictures/\w+)\.svg\)")
README = re.compile(r"\((?:\.\./)+(?:src/attnlab/experiments/)?(\w+)/README\.md")
PAGE = re.compile(r"\((?:\.\./)+docs/")
CLAIMS, SETTINGS, DIFFERS = "<!-- claims -->", "<!-- settings -->", "<!-- differs -->"


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Fill the section Experiments of the navigation, in the order of the registry."""
    pages = [{name: f"experiments/{name}.md"} for name in EXPERIMENTS]
    config.nav = [{"Experiments": pages} if entry == "Experiments" else entry for entry in config.nav or []]
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages and the figures that any page shows."""
    for name in EXPERIMENTS:
        page = f"experiments/{name}.md"
        if old := files.get_file_from_path(page):
            files.remove(old)
        files.append(File.generated(config, page, content=written(name)))
    texts = [file.content_string for file in files.documentation_pages()]
    for figure in sorted({figure for text in texts for _, figure in FIGURE.findall(text)}):
        for width, place in ((WIDE, _place(figure)), (NARROW, _narrow(_place(figure)))):
            files.append(File.generated(config, place, content=drawn(ROOT / figure, width)))
    return files


def on_page_markdown(markdown: str, page: Page, **_: Any) -> str:
    """Fill in the tables and turn links between files into links between pages."""
    up = "../" * page.file.src_uri.count("/")
    name = Path(page.file.src_uri).stem
    if page.file.src_uri.startswith("experiments/") and (ROOT / "results" / name).is_dir():
        markdown += (
            f'\nThe <a href="{up}results/{name}.html">page of its result</a> has figures to point at, and tables.\n'
        )
    if CLAIMS in markdown:
        name = Path(page.file.src_uri).stem if up else ""
        own = [one for one in decisions() if name in one.claim.experiments]
        markdown = markdown.replace(CLAIMS, claims_table(own) if name else all_claims())
    if DIFFERS in markdown:
        markdown = markdown.replace(DIFFERS, differs_table())
    if SETTINGS in markdown:
        markdown = markdown.replace(SETTINGS, settings_table(EXPERIMENTS[Path(page.file.src_uri).stem]))
    markdown = FIGURE.sub(lambda match: _shown(up + _place(match[2]), match[1]), markdown)
    markdown = PICTURE.sub(lambda match: _shown(f"{up}{match[2]}.svg", match[1], moving=True), markdown)
    markdown = README.sub(lambda match: f"({up}experiments/{match[1].replace('_', '-')}.md", markdown)
    return PAGE.sub(f"({up}", markdown)


def written(name: str) -> str:
    """The page of an experiment as it is written, or a note that it is not."""
    path = FOLDERS / name.replace("-", "_") / "README.md"
    return path.read_text(encoding="utf-8") if path.is_file() else f"# {name}\n\n{name} has no README.md yet.\n"


@cache
def decisions() -> list[Decision]:
    """Every claim with its verdict after the committed results."""
    return decide(ROOT / "results")


def _place(figure: str) -> str:
    """Where a figure of the results is in the documentation."""
    return "figures/" + figure.removeprefix("results/").replace("/", "-")


def _narrow(place: str) -> str:
    return place.removesuffix(".svg") + "-narrow.svg"


def _shown(place: str, words: str, *, moving: bool = False) -> str:
    """A figure in the two widths that there are of it; one that moves has its own colours for the dark."""
    shown = picture(place, _narrow(place), words)
    return shown.replace(' class="figure"', ' class="moving"') if moving else shown


def claims_table(decisions: list[Decision]) -> str:
    """What is claimed, by whom, and what came out."""
    rows = [("claim", "source", "outcome", "effect [95 % interval]", "preset")]
    for one in decisions:
        effect = effect_in_words(one.effect, one.interval, one.unit)
        statement = f"**{one.id}**: {one.claim.statement}"
        rows.append((statement, one.claim.source, one.words, effect, preset_in_words(one)))
    return _table(rows) if decisions else "It decides no claim of the papers."


def all_claims() -> str:
    """Every claim on its own line, and how many there are of each outcome."""
    rows, built = [("claim", "outcome", "experiment")], set(EXPERIMENTS)
    for one in decisions():
        links = [f"[{name}](experiments/{name}.md)" if name in built else name for name in one.claim.experiments]
        rows.append((f"**{one.id}**: {one.claim.statement}", one.words, ", ".join(links)))
    return f"{len(decisions())} claims. {in_a_sentence(decisions())}\n\n{_table(rows)}"


def differs_table() -> str:
    """Every claim of a paper that did not come out as it says, with all that a critical reader asks for."""
    rows = [("claim", "outcome", "rule in the text's words", "ours", "authors", "why")]
    for one in decisions():
        claim = one.claim
        if claim.by != "ours" and (one.weakly or one.outcome in ("differs", "open")):
            part = f", {one.deciding.name}" if one.deciding else ""
            ours = effect_in_words(one.effect, one.interval, one.unit) + part
            said = f"**{one.id}**: {claim.statement} ({claim.source})"
            rows.append(
                (said, one.words, claim.direction, ours, claim.authors or "none", claim.reason or "unexplained")
            )
    return _table([tuple(" ".join(cell.split()) for cell in row) for row in rows])


def settings_table(experiment: Experiment) -> str:
    """Its settings: how many seeds each preset runs, and for how many updates."""
    rows: list[tuple[Any, ...]] = [("setting", *(f"{preset}: seeds, updates" for preset in PRESETS))]
    settings = {preset: {one.name: one for one in experiment.settings_at(preset)} for preset in PRESETS}
    names = dict.fromkeys(name for named in settings.values() for name in named)
    rows += [(name, *(_cell(settings[preset].get(name), preset) for preset in PRESETS)) for name in names]
    return _table(rows)


def _cell(setting: Any, preset: Any) -> str:
    if setting is None:
        return ""
    seeds = setting.seeds.get(preset, 0)
    count = seeds if isinstance(seeds, int) else len(seeds)
    return f"{count}, {setting.schedule_at(preset).steps}" if count else "none"


def _table(rows: list[tuple[Any, ...]]) -> str:
    return "\n".join(_lines(rows))


def _lines(rows: list[tuple[Any, ...]]) -> Iterator[str]:
    for number, row in enumerate(rows):
        yield "| " + " | ".join(str(cell).replace("|", r"\|") for cell in row) + " |"
        if number == 0:
            yield "|" + "---|" * len(row)

"""One page for each experiment, made from the README.md in its folder when the documentation is built.

The tables of its claims and settings come from the code and the committed results, so they are never out of date.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

from attnlab.lab.claims import PRESETS, Decision, decide
from attnlab.lab.experiment import Experiment
from attnlab.lab.registry import EXPERIMENTS

ROOT = Path(__file__).parents[2]
FOLDERS = ROOT / "src" / "attnlab" / "experiments"
FIGURE = re.compile(r"\((?:\.\./)+(results/[\w./-]+\.svg)\)")


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Fill the section Experiments of the navigation, in the order of the registry."""
    pages = [{name: f"experiments/{name}.md"} for name in EXPERIMENTS]
    config.nav = [{"Experiments": pages} if entry == "Experiments" else entry for entry in config.nav or []]
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages and the figures they show."""
    decisions = decide(ROOT / "results")
    for name, experiment in EXPERIMENTS.items():
        text = (FOLDERS / name.replace("-", "_") / "README.md").read_text(encoding="utf-8")
        for figure in FIGURE.findall(text):
            files.append(File.generated(config, _place(figure), abs_src_path=str(ROOT / figure)))
        text = FIGURE.sub(lambda match: f"(../{_place(match[1])})", text)
        text = text.replace("<!-- claims -->", claims_table([d for d in decisions if name in d.experiment.split(", ")]))
        text = text.replace("<!-- settings -->", settings_table(experiment))
        files.append(File.generated(config, f"experiments/{name}.md", content=text))
    return files


def _place(figure: str) -> str:
    """Where a figure of the results is in the documentation."""
    return "figures/" + figure.removeprefix("results/").replace("/", "-")


def claims_table(decisions: list[Decision]) -> str:
    """What is claimed, by whom, and what came out."""
    rows = [("claim", "source", "verdict", "effect", "95 % interval")]
    for one in decisions:
        interval = f"{one.interval[0]:.3g} to {one.interval[1]:.3g}" if one.interval else ""
        effect = "" if one.effect is None else f"{one.effect:.3g}"
        rows.append((f"**{one.id}**: {one.statement}", one.source, one.verdict, effect, interval))
    return _table(rows) if decisions else "It decides no claim of the papers."


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

"""One API page for each public module, made when the documentation is built, so that none is ever missing."""

from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

SOURCE = Path(__file__).parents[2] / "src"


def modules() -> list[str]:
    """Dotted names of all modules and packages without a leading underscore, parents first."""
    names = []
    for path in SOURCE.rglob("*.py"):
        parts = path.relative_to(SOURCE).with_suffix("").parts
        if parts[-1] == "__init__":
            parts = parts[:-1]
        if not any(part.startswith("_") for part in parts):
            names.append(".".join(parts))
    return sorted(names)


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Append the pages to the navigation, a section for each package."""
    sections: dict[str, list[dict[str, str]]] = {}
    for name in modules():
        package = ".".join(name.split(".")[:2])
        sections.setdefault(package, []).append({name.removeprefix("attnlab."): f"api/{name}.md"})
    pages = [pages[0] if len(pages) == 1 else {package: pages} for package, pages in sections.items()]
    config.nav = [*(config.nav or []), {"API": pages}]
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages themselves."""
    for name in modules():
        files.append(File.generated(config, f"api/{name}.md", content=f"# `{name}`\n\n::: {name}\n"))
    return files

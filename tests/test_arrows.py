"""Who may import whom: library <- families <- runs <- lab <- experiments <- cli."""

import ast
import textwrap
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src"
LIBRARY = """
    errors seeds files records own fields stats data models probes measures theory pages protocols cluster
""".split()  # noqa: SIM905 (shorter)
LAYERS = [LIBRARY, ["families"], ["runs", "specs"], ["auditing"], ["lab"], ["experiments"], ["cli"]]
FACADES = ("attnlab", "attnlab.__main__")
"""What fetches from everywhere; the command line alone may import it."""
TO_BE_MENDED: set[tuple[str, str]] = set()
"""Imports against the arrows that are known, as (module, what it imports); the list may only shrink."""


def name_of(path):
    parts = path.relative_to(SOURCE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {name_of(path): path for path in sorted(SOURCE.rglob("*.py"))}


def imports(source, module="", package=False):
    """All modules of ours that a text imports, also inside functions and for type checkers only."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                parts = module.split(".")
                base = ".".join([*parts[: len(parts) - node.level + package], *filter(None, [node.module])])
            inside = {f"{base}.{alias.name}" for alias in node.names}
            found |= {name if name in MODULES else base for name in inside}
    return {name for name in found if name.partition(".")[0] == "attnlab"}


def layer(module):
    """The number of a module's layer; facades are beside the command line."""
    if module in FACADES:
        return len(LAYERS) - 1
    room = module.split(".")[1]
    return next(number for number, rooms in enumerate(LAYERS) if room in rooms)


def against_the_arrows():
    for module, path in MODULES.items():
        for other in imports(path.read_text(encoding="utf-8"), module, path.name == "__init__.py"):
            if layer(other) > layer(module):
                yield module, other


@pytest.mark.parametrize("module", MODULES)
def test_every_module_is_in_a_layer(module):
    assert layer(module) is not None


def test_nothing_imports_against_the_arrows():
    broken = set(against_the_arrows())
    new = sorted(f"{module} imports {other}" for module, other in broken - TO_BE_MENDED)
    assert not new, "against the arrows: " + "; ".join(new)
    assert broken >= TO_BE_MENDED, f"mended, so take it off the list: {TO_BE_MENDED - broken}"


def test_the_loop_and_its_display_know_no_family():
    for module in ("attnlab.runs.loop", "attnlab.runs.progress", "attnlab.runs.engine", "attnlab.runs.spec"):
        known = {name for name in imports(MODULES[module].read_text(encoding="utf-8")) if ".families" in name}
        assert known <= {"attnlab.families.registry"}, f"{module} imports {known}"


def test_imports_are_seen_wherever_they_are():
    source = """
        if TYPE_CHECKING:
            from attnlab.runs.spec import RunSpec
        def f():
            import attnlab.lab.page
            from attnlab.families import registry
            from attnlab import __version__
            from ..cli import main
    """
    assert imports(textwrap.dedent(source), "attnlab.probes.texts") == {
        "attnlab.runs.spec",
        "attnlab.lab.page",
        "attnlab.families.registry",
        "attnlab",
        "attnlab.cli.main",
    }

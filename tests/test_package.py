"""The package's own files agree with each other and with the code."""

import ast
import re
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
CORE = [Requirement(line) for line in PROJECT["dependencies"]]
EXTRAS = [Requirement(line) for lines in PROJECT["optional-dependencies"].values() for line in lines]


def pins() -> dict[str, str]:
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pairs = [line.split("==") for line in lines if line and not line.startswith("#")]
    return {canonicalize_name(name): version for name, version in pairs}


def test_every_dependency_is_pinned_within_its_range() -> None:
    pinned = pins()
    for requirement in CORE + EXTRAS:
        assert requirement.specifier.contains(pinned[canonicalize_name(requirement.name)]), requirement


def test_pytorch_is_pinned_without_a_build() -> None:
    # A local tag such as +cpu would shut out every other system.
    assert re.fullmatch(r"[\d.]+", pins()["torch"])


def test_the_code_imports_only_core_dependencies() -> None:
    distributions = packages_distributions()
    declared = {canonicalize_name(requirement.name) for requirement in CORE}
    for path in (ROOT / "src").rglob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for name in imported(tree):
            if name not in sys.stdlib_module_names and name != "attnlab":
                core = {canonicalize_name(d) for d in distributions.get(name, [])} & declared
                assert core or (name == "ray" and name not in imported_at_once(tree)), f"{path}: {name}"


def imported_at_once(tree: ast.Module) -> set[str]:
    """What importing the file imports; the extra cluster's Ray is imported by a function, when it is used."""
    return imported(ast.Module([node for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom)], []))


def imported(tree: ast.AST) -> set[str]:
    """The top-level names of all modules that a file imports."""
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names.add(node.module.split(".")[0])
    return names


def test_versions_agree() -> None:
    citation = re.search(r"^version: (.*)$", (ROOT / "CITATION.cff").read_text(encoding="utf-8"), re.MULTILINE)
    newest = re.search(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert citation[1] == newest[1] == PROJECT["version"]

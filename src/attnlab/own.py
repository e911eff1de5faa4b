"""Code of the user's own, found by name: ``module:name``."""

import importlib
import sys
from collections.abc import Mapping, Sequence
from hashlib import sha256
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from attnlab.errors import UsageError


def find_own(name: str) -> Any:
    """What ``module:name`` names, imported."""
    module, _, attribute = name.partition(":")
    _source(name)
    try:
        imported = importlib.import_module(module)
    except (Exception, SystemExit) as error:
        reason = f"{type(error).__name__}: {error}"
        raise UsageError(f"The module {module!r} of {name!r} cannot be imported ({reason}).") from None
    if not hasattr(imported, attribute):
        raise UsageError(f"The module {module!r} has no {attribute!r}; {name!r} should name what it defines.")
    return getattr(imported, attribute)


def make_own(name: str, settings: Mapping[str, Any], what: str, parts: Sequence[str]) -> Any:
    """What the class or function ``module:name`` makes of ``settings``; it is a ``what``, which has all ``parts``."""
    maker = find_own(name)
    try:
        made = maker(**settings)
    except (Exception, SystemExit) as error:
        raise UsageError(f"{name} makes no {what} ({type(error).__name__}: {error}).") from None
    if missing := [part for part in parts if not hasattr(made, part)]:
        raise UsageError(f"{name} is no {what}: it has no {' and no '.join(missing)}.")
    return made


def own_content(name: str) -> str:
    """16 digits that stand for the text of the module that ``module:name`` is in."""
    return sha256(_source(name).read_bytes()).hexdigest()[:16]


def locate(module: str) -> ModuleSpec | None:
    """Where a module of the user's own is: where Python finds it, else in the current folder.

    Only then that folder is put on the path, and last: no file in it takes the place of a module that others import.
    """
    spec = find_spec(module)
    if spec is None and (here := str(Path.cwd())) not in sys.path:
        sys.path.append(here)
        spec = find_spec(module)
    return spec


def _source(name: str) -> Path:
    module, _, attribute = name.partition(":")
    if not module or not attribute.isidentifier():
        raise UsageError(f"{name!r} does not name code of your own; write module:name, such as my_tasks:Sorting.")
    try:
        spec = locate(module)
    except (Exception, SystemExit):  # also what a package raises when its module is looked for
        spec = None
    if spec is None or spec.origin is None or not Path(spec.origin).is_file():
        raise UsageError(f"There is no module {module!r} for {name!r}; it is in this folder, or where PYTHONPATH says.")
    return Path(spec.origin)

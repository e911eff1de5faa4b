"""Every command, found in the app itself, with what each of its words takes; and one way, or more, to use each rightly.

A command that is added to the app has to be added to `USES`, or a test fails; its options are found.
"""

import inspect
import json
import typing
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from random import Random
from types import UnionType
from typing import Any

import typer
from typer.models import ArgumentInfo

from attnlab.cli.main import app

Use = dict[str, str]
"""A parameter's name -> the word given for it; "" for a flag."""

USES: dict[str, list[Use]] = {
    "": [{"version": ""}],
    "forecast": [
        {"file": "texts.csv", "out": "made"},
        {"file": "texts.jsonl", "as_json": ""},
        {"source": "source.txt", "target": "target.txt", "as_json": ""},
    ],
    "align": [
        {"source": "source.txt", "target": "target.txt", "gold": "gold.txt", "out": "made.txt", "as_json": ""},
        {"file": "joined.txt", "table_out": "made.parquet"},
        {"file": "joined.txt", "table": "table.parquet", "gold": "gold.txt", "as_json": ""},
    ],
    "demo": [{"out": "made.html", "store": "runs", "jobs": "1"}],
    "experiments": [{"as_json": ""}, {}],
    "run": [{"name": "copying", "seeds": "1", "store": "runs", "out": "made", "jobs": "1"}],
    "report": [
        {"names": "gated-toy", "results": "results"},
        {"names": "copying", "results": "results"},
        {"names": "saliency", "results": "results"},
    ],
    "watch": [{"name": "copying", "results": "results", "store": "runs", "jobs": "1"}],
    "site": [{"results": "results", "out": "pages"}],
    "claims": [
        {"results": "results", "as_json": ""},
        {"results": "results"},
        {"results": "results", "check": "", "experiment": "gated-toy"},
    ],
    "data": [{"data": "data", "as_json": ""}, {"data": "data"}],
    "data show": [
        {"corpus": "texts.csv", "as_json": ""},
        {"corpus": "texts.jsonl"},
        {"corpus": "source.txt", "target": "target.txt", "pieces": "40", "as_json": ""},
    ],
    "train": [
        {"file": "texts.csv", "steps": "5", "store": "runs"},
        {"file": "texts.jsonl", "steps": "5", "as_json": ""},
        {"file": "source.txt", "target": "target.txt", "pieces": "40", "steps": "5", "store": "runs"},
    ],
    "explain": [
        {"store": "explained", "run": "EXPLAINED", "sentence": "a fine day", "as_json": ""},
        {"store": "explained", "run": "EXPLAINED", "sentence": "a dull house", "out": "made.html"},
    ],
    "translate": [
        {"store": "explained", "run": "TRANSLATED", "file": "source.txt", "beam": "1", "as_json": ""},
        {"store": "explained", "run": "TRANSLATED", "file": "source.txt", "beam": "1", "svg": "made.svg"},
    ],
    "audit": [
        {"file": "texts.csv", "out": "made", "store": "runs", "jobs": "1"},
        {"file": "texts.jsonl", "out": "made", "jobs": "1", "as_json": ""},
        {"source": "source.txt", "target": "target.txt", "out": "made", "jobs": "1", "store": "runs"},
    ],
    "samples": [
        {"file": "texts.csv", "size": "8", "repeats": "2", "out": "made"},
        {"file": "texts.jsonl", "as_json": ""},
    ],
    "store list": [{"store": "runs", "as_json": ""}, {"store": "runs"}],
    "store show": [{"run_id": "RUN", "store": "runs"}, {"run_id": "RUN", "store": "runs", "as_json": ""}],
    "store verify": [{"store": "runs"}, {"store": "runs", "as_json": ""}, {"store": "runs", "bind": ""}],
    "store remove": [{"run_id": "RUN", "store": "runs", "yes": ""}],
}
"""By command: words that are right, on the files of the template. RUN, EXPLAINED and TRANSLATED stand for ids of
runs, which the template has in ``ids.json``."""
TRAIN = {"demo", "run", "watch", "train", "audit", "samples"}
"""Those that would train for minutes: they are interrupted, as by Ctrl-C, as soon as they begin to."""
OUTPUTS = {"out", "table_out", "svg"}


@dataclass(frozen=True)
class Parameter:
    """One of a command's words: its name, as it is typed ("" for an argument), and what it takes."""

    name: str
    typed: str
    kind: type


@cache
def commands() -> dict[str, tuple[Parameter, ...]]:
    """The parameters of each command of the app, and of the app itself under ""."""
    return {" ".join(path): tuple(_parameters(function)) for path, function in _walk(app)}


def right_use(command: str, random: Random, folder: Path) -> Use:
    """One of a command's uses, with the template's ids."""
    ids = json.loads((folder / "ids.json").read_bytes())
    use = random.choice(USES[command])
    return {name: random.choice(ids[word]) if word in ids else word for name, word in use.items()}


def words(command: str, use: Use, more: list[str] | None = None) -> list[str]:
    """What is typed: the command, its options, its arguments."""
    known = {parameter.name: parameter for parameter in commands()[command]}
    given = [(known[name], value) for name, value in use.items()]
    options = [[one.typed] if one.kind is bool else [one.typed, value] for one, value in given if one.typed]
    arguments = [value for one, value in given if not one.typed]
    return [*command.split(), *(word for words in options for word in words), *(more or []), *arguments]


def _walk(app: typer.Typer, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    if app.registered_callback:
        yield path, app.registered_callback.callback
    for command in app.registered_commands:
        yield (*path, command.name or command.callback.__name__), command.callback
    for group in app.registered_groups:
        yield from _walk(group.typer_instance, (*path, group.name))


def _parameters(function: Any) -> Iterator[Parameter]:
    hints = typing.get_type_hints(function, include_extras=True)
    for name in inspect.signature(function).parameters:
        annotation, *more = typing.get_args(hints[name]) or [hints[name]]
        if annotation is typer.Context:
            continue
        (info,) = more
        declared = [word for word in (info.default, *(info.param_decls or ())) if str(word).startswith("--")]
        typed = declared[0].split("/")[0] if declared else f"--{name.replace('_', '-')}"
        yield Parameter(name, "" if isinstance(info, ArgumentInfo) else typed, _plain(annotation))


def _plain(annotation: Any) -> type:
    """``list[Path] | None`` -> ``Path``."""
    if isinstance(annotation, UnionType):
        annotation = next(part for part in typing.get_args(annotation) if part is not type(None))
    if typing.get_origin(annotation) is list:
        (annotation,) = typing.get_args(annotation)
    if annotation not in (str, int, float, bool, Path):
        raise TypeError(f"The campaign has no hostile values for {annotation}; add them to tests/campaign/values.py.")
    return annotation

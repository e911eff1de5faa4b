"""Result folders ``results/<experiment>/<preset>/[<row>/]``: result.json, tables as CSV, figures."""

import csv
import io
import json
import shutil
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from inspect import getsource
from pathlib import Path
from textwrap import dedent
from types import CodeType, FunctionType
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from attnlab.errors import UsageError
from attnlab.files import BLANK_SEAL, explained, read_inside, recover_folder, replace_folder, seal
from attnlab.lab.claims import LARGEST, Finding, Preset, first_mistake, load_claims, read_whole
from attnlab.lab.experiment import Experiment, Order, Result, Table
from attnlab.pages import charts
from attnlab.runs.environment import environment

RULES = "attnlab.lab.rules"
REPLAYS = "replays"
WRITING, LEFT_OVER = ".writing-", 3600
"""How the folder is called in which a result is being written, and after how many seconds it is a killed process's."""
FileName = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9 ._-]*$")]
"""The name of a table or figure: it cannot leave its folder."""


def write_result(
    result: Result,
    folder: Path,
    *,
    experiment: Experiment,
    order: Order,
    command: str,
    seconds: float,
    training_seconds: float,
    inexact_runs: Sequence[str] = (),
    recalled_runs: Mapping[str, Sequence[str]] | None = None,
) -> Path:
    """Write ``result`` as ``folder``, in one move: a folder is there whole or as it was before.

    ``inexact_runs``: ids of runs that went on in another environment than they began in. ``recalled_runs``: by the
    result that has measured them, ids of runs that were not trained for this one.
    """
    with explained(folder):
        folder.parent.mkdir(parents=True, exist_ok=True)
        recover_folder(folder)
        for left in folder.parent.glob(f"{WRITING}*"):
            if time.time() - left.stat().st_mtime > LEFT_OVER:
                shutil.rmtree(left, ignore_errors=True)
    with explained(folder), tempfile.TemporaryDirectory(dir=folder.parent, prefix=WRITING) as temporary:
        fresh = Path(temporary) / folder.name
        (fresh / "tables").mkdir(parents=True)
        (fresh / "figures").mkdir()
        for name, table in result.tables.items():
            write_table(table, fresh / "tables" / f"{name}.csv")
        for name, chart in result.figures.items():
            charts.save(chart, fresh / "figures", name)
        for name, replay in result.replays.items():
            (fresh / REPLAYS).mkdir(exist_ok=True)
            (fresh / REPLAYS / f"{name}.json").write_bytes(replay.to_bytes())
        document = {
            "experiment": experiment.name,
            "preset": order.preset,
            **({"row": order.row} if order.row else {}),
            "summary": result.summary,
            "claims": [finding.to_json() for finding in result.findings],
            "notes": list(result.notes),
            "seeds": result.seeds,
            "tables": sorted(result.tables),
            "figures": list(result.figures),  # in the order in which they are to be read
            **({REPLAYS: sorted(result.replays)} if result.replays else {}),
            "versions": environment(),
            "rules": rules_of(experiment),
            "command": command,
            "duration_seconds": round(seconds, 1),
            "training_seconds": round(training_seconds, 1),
            "inexact_runs": list(inexact_runs),
            **({"recalled_runs": dict(recalled_runs)} if recalled_runs else {}),
        }
        write_document(fresh, document)
        replace_folder(fresh, folder)
    return folder


def write_document(folder: Path, document: Mapping[str, Any]) -> None:
    """Write ``result.json``, sealed, with the sha256 of each file beside it that is read again."""
    files = {name: sha256((folder / name).read_bytes()).hexdigest() for name in _parts(folder)}
    sealed = {**document, "files": files, "seal": BLANK_SEAL}
    text = json.dumps(sealed, indent=2, ensure_ascii=False, allow_nan=False)
    (folder / "result.json").write_bytes(seal(text.encode() + b"\n"))


def _parts(folder: Path) -> list[str]:
    """The tables, charts and replays in a result's folder."""
    places = (*folder.glob("tables/*.csv"), *folder.glob("figures/*.vl.json"), *folder.glob(f"{REPLAYS}/*.json"))
    return sorted(path.relative_to(folder).as_posix() for path in places)


def write_table(table: Table, path: Path) -> None:
    """CSV with a header; None is an empty cell, numbers keep every digit.

    So is what a row does not have: runs of different age may have been measured in different ways.
    """
    names = dict.fromkeys(name for row in table for name in row)
    with path.open("w", newline="", encoding="utf-8") as lines:
        writer = csv.DictWriter(lines, fieldnames=list(names))
        writer.writeheader()
        writer.writerows(table)


def rules_of(experiment: Experiment) -> dict[str, dict[str, str]]:
    """What decides each of its claims, in 16 digits each: the rule in ``words``, and the ``code`` that applies it.

    The code is that of the method, and of all functions it uses of its own experiment and of `attnlab.lab.rules`. A
    result keeps the digits, so that anybody can see whether a rule was changed after the result was seen.
    """
    known = {claim.id: claim.rule for claim in load_claims()}
    rules = {}
    for id, rule in experiment.rules().items():
        words = {"words": _digits(known[id])} if id in known else {}  # an experiment of a user's own has no registry
        sources = sorted(dedent(getsource(function)) for function in _functions(rule, type(experiment)))
        rules[id] = {**words, "code": _digits("\n".join(sources))}
    return rules


def _functions(rule: Callable[..., Any], experiment: type[Experiment]) -> set[Callable[..., Any]]:
    """``rule`` and the functions it calls, directly or not, that belong to the experiment or to the shared rules."""
    own, seen, waiting = experiment.__module__.rpartition(".")[0], set(), [rule]
    while waiting:
        function = waiting.pop()
        seen.add(function)
        code = function.__code__
        inner = [constant.co_names for constant in code.co_consts if isinstance(constant, CodeType)]
        for name in {*code.co_names, *(name for names in inner for name in names)}:
            used = function.__globals__.get(name) or getattr(experiment, name, None)
            if isinstance(used, FunctionType) and used not in seen:
                home = used.__module__
                if home == RULES or home == experiment.__module__ or (own and home.startswith(f"{own}.")):
                    waiting.append(used)
    return seen


def _digits(text: str) -> str:
    return sha256(text.encode()).hexdigest()[:16]


Hashes = dict[str, dict[str, str]]
"""What decides each claim, as `rules_of` says it."""


class Moved(BaseModel):
    """What a result of before its rules had hashes says of these since."""

    why: str
    rules: Hashes


class Changed(BaseModel):
    """Why a result's claims were decided again, or some of its figures drawn again, from what it keeps."""

    model_config = ConfigDict(extra="allow", frozen=True)

    why: str


class Document(BaseModel):
    """The part of ``result.json`` that is read again; a result of a stranger's may hold anything."""

    model_config = ConfigDict(extra="allow", frozen=True)

    experiment: str
    preset: Preset
    row: str = ""
    summary: str
    claims: tuple[Finding, ...]
    notes: tuple[str, ...]
    seeds: dict[str, list[int]]
    tables: tuple[FileName, ...]
    figures: tuple[FileName, ...]
    replays: tuple[FileName, ...] = ()
    command: str
    training_seconds: float
    inexact_runs: tuple[str, ...] = ()
    recalled_runs: dict[str, list[str]] = {}
    rules: Hashes = {}
    rules_commit: str | None = None
    moved: Moved | None = None
    decided_again: Changed | None = None
    redrawn: Changed | None = None
    files: dict[str, str] = {}


def read_result(folder: Path) -> dict[str, Any]:
    """The document of a result folder, checked; a damaged or foreign one is refused in a sentence.

    So are its tables and charts, unless it is of before results had the sha256 of each.
    """
    path, data = folder / "result.json", read_whole(folder / "result.json")
    try:
        Document.model_validate_json(data, strict=True)
        document: dict[str, Any] = json.loads(data)
    except ValidationError as error:
        raise UsageError(f"{path} is no whole result ({first_mistake(error)}); run the experiment again.") from None
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{path} is no whole result ({str(error)[:100]}); run the experiment again.") from None
    if files := document.get("files"):
        for name in sorted({*files, *_parts(folder)}):
            if sha256(read_inside(folder, name, LARGEST)).hexdigest() != files.get(name):
                raise UsageError(f"{folder / name} is altered or of another result; run the experiment again.")
    return document


def read_table(folder: Path, name: str) -> list[tuple[int, dict[str, str]]]:
    """The rows of a result's table, each with its line in the file; what is no such table is refused in a sentence."""
    path = folder / "tables" / f"{name}.csv"
    data = read_inside(folder, f"tables/{name}.csv", LARGEST)
    try:
        if b"\0" in data:
            raise csv.Error("it holds bytes of zero")
        reader = csv.DictReader(io.StringIO(data.decode("utf-8"), newline=""))
        rows = [(reader.line_num, cells) for cells in reader]
    except (UnicodeDecodeError, csv.Error) as error:
        raise UsageError(f"{path} is not a table of ours: {error}.") from None
    for line, cells in rows:
        if None in cells or None in cells.values():
            raise UsageError(f"{path}, line {line}: it has not as many cells as the heading.")
    return rows

"""Result folders ``results/<experiment>/<preset>/[<row>/]``: result.json, tables as CSV, figures."""

import csv
import json
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

from attnlab.files import explained
from attnlab.lab.experiment import Order, Result, Table
from attnlab.pages import charts
from attnlab.runs.environment import environment


def write_result(
    result: Result,
    folder: Path,
    *,
    experiment: str,
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
    with explained(folder), tempfile.TemporaryDirectory(dir=folder.parent, prefix=".writing-") as temporary:
        fresh = Path(temporary) / folder.name
        (fresh / "tables").mkdir(parents=True)
        (fresh / "figures").mkdir()
        for name, table in result.tables.items():
            write_table(table, fresh / "tables" / f"{name}.csv")
        for name, chart in result.figures.items():
            charts.save(chart, fresh / "figures", name)
        document = {
            "experiment": experiment,
            "preset": order.preset,
            **({"row": order.row} if order.row else {}),
            "summary": result.summary,
            "claims": [finding.to_json() for finding in result.findings],
            "notes": list(result.notes),
            "seeds": result.seeds,
            "tables": sorted(result.tables),
            "figures": list(result.figures),  # in the order in which they are to be read
            "versions": environment(),
            "rules_commit": rules_commit(),
            "command": command,
            "duration_seconds": round(seconds, 1),
            "training_seconds": round(training_seconds, 1),
            "inexact_runs": list(inexact_runs),
            **({"recalled_runs": dict(recalled_runs)} if recalled_runs else {}),
        }
        text = json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False)
        (fresh / "result.json").write_text(text + "\n", encoding="utf-8")
        if folder.exists():
            shutil.move(folder, Path(temporary) / "before")
        shutil.move(fresh, folder)
    return folder


def write_table(table: Table, path: Path) -> None:
    """CSV with a header; None is an empty cell, numbers keep every digit.

    So is what a row does not have: runs of different age may have been measured in different ways.
    """
    names = dict.fromkeys(name for row in table for name in row)
    with path.open("w", newline="", encoding="utf-8") as lines:
        writer = csv.DictWriter(lines, fieldnames=list(names))
        writer.writeheader()
        writer.writerows(table)


def rules_commit() -> str | None:
    """The commit in which the claims' rules last changed; None outside a checkout.

    "+changed" is added where the rules on disk differ from it: such verdicts were not decided by committed rules.
    """
    folder = Path(str(files("attnlab.experiments")))

    def git(*words: str) -> str:
        done = subprocess.run(
            ["git", "-C", str(folder), *words], capture_output=True, text=True, check=True, timeout=20
        )
        return done.stdout.strip()

    try:
        commit = git("log", "-1", "--format=%H", "--", ".")
        changed = git("status", "--porcelain", "--", ".")
    except (OSError, subprocess.SubprocessError):
        return None
    return f"{commit}+changed" if commit and changed else commit or None


def read_result(folder: Path) -> dict[str, Any]:
    """The document of a result folder."""
    document: dict[str, Any] = json.loads((folder / "result.json").read_text(encoding="utf-8"))
    return document

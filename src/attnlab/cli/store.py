"""``attnlab store``: the runs on disk, what is in them, whether they are whole, and away with them."""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.filesize import decimal
from rich.table import Table
from rich.text import Text
from typer import Argument, Option

from attnlab.cli.options import JsonOption, Screen, StoreOption, listing
from attnlab.errors import StoreError, UsageError
from attnlab.files import Json, to_json

if TYPE_CHECKING:
    from attnlab.runs.store import Run, RunStore
    from attnlab.runs.verify import Layouts

app = typer.Typer(help="Look after the runs on disk.", no_args_is_help=True)

RunArgument = Annotated[str, Argument(metavar="ID", help="A run's id, or at least its first 4 characters.")]

_COLOURS = {"finished": "green", "running": "cyan", "interrupted": "yellow", "failed": "red"}


@app.command("list")
def list_runs(store: StoreOption = Path("runs"), as_json: JsonOption = False) -> None:
    """List the runs, with what sets each apart from the others."""
    opened = _open(store)
    summaries: list[dict[str, Json]] = []
    for run in opened.runs():
        with suppress(StoreError):
            summaries.append(_summary(run) | {"spec": run.spec()})
    unreadable = len(opened.ids()) - len(summaries)
    if as_json:
        _print_json(summaries)
    else:
        _print_list(summaries)
        _say(f"{len(summaries)} runs in {store}.")
    if unreadable:
        _say(f"{unreadable} more cannot be read; `attnlab store verify` says why.", beside=as_json)


def _print_list(summaries: list[dict[str, Json]]) -> None:
    specs = [dict(flatten(summary["spec"])) for summary in summaries]
    keys = dict.fromkeys(key for spec in specs for key in spec)
    varying = [key for key in keys if len({repr(spec.get(key)) for spec in specs}) > 1]
    table = _table("run", "state", "step", "size", "set apart by")
    for summary, spec in zip(summaries, specs, strict=True):
        apart = ", ".join(f"{key}={spec[key]}" for key in varying if key in spec)
        state = Text(summary["state"], _COLOURS.get(summary["state"], ""))
        table.add_row(summary["id"], state, str(summary["step"]), decimal(summary["bytes"]), Text(apart))
    if summaries:
        Screen().print(table)


@app.command()
def show(run_id: RunArgument, store: StoreOption = Path("runs"), as_json: JsonOption = False) -> None:
    """Show one run: its settings, how far it is, and what is kept of it."""
    run = _open(store).existing(run_id)
    parts = {"spec": run.spec(), "environment": run.environment(), "timing": run.timing()}
    metrics = run.metrics()
    if as_json:
        _print_json(_summary(run) | parts | {"metrics": metrics})
        return
    status = run.status() or {}
    kept = {
        "folder": run.path,
        "state": f"{state_of(run)} {status.get('message', '')}".strip(),
        "size": decimal(run.size()),
        "checkpoints at": ", ".join(map(str, run.steps())) or "none",
        "fields at": ", ".join(map(str, run.field_steps())) or "none",
    }
    sections = {f"run {run.id}": kept, **parts, "newest metrics": metrics[-1] if metrics else {}}
    for title, document in sections.items():
        if document:
            table = _table(title, "")
            for key, value in flatten(document):
                table.add_row(Text(key), Text(str(value)))
            Screen().print(table, "")


@app.command()
def verify(
    run_id: Annotated[str | None, Argument(metavar="[ID]", help="One run only.", show_default="all")] = None,
    store: StoreOption = Path("runs"),
    as_json: JsonOption = False,
    bind: Annotated[bool, Option("--bind", help="Write into files of earlier versions which run they are of.")] = False,
) -> None:
    """Read every file and name each that is damaged, missing, left over or another run's; exit code 1 if one is."""
    if not store.is_dir():
        raise UsageError(f"There is no folder {store} to verify; --store names the one that runs were trained into.")
    runs = _open(store)
    run = runs.existing(run_id) if run_id else None
    if bind:
        bound = sum(_bound(runs, one) for one in ([run.id] if run else runs.ids()))
        if not as_json:
            _say(f"Bound {bound} files to their runs.")
    layouts: Layouts = {}
    faults = run.verify(layouts) if run else runs.verify(layouts)
    if as_json:
        _print_json([asdict(fault) | {"path": str(fault.path)} for fault in faults])
    else:
        for fault in faults:
            _say(fault.sentence)
        if unchecked := sum(layout is None for layout in layouts.values()):
            _say(
                f"Not checked: the tensors' names and shapes of {unchecked} kinds of runs, whose networks cannot be "
                "built here (their corpus is elsewhere, their code is not ours, or they are too large)."
            )
        checked = f"Run {run.id}" if run else f"The store {store} ({len(runs.ids())} runs)"
        _say(f"{checked}: {len(faults)} problems." if faults else f"{checked} is whole.")
    if faults:
        raise typer.Exit(1)


@app.command()
def remove(
    run_id: RunArgument,
    yes: Annotated[bool, Option("--yes", help="Do not ask.")] = False,
    store: StoreOption = Path("runs"),
) -> None:
    """Remove a run and everything kept of it."""
    runs = _open(store)
    if runs.half_removed(run_id):
        runs.remove(run_id)
        _say(f"Removed what an interrupted removal had left of run {run_id}.")
        return
    run = runs.existing(run_id)
    size = decimal(run.size())
    if not yes:
        typer.confirm(f"Remove run {run.id} ({size})?", abort=True)
    runs.remove(run.id)
    _say(f"Removed run {run.id} ({size}).")


def _bound(runs: "RunStore", run_id: str) -> int:
    """How many of a run's files were bound; none where the run cannot be read or written, which `verify` then says."""
    try:
        return runs.run(run_id).bind()
    except (StoreError, UsageError):
        return 0


def _open(store: Path) -> "RunStore":
    # Imported when a command needs it: `attnlab --help` should not wait for PyTorch.
    from attnlab.runs.store import RunStore

    return RunStore(store)


def state_of(run: "Run") -> str:
    """Its status, except that one which says running while nobody works on it was interrupted."""
    status = run.status()
    if status is None:
        return "unknown"
    if status["status"] == "running" and not run.is_locked():
        return "interrupted"
    return str(status["status"])


def flatten(document: dict[str, Json], prefix: str = "") -> Iterator[tuple[str, Json]]:
    """The leaves of a JSON object, each with its dotted name.

    >>> dict(flatten({"task": {"name": "copying", "length": 4}, "batch": 8}))
    {'task.name': 'copying', 'task.length': 4, 'batch': 8}
    """
    for key, value in document.items():
        if isinstance(value, dict):
            yield from flatten(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def _summary(run: "Run") -> dict[str, Json]:
    return {
        "id": run.id,
        "path": str(run.path),
        "state": state_of(run),
        "message": (run.status() or {}).get("message", ""),
        "step": _step(run),
        "checkpoints": run.steps(),
        "fields": run.field_steps(),
        "bytes": run.size(),
    }


def _step(run: "Run") -> int:
    return max([*run.steps(), int((run.status() or {}).get("step", 0))])


def _table(*titles: str) -> Table:
    table = listing()
    for title in titles[:-1]:
        table.add_column(title, no_wrap=True)
    table.add_column(titles[-1])
    return table


def _say(sentence: str, beside: bool = False) -> None:
    """``beside``: on standard error, where standard output is for a program."""
    Screen(stderr=beside).print(sentence, soft_wrap=True)


def _print_json(value: Json) -> None:
    typer.echo(to_json(value, indent=2).decode(), nl=False)

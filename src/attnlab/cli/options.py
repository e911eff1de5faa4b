"""Options that several commands share, and what they mean together."""

import json
import os
import shlex
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.table import Table
from rich.text import Text
from typer import Option

from attnlab.errors import UsageError

if TYPE_CHECKING:
    from attnlab.runs.engine import Engine


def check_store(store: Path) -> Path:
    """The store's folder, if it is one or can become one."""
    nearest = next(path for path in (store, *store.absolute().parents) if path.exists())
    if not nearest.is_dir():
        raise UsageError(f"--store {store}: {nearest} is a file; the run store is a folder.")
    return store


StoreOption = Annotated[
    Path,
    Option(
        "--store", help="Folder of the run store.", envvar="ATTNLAB_STORE", show_default="runs", callback=check_store
    ),
]
JobsOption = Annotated[
    int | None, Option("--jobs", min=1, help="Worker processes, one thread each.", show_default="one a core")
]
StopHopelessOption = Annotated[
    bool,
    Option("--stop-hopeless", help="End runs on copying that will not learn by step 200, as the early verdict has it."),
]
_cluster = partial(Option, rich_help_panel="Beyond one machine")
EngineOption = Annotated[str, _cluster("--engine", help="local: worker processes here; ray: a cluster.")]
AddressOption = Annotated[
    str | None,
    _cluster(
        "--address",
        help="The cluster's HOST:PORT, or auto on one of its nodes.",
        envvar="RAY_ADDRESS",
        show_default="a Ray of its own, started here",
    ),
]
CpusOption = Annotated[
    float | None,
    _cluster("--cpus-per-run", min=0, help="Processors that each run reserves; fractions too.", show_default="1"),
]
GpusOption = Annotated[
    float | None,
    _cluster("--gpus-per-run", min=0, help="GPUs that each run reserves; fractions share one.", show_default="0"),
]
File = Path | None
JsonOption = Annotated[bool, Option("--json", help="Print JSON alone to standard output.")]


@dataclass
class Settings:
    """What the options before the command say."""

    quiet: bool = False
    verbose: bool = False
    device: str = "cpu"
    kept: str = "Each file is whole or as it was before; the same command begins again."
    """What Ctrl-C leaves."""


settings = Settings()


def harmless(text: str) -> str:
    """A text that no terminal takes for a command: characters that cannot be printed are spelt out.

    >>> harmless("\x1b[31mred")
    '\\\\x1b[31mred'
    """
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)


def _harmless_lines(text: str) -> str:
    return "\n".join(map(harmless, text.split("\n")))


class Screen(Console):
    """A console that no text from data can command: neither its terminal, nor rich by its markup."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**{"markup": False, "highlight": False, **settings})
        if not self.width:  # COLUMNS=0, where nothing at all would be printed
            self.width = 80

    def render_str(self, text: str, **settings: Any) -> Text:  # before it is laid out
        return super().render_str(_harmless_lines(text), **settings)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        for segment in super().render(renderable, options):
            yield segment if segment.control else segment._replace(text=_harmless_lines(segment.text))


def listing(*columns: str, title: str = "", roomy: bool = False) -> Table:
    """A table as all commands print it: columns without lines, headings in bold. ``roomy``: a line between rows, where
    cells are sentences.
    """
    table = Table(
        box=None,
        pad_edge=False,
        padding=(0, 2, 0, 0),
        leading=int(roomy),
        title=Text(f"\n{harmless(title)}", no_wrap=True, overflow="ignore") if title else None,
        title_justify="left",
        title_style="bold italic",
    )
    for column in columns:
        table.add_column(Text(harmless(column)))
    return table


def console() -> Screen:
    """Where people read: standard error, so that standard output stays clean for JSON."""
    return Screen(stderr=True, quiet=settings.quiet)


def say(line: str) -> None:
    """A line of standard output, for programs as it is, for people harmless."""
    if sys.stdout and sys.stdout.isatty():
        typer.echo(harmless(line))
        return
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    try:
        typer.echo(line.encode(encoding, "surrogateescape"))  # the name of a file may be no text
    except UnicodeEncodeError:
        typer.echo(line.encode(encoding, "backslashreplace"))


def look_at(page: Path) -> str:
    """The command that opens a page, on every system."""
    return f"python -m webbrowser -t {shlex.quote(page.resolve().as_uri())}"


def print_json(value: Any) -> None:
    """``value`` as JSON, in which what cannot be printed, or not in standard output's encoding, is spelt out."""
    plain = "utf" not in str(getattr(sys.stdout, "encoding", "utf-8")).lower()
    text = json.dumps(value, indent=2, ensure_ascii=plain)
    typer.echo("".join(char if char.isprintable() or char == "\n" else json.dumps(char)[1:-1] for char in text))


def workers(jobs: int | None) -> int:
    """How many worker processes: as asked, else as many as this process may use cores."""
    if jobs is not None:
        return jobs
    from attnlab.runs.environment import cores

    return cores()


def check_engine(name: str, address: str | None, cpus: float | None = None) -> None:
    """Refuse an engine that there is not, and settings of another one, before any work."""
    from attnlab.cluster.connection import check_engine

    check_engine(name, None if name == "local" and given_by("RAY_ADDRESS", address) else address, cpus)


def make_engine(
    name: str, jobs: int | None, address: str | None, cpus: float | None = None, gpus: float | None = None
) -> "Engine":
    """The engine that these options name; what is wrong with them is said before any work."""
    from attnlab.runs import engines

    if name == "local" and given_by("RAY_ADDRESS", address):
        address = None
    if name == "local":
        check_device(settings.device)  # a cluster's devices are elsewhere
    return engines.make_engine(name, workers=jobs, device=settings.device, address=address, cpus=cpus, gpus=gpus)


def given_by(variable: str, value: str | None) -> bool:
    """Whether an option has its value from a variable of the environment."""
    return value is not None and os.environ.get(variable) == value


def check_device(device: str) -> str:
    """The device, if PyTorch has it here and numbers can be read from it."""
    import torch

    try:
        torch.zeros(1, device=device).item()
    except Exception as error:  # each kind of device fails in its own way
        reason = str(error).strip().split("\n")[0]
        raise UsageError(f"Device {device!r} cannot be used here ({reason}); cpu always can.") from None
    return device

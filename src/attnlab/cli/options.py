"""Options that several commands share, and what they mean together."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from rich.console import Console
from typer import Option

from attnlab.errors import UsageError

StoreOption = Annotated[
    Path, Option("--store", help="Folder of the run store.", envvar="ATTNLAB_STORE", show_default="runs")
]
JobsOption = Annotated[
    int | None, Option("--jobs", min=1, help="Worker processes, one thread each.", show_default="one a core")
]
StopHopelessOption = Annotated[
    bool,
    Option("--stop-hopeless", help="End runs on copying that will not learn by step 200, as the early verdict has it."),
]
File = Path | None
JsonOption = Annotated[bool, Option("--json", help="Print JSON alone to standard output.")]


@dataclass
class Settings:
    """What the options before the command say."""

    quiet: bool = False
    verbose: bool = False
    device: str = "cpu"


settings = Settings()


def console() -> Console:
    """Where people read: standard error, so that standard output stays clean for JSON."""
    return Console(stderr=True, quiet=settings.quiet)


def workers(jobs: int | None) -> int:
    """How many worker processes: as asked, else as many as this process may use cores."""
    if jobs is not None:
        return jobs
    from attnlab.runs.environment import cores

    return cores()


def check_device(device: str) -> str:
    """The device, if PyTorch has it here."""
    import torch

    try:
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError) as error:
        reason = str(error).splitlines()[0]
        raise UsageError(f"Device {device!r} cannot be used here ({reason}); cpu always can.") from None
    return device

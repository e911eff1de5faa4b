"""The ``attnlab`` command."""

import sys
import warnings
from typing import Annotated

import typer
from rich.console import Console
from typer import Option

from attnlab.cli import align, claims, data, demo, experiments, forecast, report, run, store
from attnlab.cli.options import settings
from attnlab.errors import AttnlabError

DATA, PAPERS, HOUSEKEEPING = "Your data", "The papers", "Housekeeping"

app = typer.Typer(
    help="The laboratory for how attention learns: will it be learned, is it being learned, may it be trusted?",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("forecast", rich_help_panel=DATA)(forecast.forecast)
app.command("align", rich_help_panel=DATA)(align.align)
app.add_typer(data.app, name="data", rich_help_panel=DATA)
app.command("demo", rich_help_panel=PAPERS)(demo.demo)
app.command("experiments", rich_help_panel=PAPERS)(experiments.experiments)
app.command("run", rich_help_panel=PAPERS)(run.run)
app.command("report", rich_help_panel=PAPERS)(report.report)
app.command("claims", rich_help_panel=PAPERS)(claims.claims)
app.add_typer(store.app, name="store", rich_help_panel=HOUSEKEEPING)


def _version(wanted: bool) -> None:
    if wanted:
        from attnlab import __version__

        typer.echo(f"attnlab {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, Option("--version", callback=_version, is_eager=True, help="Print the version and leave.")
    ] = False,
    quiet: Annotated[bool, Option("--quiet", "-q", help="No progress and no tables, only results.")] = False,
    verbose: Annotated[bool, Option("--verbose", "-v", help="Show tracebacks of errors too.")] = False,
    device: Annotated[str, Option("--device", help="Where to train, such as cpu or cuda.")] = "cpu",
) -> None:
    """Options before the command."""
    del version  # acted on before anything else
    settings.quiet, settings.verbose, settings.device = quiet, verbose, device


def general_first(words: list[str]) -> list[str]:
    """The words of a command with its general options in front, wherever they stood.

    >>> general_first(["run", "copying", "--quiet", "--device", "cpu"])
    ['--quiet', '--device', 'cpu', 'run', 'copying']
    """
    front, rest = [], []
    left = iter(words)
    for word in left:
        if word == "--device":
            front += [word, *[value for value in [next(left, None)] if value is not None]]
        elif word in ("--quiet", "-q", "--verbose", "-v") or word.startswith("--device="):
            front.append(word)
        elif word == "--":
            rest += [word, *left]
        else:
            rest.append(word)
    return front + rest


def main() -> None:
    """Run the command line; a user's mistake is one sentence, never a traceback."""
    screen = Console(stderr=True)

    def show(message: Warning | str, *_: object, **__: object) -> None:
        screen.print(f"warning: {message}", markup=False, style="yellow", soft_wrap=True)

    with warnings.catch_warnings():
        warnings.showwarning = show
        try:
            app(general_first(sys.argv[1:]), prog_name="attnlab")
        except AttnlabError as error:
            if settings.verbose:
                raise
            screen.print(f"error: {error}", markup=False, style="red", soft_wrap=True)
            sys.exit(error.exit_code)
        except KeyboardInterrupt:
            screen.print("Stopped. Nothing is lost: the same command goes on from here.", style="yellow")
            sys.exit(130)

"""The ``attnlab`` command."""

import errno
import os
import sys
import warnings
from contextlib import suppress
from io import TextIOWrapper
from typing import Annotated, Any, NoReturn

import typer
from typer import Option

from attnlab.cli import (
    align,
    audit,
    claims,
    data,
    demo,
    experiments,
    explain,
    forecast,
    report,
    run,
    samples,
    site,
    store,
    train,
    translate,
    watch,
)
from attnlab.cli.options import Screen, Settings, settings
from attnlab.errors import AttnlabError, UsageError

STOPPED = 130
"""The exit code after Ctrl-C."""
DATA, PAPERS, HOUSEKEEPING = "Your data", "The papers", "Housekeeping"

app = typer.Typer(
    help="The laboratory for how attention learns: will it be learned, is it being learned, may it be trusted?",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("forecast", rich_help_panel=DATA)(forecast.forecast)
app.command("samples", rich_help_panel=DATA)(samples.samples)
app.command("align", rich_help_panel=DATA)(align.align)
app.command("audit", rich_help_panel=DATA)(audit.audit)
app.command("train", rich_help_panel=DATA)(train.train)
app.command("explain", rich_help_panel=DATA)(explain.explain)
app.command("translate", rich_help_panel=DATA)(translate.translate)
app.add_typer(data.app, name="data", rich_help_panel=DATA)
app.command("demo", rich_help_panel=PAPERS)(demo.demo)
app.command("experiments", rich_help_panel=PAPERS)(experiments.experiments)
app.command("run", rich_help_panel=PAPERS)(run.run)
app.command("report", rich_help_panel=PAPERS)(report.report)
app.command("watch", rich_help_panel=PAPERS)(watch.watch)
app.command("claims", rich_help_panel=PAPERS)(claims.claims)
app.command("site", rich_help_panel=PAPERS)(site.site)
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


def check_completion(words: list[str]) -> None:
    """A UsageError where a shell is named for completion: typer would install it for another one without a word."""
    for option in ("--install-completion", "--show-completion"):
        if option in words and len(words) > 1:
            other = next(word for word in words if word != option)
            raise UsageError(
                f"{option} is for the shell that it is typed in and takes no word after it, not {other!r}."
            )


def main() -> None:
    """Run the command line; a user's mistake is one sentence, never a traceback."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # what the terminal's encoding lacks, and broken file names
    screen = Screen(stderr=True)

    def show(message: Warning | str, *_: object, **__: object) -> None:
        screen.print(f"warning: {message}", style="yellow", soft_wrap=True)

    def end(sentence: str, code: int) -> NoReturn:
        with suppress(OSError):
            screen.print(sentence, style="yellow" if code == STOPPED else "red", soft_wrap=True)
        sys.exit(code)

    with warnings.catch_warnings():
        warnings.showwarning = show
        settings.kept = Settings.kept  # another command of this process may have left its own
        try:
            check_completion(sys.argv[1:])
            code = app(general_first(sys.argv[1:]), prog_name="attnlab", standalone_mode=False)
            if sys.stdout is not None:
                sys.stdout.flush()
        except (KeyboardInterrupt, typer.Abort):
            code = STOPPED
        except Exception as error:
            if settings.verbose:
                raise
            if isinstance(error, AttnlabError):
                end(f"error: {error}", error.exit_code)
            if hasattr(error, "format_message"):  # what typer says of a command's words
                end(*_of_the_words(error))
            if isinstance(error, OSError):
                end(*_of_the_system(error))
            raise
        if code == STOPPED:
            end(f"Stopped. {settings.kept}", STOPPED)
        sys.exit(code)


def _of_the_words(error: Any) -> tuple[str, int]:
    """What typer says of a command's words, as a sentence; after help it has nothing to say."""
    said, context = error.format_message().rstrip("."), getattr(error, "ctx", None)
    see = f"; see `{context.command_path} --help`" if context else ""
    return f"error: {said}{see}." if said else "", 2


def _of_the_system(error: OSError) -> tuple[str, int]:
    """What the system refused, as a sentence, and the exit code."""
    if error.filename is not None:
        full = error.errno in (errno.ENOSPC, errno.EDQUOT)
        return f"error: {error.filename}: {error.strerror}.", 1 if full else 2
    with suppress(OSError, ValueError):  # what is still to be written would fail again when Python ends
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return f"error: Standard output cannot be written: {error.strerror or error}.", 1

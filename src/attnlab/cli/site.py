"""``attnlab site``: all results as pages that open from disk."""

from pathlib import Path
from typing import Annotated

from typer import Option

from attnlab.cli.options import Screen, say


def site(
    out: Annotated[Path, Option(help="The folder to write into.")] = Path("attnlab-site"),
    results: Annotated[Path, Option(help="Folder that results were written into.")] = Path("results"),
) -> None:
    """Write every claim with its outcome and a page for each experiment, from results on disk. Trains nothing."""
    from attnlab.lab.site import build_site

    built = build_site(results, out)
    if built.left_out:
        Screen(stderr=True).print(f"Left out, as no experiments of attnlab: {', '.join(built.left_out)}.")
    say(str(built.index))

"""``attnlab claims``: every claim of the papers and its verdict."""

from itertools import groupby
from pathlib import Path
from typing import Annotated

from rich.table import Table
from rich.text import Text
from typer import Option

from attnlab.cli.options import JsonOption, Screen, print_json
from attnlab.errors import UsageError
from attnlab.lab.claims import VERDICTS, Decision, Verdict, decide, differing

_COLOURS: dict[Verdict, str] = {"holds": "green", "fails": "red", "undecided": "dim"}


def claims(
    as_json: JsonOption = False,
    results: Annotated[Path, Option(help="The folder that holds the results.")] = Path("results"),
    verdict: Annotated[str | None, Option(help="Only claims that: holds, fails or undecided.")] = None,
    experiment: Annotated[str | None, Option(help="Only claims that this experiment decides.")] = None,
) -> None:
    """Show every claim of the papers with its measured verdict."""
    decisions = select(decide(results), verdict, experiment)
    if as_json:
        print_json([decision.to_json() for decision in decisions])
        return
    console = Screen()
    console.print(table(decisions))
    counts = ", ".join(f"{sum(d.verdict == v for d in decisions)} {v}" for v in VERDICTS)
    console.print(f"{len(decisions)} claims: {counts}. Results from {results}.")


def select(decisions: list[Decision], verdict: str | None, experiment: str | None) -> list[Decision]:
    """The decisions with this verdict and by this experiment; None takes all."""
    if verdict is not None and verdict not in VERDICTS:
        raise UsageError(f"There is no verdict {verdict!r}; verdicts are {', '.join(VERDICTS)}.")
    names = dict.fromkeys(name for decision in decisions for name in experiments_of(decision))
    if experiment is not None and experiment not in names:
        raise UsageError(f"No claim is decided by {experiment!r}; experiments with claims are {', '.join(names)}.")
    return [
        decision
        for decision in decisions
        if verdict in (None, decision.verdict) and (experiment is None or experiment in experiments_of(decision))
    ]


def experiments_of(decision: Decision) -> list[str]:
    """The names of the experiments that decide a claim."""
    return decision.experiment.split(", ")


def table(decisions: list[Decision]) -> Table:
    """The decisions as a table, grouped by experiment in the order of the registry."""
    drawn = Table("verdict", "effect [95 %]", "preset", "claim", box=None, pad_edge=False)
    order = list(dict.fromkeys(decision.experiment for decision in decisions))
    grouped = groupby(sorted(decisions, key=lambda d: order.index(d.experiment)), key=lambda d: d.experiment)
    for name, group in grouped:
        drawn.add_row("", "", "", Text(name, style="bold underline"))
        for decision in group:
            drawn.add_row(
                Text(decision.verdict, style=_COLOURS[decision.verdict], no_wrap=True),
                Text(effect(decision), no_wrap=True),
                Text(decision.preset or "", no_wrap=True),
                Text.assemble((decision.id, "bold"), "\n", decision.statement, (scope(decision), "dim")),
            )
    return drawn


def scope(decision: Decision) -> str:
    """On its own line what a verdict is about, where that is not plain: which corpora, and parts that disagree.

    >>> from attnlab.lab.claims import Part
    >>> parts = [Part(name, verdict, None, None, "seeds", "") for name, verdict in (("a", "holds"), ("b", "fails"))]
    >>> scope(Decision("id", "P3", "it works", "agreement", "fails", None, None, "paper", tuple(parts), ("sst", "sms")))
    '\\ndecided on sst, sms; of 2 parts 1 holds, 1 fails'
    """
    corpora = f"decided on {', '.join(decision.rows)}" if decision.rows else ""
    said = "; ".join(part for part in (corpora, differing(decision.parts)) if part)
    return f"\n{said}" if said else ""


def effect(decision: Decision) -> str:
    """The effect and its interval, as far as they are there.

    >>> from attnlab.lab.claims import Decision
    >>> effect(Decision("id", "P3", "it works", "copying", "holds", 0.5, (0.25, 0.75), "paper", ()))
    '0.5 [0.25, 0.75]'
    """
    if decision.effect is None:
        return ""
    interval = decision.interval
    return f"{decision.effect:.3g}" + (f" [{interval[0]:.3g}, {interval[1]:.3g}]" if interval else "")

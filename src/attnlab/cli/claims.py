"""``attnlab claims``: every claim of the papers, whether it came out as they say, and by how much."""

from itertools import groupby
from pathlib import Path
from typing import Annotated

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text
from typer import Exit, Option

from attnlab.cli.options import File, JsonOption, Screen, listing, print_json
from attnlab.errors import UsageError
from attnlab.lab.claims import OF_OURS, OUTCOMES, ClaimOutcome, Decision, decide, differing
from attnlab.lab.claims.committed import in_words, places_of_results
from attnlab.lab.claims.words import ONE_RUN, earlier_rules, effect_in_words, preset_in_words, tally

_COLOURS: dict[ClaimOutcome, str] = {"as the paper says": "green", "differs": "red", "open": "yellow", "not run": "dim"}
_IN_SHORT = {"as the paper says": "as said"}
WIDTH = {"outcome": 8, "id": 34}
"""Characters of the columns in the short listing; effects have what is left of 80."""


def claims(
    as_json: JsonOption = False,
    long: Annotated[bool, Option("--long", help="Each claim with its statement, rules, parts and reasons.")] = False,
    check: Annotated[bool, Option("--check", help="Recompute every outcome from the results' own tables.")] = False,
    results: Annotated[
        File,
        Option(help="The folder that holds the results.", show_default="results, and those of attnlab itself"),
    ] = None,
    outcome: Annotated[
        str | None, Option(help="Only claims that came out so: 'as the paper says', differs, open or 'not run'.")
    ] = None,
    experiment: Annotated[str | None, Option(help="Only claims that this experiment decides.")] = None,
) -> None:
    """Show every claim of the papers, and whether it came out as they say."""
    places = places_of_results(results)
    decisions = select(decide(*places), outcome, experiment)
    if check:
        _check(places[0], experiment, as_json)
    elif as_json:
        print_json([decision.to_json() for decision in decisions])
    else:
        console = Screen()
        console.print(_tally(decisions))
        if long:
            console.print(at_length(decisions))
        else:
            console.print(Text("\n").join(map(line, decisions)), soft_wrap=True)
        where = " and ".join(map(in_words, places)) if any(place.is_dir() for place in places) else "nowhere"
        console.print(f"Results from {where}. *: not all of the paper's own settings. More: attnlab claims --long")


def select(decisions: list[Decision], outcome: str | None, experiment: str | None) -> list[Decision]:
    """The decisions with this outcome and by this experiment; None takes all."""
    if outcome is not None and outcome not in OUTCOMES:
        raise UsageError(f"There is no outcome {outcome!r}; outcomes are {', '.join(OUTCOMES)}.")
    names = dict.fromkeys(name for decision in decisions for name in decision.claim.experiments)
    if experiment is not None and experiment not in names:
        raise UsageError(f"No claim is decided by {experiment!r}; experiments with claims are {', '.join(names)}.")
    return [
        decision
        for decision in decisions
        if outcome in (None, decision.outcome) and (experiment is None or experiment in decision.claim.experiments)
    ]


def line(decision: Decision) -> Text:
    """A claim in at most 80 characters: how it came out, its id, effect with unit and interval, preset."""
    said = Text(_short(decision).ljust(WIDTH["outcome"]), _COLOURS[decision.outcome])
    preset, left = preset_in_words(decision), 80 - WIDTH["outcome"] - WIDTH["id"]
    effects = [effect_in_words(decision.effect, decision.interval, decision.unit, digits) for digits in (3, 2, 1)]
    effect = next(text for text in [*effects, ""] if len(text) + 1 + len(preset) <= left)
    return said + f"{decision.id.ljust(WIDTH['id'])}{effect}{preset.rjust(left - len(effect))}".rstrip()


def _short(decision: Decision) -> str:
    if decision.weakly:
        return "weakly"
    names = OF_OURS if decision.claim.by == "ours" else _IN_SHORT
    return names.get(decision.outcome, decision.outcome)


def _tally(decisions: list[Decision]) -> Table:
    drawn = listing("claims of", "as said", "(weakly)", "differs", "open", "not run")
    for row in tally(decisions):
        cells = [row["as the paper says"], f"({row['weakly']})", row["differs"], row["open"], row["not run"]]
        drawn.add_row(str(row["paper"]), *map(str, cells))
    return drawn


def at_length(decisions: list[Decision]) -> Group:
    """The decisions at length, grouped by experiment in the order of the registry."""
    order = list(dict.fromkeys(decision.experiment for decision in decisions))
    grouped = groupby(sorted(decisions, key=lambda d: order.index(d.experiment)), key=lambda d: d.experiment)
    drawn: list[RenderableType] = []
    for name, group in grouped:
        drawn.append(Text(f"\n{name}", style="bold underline"))
        for decision in group:
            drawn += [line(decision), Padding(Text("\n".join(details(decision)), style="dim"), (0, 0, 0, 2))]
    return Group(*drawn)


def details(decision: Decision) -> list[str]:
    """What else there is to know of a claim, a line each: where it was decided, by which rules, and how before."""
    claim, rows = decision.claim, ", ".join(decision.rows)
    stance = {"affirms": "", "rejects": " The paper rejects it.", "suggests": " The paper suggests it."}[claim.stance]
    lines = [
        f"{claim.statement} ({claim.source}).{stance}",
        f"Outcome: {decision.words}.",
        f"Decided on {rows}." if rows else "",
        f"{differing(decision.parts).capitalize()}." if differing(decision.parts) else "",
        f"Not run: {', '.join(decision.missing)}." if decision.missing else "",
        f"Preset: {'; '.join(decision.departs)}." if decision.departs else "",
        ONE_RUN.replace("One run", f"One run in {len(decision.one_run)} parts") if decision.one_run else "",
        f"Direction: {claim.direction}" if claim.strength else f"Rule: {claim.direction}",
        f"Strength: {claim.strength}" if claim.strength else "",
        f"Authors: {claim.authors}" if claim.authors else "",
        f"Why: {claim.reason}" if claim.reason else "",
        *earlier_rules(claim),
    ]
    return [" ".join(one.split()) for one in lines if one]


def _check(results: Path, experiment: str | None, as_json: bool) -> None:
    """Print what came out otherwise and what could not be decided again; end with code 1 if anything did."""
    from attnlab.lab.check import check_claims

    checked = list(check_claims(results, experiment))
    if as_json:
        print_json([vars(one) for one in checked])
    else:
        console = Screen()
        for title, same in (("Came out otherwise", False), ("Cannot be decided again from what is kept", None)):
            listed = [one for one in checked if one.same is same]
            if listed:
                console.print(f"{title}:")
            for said, group in groupby(sorted(listed, key=lambda one: one.said), key=lambda one: one.said):
                console.print(f"  {', '.join(f'{one.result} {one.claim}' for one in group)}: {said.rstrip('.')}.")
        kept, other, not_again = (sum(one.same is kind for one in checked) for kind in (True, False, None))
        console.print(
            f"{kept} of {len(checked)} claims of results came out as they are kept, {other} otherwise; {not_again} "
            "cannot be decided again."
        )
    if any(one.same is False for one in checked):
        raise Exit(1)

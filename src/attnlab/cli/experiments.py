"""``attnlab experiments``: what can be run."""

from rich.table import Table

from attnlab.cli.options import JsonOption, Screen, print_json


def experiments(as_json: JsonOption = False) -> None:
    """List the experiments that can be run, and the claims each decides."""
    from attnlab.lab.claims import load_claims
    from attnlab.lab.registry import EXPERIMENTS

    decided = {name: [claim.id for claim in load_claims() if name in claim.experiments] for name in EXPERIMENTS}
    rows = [(one.name, one.title, one.source, decided[one.name]) for one in EXPERIMENTS.values()]
    if as_json:
        listed = [dict(zip(("name", "title", "source", "claims"), row, strict=True)) for row in rows]
        print_json(listed)
        return
    table = Table("experiment", "what it shows", "source", "claims")
    for name, title, source, claims in rows:
        table.add_row(name, title, source, "\n".join(claims))
    Screen().print(table)

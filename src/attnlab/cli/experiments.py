"""``attnlab experiments``: what can be run."""

from rich.table import Table

from attnlab.cli.options import JsonOption, Screen, print_json


def experiments(as_json: JsonOption = False) -> None:
    """List the experiments that can be run, and the claims each decides."""
    from attnlab.lab.claims import load_claims
    from attnlab.lab.registry import EXPERIMENTS

    decided = {name: [claim.id for claim in load_claims() if name in claim.experiments] for name in EXPERIMENTS}
    if as_json:
        listed = [
            {"name": e.name, "title": e.title, "source": e.source, "claims": decided[e.name]}
            for e in EXPERIMENTS.values()
        ]
        print_json(listed)
        return
    table = Table("experiment", "what it shows", "source", "claims")
    for experiment in EXPERIMENTS.values():
        table.add_row(experiment.name, experiment.title, experiment.source, "\n".join(decided[experiment.name]))
    Screen().print(table)

"""``python -m attnlab.experiments.early_verdict.ship RESULT``: early-verdict's result as training reads it.

What it prints is what training reads: ``src/attnlab/families/copying/early_verdict.json``.
"""

import sys
from pathlib import Path

from attnlab.errors import AttnlabError, UsageError
from attnlab.experiments.early_verdict.experiment import BY, EarlyVerdict
from attnlab.families.copying.early_verdict import FittedVerdict
from attnlab.families.copying.verdict_fit import make_verdict, read_cases
from attnlab.lab.result import read_result


def ship(folder: Path) -> FittedVerdict:
    """The verdict that a result folder's cases give."""
    if not (folder / "tables" / "cases.csv").is_file():
        raise UsageError(f"{folder} is no result of {EarlyVerdict.name}: it has no tables/cases.csv.")
    preset = read_result(folder)["preset"]
    return make_verdict(read_cases(folder / "tables" / "cases.csv"), preset=preset, by=BY[preset])


def main(words: list[str]) -> int:
    """Print the verdict of the result that ``words`` name."""
    try:
        if len(words) != 1:
            raise UsageError("Name one result folder of early-verdict, such as results/early-verdict/paper.")
        verdict = ship(Path(words[0]))
    except AttnlabError as error:
        print(error, file=sys.stderr)
        return 2
    print(verdict.model_dump_json(indent=2))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

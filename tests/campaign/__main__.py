"""``make campaign``: all cases of a seed, which is the date unless one is given; prints what it counted.

python -m tests.campaign                                           all of it, about 25 minutes on two cores
python -m tests.campaign --seed 2025-01-01 --part inputs --case 7  one case again
"""

import argparse
import datetime as dt
import os
import sys
import time

from tests.campaign.inputs import is_process
from tests.campaign.playing import LEAST, SIZES, Ground, Tally, ground, played

parser = argparse.ArgumentParser(prog="python -m tests.campaign", description="Hostile inputs, damage and kills.")
parser.add_argument("--seed", default=os.environ.get("ATTNLAB_CAMPAIGN_SEED") or str(dt.date.today()))
parser.add_argument("--part", choices=SIZES, action="append", help="only this part (may be given again)")
parser.add_argument("--case", type=int, help="only this case of the part")
parser.add_argument("--start", type=int, default=0, help="the first case: to go on with a campaign that was stopped")
parser.add_argument("--share", type=float, default=1.0, help="how much of each part, such as 0.1")
parser.add_argument("--jobs", type=int, default=2, help="cases at once")


def show(text: str) -> None:
    print(f"{text}\n", flush=True)


def main() -> int:
    chosen = parser.parse_args()
    print(
        f"Campaign with seed {chosen.seed}; ATTNLAB_CAMPAIGN_SEED={chosen.seed} make campaign repeats it.", flush=True
    )
    started = time.monotonic()
    with ground(1 if chosen.case is not None else chosen.jobs) as on:
        tallies = {part: _part(part, chosen, on) for part in chosen.part or SIZES}
    failures = sum(len(tally.failures) for tally in tallies.values())
    print(f"{failures} failures." if failures else "No failure.")
    whole = chosen.case is None and not chosen.start and chosen.share == 1 and not chosen.part
    if whole:
        print(f"For docs/security.md, as its last whole campaign:\n\n{_row(chosen.seed, tallies, started)}")
    few = [part for part, tally in tallies.items() if whole and tally.count < LEAST[part]]
    for part in few:
        print(f"Too few {part}: at least {LEAST[part]} were promised.")
    return 1 if failures or few else 0


def _part(part: str, chosen: argparse.Namespace, on: Ground) -> Tally:
    """Play one part and print what came of it."""
    started = time.monotonic()
    numbers = range(chosen.start, round(SIZES[part] * chosen.share)) if chosen.case is None else [chosen.case]
    tally = played(part, chosen.seed, numbers, on, show)
    print(f"{part}: {tally}; {(time.monotonic() - started) / 60:.1f} minutes.", flush=True)
    return tally


def _row(seed: str, tallies: dict[str, Tally], started: float) -> str:
    """A whole campaign as a row of the table in docs/security.md."""
    processes = sum(is_process(number) for number in range(SIZES["inputs"]))
    counts = [f"{tally.count}, {len(tally.failures)} failed" for tally in tallies.values()]
    counts[0] = counts[0].replace(",", f" ({processes} as processes),", 1)
    return "| " + " | ".join([seed, *counts, f"{(time.monotonic() - started) / 60:.0f} minutes"]) + " |"


if __name__ == "__main__":
    sys.exit(main())

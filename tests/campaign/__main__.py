"""``make campaign``: all cases of a seed, which is the date unless one is given; prints what it counted.

python -m tests.campaign                                           all of it, about 25 minutes on two cores
python -m tests.campaign --seed 2025-01-01 --part inputs --case 7  one case again
"""

import argparse
import datetime as dt
import os
import sys
import time

from tests.campaign.playing import LEAST, SIZES, played

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
    failures = 0
    print(
        f"Campaign with seed {chosen.seed}; ATTNLAB_CAMPAIGN_SEED={chosen.seed} make campaign repeats it.", flush=True
    )
    for part in chosen.part or SIZES:
        started = time.monotonic()
        numbers = range(chosen.start, round(SIZES[part] * chosen.share)) if chosen.case is None else [chosen.case]
        tally = played(part, chosen.seed, numbers, jobs=chosen.jobs, show=show)
        print(f"{part}: {tally.told}; {(time.monotonic() - started) / 60:.1f} minutes.", flush=True)
        failures += len(tally.failures)
        if chosen.case is None and chosen.share == 1 and not chosen.start and tally.count < LEAST[part]:
            print(f"Too few: at least {LEAST[part]} were promised.")
            failures += 1
    print(f"{failures} failures." if failures else "No failure.")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())

"""Play many cases of one part, a few at once, and count how they were met."""

import shutil
from collections import Counter
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from queue import SimpleQueue
from tempfile import TemporaryDirectory

from tests.campaign import corruptions, inputs, kills
from tests.campaign.cases import Case
from tests.campaign.nursery import Nursery

PLAYS = {"inputs": inputs.play, "corruptions": corruptions.play, "kills": kills.play}
SIZES = {"inputs": 800, "corruptions": 800, "kills": 120}
"""Cases of a whole campaign."""
LEAST = {"inputs": 500, "corruptions": 500, "kills": 200}
"""What a whole campaign counts at least; a case of kills has two on average."""


Show = Callable[[str], None]


@dataclass
class Tally:
    """``count``: cases, or kills; ``met``: how often what came of them; failures, each with how to repeat it."""

    count: int = 0
    met: Counter[str] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)

    @property
    def told(self) -> str:
        return f"{self.count} ({', '.join(f'{name}: {count}' for name, count in sorted(self.met.items()))})"


def played(part: str, seed: str, numbers: Iterable[int], jobs: int = 1, show: Show | None = None) -> Tally:
    """Play the cases of these numbers, ``jobs`` at once; ``show`` gets each failure as soon as it is there."""
    tally, numbers = Tally(), list(numbers)
    jobs = min(jobs, len(numbers))
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory(prefix="attnlab-campaign-")))
        nurseries: SimpleQueue[Nursery] = SimpleQueue()
        for _ in range(jobs):
            nurseries.put(stack.enter_context(Nursery()))
        template = _template(folder, nurseries)

        def one(number: int) -> None:
            case, nursery = Case(part, seed, number), nurseries.get()
            place = folder / f"{part}-{number}"
            place.mkdir()
            try:
                outcome = PLAYS[part](case, place, template, nursery)
            finally:
                nurseries.put(nursery)
                shutil.rmtree(place, ignore_errors=True)
            tally.count += outcome.count
            tally.met[outcome.met] += 1
            if outcome.wrong:
                tally.failures.append(f"{case.again}\n  {outcome.what}\n  {outcome.wrong}")
            if show is not None and sum(tally.met.values()) % 100 == 0:
                show(f"{part} from {numbers[0]}, so far {tally.told}; {len(tally.failures)} failures")
            if show is not None and (outcome.wrong or len(numbers) == 1):
                show(tally.failures[-1] if outcome.wrong else f"{outcome.what}: {outcome.met}")

        with ThreadPoolExecutor(jobs) as pool:
            list(pool.map(one, numbers))
    return tally


def _template(folder: Path, nurseries: SimpleQueue[Nursery]) -> Path:
    template, nursery = folder / "template", nurseries.get()
    template.mkdir()
    ended = nursery.call("tests.campaign.uses:build", str(template), cwd=template)
    nurseries.put(nursery)
    if ended.code:
        raise RuntimeError(f"The template cannot be made: {ended.err}")
    return template

"""Play many cases of one part, a few at once, and count how they were met."""

import shutil
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from queue import SimpleQueue
from tempfile import TemporaryDirectory

from tests.campaign import corruptions, inputs, kills
from tests.campaign.cases import Case
from tests.campaign.nursery import Nursery

PLAYS = {"inputs": inputs.play, "corruptions": corruptions.play, "kills": kills.play}
SIZES = {"inputs": 800, "corruptions": 800, "kills": 150}
"""Cases of a whole campaign."""
LEAST = {"inputs": 500, "corruptions": 500, "kills": 200}
"""What a whole campaign counts at least; a case of kills has 1.7 on average, since some come too late."""


Show = Callable[[str], None]


@dataclass
class Tally:
    """``count``: cases, or kills; ``met``: how often what came of them; failures, each with how to repeat it."""

    count: int = 0
    met: Counter[str] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        return f"{self.count} ({', '.join(f'{name}: {count}' for name, count in sorted(self.met.items()))})"


@dataclass(frozen=True)
class Ground:
    """Where cases are played: a folder, the template in it, and the processes from which cases are forked."""

    folder: Path
    template: Path
    nurseries: list[Nursery]


@contextmanager
def ground(jobs: int = 1) -> Iterator[Ground]:
    """For ``jobs`` cases at once. It takes as long as some twenty cases to make, so parts share one."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory(prefix="attnlab-campaign-")))
        nurseries = [stack.enter_context(Nursery()) for _ in range(jobs)]
        template = folder / "template"
        template.mkdir()
        ended = nurseries[0].call("tests.campaign.uses:build", str(template), cwd=template)
        if ended.code:
            raise RuntimeError(f"The template cannot be made: {ended.err}")
        yield Ground(folder, template, nurseries)


def played(part: str, seed: str, numbers: Iterable[int], on: Ground, show: Show | None = None) -> Tally:
    """Play the cases of these numbers; ``show`` gets each failure as soon as it is there, and how far it is."""
    tally, numbers = Tally(), list(numbers)
    free: SimpleQueue[Nursery] = SimpleQueue()
    for nursery in on.nurseries:
        free.put(nursery)

    def one(number: int) -> None:
        case, nursery = Case(part, seed, number), free.get()
        place = on.folder / f"{part}-{number}"
        place.mkdir()
        try:
            outcome = PLAYS[part](case, place, on.template, nursery)
        finally:
            free.put(nursery)
            shutil.rmtree(place, ignore_errors=True)
        tally.count += outcome.count
        tally.met[outcome.met] += 1
        if outcome.wrong:
            tally.failures.append(f"{case.again}\n  {outcome.what}\n  {outcome.wrong}")
        if show is not None and sum(tally.met.values()) % 100 == 0:
            show(f"{part} from {numbers[0]}, so far {tally}; {len(tally.failures)} failures")
        if show is not None and (outcome.wrong or len(numbers) == 1):
            show(tally.failures[-1] if outcome.wrong else f"{outcome.what}: {outcome.met}")

    with ThreadPoolExecutor(len(on.nurseries)) as pool:
        list(pool.map(one, numbers))
    return tally

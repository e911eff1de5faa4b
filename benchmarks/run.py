"""Measures what attnlab must reach, prints it and writes results.json beside this file.

Figures are ratios of things measured side by side in this run, in turns, on one thread, each by the least processor
time of its repetitions, which other work on the machine disturbs least; those of `texts` are times, and seeds side by
side are measured by the clock. Before anything is compared, both sides must be shown to compute the same. Exit code 1
if a floor is missed.
"""

import json
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

import agreement
import alignment
import cluster
import pages
import students
import sweeps
import texts
import topics
import torch
import translation
from networks import Training, classifying, copying, copying_operations, imdb_lengths, sms_lengths
from rich.console import Console
from rich.table import Table

from attnlab.models.recurrent import Recurrent
from attnlab.runs.environment import threads
from attnlab.seeds import torch_generator

RESULTS = Path(__file__).with_name("results.json")


@dataclass(frozen=True)
class Row:
    """One figure: ``value`` must be at least (or at most: ``bound``) ``floor``. ``gflops``: the machine's own rate."""

    name: str
    value: float
    floor: float
    unit: str
    bound: str
    gflops: float

    @property
    def reached(self) -> bool:
        """Whether the floor is kept."""
        return self.value <= self.floor if self.bound == "at most" else self.value >= self.floor


def least_seconds(*works: Callable[[], object], rounds: int) -> list[float]:
    """Of each work the least processor time of ``rounds`` in which all take turns."""
    least = [float("inf")] * len(works)
    for _ in range(rounds):
        for k, work in enumerate(works):
            started = time.process_time()
            work()
            least[k] = min(least[k], time.process_time() - started)
    return least


def matrix_product(size: int = 1024) -> Callable[[], object]:
    """A product of two square matrices, as large as the machine multiplies fastest."""
    a, b, c = (torch.ones(size, size) for _ in range(3))
    return lambda: torch.mm(a, b, out=c)


def rate(seconds: float, size: int = 1024) -> float:
    """GFLOP/s of a `matrix_product`."""
    return 2 * size**3 / seconds / 1e9


def check_same(ours: Training, library: Training) -> float:
    """Make one step of both and compare loss and gradients; the processor time of the library's step."""
    loss = ours.step()
    started = time.process_time()
    other_loss = library.step()
    seconds = time.process_time() - started
    gradients, others = (
        [loss] + [parameter.grad for parameter in training.network.parameters()]
        for training, loss in ((ours, loss), (library, other_loss))
    )
    largest = max(float(other.abs().max()) for other in others)
    for mine, other in zip(gradients, others, strict=True):
        # 1e-3: a gradient that is zero but for rounding, as that of a bias before a softmax, has no scale of its own
        if (mine - other).abs().max() > 1e-5 * max(float(other.abs().max()), 1e-3 * largest):
            sys.exit("The two networks differ: their times cannot be compared.")
    return seconds


def speed_up(training: Training, *, rounds: int) -> float:
    """How many times as long the same step takes on PyTorch's packed recurrences (0 rounds: timed once, checking)."""
    library = training.on_library()
    checked = check_same(training, library)
    if rounds == 0:
        (ours,) = least_seconds(training.step, rounds=3)
        return checked / ours
    ours, theirs = least_seconds(training.step, library.step, rounds=rounds)
    return theirs / ours


def length_ratio() -> float:
    """Forward and backward at lengths up to 1000 against the same batch at a quarter of each length."""
    generator = torch_generator(0, "lengths")
    network = Recurrent("lstm", 300, 256, bidirectional=True, generator=generator)
    embedding = torch.randn(1000, 300, generator=generator).requires_grad_()

    def work(longest: int) -> Callable[[], object]:
        lengths = imdb_lengths(longest=longest)
        texts = torch.randint(1000, (len(lengths), longest), generator=generator)
        return lambda: network(texts, lengths, embedding=embedding).states.sum().backward()

    short, long = least_seconds(work(250), work(1000), rounds=5)
    return long / short


def share_of_bound(training: Training) -> tuple[float, float]:
    """The time that a copying step's matrix products alone would take, as a share of the step's; GFLOP/s."""
    step, product = least_seconds(training.step, matrix_product(), rounds=15)
    gflops = rate(product)
    return copying_operations() / (gflops * 1e9) / step, gflops


def topic_rows(gflops: float) -> list[Row]:
    """P1's full-batch update against a plain one, narrow and wide, and with four times the sentences or words."""
    for size in (10, 200):
        if not topics.same(topics.sparse(size=size), topics.plain(size=size), updates=10):
            sys.exit("The two topic models differ: their times cannot be compared.")
    update, plainly = least_seconds(topics.sparse().step, topics.plain().step, rounds=30)
    broad, broadly = least_seconds(topics.sparse(size=200).step, topics.plain(size=200).step, rounds=10)
    long, short = topics.sparse(sentences=20_000), topics.sparse(sentences=5000)
    more, once = least_seconds(long.step, short.step, rounds=60)
    wide, narrow = least_seconds(topics.sparse(others=80).step, topics.sparse(others=20).step, rounds=60)
    grown, faster = "times the time", "times as fast as a plain one"
    return [
        Row("topic update", plainly / update, 3.0, faster, "at least", gflops),
        Row("topic update, embeddings of 200", broadly / broad, 30.0, faster, "at least", gflops),
        Row("topic update, 20,000 against 5000 sentences", more / once, 4.6, grown, "at most", gflops),
        Row("topic update, 80 against 20 other words", wide / narrow, 4.6, grown, "at most", gflops),
    ]


def agreement_rows(gflops: float) -> list[Row]:
    """A and tau of all rows of two score fields against a loop over rows with SciPy."""
    rows = []
    for corpus, lengths, floor in (("SST", agreement.sst_lengths(), 30.0), ("IMDB", agreement.imdb_lengths(), 5.0)):
        for measure, pair, least in (
            ("A", agreement.top_pair(lengths), 100.0),
            ("tau", agreement.tau_pair(lengths), floor),
        ):
            ours, loop = least_seconds(*pair, rounds=3)
            name = f"{measure} at {corpus} lengths"
            rows.append(Row(name, loop / ours, least, "times as fast as a loop over rows", "at least", gflops))
    return rows


def student_rows(gflops: float) -> list[Row]:
    """Starts side by side against one after the other; starts to stationarity; a user's own texts."""
    rows = []
    for samples, floor in ((50, 10.0), (2000, 2.0)):
        together, in_turn, same = students.starts(samples)
        ours, others = least_seconds(together, in_turn, rounds=3)
        if not same():
            sys.exit("Starts side by side end elsewhere than one after the other: their times cannot be compared.")
        name = f"{students.STARTS} starts side by side, n = {samples}"
        rows.append(Row(name, others / ours, floor, "times as fast as one after the other", "at least", gflops))
    seconds, arrived = students.stationarity()
    one_core = "seconds of processor time"
    return [
        *rows,
        Row(f"200 starts to stationarity, n = 2000 ({arrived} arrive)", seconds, 300.0, one_core, "at most", gflops),
        Row("samples on 5000 texts of 100 words", students.own_texts(), 600.0, one_core, "at most", gflops),
    ]


def sweep_row(gflops: float) -> Row:
    """Seeds side by side against one alone, by the clock; what the machine itself loses stands in the name."""
    seeds, ratio, products = sweeps.side_by_side()
    name = f"copying update, {seeds} seeds side by side (matrix products: {products:.2f})"
    return Row(name, ratio, 1.1, "times the time of one alone", "at most", gflops)


def measure() -> list[Row]:
    """All rows that need no corpus, in a few minutes."""
    share, gflops = share_of_bound(copying())
    faster = "times as fast as packed nn.LSTM"
    return [
        Row("copying step", speed_up(copying(), rounds=10), 1.5, faster, "at least", gflops),
        Row("SMS-like step", speed_up(classifying(sms_lengths(), 4691), rounds=10), 2.0, faster, "at least", gflops),
        Row("IMDB-like step", speed_up(classifying(imdb_lengths(), 60338), rounds=0), 25.0, faster, "at least", gflops),
        Row("length 1000 against 250", length_ratio(), 4.6, "times the time", "at most", gflops),
        Row("copying step, share of the bound", share, 0.65, "of the matrix-product rate", "at least", gflops),
        sweep_row(gflops),
        *topic_rows(gflops),
        *agreement_rows(gflops),
        *student_rows(gflops),
    ]


def translation_rows(gflops: float) -> tuple[list[Row], list[str]]:
    """The translator's, and why they are left out: its step is the mean over batches, each by its least time."""
    bitext, left_out = translation.bitext()
    if bitext is None:
        return [], left_out
    ours, theirs, bound = 0.0, 0.0, 0.0
    for batch in translation.batches(bitext):
        step, library = translation.both(bitext, batch)
        check_same(step, library)
        seconds = least_seconds(step.step, library.step, matrix_product(), rounds=8)
        ours, theirs = ours + seconds[0], theirs + seconds[1]
        bound += translation.operations(batch) / (rate(seconds[2]) * 1e9)
    faster, share = "times as fast as packed nn.LSTM", "of the matrix-product rate"
    figures = translation.times(bitext)
    return [
        Row("translator step", theirs / ours, 1.35, faster, "at least", gflops),
        Row("translator step, share of the bound", bound / ours, 0.7, share, "at least", gflops),
        *(Row(**asdict(figure), gflops=gflops) for figure in figures),
    ], []


def measure_corpora(gflops: float) -> tuple[list[Row], list[str]]:
    """The rows of `alignment`, `texts`, `cluster` and `translation`, which mostly read corpora, and of `pages`; and why
    some are left out.
    """
    rows, left_out = translation_rows(gflops)
    for part in (alignment, texts, cluster, pages):
        figures, missing = part.measure()
        rows += [Row(**asdict(figure), gflops=gflops) for figure in figures]
        left_out += missing
    return rows, left_out


def show(rows: list[Row], left_out: list[str]) -> None:
    """Print the rows as a table, and below it what is not there."""
    table = Table(title=f"One thread, {rows[0].gflops:.0f} GFLOP/s")
    for column in ("work", "measured", "", "floor", ""):
        table.add_column(column, justify="right" if column in ("measured", "floor") else "left")
    for row in rows:
        verdict = "[green]reached[/]" if row.reached else "[red]missed[/]"
        table.add_row(row.name, f"{row.value:.2f}", row.unit, f"{row.bound} {row.floor:g}", verdict)
    Console().print(table)
    for sentence in left_out:
        Console().print(f"Left out: {sentence}", highlight=False)


def main() -> int:
    """Measure, write, print."""
    with threads(1), Console().status("Measuring; most of it is PyTorch's IMDB-like step"):
        rows = measure()
        more, left_out = measure_corpora(rows[0].gflops)
        rows += more
    RESULTS.write_text(json.dumps([asdict(row) for row in rows], indent=2) + "\n", encoding="utf-8")
    show(rows, left_out)
    return 0 if all(row.reached for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())

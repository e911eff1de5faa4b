"""IBM Model 1 from files to a table in memory and alignments on disk, against other implementations and against itself.

Everything here runs on one thread and is measured by processor time. What a row needs is not always there: fast_align
is looked for on the PATH and, as systran-align has it, among the packages; eflomal and NLTK are imported, corpora come
from the folder that ATTNLAB_DATA names. A row that cannot be measured is left out, and the reason is told.
"""

import gzip
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from memory import peak_gigabytes

ITERATIONS = 5
ROUNDS = 3


@dataclass(frozen=True)
class Figure:
    """A measured figure: its name, value, floor, unit, and whether the floor is a least or a most."""

    name: str
    value: float
    floor: float
    unit: str
    bound: str


def measure() -> tuple[list[Figure], list[str]]:
    """The figures that can be had here, and a sentence for each that cannot."""
    root = os.environ.get("ATTNLAB_DATA")
    if not root:
        return [], ["Alignment and forecast: set ATTNLAB_DATA to a folder that holds multi30k and hansards_enfr."]
    figures: list[Figure] = []
    left_out: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        for work in (against_others, against_itself, forecast):
            found, missing = work(Path(root), Path(folder))
            figures += found
            left_out += missing
    return figures, left_out


# --- Multi30k


def against_others(root: Path, folder: Path) -> tuple[list[Figure], list[str]]:
    """How many times as long others take for the German and English captions."""
    source, target = (root / "multi30k" / f"train.{side}.gz" for side in ("de", "en"))
    if not source.is_file() or not target.is_file():
        return [], [f"IBM-1 against others: {root} has no multi30k/train.de.gz and train.en.gz."]
    plain = [folder / "source", folder / "target"]
    for path, to in zip((source, target), plain, strict=True):
        to.write_bytes(gzip.decompress(path.read_bytes()))
    figures, left_out = [], []
    for name, floor, missing, prepare in (
        ("fast_align", 2.0, "put fast_align on the PATH or install systran-align", fast_align),
        ("eflomal", 4.0, "install eflomal, which needs a C compiler", eflomal),
        ("NLTK", 15.0, "install nltk", nltk),
    ):
        their_work = prepare(plain[0], plain[1], folder)
        if their_work is None:
            left_out.append(f"IBM-1 against {name}: {missing}.")
            continue
        ours, theirs = float("inf"), float("inf")
        for _ in range(1 if name == "NLTK" else ROUNDS):  # NLTK takes long enough
            ours = min(ours, least(lambda: align_files(plain[0], plain[1], folder / "links"), ROUNDS))
            theirs = min(theirs, their_work())
        title = f"IBM-1 on Multi30k, {ours:.2f} s"
        figures.append(Figure(title, theirs / ours, floor, f"times as fast as {name}", "at least"))
    return figures, left_out


def align_files(source: Path, target: Path, out: Path) -> None:
    """Our work, from files to files."""
    from attnlab.data.sentence_pairs import read_pairs
    from attnlab.theory.aligner import align, pharaoh

    pairs = read_pairs(source, target)
    aligned = align(pairs, direction="forward", iterations=ITERATIONS, null=False)
    out.write_bytes(pharaoh(aligned.alignment))


Work = Callable[[], float]
"""Does the work and tells its seconds."""


def fast_align(source: Path, target: Path, folder: Path) -> Work | None:
    """fast_align as plain Model 1: no diagonal, no Dirichlet prior, no NULL.

    As systran-align has it, it trains both directions and writes their tables but no alignment: half its time is less
    than what one direction takes from files to files.
    """
    joined = folder / "joined"
    lines = zip(*(path.read_text(encoding="utf-8").split("\n")[:-1] for path in (source, target)), strict=True)
    joined.write_text("".join(f"{s} ||| {t}\n" for s, t in lines), encoding="utf-8")
    command = ["fast_align", "-i", str(joined), "-I", str(ITERATIONS), "-N"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}

    def program() -> None:
        with (folder / "theirs").open("wb") as out:
            subprocess.run(command, stdout=out, stderr=subprocess.DEVNULL, check=True, env=environment)

    if shutil.which("fast_align"):
        return lambda: child_seconds(program)
    if not importlib.util.find_spec("systran_align"):
        return None
    tables = [str(folder / name) for name in ("forward", "backward")]
    options = {"iterations": ITERATIONS, "favor_diagonal": False, "variational_bayes": False, "no_null_word": True}
    call = (
        f"import systran_align; systran_align.generate_alignment_probabilities(*{[str(joined), *tables]}, **{options})"
    )

    def package() -> None:
        subprocess.run([sys.executable, "-c", call], capture_output=True, check=True, env=environment)

    return lambda: child_seconds(package) / 2


def eflomal(source: Path, target: Path, folder: Path) -> Work | None:
    """eflomal with Model 1 alone, in the one direction, and the three samplers that it takes unless told."""
    if not importlib.util.find_spec("eflomal"):
        return None
    from eflomal import Aligner

    aligner = Aligner(model=1, n_iterations=(ITERATIONS, 0, 0))

    def work() -> None:
        with source.open(encoding="utf-8") as s, target.open(encoding="utf-8") as t:
            aligner.align(s, t, links_filename_fwd=str(folder / "theirs"), quiet=True)

    return lambda: child_seconds(work)


def nltk(source: Path, target: Path, folder: Path) -> Work | None:
    """NLTK, which aligns the sentences while it is trained."""
    if not importlib.util.find_spec("nltk"):
        return None
    from nltk.translate import AlignedSent, IBMModel1

    def work() -> None:
        sides = [[line.split() for line in path.read_text(encoding="utf-8").splitlines()] for path in (source, target)]
        sentences = [AlignedSent(t, s) for s, t in zip(*sides, strict=True)]
        IBMModel1(sentences, ITERATIONS)
        lines = (" ".join(f"{i}-{j}" for j, i in sentence.alignment if i is not None) for sentence in sentences)
        (folder / "theirs").write_text("\n".join(lines), encoding="utf-8")

    return lambda: least(work, 1)


# --- Hansards


def against_itself(root: Path, folder: Path) -> tuple[list[Figure], list[str]]:
    """All of the Hansards against their first tenth, each in a process of its own, and its largest memory."""
    from attnlab.data.reading import read_utf8

    files = [root / "hansards_enfr" / f"training.{side}.xz" for side in ("en", "fr")]
    if not all(path.is_file() for path in files):
        return [], [f"IBM-1 on the Hansards: {root} has no hansards_enfr/training.en.xz and training.fr.xz."]
    lines = [read_utf8(path).splitlines(keepends=True) for path in files]
    sizes = {"tenth": len(lines[0]) // 10, "whole": len(lines[0])}
    for name, size in sizes.items():
        for side, text in zip(("en", "fr"), lines, strict=True):
            (folder / f"{name}.{side}").write_bytes(b"".join(text[:size]))
    seconds = dict.fromkeys(sizes, float("inf"))
    memory = 0.0
    for _ in range(ROUNDS):
        for name in sizes:
            told = alone(folder / f"{name}.en", folder / f"{name}.fr", folder / "links")
            seconds[name] = min(seconds[name], told["seconds"])
            memory = max(memory, told["gigabytes"])
    ratio = seconds["whole"] / seconds["tenth"]
    name = f"IBM-1 on {sizes['whole']} Hansards pairs, {seconds['whole']:.1f} s"
    return [
        Figure(name, ratio, 12.0, "times the time of a tenth", "at most"),
        Figure("the same, largest memory", memory, 3.0, "GB", "at most"),
    ], []


def alone(source: Path, target: Path, out: Path) -> dict[str, float]:
    """Processor seconds and largest memory of `align_files` in a process of its own."""
    command = [sys.executable, __file__, str(source), str(target), str(out)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    told: dict[str, float] = json.loads(done.stdout)
    return told


# --- forecast


def forecast(root: Path, folder: Path) -> tuple[list[Figure], list[str]]:
    """``attnlab forecast`` on Multi30k, as a user calls it."""
    sides = [root / "multi30k" / f"train.{side}.gz" for side in ("de", "en")]
    if not all(path.is_file() for path in sides):
        return [], [f"forecast: {root} has no multi30k/train.de.gz and train.en.gz."]
    command = [sys.executable, "-m", "attnlab", "forecast", "--source", str(sides[0]), "--target", str(sides[1])]
    seconds = child_seconds(lambda: subprocess.run(command, capture_output=True, check=True, cwd=folder))
    return [Figure("forecast on Multi30k", seconds, 10.0, "s", "at most")], []


# --- clocks


def least(work: Callable[[], object], rounds: int) -> float:
    """The least processor time of several rounds."""
    times = []
    for _ in range(rounds):
        started = time.process_time()
        work()
        times.append(time.process_time() - started)
    return min(times)


def child_seconds(work: Callable[[], object]) -> float:
    """Processor time of ``work`` and of the processes that it started and waited for."""
    before = os.times()
    work()
    after = os.times()
    return sum(after[:4]) - sum(before[:4])


if __name__ == "__main__":
    # One alignment, told as JSON: what `alone` starts. Reading Arrow's and SciPy's code is not what is measured.
    from attnlab.theory import aligner  # noqa: F401

    spent = least(lambda: align_files(*map(Path, sys.argv[1:])), 1)
    print(json.dumps({"seconds": spent, "gigabytes": peak_gigabytes()}))

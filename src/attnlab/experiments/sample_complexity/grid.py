"""The grid of sample-complexity: which students learn from which teachers, at which sizes."""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

from attnlab.experiments.teacher.cells import Cell
from attnlab.families.teacher.spec import StudentSpec, TeacherSpec
from attnlab.lab.claims import Preset

SIZES: dict[Preset, tuple[int, ...]] = {
    "quick": (50, 100, 200, 400, 800),
    "reduced": (25, 50, 100, 200, 400, 800, 1600, 3200),
    "paper": (25, 50, 100, 200, 400, 800, 1600, 3200),
}
"""n. Self-attention, whose every step costs p times as much, ends at `MOST_WORDS`."""
MOST_WORDS = 1600
FEATURES = TeacherSpec(form="features", inputs=50, relevant=5, hidden=10, samples=1, tests=1000)
WORDS = TeacherSpec(form="words", inputs=10, relevant=2, size=6, hidden=10, value_size=4, samples=1, tests=1000)
FIXED, BY_INPUT, SOFTMAX = "features, fixed", "features, by input", "features, softmax"
WORDS_FIXED, WORDS_BY_INPUT = "words, fixed", "words, by input"
LAYERS = {2: "words, two layers", 3: "words, three layers"}

BASELINE = StudentSpec(network="baseline")
KNOWN = StudentSpec(network="known")
ATTENTION = StudentSpec(network="attention")
STUDENTS = {
    "baseline": BASELINE,
    "known attention": KNOWN,
    "self-attention": ATTENTION,
    "self-attention, root scale": ATTENTION.model_copy(update={"scale": "root"}),
    "self-attention, pooled": ATTENTION.model_copy(update={"readout": "pooled"}),
    "uniform attention": ATTENTION.model_copy(update={"attention": "uniform"}),
    "values alone": ATTENTION.model_copy(update={"attention": "own"}),
}
"""Pooled read-out, uniform weights and values without attention are ours."""


def drawn(teacher: TeacherSpec, samples: int, problems: int) -> TeacherSpec:
    """The task with this sample."""
    return teacher.model_copy(update={"samples": samples, "problems": problems})


def curve(
    task: str, student: str, teacher: TeacherSpec, sizes: Sequence[int], model: StudentSpec | None = None, **at: Any
) -> Iterator[Cell]:
    """A student at all sample sizes."""
    model = model or STUDENTS[student]
    attends = model.network == "attention" and model.attention == "learned"
    for n in sizes:
        if not (attends and n > MOST_WORDS):
            yield Cell(task, student, n, partial(drawn, teacher), model, at=tuple(at.items()))


def cells(preset: Preset) -> list[Cell]:
    """All cells of a preset; `quick` has the centre of the grid alone."""
    sizes, grid = SIZES[preset], list[Cell]()
    for task, relevance in ((FIXED, "fixed"), (BY_INPUT, "input"), (SOFTMAX, "softmax")):
        teacher = FEATURES.model_copy(update={"relevance": relevance})
        for student in ("baseline", "known attention"):
            grid += curve(task, student, teacher, sizes)
    for task, relevance in ((WORDS_FIXED, "fixed"), (WORDS_BY_INPUT, "input")):
        teacher = WORDS.model_copy(update={"relevance": relevance})
        for student in ("baseline", "self-attention", "self-attention, pooled", "uniform attention", "values alone"):
            if preset != "quick" or student in ("baseline", "self-attention"):
                grid += curve(task, student, teacher, sizes)
    grid += curve(WORDS_FIXED, "self-attention, root scale", WORDS, sizes) if preset != "quick" else ()
    for layers, task in LAYERS.items():
        teacher = WORDS.model_copy(update={"layers": layers})
        deep = ATTENTION.model_copy(update={"layers": layers})
        if preset != "quick" or layers == 2:
            grid += curve(task, "baseline", teacher, sizes)
            grid += curve(task, "self-attention", teacher, sizes, deep)
    return grid if preset == "quick" else grid + list(varied(sizes))


P_FEATURES, S0_FEATURES, D_FEATURES = (12, 25, 100), (2, 20), (5, 20)
P_WORDS, S0_WORDS = (5, 20), (1, 5)


def varied(sizes: Sequence[int]) -> Iterator[Cell]:
    """The arms of the grid: p, s0 and d of the centre changed one at a time."""
    for student in ("baseline", "known attention"):
        for key, what, values in (
            ("inputs", "p", P_FEATURES),
            ("relevant", "s0", S0_FEATURES),
            ("hidden", "d", D_FEATURES),
        ):
            for value in values:
                teacher = FEATURES.model_copy(update={key: value})
                model = STUDENTS[student].model_copy(update={"hidden": teacher.hidden})
                most = [*sizes, 2 * sizes[-1]] if (student, value) == ("baseline", 100) else sizes
                yield from curve(FIXED, student, teacher, most, model, **{what: value})
    for student in ("baseline", "self-attention", "self-attention, pooled"):
        for p in P_WORDS:
            yield from curve(WORDS_FIXED, student, WORDS.model_copy(update={"inputs": p}), sizes, p=p)
    for student in ("self-attention", "self-attention, pooled"):
        for s0 in S0_WORDS:
            teacher = WORDS.model_copy(update={"relevance": "input", "relevant": s0})
            yield from curve(WORDS_BY_INPUT, student, teacher, sizes, s0=s0)

"""Curves of accuracy against n: planted answers, extrapolation against known laws, bad input, the command line."""

import csv
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from attnlab.cli.main import app
from attnlab.data.texts import read_texts
from attnlab.errors import UsageError
from attnlab.measures.samples import MODELS, curves_from, halves, samples
from attnlab.stats.learning_curve import STEADIER, extrapolate, spread


def write_texts(path: Path, count: int = 200, classes: int = 2, seed: int = 0) -> Path:
    """Texts with one word of their class among eight others."""
    generator = np.random.default_rng(seed)
    with path.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream)
        writer.writerow(["text", "label"])
        for row in range(count):
            words = [f"w{word}" for word in generator.integers(0, 30, 8)] + [f"class{row % classes}"]
            writer.writerow([" ".join(generator.permutation(words)), f"c{row % classes}"])
    return path


def test_a_planted_word_is_learned_by_all(tmp_path: Path) -> None:
    found = samples(read_texts(write_texts(tmp_path / "a.csv")), repeats=2, sizes=[40, 160])
    for model in MODELS:
        assert np.mean(found.errors[model][160]) < 0.1
        assert [len(values) for values in found.errors[model].values()] == [2, 2]
    assert found.tests == 40
    assert found.expected["attention"] is None  # two sizes say nothing about a third


def test_the_same_texts_give_the_same_numbers(tmp_path: Path) -> None:
    texts = read_texts(write_texts(tmp_path / "a.csv", classes=3))
    first, again = (samples(texts, repeats=2, sizes=[30]).errors for _ in range(2))
    assert first == again


@pytest.mark.parametrize(("gains", "answer"), [([-0.1, 0.05, 0.05], 200), ([0.05] * 3, 100), ([0.1, 0.1, -0.1], None)])
def test_where_attention_pays(gains: list[float], answer: int | None) -> None:
    sizes = (100, 200, 400)
    errors = {
        model: {
            n: [0.3 - (gain if model == "attention" else 0.0) + 0.001 * k for k in range(5)]
            for n, gain in zip(sizes, gains, strict=True)
        }
        for model in MODELS
    }
    found = curves_from(errors, texts=500, tests=100, classes=("a", "b"))
    assert found.pays_from == answer
    assert (f"from {answer} texts" if answer else "does not pay") in found.sentence


def one_law(n: int, rest: float, rate: float, noise: Any) -> Any:
    """Trainings with a spread that falls with n as it did on SMS, SST and AG News."""
    return rest + 2 * n**-rate / 3 + 0.01 * (n / 1000) ** -0.45 * noise


@pytest.mark.parametrize(("rest", "rate"), [(0.0, 0.3), (0.1, 0.5), (0.2, 1.0)])
def test_extrapolation_of_known_laws_covers(rest: float, rate: float) -> None:
    """Of 60 noisy curves, the error of a training at twice the data lies in the 90 % interval of most."""
    generator, inside, widths = np.random.default_rng(0), 0, []
    sizes = (62, 125, 250, 500, 1000)
    for _ in range(60):
        errors = {n: one_law(n, rest, rate, generator.normal(size=5)).tolist() for n in sizes}
        found = extrapolate(errors, 2000)
        truth = one_law(2000, rest, rate, generator.normal())
        inside += found.low <= truth <= found.high
        widths.append(found.high - found.low)
    assert inside >= 51
    assert np.median(widths) <= 0.1


def test_an_error_that_has_only_begun_to_fall_is_expected_to_go_on() -> None:
    """Nearly flat at chance, then falling faster and faster in log n: a plain power of n would miss what follows."""
    errors = {n: [0.5 * (1 + n / 400) ** -1.2 + 0.002 * k for k in (-2, -1, 0, 1, 2)] for n in (50, 100, 200, 400)}
    found = extrapolate(errors, 1600)
    assert found.low <= 0.5 * 5**-1.2 <= found.high
    assert found.error < np.mean(errors[400]) / 2


def test_spread_is_that_of_trainings_and_falls_with_n() -> None:
    generator = np.random.default_rng(0)
    errors = {n: generator.normal(0.3, 0.2 * n**-STEADIER, 400).tolist() for n in (8, 64)}
    assert spread(errors, 8) == pytest.approx(0.1, rel=0.1)
    assert spread(errors, 512) == pytest.approx(0.025, rel=0.1)
    assert spread({10: [0.3]}, 20) == 0.01


def test_halves_keep_the_classes() -> None:
    assert halves(100, 2) == [50, 100]
    assert halves(4000, 50) == [250, 500, 1000, 2000, 4000]


@pytest.mark.parametrize(
    "errors", [{1: [0.1], 2: [0.1]}, {1: [0.1], 2: [math.nan], 3: [0.1]}, {1: [], 2: [0.1], 3: [0.1]}]
)
def test_bad_curves_are_refused(errors: dict[int, list[float]]) -> None:
    with pytest.raises(UsageError):
        extrapolate(errors, 10)


def test_the_command_writes_page_and_numbers(tmp_path: Path) -> None:
    path = write_texts(tmp_path / "a.csv")
    arguments = [
        "samples",
        str(path),
        "--repeats",
        "2",
        "--size",
        "20",
        "--size",
        "40",
        "--size",
        "80",
        "--out",
        str(tmp_path / "out"),
    ]
    result = CliRunner().invoke(app, [*arguments, "--json"])
    assert result.exit_code == 0, result.output
    numbers = json.loads((tmp_path / "out" / "samples.json").read_text())
    assert {row["n"] for row in numbers["curves"]} == {20, 40, 80}
    assert numbers["expected"]["attention"]["n"] == 160
    page = (tmp_path / "out" / "samples.html").read_text(encoding="utf-8")
    assert "we expect" in page


@pytest.mark.parametrize(
    ("rows", "options", "words"),
    [
        ([("a b", "x")] * 100, {}, "all texts have the label 'x'"),
        ([("a b", "x")] * 97 + [("c", "y")] * 3, {}, "'y' has 3 texts"),
        ([("a b", "x"), ("c", "y")] * 10, {}, "20 texts; a curve needs 80"),
        ([("a b", "x"), ("c", "y")] * 60, {"sizes": [5000]}, "cannot be drawn"),
        ([("a b", "x"), ("c", "y")] * 60, {"sizes": [1]}, "cannot keep all 2 classes"),
    ],
)
def test_texts_that_cannot_be_used_are_refused(
    tmp_path: Path, rows: list[tuple[str, str]], options: dict, words: str
) -> None:
    path = tmp_path / "a.csv"
    path.write_text("text,label\n" + "".join(f"{text},{label}\n" for text, label in rows))
    with pytest.raises(UsageError, match=words):
        samples(read_texts(path), repeats=2, **options)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--size", "0"], "--size 0 leaves nothing to train on"),
        (["--size", "20", "--size", "161"], "160 texts are there to train on"),
        (["--text", "review"], "review"),
    ],
)
def test_the_command_refuses_in_a_sentence(tmp_path: Path, options: list[str], words: str) -> None:
    result = CliRunner().invoke(app, ["samples", str(write_texts(tmp_path / "a.csv")), *options])
    assert isinstance(result.exception, UsageError)
    assert words in str(result.exception)


def test_curves_are_saved_as_their_name_says(tmp_path: Path) -> None:
    errors = {model: {n: [0.3, 0.2] for n in (10, 20, 40)} for model in MODELS}
    found = curves_from(errors, texts=50, tests=10, classes=("a", "b"))
    numbers = json.loads(found.save(tmp_path / "s.json", "<b>mine</b>").read_text(encoding="utf-8"))
    assert numbers["data"] == "<b>mine</b>"
    assert numbers["curves"][0]["accuracy"] == pytest.approx(0.75)
    page = found.save(str(tmp_path / "s.html"), "<b>mine</b>").read_text(encoding="utf-8")
    assert "&lt;b&gt;mine" in page
    assert "<b>mine" not in page
    with pytest.raises(UsageError, match=r"\.html .* or \.json"):
        found.save(tmp_path / "s.txt")


def test_too_few_trainings_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="repeats = 1"):
        samples(read_texts(write_texts(tmp_path / "a.csv")), repeats=1)

"""The committed result of sample-complexity: its page says what its tables say."""

import csv
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TABLES = ROOT / "results" / "sample-complexity" / "reduced" / "tables"
PAGE = ROOT / "src" / "attnlab" / "experiments" / "sample_complexity" / "README.md"


def rows(table: str) -> list[dict[str, str]]:
    with (TABLES / f"{table}.csv").open(newline="", encoding="utf-8") as lines:
        return list(csv.DictReader(lines))


def centre(task: str, student: str) -> dict[str, str]:
    (row,) = [
        row
        for row in rows("needed")
        if (row["task"], row["student"]) == (task, student) and not row["p"] + row["s0"] + row["d"]
    ]
    return row


@pytest.mark.parametrize(
    ("task", "student", "said"),
    [
        ("features, fixed", "baseline", "| 1733 |"),
        ("features, fixed", "known attention", "| 63 |"),
        ("features, by input", "known attention", "| 1661 |"),
        ("features, softmax", "known attention", "| 1985 |"),
        ("words, fixed", "baseline", "| 1130 |"),
        ("words, fixed", "self-attention", "| 600 |"),
        ("words, by input", "self-attention", "| 645 |"),
        ("words, two layers", "baseline", "| 913 |"),
        ("words, two layers", "self-attention", "| 287 |"),
        ("words, three layers", "baseline", "| 881 |"),
        ("words, three layers", "self-attention", "| 250 |"),
        ("words, fixed", "values alone", " 833 samples"),
        ("words, fixed", "self-attention, root scale", " 586 samples"),
        ("words, fixed", "self-attention, pooled", "168"),
    ],
)
def test_samples_needed(task: str, student: str, said: str) -> None:
    assert f"{float(centre(task, student)['needed']):.0f}" == said.strip("| ").removesuffix(" samples")
    assert said in PAGE.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("task", "student"),
    [
        ("features, by input", "baseline"),
        ("features, softmax", "baseline"),
        ("words, by input", "baseline"),
        ("words, by input", "values alone"),
        ("words, by input", "uniform attention"),
        ("words, fixed", "uniform attention"),
    ],
)
def test_those_that_never_get_there(task: str, student: str) -> None:
    row = centre(task, student)
    assert (row["inside"], row["above"]) == ("0", "20")


@pytest.mark.parametrize(
    ("task", "student", "size", "said"),
    [
        ("features, fixed", "baseline", "p", "1.28 (1.21 to 1.35)"),
        ("words, fixed", "self-attention", "p", "0.68 (0.47 to 0.87)"),
    ],
)
def test_growth(task: str, student: str, size: str, said: str) -> None:
    (row,) = [row for row in rows("growth") if (row["task"], row["student"], row["size"]) == (task, student, size)]
    exponent, low, high = (float(row[name]) for name in ("exponent", "low", "high"))
    assert f"{exponent:.2f} ({low:.2f} to {high:.2f})" == said
    assert said in PAGE.read_text(encoding="utf-8")

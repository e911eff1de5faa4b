"""sample-complexity, design and sample-complexity-real, on planted curves: what is read, decided, tabled and drawn."""

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tests.lab.drawn import marks

from attnlab.experiments.sample_complexity_real import experiment as real
from attnlab.lab.claims import load_claims
from attnlab.lab.experiment import Experiment, Order
from attnlab.lab.registry import EXPERIMENTS
from attnlab.runs.loop import Trained

LEVEL = 0.1
REDUCED = Order("reduced")
Needs = Callable[[str, str, dict[str, str]], float]
"""The samples that a student needs for the error asked for: (task, student, what is varied) -> n."""
LABEL = re.compile(
    r"(?P<task>[^:=]*?)(, (?P<what>p|s0|d|option) = (?P<value>[^:]*))?: (?P<student>.*), n = (?P<n>\d+), seed 0"
)


def planted(name: str, needs: Needs, order: Order = REDUCED) -> Experiment:
    """The story of an experiment whose students' errors fall like 1 / n and reach 0.1 where ``needs`` says.

    Problems differ by a few per cent. Every run has an evaluation with a smaller test error and a larger validation
    loss, which must not be chosen.
    """
    done = {}
    for job in EXPERIMENTS[name].plan(order, {}):
        found = LABEL.fullmatch(job.label)
        assert found, job.label
        at = {found["what"]: found["value"]} if found["what"] else {}
        rows: list[dict[str, float]] = [{"step": 0}, {"step": 25}, {"step": 50}]
        for k in range(job.spec.task.problems):
            error = LEVEL * needs(found["task"], found["student"], at) / int(found["n"]) * (1 + 0.03 * (k % 5 - 2))
            for row, valid, test in zip(rows, (3.0, 1.0, 2.0), (9.0, error, error / 100), strict=True):
                row |= {f"valid_{k}": valid, f"test_{k}": test}
        done[job.spec.id] = Trained(job.spec.id, rows, 50)
    return EXPERIMENTS[name].story(order, EXPERIMENTS[name].outcomes(order, done))


def all_verdicts(story: Experiment) -> set[str]:
    return {part.verdict for finding in story.findings() for part in finding.parts}


def verdicts(story: Experiment) -> dict[str, list[str]]:
    return {finding.claim: [part.verdict for part in finding.parts] for finding in story.findings()}


def grown(task: str, student: str, at: dict[str, str]) -> float:
    """Attention needs 150 samples whatever p is, more where few words are relevant; the baseline 8 p or 40 p."""
    if "attention" in student:
        return 150 / int(at["s0"]) * 2 if task == "words, by input" and "s0" in at else 150
    return 8 * int(at.get("p", 10 if task.startswith("words") else 50)) * (5 if task.startswith("words") else 1)


@pytest.fixture(scope="module")
def complexity() -> Experiment:
    return planted("sample-complexity", grown)


def test_attention_that_needs_less_holds(complexity: Experiment) -> None:
    found = verdicts(complexity)
    assert found == {
        "attention-fewer-samples": ["holds"] * 3,
        "learned-attention-fewer-samples": ["holds"] * 2,
        "deeper-attention-fewer-samples": ["holds"] * 2,
        "samples-grow-with-p": ["holds"] * 2,
        "relevant-share-saves-samples": ["holds"],
    }
    parts = {part.name: part for finding in complexity.findings() for part in finding.parts}
    assert parts["features, fixed (both express it)"].effect == pytest.approx(np.log2(400 / 150), abs=1e-9)
    assert parts["features, by input (the baseline cannot express it)"].effect == pytest.approx(np.log2(400 / 150))
    assert parts["without attention"].effect == pytest.approx(1.0, abs=0.01)
    assert parts["known attention"].effect == pytest.approx(0.0, abs=0.01)
    assert parts["self-attention"].effect == pytest.approx(1.0, abs=0.1)


def test_the_other_way_round_it_fails() -> None:
    def needs(task: str, student: str, at: dict[str, str]) -> float:
        if task == "words, by input" and "s0" in at:
            return 60 * int(at["s0"])  # fewer relevant words, fewer samples
        return grown(task, "baseline" if "attention" in student else "self-attention", {} if "s0" in at else at)

    assert all_verdicts(planted("sample-complexity", needs)) == {"fails"}


def test_a_baseline_that_never_gets_there_counts_with_the_largest_size() -> None:
    result = planted("sample-complexity", lambda _t, s, _a: 100 if "attention" in s else 1e6)
    (first, *_), *_ = (finding.parts for finding in result.findings())
    assert first.effect == pytest.approx(np.log2(3200 / 100), abs=0.01)
    assert "in 20 the model without never gets there" in first.detail


def test_neither_at_the_error_says_nothing() -> None:
    result = planted("sample-complexity", lambda *_: 1e6)
    assert all_verdicts(result) == {"undecided"}
    assert "growth" not in result.record.tables
    assert all(row["needed"] is None and row["above"] == 20 for row in result.record.tables["needed"])


def test_quick_and_few_problems_decide_nothing() -> None:
    for order in (Order("quick"), Order("reduced", seeds=5)):
        assert all_verdicts(planted("sample-complexity", grown, order)) == {"undecided"}


def test_the_tables_keep_every_problem(complexity: Experiment) -> None:
    tables = complexity.record.tables
    needed = {(row["task"], row["student"], row["p"], row["s0"], row["d"]): row for row in tables["needed"]}
    assert needed["features, fixed", "baseline", 100, None, None]["needed"] == pytest.approx(800, rel=0.01)
    assert needed["features, fixed", "known attention", None, None, None]["inside"] == 20
    rows = [row for row in tables["errors"] if (row["task"], row["student"]) == ("words, fixed", "baseline")]
    assert {row["problem"] for row in rows} == set(range(20))
    growth = {(row["task"], row["student"], row["size"]): row for row in tables["growth"]}
    assert growth["features, fixed", "baseline", "p"]["sizes"] == "12 25 50 100"
    assert growth["words, by input", "self-attention", "s0"]["exponent"] == pytest.approx(-1.0, abs=0.1)


def test_the_figures_draw_the_means(complexity: Experiment) -> None:
    lines = marks(complexity.figures()["errors"], layer=1)
    at = {(mark["facet"], mark["color"], mark["x"]): mark["y"] for mark in lines}
    assert at["features, fixed", "baseline", 400] == pytest.approx(0.1, rel=1e-6)
    assert at["features, fixed", "known attention", 100] == pytest.approx(0.15, rel=1e-6)
    assert "self-attention, root scale" in {color for _, color, _ in at}
    growth = {(m["facet"], m["color"], m["x"]): m["y"] for m in marks(complexity.figures()["growth"], layer=1)}
    assert growth["features, fixed, p", "baseline", 25] == pytest.approx(200, rel=0.01)
    assert growth["features, fixed, p", "known attention", 25] == pytest.approx(150, rel=0.01)


# --- design


def keeps(_task: str, _student: str, at: dict[str, str]) -> float:
    """Samples grow with the features kept; four heads double and a pooled read-out halves what the default needs."""
    option = at["option"]
    if option.startswith("keeps"):
        return 20.0 * int(option.split()[1])
    return {"4 heads": 800.0, "pooled read-out": 200.0}.get(option, 400.0)


def test_design_gives_advice_by_the_interval() -> None:
    result = planted("design", keeps)
    ((part,),) = (finding.parts for finding in result.findings())
    assert part.verdict == "holds" and part.effect == pytest.approx(1.0, abs=0.01)
    advice = {row["choice"]: row for row in result.record.tables["advice"]}
    assert advice["4 heads"]["times"] == pytest.approx(2, rel=1e-6)
    assert advice["4 heads"]["advice"] == "costs samples"
    assert advice["pooled read-out"]["advice"] == "saves samples"
    assert advice["d_q = 1"]["advice"] == "no difference shown"
    assert advice["keeps 50"]["times"] == pytest.approx(10, rel=0.01)
    drawn = {mark["y"]: mark["x"] for mark in marks(result.figures()["advice"], layer=1)}
    assert drawn["4 heads"] == pytest.approx(2, rel=1e-6) and drawn["default"] == pytest.approx(1)


def test_sparsity_that_costs_fails() -> None:
    def other_way(task: str, student: str, at: dict[str, str]) -> float:
        kept = at["option"].startswith("keeps")
        return 5000 / int(at["option"].split()[1]) if kept else keeps(task, student, at)

    assert verdicts(planted("design", other_way)) == {"sparse-attention-saves-samples": ["fails"]}


# --- real data


def on_digits(monkeypatch: pytest.MonkeyPatch, attention: float, baseline: float, pooled: float = 300) -> Experiment:
    """The result on noisy digits alone, with these samples needed."""
    monkeypatch.setattr(real, "tasks", lambda _: {real.DIGITS: real.digits_task})
    needs = {"self-attention": attention, "baseline": baseline, "mean pooling": pooled}
    return planted("sample-complexity-real", lambda _t, student, _a: needs[student])


@pytest.mark.parametrize(
    ("attention", "baseline", "verdict"), [(200, 800, "holds"), (800, 200, "fails"), (400, 400, "undecided")]
)
def test_real_data_are_compared_at_the_error_both_reach(
    monkeypatch: pytest.MonkeyPatch, attention: float, baseline: float, verdict: str
) -> None:
    result = on_digits(monkeypatch, attention, baseline)
    ((first, *others),) = (finding.parts for finding in result.findings())
    assert first.verdict == verdict
    assert first.effect == pytest.approx(np.log2(baseline / attention), abs=0.05)
    assert {part.verdict for part in others} == {"undecided"}  # corpora that are not there
    assert any("Left out: SST, IMDB, SMS." in note for note in result.notes())


def test_the_crossing_point_is_where_attention_stays_ahead(monkeypatch: pytest.MonkeyPatch) -> None:
    result = on_digits(monkeypatch, attention=200, baseline=800)
    crossing = {row["against"]: row for row in result.record.tables["crossing"]}
    assert crossing["baseline"]["better_from"] == 50
    assert crossing["baseline"]["gain_at_largest"] == pytest.approx(LEVEL * 600 / 1600, rel=1e-6)
    assert crossing["mean pooling"]["better_from"] == 50
    behind = on_digits(monkeypatch, attention=500, baseline=800).record.tables["crossing"]
    assert {row["against"]: row["better_from"] for row in behind} == {"baseline": 50, "mean pooling": None}
    drawn = {(mark["color"], mark["x"]): mark["y"] for mark in marks(result.figures()["errors"], layer=1)}
    assert drawn["self-attention", 100] == pytest.approx(0.2, rel=1e-6)


@pytest.mark.parametrize("name", ["sample-complexity", "design", "sample-complexity-real", "landscape", "flatness"])
def test_every_claim_has_its_rule(name: str) -> None:
    assert set(EXPERIMENTS[name].rules()) == {claim.id for claim in load_claims() if name in claim.experiments}


def test_the_softmax_scale_is_reported_both_ways(complexity: Experiment) -> None:
    students: Any = {row["student"] for row in complexity.record.tables["needed"] if row["task"] == "words, fixed"}
    assert students >= {"self-attention", "self-attention, root scale", "self-attention, pooled", "values alone"}

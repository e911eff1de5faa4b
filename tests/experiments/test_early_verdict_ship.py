"""The early verdict that comes with attnlab is the one that the committed result gives."""

import shutil
from pathlib import Path

import pytest
from tests.lab.followed import many

from attnlab.experiments.early_verdict.experiment import judge_all
from attnlab.experiments.early_verdict.ship import main, ship
from attnlab.families.copying import early_verdict as in_training
from attnlab.families.copying.early_verdict import shipped
from attnlab.families.copying.verdict_fit import case_table, judge, make_verdict, read_cases
from attnlab.lab.result import write_table

RESULT = Path(__file__).parents[2] / "results" / "early-verdict" / "paper"


@pytest.fixture(scope="module")
def evidence():
    return judge_all(many(), "paper")


def test_a_result_gives_the_same_verdict_to_the_last_bit(evidence, tmp_path, capsys):
    (tmp_path / "tables").mkdir()
    write_table(case_table(evidence.cases), tmp_path / "tables" / "cases.csv")
    shutil.copy(RESULT / "result.json", tmp_path)
    assert read_cases(tmp_path / "tables" / "cases.csv").values.tolist() == evidence.cases.values.tolist()
    assert ship(tmp_path) == evidence.verdict
    assert main([str(tmp_path)]) == 0
    assert in_training.FittedVerdict.model_validate_json(capsys.readouterr().out) == evidence.verdict


def test_the_verdict_says_of_a_run_in_training_what_the_fit_said(evidence):
    verdict = make_verdict(evidence.cases, preset="paper", by=200)
    chances = judge(verdict.regression, evidence.cases)
    for place in range(0, len(chances), 50):
        run, step = evidence.runs[evidence.cases.run[place]], int(evidence.cases.step[place])
        assert verdict.chance(run.rows, step, run.chance) == pytest.approx(chances[place], abs=1e-4)


@pytest.mark.parametrize("words", [[], ["a", "b"], ["nowhere"]], ids=["none", "two", "no result"])
def test_shipping_what_is_no_result_is_refused(words, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(words) == 2
    assert "result" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_what_is_shipped_is_what_the_committed_result_gives():
    found, expected = (verdict.model_dump() for verdict in (shipped(), ship(RESULT)))
    numbers = [document.pop("regression") for document in (found, expected)]
    assert found == expected
    assert [feature["name"] for feature in numbers[0]["features"]] == [
        feature["name"] for feature in numbers[1]["features"]
    ]
    flat = [
        [regression["intercept"], *regression["time"]]
        + [feature[part] for feature in regression["features"] for part in ("mean", "scale", "weight")]
        for regression in numbers
    ]
    assert flat[0] == pytest.approx(flat[1], abs=1e-5)

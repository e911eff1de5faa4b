import json
from pathlib import Path

import pytest
import typer
from click.testing import Result
from typer.testing import CliRunner

from attnlab.cli.claims import claims
from attnlab.errors import UsageError
from attnlab.lab.claims import Finding, Part, load_claims

app = typer.Typer()
app.command()(claims)


def call(*arguments: str, width: int = 200) -> Result:
    return CliRunner().invoke(app, list(arguments), env={"COLUMNS": str(width)})


@pytest.fixture
def results(tmp_path: Path) -> Path:
    findings = [
        Finding("copy-k-of-n-learns", (Part("40 of 60", "holds", 1.0, (0.84, 1.0), "seeds", "20 of 20 learned"),)),
        Finding("copy-iid-learns", (Part("i.i.d.", "fails", 0.95, (0.76, 0.99), "seeds", "19 of 20 learned"),)),
    ]
    folder = tmp_path / "results" / "copying" / "paper"
    folder.mkdir(parents=True)
    document = {"experiment": "copying", "preset": "paper", "claims": [finding.to_json() for finding in findings]}
    (folder / "result.json").write_text(json.dumps(document))
    return tmp_path / "results"


def test_json_is_the_list_of_claims(results: Path) -> None:
    printed = json.loads(call("--json", "--results", str(results)).stdout)
    assert [entry["id"] for entry in printed] == [claim.id for claim in load_claims()]
    keys = ["id", "source", "statement", "experiment", "verdict", "effect", "interval", "preset", "parts", "rows"]
    assert all(list(entry) == keys for entry in printed)
    learned = next(entry for entry in printed if entry["id"] == "copy-k-of-n-learns")
    assert learned == {
        "id": "copy-k-of-n-learns",
        "source": "blog, P3 3.3",
        "statement": "40 of 60 is learned by every seed",
        "experiment": "copying",
        "verdict": "holds",
        "effect": 1.0,
        "interval": [0.84, 1.0],
        "preset": "paper",
        "parts": [
            {
                "name": "40 of 60",
                "verdict": "holds",
                "effect": 1.0,
                "interval": [0.84, 1.0],
                "over": "seeds",
                "detail": "20 of 20 learned",
            }
        ],
        "rows": [],
    }
    untouched = next(entry for entry in printed if entry["id"] == "norm-identity")
    assert (untouched["verdict"], untouched["effect"], untouched["interval"]) == ("undecided", None, None)
    assert (untouched["preset"], untouched["parts"]) == (None, [])


def test_table_names_every_claim_with_its_verdict(results: Path) -> None:
    printed = call("--results", str(results)).stdout
    assert all(claim.id in printed and claim.statement in printed for claim in load_claims())
    assert "0.95 [0.76, 0.99]" in printed
    count = len(load_claims())
    assert f"{count} claims: 1 holds, 1 fails, {count - 2} undecided." in printed


@pytest.mark.parametrize("width", [60, 80, 120])
def test_table_keeps_ids_and_numbers_whole_in_a_terminal(results: Path, width: int) -> None:
    printed = call("--results", str(results), width=width).stdout
    assert max(map(len, printed.splitlines())) <= width
    assert "0.95 [0.76, 0.99]" in printed
    if width >= 80:
        assert all(claim.id in printed for claim in load_claims())


def test_claims_stand_under_their_experiment(results: Path) -> None:
    printed = call("--results", str(results)).stdout
    for name in {", ".join(claim.experiments) for claim in load_claims()}:
        assert sum(line.strip() == name for line in printed.splitlines()) == 1, name


def test_filters(results: Path) -> None:
    def ids(*arguments: str) -> set[str]:
        return {entry["id"] for entry in json.loads(call("--json", "--results", str(results), *arguments).stdout)}

    assert ids("--verdict", "holds") == {"copy-k-of-n-learns"}
    assert ids("--verdict", "fails", "--experiment", "copying") == {"copy-iid-learns"}
    assert ids("--verdict", "fails", "--experiment", "mixture") == set()
    assert ids("--experiment", "count-tables") >= {"proxy-blind-to-permutations", "one-pair-uninformative"}


def test_no_results_is_no_mistake(tmp_path: Path) -> None:
    outcome = call("--results", str(tmp_path / "nowhere"))
    assert outcome.exit_code == 0
    assert f"{len(load_claims())} undecided" in outcome.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--verdict", "true"), "no verdict 'true'; verdicts are holds, fails, undecided"),
        (("--experiment", "copyin"), "'copyin'; experiments with claims are gated-toy, "),
    ],
)
def test_unknown_names_list_the_known(results: Path, arguments: tuple[str, ...], message: str) -> None:
    outcome = call("--results", str(results), *arguments)
    assert isinstance(outcome.exception, UsageError)
    assert message in str(outcome.exception)
    assert outcome.stdout == ""


def test_damaged_result_is_named(results: Path) -> None:
    path = results / "copying" / "paper" / "result.json"
    path.write_text(path.read_text()[:-20])
    outcome = call("--json", "--results", str(results))
    assert isinstance(outcome.exception, UsageError)
    assert str(path) in str(outcome.exception)


def test_claims_over_corpora_say_which(results: Path) -> None:
    for row, verdict in (("sst", "holds"), ("yelp", "fails")):
        folder = results / "uniform-overtraining" / "reduced" / row
        folder.mkdir(parents=True)
        finding = Finding("uniform-rises-then-falls", (Part(row, verdict, 0.1, (0.05, 0.2), "examples", "a peak"),))
        document = {"experiment": "uniform-overtraining", "preset": "reduced", "row": row}
        (folder / "result.json").write_text(json.dumps({**document, "claims": [finding.to_json()]}))
    printed = call("--results", str(results), "--experiment", "uniform-overtraining").stdout
    assert "decided on sst, yelp; of 2 parts 1 holds, 1 fails" in printed
    (entry,) = json.loads(call("--json", "--results", str(results), "--experiment", "uniform-overtraining").stdout)
    assert entry["rows"] == ["sst", "yelp"]

import json
from pathlib import Path

import pytest
import typer
from click.testing import Result
from typer.testing import CliRunner

from attnlab.cli.claims import claims
from attnlab.errors import UsageError
from attnlab.lab.claims import OUTCOMES, Finding, Part, claim, load_claims

COMMITTED = Path(__file__).parents[2] / "results"
app = typer.Typer()
app.command()(claims)


def call(*arguments: str, width: int = 200) -> Result:
    return CliRunner().invoke(app, list(arguments), env={"COLUMNS": str(width)})


def put(results: Path, place: str, *findings: Finding) -> None:
    experiment, preset, *row = place.split("/")
    (results / place).mkdir(parents=True)
    document = {"experiment": experiment, "preset": preset, "claims": [finding.to_json() for finding in findings]}
    (results / place / "result.json").write_text(json.dumps({**document, **({"row": row[0]} if row else {})}))


@pytest.fixture
def results(tmp_path: Path) -> Path:
    weak = Part("SST", "fails", 0.17, (0.16, 0.18), "examples", "above", direction="holds", runs=1)
    put(
        tmp_path / "results",
        "copying/paper",
        Finding("copy-k-of-n-learns", (Part("40 of 60", "holds", 1.0, (0.84, 1.0), "seeds", "20 of 20 learned"),)),
        Finding("copy-iid-learns", (Part("i.i.d.", "fails", 0.95, (0.76, 0.99), "seeds", "19 of 20 learned"),)),
    )
    put(tmp_path / "results", "saliency/reduced/sst", Finding("relevance-under-uniform", (weak,)))
    return tmp_path / "results"


def test_json_has_all_that_is_known_of_a_claim(results: Path) -> None:
    printed = {entry["id"]: entry for entry in json.loads(call("--json", "--results", str(results)).stdout)}
    assert list(printed) == [known.id for known in load_claims()]
    keys = set(printed["copy-k-of-n-learns"])
    assert all(set(entry) == keys for entry in printed.values())
    assert printed["copy-k-of-n-learns"] == {
        "id": "copy-k-of-n-learns",
        "by": "paper",
        "source": "blog, P3 3.3",
        "statement": "40 of 60 is learned by every seed",
        "stance": "affirms",
        "outcome": "as the paper says",
        "weakly": False,
        "direction": {"rule": claim("copy-k-of-n-learns").direction, "verdict": "holds"},
        "strength": None,
        "verdict": "holds",
        "effect": 1.0,
        "unit": "% of seeds",
        "interval": [0.84, 1.0],
        "experiment": "copying",
        "preset": "paper",
        "departs": [],
        "rows": [],
        "missing": [],
        "one_run": [],
        "authors": "",
        "reason": "",
        "earlier": [],
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
    }
    weak, known = printed["relevance-under-uniform"], claim("relevance-under-uniform")
    assert (weak["outcome"], weak["weakly"], weak["one_run"]) == ("as the paper says", True, ["sst: SST"])
    assert weak["direction"] == {"rule": known.direction, "verdict": "holds"}
    assert weak["strength"] == {"rule": known.strength, "verdict": "fails"}
    assert weak["earlier"][0].items() >= {"verdict": "fails", "date": "2026-11-18"}.items()
    untouched = printed["norm-identity"]
    assert (untouched["outcome"], untouched["effect"], untouched["parts"]) == ("not run", None, [])


def test_a_claim_is_a_line_and_the_tally_comes_first(results: Path) -> None:
    lines = call("--results", str(results)).stdout.splitlines()
    assert lines[0].split() == ["claims", "of", "as", "said", "(weakly)", "differs", "open", "not", "run"]
    tally = {line.split()[0]: line.split()[1:] for line in lines[1:8]}
    assert list(tally) == ["blog", "slides", "P1", "P2", "P3", "others", "ours"]
    assert set(tally) == {known.paper for known in load_claims()}
    assert tally["blog"][:4] == ["1", "(0)", "0", "0"]
    assert tally["slides"][:4] == ["1", "(1)", "1", "0"]
    told = {line.split()[1 if not line.startswith(("not", "as")) else 2]: line for line in lines[8:-1]}
    assert list(told) == [known.id for known in load_claims()]
    assert (
        told["copy-k-of-n-learns"] == "as said copy-k-of-n-learns                100 % of seeds [84, 100]         paper"
    )
    assert told["copy-iid-learns"].startswith("differs copy-iid-learns")
    assert told["relevance-under-uniform"].startswith("weakly  relevance-under-uniform")


@pytest.mark.parametrize("folder", ["committed", "none"])
def test_no_line_is_longer_than_a_terminal_and_no_effect_is_cut(folder: str, tmp_path: Path) -> None:
    place = str(COMMITTED if folder == "committed" else tmp_path)
    lines = call("--results", place, width=80).stdout.splitlines()
    assert max(map(len, lines[:-2])) <= 80
    assert len(lines[:-2]) >= 8 + len(load_claims()) - 1
    cut = [line for line in lines if ("[" in line) != ("]" in line)]
    assert cut == []


def test_effects_of_the_committed_results_have_units() -> None:
    printed = json.loads(call("--json", "--results", str(COMMITTED)).stdout)
    assert [entry["id"] for entry in printed if entry["effect"] is not None and not entry["unit"]] == []


def test_at_length_statement_rules_and_what_was_before_are_told(results: Path) -> None:
    printed = " ".join(call("--long", "--results", str(results), width=300).stdout.split())
    assert all(known.id in printed and known.statement in printed for known in load_claims())
    known = claim("relevance-under-uniform")
    for text in (known.direction, known.strength, known.earlier[0].why, "Until 2026-11-18 its rule gave: fails."):
        assert " ".join(text.split()) in printed
    assert "weakly as the paper says" in printed
    assert "One run in 1 parts: its interval is over texts alone." in printed
    assert "The paper rejects it." in printed


@pytest.mark.parametrize("width", [80, 120])
def test_at_length_ids_stay_whole(results: Path, width: int) -> None:
    printed = call("--long", "--results", str(results), width=width).stdout
    assert max(map(len, printed.splitlines())) <= width
    assert all(known.id in printed for known in load_claims())
    assert "95 % of seeds" in printed


def test_claims_stand_under_their_experiment(results: Path) -> None:
    printed = call("--long", "--results", str(results)).stdout
    for name in {", ".join(known.experiments) for known in load_claims()}:
        assert sum(line.strip() == name for line in printed.splitlines()) == 1, name


def test_filters(results: Path) -> None:
    def ids(*arguments: str) -> set[str]:
        return {entry["id"] for entry in json.loads(call("--json", "--results", str(results), *arguments).stdout)}

    assert ids("--outcome", "as the paper says") == {"copy-k-of-n-learns", "relevance-under-uniform"}
    assert ids("--outcome", "differs", "--experiment", "copying") == {"copy-iid-learns"}
    assert ids("--outcome", "differs", "--experiment", "mixture") == set()
    assert ids("--experiment", "count-tables") >= {"proxy-blind-to-permutations", "one-pair-uninformative"}


def test_no_results_is_no_mistake(tmp_path: Path) -> None:
    outcome = call("--json", "--results", str(tmp_path / "nowhere"))
    assert outcome.exit_code == 0
    assert {entry["outcome"] for entry in json.loads(outcome.stdout)} == {"not run"}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--outcome", "true"), f"no outcome 'true'; outcomes are {', '.join(OUTCOMES)}"),
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


def test_claims_over_corpora_say_which_and_what_is_missing(results: Path) -> None:
    for row, verdict in (("sst", "holds"), ("yelp", "holds")):
        part = Part(row, verdict, 0.1, (0.05, 0.2), "examples", "a peak")
        put(results, f"uniform-overtraining/reduced/{row}", Finding("uniform-rises-then-falls", (part,)))
    arguments = ("--results", str(results), "--experiment", "uniform-overtraining")
    (entry,) = json.loads(call("--json", *arguments).stdout)
    assert (entry["rows"], entry["missing"], entry["outcome"]) == (["sst", "yelp"], ["multi30k"], "open")
    printed = " ".join(call("--long", *arguments).stdout.split())
    assert "Decided on sst, yelp." in printed
    assert "Not run: multi30k." in printed

import json
import re
import shutil
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import attnlab.lab
from attnlab.errors import UsageError
from attnlab.lab.claims import (
    PRESETS,
    VERDICTS,
    Decision,
    Finding,
    Part,
    claim,
    decide,
    load_claims,
    outcome_of,
    read_claims,
    verdict_of,
)
from attnlab.lab.claims.words import effect_in_words, preset_in_words
from attnlab.lab.registry import EXPERIMENTS

LAB = Path(attnlab.lab.__file__).parent
RESULTS = Path(__file__).parents[2] / "results"
LIST = Path(__file__).parents[3] / "shared" / "CLAIMS.md"


def part(name: str = "all", verdict: Any = "holds", effect: float | None = 1.0, **other: Any) -> Part:
    return Part(name, verdict, effect, other.get("interval"), other.get("over", "seeds"), other.get("detail", "so"))


def write(root: Path, place: str, claims: dict[str, list[Part]], **changes: Any) -> Path:
    """A result.json at ``place``, such as ``copying/paper`` or ``agreement/paper/imdb``."""
    experiment, preset, *_ = place.split("/")
    document = {
        "experiment": experiment,
        "preset": preset,
        "claims": [Finding(id, tuple(parts)).to_json() for id, parts in claims.items()],
        "seeds": [0],
    }
    path = root / place / "result.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(document | changes))
    return path


def decided(root: Path, id: str) -> Decision:
    return next(decision for decision in decide(root) if decision.id == id)


# The registry


@pytest.mark.skipif(not LIST.is_file(), reason="put the list of claims at ../shared/CLAIMS.md")
def test_registry_is_the_list_of_claims() -> None:
    rows = [
        tuple(cell.strip() for cell in line.strip("|").split("|"))
        for line in LIST.read_text(encoding="utf-8").splitlines()
        if re.match(r"\| [a-z0-9-]+ \|", line) and not line.startswith("| id |")
    ]
    assert len(rows) == 71
    # experiments of ours that decide a part of a listed claim
    also = {"stages-overlap": ("slow-stages",)} | dict.fromkeys(("heads-all-bad", "heads-one-good"), ("text-heads",))
    listed = [(id, source, (*experiments.split(", "), *also.get(id, ()))) for id, source, _, experiments in rows]
    papers = [claim for claim in load_claims() if claim.by == "paper"]
    assert [(claim.id, claim.source, claim.experiments) for claim in papers] == listed


def test_rules_that_borrow_from_others_name_claims() -> None:
    # "The rule of a-claim", "The rules of a-claim, another-one and a-third".
    id = r"[a-z0-9]+(?:-[a-z0-9]+)+"
    lists = [
        ids for each in load_claims() for ids in re.findall(rf"[Rr]ules? of ({id}(?:(?:, | and ){id})*)", each.rule)
    ]
    borrowed = {id for ids in lists for id in re.split(", | and ", ids)}
    assert borrowed
    assert borrowed <= {each.id for each in load_claims()}


def test_unknown_claim_names_close_ones() -> None:
    with pytest.raises(UsageError, match=r"no claim 'copy-iid-learn'; .*copy-iid-learns"):
        claim("copy-iid-learn")


ENTRY = (
    '[[claim]]\nid = "{id}"\nsource = "P"\nstatement = "{statement}"\nexperiments = {experiments}\ndirection = "r"\n'
)


def entry(id: str = "a", statement: str = "s", experiments: str = '["e"]') -> str:
    return ENTRY.format(id=id, statement=statement, experiments=experiments)


def test_registry_reads_in_order() -> None:
    assert [each.id for each in read_claims(entry("b") + entry("a"))] == ["b", "a"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (entry(statement=" "), "'a' in the awaiting.toml has an empty statement"),
        (entry(experiments="[]"), "'a' in the awaiting.toml has an empty experiments"),
        (entry(experiments='["e", ""]'), "'a' in the awaiting.toml has an empty experiments"),
        (entry().replace('direction = "r"', ""), r"0\.direction"),
        (entry() + 'strenght = "twice"\n', r"0\.strenght"),
        (entry() + '[[claim.earlier]]\ndate = 2026-01-01\nverdict = "fails"\nwhy = " "\n', "does not say why"),
        (entry() + 'stance = "denies"\n', r"0\.stance"),
        (entry(experiments="3"), r"0\.experiments"),
        ("[[claim", "not TOML"),
    ],
)
def test_registry_mistakes_are_named(text: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        read_claims(text)


def test_a_claim_belongs_to_the_experiment_of_its_folder_unless_it_says_otherwise() -> None:
    alone, shared = entry().replace('experiments = ["e"]\n', ""), entry("b", experiments='["copying", "mixture"]')
    read = read_claims(alone + shared, "copying")
    assert [each.experiments for each in read] == [("copying",), ("copying", "mixture")]
    assert {each.by for each in read} == {"paper"}
    with pytest.raises(UsageError, match=r"awaiting\.toml is wrong at 0\.experiments"):
        read_claims(alone)
    with pytest.raises(UsageError, match=r"claims\.toml of copying is wrong at 0\.by"):
        read_claims(alone + 'by = "hearsay"\n', "copying")


def test_every_claim_is_listed_once_in_the_order_and_lives_with_its_first_experiment() -> None:
    claims = {each.id: each for each in load_claims()}
    order = tomllib.loads((LAB / "claims" / "order.toml").read_text(encoding="utf-8"))["order"]
    assert order == list(claims)
    for name, experiment in EXPERIMENTS.items():
        file = LAB.parent / "experiments" / name.replace("-", "_") / "claims.toml"
        lives = [one.id for one in read_claims(file.read_text(encoding="utf-8"), name)] if file.is_file() else []
        assert set(lives) == {id for id, one in claims.items() if one.experiments[0] == name}, name
        assert set(experiment.rules()) == {id for id, one in claims.items() if name in one.experiments}, name


# Verdicts


@given(st.lists(st.sampled_from(VERDICTS)))
def test_whole_follows_from_parts(verdicts: list[Any]) -> None:
    whole = verdict_of([part(verdict=verdict) for verdict in verdicts])
    assert (whole == "fails") == ("fails" in verdicts)
    assert (whole == "holds") == (bool(verdicts) and set(verdicts) == {"holds"})
    assert Finding("x", tuple(part(verdict=verdict) for verdict in verdicts)).verdict == whole


finite = st.floats(allow_nan=False, allow_infinity=False)
parts = st.builds(
    Part,
    name=st.text(),
    verdict=st.sampled_from(VERDICTS),
    runs=st.none() | st.integers(0, 9),
    effect=st.none() | finite,
    interval=st.none() | st.tuples(finite, finite).map(lambda ends: (min(ends), max(ends))),
    over=st.text(),
    detail=st.text(),
)


@given(st.builds(Finding, claim=st.text(), parts=st.lists(parts).map(tuple)))
def test_findings_survive_json(finding: Finding) -> None:
    assert Finding.from_json(json.loads(json.dumps(finding.to_json()))) == finding


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"verdict": "maybe"}, "verdict"),
        ({"effect": "0.5"}, "effect"),
        ({"effect": float("nan")}, "finite"),
        ({"interval": [1.0]}, "interval"),
        ({"interval": [2.0, 1.0]}, "ends before it begins"),
        ({"name": None}, "name"),
    ],
)
def test_bad_finding_is_named(change: dict[str, Any], message: str) -> None:
    entry = Finding("x", (part(interval=(0.0, 1.0)),)).to_json()
    entry["parts"][0] |= change
    with pytest.raises(UsageError, match=message):
        Finding.from_json(entry)


@pytest.mark.parametrize("effect", [float("inf"), float("nan")])
def test_part_needs_finite_numbers(effect: float) -> None:
    with pytest.raises(UsageError, match="finite"):
        part(effect=effect)
    with pytest.raises(UsageError, match="finite"):
        part(interval=(0.0, effect))


# Outcomes


def answered(direction: Any, verdict: Any) -> Part:
    return Part("all", verdict, 1.0, None, "seeds", "so", direction=direction)


@pytest.mark.parametrize(
    ("direction", "verdict", "affirmed", "rejected"),
    [
        ("holds", "holds", ("as the paper says", False), ("differs", False)),
        ("holds", "undecided", ("as the paper says", True), ("differs", False)),
        ("holds", "fails", ("as the paper says", True), ("as the paper says", True)),
        ("undecided", "undecided", ("open", False), ("open", False)),
        ("undecided", "fails", ("open", False), ("as the paper says", True)),
        ("fails", "fails", ("differs", False), ("as the paper says", False)),
    ],
)
def test_the_outcome_follows_from_stance_direction_and_margin(
    direction: Any, verdict: Any, affirmed: Any, rejected: Any
) -> None:
    parts = [answered(direction, verdict)]
    assert outcome_of("affirms", parts) == outcome_of("suggests", parts) == affirmed
    assert outcome_of("rejects", parts) == rejected


@pytest.mark.parametrize("verdict", VERDICTS)
def test_without_a_margin_of_ours_nothing_is_weak(verdict: Any) -> None:
    outcome, weakly = outcome_of("affirms", [part(verdict=verdict)])
    assert not weakly
    assert outcome == {"holds": "as the paper says", "fails": "differs", "undecided": "open"}[verdict]
    assert outcome_of("affirms", []) == ("not run", False)


@given(st.lists(st.sampled_from(["holds", "undecided", "fails"]), min_size=1), st.data())
def test_what_is_incomplete_is_never_as_the_paper_says_and_differs_all_the_same(directions: Any, data: Any) -> None:
    weaker = {"holds": VERDICTS, "undecided": ("undecided", "fails"), "fails": ("fails",)}
    parts = [answered(one, data.draw(st.sampled_from(weaker[one]))) for one in directions]
    whole, _ = outcome_of("affirms", parts)
    partial, _ = outcome_of("affirms", parts, complete=False)
    assert partial == ("open" if whole == "as the paper says" else whole)


def test_a_part_cannot_hold_with_a_margin_and_not_in_its_direction() -> None:
    with pytest.raises(UsageError, match="that cannot be"):
        answered("undecided", "holds")


def test_a_claim_that_awaits_a_row_stays_open_without_it(tmp_path: Path) -> None:
    id = "uniform-rises-then-falls"
    write(tmp_path, "uniform-overtraining/paper/sst", {id: [part("sst")]})
    assert (decided(tmp_path, id).outcome, decided(tmp_path, id).missing) == ("open", ("multi30k",))
    write(tmp_path, "uniform-overtraining/paper/multi30k_de", {id: [part("multi30k_de")]})
    assert (decided(tmp_path, id).outcome, decided(tmp_path, id).missing) == ("as the paper says", ())


def test_a_part_counts_no_more_once_the_one_that_asks_better_is_there(tmp_path: Path) -> None:
    id, corpora = "frozen-lexicon-fails", ("sst", "20newsgroups")
    for row, verdict in zip(corpora, ("holds", "undecided"), strict=True):
        write(tmp_path, f"frozen-lexicon/reduced/{row}", {id: [part(row, verdict=verdict)]})
    before = decided(tmp_path, id)
    assert (before.outcome, before.missing, {one.name for one in before.parts}) == (
        "open",
        ("20newsgroups-bodies",),
        {*corpora},
    )
    write(tmp_path, "frozen-lexicon/reduced/20newsgroups-bodies", {id: [part("20newsgroups-bodies", verdict="holds")]})
    after = decided(tmp_path, id)
    assert (after.outcome, after.missing) == ("as the paper says", ())
    assert {one.name for one in after.parts} == {"sst", "20newsgroups-bodies"}


def test_ours_hold_or_fail_and_a_paper_s_agree_or_differ(tmp_path: Path) -> None:
    write(tmp_path, "symmetry/paper", {"one-word-left-out": [part()], "contrast-slope": [part(verdict="fails")]})
    write(tmp_path, "locality/paper", {"probe-purely-local": [part(verdict="fails")]})
    assert decided(tmp_path, "one-word-left-out").words == "holds"
    assert decided(tmp_path, "contrast-slope").words == "fails"
    assert decided(tmp_path, "probe-purely-local").words == "as the paper says"
    assert preset_in_words(decided(tmp_path, "one-word-left-out")) == "full"


def test_what_the_preset_paper_leaves_out_is_told(tmp_path: Path) -> None:
    id = "attention-shapes-lexicon"
    write(tmp_path, "agreement/paper/ag_news", {id: [part("A")]})
    told = decided(tmp_path, id)
    assert told.departs == ("ag_news: 23 % of the training texts, random embeddings",)
    assert preset_in_words(told) == "paper*"
    shutil.rmtree(tmp_path / "agreement")
    write(tmp_path, "agreement/reduced/ag_news", {id: [part("A")]})
    assert decided(tmp_path, id).departs == ()  # a result at another preset says itself what it shortened


@pytest.mark.parametrize(
    ("effect", "interval", "unit", "words"),
    [
        (0.425, (0.285, 0.578), "% of seeds", "42.5 % of seeds [28.5, 57.8]"),
        (-0.0025, None, "points", "-0.25 points"),
        (1676.09, (1498.1, 1849.9), "updates", "1676 updates [1498, 1850]"),
        (0.0299, (0.0241, 0.036), "tau", "0.0299 tau [0.0241, 0.036]"),
        (2.4795e-14, None, "", "2.48e-14"),
        (None, None, "updates", ""),
    ],
)
def test_effects_are_told_with_their_units(effect: Any, interval: Any, unit: str, words: str) -> None:
    assert effect_in_words(effect, interval, unit) == words


def test_a_part_has_the_unit_of_its_kind() -> None:
    known = claim("attention-is-saliency")
    assert (known.unit_of("sst: A(alpha, loo)"), known.unit_of("sst: tau(alpha, loo)")) == ("% of texts", "tau")


def test_what_differs_or_is_open_says_why() -> None:
    told = {one.id: one.claim.reason for one in decide(RESULTS) if one.outcome in ("differs", "open") or one.weakly}
    assert len(told) > 20
    assert [id for id, reason in told.items() if not reason] == []


# Decisions


def test_nothing_run_leaves_everything_undecided(tmp_path: Path) -> None:
    decisions = decide(tmp_path / "nowhere")
    assert [decision.id for decision in decisions] == [claim.id for claim in load_claims()]
    assert {(d.verdict, d.effect, d.interval, d.preset, d.parts) for d in decisions} == {
        ("undecided", None, None, None, ())
    }


def test_a_result_decides_its_claims_alone(tmp_path: Path) -> None:
    one = part("40 of 60", effect=1.0, interval=(0.84, 1.0))
    write(tmp_path, "copying/paper", {"copy-k-of-n-learns": [one]})
    decision = decided(tmp_path, "copy-k-of-n-learns")
    assert (decision.verdict, decision.effect, decision.interval) == ("holds", 1.0, (0.84, 1.0))
    assert (decision.preset, decision.parts, decision.experiment) == ("paper", (one,), "copying")
    assert sum(decision.verdict != "undecided" for decision in decide(tmp_path)) == 1


@given(st.sets(st.sampled_from(PRESETS), min_size=1))
def test_the_strongest_preset_speaks(tmp_path_factory: pytest.TempPathFactory, presets: set[str]) -> None:
    root = tmp_path_factory.mktemp("results")
    for preset in presets:
        write(root, f"copying/{preset}", {"copy-k-of-n-learns": [part(preset)]})
    decision = decided(root, "copy-k-of-n-learns")
    strongest = next(preset for preset in ("paper", "reduced", "quick") if preset in presets)
    assert (decision.preset, [part.name for part in decision.parts]) == (strongest, [strongest])


def test_a_stronger_preset_that_is_silent_leaves_the_word_to_a_weaker(tmp_path: Path) -> None:
    write(tmp_path, "copying/paper", {"copy-k-of-n-learns": []})
    write(tmp_path, "copying/quick", {"copy-k-of-n-learns": [part()]})
    assert decided(tmp_path, "copy-k-of-n-learns").preset == "quick"


def test_the_deciding_part_gives_the_effect(tmp_path: Path) -> None:
    mixed = [part("a", effect=1), part("b", "undecided", 2), part("c", "fails", 3), part("d", "fails", 4)]
    for count, effect in ((1, 1), (2, 2), (3, 3), (4, 3)):
        write(tmp_path, "copying/paper", {"copy-iid-learns": mixed[:count]})
        assert decided(tmp_path, "copy-iid-learns").effect == effect


def test_two_experiments_must_both_speak(tmp_path: Path) -> None:
    id = "proxy-blind-to-permutations"
    write(tmp_path, "mixture/paper", {id: [part(effect=1)]})
    alone = decided(tmp_path, id)
    assert (alone.verdict, alone.effect, alone.preset) == ("undecided", 1, "paper")
    write(tmp_path, "count-tables/quick", {id: [part(effect=2)]})
    both = decided(tmp_path, id)
    assert (both.verdict, both.preset, both.experiment) == ("holds", "quick", "mixture, count-tables")
    write(tmp_path, "count-tables/quick", {id: [part(verdict="fails", effect=2)]})
    assert (decided(tmp_path, id).verdict, decided(tmp_path, id).effect) == ("fails", 2)


def test_one_of_two_experiments_can_refute(tmp_path: Path) -> None:
    write(tmp_path, "mixture/paper", {"proxy-blind-to-permutations": [part(verdict="fails")]})
    assert decided(tmp_path, "proxy-blind-to-permutations").verdict == "fails"


def test_rows_are_parts(tmp_path: Path) -> None:
    id = "attention-follows-lexicon"
    write(tmp_path, "agreement/paper/sms", {id: [part("sms")]})
    write(tmp_path, "agreement/reduced/imdb", {id: [part("alpha, beta", "undecided")]})
    write(tmp_path, "agreement/quick/imdb", {id: [part("not this one", "fails")]})
    write(tmp_path, "agreement/quick/yelp", {id: [part("nor this", "fails")]})
    write(tmp_path, "agreement/paper", {id: [part("nor the summary", "fails")], "agreement-bleu": [part("whole")]})
    decision = decided(tmp_path, id)
    assert [part.name for part in decision.parts] == ["imdb: alpha, beta", "sms"]
    assert (decision.verdict, decision.preset) == ("undecided", "reduced")
    assert [part.name for part in decided(tmp_path, "agreement-bleu").parts] == ["whole"]


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: text[: len(text) // 2],
        lambda _: "",
        lambda _: "[]",
        lambda text: text.replace('"holds"', '"perhaps"'),
        lambda text: text.replace('"claims"', '"claim"'),
        lambda text: text.replace('"parts"', '"pieces"'),
        lambda text: text.replace('"effect": 1.0', '"effect": NaN'),
        lambda text: text.replace('"paper"', '"thorough"'),
        lambda text: text.replace('"copying"', '"mixture"'),
        lambda text: text.replace("copy-k-of-n-learns", "mixture-fails"),
        lambda text: text.replace("copy-k-of-n-learns", "copy-everything"),
    ],
)
def test_damaged_result_is_named(tmp_path: Path, damage: Any) -> None:
    path = write(tmp_path, "copying/paper", {"copy-k-of-n-learns": [part()]})
    whole = path.read_text()
    assert damage(whole) != whole
    path.write_text(damage(whole))
    with pytest.raises(UsageError, match=re.escape(str(path))):
        decide(tmp_path)


def test_result_that_is_not_text_is_named(tmp_path: Path) -> None:
    path = write(tmp_path, "copying/paper", {"copy-k-of-n-learns": [part()]})
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UsageError, match=re.escape(str(path))):
        decide(tmp_path)

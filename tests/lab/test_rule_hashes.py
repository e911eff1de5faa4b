"""What decides a claim is named exactly: its rule in words, and the code that applies it."""

import json
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from attnlab.lab import result
from attnlab.lab.claims import claim, load_claims
from attnlab.lab.registry import EXPERIMENTS
from attnlab.lab.result import rules_of

LAB = """
from attnlab.lab.claims import Part
from attnlab.lab.experiment import Experiment, claim
from attnlab.lab.rules import all_of
from attnlab.stats.proportions import wilson


def helper():
    return deeper()


def deeper():
    return [True] * 20


def unused():
    return 1


class Lab(Experiment):
    name, title, source = "mine", "Mine", "ours"

    @claim("copy-k-of-n-learns")
    def learns(self):
        return self.part([one for one in helper()])

    def part(self, values):
        return all_of("all", values)

    def figures(self):
        return {}
"""


def hashes(tmp_path, monkeypatch, text):
    (tmp_path / "hashed_lab.py").write_text(text, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "hashed_lab", raising=False)
    import linecache

    linecache.clearcache()
    import hashed_lab

    return rules_of(hashed_lab.Lab())["copy-k-of-n-learns"]


@pytest.mark.parametrize(
    ("old", "new", "changes"),
    [
        ("helper()]", "helper() if one]", True),
        ("[True] * 20", "[True] * 21", True),
        ('all_of("all", values)', 'all_of("every", values)', True),
        ("return 1", "return 2", False),
        ("return {}", "return {'a': 1}", False),
    ],
    ids=["rule", "helper-of-a-helper", "method-it-calls", "unused", "figures"],
)
def test_the_hash_follows_the_code_that_decides_and_no_other(tmp_path, monkeypatch, old, new, changes):
    monkeypatch.setattr(sys, "dont_write_bytecode", True)  # two versions within a second would be mistaken
    before = hashes(tmp_path, monkeypatch, LAB)
    after = hashes(tmp_path, monkeypatch, LAB.replace(old, new))
    assert (before["code"] != after["code"]) is changes
    assert before["words"] == after["words"]


def test_the_hash_follows_the_words(monkeypatch):
    before = rules_of(EXPERIMENTS["copying"])
    for field in ("direction", "strength"):
        changed = [
            replace(one, **{field: getattr(one, field) + " Or so."}) if one.id == "copy-iid-learns" else one
            for one in load_claims()
        ]
        monkeypatch.setattr(result, "load_claims", lambda changed=changed: changed)
        after = rules_of(EXPERIMENTS["copying"])
        assert [id for id in before if before[id] != after[id]] == ["copy-iid-learns"]
        assert before["copy-iid-learns"]["code"] == after["copy-iid-learns"]["code"]


def test_shared_rules_are_part_of_the_hash():
    functions = result._functions(EXPERIMENTS["copying"].rules()["copy-k-of-n-learns"], type(EXPERIMENTS["copying"]))
    assert {"all_of", "_of_rate"} <= {function.__name__ for function in functions}


RESULTS = Path(__file__).parents[2] / "results"


@pytest.mark.parametrize(
    "path", sorted(RESULTS.rglob("result.json")), ids=lambda path: str(path.parent.relative_to(RESULTS))
)
def test_no_rule_s_words_changed_after_its_result_was_seen_without_saying_so(path):
    """They are today's, or those of an earlier rule that is beside today's with its verdict, a date and a reason."""
    document = json.loads(path.read_text(encoding="utf-8"))
    kept = document.get("rules") or document["moved"]["rules"]
    today = rules_of(EXPERIMENTS[document["experiment"]])
    assert set(kept) >= {entry["claim"] for entry in document["claims"]}
    for id, digits in kept.items():
        earlier = {result._digits(words) for words in claim(id).earlier_rules()}
        assert digits["words"] in {today[id]["words"], *earlier}, id
        assert len(digits["code"]) == 16


def test_results_decided_again_by_a_changed_rule_say_so():
    """Nothing else was changed in them: each part that was there before has its numbers."""
    again = [json.loads(path.read_text(encoding="utf-8")) for path in RESULTS.rglob("result.json")]
    again = [document for document in again if "decided_again" in document]
    assert again
    for document in again:
        told = document["decided_again"]
        assert set(told["claims"]) <= {entry["claim"] for entry in document["claims"]}
        for id in told["claims"]:
            assert id in told["why"]
            assert str(claim(id).earlier[0].date) == told["date"]

"""A stop rule of the user's own that is none is refused in a sentence."""

import sys

import pytest

from attnlab.errors import UsageError
from attnlab.runs.loop import train
from attnlab.runs.schedule import Schedule

RULE = (
    "class Rule:\n    reason = 'enough'\n    def chance(self, rows, step): return None\n    def stops_at(self, rows): "
)


@pytest.fixture
def own(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "own_rule", raising=False)

    def write(text):
        (tmp_path / "own_rule.py").write_text(text)
        return Schedule.every(1, steps=2, give_up="own_rule:Rule")

    return write


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("Rule = 7", "makes no stop rule .TypeError"),
        ("import os as Rule", "makes no stop rule .TypeError"),
        ("class Rule:\n    def __init__(self, level): pass", "makes no stop rule .*level"),
        ("class Rule:\n    def __init__(self): raise SystemExit(3)", "makes no stop rule .SystemExit"),
        ("class Rule:\n    reason = ''", "is no stop rule: it has no stops_at and no chance"),
        ("import sys; sys.exit()", "cannot be imported .SystemExit"),
    ],
)
def test_what_is_no_stop_rule_is_refused(own, text, sentence):
    with pytest.raises(UsageError, match=f"give_up: .*{sentence}"):
        own(text)


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [("raise KeyError(3)", "own_rule:Rule: stops_at fails .KeyError: 3"), ("return 'soon'", "stops_at answers 'soon'")],
)
def test_an_answer_that_is_none_is_named(own, spec, store, answer, sentence):
    with pytest.raises(UsageError, match=sentence):
        train(spec, own(RULE + answer), store)

"""The public names: each is there, has an example that runs, and refuses wrong types in a sentence."""

import doctest
import subprocess
import sys

import pytest

import attnlab
from attnlab import specs


def test_every_name_has_a_home_and_a_docstring():
    assert set(attnlab.__all__) == set(attnlab._HOMES)
    for name in attnlab.__all__:
        assert getattr(attnlab, name).__doc__, name
    assert set(dir(attnlab)) >= {*attnlab.__all__, "__version__"}
    for name in specs.__all__:
        assert getattr(specs, name).__doc__, name


VERBS = [name for name in attnlab.__all__ if name.islower()]


@pytest.mark.parametrize("name", VERBS)
def test_every_verb_has_an_example(name):
    """Examples are run with all doctests of the package; here only that there is one."""
    tests = doctest.DocTestFinder(recurse=False).find(getattr(attnlab, name), name)
    assert any(test.examples for test in tests), name


def test_an_unknown_name_says_what_there_is():
    with pytest.raises(AttributeError, match=r"it offers .*forecast"):
        _ = attnlab.forcast
    with pytest.raises(AttributeError, match=r"attnlab\.specs has CopyingSpec"):
        _ = attnlab.CopyingSpec


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: attnlab.forecast("x.csv"), "read_texts"),
        (lambda: attnlab.forecast(3), "read_texts"),
        (lambda: attnlab.SentencePairs.from_tokens(["das haus"], ["the house"]), "token"),
        (lambda: attnlab.forecast(attnlab.SentencePairs.from_tokens([["a"]], [["b"]]), kind="label"), "labels"),
        (lambda: specs.Schedule.every(0, steps=10), "interval"),
        (lambda: attnlab.run(3), "experiment"),
        (lambda: attnlab.run("copyin"), "Did you mean copying"),
        (lambda: attnlab.run("copying", preset="papr"), "presets are"),
        (lambda: attnlab.run("copying", row="sst"), "no rows"),
        (lambda: attnlab.samples("reviews.csv"), "read_texts"),
        (lambda: attnlab.samples(attnlab.SentencePairs.from_tokens([["a"]], [["b"]])), "read_texts"),
        (lambda: attnlab.agreement("a", "b"), "array of numbers"),
        (lambda: attnlab.attention(3, [1, 2]), "."),
        (lambda: attnlab.influence("model", [1]), "."),
        (lambda: attnlab.leave_one_out(None, None), "."),
        (lambda: attnlab.lexical(object(), 5), "."),
        (lambda: attnlab.align(3), "."),
        (lambda: attnlab.align("a sentence"), "."),
        (lambda: attnlab.read_texts("no such file.csv", text="a", label="b"), "no such file.csv"),
        (lambda: attnlab.read_texts(3, text="a", label="b"), "3"),
        (lambda: attnlab.read_pairs("no such file", "nor this"), "no such file"),
        (lambda: attnlab.train("spec", "schedule", "store"), "RunSpec"),
        (lambda: attnlab.RunStore(3), "3"),
        (lambda: attnlab.claims(3), "3"),
    ],
)
def test_wrong_types_get_our_sentence(call, sentence):
    with pytest.raises(attnlab.AttnlabError) as raised:
        call()
    assert sentence in str(raised.value)


def test_forecast_does_not_load_pytorch():
    code = "import attnlab, sys; attnlab.forecast, attnlab.read_texts; assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)

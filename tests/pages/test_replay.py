"""Attention through training: 8 bits hold what is shown, a stranger's file is refused, no word commands a page."""

import csv
import json
import zlib
from base64 import b64decode, b64encode
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attnlab.errors import UsageError
from attnlab.pages.page import Section, write_page
from attnlab.pages.replay import Film, Replay, Shown, matrix_field, read_replay, shares, signed, thinned
from attnlab.pages.replay_component import replay_component

COMMITTED = Path(__file__).parents[2] / "results" / "copying" / "paper"
HOSTILE = "</script><script>alert(1)</script>\u202egnorw&<b>"


def film(seed=0, words=("a", "b", "c"), outputs=("x", "y"), steps=(0, 10, 20)):
    rng = np.random.default_rng(seed)
    values = rng.dirichlet(np.ones(len(words)), (len(steps), len(outputs)))
    fields = (matrix_field("attention", values), matrix_field("lexical probe", values[::-1]))
    numbers = {"accuracy": tuple(float(k) / 10 for k in range(len(steps)))}
    return Film("a run", "matrix", tuple(steps), (tuple(words),), tuple(outputs), fields, "its caption", numbers)


def texts(count=2, length=4, steps=(0, 5), seed=0):
    rng = np.random.default_rng(seed)
    words = tuple(tuple(f"word{n}" for n in range(length)) for _ in range(count))
    cells = (len(steps), count * length)
    fields = (
        Shown("attention", shares(rng.random(cells))),
        Shown("probe", signed(rng.uniform(-1, 1, cells)), None, True),
    )
    return Film("texts", "texts", tuple(steps), words, (), fields)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=50))
def test_a_share_is_kept_to_less_than_half_a_hundredth(values):
    coded = shares(np.array(values))
    back = (coded / 255.0) ** 2
    assert np.abs(back - values).max() <= 1 / 255 + 1e-9
    assert np.abs(np.sqrt(back) - np.sqrt(values)).max() <= 0.5 / 255 + 1e-9, "its darkness to half a shade"


@given(st.integers(0, 99), st.integers(1, 6), st.integers(1, 5))
@settings(max_examples=20)
def test_what_is_written_is_read_again(seed, width, height):
    made = film(seed, [f"w{n}" for n in range(width)], [f"v{n}" for n in range(height)])
    replay = Replay("title", (made, texts(seed=seed)), "caption")
    again = read_replay(replay.to_bytes(), "it")
    assert again.about() == replay.about()
    assert again.values() == replay.values()
    assert again.to_bytes() == replay.to_bytes()
    tops = again.films[0].fields[0].tops.reshape(3, height)
    rng = np.random.default_rng(seed)
    assert (tops == rng.dirichlet(np.ones(width), (3, height)).argmax(2)).all()


def broken(change):
    document = json.loads(Replay("title", (film(),)).to_bytes())
    change(document)
    return json.dumps(document).encode()


def packed(data):
    return b64encode(zlib.compress(data)).decode()


def values_of(document):
    return zlib.decompress(b64decode(document["values"]))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda d: d.update(values=d["values"][:-8]), "is no replay"),
        (lambda d: d.update(values="$$$"), "is no replay"),
        (lambda d: d.update(values=packed(values_of(d)[:-1])), "too few values"),
        (lambda d: d.update(values=packed(values_of(d) + b"x")), "1 values too many"),
        (lambda d: d.update(values=packed(b"\0" * 2**26)), "more than a page can hold"),
        (lambda d: d.update(values=packed(b"\xff" * len(values_of(d)))), "largest outside its input"),
        (lambda d: d["films"][0].update(steps=[0, 10, 10]), "rising order"),
        (lambda d: d["films"][0]["numbers"].update(accuracy=[1.0]), "at every step"),
        (lambda d: d["films"][0].update(words=[[]]), "input words"),
        (lambda d: d["films"][0].update(kind="film"), "kind"),
        (lambda d: d.update(more=1), "more"),
        (lambda d: d.update(films=[]), "films"),
    ],
)
def test_a_file_that_is_none_is_refused_in_a_sentence(change, said):
    with pytest.raises(UsageError, match=said) as refused:
        read_replay(broken(change), "results/x/replays/attention.json")
    assert str(refused.value).startswith("results/x/replays/attention.json is no replay")
    assert str(refused.value).endswith("make it again.")


@given(st.binary(max_size=200))
@settings(max_examples=50)
def test_any_other_bytes_are_too(data):
    with pytest.raises(UsageError, match="is no replay"):
        read_replay(data, "it")


class Scripts(HTMLParser):
    def __init__(self):
        super().__init__()
        self.kinds, self.elements = [], []

    def handle_starttag(self, tag, attrs):
        self.elements.append(tag)
        if tag == "script":
            self.kinds.append(dict(attrs).get("type", ""))


def test_no_word_of_a_text_becomes_part_of_the_page(tmp_path):
    def page(word):
        made = film(words=(word, "b", "c"), outputs=(word, "y"))
        replay = Replay(word, (Film(**{**vars(made), "name": word, "caption": word}), texts()), word)
        write_page(tmp_path / "page.html", "t", "l", [Section("s", component=replay_component(replay))])
        scripts = Scripts()
        scripts.feed((tmp_path / "page.html").read_text(encoding="utf-8"))
        return scripts

    hostile, plain = page(HOSTILE), page("word")
    assert hostile.kinds == plain.kinds
    assert [tag for tag in hostile.elements if tag != "bdi"] == plain.elements


def test_the_bytes_of_a_page_are_the_replays(tmp_path):
    import gzip
    import re

    replay = Replay("t", (film(), texts()))
    write_page(tmp_path / "page.html", "t", "l", [Section("s", component=replay_component(replay, "mine"))])
    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    letters = re.search(r'id="mine">([^<]+)<', text)[1]
    assert gzip.decompress(b64decode(letters)) == replay.values()


def test_about_twenty_steps_are_shown():
    assert thinned([0, 10, 20]) == [0, 10, 20]
    kept = thinned(range(0, 2010, 10))
    assert kept[0] == 0 and kept[-1] == 2000 and 18 <= len(kept) <= 24
    assert np.diff(kept).min() < np.diff(kept).max() / 5, "dense where training begins"


# --- what is committed


def test_the_committed_films_say_what_their_result_measured():
    replay = read_replay((COMMITTED / "replays" / "attention.json").read_bytes(), "it")
    learns, late, away = replay.films
    with (COMMITTED / "tables" / "curves.csv").open(encoding="utf-8") as lines:
        rows = list(csv.DictReader(lines))
    kept = {(row["setting"], row["seed"], int(row["step"])): row for row in rows}
    named = {learns: ("40 of 60", "0"), late: ("permutations of 40", "0"), away: ("permutations of 40", "1")}
    for one, of_run in named.items():
        assert 12 <= len(one.steps) <= 25
        for name, metric in (("accuracy", "accuracy"), ("attention right", "attention_accuracy")):
            told = [float(kept[*of_run, step][metric]) for step in one.steps]
            np.testing.assert_allclose(one.numbers[name], told, atol=0.05)

    def on_the_diagonal(one, field, step):
        tops = one.fields[field].tops[one.steps.index(step)]
        return float((tops == np.arange(len(tops))).mean())

    assert on_the_diagonal(learns, 0, 200) == on_the_diagonal(late, 0, 200) == 1
    assert on_the_diagonal(late, 1, 30) > 0.9 > 0.6 > on_the_diagonal(late, 0, 30), "the probe knows before attention"
    assert on_the_diagonal(away, 0, 500) == on_the_diagonal(away, 1, 500) == 0
    assert away.numbers["accuracy"][-1] > 0.99

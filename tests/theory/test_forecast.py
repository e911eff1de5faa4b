"""Forecasts: verdicts, their uncertainty, and the words they name."""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from attnlab.data.sentence_pairs import SentencePairs
from attnlab.data.texts import read_texts
from attnlab.errors import UsageError
from attnlab.families.copying.task import Permutations, Selections, Zipf
from attnlab.seeds import numpy_generator
from attnlab.theory.forecast import forecast, prospect_of


def copied(distribution, count=900, seed=0):
    words = distribution.draw(count, numpy_generator(seed))
    return SentencePairs.from_ids(words, words, distribution.words)


def labelled(count, share, seed=0):
    """Texts of ten filler words of which a ``share`` also holds a word that gives the label away."""
    rng = numpy_generator(seed, "labelled")
    labels = rng.integers(2, size=count)
    texts = [[f"filler{i}" for i in row] for row in rng.integers(30, size=(count, 10))]
    for text, label, told in zip(texts, labels, rng.random(count) < share, strict=True):
        if told:
            text[rng.integers(10)] = ("awful", "lovely")[label]
    return SentencePairs.from_tokens(texts, [[("bad", "good")[label]] for label in labels])


@pytest.mark.parametrize(
    ("distribution", "verdict"),
    [
        (Permutations(40), "no reason to be learned"),
        (Selections(40, 41), "may be learned"),
        (Selections(40, 60), "likely to be learned"),
    ],
)
def test_verdicts_on_the_papers_distributions(distribution, verdict):
    told = forecast(copied(distribution, 300))
    assert told.verdict == verdict
    assert told.interval[0] <= told.gain <= told.interval[1]


def test_permutations_are_exactly_nothing_with_certainty():
    told = forecast(copied(Permutations(12)))
    assert (told.gain, told.interval) == (0.0, (0.0, 0.0))
    assert "no reason" in told.sentence and "0.000 bits" in told.sentence


@pytest.mark.parametrize(
    ("interval", "verdict"),
    [
        ((0.1, 0.5), "likely to be learned"),
        ((0.0999, 0.5), "may be learned"),
        ((0.001, 0.0099), "no reason to be learned"),
        ((0.001, 0.02), "may be learned"),
        ((-0.01, 0.09), "no reason to be learned"),
        ((-0.01, 0.1), "too little data to tell"),
        ((0.0, 0.0), "no reason to be learned"),
    ],
)
def test_where_the_thresholds_are(interval, verdict):
    assert prospect_of(interval) == verdict


def test_the_interval_covers_what_much_data_says():
    truth = forecast(copied(Zipf(8, 12, repeat=False), 6000, seed=99)).gain
    told = [forecast(copied(Zipf(8, 12, repeat=False), 400, seed=seed)) for seed in range(40)]
    covered = sum(one.interval[0] <= truth <= one.interval[1] for one in told)
    assert covered >= 34  # 95 % of 40 is 38; fewer than 34 would be a chance of 0.3 %
    assert max(one.interval[1] - one.interval[0] for one in told) < truth


def test_labels_are_told_by_their_words_and_shuffled_labels_by_none():
    pairs = labelled(600, 0.9)
    told = forecast(pairs, kind="labels")
    assert told.verdict == "likely to be learned"
    assert [(word.word, word.partner) for word in told.strongest[:2]] in (
        [("awful", "bad"), ("lovely", "good")],
        [("lovely", "good"), ("awful", "bad")],
    )
    assert all(word.word.startswith("filler") for word in told.hopeless)
    assert told.picture.outputs == ("bad", "good")
    row = dict(zip(told.picture.inputs, told.picture.values, strict=True))["lovely"]
    assert row[0] < -2 < 0.8 < row[1]
    shuffled = [
        forecast(replace(pairs, target=numpy_generator(seed).permutation(pairs.target)), kind="labels")
        for seed in range(20)
    ]
    assert all(again.interval[0] < 0 for again in shuffled)
    assert np.mean([again.gain for again in shuffled]) < 0.005, "chance looks like knowledge"


def test_frequent_words_of_zipf_selections_are_hopeless_and_rare_ones_strong():
    told = forecast(copied(Zipf(10, 20, exponent=1.5, repeat=False), 2000))
    assert told.hopeless[0].word == "0"
    assert all(word.word == word.partner for word in told.strongest)
    assert min(word.gain for word in told.strongest) >= 0.1 > max(word.gain for word in told.hopeless)
    total = [word.gain * word.tokens for word in told.strongest]
    assert total == sorted(total, reverse=True), "the words that tell the most in all come first"
    tokens = [word.tokens for word in told.hopeless]
    assert tokens == sorted(tokens, reverse=True), "the most frequent hopeless words come first"


def test_picture_is_the_logarithm_of_trans_over_share():
    told = forecast(copied(Selections(10, 20), 3000))
    values = np.array(told.picture.values)
    own = [values[told.picture.inputs.index(o), k] for k, o in enumerate(told.picture.outputs)]
    assert own == pytest.approx([1.0] * len(own), abs=0.05)  # Trans(i | i) = 1/10, its share 1/20


def test_json_is_plain_and_whole():
    told = forecast(copied(Selections(4, 8), 100))
    read = json.loads(json.dumps(told.to_json(), allow_nan=False))
    assert read["verdict"] == told.verdict
    assert read["interval"] == list(told.interval)
    assert read["sentence"].startswith("Attention")


@pytest.mark.parametrize(
    ("texts", "labels", "kind", "named"),
    [
        ([["a", "b"]] * 20, [["x"]] * 20, "labels", "the label 'x'"),
        ([["a", "a"]] * 20, [["x"], ["y"]] * 10, "labels", "input has one word only"),
        ([["a", "b"]] * 20, [["x"]] * 20, "pairs", "output has one word only"),
    ],
)
def test_nothing_to_tell_apart_is_said(texts, labels, kind, named):
    with pytest.raises(UsageError, match=named):
        forecast(SentencePairs.from_tokens(texts, labels), kind=kind)


# --- what it says of the data


def test_a_huge_pair_is_named_and_all_others_are_read():
    words = Selections(10, 20).draw(1013, numpy_generator(0)).astype(str).tolist()
    long = [str(k % 20) for k in range(4000)]
    made = forecast(SentencePairs.from_tokens([*words[:500], long, *words[500:]], [*words[:500], long, *words[500:]]))
    assert made.sentences == 1013
    assert made.notes == (
        "1 of 1014 sentences is far longer than the others and set aside (line 501: 4000 and 4000 words).",
    )


def test_a_huge_text_is_named_by_its_row(tmp_path, monkeypatch):
    monkeypatch.setattr("attnlab.theory.gain.MOST_CELLS", 1000)
    path = tmp_path / "a.csv"
    rows = [f"a lovely film {k},good\nan awful film {k},bad\n" for k in range(20)]
    path.write_text("text,label\n,good\n" + "".join(rows) + "so " * 900 + "long,bad\n")
    assert forecast(read_texts(path)).notes == (
        "1 of 41 sentences is far longer than the others and set aside (row 42: 901 words).",
        "a.csv: 1 row without words or label is left out (row 1).",
        "Rows are counted without the header: row 1 is the first below it.",
    )


def test_a_thinned_corpus_is_said_to_be(monkeypatch):
    monkeypatch.setattr("attnlab.theory.gain.MOST_CELLS", 5000)
    (note,) = forecast(copied(Permutations(10), 600)).notes
    assert note.startswith("50 of 600 sentences are read, drawn at random")


def test_repeated_sentences_are_counted_and_count_once_in_the_interval():
    once = labelled(200, 0.0)
    tenfold = forecast(once.select(np.tile(np.arange(200), 10)), kind="labels")
    assert tenfold.notes[0].startswith("1800 of 2000 sentences repeat another one.")
    assert tenfold.verdict in ("no reason to be learned", "too little data to tell")
    narrow, wide = (high - low for low, high in (forecast(once, kind="labels").interval, tenfold.interval))
    assert wide > 0.5 * narrow


def test_a_side_without_spaces_is_said():
    words = Selections(10, 20).draw(40, numpy_generator(0)).astype(str).tolist()
    (note,) = forecast(SentencePairs.from_tokens([["".join(row)] for row in words], words)).notes
    assert note.startswith("Most input sentences have no space in them.")


def test_a_gain_below_0_is_said_in_words():
    pairs = labelled(1000, 0.0)
    below = next(made for seed in range(20) if (made := forecast(pairs, kind="labels", seed=seed)).gain < -0.001)
    assert f"says no more than its neighbours in another (gain {below.gain:.3f} bits, and 0 or less" in below.sentence
    assert "bits more than its average" not in below.sentence
    assert "bits more than its average word" in forecast(labelled(600, 0.9), kind="labels").sentence


# --- what it takes, and what it writes


@pytest.mark.parametrize(
    ("data", "options", "message"),
    [
        ("x.csv", {}, r"^'x\.csv' is a path; read it with attnlab\.read_texts .* or attnlab\.read_pairs"),
        (Path("x.csv"), {}, r"^'x\.csv' is a path"),
        ([["a"]], {}, r"needs what attnlab\.read_texts .* return, not list\.$"),
        (None, {}, "not NoneType"),
        (
            SentencePairs.from_tokens([["a"]], [["b"]]),
            {"kind": "label"},
            "no kind 'label'; known kinds are pairs, labels",
        ),
    ],
)
def test_what_is_no_data_is_refused_in_a_sentence(data, options, message):
    with pytest.raises(UsageError, match=message):
        forecast(data, **options)


def test_labelled_texts_are_forecast_as_labels_with_their_notes(tmp_path):
    path = tmp_path / "a.csv"
    rows = [f"a lovely film {k},good\nan awful film {k},bad\n,bad\n" for k in range(12)]
    path.write_text("text,label\n" + "".join(rows))
    texts = read_texts(path)
    result = forecast(texts)
    assert (result.kind, result.notes) == ("labels", texts.notes)
    assert replace(result, notes=()) == forecast(texts.pairs, kind="labels")
    assert "12 rows without words or label are left out" in result.notes[0]


def test_a_forecast_is_saved_as_its_suffix_says(tmp_path):
    result = forecast(copied(Selections(6, 12), 60))
    page, numbers = result.save(tmp_path / "a.html", name="<copying>"), result.save(str(tmp_path / "a.JSON"))
    assert "Forecast for &lt;copying&gt;" in page.read_text(encoding="utf-8")
    assert json.loads(numbers.read_text(encoding="utf-8")) == {
        "data": "your data",
        **json.loads(json.dumps(result.to_json())),
    }
    with pytest.raises(UsageError, match=r"saved as \.html .* or \.json .*, not as 'a\.pdf'"):
        result.save(tmp_path / "a.pdf")
    assert not (tmp_path / "a.pdf").exists()


# --- without PyTorch

PROGRAM = """
import sys
import attnlab
from attnlab.cli.main import app
from attnlab.data.sentence_pairs import read_pairs
from attnlab.data.texts import read_texts

attnlab.forecast(read_texts("a.csv")).save("api.html")
attnlab.forecast(read_pairs("a.de", "a.en")).save("api.json")
for words in (["a.csv"], ["--source", "a.de", "--target", "a.en"]):
    app(["forecast", *words, "--out", "written"], standalone_mode=False)
assert "torch" not in sys.modules, "torch was loaded"
"""


def test_forecasts_do_not_load_pytorch(tmp_path):
    rows = [f"a lovely film {k},good\nan awful film {k},bad\n" for k in range(12)]
    (tmp_path / "a.csv").write_text("text,label\n" + "".join(rows))
    for name, articles in (("a.de", ("das", "ein")), ("a.en", ("the", "a"))):
        (tmp_path / name).write_text("".join(f"{article} Haus{k}\n" for k in range(9) for article in articles))
    got = subprocess.run([sys.executable, "-c", PROGRAM], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert got.returncode == 0, got.stderr
    assert {path.name for path in tmp_path.rglob("*.*") if path.suffix in (".html", ".json")} == {
        "api.html", "api.json", "forecast.html", "forecast.json"
    }  # fmt: skip

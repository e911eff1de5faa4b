"""Planted cases: where no word says more than its neighbours, a forecast says why."""

import csv

import numpy as np
import pytest

from attnlab.data.sentence_pairs import SentencePairs
from attnlab.data.texts import read_texts
from attnlab.families.copying.task import Permutations, PermutationSets
from attnlab.seeds import numpy_generator
from attnlab.theory.forecast import forecast
from attnlab.theory.gain import read_gains
from attnlab.theory.reasons import check_labels

NAMES = ("bad", "good")
COUNT = 1200


class Planted:
    """Texts of ten words that say nothing, and two labels, to be changed by a case."""

    def __init__(self, count=COUNT, seed=0):
        self.rng = numpy_generator(seed, "planted")
        self.texts = [[f"w{word}" for word in row] for row in self.rng.integers(60, size=(count, 10))]
        self.label = self.rng.integers(2, size=count)
        self.other = self.rng.integers(2, size=count)

    def put(self, row, *words):
        place = int(self.rng.integers(len(self.texts[row]) + 1))
        self.texts[row][place:place] = words

    def lines(self):
        return [" ".join(text) for text in self.texts]

    def names(self):
        return [NAMES[one] for one in self.label]


@pytest.fixture
def made(tmp_path):
    """The forecast of texts and labels, by way of a file."""

    def make(texts, labels):
        path = tmp_path / "a.csv"
        with path.open("w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows([("text", "label"), *zip(texts, labels, strict=True)])
        return forecast(read_texts(path))

    return make


def test_label_noise(made):
    case = Planted()
    result = made(case.lines(), case.names())
    assert result.verdict == "no reason to be learned"
    (reason,) = result.reasons
    assert reason.startswith("The labels look like noise") and "are not seen" in reason
    assert "nor capitals, punctuation and symbols" in reason


def test_noise_is_called_noise_whatever_the_seed():
    reasons = []
    for seed in range(15):
        case = Planted(seed=seed)
        pairs = SentencePairs.from_tokens(case.texts, [[name] for name in case.names()])
        reasons += [one[:28] for one in forecast(pairs, kind="labels").reasons]
    assert set(reasons) == {"The labels look like noise: "}


def test_one_keyword_needs_no_reason(made):
    case = Planted()
    for row, label in enumerate(case.label):
        case.put(row, ("awful", "lovely")[label])
    result = made(case.lines(), case.names())
    assert (result.verdict, result.reasons) == ("likely to be learned", ())


def test_every_word_says_the_same(made):
    case = Planted()
    texts = [" ".join(f"{NAMES[label]}{word}" for word in case.rng.integers(30, size=10)) for label in case.label]
    result = made(texts, case.names())
    assert result.verdict == "no reason to be learned"
    (reason,) = result.reasons
    assert reason.startswith("All words of a text together name its label (100% of texts held out")
    assert reason.endswith("attention is not needed.")


def test_exclusive_or_of_two_words(made):
    case = Planted(2 * COUNT)
    for row, (one, other) in enumerate(zip(case.label, case.other, strict=True)):
        case.put(row, *["red"] * one)
        case.put(row, *["round"] * other)
    result = made(case.lines(), [NAMES[one ^ other] for one, other in zip(case.label, case.other, strict=True)])
    assert result.verdict == "no reason to be learned"
    (reason,) = result.reasons
    assert reason.startswith("The sign is in pairs of words: ") and "'red'" in reason and "'round'" in reason
    assert "0.99" in reason, "the pair says the whole bit"


@pytest.mark.parametrize("kinds", [1, 10])
def test_negation(made, kinds):
    case = Planted(2 * COUNT)
    for row, (negated, good) in enumerate(zip(case.label, case.other, strict=True)):
        case.put(row, *["not"] * negated, f"{('awful', 'lovely')[good]}{case.rng.integers(kinds)}")
    result = made(case.lines(), [NAMES[one ^ other] for one, other in zip(case.label, case.other, strict=True)])
    assert result.verdict in ("no reason to be learned", "too little data to tell")
    (reason,) = result.reasons
    assert reason.startswith("The sign is in pairs of words: ") and "'not'" in reason


def test_a_rare_class_that_the_mean_hides(made):
    case = Planted()
    case.label[:] = case.rng.permutation(COUNT) < 10
    for row in np.flatnonzero(case.label):
        case.put(row, "fraud")
    result = made(case.lines(), case.names())
    assert result.verdict in ("no reason to be learned", "too little data to tell")
    assert result.reasons[0].startswith("The label 'good' is rare")
    common, rare = result.labels
    assert (common.label, common.verdict) == ("bad", "no reason to be learned")
    assert (rare.texts, rare.verdict) == (case.label.sum(), "likely to be learned")
    assert rare.gain > 2 > 0.1 > result.gain
    assert not any("attention is not needed" in reason for reason in result.reasons)


def test_a_class_too_rare_to_say_anything_about(made):
    case = Planted()
    result = made(case.lines(), ["odd"] * 4 + case.names()[4:])
    assert result.reasons[0] == "Too rare for a forecast of their own (below 10 different texts): 'odd'."
    assert (result.labels[-1].label, result.labels[-1].interval) == ("odd", None)


@pytest.mark.parametrize(
    ("change", "clearest"),
    [
        (lambda line, label: line.upper() if label else line, "words with"),
        (lambda line, label: f"{line} {'☹☺'[label]}", "'☹☺"),
        (lambda line, label: line + "!" * label, "'!'"),
        (lambda line, label: f"{line} {('apple', 'Apple')[label]}", "'Apple'"),
    ],
    ids=["case", "emoji", "punctuation", "a word's case"],
)
def test_a_label_in_what_is_thrown_away(made, change, clearest):
    case = Planted()
    lines = [change(line, label) for line, label in zip(case.lines(), case.label, strict=True)]
    (reason,) = made(lines, case.names()).reasons
    assert reason.startswith("Capitals, punctuation and symbols, which are thrown away")
    assert "they name it in 100% of texts held out" in reason
    named = reason.partition("The clearest are ")[2].partition(", for ")[0]
    assert named.strip("'") in clearest or named.startswith("words with"), reason


def test_chinese_without_spaces(made):
    case = Planted()
    letters = [chr(0x4E00 + k) for k in range(60)]
    words = [[letters[k] for k in row] for row in case.rng.integers(60, size=(COUNT, 10))]
    for row, label in zip(words, case.label, strict=True):
        row.insert(int(case.rng.integers(11)), "坏好"[label])
    result = made(["".join(row) for row in words], case.names())
    assert result.verdict == "likely to be learned"
    assert {word.word for word in result.strongest[:2]} == {"坏", "好"}
    assert "written without spaces; here single characters count as words" in result.notes[0]


@pytest.mark.parametrize("seed", range(4))
def test_duplicated_noise(made, seed):
    case = Planted(60, seed)
    result = made(case.lines() * 10, case.names() * 10)
    assert result.verdict in ("no reason to be learned", "too little data to tell")
    assert result.notes[0].startswith("540 of 600 sentences repeat another one.")
    assert all("noise" in reason for reason in result.reasons)


def test_pairs_of_sentences_that_do_not_belong_together():
    rng = numpy_generator(0)
    source, target = rng.integers(50, size=(500, 8)), rng.integers(50, size=(500, 8))
    (reason,) = forecast(SentencePairs.from_ids(source, target, 50)).reasons
    assert reason.endswith("the lines of the two sides do not belong together.")


@pytest.mark.parametrize(
    ("distribution", "said"),
    [
        (Permutations(12), "Nearly all sentences have the same input words"),
        (PermutationSets(8), "together say 0.998 bits about each output word, but each of them says the same."),
    ],
)
def test_why_permutations_have_no_reason(distribution, said):
    words = distribution.draw(600, numpy_generator(0))
    (reason,) = forecast(SentencePairs.from_ids(words, words, distribution.words)).reasons
    assert said in reason


def test_many_labels_are_checked_with_fewer_pairs():
    rng = numpy_generator(0)
    texts, labels = rng.integers(200, size=(3000, 8)), rng.integers(80, size=(3000, 1))
    (reason,) = forecast(SentencePairs.from_ids(texts, labels, 200), kind="labels").reasons
    assert "nor do pairs of the 111 commonest words" in reason


def test_labels_with_too_few_texts_are_not_checked():
    rng = numpy_generator(0)
    pairs = SentencePairs.from_ids(rng.integers(9, size=(30, 5)), np.arange(30)[:, None] // 3, 10)
    assert check_labels(read_gains(pairs)) is None

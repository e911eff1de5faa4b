"""Parallel corpora in pieces: one's own files with all that can be wrong in them, splits, cache, and the real ones."""

import gzip
import json
import lzma
from dataclasses import replace

import numpy as np
import pytest

from attnlab.data import bitext as module
from attnlab.data.altered_bitext import fewer_pairs, shuffle_targets
from attnlab.data.bitext import LONGEST, load_bitext, load_bitext_files
from attnlab.data.bitexts import KNOWN, bitext_names, known_bitext
from attnlab.data.bitexts.pairs import RawPairs, hold_out_tenth
from attnlab.data.pieces import UNKNOWN
from attnlab.errors import UsageError

NUMBERS = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"]
ZAHLEN = ["eins", "zwei", "drei", "vier", "fünf", "sechs", "sieben", "acht", "neun", "zehn"]
ENGLISH = [f"{a} and {b} of the {c} houses are old." for a in NUMBERS for b in NUMBERS[:4] for c in NUMBERS[:3]]
GERMAN = [f"{a} und {b} der {c} Häuser sind alt." for a in ZAHLEN for b in ZAHLEN[:4] for c in ZAHLEN[:3]]
PAIRS = list(zip(ENGLISH, GERMAN, strict=True))


@pytest.fixture(autouse=True)
def _cache(tmp_path_factory, monkeypatch):
    monkeypatch.setenv("ATTNLAB_CACHE", str(tmp_path_factory.mktemp("cache")))


@pytest.fixture
def write(tmp_path):
    def write(name, lines):
        text = lines if isinstance(lines, bytes) else "".join(f"{line}\n" for line in lines).encode()
        pack = {"gz": gzip.compress, "xz": lzma.compress}.get(name.rpartition(".")[2], bytes)
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(pack(text))
        return path

    return write


def load(source, target=None, **settings):
    return load_bitext_files(source, target, **{"pieces": 50, **settings})


def texts_of(split):
    return list(zip(split.source.texts(), split.target.texts(), strict=True))


def all_texts(bitext):
    return sorted(pair for split in bitext.splits.values() for pair in texts_of(split))


# --- One's own files ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ending", ["", ".gz", ".xz"])
def test_two_files(ending, write):
    bitext = load(write(f"a.en{ending}", ENGLISH), write(f"a.de{ending}", GERMAN), languages=("en", "de"))
    assert (bitext.source_language, bitext.target_language) == ("en", "de")
    assert (len(bitext.train), len(bitext.validation), bitext.test) == (108, 12, None)
    assert all_texts(bitext) == sorted(PAIRS)
    assert bitext.notes == ()
    for split in bitext.splits.values():
        for side in (split.source, split.target):
            assert (side.values.dtype, side.offsets.dtype) == (np.int32, np.int64)
            assert side.values.min() > 3  # neither marks nor unknown pieces
            assert [bitext.pieces.decode(side.sentence(k)) for k in range(len(side))] == side.texts()
        for place, row in enumerate(split.rows.tolist()):
            assert (split.source.text(place), split.target.text(place)) == PAIRS[row - 1]


FORMS = {
    "pairs.tsv": lambda: [f"{a}\t{b}" for a, b in PAIRS],
    "pairs.txt": lambda: [f"{a}\t{b}" for a, b in PAIRS],
    "header.tsv": lambda: ["source\ttarget", *(f"{a}\t{b}" for a, b in PAIRS)],
    "bars.txt.gz": lambda: [f"{a} ||| {b}" for a, b in PAIRS],
    "table.csv.xz": lambda: ["target,id,source", *(f'"{b}",{k},"{a}"' for k, (a, b) in enumerate(PAIRS))],
    "lines.jsonl": lambda: [json.dumps({"source": a, "target": b}) for a, b in PAIRS],
}


@pytest.mark.parametrize("name", FORMS)
def test_one_file_says_the_same_as_two(name, write):
    two = load(write("a.en", ENGLISH), write("a.de", GERMAN))
    one = load(write(name, FORMS[name]()))
    assert all_texts(one) == all_texts(two)
    assert one.content == two.content
    shift = int(name in ("header.tsv", "table.csv.xz"))
    assert one.validation.rows.tolist() == [row + shift for row in two.validation.rows.tolist()]


def test_columns_by_name(write):
    path = write("t.tsv", ["n\tde\ten", *(f"{k}\t{b}\t{a}" for k, (a, b) in enumerate(PAIRS))])
    assert all_texts(load(path, columns=("en", "de"))) == sorted(PAIRS)
    with pytest.raises(UsageError, match="has no column 'fr'; its columns are 'n', 'de', 'en'"):
        load(path, columns=("en", "fr"))
    with pytest.raises(UsageError, match="Columns are of one file"):
        load(path, path, columns=("en", "de"))


def test_files_to_validate_on(write):
    files = write("a.en", ENGLISH), write("a.de", GERMAN)
    held_out = write("v.en", ENGLISH[:3]), write("v.de", GERMAN[:3])
    bitext = load(*files, validation=held_out)
    assert texts_of(bitext.train) == PAIRS
    assert texts_of(bitext.validation) == PAIRS[:3]
    assert bitext.notes == ("3 of the 3 validation pairs are training pairs, too.",)


def test_a_source_sentence_is_on_one_side_of_the_split(write):
    lines = [f"{a}\t{b} {k}" for k in range(3) for a, b in PAIRS]
    bitext = load(write("a.tsv", lines), pieces=50)
    train, held_out = (set(split.source.texts()) for split in (bitext.train, bitext.validation))
    assert not train & held_out
    assert (len(bitext.train), len(bitext.validation)) == (3 * 108, 3 * 12)


# --- What is wrong with them --------------------------------------------------------------------------------------


def test_sides_of_different_lengths_are_refused_with_both_counts(write):
    with pytest.raises(UsageError, match=r"a\.en has 120 lines and .*a\.de has 119; line n of one must be"):
        load(write("a.en", ENGLISH), write("a.de", GERMAN[1:]))


def test_empty_sides_are_named_left_out_and_counted(write):
    source, target = list(ENGLISH), list(GERMAN)
    source[3] = "  "
    target[3] = target[7] = ""
    source += ["\u200b"]  # nothing of it is printed
    target += ["alt."]
    held_out = write("v.en", ENGLISH[:2]), write("v.de", GERMAN[:2])
    bitext = load(write("a.en", source), write("a.de", target), validation=held_out)
    assert bitext.notes[0] == "a.en and a.de: 2 pairs with an empty side are left out (lines 4, 8)."
    assert "a.en and a.de: 1 pair of which nothing printable is on a side is left out (line 121)." in bitext.notes
    assert texts_of(bitext.train) == [pair for k, pair in enumerate(PAIRS) if k not in (3, 7)]
    assert bitext.train.rows.tolist() == [k for k in range(1, 121) if k not in (4, 8)]


def test_nothing_but_empty_sides_is_refused(write):
    with pytest.raises(UsageError, match=r"no sentence pair with text on both sides in a\.en and a\.de"):
        load(write("a.en", ["one", "", "two"]), write("a.de", ["", "zwei", ""]))


def test_a_sentence_of_5000_tokens_is_cut_counted_and_named(write):
    long = " ".join(["old"] * 5000)
    held_out = write("v.en", ENGLISH[:2]), write("v.de", GERMAN[:2])
    bitext = load(write("a.en", [*ENGLISH, long]), write("a.de", [*GERMAN, "alt."]), validation=held_out)
    assert f"a.en and a.de: 1 source sentence of more than {LONGEST} pieces is cut to {LONGEST} (line 121)." in (
        bitext.notes
    )
    assert bitext.train.source.lengths[-1] == LONGEST
    assert bitext.train.source.text(120) == long
    assert bitext.train.target.text(120) == "alt."
    short = load(write("a.en", ENGLISH), write("a.de", GERMAN), validation=held_out, longest=7)
    for side in (short.train.source, short.train.target):
        assert side.lengths.max() == 7 and len(side.values) == side.offsets[-1]
        assert all(side.text(k).startswith(short.pieces.decode(side.sentence(k))) for k in range(len(side)))
    whole = load(write("a.en", [*ENGLISH, long]), write("a.de", [*GERMAN, "alt."]), longest=20_000)
    side = whole.train.source if 121 in whole.train.rows else whole.validation.source
    assert side.lengths.max() >= 5000
    with pytest.raises(UsageError, match="has at least 1 piece, not 0"):
        load("a.en", "a.de", longest=0)


def test_too_few_sentences_for_the_pieces_wanted(write):
    bitext = load(write("a.en", ENGLISH), write("a.de", GERMAN), pieces=8000)
    assert len(bitext.pieces) < 8000
    assert bitext.notes == (f"The training text bears {len(bitext.pieces)} pieces, not 8000.",)


@pytest.mark.parametrize("lines", [["one\teins"], ["one\teins", "one\tein"]])
def test_too_few_sentences_for_a_split(lines, write):
    with pytest.raises(UsageError, match=r"a\.tsv: 1 different source sentence cannot be split"):
        load(write("a.tsv", lines))


def test_a_language_without_spaces(write):
    digits = "一二三四五六七八九十"
    chinese = [f"{a}和{b}座房子中的{c}座很旧。" for a in digits for b in digits[:4] for c in digits[:3]]
    bitext = load(write("a.en", ENGLISH), write("a.zh", chinese), languages=("en", "zh"))
    assert bitext.notes == (
        "Most zh sentences have no space, so each counts as one word: their pieces can be compared, but not joined "
        "to words.",
    )
    decoded = [bitext.pieces.decode(bitext.train.target.sentence(k)) for k in range(len(bitext.train))]
    assert decoded == bitext.train.target.texts()


def test_control_characters_are_read_as_spaces_and_named(write):
    source = list(ENGLISH)
    source[0] = source[0].replace(" and ", "\x1b[31m\x00and\u2028")
    held_out = write("v.en", ENGLISH[:2]), write("v.de", GERMAN[:2])
    bitext = load(write("a.en", source), write("a.de", GERMAN), validation=held_out)
    assert bitext.notes[0] == (
        "a.en and a.de: 1 pair with control characters is read with spaces in their place (line 1)."
    )
    assert bitext.train.source.text(0) == "one [31m and one of the one houses are old."


def test_a_missing_file(tmp_path, write):
    with pytest.raises(UsageError, match=r"There is no file .*none\.de\."):
        load(write("a.en", ENGLISH), tmp_path / "none.de")


def test_identical_files(write):
    with pytest.raises(UsageError, match=r"a\.en and .*b\.en\.gz are identical"):
        load(write("a.en", ENGLISH), write("b.en.gz", ENGLISH))
    with pytest.raises(UsageError, match=r"Both sides of .*a\.tsv are identical"):
        load(write("a.tsv", [f"{a}\t{a}" for a in ENGLISH]))


@pytest.mark.parametrize(
    ("lines", "sentence"),
    [
        (["a b\tc d", "e f"], r"line 2 has 0 tabs; one is needed"),
        (["a b\tc d", "e\tf\tg"], r"line 2 has 2 tabs; one is needed"),
        (["a ||| b", "c d"], r"line 2 has \|\|\| 0 times"),
        (["just a text"], r"line 1 has 0 tabs"),
        (b"caf\xe9\tx\n", r"line 1 is not UTF-8"),
    ],
)
def test_a_file_that_has_not_two_sides(lines, sentence, write):
    with pytest.raises(UsageError, match=sentence):
        load(write("a.txt", lines))


# --- The cache ----------------------------------------------------------------------------------------------------


def test_the_second_time_it_comes_from_the_cache(write, monkeypatch):
    files = write("a.en", ["", *ENGLISH]), write("a.de", ["", *GERMAN])
    built = load(*files)
    monkeypatch.setattr(module, "_build", None)
    again = load(*files)
    assert (again.name, again.notes, again.content) == (built.name, built.notes, built.content)
    assert again.pieces.model == built.pieces.model
    for one, other in zip(built.splits.values(), again.splits.values(), strict=True):
        assert texts_of(one) == texts_of(other)
        np.testing.assert_array_equal(one.rows, other.rows)
        for side in ("source", "target"):
            np.testing.assert_array_equal(getattr(one, side).values, getattr(other, side).values)
    with pytest.raises(TypeError):
        load(*files, pieces=51)


def test_content_is_pieces_and_ids(write):
    files = write("a.en", ENGLISH), write("a.de", GERMAN)
    bitext = load(*files)
    assert len(bitext.content) == 16 and int(bitext.content, 16) >= 0
    assert replace(bitext, name="x", notes=("y",)).content == bitext.content
    assert load(*files, pieces=51).content != bitext.content
    assert load(*files, longest=5).content != bitext.content
    assert load(files[1], files[0]).content != bitext.content
    values = bitext.validation.target.values.copy()
    values[0], values[1] = values[1], values[0]
    target = replace(bitext.validation.target, values=values)
    assert replace(bitext, validation=replace(bitext.validation, target=target)).content != bitext.content


# --- Made harder --------------------------------------------------------------------------------------------------


@pytest.fixture
def small(write):
    return load(write("a.en", ENGLISH), write("a.de", GERMAN))


@pytest.mark.parametrize("share", [0.2, 0.5, 1.0])
def test_shuffled_targets(small, share):
    altered = shuffle_targets(small, share, seed=3)
    before, after = small.train, altered.train
    assert after.source is before.source and altered.validation is small.validation
    assert sorted(after.target.texts()) == sorted(before.target.texts())
    moved = {k for k in range(108) if after.target.text(k) != before.target.text(k)}
    assert share * 108 * 0.8 < len(moved) <= round(share * 108)
    for k in range(108):
        assert altered.pieces.decode(after.target.sentence(k)) == after.target.text(k)
    more = shuffle_targets(small, 1.0, seed=3)
    drawn = {k for k in range(108) if more.train.target.text(k) != before.target.text(k)}
    assert len(moved - drawn) <= 3  # of a hundred, one or two come back to their place
    assert f"of {round(share * 108)} of 108 training pairs" in altered.notes[-1]


def test_nothing_is_shuffled_by_a_share_of_nothing(small):
    assert shuffle_targets(small, 0.0) is small
    with pytest.raises(UsageError, match="between 0 and 1"):
        shuffle_targets(small, 1.5)


def test_fewer_pairs_are_among_more(small):
    few, more = fewer_pairs(small, 10), fewer_pairs(small, 50)
    assert set(few.train.rows) < set(more.train.rows) < set(small.train.rows)
    assert (len(few.train), len(more.train)) == (10, 50)
    assert set(texts_of(few.train)) < set(PAIRS)
    assert few.pieces is small.pieces and few.validation is small.validation
    assert few.train.rows.tolist() == sorted(few.train.rows)
    assert few.train.rows.tolist() != small.train.rows[:10].tolist()  # drawn from all of them
    for count in (0, 109):
        with pytest.raises(UsageError, match="training pair"):
            fewer_pairs(small, count)


# --- Known by name ------------------------------------------------------------------------------------------------


def test_names():
    assert {"multi30k/en-de", "multi30k/de-en", "multi30k/cs-fr", "hansards/fr-en"} <= set(bitext_names())
    for name in bitext_names():
        known, source, target = known_bitext(name)
        assert f"{known.name}/{source}-{target}" == name
    with pytest.raises(UsageError, match=r"There is no bitext 'multi30/en-de'.*Did you mean 'multi30k'"):
        known_bitext("multi30/en-de")
    for wrong in ("multi30k/en-es", "multi30k/en-en", "multi30k/"):
        with pytest.raises(UsageError, match=r"multi30k has no languages .*; name one of multi30k/en-de"):
            known_bitext(wrong)
    with pytest.raises(UsageError, match="'multi30k' is a corpus of several directions; name one of"):
        known_bitext("multi30k")


@pytest.mark.parametrize("name", bitext_names())
def test_what_is_not_there_is_said(name, tmp_path):
    with pytest.raises(UsageError, match=r"has no .*; needed: "):
        load_bitext(name, root=tmp_path)


def test_news_commentary(write, tmp_path):
    lines = [f"{a}\t{b}" for a, b in PAIRS]
    lines[5:5] = ["\t", "1,234.5 %\t1.234,5 %", "2019-2020\t2019-2020", "", "5 %\tfünf"]
    write("news_commentary/news-commentary-v14.en-nl.tsv.gz", lines)
    bitext = load_bitext("news-commentary/en-nl", root=tmp_path, pieces=50)
    assert "2 pairs of numbers alone are left out." in bitext.notes
    assert all_texts(bitext) == sorted([*PAIRS, ("5 %", "fünf")])
    assert (len(bitext.train), len(bitext.validation)) == (109, 12)
    back = load_bitext("news-commentary/nl-en", root=tmp_path, pieces=50)
    assert texts_of(back.train) == [(b, a) for a, b in texts_of(bitext.train)]
    assert back.pieces.model == bitext.pieces.model


def test_tatoeba_is_split_by_its_english_side(write, tmp_path):
    lines = [f"{a}\t{b}{mark}\tCC-BY" for mark in "!?" for a, b in PAIRS]
    write("tatoeba/deu-eng.txt.xz", lines)
    for name in ("tatoeba/en-de", "tatoeba/de-en"):
        bitext = load_bitext(name, root=tmp_path, pieces=50)
        english = ["source", "target"][name.endswith("en")]
        train, held_out = (set(getattr(split, english).texts()) for split in (bitext.train, bitext.validation))
        assert not train & held_out
        assert (len(bitext.train), len(bitext.validation)) == (216, 24)


def test_the_split_is_drawn_from_the_name():
    pairs = RawPairs(ENGLISH, GERMAN, np.arange(1, 121), "x")
    one, again, other = (hold_out_tenth(pairs, name)[1].rows.tolist() for name in ("a", "a", "b"))
    assert one == again != other


@pytest.mark.needs_data("multi30k")
def test_multi30k(data_root):
    """Sizes of the official splits, and the pieces of P3: 16,180 validation target pieces with the end mark."""
    bitext = load_bitext("multi30k/en-de")
    assert [len(split) for split in bitext.splits.values()] == [29000, 1014, 1000]
    assert len(bitext.pieces) == 8000
    assert bitext.notes == ()
    valid = bitext.validation
    assert int(valid.target.lengths.sum()) + 1014 == pytest.approx(16180, rel=0.015)
    assert int(valid.source.lengths.sum()) + 1014 < 16180 * 0.97
    back = load_bitext("multi30k/de-en")
    assert back.pieces.model == bitext.pieces.model
    np.testing.assert_array_equal(back.train.source.values, bitext.train.target.values)
    for side in (bitext.train.source, bitext.train.target):
        assert not (side.values == UNKNOWN).any()
        places = range(0, len(side), 500)
        assert [bitext.pieces.decode(side.sentence(k)) for k in places] == [side.text(k) for k in places]


@pytest.mark.needs_data("alignment_gold", "hansards_enfr")
@pytest.mark.parametrize("name", ["europarl/en-es", pytest.param("hansards/en-fr", marks=pytest.mark.slow)])
def test_corpora_with_hand_alignments_know_the_words_of_these(name, data_root):
    bitext = load_bitext(name)
    note = next(note for note in bitext.notes if "aligned by hand" in note)
    shares = [float(word.rstrip("%")) for word in note.split() if word.endswith("%")]
    assert len(shares) == 2 and min(shares) >= 95
    gold = bitext.validation
    assert len(gold) == (200 if name.startswith("europarl") else 447)
    assert gold.rows.tolist() == list(range(1, len(gold) + 1))  # as the links number them


@pytest.mark.needs_data("libreoffice_help", "iwslt14_deen", "tatoeba")
@pytest.mark.parametrize(("name", "pairs"), [("libreoffice/it-pt", 22847), ("iwslt14/en-de", 22672)])
def test_other_real_ones(name, pairs, data_root):
    bitext = load_bitext(name)
    left_out = sum(int(note.split(": ")[1].split()[0]) for note in bitext.notes if "left out" in note)
    assert sum(map(len, bitext.splits.values())) + left_out == pairs
    assert len(bitext.pieces) == 8000
    assert ("compare its BLEU with nobody's" in " ".join(bitext.notes)) == name.startswith("iwslt14")
    assert set(KNOWN) >= {"libreoffice", "iwslt14"}

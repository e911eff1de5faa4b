"""Corpora from texts to word ids: the real ones, the cache, and one's own files with all that can be wrong in them."""

import json
from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import parquet

from attnlab.data.cache import cache_folder, read_cached, write_cached
from attnlab.data.labelled_text import MOST_VALID, Corpus, load_corpus, load_file, sizes
from attnlab.data.own_file import hold_out_fifth, parse_groups
from attnlab.data.tokens import TokenRule
from attnlab.errors import UsageError


@pytest.fixture(autouse=True)
def _cache(tmp_path_factory, monkeypatch):
    monkeypatch.setenv("ATTNLAB_CACHE", str(tmp_path_factory.mktemp("cache")))


def texts_of(bags, words):
    return [[words[word] for word in part.tolist()] for part in torch.split(bags.words, bags.lengths.tolist())]


# --- The real corpora ---------------------------------------------------------------------------------------------


@pytest.mark.needs_data("sst", "sms_spam", "ag_news")
@pytest.mark.parametrize(
    ("name", "train", "valid"),
    [
        ("sst", (3310, 3610), (912, 909)),
        ("sms", None, None),
        ("ag_news", None, (1900, 1900)),
    ],
)
def test_sizes_of_the_real_ones(name, train, valid, data_root):
    corpus = load_corpus(name)
    size = sizes(corpus)
    assert train is None or size.train_classes == train
    assert valid is None or size.valid_classes == valid
    assert (size.train, size.valid) == (sum(size.train_classes), sum(size.valid_classes))
    assert size.valid <= MOST_VALID
    assert size.vocabulary == len(corpus.words) == len(set(corpus.words))
    assert corpus.words[0] == "<unk>"
    for bags in (corpus.train, corpus.valid):
        assert {bags.words.dtype, bags.offsets.dtype, bags.labels.dtype} == {torch.int64}
        assert bags.offsets[0] == 0 and bags.offsets[-1] == len(bags.words)
        assert bool((bags.lengths > 0).all())
    counts = torch.bincount(corpus.train.words, minlength=len(corpus.words))[1:]
    assert int(counts.min()) >= 3
    assert bool((counts.diff() <= 0).all())


@pytest.mark.needs_data("sms_spam")
def test_the_papers_sms_figures(data_root):
    """P3 A.9: 3500 training examples with a median length of 13."""
    corpus = load_corpus("sms")
    size = sizes(corpus)
    assert (size.train, size.median_length) == (3500, 13)
    assert size.valid == 2074 - 2
    assert corpus.notes == ("2 texts without a word are left out.",)


@pytest.mark.needs_data("sst", "glove")
def test_the_released_rule_adds_words_that_have_a_vector(data_root, tmp_path):
    text = load_corpus("sst")
    table = tmp_path / "glove" / "tiny.txt"
    table.parent.mkdir()
    (tmp_path / "sst").symlink_to(data_root / "sst")
    rare = [word for word, count in _train_counts(text, data_root).items() if count < 3][:2]
    table.write_text("".join(f"{word} 0.5\n" for word in [*rare, "notinthere", "the"]), encoding="utf-8")
    released = load_corpus("sst", root=tmp_path, vocabulary="released")
    assert set(released.words) - set(text.words) == set(rare)
    assert released.content != text.content
    assert sizes(released).unknown[0] < sizes(text).unknown[0]


def _train_counts(corpus, data_root):
    import gzip
    import re

    rule = TokenRule()
    with gzip.open(data_root / "sst" / "train.txt.gz", "rt", encoding="utf-8") as lines:
        trees = [line for line in lines if line[1] != "2"]
    leaves = [
        " ".join(re.findall(r" ([^()\s]+)\)", tree)).replace("-LRB-", "(").replace("-RRB-", ")") for tree in trees
    ]
    counts = Counter(word for text in leaves for word in rule.words(text))
    assert {word for word, count in counts.items() if count >= 3} == set(corpus.words[1:])
    return counts


def test_the_released_rule_needs_a_table(tmp_path):
    (tmp_path / "a.csv").write_text("text,label\n" + "fine,1\nbad,0\n" * 5, encoding="utf-8")
    with pytest.raises(UsageError, match=r"glove has no word vectors; needed: a table of GloVe"):
        load_file(tmp_path / "a.csv", vocabulary="released", root=tmp_path)


# --- The cache ----------------------------------------------------------------------------------------------------


def test_cached_data_is_the_same_and_damage_is_mended(tmp_path, monkeypatch):
    cache = tmp_path / "cache"
    monkeypatch.setenv("ATTNLAB_CACHE", str(cache))
    path = tmp_path / "a.csv"
    path.write_text("text,label\n" + "fine fine film,good\nbad film,bad\n:-),bad\n" * 6, encoding="utf-8")
    made = load_file(path)
    (stored,) = cache.iterdir()
    whole = stored.read_bytes()
    for data in (whole, whole[:-3], b"", whole[:-1] + bytes([whole[-1] ^ 1])):
        stored.write_bytes(data)
        again = load_file(path)
        assert (again.content, again.notes, again.words, again.classes, again.name) == (
            made.content,
            made.notes,
            made.words,
            made.classes,
            made.name,
        )
        assert read_cached(stored.stem) is not None
    path.write_text(path.read_text(encoding="utf-8") + "fine,good\n", encoding="utf-8")
    assert load_file(path).content != made.content
    assert len(list(cache.iterdir())) == 2


def test_data_of_other_rules_is_made_again(tmp_path, monkeypatch):
    cache = tmp_path / "cache"
    monkeypatch.setenv("ATTNLAB_CACHE", str(cache))
    (tmp_path / "a.csv").write_text("text,label\n" + "fine,1\nbad,0\n" * 5 + "...,0\n", encoding="utf-8")
    made = load_file(tmp_path / "a.csv")
    monkeypatch.setattr("attnlab.data.labelled_text.RULES", 1)
    again = load_file(tmp_path / "a.csv")
    assert (again.content, again.notes) == (made.content, made.notes)
    assert len(list(cache.iterdir())) == 2


def test_no_cache_only_warns(tmp_path, monkeypatch):
    (tmp_path / "taken").write_text("", encoding="utf-8")
    monkeypatch.setenv("ATTNLAB_CACHE", str(tmp_path / "taken"))
    (tmp_path / "a.csv").write_text("text,label\n" + "fine,1\nbad,0\n" * 5, encoding="utf-8")
    with pytest.warns(UserWarning, match="cannot be kept"):
        assert len(load_file(tmp_path / "a.csv").train) == 8


def test_content_says_what_the_data_is(tmp_path):
    (tmp_path / "a.csv").write_text("text,label\n" + "fine,1\nbad,0\n" * 5, encoding="utf-8")
    one = load_file(tmp_path / "a.csv")
    assert len(one.content) == 16 and int(one.content, 16) >= 0
    noted = Corpus("other", one.classes, one.words, one.train, one.valid, ("A note.",))
    renamed = Corpus(one.name, ("x", "y"), one.words, one.train, one.valid)
    swapped = Corpus(one.name, one.classes, one.words, one.valid, one.train)
    assert noted.content == one.content
    assert len({one.content, renamed.content, swapped.content}) == 3


# --- One's own file -----------------------------------------------------------------------------------------------

ROWS_COUNTED = "Rows are counted without the header: row 1 is the first below it."
ROWS = [
    {"text": f"the {word} film number{row % 2}", "label": label}
    for row in range(15)
    for word, label in (("awful", "1"), ("so", "3"), ("lovely", "5"))
]


def write_rows(folder, form, rows=ROWS):
    path = folder / f"a.{form}"
    if form == "parquet":
        parquet.write_table(pa.Table.from_pylist(rows), path)
    elif form == "jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    else:
        sign = "," if form == "csv" else "\t"
        lines = [sign.join(rows[0]), *(sign.join(row.values()) for row in rows)]
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def test_every_form_gives_the_same_data(tmp_path):
    corpora = [load_file(write_rows(tmp_path, form)) for form in ("csv", "tsv", "jsonl", "parquet")]
    assert len({corpus.content for corpus in corpora}) == 1
    corpus = corpora[0]
    assert corpus.classes == ("1", "3", "5")
    assert (len(corpus.train), len(corpus.valid)) == (36, 9)
    assert torch.bincount(corpus.train.labels).tolist() == [12, 12, 12]
    word = {"1": "awful", "3": "so", "5": "lovely"}
    for bags in (corpus.train, corpus.valid):
        for words, label in zip(texts_of(bags, corpus.words), bags.labels.tolist(), strict=True):
            assert words[:3] == ["the", word[corpus.classes[label]], "film"]


@pytest.mark.parametrize("groups", ["5=pos 1,2=neg", {"5": "pos", "1": "neg", "2": "neg"}], ids=["text", "mapping"])
def test_labels_are_grouped_and_the_rest_is_counted(groups, tmp_path):
    rows = [*ROWS, {"text": "the bad film", "label": "2"}]
    corpus = load_file(write_rows(tmp_path, "csv", rows), groups=groups)
    assert corpus.classes == ("pos", "neg")
    assert len(corpus.train) + len(corpus.valid) == 31
    assert corpus.notes == ("a.csv: 15 rows with the label '3' are left out.",)


def test_many_labels_left_out_are_counted(tmp_path):
    rows = [*ROWS, *({"text": "x", "label": f"other{n}"} for n in range(8) for _ in range(n + 1))]
    notes = load_file(write_rows(tmp_path, "csv", rows), groups="1=neg 5=pos").notes
    assert notes[0] == "a.csv: 15 rows with the label '3' are left out."
    assert notes[-1] == "a.csv: 10 rows with 4 other labels are left out."
    assert sum(int(note.split()[1]) for note in notes) == 15 + sum(range(9))


@pytest.mark.parametrize(
    ("groups", "told"),
    [
        ("1,2neg 5=pos", "'1,2neg' is no group of labels"),
        ("1,=neg 5=pos", "'1,=neg' is no group of labels"),
        ("=neg 5=pos", "'=neg' is no group of labels"),
        ("1= 5=pos", "'1=' is no group of labels"),
        ("1=neg 1=pos", "'1' is named twice"),
        ("1,5=neg", "The groups of labels '1,5=neg' must make two or more classes"),
        (" ", "The groups of labels ' ' must make two or more classes"),
        ("1=neg 6=pos", r"a\.csv has no label '6' in its column 'label'; its labels are '1', '3', '5'"),
    ],
    ids=["no-sign", "empty-label", "no-label", "no-class", "twice", "one-class", "nothing", "not-there"],
)
def test_bad_groups(groups, told, tmp_path):
    with pytest.raises(UsageError, match=told):
        load_file(write_rows(tmp_path, "csv"), groups=groups)


def test_rows_without_words_or_label_are_counted_and_named(tmp_path):
    rows = [*ROWS, {"text": "...", "label": "1"}, {"text": "fine", "label": " "}, {"text": "", "label": "5"}]
    corpus = load_file(write_rows(tmp_path, "csv", rows))
    assert corpus.notes == (
        "a.csv: 1 row without a label is left out (row 47).",
        "a.csv: 2 texts without a word are left out (rows 46, 48).",
        ROWS_COUNTED,
    )
    assert len(corpus.train) + len(corpus.valid) == 45
    assert load_file(write_rows(tmp_path, "jsonl", rows)).notes == (
        "a.jsonl: 1 row without a label is left out (row 47).",
        "a.jsonl: 2 texts without a word are left out (rows 46, 48).",
    )


def test_empty_lines_are_counted_and_move_no_row(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("text,label\n" + "fine,1\nbad,0\n" * 5 + "\n\n...,1\n\n", encoding="utf-8")
    assert load_file(path).notes == (
        "a.csv: 3 rows without a label are left out (rows 11, 12, 14).",
        "a.csv: 1 text without a word is left out (row 13).",
        ROWS_COUNTED,
    )
    path.write_text("text,label\n\n" + "fine,1\nbad,0\n" * 5 + "\nodd,2\n", encoding="utf-8")
    with pytest.raises(UsageError, match=r"a\.csv, row 13: no other text is of the class '2'"):
        load_file(path)


def test_a_text_of_50000_words_is_kept_or_counted(tmp_path):
    rows = [*ROWS, {"text": "word " * 50_000, "label": "1"}]
    path = write_rows(tmp_path, "csv", rows)
    size = sizes(load_file(path))
    assert {size.longest, size.valid_longest} == {4, 50_000}
    short = load_file(path, longest=49_999)
    assert short.notes == ("a.csv: 1 text of more than 49999 words is left out (row 46).", ROWS_COUNTED)
    assert len(short.train) + len(short.valid) == 45
    with pytest.raises(UsageError, match="at least 1 word, not 0"):
        load_file(path, longest=0)


def test_a_file_of_its_own_to_validate_on(tmp_path):
    path = write_rows(tmp_path, "csv")
    (tmp_path / "v.csv").write_text("text,label\nawful,1\nlovely,5\nso,3\n...,3\n", encoding="utf-8")
    corpus = load_file(path, valid=tmp_path / "v.csv")
    assert (len(corpus.train), len(corpus.valid)) == (45, 3)
    assert texts_of(corpus.valid, corpus.words) == [["awful"], ["lovely"], ["so"]]
    assert corpus.notes == ("v.csv: 1 held-out text without a word is left out (row 4).", ROWS_COUNTED)
    (tmp_path / "v.csv").write_text("text,label\nawful,1\nlovely,6\n", encoding="utf-8")
    with pytest.raises(
        UsageError, match=r"v\.csv, row 2: the label '6' is not in .*a\.csv, whose labels are '1', '3', '5'"
    ):
        load_file(path, valid=tmp_path / "v.csv")
    (tmp_path / "v.csv").write_text("text,label\nawful,1\nlovely,5\n", encoding="utf-8")
    with pytest.raises(UsageError, match=r"v\.csv has no text of the class '3' to validate on; each class needs one"):
        load_file(path, valid=tmp_path / "v.csv")
    (tmp_path / "v.csv").write_text("text,label\nawful,1\n...,3\nlovely,5\n", encoding="utf-8")
    with pytest.raises(UsageError, match=r"v\.csv has no text of the class '3' to validate on \(row 2 has no word\);"):
        load_file(path, valid=tmp_path / "v.csv")


@pytest.mark.parametrize(
    ("more", "options", "told"),
    [
        ("odd,9\n", {}, r"a\.csv, row 5: no other text is of the class 'rare'; each class needs two texts"),
        ("odd,9\n:-),8\n", {}, r"row 5: no other text of the class 'rare' can be used \(row 6 has no word\); each"),
        (
            ":-),9\n,8\nodd,8\n?,9\n",
            {},
            r"a\.csv, row 7: no other text of the class 'rare' can be used \(rows 5, 6, 8 have no word\)",
        ),
        (":-),9\n,8\n", {}, r"a\.csv: no text of the class 'rare' can be used \(rows 5, 6 have no word\); each"),
        (
            "odd,9\nodd one,8\n",
            {"longest": 1},
            r"a\.csv, row 5: no other .* 'rare' can be used \(row 6 has no word or more than 1\)",
        ),
    ],
    ids=["once", "once-with-words", "many", "never", "too-long"],
)
def test_a_class_of_a_map_with_one_text_is_refused_with_its_row(more, options, told, tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("text,label\n" + "fine,1\nbad,0\n" * 2 + more, encoding="utf-8")
    groups = {"1": "good", "0": "poor", "9": "rare", **({"8": "rare"} if ",8" in more else {})}
    with pytest.raises(UsageError, match=told):
        load_file(path, groups=groups, **options)
    (tmp_path / "v.csv").write_text("text,label\nfine,1\nbad,0\nodd,9\n", encoding="utf-8")
    if "no text" in told:
        with pytest.raises(UsageError, match=r"a\.csv has no text of the class 'rare' to train on \(rows 5, 6 have no"):
            load_file(path, groups=groups, valid=tmp_path / "v.csv", **options)
    else:  # with texts of their own to validate on, one to train on is enough
        assert len(load_file(path, groups=groups, valid=tmp_path / "v.csv", **options).train) == 5


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (b"text,label\nfine,1\ngood,1\n", r"has only the label '1' in its column 'label'; two or more classes"),
        (b"text,label\nfine,\ngood,\n", r"has no label in its column 'label'"),
        (b"text,label\nfine,1\ngood,1\nbad,0\n", r"a\.csv, row 3: no other text is of the class '0'; each"),
        (b"text,label\nfine,1\ngood,1\nbad,0\n...,0\n", r"a\.csv, row 3: no other .* '0' .* \(row 4 has no word\)"),
        (b"text,lable\nfine,1\n", r"no column 'label'; its columns are 'text', 'lable'\. Did you mean 'lable'\?"),
        (b"text,label\nfine,1\ncaf\xe9,0\n", r"a\.csv, line 3 is not UTF-8 \(byte 0xe9\)"),
        (b'text,label\nfine,1\n"bad,0\nfine,1\n', r"a\.csv, line 3: the quotation mark .* never closed"),
        (b'label,text\n1,fine\n0,"bad\n1,fine\n', r"a\.csv, line 3: the quotation mark .* never closed"),
        (b'label,text\n1,"fine\n0,"bad\n1,fine\n', r"a\.csv, line 3: the value .* begins in line 2 ends there"),
        (b"text,label\nfine,1\nbad,0,9\n", r"a\.csv, line 3 has 3 columns; the first line names 2\. A value"),
        (b"", r"a\.csv is empty"),
        (b"text,label\n", r"a\.csv has no label"),
    ],
    ids=[
        "one-class", "no-label", "once", "once-with-words", "column", "encoding", "quote", "quote-last", "two-quotes",
        "columns", "empty", "header-only",
    ],
)  # fmt: skip
def test_bad_files(data, told, tmp_path):
    (tmp_path / "a.csv").write_bytes(data)
    with pytest.raises(UsageError, match=told):
        load_file(tmp_path / "a.csv")


def test_bad_json_lines(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text('{"text": "a", "label": 1}\n{"text": "a \\ud83d b", "label": 0}\n', encoding="utf-8")
    with pytest.raises(UsageError, match=r"a\.jsonl, line 2: 'text' holds half a character"):
        load_file(path)
    path.write_text('{"text": "a", "label": 1}\n{"text": "b"}\n', encoding="utf-8")
    with pytest.raises(UsageError, match=r"a\.jsonl, line 2 has no column 'label'"):
        load_file(path)


def test_quotation_marks_inside_values_are_fine(tmp_path):
    lines = ["text,label", 'a "good" film,1', '5" tall,0', '"so ""good"", so\nlong",1', '"",1', '"a",0', 'end,"1"']
    (tmp_path / "a.csv").write_text("\r\n".join(lines) + "\r\n", encoding="utf-8")
    corpus = load_file(tmp_path / "a.csv")
    assert len(corpus.train) + len(corpus.valid) == 5
    assert corpus.notes == ("a.csv: 1 text without a word is left out (row 4).", ROWS_COUNTED)


@given(st.lists(st.integers(0, 4), max_size=200), st.integers(1, 3))
@settings(max_examples=60)
def test_each_class_is_in_both_parts(labels, times):
    labels = np.array(labels * times * 2, np.int64)
    held_out = hold_out_fifth(labels)
    for label in np.unique(labels):
        there = held_out[labels == label]
        assert 1 <= there.sum() <= max(1, len(there) // 5)
        assert not there.all()
    assert np.array_equal(held_out, hold_out_fifth(labels))


def test_no_more_than_4000_are_held_out():
    labels = np.arange(50_000) % 7
    held_out = hold_out_fifth(labels)
    assert 3990 <= held_out.sum() <= 4000


@given(st.text(alphabet="12=, ab", max_size=12))
def test_groups_are_refused_in_a_sentence_or_right(text):
    try:
        groups = parse_groups(text)
    except UsageError as error:
        assert str(error).endswith(".")
    else:
        assert len(set(groups.values())) >= 2
        written = " ".join(f"{label}={name}" for label, name in groups.items())
        assert parse_groups(written) == groups


@pytest.mark.parametrize("name", ["words", "train.words", "train.offsets", "valid.labels", "notes", "classes"])
def test_a_cache_that_holds_no_corpus_is_made_again(tmp_path, name):
    """Its checksum agrees, as that of a stranger's would."""
    path = tmp_path / "texts.csv"
    path.write_text("text,label\n" + "a good film,1\na bad film,0\n" * 10, encoding="utf-8")
    whole = load_file(path)
    (kept,) = cache_folder().iterdir()
    arrays, facts = read_cached(kept.stem)
    for changed in (None, 7, [-1]):
        crafted = ({**arrays, name: np.array(changed or [])}, facts)
        if name not in arrays:
            crafted = (arrays, {**facts, name: changed})
        write_cached(kept.stem, *crafted)
        assert load_file(path).content == whole.content
        assert load_file(path).notes == whole.notes

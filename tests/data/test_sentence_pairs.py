"""Parallel corpora as files: every form they come in, and every way in which they are broken."""

import bz2
import gzip
import lzma
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attnlab.data import sentence_pairs
from attnlab.data.conventions import Conventions
from attnlab.data.reading import read_lines, read_utf8
from attnlab.data.sentence_pairs import SentencePairs, read_joined_pairs, read_pairs
from attnlab.errors import UsageError

WORDS = st.text(st.characters(exclude_categories=("Cs",), exclude_characters=" \t\n\r\x0b\x0c"), min_size=1, max_size=5)
SENTENCES = st.lists(st.tuples(st.lists(WORDS, max_size=4), st.lists(WORDS, max_size=4)), min_size=1, max_size=6)


def words_of(pairs):
    """Pairs as lists of words again."""
    sides = (
        (pairs.source, pairs.source_offsets, pairs.source_words),
        (pairs.target, pairs.target_offsets, pairs.target_words),
    )
    return [
        tuple([words[k] for k in ids[offsets[m] : offsets[m + 1]]] for ids, offsets, words in sides)
        for m in range(len(pairs))
    ]


def expected(sentences):
    return [(s, t) if s and t else ([], []) for s, t in sentences]


@pytest.fixture
def write(tmp_path):
    def write(name, text):
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode("utf-8"))
        return path

    return write


@given(SENTENCES)
def test_tokens_come_back(sentences):
    pairs = SentencePairs.from_tokens(*zip(*sentences, strict=True))
    assert words_of(pairs) == expected(sentences)
    assert len(set(pairs.source_words)) == len(pairs.source_words) == len(np.unique(pairs.source))
    assert words_of(pairs.swapped()) == [(t, s) for s, t in expected(sentences)]
    assert words_of(pairs.first(1)) == expected(sentences[:1])


@settings(max_examples=30)
@given(SENTENCES.filter(lambda sentences: any(s and t for s, t in sentences)))
def test_files_say_what_was_written(tmp_path_factory, sentences):
    """Any words but those with white space in them: control characters, line separators, "|||", byte order marks."""
    folder = tmp_path_factory.mktemp("corpus")
    for name, side in (("a", 0), ("b", 1)):
        text = "".join(" ".join(sentence[side]) + "\n" for sentence in sentences)
        (folder / name).write_bytes(b"\xef\xbb\xbf" + text.encode("utf-8"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert words_of(read_pairs(folder / "a", folder / "b")) == expected(sentences)


@pytest.mark.parametrize(
    ("name", "form"), [("a.txt", lambda data: data), ("a.gz", gzip.compress), ("a.xz", lzma.compress)]
)
def test_every_form_of_a_file(name, form, write):
    text = "NA null\r\n\tna\xefve  \u2028x \x1cy \r\nlast"
    path = write(name, form(b"\xef\xbb\xbf" + text.encode("utf-8")))
    assert read_lines(path) == ["NA null", "\tna\xefve  \u2028x \x1cy ", "last"]
    pairs = read_pairs(path, path)
    assert words_of(pairs)[:2] == [(["NA", "null"],) * 2, (["na\xefve", "\u2028x", "\x1cy"],) * 2]
    assert len(pairs) == 3


def test_different_line_counts_are_refused_with_both(write):
    with pytest.raises(UsageError, match=r"a has 3 lines and .*b has 2"):
        read_pairs(write("a", "x\ny\nz\n"), write("b", "x\ny"))


def test_empty_lines_are_named_and_shift_nothing(write):
    source, target = write("a", "x\n\ny\n \nz\n"), write("b", "1\n2\n\n\n3\n")
    with pytest.warns(UserWarning, match=r"4 empty lines: .*a:2, .*b:3, .*a:4, .*b:4\. Such pairs"):
        pairs = read_pairs(source, target)
    assert words_of(pairs) == [(["x"], ["1"]), ([], []), ([], []), ([], []), (["z"], ["3"])]
    assert pairs.empty.tolist() == [1, 2, 3]
    assert (pairs.source_words, pairs.target_words) == (["x", "z"], ["1", "3"])


def test_many_empty_lines_are_counted(write):
    with pytest.warns(UserWarning, match=r"9 empty lines: .*a:5 and 4 more"):
        read_pairs(write("a", "\n" * 9 + "x"), write("b", "y\n" * 10))


@pytest.mark.parametrize("text", ["", "\n\n", " \t \n"])
def test_an_empty_corpus_is_told(text, write):
    with pytest.raises(UsageError, match="no sentence pair with words on both sides"):
        read_pairs(write("a", text), write("b", text))


def test_wrong_encoding_is_named_by_file_and_line(write):
    with pytest.raises(UsageError, match=r"a, line 3 is not UTF-8 \(byte 0xe9\)"):
        read_utf8(write("a", "eins\nzwei\nété".encode("latin1")))
    with pytest.raises(UsageError, match="b is text in UTF-16; convert it"):
        read_utf8(write("b", "words".encode("utf-16")))


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        ("words".encode("utf-16"), "is text in UTF-16; convert it with `iconv -f utf-16 -t utf-8`"),
        ("words".encode("utf-16-le"), "looks like text in UTF-16"),
        ("words".encode("utf-16-be"), "looks like text in UTF-16"),
        ("words".encode("utf-32"), "is text in UTF-32"),
        (gzip.compress(b"words\n", mtime=0), r"is packed by gzip; unpack it, or let its name end with \.gz"),
        (lzma.compress(b"words\n"), "is packed by xz"),
        (bz2.compress(b"words\n"), "is packed by bzip2"),
        (b"PK\x03\x04\x14\0\0\0", "is a zip archive or an office document"),
        (b"\x89PNG\r\n\x1a\n\0\0", "is a picture"),
        (b"\xff\xd8\xff\xe0", "is a picture"),
        (b"%PDF-1.7\n", "is a PDF document"),
        (b"PAR1\x15\x04", r"is a Parquet table; .* ends with \.parquet"),
    ],
)
@pytest.mark.parametrize("name", ["a.txt", "a.csv", "a.tsv", "a.json", "a.jsonl", "a.txt.gz", "a.csv.xz"])
def test_what_is_no_text_is_known_by_its_first_bytes(name, data, kind, write):
    packed = {".gz": gzip.compress, ".xz": lzma.compress}.get(name[-3:], bytes)(data)
    with pytest.raises(UsageError, match=rf"{name} {kind}") as refused:
        read_pairs(write(name, packed))
    assert "\n" not in str(refused.value)
    assert str(refused.value).count(". ") == 0


def test_a_device_is_never_read(tmp_path):
    (tmp_path / "a.csv").symlink_to("/dev/zero")
    for path in ("/dev/zero", tmp_path / "a.csv"):
        with pytest.raises(UsageError, match="is a device; a text file is needed"):
            read_pairs(path)


@pytest.mark.parametrize(
    ("name", "data", "told"),
    [
        ("a.gz", b"no archive", r"no whole \.gz archive"),
        ("a.gz", gzip.compress(b"x\n" * 1000, mtime=0)[:-9], r"no whole \.gz archive"),
        ("a.xz", lzma.compress(b"x\n" * 1000)[:-9], r"no whole \.xz archive"),
        ("a.xz", b"", r"no whole \.xz archive"),
    ],
    # Named, because a .gz archive carries the time it was made and would name the test by it.
    ids=["no-gz", "cut-gz", "cut-xz", "empty-xz"],
)
def test_a_broken_archive_is_told(name, data, told, write):
    with pytest.raises(UsageError, match=told):
        read_utf8(write(name, data))


def test_a_missing_file_and_a_folder_are_told(tmp_path):
    with pytest.raises(UsageError, match=r"There is no file .*nowhere"):
        read_lines(tmp_path / "nowhere")
    with pytest.raises(UsageError, match="is a folder"):
        read_lines(tmp_path)


def test_one_file_with_both_sides(write):
    with pytest.warns(UserWarning, match=r"2 empty lines: .*a:2, .*a:3\."):
        pairs = read_joined_pairs(write("a", "das Haus ||| the house\r\n\n||| half\nein||Buch|||a book"))
    assert words_of(pairs) == [(["das", "Haus"], ["the", "house"]), ([], []), ([], []), (["ein||Buch"], ["a", "book"])]


@pytest.mark.parametrize(("line", "times"), [("a b", 0), ("a ||| b ||| c", 2), ("a ||||||| b", 2)])
def test_the_separator_stands_once(line, times, write):
    with pytest.raises(UsageError, match=rf"a, line 2 has \|\|\| {times} times"):
        read_joined_pairs(write("a", f"x ||| y\n{line}\n"))


def test_a_line_that_is_no_sentence_is_refused(write, monkeypatch):
    monkeypatch.setattr(sentence_pairs, "MOST_LINKS", 100)
    with pytest.raises(UsageError, match=r"Line 2 of .* has 11 and 10 words; is a line break missing\?"):
        read_pairs(write("a", "x\n" + "x " * 11), write("b", "y\n" + "y " * 10))


def test_ids_of_a_synthetic_task():
    pairs = SentencePairs.from_ids(np.array([[0, 2], [1, 1]]), np.array([[2], [0]]))
    assert words_of(pairs) == [(["0", "2"], ["2"]), (["1", "1"], ["0"])]
    assert SentencePairs.from_ids(np.array([[0]]), np.array([[0]]), words=5).source_words == list("01234")
    assert SentencePairs.from_ids(np.array([[0]]), np.array([[1]]), words="ab").target_words == ["a", "b"]


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda: SentencePairs.from_tokens([["a"]], []), "1 and 0"),
        (lambda: SentencePairs.from_ids(np.zeros(3), np.zeros((3, 1))), r"\(pairs, length\)"),
        (lambda: SentencePairs.from_ids(np.array([[3]]), np.array([[0]]), words=2), r"0\.\.1"),
        (lambda: SentencePairs.from_ids(np.zeros((1, 2), int), np.zeros((1, 0), int)), "on both sides or on none"),
    ],
)
def test_what_are_no_pairs_is_told(make, told):
    with pytest.raises(UsageError, match=told):
        make()


def test_conventions_keep_lines_and_join_spellings():
    rules = Conventions(lower=True, strip_accents=True, tokenise=True, split_contractions=True)
    text = "Aujourd'hui, l'hon. M. Côté parle des É.-U.\n\nQu'est-ce qu'il dit ? Du 6.42 au 7,5 %..."
    got = rules.apply(text).split("\n")
    assert got == [
        "aujourd' hui , le hon. m. cote parle de les e. - u.",
        "",
        "que est - ce que il dit ? de le 6.42 a le 7,5 % ...",
    ]
    assert rules.keeping_positions().apply("L'Été , des") == "l'ete , des"
    assert Conventions().apply(text) == text


@given(st.text(max_size=60))
def test_conventions_keep_the_number_of_lines(text):
    rules = Conventions(lower=True, strip_accents=True, tokenise=True, split_contractions=True)
    assert rules.apply(text).count("\n") == text.count("\n")
    kept = rules.keeping_positions().apply(text)
    assert [len(line.split()) for line in kept.split("\n")] == [len(line.split()) for line in text.split("\n")]


def test_reading_by_conventions(write):
    source, target = write("a", "L'école.\nNon\n"), write("b", "The School.\nNo\n")
    rules = Conventions(lower=True, strip_accents=True, tokenise=True, split_contractions=True)
    pairs = read_pairs(source, target, source_conventions=rules, target_conventions=Conventions(lower=True))
    assert words_of(pairs) == [(["le", "ecole", "."], ["the", "school."]), (["non"], ["no"])]


# --- one file with both sides


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.tsv", "id\tde\ten\n1\tdas Haus\tthe house\n2\tein Buch\ta book\n"),
        ("a.csv", 'de,en\n"das Haus",the house\nein Buch,a book\n'),
        ("a.jsonl", '{"de": "das Haus", "en": "the house"}\n{"de": "ein\\nBuch", "en": "a book"}\n'),
    ],
)
def test_a_table_with_two_columns_is_as_good_as_two_files(write, name, text):
    both = read_pairs(str(write(name, text)), columns=("de", "en"))
    assert words_of(both) == words_of(read_pairs(write("x", "das Haus\nein Buch\n"), write("y", "the house\na book\n")))
    assert words_of(both) == words_of(read_pairs(write("z", "das Haus ||| the house\nein Buch ||| a book\n")))


def test_conventions_hold_for_columns_too(write):
    pairs = read_pairs(
        write("a.tsv", "source\ttarget\nDas HAUS\tThe House\n"), target_conventions=Conventions(lower=True)
    )
    assert (pairs.source_words, pairs.target_words) == (["Das", "HAUS"], ["the", "house"])


def test_a_table_without_the_columns_or_with_one_twice_is_refused(write):
    path = write("a.tsv", "de\ten\nx\ty\n")
    with pytest.raises(UsageError, match=r"a\.tsv has no column 'source'; its columns are 'de', 'en'"):
        read_pairs(path)
    with pytest.raises(UsageError, match=r"^Source and target cannot both be the column 'de'\.$"):
        read_pairs(path, columns=("de", "de"))
    with pytest.warns(UserWarning, match=r"1 empty line: .*b\.tsv:2\."):
        read_pairs(write("b.tsv", "source\ttarget\nx\ty\n\tz\n"))


@pytest.mark.parametrize("sides", [(["das haus"],), (["das haus"], ["the house"]), ("das haus", "the house")])
def test_texts_that_are_not_cut_into_words_are_refused(sides):
    with pytest.raises(
        UsageError, match=r"^The source sentence 'das haus' is one text; .* such as \[\['das', 'haus'\]\]"
    ):
        SentencePairs.from_tokens(*sides)
    with pytest.raises(UsageError, match=r"^The target sentence 'the house' is one text"):
        SentencePairs.from_tokens([["das", "haus"]], ["the house"])
    with pytest.raises(UsageError, match="there are 1 and 0"):
        SentencePairs.from_tokens([["das", "haus"]])

"""GloVe's text form, with what real tables have in them."""

import gzip
import lzma

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attnlab.data.vectors import find_vectors, read_vectors
from attnlab.errors import UsageError


def test_found_words_in_rising_order(tmp_path):
    path = tmp_path / "v.txt"
    path.write_text("the 0.5 -1\nfilm 2 3e-1\nzebra 7 7\n", encoding="utf-8")
    ids, matrix = read_vectors(path, ["<unk>", "film", "plot", "the"])
    assert ids.tolist() == [1, 3]
    assert matrix.dtype == np.float32
    np.testing.assert_array_equal(matrix, np.array([[2, 0.3], [0.5, -1]], np.float32))


def test_packed_files_and_a_header_give_the_same(tmp_path):
    lines = "the 0.5 -1 \nfilm 2 3\n"
    (tmp_path / "v.txt").write_text(lines, encoding="utf-8")
    (tmp_path / "h.txt").write_text("2 2\n" + lines, encoding="utf-8")
    (tmp_path / "v.txt.gz").write_bytes(gzip.compress(lines.encode()))
    (tmp_path / "v.txt.xz").write_bytes(lzma.compress(lines.encode()))
    for name in ("v.txt", "h.txt", "v.txt.gz", "v.txt.xz"):
        ids, matrix = read_vectors(tmp_path / name, ["film", "the"])
        assert ids.tolist() == [0, 1]
        assert matrix.tolist() == [[2, 3], [0.5, -1]]


def test_no_word_found_is_an_empty_matrix(tmp_path):
    (tmp_path / "v.txt").write_text("the 0.5 -1 2\n", encoding="utf-8")
    ids, matrix = read_vectors(tmp_path / "v.txt", ["film"])
    assert (ids.shape, matrix.shape) == ((0,), (0, 3))


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        ("a 1 2\nb 1\n", "line 2 has 1 numbers after its word; the first vector has 2"),
        ("a 1 2\nb 1 2 3\n", "line 2 has 3 numbers after its word; the first vector has 2"),
        ("a 1 2\nb 1 two\n", "line 2: 'two' is not a number"),
        ("a 1 2\nb 1 nan\n", "line 2 has a number that is not finite"),
        ("a\n", "line 1 has 0 numbers after its word; at least one is needed"),
        ("", "has no vectors"),
        ("12 300\n", "has no vectors"),
    ],
    ids=["few", "many", "word", "nan", "none", "empty", "header"],
)
def test_bad_lines_are_named(lines, told, tmp_path):
    (tmp_path / "v.txt").write_text(lines, encoding="utf-8")
    with pytest.raises(UsageError, match=told) as error:
        read_vectors(tmp_path / "v.txt", ["a", "b"])
    assert str(tmp_path / "v.txt") in str(error.value)


def test_words_with_spaces_are_passed_over(tmp_path):
    (tmp_path / "v.txt").write_text("a 1 2\n. . . 3 4\nat home 5 6\nb 7 8\n", encoding="utf-8")
    assert read_vectors(tmp_path / "v.txt", ["a", "b"]).matrix.tolist() == [[1, 2], [7, 8]]


def test_of_two_vectors_the_first_counts(tmp_path):
    (tmp_path / "v.txt").write_text("a 1 2\na 3 4\n", encoding="utf-8")
    with pytest.warns(UserWarning, match="a second vector for 1 words, such as 'a'"):
        assert read_vectors(tmp_path / "v.txt", ["a"]).matrix.tolist() == [[1, 2]]


@settings(max_examples=50)
@given(
    st.dictionaries(
        st.text("abcdé", min_size=1, max_size=3),
        st.lists(st.floats(width=32, allow_nan=False, allow_infinity=False), min_size=3, max_size=3),
        min_size=1,
        max_size=6,
    ),
    st.sets(st.text("abcdé", min_size=1, max_size=3)),
)
def test_what_is_written_is_read(tmp_path_factory, table, others):
    path = tmp_path_factory.mktemp("vectors") / "v.txt"
    path.write_text("".join(f"{w} {' '.join(map(repr, v))}\n" for w, v in table.items()), encoding="utf-8")
    words = sorted(others | set(table))
    ids, matrix = read_vectors(path, words)
    assert {words[i]: row for i, row in zip(ids.tolist(), matrix.tolist(), strict=True)} == table


def test_a_broken_archive_a_folder_and_nothing_at_all(tmp_path):
    (tmp_path / "v.txt.xz").write_bytes(b"no archive")
    with pytest.raises(UsageError, match=r"no whole \.xz archive"):
        read_vectors(tmp_path / "v.txt.xz", ["a"])
    with pytest.raises(UsageError, match="is a folder"):
        read_vectors(tmp_path, ["a"])
    with pytest.raises(UsageError, match="no file"):
        read_vectors(tmp_path / "none.txt", ["a"])
    with pytest.raises(UsageError, match=r"has no word vectors; needed: a table of GloVe"):
        find_vectors(tmp_path)

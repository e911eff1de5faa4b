"""Labelled files: every format says the same, and a mistake is told in one sentence."""

import gzip
import json
import lzma
import os
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet

from attnlab.data.labelled_file import read_columns
from attnlab.data.reading import opened
from attnlab.data.texts import read_texts
from attnlab.errors import UsageError

ROWS = [
    ("A great, GREAT film!", "good"),
    ("null", "NA"),
    ("L'été n'est pas né", "good"),
    ("", "bad"),
    ("NA bad", "bad"),
    ("!?", "bad"),
    ("no label", " "),
]
TEXTS = [["a", "great", "great", "film"], ["null"], ["l", "été", "n", "est", "pas", "né"], ["na", "bad"]]
LABELS = ["good", "NA", "good", "bad"]


def content(read):
    pairs = read.pairs
    texts = [
        [pairs.source_words[word] for word in pairs.source[a:b]]
        for a, b in zip(pairs.source_offsets, pairs.source_offsets[1:], strict=False)
    ]
    return texts, [pairs.target_words[word] for word in pairs.target]


def as_csv(path):
    quoted = "".join(f'7,"{text}","{label}"\n' for text, label in ROWS)
    path.write_bytes(b"\xef\xbb\xbf" + f"id,text,label\n{quoted}".encode())


def as_tsv(path):
    path.write_bytes("".join(f"{label}\t{text}\n" for text, label in [("text", "label"), *ROWS]).encode())


def as_jsonl(path):
    lines = [json.dumps({"text": text or None, "label": label}) for text, label in ROWS]
    path.write_bytes("\n".join(lines).encode())


def as_json(path):
    path.write_text(json.dumps([{"text": text or None, "label": label} for text, label in ROWS], indent=1))


def as_csv_with(sign):
    def write(path):
        quoted = "".join(f'7{sign}"{text}"{sign}"{label}"\n' for text, label in ROWS)
        path.write_text(f"id{sign}text{sign}label\n{quoted}", encoding="utf-8")

    return write


def as_parquet(path):
    texts, labels = zip(*ROWS, strict=True)
    parquet.write_table(pa.table({"text": pa.array(texts), "label": pa.array(labels).dictionary_encode()}), path)


@pytest.mark.parametrize(
    ("name", "write"),
    [
        ("a.csv", as_csv),
        ("semicolons.csv", as_csv_with(";")),
        ("bars.csv", as_csv_with("|")),
        ("tabs.csv", as_csv_with("\t")),
        ("commas.tsv", as_csv_with(",")),
        ("semicolons.tsv", as_csv_with(";")),
        ("a.b.tsv", as_tsv),
        ("a.json", as_json),
        ("lines.json", as_jsonl),
        ("a.jsonl", as_jsonl),
        ("a.PARQUET", as_parquet),
    ],
)
def test_every_format_gives_the_same_texts(tmp_path, name, write):
    path = tmp_path / name
    write(path)
    read = read_texts(path)
    assert content(read) == (TEXTS, LABELS)
    assert read.left_out == (4, 6, 7)


@pytest.mark.parametrize(("ending", "opened"), [(".gz", gzip.open), (".xz", lzma.open)])
def test_packed_files_are_read(tmp_path, ending, opened):
    as_csv(tmp_path / "a.csv")
    path = tmp_path / f"a.csv{ending}"
    with opened(path, "wb") as file:
        file.write((tmp_path / "a.csv").read_bytes())
    assert content(read_texts(path)) == (TEXTS, LABELS)


def test_csv_keeps_lines_and_commas_inside_quotation_marks(tmp_path):
    (tmp_path / "a.csv").write_bytes(b'stars,review\r\n5,"two\nlines, and ""more"""\r\n1,poor\r\n')
    texts, labels = content(read_texts(tmp_path / "a.csv", text="review", label="stars"))
    assert (texts, labels) == ([["two", "lines", "and", "more"], ["poor"]], ["5", "1"])


@pytest.mark.parametrize(
    ("name", "lines"),
    [
        ("a.csv", ["text,label", "one,x", "", '"two,\n\nlines",y', "", "", "...,x", "last,y", ""]),
        ("a.tsv", ["text\tlabel", "one\tx", "", "two lines\ty", "", "", "...\tx", "last\ty", ""]),
    ],
)
@pytest.mark.parametrize("end", ["\n", "\r\n"], ids=["newline", "carriage-return"])
def test_empty_lines_are_rows_that_are_left_out(tmp_path, name, lines, end):
    (tmp_path / name).write_bytes((end.join(lines) + end).encode())
    read = read_texts(tmp_path / name)
    assert content(read) == ([["one"], ["two", "lines"], ["last"]], ["x", "y", "y"])
    assert read.left_out == (2, 4, 5, 6, 8)
    assert read.rows.tolist() == [1, 3, 7]


def test_empty_lines_in_a_file_of_one_column(tmp_path):
    (tmp_path / "a.csv").write_bytes(b"text\none\n\ntwo\n")
    (column,) = read_columns(tmp_path / "a.csv", ["text"])
    assert column.to_pylist() == ["one", "", "two"]


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"], ids=["newline", "both", "return"])
def test_line_ends_make_no_rows_wherever_a_large_file_is_cut(tmp_path, end):
    """The file is parsed in blocks of a mebibyte: 16 lengths of a row put their bounds at every place of one."""
    for length in range(16):
        row = b"w" * (20 + length) + b",1" + end
        (tmp_path / "a.csv").write_bytes(b"text,label" + end + row * 60_000 + end)
        (labels,) = read_columns(tmp_path / "a.csv", ["label"])
        assert len(labels) == 60_001 and labels[60_000].as_py() == ""


def test_a_quotation_mark_in_tsv_swallows_nothing(tmp_path):
    (tmp_path / "a.tsv").write_text('text\tlabel\n"open\tx\nnext\ty\n', encoding="utf-8")
    assert content(read_texts(tmp_path / "a.tsv"))[1] == ["x", "y"]


@given(rows=st.lists(st.tuples(st.text(), st.text(min_size=1)), min_size=1, max_size=8))
def test_any_text_survives_a_round_trip(tmp_path_factory, rows):
    path = tmp_path_factory.mktemp("round") / "a.jsonl"
    path.write_text("".join(json.dumps({"text": t, "label": x}) + "\n" for t, x in rows), encoding="utf-8")
    try:
        read = read_texts(path)
    except UsageError as error:
        assert "no row with words" in str(error)
        return
    texts, labels = content(read)
    assert len(texts) + len(read.left_out) == len(rows)
    assert all(texts) and all(label.strip() for label in labels)


@pytest.mark.parametrize(
    ("name", "data", "named"),
    [
        ("a.csv", b"review,stars\nx,1\n", "no column 'text'; its columns are 'review', 'stars'"),
        ("a.csv", b"texts,label\nx,1\n", "Did you mean 'texts'"),
        ("a.csv", b"text,text,label\nx,y,1\n", "two columns 'text'"),
        ("a.csv", b"", "is empty"),
        ("a.csv", b"text,label\n", "no row with words"),
        ("a.csv", b"text,label\nonly one\n", r"a\.csv, line 2 has 1 column; the first line names 2\."),
        ("a.csv", b"text,label\r\n\r\nyes, and no,1\r\n", "line 3 has 3 columns; the first line names 2. A value with"),
        ("a.csv", b'text,label\n"two\n\nlines, and more",1\n"a ""b"",\nc"\n', "line 5 has 1 column; the first line"),
        ("a.csv", b"text,label\n" + b"x,1\n" * 300_000 + b"x,1,2", "line 300002 has 3 columns; the first line names 2"),
        ("a.csv", b"text,label\n\xff,1\n", "line 2 is not UTF-8"),
        ("a.tsv", b"text\tlabel\none\ttwo\tthree\n", "line 2 has 3 columns; the first line names 2"),
        ("a.tsv", b"text\tlabel\none\n", "line 2 has 1 column; the first line names 2"),
        ("a.jsonl", b"", "is empty"),
        ("a.jsonl", b"{]\n", "line 1 is not JSON"),
        ("a.jsonl", b"[1]\n", "line 1 is no JSON object"),
        ("a.jsonl", b'{"text": ["a"], "label": 1}\n', "'text' is a list"),
        ("a.jsonl", b'{"text": "a", "label": 1}\n{"text": "b"}\n', "line 2 has no column 'label'"),
        ("a.csv", b"text;label\nyes; and no;1\n", "line 2 has 3 columns; .* A value with a semicolon in it stands in"),
        ("a.csv", b'text|label\n"open|1\n', "line 2: the quotation mark that opens a value there is never closed"),
        ("a.csv", b'text|label\n"a" b|1\n', "is not followed by a vertical bar or a new line"),
        ("a.csv", b"review;stars\nx;1\n", "no column 'text'; its columns are 'review', 'stars'"),
        ("a.json", b'[{"text": "a", "label": 1}, 3]', "record 2 is no JSON object such as"),
        ("a.json", b'[{"text": "a", "label": 1}, {"text": "b"}]', "record 2 has no column 'label'"),
        ("a.json", b'[{"text": {}, "label": 1}]', "record 1: 'text' is an object; a text or number is needed"),
        ("a.json", b'[{"text": "a", "label": 1},\n]', r"a\.json is not JSON \("),
        (
            "a.json",
            b'{\n"data": []}',
            r"line 1 is not JSON .* A \.json file is an array of objects, or has an object on",
        ),
        ("a.json", b"[]", "is empty"),
        ("a.json", b"[" * 100_000, r"a\.json is nested too deeply"),
        ("a.jsonl", b'{"text": ' + b"[" * 100_000 + b"]" * 100_000 + b"}", r"a\.jsonl, line 1 is nested too deeply"),
        ("a.parquet", b"PAR1 no more", "no whole Parquet file"),
        ("a.xlsx", b"", "must end with one of .csv, .tsv"),
        ("a.parquet.gz", b"", "must end with one of"),
        ("a.csv.gz", b"no archive", "is no whole .gz archive"),
    ],
    ids=lambda value: value.decode(errors="ignore")[:30] if isinstance(value, bytes) else None,
)
def test_a_mistake_is_one_sentence(tmp_path, name, data, named):
    (tmp_path / name).write_bytes(data)
    with pytest.raises(UsageError, match=named) as caught:
        read_texts(tmp_path / name)
    assert "\n" not in str(caught.value)


def test_missing_files_lists_and_one_column_for_both(tmp_path):
    for name in ("a.csv", "a.parquet"):
        with pytest.raises(UsageError, match="There is no file"):
            read_texts(tmp_path / name)
    parquet.write_table(pa.table({"text": [["a"]], "label": ["x"]}), tmp_path / "a.parquet")
    with pytest.raises(
        UsageError, match=r"the column 'text' has the type list<.*string>; it must hold texts or numbers"
    ):
        read_texts(tmp_path / "a.parquet")
    parquet.write_table(pa.table({"text": ["a"], "label": [b"\xff"]}), tmp_path / "a.parquet")
    with pytest.raises(UsageError, match="the column 'label' has the type binary; it must hold"):
        read_texts(tmp_path / "a.parquet")
    with pytest.raises(UsageError, match="cannot both be the column 'x'"):
        read_texts(tmp_path / "a.csv", text="x", label="x")


def test_a_row_longer_than_any_block_is_read(tmp_path):
    long = "word " * 1_000_000  # five blocks of the reader
    path = tmp_path / "a.csv"
    path.write_text(f'text,label\nfirst,a\n"{long}",b\nlast,a\n')
    texts, labels = read_columns(path, ("text", "label"))
    assert [len(text) for text in texts.to_pylist()] == [5, len(long), 4]
    assert labels.to_pylist() == ["a", "b", "a"]
    path.write_text(f"text,label\nfirst,a\n{long},b,c\n")
    with pytest.raises(UsageError, match=r"a\.csv, line 3 has 3 columns; the first line names 2"):
        read_columns(path, ("text", "label"))


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes: run it on Linux or macOS")
def test_a_pipe_that_nobody_writes_to_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe.csv")
    for path in (tmp_path / "pipe.csv", tmp_path / "link.csv"):
        path.is_fifo() or path.symlink_to("pipe.csv")
        with pytest.raises(UsageError, match=rf"{path.name} is a pipe"), opened(path):
            pass


@pytest.mark.skipif(not Path("/dev/fd").exists(), reason="needs pipes by number: run it on Linux or macOS")
def test_a_pipe_of_the_shell_is_read():
    """``<(zcat file)`` names one."""
    reader, writer = os.pipe()
    os.write(writer, b"a text")
    os.close(writer)
    with opened(Path(f"/dev/fd/{reader}")) as stream:
        assert stream.read() == b"a text"
    os.close(reader)

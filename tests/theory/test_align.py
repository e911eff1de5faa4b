"""Symmetrisation against a sequential one, scores by hand, tables on disk, and alignment from beginning to end."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import attnlab
from attnlab.data.sentence_pairs import SentencePairs
from attnlab.errors import UsageError
from attnlab.theory.aligner import align, apply, pharaoh
from attnlab.theory.alignment import coverage, read_gold, score
from attnlab.theory.lexicon import Lexicon, read_lexicon
from attnlab.theory.symmetrise import (
    DIRECTIONS,
    from_positions,
    from_reverse_positions,
    grow_diag_final_and,
    symmetrised,
)

few = settings(max_examples=25)
OURS = [("das Haus", "the house"), ("das Buch", "the book"), ("ein Buch", "a book")]


@st.composite
def both_directions(draw):
    """A few pairs with links of both directions drawn at random: one at most for each word."""
    lengths = draw(st.lists(st.tuples(st.integers(1, 6), st.integers(1, 6)), min_size=1, max_size=4))
    lengths.insert(draw(st.integers(0, len(lengths))), (0, 0))
    pairs = SentencePairs.from_tokens([["s"] * a for a, _ in lengths], [["t"] * b for _, b in lengths])
    forward = [draw(st.integers(-1, a - 1)) for a, b in lengths for _ in range(b)]
    reverse = [draw(st.integers(-1, b - 1)) for a, b in lengths for _ in range(a)]
    return pairs, np.array(forward, dtype=np.int64), np.array(reverse, dtype=np.int64)


def links_of(alignment):
    """A set of (source, target) for each pair."""
    found = [set() for _ in range(len(alignment.pairs))]
    for m, i, j in zip(*(column.tolist() for column in alignment.positions()), strict=True):
        found[m].add((i, j))
    return found


def sequential_grow_diag_final_and(forward, reverse):
    """Koehn's pseudo-code for one pair, word for word; points are (source, target)."""
    union, points = forward | reverse, forward & reverse

    def aligned(i=None, j=None):
        return any(i == a or j == b for a, b in points)

    added = True
    while added:
        added = False
        for j in range(10):
            for i in range(10):
                if (i, j) not in points:
                    continue
                for dj, di in ((-1, 0), (0, -1), (1, 0), (0, 1), (-1, -1), (-1, 1), (1, -1), (1, 1)):
                    new = (i + di, j + dj)
                    free = not aligned(i=new[0]) or not aligned(j=new[1])
                    if new in union and new not in points and free:
                        points = points | {new}
                        added = True
    for direction in (forward, reverse):
        for i, j in sorted(direction, key=lambda point: (point[1], point[0])):
            if not aligned(i=i) and not aligned(j=j):
                points = points | {(i, j)}
    return points


@settings(max_examples=60)
@given(both_directions())
def test_symmetrisation_is_that_of_a_loop_over_pairs(drawn):
    pairs, first, second = drawn
    forward, reverse = from_positions(pairs, first), from_reverse_positions(pairs, second)
    sides = list(zip(links_of(forward), links_of(reverse), strict=True))
    assert links_of(symmetrised("intersection", forward, reverse)) == [a & b for a, b in sides]
    assert links_of(symmetrised("union", forward, reverse)) == [a | b for a, b in sides]
    assert links_of(symmetrised("forward", forward, reverse)) == links_of(forward)
    assert links_of(symmetrised("reverse", forward, reverse)) == links_of(reverse)
    expected = [sequential_grow_diag_final_and(a, b) for a, b in sides]
    assert links_of(grow_diag_final_and(forward, reverse)) == expected


@few
@given(both_directions())
def test_pharaoh_lines_are_the_links(drawn):
    pairs, first, _ = drawn
    alignment = from_positions(pairs, first)
    lines = pharaoh(alignment).decode().split("\n")
    assert lines.pop() == ""
    read = [{tuple(int(k) for k in link.split("-")) for link in line.split()} for line in lines]
    assert read == links_of(alignment)
    assert all(line == " ".join(line.split()) for line in lines)


def test_align_from_python():
    assert attnlab.align(OURS).lines == ["0-0 1-1"] * 3
    assert attnlab.align([*OURS, ("", "nothing"), ("Buch", "book")]).lines == ["0-0 1-1"] * 3 + ["", "0-0"]
    told = []
    attnlab.align(OURS, iterations=2, watch=lambda *words: told.append(words[:2]))
    assert told == [("forward", 1), ("forward", 2), ("reverse", 1), ("reverse", 2)]
    forward = attnlab.align(OURS, direction="forward")
    assert forward.reverse is None
    assert forward.lexicon.reverse is None
    with pytest.raises(UsageError, match=r"no direction 'grow-diag'; directions are .* Did you mean grow-diag-final"):
        attnlab.align(OURS, direction="grow-diag")


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("null", [True, False])
def test_a_saved_table_aligns_as_the_trained_one(direction, null, tmp_path):
    sentences = [*OURS, ("NA null ein", "a null NA"), ("", "x"), ("Haus Buch Haus", "house book")]
    source, target = ([sentence[side].split() for sentence in sentences] for side in (0, 1))
    pairs = SentencePairs.from_tokens(source, target)
    trained = align(pairs, direction=direction, null=null)
    path = tmp_path / "table.parquet"
    path.write_bytes(trained.lexicon.to_bytes(".parquet"))
    again = read_lexicon(path)
    assert links_of(apply(again, pairs, direction=direction)) == links_of(trained.alignment)
    assert sorted(again.words[0]) == sorted(pairs.source_words)
    other = SentencePairs.from_tokens([["unknown", "Haus"]], [["house", "strange"]])
    assert links_of(apply(again, other, direction=direction)) == [{(1, 0)}]


def test_the_table_as_tsv():
    lexicon = align(SentencePairs.from_tokens([["b", '"a"']], [["x"]]), null=True, iterations=1).lexicon
    assert lexicon.to_bytes(".tsv").decode() == (
        'source\ttarget\tforward\treverse\nb\tx\t1\t0.5\nb\t\t\t0.5\n"a"\tx\t1\t0.5\n"a"\t\t\t0.5\n\tx\t1\t\n'
    )


@pytest.mark.parametrize(
    ("columns", "told"),
    [
        ({"source": ["a"], "target": ["x"]}, r"has the columns source \(large_string\), target"),
        ({"source": ["a"], "target": [None], "forward": [1.0]}, "columns"),
        ({"source": ["a"], "target": ["x"], "forward": ["1"]}, "columns"),
        ({"source": ["a"], "target": ["x"], "forward": [-1.0]}, "negative"),
        ({"source": ["a", "a"], "target": ["x", "x"], "forward": [1.0, 1.0]}, "each there once"),
        ({"source": ["a"], "target": ["x"], "forward": pa.array([None], pa.float64())}, "no values"),
    ],
)
def test_a_table_that_is_none_is_told(columns, told, tmp_path):
    words = {name: pa.array(columns[name], pa.large_string()) for name in ("source", "target")}
    pq.write_table(pa.table({**columns, **words}), tmp_path / "t.parquet")
    with pytest.raises(UsageError, match=rf"t.parquet is no lexical table: .*{told}"):
        read_lexicon(tmp_path / "t.parquet")


def test_a_table_that_cannot_be_read_is_told(tmp_path):
    (tmp_path / "t.parquet").write_bytes(b"PAR1 nonsense")
    with pytest.raises(UsageError, match="is no lexical table"):
        read_lexicon(tmp_path / "t.parquet")
    with pytest.raises(UsageError, match="no file"):
        read_lexicon(tmp_path / "nowhere.parquet")
    with pytest.raises(UsageError, match="at least one direction"):
        Lexicon(None, None)
    forward = align(SentencePairs.from_tokens([["a"]], [["x"]]), direction="forward")
    with pytest.raises(UsageError, match="only the forward direction; union needs"):
        apply(forward.lexicon, forward.alignment.pairs, direction="union")


# --- scores


@pytest.fixture
def gold(tmp_path):
    def gold(text):
        path = tmp_path / "gold"
        path.write_text(text, encoding="utf-8")
        return read_gold(path)

    return gold


PAIRS = SentencePairs.from_tokens([["a", "b"], ["c"]], [["x", "y"], ["z"]])


def test_precision_recall_and_error_rate_by_hand(gold):
    # found: sentence 1 word 1 to 1 (sure), 2 to 1 (neither); sentence 2 is not in the gold
    alignment = from_reverse_positions(PAIRS, np.array([0, 0, 0]))
    got = score(alignment, gold("0001 1 1 S\n0001 2 2 S\n\n0001 1 2 P\n"))
    assert (got.sentences, got.links, got.sure, got.possible) == (1, 2, 2, 3)
    assert (got.precision, got.recall, got.aer) == (1 / 2, 1 / 2, 1 - 2 / 4)
    nothing = score(from_positions(PAIRS, np.array([-1, -1, -1])), gold("1 1 1\n"))
    assert (nothing.precision, nothing.recall, nothing.aer) == (None, 0.0, 1.0)
    all_right = score(from_positions(PAIRS, np.array([0, 1, 0])), gold("1 1 1\n1 2 2\n2 1 1\n2 1 1\n"))
    assert (all_right.precision, all_right.recall, all_right.aer, all_right.sure) == (1, 1, 0, 3)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("1 1\n", "line 1 is no link such as"),
        ("1 1 1\n1 0 1\n", "line 2 is no link"),
        ("1 a 1\n", "line 1 is no link"),
        ("1 1 1 X\n", "line 1 marks a link 'X'; marks are S"),
        ("1 1 1 S 0.5\n", "line 1 is no link"),
        ("\n", "has no link"),
    ],
)
def test_a_gold_file_that_is_none_is_told(text, told, gold):
    with pytest.raises(UsageError, match=told):
        gold(text)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("3 1 1\n", "line 1 names sentence 3, but the text has 2 sentences"),
        ("1 1 1\n2 2 1\n", "line 2 names sentence 2, source word 2, but that sentence has 1 source words"),
        ("2 1 2\n", "target word 2, but"),
    ],
)
def test_a_gold_file_of_another_text_is_told(text, told, gold):
    with pytest.raises(UsageError, match=told):
        score(from_positions(PAIRS, np.array([0, 0, 0])), gold(text))


def test_coverage_counts_tokens():
    lexicon = align(SentencePairs.from_tokens([["a", "b"]], [["x"]])).lexicon
    text = SentencePairs.from_tokens([["a", "a", "a", "q"]], [["x", "r"]])
    known = coverage(lexicon, text)
    assert (known.source, known.target, known.enough) == (0.75, 0.5, False)
    assert coverage(lexicon, SentencePairs.from_tokens([["b"]], [["x"]])).enough


@pytest.mark.parametrize("direction", ["forward", "reverse", "union"])
def test_coverage_is_of_words_that_have_an_entry(direction):
    """Part of a text has the words of all of it, but the table knows only those it has met."""
    corpus = SentencePairs.from_tokens([["a"], ["b"]], [["x"], ["y"]])
    known = coverage(align(corpus.first(1), direction=direction).lexicon, corpus)
    assert (known.source, known.target) == (0.5, 0.5)

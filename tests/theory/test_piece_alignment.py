"""Fields as word alignments: against the definition written out in loops, and on the real hand alignments."""

from dataclasses import replace

import numpy as np
import pytest

from attnlab.data.altered_bitext import fewer_pairs
from attnlab.data.bitext import load_bitext, load_bitext_files
from attnlab.errors import UsageError
from attnlab.fields import ScoreField
from attnlab.seeds import numpy_generator
from attnlab.theory.alignment import Coverage
from attnlab.theory.piece_alignment import align_words, gold_words, piece_words

NUMBERS = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"]
ZAHLEN = ["eins", "zwei", "drei", "vier", "fünf", "sechs", "sieben", "acht", "neun", "zehn"]


@pytest.fixture
def bitext(tmp_path):
    for name, words in (("a.en", NUMBERS), ("a.de", ZAHLEN)):
        lines = [" ".join([a, b, c][: 1 + k % 3]) for k, a in enumerate(words) for b in words[:4] for c in words[:3]]
        (tmp_path / name).write_text("\n".join(lines), encoding="utf-8")
    return load_bitext_files(tmp_path / "a.en", tmp_path / "a.de", pieces=34)


def drawn_field(split, seed=0):
    generator = numpy_generator(seed, "field")
    lengths = np.repeat(split.source.lengths + 2, split.target.lengths + 1)
    rows = [generator.exponential(size=length) for length in lengths.tolist()]
    return ScoreField.from_rows([row / row.sum() for row in rows])


def by_hand(field, bitext, split, join, marks):
    """Links (pair, source word, target word), word by word."""
    links, row = [], 0
    encode = lambda word: bitext.pieces.encode([word]).values  # noqa: E731
    for k in range(len(split)):
        source, target = split.source.text(k).split(), split.target.text(k).split()
        for t, word in enumerate(target):
            count = len(encode(word))
            mean = np.mean([field.row(row + j) for j in range(count)], axis=0)
            row += count
            scores, column = [mean[0] if marks else -np.inf], 1
            for other in source:
                part = mean_of(field, row - count, count, column, len(encode(other)), join)
                scores.append(part)
                column += len(encode(other))
            scores.append(mean[column] if marks else -np.inf)
            best = int(np.argmax(scores))
            if 0 < best <= len(source):
                links.append((k, best - 1, t))
        row += 1  # the end mark
    assert row == len(field)
    return links


def mean_of(field, first, rows, column, width, join):
    parts = [field.row(first + j)[column : column + width] for j in range(rows)]
    return np.mean([part.sum() if join == "sum" else part.max() for part in parts])


@pytest.mark.parametrize("join", ["sum", "largest"])
@pytest.mark.parametrize("marks", [False, True])
def test_words_are_joined_as_the_definition_says(bitext, join, marks):
    split = bitext.train
    words = piece_words(bitext.pieces, split)
    assert max(np.bincount(words.target[: split.target.offsets[1]])) >= 1
    assert (split.source.lengths > [len(text.split()) for text in split.source.texts()]).any()  # words of many pieces
    for seed in range(3):
        field = drawn_field(split, seed)
        alignment = align_words(field, words, join, marks=marks)
        assert sorted(zip(*(part.tolist() for part in alignment.positions()), strict=True)) == sorted(
            by_hand(field, bitext, split, join, marks)
        )
        if not marks:
            assert len(alignment) == len(words.pairs.target)


def test_sum_and_largest_differ(bitext):
    words, field = piece_words(bitext.pieces, bitext.train), drawn_field(bitext.train)
    links = [set(align_words(field, words, join).keys.tolist()) for join in ("sum", "largest")]
    assert links[0] != links[1]


def test_fields_of_other_pairs_are_refused(bitext):
    words, field = piece_words(bitext.pieces, bitext.train), drawn_field(bitext.train)
    for wrong in (field.select(np.arange(len(field) - 1)), drawn_field(bitext.validation)):
        with pytest.raises(UsageError, match="a row for each target piece and the end mark"):
            align_words(wrong, words, "sum")


def test_cut_sentences_have_no_words(bitext):
    side = bitext.validation.source
    kept = np.delete(np.arange(len(side.values)), side.offsets[1] - 1)
    offsets = side.offsets - (side.offsets > 0)
    cut = replace(bitext.validation, source=replace(side, values=side.values[kept], offsets=offsets))
    with pytest.raises(UsageError, match=f"The source sentence of line {cut.rows[0]} is cut"):
        piece_words(bitext.pieces, cut)


def test_only_some_corpora_have_hand_alignments(bitext):
    with pytest.raises(UsageError, match="multi30k/en-de has no hand alignments; hansards and europarl have"):
        gold_words(replace(bitext, name="multi30k/en-de"))


@pytest.mark.needs_data("alignment_gold")
def test_the_hand_alignments_of_europarl(data_root):
    """A field that points at the gold's own links has nearly no error, and one at random nearly nothing else."""
    bitext = load_bitext("europarl/en-es")
    gold = gold_words(bitext)
    assert gold.known == Coverage(1.0, 1.0)
    assert len(gold.words.pairs) == 200
    # By the raw files: the links name words by their place between blanks.
    folder = data_root / "alignment_gold" / "europarl_enes_collins"
    lines = [(folder / f"dev.{side}").read_text(encoding="utf-8").splitlines() for side in ("en", "es")]
    pairs = gold.words.pairs
    assert np.diff(pairs.source_offsets).tolist() == [len(line.split()) for line in lines[0]]
    assert np.diff(pairs.target_offsets).tolist() == [len(line.split()) for line in lines[1]]
    assert [pairs.source_words[k] for k in pairs.source[:4]] == lines[0][0].split()[:4]
    field = _of_gold(gold, bitext.validation)
    right = gold.score(align_words(field, gold.words, "sum", marks=True))
    drawn = gold.score(align_words(drawn_field(bitext.validation), gold.words, "sum"))
    assert right.precision == 1.0 and right.aer < 0.1
    assert drawn.aer > 0.8
    swapped = gold_words(load_bitext("europarl/es-en"))
    assert len(swapped.gold.sentences) == len(gold.gold.sentences)
    np.testing.assert_array_equal(swapped.gold.source, gold.gold.target)


@pytest.mark.needs_data("alignment_gold")
def test_below_95_percent_there_is_no_error_rate(data_root):
    few = gold_words(fewer_pairs(load_bitext("europarl/en-es"), 300))
    assert min(few.known.source, few.known.target) < 0.95
    assert few.score(align_words(drawn_field(load_bitext("europarl/en-es").validation), few.words, "sum")) is None


def _of_gold(gold, split):
    """Rows that are 1 at the pieces of a linked source word, 0 elsewhere; at the start mark without a link."""
    links = {}
    for sentence, source, target in zip(gold.gold.sentences, gold.gold.source, gold.gold.target, strict=True):
        links.setdefault((int(sentence), int(target)), int(source))
    rows = []
    for k in range(len(split)):
        source = gold.words.source[split.source.offsets[k] : split.source.offsets[k + 1]]
        target = gold.words.target[split.target.offsets[k] : split.target.offsets[k + 1]]
        for word in [*target.tolist(), -1]:
            linked = links.get((k, word), -1)
            rows.append(np.concatenate([[0.01], source == linked, [0.0]]))
    return ScoreField.from_rows(rows)

"""A corpus in many files is the corpus of all of them together."""

import gzip

import pytest

from attnlab.data.many_files import blocks, expand, paired, read_many
from attnlab.data.sentence_pairs import read_pairs
from attnlab.errors import UsageError


@pytest.fixture
def files(tmp_path):
    """Three pairs of files, the last without a newline at its end, one packed."""
    texts = [
        ("das Haus\nein Buch\n", "the house\na book\n"),
        ("x\n", "y\n"),
        ("das Buch\nein Haus", "the book\na house"),
    ]
    for number, (source, target) in enumerate(texts):
        (tmp_path / f"part-{number}.de").write_text(source)
        if number == 1:
            (tmp_path / "part-1.en.gz").write_bytes(gzip.compress(target.encode()))
        else:
            (tmp_path / f"part-{number}.en").write_text(target)
    return tmp_path


def test_a_pattern_stands_for_its_files_by_name(files):
    named = expand([str(files / "part-*.de")], "source")
    assert [path.name for path in named] == ["part-0.de", "part-1.de", "part-2.de"]


def test_many_files_are_read_as_one(files, tmp_path):
    sides = paired(expand([str(files / "*.de")], "source"), sorted(files.glob("*.en*")))
    made = read_many(sides)
    (tmp_path / "all.de").write_text("das Haus\nein Buch\nx\ndas Buch\nein Haus\n")
    (tmp_path / "all.en").write_text("the house\na book\ny\nthe book\na house\n")
    alone = read_pairs(tmp_path / "all.de", tmp_path / "all.en")
    assert made.source_words == alone.source_words
    assert made.target.tolist() == alone.target.tolist()
    assert made.source_offsets.tolist() == alone.source_offsets.tolist()


def test_blocks_come_in_order_with_their_places(files):
    made = list(blocks(paired(expand([str(files / "*.de")], "source"), sorted(files.glob("*.en*")))))
    assert [block.place for block in made] == sorted(block.place for block in made)
    assert 0 < made[0].place < made[-1].place < 1
    assert [block.source.count(b"\n") for block in made] == [2, 1, 2]


def test_joined_lines_are_cut(tmp_path):
    (tmp_path / "a.txt").write_text("das Haus ||| the house\nein ||| a\n")
    (block,) = blocks([tmp_path / "a.txt"])
    assert (block.source, block.target) == (b"das Haus \nein \n", b" the house\n a\n")


def test_mistakes(files, tmp_path):
    with pytest.raises(UsageError, match="No file fits the pattern"):
        expand([str(tmp_path / "*.fr")], "source")
    with pytest.raises(UsageError, match="3 files of source sentences and 1 of target"):
        paired(expand([str(files / "*.de")], "source"), [files / "part-0.en"])
    with pytest.raises(UsageError, match=r"has 2 lines and .* has 1"):
        list(blocks([(files / "part-0.de", files / "part-1.en.gz")]))
    with pytest.raises(UsageError, match="There is no file"):
        list(blocks([(tmp_path / "no.de", files / "part-0.en")]))

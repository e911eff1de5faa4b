"""The treebank's reader: on trees we wrote, and on the real one, whose counts are known."""

import gzip

import pytest
import torch

from attnlab.errors import UsageError
from attnlab.families.topics.sst import PAD, read_sst, sst_folder

TREES = {
    "train": "(3 (2 A) (3 (3 Good) (2 film)))\n(2 (2 It) (2 is))\n\n(0 (1 (2 Not) (3 good)) (2 .))\n",
    "dev": "(4 (2 It) (4 (2 's) (4 -LRB-great-RRB-)))\n",
    "test": "(1 (2 A) (1 bore))\n",
}


@pytest.fixture
def folder(tmp_path):
    for name, trees in TREES.items():
        (tmp_path / f"{name}.txt").write_text(trees)
    return tmp_path


def told(corpus, bags):
    ends = zip(bags.offsets[:-1], bags.offsets[1:], strict=True)
    return [" ".join(corpus.words[word] for word in bags.words[a:b]) for a, b in ends]


def test_sentences_are_lower_cased_without_punctuation(folder):
    five = read_sst(folder, 5)
    assert told(five, five.split.train) == ["a good film", "it is", "not good"]
    assert told(five, five.split.valid) == ["it s lrbgreatrrb"]
    assert five.split.train.labels.tolist() == [3, 2, 0]
    two = read_sst(folder, 2)
    assert told(two, two.split.train) == ["a good film", "not good"]
    assert [part.labels.tolist() for part in (two.split.train, two.split.valid, two.split.test)] == [[1, 0], [1], [0]]
    assert two.words[two.id("film")] == "film"


def test_padding_is_a_word_that_fills_every_sentence(folder):
    corpus = read_sst(folder, 2, padded=True)
    assert set(corpus.split.train.lengths.tolist() + corpus.split.test.lengths.tolist()) == {3}
    assert told(corpus, corpus.split.train)[1] == f"not good {PAD}"


def test_gzipped_files_are_the_same(folder, tmp_path):
    zipped = tmp_path / "zipped"
    zipped.mkdir()
    for name, trees in TREES.items():
        (zipped / f"{name}.txt.gz").write_bytes(gzip.compress(trees.encode()))
    plain, same = read_sst(folder, 5), read_sst(zipped, 5)
    assert plain.words == same.words and torch.equal(plain.split.train.words, same.split.train.words)


def test_bad_input_is_refused_in_a_sentence(folder, monkeypatch):
    (folder / "dev.txt").write_text("a plain sentence\n")
    with pytest.raises(UsageError, match=r"dev.txt, line 1 is no labelled tree"):
        read_sst(folder, 2)
    (folder / "dev.txt").write_text("(3 (2 good) (2 film))\n(2 (2 .) (2 !))\n")
    with pytest.raises(UsageError, match=r"dev.txt, line 2 is a sentence without a word: '. !'"):
        read_sst(folder, 2)
    (folder / "dev.txt").write_bytes(b"(3 (2 caf\xe9))\n")
    with pytest.raises(UsageError, match=r"dev.txt, line 1 is not UTF-8"):
        read_sst(folder, 2)
    (folder / "dev.txt").unlink()
    with pytest.raises(UsageError, match=r"no dev.txt or dev.txt.gz"):
        read_sst(folder, 2)
    monkeypatch.delenv("ATTNLAB_DATA", raising=False)
    with pytest.raises(UsageError, match="set ATTNLAB_DATA"):
        sst_folder()


@pytest.mark.needs_data("sst")
def test_the_real_treebank_has_its_known_counts(data_root):
    two = read_sst(data_root / "sst", 2, padded=True)
    assert [len(part) for part in (two.split.train, two.split.valid, two.split.test)] == [6920, 872, 1821]
    assert torch.bincount(two.split.train.labels).tolist() == [3310, 3610]
    assert len(two.words) == 17_440 and int(two.split.train.lengths.max()) == 52
    plain = read_sst(data_root / "sst", 2)
    bags, counts = plain.split.train, {}
    assert float(bags.lengths.double().mean()) == pytest.approx(17.16, abs=0.005)
    for word in ("powerful", "stupid", "mess", "best", "the"):
        sentences = bags.sentence[bags.words == plain.id(word)].unique()
        counts[word] = torch.bincount(bags.labels[sentences], minlength=2).tolist()
    assert counts == {"powerful": [0, 36], "stupid": [21, 0], "mess": [29, 1], "best": [25, 103], "the": [1751, 1944]}
    five = read_sst(data_root / "sst", 5, padded=True)
    assert torch.bincount(five.split.train.labels).tolist() == [1092, 2218, 1624, 2322, 1288]
    assert len(five.words) == 19_376

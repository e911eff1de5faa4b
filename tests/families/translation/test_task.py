"""The record of a parallel corpus: what its id says, and that what it builds is what was planned."""

from pathlib import Path

import pytest

from attnlab.errors import UsageError
from attnlab.families.translation.task import BitextFiles, BitextSpec

NUMBERS = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"]
ZAHLEN = ["eins", "zwei", "drei", "vier", "fünf", "sechs", "sieben", "acht", "neun", "zehn"]


@pytest.fixture
def files(tmp_path):
    for name, words in (("a.en", NUMBERS), ("a.de", ZAHLEN)):
        lines = [f"{a} {b} {c}" for a in words for b in words[:4] for c in words[:3]]
        (tmp_path / name).write_text("\n".join(lines), encoding="utf-8")
    return BitextFiles.of(tmp_path / "a.en", tmp_path / "a.de")


def test_content_alone_is_the_id(files):
    spec = BitextSpec.of_files(files, pieces=35)
    assert spec.identity() == {"kind": "translation", "content": spec.content}
    assert spec.build().content == spec.content
    assert spec.model_copy(update={"corpus": "x", "files": None, "longest": 3}).identity() == spec.identity()


def test_alterations_are_in_the_id_where_they_differ(files):
    spec = BitextSpec.of_files(files, pieces=35, shuffled=0.5, shuffle_seed=2, training_pairs=50)
    assert spec.identity() == {
        "kind": "translation",
        "content": spec.content,
        "shuffled": 0.5,
        "shuffle_seed": 2,
        "training_pairs": 50,
    }
    plain = BitextSpec.of_files(files, pieces=35)
    assert spec.content == plain.content
    assert plain.model_copy(update={"shuffle_seed": 2}).identity() == plain.identity()
    built, whole = spec.build(), plain.build()
    assert len(built.train) == 50 and set(built.train.rows) < set(whole.train.rows)
    wrong = sum(
        whole.train.target.texts()[whole.train.rows.tolist().index(row)] != built.train.target.text(k)
        for k, row in enumerate(built.train.rows.tolist())
    )
    assert 20 <= wrong <= 25


def test_another_content_is_refused(files):
    spec = BitextSpec.of_files(files, pieces=35)
    with pytest.raises(UsageError, match=r"The bitext a\.en and a\.de has changed: its content is"):
        spec.model_copy(update={"content": "0" * 16}).build()


def test_a_bitext_of_ones_own_outlives_its_files(files):
    spec = BitextSpec.of_files(files, pieces=35)
    before = spec.build().train.target.texts()
    for path in (files.source, files.target):
        Path(path).unlink()
    assert spec.build().train.target.texts() == before
    with pytest.raises(UsageError, match="There is no file"):
        BitextSpec.of_files(files, pieces=34)


def test_files_are_named_from_anywhere(files, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    assert BitextFiles.of("a.en", "a.de") == files
    assert BitextSpec.model_validate_json(BitextSpec.of_files(files).model_dump_json()) == BitextSpec.of_files(files)


def test_settings_out_of_range_are_refused(files):
    for wrong in ({"shuffled": 2}, {"training_pairs": 0}, {"pieces": 0}, {"corpora": "x"}):
        with pytest.raises(UsageError):
            BitextSpec(corpus="numbers", content="", files=files, **wrong)

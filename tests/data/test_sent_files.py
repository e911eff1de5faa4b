"""Files that travel to a machine without a data folder: they are there as they were, for as long as they are needed."""

import os
from pathlib import Path

import numpy as np
import pytest

from attnlab.data.cache import write_cached
from attnlab.data.sent_files import data_from, keep_files
from attnlab.errors import UsageError


@pytest.fixture(autouse=True)
def _home(tmp_path, monkeypatch):
    monkeypatch.setenv("ATTNLAB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("ATTNLAB_DATA", str(tmp_path / "data"))
    (tmp_path / "data/sst").mkdir(parents=True)
    (tmp_path / "data/sst/train.txt").write_bytes(b"(3 good)\n")
    (tmp_path / "data/other.txt").write_bytes(b"not sent")
    (tmp_path / "vectors.txt").write_bytes(bytes(range(256)))
    (tmp_path / "empty.txt").touch()


def there():
    """All files of the data folder."""
    root = Path(os.environ["ATTNLAB_DATA"])
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in root.rglob("*") if path.is_file()}


def test_they_are_laid_out_as_they_were(tmp_path, monkeypatch):
    key = keep_files([tmp_path / "data/sst/train.txt", tmp_path / "vectors.txt", tmp_path / "empty.txt"])
    monkeypatch.setenv("ATTNLAB_DATA", "/nowhere")
    with data_from(["corpus-0123", key]):
        assert there() == {
            "sst/train.txt": b"(3 good)\n",
            "vectors.txt": bytes(range(256)),
            "empty.txt": b"",
        }
        folder = os.environ["ATTNLAB_DATA"]
    assert os.environ["ATTNLAB_DATA"] == "/nowhere"
    assert not Path(folder).exists()


def test_no_file_at_all_is_an_empty_folder_and_no_name_is_the_machines_own(tmp_path, monkeypatch):
    key = keep_files([])
    monkeypatch.delenv("ATTNLAB_DATA")
    with data_from([key]):
        assert there() == {}
    assert "ATTNLAB_DATA" not in os.environ
    monkeypatch.setenv("ATTNLAB_DATA", str(tmp_path / "data"))
    with data_from(["corpus-0123"]):
        assert os.environ["ATTNLAB_DATA"] == str(tmp_path / "data")


def test_other_files_have_another_name(tmp_path):
    path = tmp_path / "data/sst/train.txt"
    first = keep_files([path])
    assert keep_files([path]) == first
    path.write_bytes(b"(0 bad)\n")
    assert keep_files([path]) != first


@pytest.mark.parametrize("name", ["../outside.txt", "/outside.txt", "a/../../b"])
def test_a_name_that_leads_elsewhere_is_refused(name):
    write_cached("files-00", {name: np.zeros(1, np.uint8)}, None)
    with pytest.raises(UsageError, match="leads elsewhere"), data_from(["files-00"]):
        pass


def test_what_is_not_whole_is_refused(tmp_path):
    key = keep_files([tmp_path / "vectors.txt"])
    kept = tmp_path / "cache" / f"{key}.safetensors"
    kept.write_bytes(kept.read_bytes()[:-1])
    with pytest.raises(UsageError, match="not whole"), data_from([key]):
        pass

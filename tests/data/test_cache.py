"""The cache: what it gives back is what was put in, or nothing."""

import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attnlab.data.cache import cache_folder, content_key, read_cached, write_cached
from attnlab.errors import UsageError

ARRAYS = {"a": np.arange(5), "b": np.zeros((0,), np.int32), "c": np.frombuffer(b"words", np.uint8)}
FACTS = {"name": "ünï", "notes": ["1 text is left out."]}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("ATTNLAB_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_what_was_written_is_read(folder):
    assert read_cached("k") is None
    write_cached("k", ARRAYS, FACTS)
    arrays, facts = read_cached("k")
    assert facts == FACTS
    assert arrays.keys() == ARRAYS.keys()
    for name, values in ARRAYS.items():
        np.testing.assert_array_equal(arrays[name], values, strict=True)
    assert [path.name for path in folder.iterdir()] == ["k.safetensors"]


@settings(max_examples=60)
@given(data=st.data())
def test_damage_anywhere_is_noticed(tmp_path_factory, data):
    with pytest.MonkeyPatch.context() as patch:
        folder = tmp_path_factory.mktemp("cache")
        patch.setenv("ATTNLAB_CACHE", str(folder))
        write_cached("k", ARRAYS, FACTS)
        path = folder / "k.safetensors"
        whole = path.read_bytes()
        place = data.draw(st.integers(0, len(whole) - 1))
        if data.draw(st.booleans()):
            path.write_bytes(whole[:place])
        else:
            path.write_bytes(
                whole[:place] + bytes([whole[place] ^ data.draw(st.integers(1, 255))]) + whole[place + 1 :]
            )
        got = read_cached("k")
        if got is not None:  # a changed blank in the header, say, changes nothing that is read
            arrays, facts = got
            assert facts == FACTS
            assert all(np.array_equal(arrays[name], values) for name, values in ARRAYS.items())
        write_cached("k", ARRAYS, FACTS)
        assert read_cached("k") is not None


def test_what_was_kept_under_another_name_is_not_taken(folder):
    write_cached("k", ARRAYS, FACTS)
    (folder / "k.safetensors").rename(folder / "other.safetensors")
    assert read_cached("other") is None


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes: run it on Linux or macOS")
def test_what_is_no_plain_file_is_not_read(folder):
    folder.mkdir()
    os.mkfifo(folder / "pipe.safetensors")
    assert read_cached("pipe") is None  # and is not waited for
    (folder / "device.safetensors").symlink_to("/dev/zero")
    assert read_cached("device") is None
    with (folder / "hole.safetensors").open("wb") as file:
        file.truncate(2**40)
    assert read_cached("hole") is None


def test_a_folder_that_cannot_be_written_only_warns(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("in the way", encoding="utf-8")
    monkeypatch.setenv("ATTNLAB_CACHE", str(tmp_path / "file"))
    with pytest.warns(UserWarning, match="cannot be kept in"):
        write_cached("k", ARRAYS, FACTS)
    assert read_cached("k") is None
    monkeypatch.setenv("ATTNLAB_CACHE", str(tmp_path))
    (tmp_path / "k.safetensors").mkdir()
    with pytest.warns(UserWarning, match="cannot be kept in"):
        write_cached("k", ARRAYS, FACTS)
    assert read_cached("k") is None
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "k.safetensors"]


def test_processes_may_write_the_same_at_once(folder):
    script = (
        "import numpy as np\n"
        "from attnlab.data.cache import read_cached, write_cached\n"
        "for _ in range(40):\n"
        "    write_cached('k', {'a': np.arange(20000)}, {'n': 1})\n"
        "    arrays, facts = read_cached('k')\n"
        "    assert facts == {'n': 1} and arrays['a'].sum() == 199990000\n"
    )
    env = {**os.environ, "OMP_NUM_THREADS": "1"}
    writers = [subprocess.Popen([sys.executable, "-c", script], env=env) for _ in range(3)]
    assert [writer.wait(timeout=120) for writer in writers] == [0, 0, 0]
    assert [path.name for path in folder.iterdir()] == ["k.safetensors"]


def test_a_key_follows_bytes_names_and_settings_not_dates(tmp_path):
    one, two = tmp_path / "one.csv", tmp_path / "two.csv"
    one.write_text("a", encoding="utf-8")
    two.write_text("a", encoding="utf-8")
    key = content_key([one], 1, "text")
    os.utime(one, (1, 1))
    assert content_key([one], 1, "text") == key
    assert len({key, content_key([one], 2, "text"), content_key([two], 1, "text"), content_key([], 1, "text")}) == 4
    one.write_text("b", encoding="utf-8")
    assert content_key([one], 1, "text") != key
    with pytest.raises(UsageError, match=r"There is no file .*none\.csv"):
        content_key([tmp_path / "none.csv"])
    with pytest.raises(UsageError, match="is a folder"):
        content_key([tmp_path])


@pytest.mark.skipif(sys.platform != "linux", reason="run on Linux")
def test_the_system_says_where_unless_the_user_does(tmp_path, monkeypatch):
    monkeypatch.delenv("ATTNLAB_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "x"))
    assert cache_folder() == tmp_path / "x" / "attnlab"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache_folder() == tmp_path / ".cache" / "attnlab"
    monkeypatch.setenv("ATTNLAB_CACHE", str(tmp_path / "own"))
    assert cache_folder() == tmp_path / "own"

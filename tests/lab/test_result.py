"""Writing a result: whatever is killed or interrupted, at any file operation, leaves the old result or the new one."""

import json
import os
import re
import shutil
import signal
import sys
import traceback

import pytest

from attnlab import files
from attnlab.errors import UsageError
from attnlab.lab.claims import decide
from attnlab.lab.experiment import Order, Result
from attnlab.lab.recall import recall
from attnlab.lab.registry import EXPERIMENTS
from attnlab.lab.result import read_result, write_result
from attnlab.lab.written import strongest

OPERATIONS = ("open", "os.", "shutil.", "tempfile.", "ctypes.dlopen")
pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork and SIGKILL: run it on Linux or macOS")


def write(folder, summary, **values):
    result = Result(summary, {"numbers": [{"what": summary}]}, {}, (), (), **values)
    experiment = EXPERIMENTS["gated-toy"]
    return write_result(
        result, folder, experiment=experiment, order=Order("quick"), command="", seconds=1, training_seconds=1
    )


def whole(folder):
    """What the result at ``folder`` says, if all of it is there and of one writing."""
    said = read_result(folder)["summary"]
    assert (folder / "tables" / "numbers.csv").read_text() == f"what\n{said}\n"
    return said


def child_ended(folder, fate, number):
    """How a process ends that writes "new" into ``folder`` and meets its ``fate`` at operation ``number`` there."""
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    left = number

    def count(event, arguments):
        nonlocal left
        here = event != "open" or str(folder.parent) in str(arguments[0])
        if here and event.startswith(OPERATIONS):
            left -= 1
            if left == 0:
                fate()

    try:
        sys.addaudithook(count)
        write(folder, "new")
    except KeyboardInterrupt:
        os._exit(130)
    except BaseException:
        traceback.print_exc()
        os._exit(1)
    os._exit(0)


def killed():
    os.kill(os.getpid(), signal.SIGKILL)


def interrupted():
    raise KeyboardInterrupt


@pytest.mark.parametrize("exchanges", [True, False])
@pytest.mark.parametrize("fate", [killed, interrupted])
def test_the_old_result_or_the_new_one_is_whole(fate, exchanges, tmp_path, monkeypatch):
    if not exchanges:
        monkeypatch.setattr(files, "_exchanged", lambda one, other: False)
    folder = tmp_path / "gated-toy" / "quick"
    write(folder, "old")
    seen = []
    for number in range(1, 200):
        if (code := child_ended(folder, fate, number)) == 0:
            break
        assert code in (-signal.SIGKILL, 130)
        if not exchanges:  # the next call recovers what was put aside, even if it fails itself
            with pytest.raises(ValueError, match="JSON"):
                write(folder, "never", seeds={"a": [float("nan")]})
        seen.append(whole(folder))
        write(folder, "old")
        assert whole(folder) == "old"
    assert set(seen) == {"old", "new"}
    assert len(seen) > 15


def test_what_a_killed_process_left_is_removed_later(tmp_path):
    folder = tmp_path / "gated-toy" / "quick"
    write(folder, "old")
    for name, age in ((".writing-long-ago", 7200), (".writing-now", 0)):
        (folder.parent / name / "quick").mkdir(parents=True)
        when = (folder.parent / name).stat().st_mtime - age
        os.utime(folder.parent / name, (when, when))
    write(folder, "new")
    assert sorted(path.name for path in folder.parent.iterdir()) == [".writing-now", "quick"]


# --- altered since it was written


def flip(path):
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


@pytest.mark.parametrize("name", ["result.json", "tables/numbers.csv"])
@pytest.mark.parametrize("harm", [flip, lambda path: path.unlink(), lambda path: path.write_text("what\nelse\n")])
def test_a_result_that_was_altered_is_refused_by_name(tmp_path, name, harm):
    folder = write(tmp_path / "gated-toy" / "quick", "old")
    harm(folder / name)
    with pytest.raises(UsageError, match=re.escape(str(folder / name))):
        read_result(folder)


def test_a_table_of_another_result_or_of_none_is_refused(tmp_path):
    one, other = (write(tmp_path / "gated-toy" / preset, preset) for preset in ("quick", "reduced"))
    shutil.copy(other / "tables" / "numbers.csv", one / "tables" / "numbers.csv")
    with pytest.raises(UsageError, match=r"numbers\.csv is altered or of another result"):
        read_result(one)
    (other / "tables" / "more.csv").write_text("what\nmore\n")
    with pytest.raises(UsageError, match=r"more\.csv is altered or of another result"):
        read_result(other)


def test_claims_are_not_decided_by_an_altered_result(tmp_path):
    folder = write(tmp_path / "gated-toy" / "quick", "it holds")
    assert decide(tmp_path)
    text = (folder / "result.json").read_text()
    (folder / "result.json").write_text(text.replace("it holds", "it fails"))
    with pytest.raises(UsageError, match=r"result\.json is altered"):
        decide(tmp_path)


def test_a_result_of_before_has_no_seal_and_is_read(tmp_path):
    folder = write(tmp_path / "gated-toy" / "quick", "old")
    document = json.loads((folder / "result.json").read_text())
    before = {key: value for key, value in document.items() if key not in ("seal", "files")}
    (folder / "result.json").write_text(json.dumps(before))
    flip(folder / "tables" / "numbers.csv")
    assert read_result(folder)["summary"] == "old"


@pytest.mark.parametrize("left", ["tables", "figures"])
@pytest.mark.parametrize("row", ["", "a-row"])
def test_what_is_left_of_a_result_without_its_document_is_refused(tmp_path, left, row):
    """It is not "not run": whoever lost a file wants to hear of it."""
    folder = write(tmp_path / "gated-toy" / "quick" / row, "lost")
    (folder / "result.json").unlink()
    shutil.rmtree(folder / ("figures" if left == "tables" else "tables"))
    sentence = re.escape(f"{folder} has {left} of a result but no file result.json")
    with pytest.raises(UsageError, match=sentence):
        decide(tmp_path)
    with pytest.raises(UsageError, match=sentence):
        strongest(tmp_path / "gated-toy", [row])
    with pytest.raises(UsageError, match=sentence):
        recall(tmp_path)


def test_a_preset_s_folder_without_a_result_is_refused(tmp_path):
    write(tmp_path / "gated-toy" / "quick", "moved").rename(tmp_path / "elsewhere")
    assert decide(tmp_path)
    shutil.copytree(tmp_path / "elsewhere" / "tables", tmp_path / "gated-toy" / "quick")
    for read in (decide, recall, lambda folder: strongest(folder / "gated-toy")):
        with pytest.raises(UsageError, match=r"gated-toy/quick holds no result"):
            read(tmp_path)


def test_an_experiment_s_folder_with_something_else_is_refused(tmp_path):
    folder = write(tmp_path / "gated-toy" / "quick", "moved")
    (tmp_path / "gated-toy" / "report.html").write_text("")
    assert decide(tmp_path)
    shutil.move(folder / "tables", tmp_path / "saliency")
    with pytest.raises(UsageError, match=r"saliency holds something else than results"):
        decide(tmp_path)


def test_a_row_s_folder_without_a_result_is_refused(tmp_path):
    (tmp_path / "saliency/paper/sms").mkdir(parents=True)
    assert strongest(tmp_path / "saliency", ["sms"]) == []
    (tmp_path / "saliency/paper/sms/chart.vl.json").write_text("{}")
    for read in (decide, recall, lambda folder: strongest(folder / "saliency", ["sms"])):
        with pytest.raises(UsageError, match=r"saliency/paper/sms holds no result"):
            read(tmp_path)

"""Writing a result: whatever is killed or interrupted, at any file operation, leaves the old result or the new one."""

import os
import signal
import sys
import traceback

import pytest

from attnlab import files
from attnlab.lab.experiment import Order, Result
from attnlab.lab.registry import EXPERIMENTS
from attnlab.lab.result import read_result, write_result

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

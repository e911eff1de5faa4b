"""What reaches a terminal: no command from data, sentences for what the system refuses, and what Ctrl-C leaves."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from rich.table import Table
from rich.text import Text

from attnlab.cli import main as command
from attnlab.cli.options import Screen

HOSTILE = "\x1b]0;owned\x07\x9b31m\u202e[/red]\r"
"""A title for the window, a colour, text from right to left, rich's markup, and back to the line's start."""


def said(capsys, *words, code=0):
    """Standard output and standard error of a command in this process."""
    sys.argv[1:] = words
    with pytest.raises(SystemExit) as ended:
        command.main()
    out, err = capsys.readouterr()
    assert (ended.value.code or 0) == code, err
    assert "Traceback" not in err
    return out, err


@pytest.fixture(autouse=True)
def alone(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))  # where completion would be installed
    monkeypatch.setattr(sys, "argv", ["attnlab"])
    monkeypatch.setattr(command.settings, "quiet", False)


def assert_harmless(text):
    assert all(char.isprintable() or char == "\n" for char in text)


@pytest.fixture
def texts(tmp_path):
    rows = [
        {"text": f"{word}{HOSTILE} 新しい w{row}", "label": f"{word}{HOSTILE}"} for row in range(40) for word in "ab"
    ]
    path = tmp_path / "texts.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def test_words_and_labels_do_not_command_the_terminal(texts, capsys):
    for words in (["forecast", texts.name], ["data", "show", texts.name]):
        out, err = said(capsys, *words)
        assert_harmless(out + err)
        assert r"\x1b]0;owned\x07" in out
        assert "[/red]" in out, "nor rich, by its markup"
        out, err = said(capsys, *words, "--json")
        assert_harmless(out + err)
        assert "\x1b]0;owned\x07" in json.dumps(json.loads(out), ensure_ascii=False).replace(r"\u001b", "\x1b").replace(
            r"\u0007", "\x07"
        )


@pytest.mark.parametrize("name", [f"a{HOSTILE}.csv", "\udcff.csv", f"\n{HOSTILE}.csv"])
def test_names_of_files_and_mistyped_words_do_not_either(name, capsys):
    for words in (["forecast", name], [name], ["run", "copying", name], ["run", "copying", f"--{name}"]):
        out, err = said(capsys, *words, code=2)
        assert_harmless(out + err)
        assert err.count("error:") == 1


def test_a_screen_spells_out_what_cannot_be_printed(capsys):
    table = Table("[bold]head", title=HOSTILE)
    table.add_row(HOSTILE)
    table.add_row(Text(HOSTILE))
    Screen(width=200).print(table, HOSTILE, Text(HOSTILE))
    out, _ = capsys.readouterr()
    assert_harmless(out)
    assert "[bold]head" in out
    assert out.count("[/red]") == 5


def process(*words, **settings):
    environment = {**os.environ, "NO_COLOR": "1", "OMP_NUM_THREADS": "1", **settings.pop("environment", {})}
    return subprocess.Popen(
        [sys.executable, "-m", "attnlab", *words],
        stderr=subprocess.PIPE,
        **{"stdout": subprocess.PIPE, **settings},
        env=environment,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # a shell's background ignores it
    )


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full: run it on Linux")
@pytest.mark.parametrize("words", [["--version"], ["claims"], ["--help"]])
def test_a_full_disk_under_standard_output_is_a_sentence(words):
    with Path("/dev/full").open("w") as full, process(*words, stdout=full) as attnlab:
        assert attnlab.stderr.read() == b"error: Standard output cannot be written: No space left on device.\n"
    assert attnlab.returncode == 1


def test_an_encoding_without_our_letters_is_no_reason_to_fail(texts):
    for words in (["forecast", texts.name, "--json"], ["forecast", texts.name]):
        with process(*words, environment={"PYTHONIOENCODING": "latin1"}) as attnlab:
            out, err = attnlab.communicate()
        assert attnlab.returncode == 0, err
        if "--json" in words:
            assert "新しい" in json.dumps(json.loads(out.decode("latin1")), ensure_ascii=False)


def test_ctrl_c_says_what_is_kept_in_the_store(tmp_path):
    with process("run", "copying", "--seeds", "1", "--jobs", "1", "--store", "mine") as attnlab:
        deadline = time.monotonic() + 120
        while not list(tmp_path.glob("mine/*/spec.json")):
            assert time.monotonic() < deadline
            time.sleep(0.05)
        attnlab.send_signal(signal.SIGINT)
        out, err = attnlab.communicate(timeout=60)
    assert attnlab.returncode == 130
    assert out == b""
    assert re.fullmatch(
        rb"Stopped\. 0 of 3 runs are whole and [01] begun in mine; the same command goes on there\.\n", err
    )


@pytest.mark.parametrize(
    ("words", "place"),
    [
        (["forecast", "texts.jsonl", "--out", "page"], "attnlab.theory.forecast.forecast"),
        (["align", "pairs.txt", "--out", "links"], "attnlab.theory.aligner.align"),
    ],
)
def test_ctrl_c_elsewhere_leaves_files_whole(words, place, texts, tmp_path, capsys, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    (tmp_path / "pairs.txt").write_text("a ||| b\n")
    monkeypatch.setattr(place, interrupted)
    before = sorted(tmp_path.iterdir())
    out, err = said(capsys, *words, code=130)
    assert (out, err) == ("", "Stopped. Each file is whole or as it was before; the same command begins again.\n")
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--install-completion", "nonsense"], "takes no word after it, not 'nonsense'"),
        (["--show-completion", "fish"], "takes no word after it, not 'fish'"),
        (["run", "copying", "--plan", "--device", "meta"], "Device 'meta' cannot be used here"),
        (["run", "copying", "--plan", "--device", "cpu:x"], "Device 'cpu:x' cannot be used here"),
        (
            ["run", "copying", "--plan", "--store", "afile"],
            "--store afile: afile is a file; the run store is a folder.",
        ),
        (["demo", "--store", "afile/below"], "afile is a file; the run store is a folder."),
        (["store", "list", "--store", "afile"], "--store afile: afile is a file; the run store is a folder."),
        (["store", "list", "--store", "a" * 300], "File name too long"),
        (["run", "copying", "--plan", "--jobs", "0"], "see `attnlab run --help`."),
    ],
)
def test_a_mistake_is_one_sentence(words, sentence, tmp_path, capsys):
    (tmp_path / "afile").write_text("")
    out, err = said(capsys, *words, code=2)
    assert out == ""
    assert err.count("error:") == 1
    assert sentence in err
    assert [path.name for path in tmp_path.iterdir()] == ["afile"]


def test_a_terminal_without_columns_is_written_to(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "0")
    assert "There is no experiment 'nothing'" in said(capsys, "run", "nothing", code=2)[1]

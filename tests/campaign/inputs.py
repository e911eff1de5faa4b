"""Hostile inputs: any command with one or two words that are wrong, odd, or name something strange.

Promised: an exit code as documented, no traceback, no hang, a message that names the file or the option, and no file
touched that is not an output.
"""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

from tests.campaign.cases import ROOT, Case, Outcome, patience
from tests.campaign.commands import OUTPUTS, TRAIN, USES, commands, right_use, words
from tests.campaign.nursery import HANG, Ended, Nursery
from tests.campaign.values import STREAMS, SURROUNDINGS, VALUES

CODES = {0, 1, 2, 130}
"""Done; the work could not be done; the words were wrong; stopped by Ctrl-C."""
AS_PAIRS = {"pairs", "columns", "pieces", "target"}
"""With these a file of labelled texts is read as sentence pairs, so it is the file that is wrong, and is named."""
SHORTEST = 4
"""Characters of a name that a message has not by accident; a shorter word has to be quoted, or its option named."""
PROCESSES = 4
"""Every so many-th case is a process of its own; the others are forked from one that has imported everything."""


@dataclass
class Attempt:
    """What is typed, and what of it is hostile: by parameter, the word."""

    command: str
    words: list[str]
    hostile: dict[str, str]
    environment: dict[str, str] = field(default_factory=dict)
    out: str | None = None

    @property
    def command_line(self) -> str:
        around = [*(f"{name}={value!r:.40}" for name, value in self.environment.items())]
        around += [f"stdout={self.out}"] if self.out else []
        return " ".join(
            [
                *around,
                "attnlab",
                *(word if word.isascii() and word.isprintable() else repr(word) for word in self.words),
            ]
        )[:600]


def draw(case: Case, folder: Path) -> Attempt:
    """Commands take turns, so that each gets its share; all else is drawn."""
    random, names = case.random, list(USES)
    command = names[case.number % len(names)]
    parameters = {parameter.name: parameter for parameter in (*commands()[command], *commands()[""])}
    use = right_use(command, random, folder)
    hostile: dict[str, str] = {}
    more: list[str] = []
    for _ in range(random.choice([1, 1, 1, 2])):
        parameter = random.choice(list(parameters.values()))
        if parameter.kind is bool:
            more.append(
                random.choice([parameter.typed, parameter.typed, f"{parameter.typed}=1", f"--no{parameter.typed[1:]}"])
            )
            hostile.setdefault(parameter.name, more[-1])
            hostile[more[-1]] = more[-1]
            continue
        value = VALUES[parameter.kind](random, folder)
        hostile[parameter.name] = value
        if parameter not in commands()[command]:
            more += [parameter.typed, value]
        else:
            use[parameter.name] = value
    if random.random() < 0.15:
        odd = random.choice(["--nothing", "-x", "--", "extra", "--out", "--help", "", "-"])
        more.append(odd)
        hostile[odd] = odd
    if random.random() < 0.15 and use:
        use.pop(lost := random.choice(list(use)))
        hostile[lost] = lost
    attempt = Attempt(command, words(command, use, more), hostile)
    if random.random() < 0.25:
        name = random.choice(list(SURROUNDINGS))
        attempt.environment[name] = random.choice(SURROUNDINGS[name])
    if random.random() < 0.05:
        attempt.out = random.choice(STREAMS)
    return attempt


def is_process(number: int) -> bool:
    """Whether a case is a process of its own."""
    return number // len(USES) % PROCESSES == 0


def play(case: Case, folder: Path, template: Path, nursery: Nursery) -> Outcome:
    """Copy the template, type the words, judge what came of it."""
    place = folder / "place"
    shutil.copytree(template, place, symlinks=True)
    attempt = draw(case, place)
    before = _files(place)
    environment = {
        "HOME": str(place / "home"), "ATTNLAB_CACHE": str(place / "cache"), "ATTNLAB_DATA": str(place / "data"),
        "COLUMNS": "200", "HF_HUB_OFFLINE": "1", "PYTHONPATH": str(ROOT / "src"), **attempt.environment,
    }  # fmt: skip
    if is_process(case.number):
        ended = _process(attempt, place, environment)
    else:
        ended = nursery.call(f"{__name__}:typed", attempt.words, cwd=place, environment=environment, out=attempt.out)
    wrong = _judged(attempt, ended) or _touched(attempt, before, _files(place))
    return Outcome(f"{attempt.command_line}  [{ended.code}, {ended.seconds:.1f} s]", f"exit code {ended.code}", wrong)


def typed(words: list[str]) -> None:
    """The command line in this process, in which training is interrupted as soon as it begins."""
    from attnlab.cli.main import main
    from attnlab.measures import samples
    from attnlab.runs.engine import LocalEngine
    from attnlab.runs.loop import _Training

    def interrupted(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    LocalEngine.run = _Training._update = samples.errors_of = interrupted
    sys.argv = ["attnlab", *words]
    main()


def _process(attempt: Attempt, place: Path, environment: dict[str, str]) -> Ended:
    """As a user starts it; one that trains gets Ctrl-C after a while."""
    with open(attempt.out, "wb") if attempt.out else open(place.parent / "out", "wb") as out:  # noqa: PTH123
        process = subprocess.Popen(
            [sys.executable, "-m", "attnlab", *(os.fsencode(word) for word in attempt.words)],
            cwd=place,
            env={**os.environ, **environment},
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.PIPE,
            start_new_session=True,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # a shell's background ignores it
        )
    try:
        _, err = process.communicate(timeout=10 if attempt.command in TRAIN else patience())
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGINT)
        try:
            _, err = process.communicate(timeout=patience())
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            _, err = process.communicate()
            return Ended(HANG, "", err.decode(errors="surrogateescape"))
        if attempt.command not in TRAIN:
            return Ended(HANG, "", err.decode(errors="surrogateescape"))
    written = b"" if attempt.out else (place.parent / "out").read_bytes()
    code = 130 if process.returncode == -signal.SIGINT else process.returncode  # as every shell calls it
    return Ended(code, *(data.decode(errors="surrogateescape") for data in (written, err)))


def _judged(attempt: Attempt, ended: Ended) -> str:
    said, verbose = (ended.out + ended.err).replace("\0", ""), {"--verbose", "-v"} & {*attempt.words}
    if ended.code == HANG:
        return f"It hangs. {ended.err[-500:]}"
    if verbose:  # which asks for tracebacks
        return "" if ended.code in CODES else f"Exit code {ended.code}. {said[-500:]}"
    if "Traceback (most recent call last)" in said:
        return f"A traceback: ...{said[-700:]}"
    if ended.code not in CODES:
        return f"Exit code {ended.code}. {said[-500:]}"
    ending = "Stopped." in said or "error: " in said  # Ctrl-C may come while a refusal is said
    if ended.code == 130 and not (attempt.command in TRAIN and ending):
        return f"Exit code 130, which is for Ctrl-C, and says so. {said[-500:]}"
    if ended.code == 1 and not (attempt.command.startswith("store") or attempt.out):
        return f"Exit code 1, which is for work that could not be done. {said[-500:]}"
    if ended.code in (1, 2) and not _named(attempt, said):
        return f"The message names neither file nor option: {said[-500:]!r}"
    if match := re.search("[\x1b\x07\u202e]", ended.out + ended.err):
        return f"A command to the terminal: {match.string[max(match.start() - 300, 0) : match.end() + 200]!r}"
    if ended.code == 0 and not attempt.out and "--json" in attempt.words and "--help" not in attempt.words:
        encoding = attempt.environment.get("PYTHONIOENCODING", "utf-8")
        try:
            json.loads(ended.out.encode(errors="surrogateescape").decode(encoding))
        except ValueError:
            return f"--json, and no JSON: {ended.out[:300]!r}"
    return ""


def _named(attempt: Attempt, said: str) -> bool:
    """Whether the message has a name of something hostile: its option, its argument, its file or the word itself."""
    flat = re.sub(r"\s+", "", said)
    typed = {parameter.name: parameter.typed for parameter in (*commands()[attempt.command], *commands()[""])}
    names = {"Missing argument", "Missing command", "unexpected extra argument"}
    names |= {"Standard output"} if attempt.out else set()
    values: set[str] = set()
    for name, value in attempt.hostile.items():
        names |= {typed.get(name) or name.upper(), repr(name), repr(value), f"error: {name}:"}
        names |= set() if value else {"()", f"the {name} ."}  # no path is the current folder
        names |= {f"The {name} "} if typed.get(name) == "" else set()
        names |= {one.upper() for one in typed if not typed[one]} if name not in typed else set()  # taken for arguments
        names |= {f": {value}"} if value.startswith("-") else set()  # No such option: -x
        values |= (
            {value.split("=")[0]}
            | {
                form
                for part in (
                    value[:200],
                    str(Path(value))[:200],
                    Path(value).name[:200],
                )  # http://x is http:/x as a path
                for form in (part, repr(part)[1:-1], ascii(part)[1:-1])
            }
        )
    for name, value in attempt.environment.items():
        names |= {name, *({"--store"} if name == "ATTNLAB_STORE" else {"--data"} if name == "ATTNLAB_DATA" else ())}
        values.add(value)
    lost = any(name == value and typed.get(name) == "" for name, value in attempt.hostile.items())
    if lost or AS_PAIRS & attempt.hostile.keys():  # another file is taken for the argument that is not there
        values |= {word for word in attempt.words if Path(word).suffix and not word.startswith("-")}
    short = {re.sub(r"\s+", "", name)[:20] for name in names}
    long = {piece for value in values if len(piece := re.sub(r"\s+", "", value)[:20]) >= SHORTEST}
    forms = ("{!r}", "file {}.", "/{}.", "folder {}", "error: {}/", "error: {} ", "error: {}:")  # with its blanks
    exactly = any(form.format(value) in said for value in attempt.hostile.values() for form in forms)
    return exactly or any(piece in flat for piece in short | long)


def _files(folder: Path) -> dict[str, str]:
    """A digest of each plain file but the nursery's; links and what is no file by what they are."""
    found = {}
    for path in sorted(folder.rglob("*")):
        if path.is_symlink():
            found[str(path.relative_to(folder))] = f"link to {path.readlink()}"
        elif path.is_file() and path.stat().st_size < 2**30:
            found[str(path.relative_to(folder))] = sha256(path.read_bytes()).hexdigest()
    return found


def _touched(attempt: Attempt, before: dict[str, str], after: dict[str, str]) -> str:
    """Files that were there and are not as they were, unless the command is there to change them."""
    free = ["home/", "cache/", "runs/.locks"]
    if attempt.command == "store remove":
        free += [f"runs/{word}" for word in attempt.words if len(word) >= 4]  # an id, or its first characters
    if "--bind" in attempt.words:
        free.append("runs/")
    outputs = [attempt.hostile[name] for name in OUTPUTS & attempt.hostile.keys()]
    typed = [word for word in attempt.words if word != attempt.hostile.get("device")]  # which is no file
    asked = [os.path.normpath(output) for output in outputs if output and typed.count(output) < 2]
    for name, digest in before.items():
        if after.get(name) == digest or name.startswith(tuple(free)):
            continue
        if attempt.command == "report" and name.endswith("report.html"):
            continue
        if any(name == output or name.startswith(f"{output}/") for output in asked):
            continue
        return f"{name} was changed or is gone."
    return ""

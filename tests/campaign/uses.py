"""What is done with the template's runs, results and cache, and what comes of it while they are whole."""

import contextlib
import io
import json
import os
import shutil
import sys
from collections.abc import Callable
from functools import partial
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tests.campaign import template
from tests.campaign.template import LONG, PIECES, REFERENCE, RESULTS, SHORT, SPECS, STOPPED

from attnlab.cli.main import main
from attnlab.data.bitext import load_bitext_files
from attnlab.data.labelled_text import load_file
from attnlab.errors import AttnlabError
from attnlab.files import Json, to_json
from attnlab.lab import site
from attnlab.lab.recall import recall
from attnlab.pages import page
from attnlab.runs.loop import train
from attnlab.runs.schedule import Schedule
from attnlab.runs.store import Run, RunStore


def build(folder: str) -> None:
    """Make the template and, beside it, the digest of all that comes of it."""
    template.build(folder)
    whole = {name: digest(use()) for uses in USES.values() for name, use in uses.items()}
    Path(REFERENCE).write_text(json.dumps(whole | references(RunStore("runs"))))
    for made in Path("results").glob("*/report.html"):
        made.unlink()
    shutil.rmtree("pages")


def references(store: RunStore) -> dict[str, dict[str, Any]]:
    """What each run says after either schedule, if nothing happens to it."""
    with TemporaryDirectory() as folder:
        whole = RunStore(shutil.copytree(store.root, Path(folder, "runs")))
        found = {}
        for schedule in (SHORT, LONG):
            for spec in (*SPECS.values(), STOPPED):
                train(spec, schedule, whole)
                found[f"{spec.id} {schedule.steps}"] = content(whole.run(spec.id), schedule)
        return found


def content(run: Run, schedule: Schedule) -> dict[str, Any]:
    """All that a run says, mostly as digests: rows, weights, fields and how it ended."""
    state = run.load(max(run.steps()))
    return {
        "rows": digest([row for row in run.metrics() if row["step"] <= schedule.steps]),
        "step": state.step,
        "weights": digest({name: sha256(value.numpy().tobytes()).hexdigest() for name, value in state.tensors.items()}),
        "record": digest(state.record["metrics"]),
        "fields": digest({str(step): run.fields(step).to_pydict() for step in run.field_steps()}),
        **(run.status() or {}),
    }


def digest(value: Json) -> str:
    """Of a value of JSON."""
    return sha256(to_json(value)).hexdigest()


def _report(name: str) -> str:
    page._vega = lambda: ""  # the chart library, which takes a second to bundle and is the same in all pages
    _printed("report", name, "--results", "results")
    return Path("results", name, "report.html").read_text()


def _site() -> list[str]:
    """All pages that are made of results, without pictures, which take seconds."""
    site.thumbnail, site.write_assets = lambda figure: b"", lambda folder: None
    shutil.rmtree("pages", ignore_errors=True)
    _printed("site", "--results", "results", "--out", "pages")
    return [path.read_text() for path in sorted(Path("pages").glob("*.html"))]


def _recalled() -> list[Json]:
    recalled = recall(Path("results"))
    rows = {id: [rows[step] for step in sorted(rows)] for id, rows in recalled.rows.items()}
    return [rows, dict(recalled.sources)]


def _corpus(name: str) -> list[Json]:
    os.environ["ATTNLAB_CACHE"] = "cache"
    corpus = load_file(Path(name))
    bags = [value.tolist() for part in (corpus.train, corpus.valid) for value in vars(part).values()]
    return [corpus.content, corpus.words, corpus.classes, corpus.notes, bags]


def _bitext() -> list[Json]:
    os.environ["ATTNLAB_CACHE"] = "cache"
    bitext = load_bitext_files("source.txt", "target.txt", pieces=PIECES)
    sides = [side for split in bitext.splits.values() for side in (split.source, split.target)]
    arrays = [value.tolist() for side in sides for value in vars(side).values()]
    return [bitext.content, bitext.name, bitext.notes, arrays]


def command(*words: str) -> tuple[int, str]:
    """Exit code and all that is said by the command line; what is no error of ours leaves it."""
    sys.argv = ["attnlab", *words]
    os.environ["COLUMNS"] = "500"
    streams = [io.TextIOWrapper(io.BytesIO(), encoding="utf-8") for _ in range(2)]
    code = 0
    with contextlib.redirect_stdout(streams[0]), contextlib.redirect_stderr(streams[1]):
        try:
            main()
        except SystemExit as ended:
            code = int(ended.code or 0)
    for stream in streams:
        stream.flush()
    return code, "".join(stream.buffer.getvalue().decode() for stream in streams)


def _printed(*words: str) -> str:
    code, said = command(*words)
    if code:
        raise AttnlabError(said)
    return said


def _read(id: str, *words: str) -> str:
    os.environ["ATTNLAB_CACHE"] = "cache"
    run = json.loads(Path("ids.json").read_bytes())[id][0]
    return _printed(words[0], "--store", "explained", "--json", run, *words[1:])


USES: dict[str, dict[str, Callable[[], Json]]] = {
    "results": {
        "claims": partial(_printed, "claims", "--results", "results", "--json"),
        **{f"report {name}": partial(_report, name) for name in RESULTS},
        "site": _site,
        "recall": _recalled,
    },
    "cache": {
        "texts.csv": partial(_corpus, "texts.csv"),
        "others.csv": partial(_corpus, "others.csv"),
        "pairs": _bitext,
    },
    "explained": {
        "explain": partial(_read, "EXPLAINED", "explain", "a fine day"),
        "translate": partial(_read, "TRANSLATED", "translate", "source.txt"),
    },
}
"""By folder of the template, each of its uses by name: what it gives, or an error of ours."""

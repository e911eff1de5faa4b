"""What cases begin from: files of a user's, a store of small finished runs, results and a cache, all whole.

Made once and copied for each case. A new kind of file that the project writes gets into the campaign by being put here.
"""

import json
import os
import shutil
from contextlib import suppress
from pathlib import Path

from tests.campaign.cases import ROOT
from tests.runs.conftest import small_spec
from tests.runs.small import proxy_spec

from attnlab.data.bitext import load_bitext_files
from attnlab.data.labelled_text import load_file
from attnlab.data.sentence_pairs import read_pairs
from attnlab.families.texts.spec import ClassifierSpec, LabelledTextSpec
from attnlab.families.topics.spec import TopicModelSpec, TopicsSpec
from attnlab.families.translation.spec import TranslatorSpec
from attnlab.families.translation.task import BitextFiles, BitextSpec
from attnlab.lab.result import write_document
from attnlab.runs.loop import Interrupted, train
from attnlab.runs.schedule import Schedule
from attnlab.runs.spec import RunSpec
from attnlab.runs.store import RunStore
from attnlab.theory.aligner import align

SHORT, LONG = (Schedule.every(5, steps=steps, checkpoint_every=5) for steps in (10, 15))
SPECS: dict[str, RunSpec] = {
    "with fields": proxy_spec(0),
    "its twin of another seed": proxy_spec(1),
    "with Adam": small_spec(0),
    "of topics": RunSpec(task=TopicsSpec(sentences=50), model=TopicModelSpec(), batch=None, init_seed=0, data_seed=0),
}
"""Runs of the store, all finished at the end of ``SHORT``."""
STOPPED = proxy_spec(2)
"""One that was interrupted on its way through ``LONG``."""
BEST = Schedule.every(5, steps=10, checkpoint_every=5, keep="best")
"""Of the runs that are explained: weights of several steps are there, and one of them is chosen."""
PIECES = 40
REFERENCE = "reference.json"
RESULTS = {"gated-toy": "*", "copying": "*", "even-steps": "*", "saliency": "paper/sms"}
"""Experiments whose committed results stand in the template, and where; those of copying and even-steps have curves,
that of saliency is a row."""

THINGS = {"house": "haus", "book": "buch", "song": "lied", "day": "tag", "film": "film", "street": "gasse"}
PAIRS = [
    (f"{article} {thing}{more}", f"{artikel} {ding}{mehr}")
    for thing, ding in THINGS.items()
    for article, artikel in (("the", "das"), ("a", "ein"))
    for more, mehr in (("", ""), (" is there", " ist da"))
]
"""A parallel corpus; its source sides with a word more are the labelled texts."""


def build(folder: str) -> None:
    """Make the template in an empty folder."""
    os.chdir(folder)
    os.environ["ATTNLAB_CACHE"] = str(Path(folder, "cache"))
    write_files(Path())
    store = RunStore("runs")
    for spec in SPECS.values():
        train(spec, SHORT, store)
    with suppress(Interrupted):
        train(STOPPED, LONG, store, interrupted=iter([False] * 8 + [True] * 9).__next__)
    for name, where in RESULTS.items():
        (place,) = (ROOT / "results" / name).glob(f"{where}/result.json")
        copy = Path(place.parent.relative_to(ROOT))
        shutil.copytree(place.parent, copy, ignore=shutil.ignore_patterns("*.png", "*.svg"))
        write_document(copy, json.loads(place.read_text(encoding="utf-8")))
    for name in ("texts.csv", "others.csv"):
        load_file(Path(name))
    load_bitext_files("source.txt", "target.txt", pieces=PIECES)
    ids = {"RUN": [spec.id for spec in SPECS.values()]}
    for name, spec in {"EXPLAINED": explained_spec(), "TRANSLATED": translated_spec()}.items():
        ids[name] = [train(spec, BEST, RunStore("explained")).id]
    Path("ids.json").write_text(json.dumps(ids))


def explained_spec() -> RunSpec:
    """A classifier of the template's texts."""
    task = LabelledTextSpec.of_file(Path("texts.csv"))
    return RunSpec(task=task, model=ClassifierSpec(embedding_size=8, hidden=4), batch=4, init_seed=0, data_seed=0)


def translated_spec() -> RunSpec:
    """A translator of the template's sentence pairs."""
    task = BitextSpec.of("pairs", files=BitextFiles.of("source.txt", "target.txt"), pieces=PIECES)
    return RunSpec(task=task, model=TranslatorSpec(hidden=8), batch=4, init_seed=0, data_seed=0)


def csv_text() -> str:
    """Labelled texts."""
    words = {"good": ("fine", "bright"), "bad": ("dull", "grey")}
    rows = [(f"{text} {word}", label) for label in words for word in words[label] for text, _ in PAIRS]
    return "text,label\n" + "".join(f"{text},{label}\n" for text, label in rows)


def write_files(folder: Path) -> None:
    """The user's files: labelled texts in three forms, a parallel corpus, its gold and a lexical table."""
    csv = csv_text()
    rows = [line.split(",") for line in csv.splitlines()[1:]]
    (folder / "texts.csv").write_text(csv)
    (folder / "others.csv").write_text(csv.replace("song", "tune").replace("fine", "warm"))
    lines = "".join(json.dumps({"text": text, "label": label}) + "\n" for text, label in rows)
    (folder / "texts.jsonl").write_text(lines)
    (folder / "source.txt").write_text("".join(f"{source}\n" for source, _ in PAIRS))
    (folder / "target.txt").write_text("".join(f"{target}\n" for _, target in PAIRS))
    (folder / "joined.txt").write_text("".join(f"{source} ||| {target}\n" for source, target in PAIRS))
    (folder / "gold.txt").write_text("".join(f"{k} 1 1 S\n{k} 2 2 P\n" for k in range(1, len(PAIRS) + 1)))
    lexicon = align(read_pairs(folder / "source.txt", folder / "target.txt")).lexicon
    (folder / "table.parquet").write_bytes(lexicon.to_bytes(".parquet"))
    (folder / "precious.txt").write_text("mine\n")
    (folder / "empty").mkdir()
    (folder / "data").mkdir()
    (folder / "home").mkdir()

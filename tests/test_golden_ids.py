"""Which runs every experiment asks for: ids are how runs are found again, so no change of code may move one unnoticed.

``golden/run_ids.json`` has, for each experiment, preset and row, the label and id of every run planned before anything
is trained (``plan``) and of the most that the plan can become (``at_most``, where that is another list).
``python tests/test_golden_ids.py`` writes it anew, for a change of ids that is meant.
"""

import csv
import json
from collections import defaultdict
from pathlib import Path

import pytest

from attnlab.lab.experiment import Order
from attnlab.lab.registry import EXPERIMENTS

GOLDEN = Path(__file__).parent / "golden" / "run_ids.json"
RESULTS = Path(__file__).parents[1] / "results"
PRESETS = ("quick", "reduced", "paper")

FOLDERS = {
    "amazon": "amazon_blitzer",
    "sms": "sms_spam",
    "20newsgroups-bodies": "20newsgroups",
    "iwslt14": "iwslt14_deen",
    "libreoffice": "libreoffice_help",
    "europarl": "alignment_gold",
    "hansards": "hansards_enfr",
}
"""The data folders of corpora that have another name."""
NEEDS = {
    "knowledge-first": ["multi30k", "sst"],
    "optimal-attention": ["multi30k"],
    "sample-complexity-real": ["glove", "imdb", "mnist", "sms_spam", "sst"],
}
"""Experiments that leave runs out where a corpus is missing, so that its files decide their plan."""

NOT_IDS = ("agreement", "early-verdict")
"""Results whose tables call something else than an id ``run``: a role, and a number."""
KNOWN_LATER = ("deceptive", "rescue")
"""Experiments whose plan depends on what their first runs came to; rescue's is gone through in
tests/lab/test_recomputed.py, that of deceptive in tests/experiments/test_deceptive.py."""


def wanted():
    """All experiments, presets and rows."""
    for name, experiment in EXPERIMENTS.items():
        for preset in PRESETS:
            for row in experiment.rows or ("",):
                yield name, preset, row


def jobs_of(name, preset, row):
    experiment, order = EXPERIMENTS[name], Order(preset, row=row)
    return experiment.plan(order, {}), experiment.at_most(order, {})


def ids_of(name, preset, row):
    planned, most = ([[job.label, job.spec.id] for job in jobs] for jobs in jobs_of(name, preset, row))
    return {"plan": planned, **({} if most == planned else {"at_most": most})}


def golden():
    return json.loads(GOLDEN.read_text(encoding="utf-8")) if GOLDEN.is_file() else []


def by_needs():
    """The places in the golden file by the data folders that their plans are made from."""
    groups = defaultdict(list)
    for entry in golden():
        groups[tuple(entry["needs"])].append(entry)
    return [
        pytest.param(entries, id=" ".join(needs) or "no data", marks=[pytest.mark.needs_data(*needs)] if needs else [])
        for needs, entries in groups.items()
    ]


def test_every_experiment_has_its_ids_kept():
    assert [(entry["experiment"], entry["preset"], entry["row"]) for entry in golden()] == list(wanted())


@pytest.mark.parametrize("entries", by_needs())
def test_runs_have_the_labels_and_ids_that_they_had(entries):
    for entry in entries:
        place = entry["experiment"], entry["preset"], entry["row"]
        assert ids_of(*place) == {key: entry[key] for key in ("plan", "at_most") if key in entry}, place


def committed():
    """The ids in the tables of results, by experiment, preset and row."""
    found = defaultdict(set)
    for path in sorted(RESULTS.glob("*/*/**/tables/*.csv")):
        experiment, preset, *row = path.parent.parent.relative_to(RESULTS).parts
        with path.open(newline="", encoding="utf-8") as lines:
            ids = {cells["run"] for cells in csv.DictReader(lines) if "run" in cells}
        if ids and experiment not in NOT_IDS:
            found[experiment, preset, "".join(row)] |= ids
    return found


def test_results_that_name_their_runs_are_these():
    named = {experiment for experiment, _, _ in committed()}
    others = {"copying", "even-steps", "forecast-copying", "knowledge-first", "locality", "mirror", "mixture"}
    students = {"sample-complexity", "landscape", "sample-complexity-real", "flatness", "design"}
    topics = {f"topic-{name}" for name in ("ablation", "capacity", "limits", "query", "sst", "words")}
    others |= {"deceptive-copying", "permuting", "symmetry", "uniform-accuracy", "mean-state", "slow-stages"}
    others |= {"attention-alignment", "two-keywords", "optimal-attention", "stages", "uniform-overtraining"}
    others |= {"forecast-translation"}
    assert named == others | students | topics | set(KNOWN_LATER)


def places_of_results():
    """Results that name their runs, each with the data that its experiment's plan is made from."""
    needs = {(entry["experiment"], entry["preset"], entry["row"]): entry["needs"] for entry in golden()}
    return [
        pytest.param(place, id=" ".join(place), marks=[pytest.mark.needs_data(*needs[place])] if needs[place] else [])
        for place in sorted(committed())
        if place[0] not in KNOWN_LATER
    ]


@pytest.mark.parametrize("place", places_of_results())
def test_runs_of_results_are_still_those_that_their_experiment_asks_for(place):
    """Under today's arithmetic of their models or an earlier one."""
    assert committed()[place] <= {id for jobs in jobs_of(*place) for job in jobs for id in job.spec.ids}


def _needs(name, jobs):
    folders = set(NEEDS.get(name, ()))
    for job in jobs:
        if job.spec.task.kind == "text":
            folders.add(FOLDERS.get(job.spec.task.corpus, job.spec.task.corpus))
        if job.spec.task.kind == "translation":
            corpus = job.spec.task.corpus.partition("/")[0]
            folders |= {FOLDERS.get(corpus, corpus), *(["alignment_gold"] if corpus == "hansards" else [])}
        if getattr(job.spec.model, "vectors", None) is not None:
            folders.add("glove")
    return sorted(folders)


def write():
    entries = []
    for place in wanted():
        needs = _needs(place[0], jobs_of(*place)[0])
        entry = dict(zip(("experiment", "preset", "row"), place, strict=True)) | {"needs": needs}
        lists = [
            f'"{key}": [\n' + ",\n".join(json.dumps(job, ensure_ascii=False) for job in jobs) + "]"
            for key, jobs in ids_of(*place).items()
        ]
        entries.append(json.dumps(entry)[:-1] + ", " + ",\n".join(lists) + "}")
    GOLDEN.write_text("[\n" + ",\n".join(entries) + "\n]\n", encoding="utf-8")


if __name__ == "__main__":
    write()
